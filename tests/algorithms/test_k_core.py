"""k-cores against NetworkX, by their own verifier, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAYS, build, edges

import penstock as ps
from penstock.algorithms.k_core import verify
from penstock.engine.result import Result
from penstock.errors import OptionError, VerificationError


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from([None, 0, 1, 2, 3, 4]))
def test_equals_networkx(shape, directed, load, k):
    n, pairs = shape
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    graph = ps.from_edges(
        src, dst, np.arange(len(src)), directed=directed, num_vertices=n, self_loops="drop"
    )
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    for weight, (u, v) in enumerate(pairs):
        if u != v:
            other.add_edge(u, v, weight=weight)
    found = ps.k_core(graph, k, load=load)
    expected, cores = nx.k_core(other, k), nx.core_number(other)
    assert found.ids.tolist() == sorted(expected)
    assert found.values.tolist() == [cores[v] for v in sorted(expected)]
    rows = [(u, v, w) for u, v, w in expected.edges.data("weight")]
    if not directed:
        rows = [(min(u, v), max(u, v), w) for u, v, w in rows]
    table = found.edges
    columns = (table.src.tolist(), table.dst.tolist(), table.weight.tolist())
    assert list(zip(*columns, strict=True)) == sorted(rows)
    verify(graph, found)


KINDS = {
    **COMMON_KINDS,
    "several edges": {"duplicates": "keep", "directed": False},
}


@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, k, tmp_path):
    graph = build(tmp_path / "g", edges(), num_vertices=7000, **kind)
    first = ps.k_core(graph, k, **WAYS[0])
    verify(graph, first)
    assert 0 < len(first) < 5000
    assert len(first.edges) >= len(first)
    for way in WAYS[1:]:
        found = ps.k_core(graph, k, **way)
        for name in ("ids", "values"):
            np.testing.assert_array_equal(getattr(found, name), getattr(first, name))
        for name in ("src", "dst"):
            np.testing.assert_array_equal(getattr(found.edges, name), getattr(first.edges, name))


def test_the_largest_and_too_large():
    triangle = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    assert ps.k_core(triangle).stats["k"] == 2
    assert ps.k_core(triangle).ids.tolist() == [0, 1, 2]
    none = ps.k_core(triangle, 3)
    assert len(none) == len(none.edges) == 0
    verify(triangle, none)


def test_without_edges_there_is_no_core_of_one():
    assert len(ps.k_core(ps.from_edges([], [], num_vertices=2), 1)) == 0


def test_loops_count_for_nothing_but_are_edges():
    graph = ps.from_edges(["b", "b", "a"], ["b", "c", "a"], directed=False)
    found = ps.k_core(graph)
    assert found.ids.tolist() == ["b", "c"]
    assert (found.edges.src.tolist(), found.edges.dst.tolist()) == (["b", "b"], ["b", "c"])
    verify(graph, found)


@pytest.mark.parametrize("k", [-1, 1.5, "2"])
def test_a_k_that_is_none(k):
    with pytest.raises(OptionError, match=f"k: expected .*{k}"):
        ps.k_core(ps.from_edges([0], [1]), k)


@pytest.mark.parametrize(
    ("ids", "values", "message"),
    [
        ([0, 1, 2], [2, 2, 2], "vertex 3 that should be at most of core number 0"),
        ([0, 1, 2, 3, 4], [2, 2, 2, 1, 1], "vertex 4 of core number 1 has 0 neighbours"),
        ([0, 1, 2, 3], [2, 2, 2, 0], "3 has core number 0, below 1"),
        ([0, 1, 2, 3], [1, 1, 1, 1], "of core number 1 is in a core of a larger number"),
        ([0, 1, 2, 3], [3, 2, 2, 1], "vertex 0 of core number 3 has 0"),
        ([0, 1, 2, 9], [2, 2, 2, 1], "some ids are not those of vertices"),
    ],
    ids=str,
)
def test_the_verifier_notices(ids, values, message):
    # A triangle with a tail, and a vertex alone.
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False, num_vertices=5)
    right = ps.k_core(graph, 1)
    verify(graph, right)
    assert (right.ids.tolist(), right.values.tolist()) == ([0, 1, 2, 3], [2, 2, 2, 1])
    wrong = Result.table(
        "core_number", np.array(ids), np.array(values), stats=right.stats,
        edges=lambda: right.edges,
    )  # fmt: skip
    with pytest.raises(VerificationError, match=f"k_core: .*{message}"):
        verify(graph, wrong)


def test_the_verifier_notices_what_is_missing():
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    found = ps.k_core(graph)
    verify(graph, found)
    fewer = Result.table("dst", [0, 0], [1, 2], id_name="src")
    wrong = Result.table(
        "core_number", found.ids, found.values, stats=found.stats, edges=lambda: fewer
    )
    with pytest.raises(VerificationError, match="k_core: the edges are not the 3"):
        verify(graph, wrong)
    nothing = Result.table("core_number", found.ids[:0], found.values[:0], stats=found.stats)
    with pytest.raises(VerificationError, match="k_core: no vertices"):
        verify(graph, nothing)
