"""In-lists that are made when they are first needed, and kept up from then on."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_view import PARAMETERS, assert_same, outcome

import penstock as ps
from penstock import algorithms
from penstock.dynamic import reverse
from penstock.engine.counts import counts_of
from penstock.engine.options import RunOptions
from penstock.errors import BudgetError, FormatError, OptionError
from penstock.progress import Silent

#: Algorithms that look at out-lists alone, or do nearly as well with them.
WITHOUT = {
    "closeness", "connected_components", "cross_edges", "degree_distribution", "egonet",
    "induced_subgraph", "k_hop", "minimum_spanning_forest", "radius", "sssp",
    "strongly_connected_components", "two_hop",
}  # fmt: skip
KINDS = ("memory", "base", "snapshot", "snapshot of a base", "read only")


def some_edges(n=130, rows=900, seed=0):
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, rows), rng.integers(0, n, rows)
    src[:n] = np.arange(n)
    first = np.sort(np.unique(src * n + dst, return_index=True)[1])
    return src[first], dst[first], rng.integers(1, 20, len(first)).astype(float)


def made(kind, path, **options):
    """A graph of :func:`some_edges`, with default options; on a base it has changed since."""
    src, dst, weight = some_edges()
    options = {"edge_properties": {"weight": "float64"}, **options}
    if kind in ("memory", "snapshot"):
        graph = ps.DynamicGraph(**options)
        graph.add_edges(src, dst, {"weight": weight})
        return graph.snapshot() if kind == "snapshot" else graph
    half = len(src) // 2
    graph = ps.DynamicGraph(path / "g", **options)
    graph.add_edges(src[:half], dst[:half], {"weight": weight[:half]})
    graph.add_edges(src[40:60], dst[30:50], {"weight": weight[:20]})
    graph.compact()
    graph.delete_edges(src[40:60], dst[30:50])
    graph.add_edges(src, dst, {"weight": weight})
    if kind == "read only":
        graph.close()
        return ps.DynamicGraph(path / "g", read_only=True)
    return graph.snapshot() if kind == "snapshot of a base" else graph


def has_in(graph):
    return "in" in graph.directions if isinstance(graph, ps.Graph) else "in" in sides_of(graph)


def sides_of(graph):
    return graph._storage.state.sides


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", algorithms.names())
def test_every_algorithm_runs_on_a_default_graph(name, kind, tmp_path):
    graph = made(kind, tmp_path)
    still = ps.from_edges(*some_edges(), vertex_order="none")
    assert_same(name, outcome(graph, name, threads=2), outcome(still, name, threads=1))
    assert has_in(graph) == (name not in WITHOUT)


@pytest.fixture(scope="module")
def out_only(tmp_path_factory):
    """Makes static graphs that have out-lists alone."""

    def build(*arrays):
        path = tmp_path_factory.mktemp("out") / "g"
        return ps.build(arrays, path, weights=True, directions="out", vertex_order="none")

    return build


@pytest.mark.parametrize("name", algorithms.names())
def test_refused_reverse_lists(name, out_only):
    graph = made("memory", None, reverse=False)
    still = out_only(*some_edges())
    try:
        expected = outcome(still, name, threads=1)
    except FormatError:
        with pytest.raises(FormatError, match=r"in-lists; .*reverse=False"):
            outcome(graph, name)
    else:
        assert_same(name, outcome(graph, name, threads=2), expected)
    assert not has_in(graph)


@st.composite
def batches(draw):
    ends = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.booleans()), max_size=25)
    return draw(st.lists(ends, min_size=2, max_size=5))


@pytest.mark.parametrize("multigraph", [False, True])
@settings(max_examples=25)
@given(batches(), st.integers(0, 4), st.booleans())
def test_they_are_kept_up(out_only, multigraph, given_batches, when, on_base):
    """After any batches, the in-lists hold the edges of the out-lists with their properties."""
    base = out_only([1, 2, 2], [3, 3, 1], [5.0, 6.0, 7.0])
    options = {"multigraph": multigraph or None}
    if on_base and not multigraph:
        graph = ps.DynamicGraph.from_graph(base)
    else:
        graph = ps.DynamicGraph(edge_properties={"weight": "float64"}, **options)
    for number, rows in enumerate(given_batches):
        if rows:
            src, dst, adds = (list(each) for each in zip(*rows, strict=True))
            values = {"weight": np.arange(len(rows)) + 100.0 * number}
            graph.update_edges(src, dst, np.array(adds), values)
        if number == when and graph.num_vertices:
            graph.degree(int(graph.ids[0]), "in")
    found = {"out": Counter(), "in": Counter()}
    for direction, counter in found.items():
        for v in graph.ids.tolist():
            others, columns = graph.edges(v, direction)
            for u, x in zip(others.tolist(), columns["weight"].tolist(), strict=True):
                counter[(v, u, x) if direction == "out" else (u, v, x)] += 1
    assert found["in"] == found["out"]
    assert found["in"].total() == graph.num_edges


def test_a_plan_builds_nothing_and_counts_what_building_takes():
    graph = made("memory", None)
    options = RunOptions.of(memory="64MB")
    plan = algorithms.find("pagerank").plan(graph, options, {})
    with graph.reading() as still:
        counts = counts_of(still)
        assert counts.directions == ("out",)
        assert counts.unbuilt == ("in",)
        needed = counts.lists["in"].build_bytes
        expected = np.bincount(np.searchsorted(still.ids, some_edges()[1]), minlength=130)
        np.testing.assert_array_equal(still.degrees("in"), expected)
    assert not has_in(graph)
    assert plan.directions == ("in",)
    ps.pagerank(graph)
    again = algorithms.find("pagerank").plan(graph, options, {})
    assert plan.memory_bytes - again.memory_bytes == needed > 0


@pytest.mark.parametrize("name", ["bfs", "pagerank"])
def test_a_run_does_without_if_they_do_not_fit(name):
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 100_000, (2, 3_500_000))
    graph = ps.DynamicGraph()
    graph.add_edges(src, dst)
    parameters = {"source": int(src[0])} if name == "bfs" else {"tol": 1e-3}
    algorithm = algorithms.find(name)
    found = algorithm(graph, **parameters, memory="17MB")
    assert not has_in(graph)
    more = algorithm(graph, **parameters, memory="100MB")
    assert has_in(graph)
    np.testing.assert_allclose(found.values, more.values, rtol=1e-3)


def test_what_cannot_do_without_says_what_is_enough():
    graph = ps.DynamicGraph()
    rng = np.random.default_rng(3)
    graph.add_edges(*rng.integers(0, 100_000, (2, 3_500_000)))
    with pytest.raises(BudgetError, match="requires at least"):
        ps.core_number(graph, memory="17MB")
    assert not has_in(graph)


def test_a_snapshot_makes_its_own():
    graph = made("memory", None)
    still = graph.snapshot()
    before = ps.core_number(still).values
    assert not has_in(graph)
    graph.delete_edges(*some_edges()[:2])
    np.testing.assert_array_equal(ps.core_number(still).values, before)


def test_compaction_writes_them_and_a_reopened_graph_has_them(tmp_path):
    graph = made("base", tmp_path)
    ranks = ps.pagerank(graph, tol=0, max_iter=9).values
    assert (tmp_path / "g" / "reverse").is_dir()
    graph.compact()
    assert not list((tmp_path / "g").glob("*reverse*"))
    graph.close()
    with ps.DynamicGraph(tmp_path / "g") as graph:
        assert has_in(graph)
        np.testing.assert_allclose(ps.pagerank(graph, tol=0, max_iter=9).values, ranks, rtol=1e-5)


def test_files_of_a_writer_that_died_are_removed(tmp_path):
    graph = made("base", tmp_path)
    ps.pagerank(graph)
    kept = graph.snapshot()  # holds the generation
    graph.close()
    assert (tmp_path / "g" / "reverse").is_dir()
    before = ps.core_number(kept).values
    del kept
    with ps.DynamicGraph(tmp_path / "g") as graph:
        assert not (tmp_path / "g" / "reverse").exists()
        assert not has_in(graph)
        np.testing.assert_array_equal(ps.core_number(graph).values, before)
    assert not (tmp_path / "g" / "reverse").exists()


def test_a_store_made_of_it_has_both_directions(tmp_path):
    graph = made("base", tmp_path)
    store = graph.compact(tmp_path / "static")
    assert store.directions == ("out", "in")
    assert not has_in(graph)
    expected = ps.from_edges(*some_edges(), vertex_order="none")
    np.testing.assert_array_equal(ps.core_number(store).values, ps.core_number(expected).values)


@pytest.mark.parametrize("room", [1, 100, 10**6])
def test_a_store_of_in_lists_whatever_the_memory(room, tmp_path):
    with made("base", tmp_path).reading() as still:
        lists = reverse.reversed_lists(still, None)
        lists = reverse.ReversedLists(still, lists.degrees, room)
        found = [(v, u, x) for part in lists.parts() for v, u, x in _rows(part)]
        back = sorted((int(v), int(u), x) for u, v, x in zip(*_edges(still), strict=True))
    assert found == back


def _rows(part):
    vertices = np.repeat(np.arange(len(part.degrees)) + part.first_vid, part.degrees)
    return zip(vertices.tolist(), part.neighbours.tolist(), part.columns["weight"], strict=True)


def _edges(still):
    parts = [(src, dst, columns["weight"]) for src, dst, columns in still.iter_edges()]
    return (np.concatenate(each) for each in zip(*parts, strict=True))


@pytest.mark.parametrize("given_reverse", [True, False])
def test_what_a_directory_leaves_open_can_be_said_later(given_reverse, tmp_path):
    made("base", tmp_path).close()
    with ps.DynamicGraph(tmp_path / "g", reverse=given_reverse) as graph:
        assert has_in(graph) == given_reverse
        if not given_reverse:
            with pytest.raises(OptionError, match="reverse=False"):
                graph.neighbors(1, "in")
    with ps.DynamicGraph(tmp_path / "h", reverse=given_reverse) as graph:
        graph.add_edges([1], [2])
    with pytest.raises(OptionError, match="reverse: "):
        ps.DynamicGraph(tmp_path / "h", reverse=not given_reverse)


@pytest.mark.parametrize("name", ["bfs", "connected_components", "color", "triangles", "degree"])
def test_maintained_algorithms_make_them(name):
    parameters = {"bfs": {"source": 5}, "degree": {"direction": "in"}}.get(name, {})
    default, given_first = made("memory", None), made("memory", None, reverse=True)
    answers = [graph.maintain(name, **parameters) for graph in (default, given_first)]
    assert has_in(default)
    for graph in (default, given_first):
        graph.delete_edges([5, 6], [int(graph.neighbors(5)[0]), 7])
        graph.add_edges([5, 200], [200, 6])
    np.testing.assert_array_equal(answers[0].values, answers[1].values)


def test_all_parameters_are_of_algorithms():
    assert set(PARAMETERS) | WITHOUT <= set(algorithms.names())


@pytest.mark.parametrize("kind", ["memory first", "base"])
def test_made_while_a_compaction_is_under_way(kind, tmp_path):
    """The in-lists stand on a store of their own while the next base has out-lists alone."""
    src, dst, weight = some_edges()
    if kind == "base":
        graph = made("base", tmp_path)
    else:
        graph = ps.DynamicGraph(tmp_path / "g", edge_properties={"weight": "float64"})
        graph.add_edges(src, dst, {"weight": weight})
    graph._storage.freeze()
    graph.add_edges([3, 500], [500, 4], {"weight": [1.0, 2.0]})
    extra = [(3, 500, 1.0), (500, 4, 2.0)]

    def check(found):
        rows = {(u, v): w for u, v, w in zip(src.tolist(), dst.tolist(), weight, strict=True)}
        rows |= {(u, v): w for u, v, w in extra}
        pairs = np.array(list(rows))
        still = ps.from_edges(pairs[:, 0], pairs[:, 1], np.array(list(rows.values())))
        for name in ("core_number", "pagerank"):
            expected = algorithms.find(name)(still)
            given = algorithms.find(name)(found)
            np.testing.assert_array_equal(given.ids, expected.ids)
            np.testing.assert_allclose(given.values, expected.values, rtol=1e-4)

    check(graph)
    assert graph._storage.state.uses_reverse_store
    graph._compactor._finish(Silent(), lambda: None)
    check(graph)
    assert graph._storage.state.uses_reverse_store
    assert (tmp_path / "g" / "reverse").is_dir()
    graph.delete_edges([3], [500])
    extra.pop(0)
    check(graph)
    graph.compact()
    assert not graph._storage.state.uses_reverse_store
    assert not (tmp_path / "g" / "reverse").exists()
    check(graph)
    graph.close()
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert has_in(again)
        check(again)
