"""What shortest distances imply: parents, and whether the distances are right.

An edge is *tight* if it leads from u to v with ``distance[u] + weight == distance[v]``; the parents
of vertices are at the other end of tight edges. Where the weight is 0, or so small that adding it
changes nothing, tight edges may form circles, so that these are looked at last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.algorithms._vids import by_vid, vids_by_vid
from penstock.algorithms._weights import weighed_edges
from penstock.engine.algorithm import Task
from penstock.engine.joining import (
    join_found,
    join_owned,
    join_smallest,
    scan_everywhere,
    smallest_at_owners,
)
from penstock.engine.needs import Needs
from penstock.engine.vertices import vids_of
from penstock.errors import InputError, VerificationError
from penstock.jit import atomic_min, kernel
from penstock.types import NO_VERTEX, U32, VID, Array

if TYPE_CHECKING:
    from penstock.engine.counts import Counts
    from penstock.engine.engine import Engine
    from penstock.engine.result import Result
    from penstock.store.graph import Graph


#: Bytes for each vertex, the distances included.
PARENT_BYTES = 21


def parent_needs(counts: Counts) -> list[Needs]:
    """What :func:`find_parents` needs: of a directed graph the in-lists, too, if an earlier run
    left them in memory. To load them takes longer than to do without.
    """
    columns = () if counts.weight is None else (counts.weight,)
    one = Needs(("out",), 1.0, columns, vertex_bytes=PARENT_BYTES, takes_gaps=True)
    if len(counts.directions) == 1:
        return [one]
    return [replace(one, directions=("out", "in"), only_loaded=True, forms=("memory",)), one]


def find_parents(engine: Engine, sources: U32, distances: Array) -> U32:
    """The parent of each vertex, ``NO_VERTEX`` where no path leads: the smallest vertex number that
    is nearer to a source at the other end of a tight edge. A vertex that has none nearer gets the
    smallest of those as near as itself that already have a parent, in as many rounds as it takes.

    Over several hosts parents of own vertices are found.

    If the engine has in-lists, vertices look for their parents and leave a list at the first, if
    it is in order; else vertices offer themselves along all edges.
    """
    parents: U32 = engine.array("parents", VID, NO_VERTEX)
    reached = engine.select(_reached, distances)
    pulls = not engine.graph.directed or "in" in engine.directions
    if pulls:
        in_order = engine.graph.neighbour_order == "id"
        engine.traverse(reached, _take_nearer, distances, parents, in_order, direction="in")
    else:
        engine.traverse(reached, _offer_from_nearer, distances, parents)
    smallest_at_owners(engine, parents)
    del reached
    parents[sources] = sources
    missing = engine.select(_without_parent, distances, parents)
    if len(join_found(engine, engine.own_vertices.among(missing))):
        join_owned(engine, parents)
        missing = engine.select(_without_parent, distances, parents)
        _find_as_near(engine, distances, parents, missing, pulls=pulls)
    return parents


def _find_as_near(
    engine: Engine, distances: Array, parents: U32, missing: U32, *, pulls: bool
) -> None:
    """Parents for vertices that are missing one because none is nearer."""
    offers: U32 = engine.array("offers", VID, NO_VERTEX)
    if pulls:
        found = engine.traverse(missing, _take_as_near, distances, parents, offers, direction="in")
    else:
        others = engine.select(_with_parent, parents)
        found = engine.traverse(others, _offer_from_as_near, distances, parents, offers)
    left = len(missing)
    while len(found := join_found(engine, found)):
        join_smallest(engine, offers)
        parents[found] = offers[found]
        left -= len(found)
        if not left:
            return
        found = engine.traverse(found, _offer_from_as_near, distances, parents, offers)
    raise VerificationError(f"sssp: {left:,} vertices have a distance but no path")


def check_weights(task: Task) -> None:
    """Raise if a weight is negative or NaN, after a look at every edge."""
    graph = task.graph
    assert graph.weight is not None
    aside = Task(graph, replace(task.options, checkpoint=None, trace=None))
    with aside.open_part(Needs(("out",), 1.0, (graph.weight,), takes_gaps=True)) as engine:
        refuse_bad_weights(engine)


def refuse_bad_weights(engine: Engine) -> None:
    """Raise for the first weight that is negative or NaN, if there is one: the first column of the
    engine's lists.
    """
    rows = scan_everywhere(engine, _first_bad)
    graph, bad = engine.graph, next((row for row in rows if row[0] >= 0), None)
    if bad is not None:
        ids = graph.ids_by_vid()
        raise InputError(
            f"sssp: edge {ids[int(bad[0])]} - {ids[int(bad[1])]} has {graph.weight} {bad[2]}; "
            "shortest paths need weights of 0 or more: rebuild the graph with others"
        )


@kernel
def _first_bad(block, begin, end):  # type: ignore[no-untyped-def]
    """The ends and the weight of the first edge whose weight is negative or NaN; -1: there is
    none.
    """
    weights, first = block.columns[0], np.uint64(block.first)
    for v in range(np.uint64(begin) - first, np.uint64(end) - first):
        for k in range(np.uint64(block.offsets[v]), np.uint64(block.ends[v])):
            if not weights[k] >= 0:
                return np.int64(v + first), np.int64(block.neighbours[k]), np.float64(weights[k])
    return np.int64(-1), np.int64(-1), 0.0


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge: none is a shorter way to where it leads, and from every vertex that is
    reached tight edges lead back to a source. The parents are such edges, too, and make a tree.
    """
    distances = by_vid(graph, result.values)
    given = result.stats["parameters"]
    sources = vids_of(graph, given["source"], "source")
    names = graph.ids_by_vid()
    cutoff = np.inf if given["cutoff"] is None else given["cutoff"]
    reached = distances < np.inf
    if (distances[sources] != 0).any() or (distances[reached] > cutoff).any():
        raise VerificationError(
            f"sssp: the distance of a source is not 0, or one is beyond the cutoff {cutoff}"
        )
    parents = vids_by_vid(graph, result.parents, reached)
    supported = np.zeros(len(parents), bool)
    supported[sources] = True
    is_tight = supported & (parents == np.arange(len(parents)))
    for u, v, weight in weighed_edges(graph, graph.weight):
        longer = distances[u] + weight
        wrong = np.flatnonzero((longer < distances[v]) & (longer <= cutoff))
        if len(wrong):
            k = wrong[0]
            raise VerificationError(
                f"sssp: {names[v[k]]} is {distances[v[k]]} away, but only {longer[k]} by way of "
                f"{names[u[k]]}"
            )
        tight = (longer == distances[v]) & reached[u] & reached[v]
        supported[v[tight & (distances[u] < distances[v])]] = True
        is_tight[v[tight & (parents[v] == u)]] = True
    _spread(graph, distances, supported)
    for right, what in ((supported, "no path of that length"), (is_tight, "a parent that is none")):
        wrong = np.flatnonzero(reached & ~right)
        if len(wrong):
            k = wrong[0]
            raise VerificationError(
                f"sssp: {names[k]}, {distances[k]} away, has {what} ({len(wrong):,} such vertices)"
            )
    _check_tree(parents, reached, sources)


