"""What SCAN finds by its definition, in plain Python, and graphs to try it on, for these tests."""

from __future__ import annotations

import math

import numpy as np
from traversal_making import edges

import penstock as ps
from penstock.algorithms import _scan, find

scan = find("scan")
CORE, BORDER, HUB, OUTLIER = range(4)


def known(vertices, pairs):
    """The closed neighbourhood of each vertex; each edge once, with how similar its ends are."""
    closed = {v: {v} for v in vertices}
    for u, v in pairs:
        closed[u].add(v)
        closed[v].add(u)
    sigmas = [
        (u, v, len(mine & closed[u]) / math.sqrt(len(mine) * len(closed[u])))
        for v, mine in closed.items()
        for u in mine
        if u < v
    ]
    return closed, sigmas


def known_of_many(vertices, pairs):
    """The same for more edges, by way of triangles."""
    closed, _ = known(vertices, ())
    for u, v in pairs:
        closed[u].add(v)
        closed[v].add(u)
    by_degree = sorted(closed, key=lambda v: len(closed[v]))
    place = {v: k for k, v in enumerate(by_degree)}
    later = {v: {u for u in mine if place[u] > place[v]} for v, mine in closed.items()}
    common = {v: dict.fromkeys(mine, 0) for v, mine in later.items()}
    for u, mine in later.items():
        for v in mine:
            corners = mine & later[v]
            common[u][v] += len(corners)
            for w in corners:
                common[u][w] += 1
                common[v][w] += 1
    return closed, [
        (u, v, (2 + count) / math.sqrt(len(closed[u]) * len(closed[v])))
        for u, counts in common.items()
        for v, count in counts.items()
    ]


def reference(closed, sigmas, epsilon, mu):
    """Label (the smallest core; -1 hub, -2 outlier) and role of each vertex."""
    similar = {v: {v} for v in closed}
    for u, v, sigma in sigmas:
        if sigma >= epsilon:
            similar[u].add(v)
            similar[v].add(u)
    cores = {v for v, mine in similar.items() if len(mine) >= mu}
    label = {}
    for head in sorted(cores):
        waiting = [] if head in label else [head]
        while waiting:
            v = waiting.pop()
            if v not in label:
                label[v] = head
                waiting += similar[v] & cores
    found = {v: (label[v], CORE) for v in cores}
    for v in closed.keys() - cores:
        near = [label[u] for u in similar[v] & cores]
        if near:
            found[v] = (min(near), BORDER)
    for v in closed.keys() - found.keys():
        clusters = {found[u][0] for u in closed[v] if u in found and found[u][1] <= BORDER}
        found[v] = (-1, HUB) if len(clusters) > 1 else (-2, OUTLIER)
    return found


def check(graph, closed, sigmas, epsilon, mu, **options):
    """Run it, and compare it with the reference."""
    found = scan(graph, epsilon, mu, **options)
    expected = reference(closed, sigmas, epsilon, mu)
    assert found.ids.tolist() == sorted(closed)
    rows = [expected[v] for v in sorted(closed)]
    strings = isinstance(next(iter(closed), 0), str)
    labels = [None if isinstance(each, int) else each for each, _ in rows]
    if strings:
        assert found.label.tolist() == labels
        place = {name: k for k, name in enumerate(sorted(closed))}
        rows = [(place.get(label, label), role) for label, role in rows]
    assert found.values.tolist() == [label for label, _ in rows]
    assert found.role.tolist() == [role for _, role in rows]
    counts = np.bincount(found.role, minlength=4).tolist()
    assert [found.stats[f"{role}s"] for role in _scan.ROLES] == counts
    assert found.stats["clusters"] == len({label for label, role in rows if role == CORE})
    return found


def cliques(links):
    """Two cliques, of vertices 0 to 3 and 4 to 7, and links."""
    pairs = [(first + a, first + b) for first in (0, 4) for a in range(4) for b in range(a)]
    return [*pairs, *links]


def graph_of(pairs, **options):
    src, dst = np.array(pairs).T
    return ps.from_edges(src, dst, directed=False, **options)


def grouped():
    """Edges of which many are in groups of five, which have something in common."""
    rng = np.random.default_rng(1)
    first = 4 * rng.integers(0, 1500, 12_000)
    return [
        np.concatenate([each, first + rng.integers(0, 5, 12_000)]) for each in edges(6000, 6000)
    ]


def modes(found):
    return [row["mode"] for row in found.iterations]
