"""What became of each edge of a search, against a plain search that looks at one after another."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from traversal_making import COMMON_KINDS, WAY_NAMES, WAYS, build, edges, small_levels

import penstock as ps


def plain_search(graph, source, limit):
    """Levels by id, and what became of the edges of each frontier, one edge after another."""
    src, dst = (side.tolist() for side in graph.to_edges())
    out, into = {}, {}
    for u, v in zip(src, dst, strict=True):
        for a, b in ((u, v), (v, u))[: 1 if graph.directed or u == v else 2]:
            out.setdefault(a, []).append(b)
            into.setdefault(b, []).append(a)
    levels, frontier, rows = {source: 0}, [source], []
    while frontier and (limit is None or len(rows) < limit):
        row, found = Counter(), []
        for u in frontier:
            for v in out.get(u, []):
                if v not in levels:
                    levels[v] = len(rows) + 1
                    found.append(v)
                    row["claimed"] += 1
                elif levels[v] == len(rows) + 1:
                    row["failed"] += 1
                else:
                    row["peer" if levels[v] == len(rows) else "parent"] += 1
        rows.append(row)
        frontier = found
    return levels, rows, into


def looked_at(graph, levels, into, level):
    """How many in-edges each vertex below a level looks at until it finds one above: a list of
    counts, in any order.
    """
    vids = {v: k for k, v in enumerate(graph.ids_by_vid().tolist())}
    counts = []
    for v, neighbours in into.items():
        if levels.get(v, level) < level:
            continue
        ordered = sorted(neighbours, key=vids.__getitem__)
        hits = [k + 1 for k, u in enumerate(ordered) if levels.get(u, level) < level]
        counts.append(hits[0] if hits else len(ordered))
    return counts


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
@pytest.mark.parametrize("kind", ["directed", "undirected"])
@pytest.mark.parametrize("limit", [None, 4])
def test_the_breakdown(way, kind, limit, tmp_path):
    graph = build(tmp_path / "g", edges(), num_vertices=7000, **COMMON_KINDS[kind])
    levels, rows, into = plain_search(graph, 7, limit)
    with small_levels(0 if way["threads"] > 1 else 500):
        found = ps.bfs(graph, 7, depth_limit=limit, breakdown=True, **way)
        usual = ps.bfs(graph, 7, depth_limit=limit, **way)
    assert found.values.tolist() == [levels.get(v, -1) for v in range(7000)]
    np.testing.assert_array_equal(found.parents, usual.parents)
    assert len(found.iterations) == len(rows)
    assert all(row["levels"] == 1 for row in found.iterations)
    assert found.stats["edges_traversed"] == usual.stats["edges_traversed"]
    for k, (mine, theirs) in enumerate(zip(found.iterations, rows, strict=True)):
        assert mine["found"] == theirs["claimed"]
        if mine["mode"] == "top-down":
            kinds = {name: mine[name] for name in ("claimed", "failed", "peer", "parent")}
            assert kinds == {name: theirs[name] for name in kinds}
            assert sum(kinds.values()) == mine["edges"]
        elif way["load"] or (graph.page_table("in")["run"] == 0).all():
            counts = Counter(min(each, 65) for each in looked_at(graph, levels, into, k + 1))
            assert mine["scanned"] == [counts[each] for each in range(1, 66)]
            assert mine["edges"] == sum(looked_at(graph, levels, into, k + 1))
    assert not any("scanned" in row or "peer" in row for row in usual.iterations)


def test_lists_in_parts_are_broken_down_too(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    found = ps.bfs(graph, 7, load=False, breakdown=True)
    pulled = [row for row in found.iterations if row["mode"] == "bottom-up"]
    assert pulled
    for row in pulled:
        told = sum((k + 1) * count for k, count in enumerate(row["scanned"][:64]))
        assert told <= row["edges"]
        assert (told == row["edges"]) == (row["scanned"][64] == 0)