def _spread(graph: Graph, distances: Array, supported: Array) -> None:
    """A vertex has a path if a tight edge comes from one as near that has one."""
    reached = distances < np.inf
    before = -1
    while before < (now := np.count_nonzero(supported)) < np.count_nonzero(reached):
        before = int(now)
        for u, v, weight in weighed_edges(graph, graph.weight):
            tight = (distances[u] + weight == distances[v]) & (distances[u] == distances[v])
            supported[v[tight & reached[v] & supported[u]]] = True


def _check_tree(parents: U32, reached: Array, sources: U32) -> None:
    """Raise if parents go round in a circle: then going up twice as far each time never ends."""
    above = np.where(reached, parents, np.arange(len(parents)))
    for _ in range(len(parents).bit_length()):
        above = above[above]
    is_source = np.zeros(len(parents), bool)
    is_source[sources] = True
    if not is_source[above[reached]].all():
        raise VerificationError("sssp: some parents go round in a circle")


@kernel
def _reached(begin, end, chosen, distances):  # type: ignore[no-untyped-def]
    """Vertices that a path leads to."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        chosen[count] = v
        count += np.uint64(distances[v] < np.inf)
    return count


@kernel
def _without_parent(begin, end, chosen, distances, parents):  # type: ignore[no-untyped-def]
    """Those of them that have no parent."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        chosen[count] = v
        count += np.uint64(parents[v] == NO_VERTEX and distances[v] < np.inf)
    return count


