"""Whether clusters, hubs and outliers are what structural clustering finds.

That labels are those of cores and are the smallest of their cluster is seen from the result alone.
Then the neighbourhoods of some vertices, and of all their neighbours, are gathered from all edges
and compared as sets: what such a vertex is follows from what its neighbours are said to be. Some
small clusters are looked at as a whole; their cores must hang together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from penstock.algorithms._scan import ROLES
from penstock.algorithms._scan_kernels import BORDER, CORE, HUB, OUTLIER
from penstock.algorithms._vids import by_vid
from penstock.arrays import distinct
from penstock.errors import VerificationError
from penstock.types import I64, Array

if TYPE_CHECKING:
    from penstock.engine.result import Result
    from penstock.store.graph import Graph

#: Vertices of each role whose neighbourhoods are compared, at most; and cores of a cluster that is
#: looked at as a whole.
VERIFIED = 8
#: Neighbours of neighbours that are gathered in one pass over all edges.
GATHERED = 1 << 22


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a result says, by vertex number: ranks are places in the order of ids."""

    names: Array
    ranks: I64
    roles: Array
    #: The rank that names the cluster; below 0 for none.
    labels: I64

    def fail(self, v: int, what: str) -> NoReturn:
        """Say what is wrong with a vertex."""
        raise VerificationError(f"scan: vertex {self.names[v]} is {self.spell(v)}, but {what}")

    def spell(self, v: int) -> str:
        """What a vertex is said to be."""
        role = ROLES[self.roles[v]]
        article = "an" if role[0] in "aeiou" else "a"
        place = self.names[self.ranks == self.labels[v]]
        return f"{article} {role}" + (f" of the cluster {place[0]}" if len(place) else "")


def verify(graph: Graph, result: Result) -> None:
    """Look at labels and counts, then at the neighbourhoods of some vertices of each role, and of
    all cores of some clusters.
    """
    claim = _claim_of(graph, result)
    _check_labels(claim)
    _check_counts(claim, result.stats)
    own = result.stats["parameters"]
    vertices = _sample(claim)
    found = list(_similar(graph, vertices, own["epsilon"]))
    for v, (neighbours, similar) in zip(vertices.tolist(), found, strict=True):
        _check_vertex(claim, v, neighbours, similar, own["mu"])
    _check_connected(claim, vertices, [similar for _, similar in found])


def _claim_of(graph: Graph, result: Result) -> _Claim:
    n, ids = graph.num_vertices, graph.ids
    values, roles = result.values, result.role
    if n and (roles.min() < CORE or roles.max() > OUTLIER):
        raise VerificationError(f"scan: a role is {roles.max()}, expected 0 to {OUTLIER}")
    member = roles <= BORDER
    expected = np.where(roles == HUB, -1, -2)
    wrong = np.flatnonzero(~member & (values != expected))
    if len(wrong):
        k = wrong[0]
        raise VerificationError(
            f"scan: {ids[k]} is {ROLES[roles[k]]} with the value {values[k]}, expected "
            f"{expected[k]}"
        )
    labels = np.where(member, values, -1)
    if ids.dtype == np.int64:
        found = np.minimum(np.searchsorted(ids, values), max(n - 1, 0))
        known = ~member | (ids[found] == values)
        labels = np.where(member, found, -1)
    else:
        known = ~member | ((values >= 0) & (values < n))
        named = result.label
        right = (
            named[k] is None if labels[k] < 0 else named[k] == ids[labels[k]]
            for k in np.flatnonzero(known)
        )
        known[known] &= np.fromiter(right, bool)
    if not known.all():
        k = int(np.argmin(known))
        raise VerificationError(f"scan: {ids[k]} has the label {values[k]}, which is no vertex's")
    ranks = by_vid(graph, np.arange(n))
    return _Claim(graph.ids_by_vid(), ranks, by_vid(graph, roles), by_vid(graph, labels))


def _check_labels(claim: _Claim) -> None:
    """Every cluster is named after a core of its own, and no core has a smaller id."""
    ranks, roles, labels = claim.ranks, claim.roles, claim.labels
    vid_of_rank = np.empty(len(ranks), np.int64)
    vid_of_rank[ranks] = np.arange(len(ranks))
    member = np.flatnonzero(labels >= 0)
    heads = vid_of_rank[labels[member]]
    wrong = member[(roles[heads] != CORE) | (labels[heads] != labels[member])]
    if len(wrong):
        claim.fail(int(wrong[0]), "that vertex is no core of this cluster")
    wrong = np.flatnonzero((roles == CORE) & (labels > ranks))
    if len(wrong):
        claim.fail(int(wrong[0]), "its own id is smaller")


def _check_counts(claim: _Claim, stats: dict[str, Any]) -> None:
    counts = dict(zip(ROLES, np.bincount(claim.roles, minlength=4).tolist(), strict=True))
    found = {f"{role}s": count for role, count in counts.items()}
    found["clusters"] = len(distinct(claim.labels[claim.roles == CORE]))
    for name, count in found.items():
        if stats[name] != count:
            raise VerificationError(f"scan: there are {count:,} {name}, not {stats[name]:,}")


