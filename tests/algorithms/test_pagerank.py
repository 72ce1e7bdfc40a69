"""PageRank against NetworkX, by its own verifier, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAYS, build, edges, stopping_after

import penstock as ps
from penstock import config
from penstock.algorithms.pagerank import verify
from penstock.engine.options import RunOptions
from penstock.errors import ConvergenceError, IdError, InputError, OptionError, VerificationError


def both(n, edges, *, directed, weights=None):
    src, dst = np.array(edges, int).reshape(-1, 2).T
    mine = ps.from_edges(src, dst, weights, directed=directed, num_vertices=n)
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    if weights is None:
        other.add_edges_from(edges)
    else:
        kept = [each.tolist() for each in mine.to_edges()]
        other.add_weighted_edges_from(zip(*kept, strict=True))
    if not directed:  # one entry a loop here, one there too: NetworkX's matrix has it once
        other = other.to_directed()
    return mine, other


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.sampled_from([0.0, 0.5, 0.85]))
def test_equals_networkx(shape, directed, alpha):
    mine, other = both(*shape, directed=directed)
    found = ps.pagerank(mine, alpha=alpha, tol=1e-12, max_iter=1000, dtype="float64")
    expected = nx.pagerank(other, alpha=alpha, tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(found.values, [expected[v] for v in range(shape[0])], atol=1e-9)
    verify(mine, found)


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.data())
def test_personal_dangling_and_weighted_ranks_equal_networkx(shape, directed, weight, data):
    n, pairs = shape
    numbers = st.none() | st.dictionaries(
        st.integers(0, n - 1), st.sampled_from([0.25, 1, 3]), min_size=1
    )
    given_values = {"personalization": data.draw(numbers), "dangling": data.draw(numbers)}
    kinds = st.sampled_from([0.0, 1e-30, 0.5, 2.0, 7.0])
    weights = data.draw(st.lists(kinds, min_size=len(pairs), max_size=len(pairs)))
    mine, other = both(n, pairs, directed=directed, weights=np.array(weights))
    options = {"tol": 1e-12, "max_iter": 1000}
    found = ps.pagerank(mine, dtype="float64", weight=weight, **given_values, **options)
    expected = nx.pagerank(other, weight="weight" if weight else None, **given_values, **options)
    np.testing.assert_allclose(found.values, [expected[v] for v in range(n)], atol=1e-9)
    verify(mine, found)


@settings(max_examples=30)
@given(SMALL, st.booleans(), st.booleans())
def test_push_and_async_end_at_the_same_ranks(shape, directed, given_values):
    mine, _ = both(*shape, directed=directed, weights=np.arange(1.0, 1 + len(shape[1])))
    options = {"tol": 1e-12, "max_iter": 2000, "dtype": "float64"}
    if given_values:
        options |= {"personalization": {0: 1}, "dangling": 1.0, "weight": True}
    pulled = ps.pagerank(mine, **options).values
    pushed = ps.pagerank(mine, strategy="push", **options).values
    np.testing.assert_array_equal(pushed, pulled)
    np.testing.assert_allclose(ps.pagerank(mine, mode="async", **options).values, pulled, atol=1e-9)


KINDS = {
    **COMMON_KINDS,
    "out-lists only": {"directions": "out"},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path):
    src, dst = edges()
    weights = np.random.default_rng(1).random(len(src))
    graph = build(tmp_path / "g", (src, dst, weights), num_vertices=7000, **kind)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    options = {"weight": True, "personalization": {7: 1, 5: 2}, "dangling": {12: 1}}
    for chosen in ({}, options):
        first = ps.pagerank(graph, **chosen, **WAYS[0])
        verify(graph, first)
        for way in WAYS[1:]:
            found = ps.pagerank(graph, **chosen, **way)
            np.testing.assert_array_equal(found.values, first.values)
    assert not np.allclose(first.values, ps.pagerank(graph).values)


def test_a_budget_that_does_not_hold_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "MIN_BUDGET_BYTES", 1 << 20)
    src, dst = edges()
    graph = build(tmp_path / "g", (src, dst, np.ones(len(src))))
    options = {"weight": True, "personalization": {7: 1}, "dangling": {12: 1}}
    whole = ps.pagerank(graph, **options)
    assert whole.stats["resident"]
    less = whole.stats["planned_memory"] - 1
    found = ps.pagerank(graph, memory=less, **options)
    assert not found.stats["resident"]
    assert found.stats["planned_memory"] <= less
    np.testing.assert_array_equal(found.values, whole.values)


@pytest.mark.parametrize("weight", [False, True])
def test_values_that_travel_with_the_pages(weight, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "MIN_BUDGET_BYTES", 1 << 20)
    src, dst = edges()
    graph = build(tmp_path / "g", (src, dst, np.ones(len(src))))
    options = {"personalization": {7: 1}, "dangling": {12: 1}, "weight": weight}
    streaming = {"load": False, "streams": 1, "cache_pages": 0}
    in_memory = ps.pagerank(graph, **options, **streaming)
    less = in_memory.stats["planned_memory"] - 1
    found = ps.pagerank(graph, memory=less, **options, **streaming)
    assert found.stats["planned_memory"] <= less
    np.testing.assert_array_equal(found.values, in_memory.values)


@pytest.mark.parametrize(("unit", "passes"), [(1.0, 1), (1e-30, 2), (1e300, 2)])
def test_the_pass_for_the_weights_is_counted_and_planned(unit, passes, tmp_path):
    src, dst = edges()
    graph = build(tmp_path / "g", (src, dst, np.full(len(src), unit)))
    options = {"tol": 0, "max_iter": 3, "load": False, "cache_pages": 0}
    found = ps.pagerank(graph, weight=True, **options)
    pages = {d: np.count_nonzero(graph.page_table(d)["num_edges"]) for d in ("out", "in")}
    assert found.stats["pages_read"] == passes * pages["out"] + 3 * pages["in"]
    assert found.stats["iterations"] == 3
    np.testing.assert_allclose(found.values, ps.pagerank(graph, **options).values, rtol=1e-5)
    needs = ps.pagerank.plan(graph, RunOptions.of(), {"weight": True}).needs
    assert needs.directions == ("in",)
    assert [part.directions for part in needs.parts] == [("out",)]


def test_it_goes_on_where_it_stopped(tmp_path):
    src, dst = edges()
    graph = build(tmp_path / "g", (src, dst, np.ones(len(src))))
    options = {"weight": True, "personalization": {7: 1}, "dangling": {12: 1}}
    whole = ps.pagerank(graph, **options)
    with pytest.raises(KeyboardInterrupt), stopping_after(3):
        ps.pagerank(graph, checkpoint=tmp_path / "c", checkpoint_every=1, **options)
    other = {**options, "personalization": {8: 1}}
    with pytest.raises(OptionError, match="checkpoint"):
        ps.pagerank(graph, checkpoint=tmp_path / "c", resume=True, **other)
    rest = ps.pagerank(graph, checkpoint=tmp_path / "c", resume=True, load=False, **options)
    assert rest.stats["iterations"] == whole.stats["iterations"] - 3
    np.testing.assert_array_equal(rest.values, whole.values)


def test_exactly_so_many_iterations():
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    for k in (0, 1, 7):
        result = ps.pagerank(graph, tol=0, max_iter=k)
        assert result.stats["iterations"] == k
    np.testing.assert_allclose(ps.pagerank(graph, tol=0, max_iter=0).values, 1 / 3)


def test_ranks_that_do_not_settle_are_an_error():
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    with pytest.raises(ConvergenceError, match="after 2 iterations"):
        ps.pagerank(graph, tol=1e-15, max_iter=2)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"alpha": 1.5}, "alpha"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": -1}, "max_iter"),
        ({"personalization": {0: 0}}, "personalization.*not all of them 0"),
        ({"personalization": {0: -1, 1: 3}}, "from -1.0 to 3.0"),
        ({"personalization": {0: np.nan}}, "personalization"),
        ({"dangling": {0: np.inf}}, "dangling"),
        ({"dangling": [1.0]}, "dangling.*shape"),
        ({"weight": True}, "weight.*no weights"),
    ],
)
def test_parameters_that_cannot_be(wrong, match):
    with pytest.raises(OptionError, match=match):
        ps.pagerank(ps.from_edges([0], [1]), **wrong)


def test_vertices_that_are_not_there():
    with pytest.raises(IdError, match="personalization"):
        ps.pagerank(ps.from_edges([0], [1]), personalization={5: 1.0})


@pytest.mark.parametrize("weight", [-1.0, np.inf])
def test_weights_that_cannot_be(weight):
    graph = ps.from_edges([5, 6], [6, 7], [1.0, weight])
    with pytest.raises(InputError, match="pagerank: edge 6 - 7"):
        ps.pagerank(graph, weight=True)
    ps.pagerank(graph)


def test_a_vertex_whose_edges_weigh_nothing_is_dangling():
    graph = ps.from_edges([0, 1], [1, 0], [0.0, 1.0])
    found = ps.pagerank(graph, weight=True, tol=0, max_iter=1)
    np.testing.assert_allclose(found.values, [0.7125, 0.2875], rtol=1e-6)


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match="momery"):
        ps.pagerank(ps.from_edges([0], [1]), momery="1GB")


@pytest.mark.parametrize("chosen", [{}, {"weight": True}, {"personalization": {0: 1}}], ids=str)
def test_verifier_finds_a_wrong_rank(chosen):
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1], [1.0, 1.0, 5.0, 1.0])
    result = ps.pagerank(graph, **chosen)
    verify(graph, result)
    result.values[0] += 0.01
    with pytest.raises(VerificationError, match="pagerank: the ranks may be off by"):
        verify(graph, result)


def test_verifier_finds_ranks_of_other_parameters():
    graph = ps.from_edges([0, 1, 2, 2, 0], [1, 2, 0, 1, 3], [1.0, 1.0, 5.0, 1.0, 1.0])
    for other in ({"weight": True}, {"personalization": {0: 1}}, {"dangling": {1: 1}}):
        result = ps.pagerank(graph)
        result.stats["parameters"] |= other
        with pytest.raises(VerificationError, match="the ranks may be off"):
            verify(graph, result)


@pytest.mark.parametrize("directions", ["out", "in"])
def test_one_direction_only(tmp_path, directions):
    edges = ([0, 1, 2, 2, 3], [1, 2, 0, 1, 3])
    graph = ps.build(edges, tmp_path / "g.penstock", directions=directions)
    if directions == "in":
        with pytest.raises(ps.PenstockError, match="out-lists"):
            ps.pagerank(graph)
        return
    expected = ps.pagerank(ps.from_edges(*edges)).values
    np.testing.assert_allclose(ps.pagerank(graph).values, expected, rtol=1e-6)


def test_kept_duplicates_count_as_often_as_they_are_there():
    doubled = ps.from_edges([0, 0, 0, 1], [1, 1, 2, 0], duplicates="keep")
    weighted = ps.from_edges([0, 0, 1], [1, 2, 0], [2.0, 1.0, 1.0])
    options = {"tol": 1e-9, "max_iter": 500, "dtype": "float64"}
    expected = ps.pagerank(weighted, weight=True, **options).values
    np.testing.assert_allclose(ps.pagerank(doubled, **options).values, expected)


def test_string_ids():
    graph = ps.from_edges(["b", "c"], ["c", "a"])
    found = ps.pagerank(graph, personalization={"b": 1}, tol=1e-9, max_iter=500)
    np.testing.assert_allclose(found["c"], 0.85 * found["b"], rtol=1e-5)
    verify(graph, found)


def test_nothing_and_nobody():
    nothing = ps.from_edges([], [])
    assert len(ps.pagerank(nothing)) == 0
    assert len(ps.pagerank(nothing, personalization=1.0)) == 0
    alone = ps.from_edges([], [], num_vertices=3)
    np.testing.assert_allclose(ps.pagerank(alone).values, 1 / 3)
    there = ps.pagerank(alone, personalization={1: 1}, dangling={2: 1}, tol=0, max_iter=1)
    np.testing.assert_allclose(there.values, [0, 0.15, 0.85], rtol=1e-6)