@kernel
def _with_parent(begin, end, chosen, parents):  # type: ignore[no-untyped-def]
    """Those of them that have one."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        chosen[count] = v
        count += np.uint64(parents[v] != NO_VERTEX)
    return count


@kernel
def _take_nearer(block, vertices, found, distances, parents, in_order):  # type: ignore[no-untyped-def]
    """Vertices look for the smallest that is nearer and has a tight edge to them."""
    offsets, ends = block.offsets, block.ends
    neighbours, weights = block.neighbours, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        distance, best = distances[v], np.uint64(NO_VERTEX)
        edge, end = np.uint64(offsets[v - first]), np.uint64(ends[v - first])
        while edge < end:
            u = np.uint64(neighbours[edge])
            tight = distances[u] + weights[edge] == distance
            if tight and distances[u] < distance and u < best:
                best = u
                if in_order:
                    break
            edge += one
        if best < NO_VERTEX:
            atomic_min(parents, v, np.uint32(best))  # this may be a part of a list
    return 0


@kernel
def _take_as_near(block, vertices, found, distances, parents, offers):  # type: ignore[no-untyped-def]
    """Vertices without a parent look for the smallest as near that has one and a tight edge to
    them; those that get an offer are found, once.
    """
    offsets, ends = block.offsets, block.ends
    neighbours, weights = block.neighbours, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        distance, best = distances[v], np.uint64(NO_VERTEX)
        for edge in range(np.uint64(offsets[v - first]), np.uint64(ends[v - first])):
            u = np.uint64(neighbours[edge])
            tight = distances[u] + weights[edge] == distance
            if tight and distances[u] == distance and parents[u] != NO_VERTEX and u < best:
                best = u
        if best < NO_VERTEX and atomic_min(offers, v, np.uint32(best)) == NO_VERTEX:
            found[count] = v
            count += one
    return count


@kernel
def _offer_from_nearer(block, vertices, found, distances, parents):  # type: ignore[no-untyped-def]
    """Vertices offer themselves to those that a tight edge leads to and that are farther."""
    offsets, ends = block.offsets, block.ends
    neighbours, weights = block.neighbours, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        edge, end = np.uint64(offsets[u - first]), np.uint64(ends[u - first])
        while edge < end:
            v = np.uint64(neighbours[edge])
            tight = distances[u] + weights[edge] == distances[v] and distances[v] < np.inf
            if tight and distances[u] < distances[v] and np.uint64(parents[v]) > u:
                atomic_min(parents, v, np.uint32(u))
            edge += one
    return 0


@kernel
def _offer_from_as_near(block, vertices, found, distances, parents, offers):  # type: ignore[no-untyped-def]
    """Vertices offer themselves to those as near that have no parent; these are found, once."""
    offsets, ends = block.offsets, block.ends
    neighbours, weights = block.neighbours, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        edge, end = np.uint64(offsets[u - first]), np.uint64(ends[u - first])
        while edge < end:
            v = np.uint64(neighbours[edge])
            is_open = parents[v] == NO_VERTEX and distances[u] == distances[v]
            tight = distances[u] + weights[edge] == distances[v]
            if is_open and tight and atomic_min(offers, v, np.uint32(u)) == NO_VERTEX:
                found[count] = v
                count += one
            edge += one
    return count