def _sample(claim: _Claim) -> I64:
    """Some vertices of each role, and all cores of some clusters that do not have too many."""
    rng = np.random.default_rng(len(claim.roles))
    chosen = [np.empty(0, np.int64)]
    for role in range(len(ROLES)):
        there = np.flatnonzero(claim.roles == role)
        chosen.append(rng.choice(there, min(VERIFIED, len(there)), replace=False))
    cores = np.flatnonzero(claim.roles == CORE)
    sizes = np.bincount(claim.labels[cores], minlength=len(claim.roles))
    small = np.flatnonzero((sizes > 1) & (sizes <= VERIFIED))
    labels = rng.choice(small, min(VERIFIED, len(small)), replace=False)
    chosen.append(cores[np.isin(claim.labels[cores], labels)])
    return distinct(np.concatenate(chosen))


def _similar(graph: Graph, vertices: I64, epsilon: float) -> Iterator[tuple[I64, I64]]:
    """The neighbours of each vertex, and those that it is similar to."""
    pairs = [(vertices[:0], vertices[:0]), *_neighbourhoods(graph, vertices)]
    firsts, lists = (np.concatenate(each) for each in zip(*pairs, strict=True))
    cuts = np.searchsorted(firsts, vertices), np.searchsorted(firsts, vertices, side="right")
    near = [lists[begin:end] for begin, end in zip(*cuts, strict=True)]
    sizes = np.zeros(graph.num_vertices, np.int64)
    common = [np.zeros(len(mine), np.int64) for mine in near]
    is_near = np.zeros(graph.num_vertices, bool)
    for others, theirs in _neighbourhoods(graph, distinct(np.sort(lists))):
        sizes += np.bincount(others, minlength=len(sizes))
        for mine, shared in zip(near, common, strict=True):
            is_near[mine] = True
            both = others[is_near[others] & is_near[theirs]]
            is_near[mine] = False
            shared += np.bincount(np.searchsorted(mine, both), minlength=len(mine))
    for mine, shared in zip(near, common, strict=True):
        products = (len(mine) + 1) * (sizes[mine] + 1)
        sigma = (shared + 2) / np.sqrt(products.astype(np.float64))
        yield mine, mine[sigma >= epsilon]


def _neighbourhoods(graph: Graph, vertices: I64) -> Iterator[tuple[I64, I64]]:
    """Vertices, ascending, and their neighbours, as pairs that come once each, part by part."""
    degrees = np.zeros(graph.num_vertices, np.int64)
    for direction in graph.directions:
        degrees += graph.degrees(direction)
    part_of = np.cumsum(degrees[vertices]) // GATHERED
    for part in distinct(part_of):
        wanted = np.zeros(graph.num_vertices, bool)
        wanted[vertices[part_of == part]] = True
        pairs = [np.empty(0, np.uint64)]
        for src, dst, _ in graph.iter_edges():
            for a, b in ((src, dst), (dst, src)):
                some = wanted[a] & (a != b)
                pairs.append(a[some].astype(np.uint64) << np.uint64(32) | b[some])
        found = distinct(np.concatenate(pairs))
        yield (
            (found >> np.uint64(32)).astype(np.int64),
            (found & np.uint64(0xFFFFFFFF)).astype(np.int64),
        )


def _check_vertex(claim: _Claim, v: int, neighbours: I64, similar: I64, mu: int) -> None:
    """What a vertex is, if its neighbours are what they are said to be."""
    roles, labels = claim.roles, claim.labels
    is_core = len(similar) + 1 >= mu
    if is_core != (roles[v] == CORE):
        claim.fail(
            v, f"{len(similar) + 1:,} vertices are similar to it (itself is one); mu is {mu}"
        )
    others = similar[roles[similar] == CORE]
    if is_core:
        for u in others[labels[others] != labels[v]].tolist():
            claim.fail(v, f"{claim.names[u]}, which is similar to it, is {claim.spell(u)}")
        for u in similar[(labels[similar] < 0) | (labels[similar] > labels[v])].tolist():
            claim.fail(v, f"{claim.names[u]}, which is similar to it, is {claim.spell(u)}")
        return
    seen = labels[neighbours]
    clusters = distinct(np.sort(seen[seen >= 0]))
    expected = BORDER if len(others) else HUB if len(clusters) > 1 else OUTLIER
    if roles[v] != expected:
        claim.fail(
            v, f"it is similar to {len(others):,} cores and has neighbours in {len(clusters):,} "
            "clusters",
        )  # fmt: skip
    if expected == BORDER and labels[v] != labels[others].min():
        claim.fail(v, "it is similar to a core of another cluster, the id of which is smaller")


def _check_connected(claim: _Claim, vertices: I64, similar: list[I64]) -> None:
    """Clusters all cores of which were looked at hang together."""
    cores = claim.roles == CORE
    sizes = np.bincount(claim.labels[cores], minlength=len(cores))
    left = np.bincount(claim.labels[vertices[cores[vertices]]], minlength=len(cores))
    edges = dict(zip(vertices.tolist(), similar, strict=True))
    for label in np.flatnonzero((sizes > 1) & (sizes == left)):
        head = int(np.flatnonzero(claim.ranks == label)[0])
        reached, waiting = {head}, [head]
        while waiting:
            for u in edges[waiting.pop()].tolist():
                if cores[u] and u not in reached:
                    reached.add(u)
                    waiting.append(u)
        for v in vertices[cores[vertices] & (claim.labels[vertices] == label)].tolist():
            if v not in reached:
                claim.fail(v, "no similar cores lead there")
