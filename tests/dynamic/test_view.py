"""Every algorithm on a graph that changes gives what it gives on one of the same edges."""

from __future__ import annotations

import numpy as np
import pytest
from view_making import made, made_frozen, made_on_base, small_pages

import penstock as ps
from penstock import algorithms
from penstock.dynamic.view import snapshot

#: Parameters that an algorithm needs, or that make it do all it can. Ids are 0 .. 129.
PARAMETERS = {
    "bfs": {"source": 5},
    "sssp": {"source": 5},
    "k_hop": {"source": 5, "k": 2},
    "two_hop": {"v": 5},
    "egonet": {"source": 5},
    "induced_subgraph": {"vertices": list(range(60))},
    "cross_edges": {"a": list(range(40)), "b": list(range(30, 90))},
    "pagerank": {"tol": 0, "max_iter": 12, "weight": True},
    "rwr": {"source": 5, "tol": 0, "max_iter": 12},
    "betweenness": {"sources": [5, 7, 11], "weight": True},
    "edge_betweenness": {"sources": [5, 7]},
    "closeness": {},
    "heat": {"initial": {5: 1.0}},
    "circuit": {"fixed": {5: 1.0, 7: 0.0}, "tol": 0, "max_iter": 12},
    "neural_network": {"inputs": {5: 1.0}},
    "scan": {"epsilon": 0.4, "mu": 2, "index": False},
}
#: In place or on streams as the algorithm has it; on streams.
WAYS = {
    "one thread": {"threads": 1},
    "two threads": {"threads": 2},
    "streamed": {"load": False, "threads": 2},
    "page by page": {"load": False, "threads": 1, "streams": 1, "cache_pages": 0},
}
#: What depends on the order of a list, or may be one of several.
FREE = {"bfs": ["parents"], "sssp": ["parents"]}


def outcome(graph, name, **options):
    """The columns of a result and of its edges."""
    found = algorithms.find(name)(graph, **PARAMETERS.get(name, {}), **options)
    tables = [found, found.edges] if found.has_edges else [found]
    return [
        {"": np.asarray(table.ids), **{key: np.asarray(column.whole()) for key, column in each}}
        for table in tables
        for each in [table._columns.items()]
    ]


def assert_same(name, given, expected):
    assert len(given) == len(expected)
    for mine, right in zip(given, expected, strict=True):
        assert mine.keys() == right.keys()
        for key in mine:
            if key in FREE.get(name, ()):
                continue
            if mine[key].dtype.kind == "f":
                np.testing.assert_allclose(mine[key], right[key], rtol=2e-4, atol=1e-7)
            else:
                np.testing.assert_array_equal(mine[key], right[key])


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("name", algorithms.names())
def test_the_same_as_on_a_graph_that_does_not_change(name, directed, monkeypatch):
    small_pages(monkeypatch)
    live = made(directed=directed)
    expected = outcome(live.as_graph(vertex_order="none"), name, threads=1)
    for options in WAYS.values():
        given = outcome(live.view(), name, **options)
        assert_same(name, given, expected)


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("name", algorithms.names())
def test_on_a_base_with_changes(name, directed, monkeypatch):
    small_pages(monkeypatch)
    live = made_on_base(None, directed=directed)
    expected = outcome(live.as_graph(vertex_order="none"), name, threads=1)
    assert_same(name, outcome(live.view(), name, threads=2), expected)
    assert_same(name, outcome(live.view(), name, threads=2, load=False), expected)


@pytest.mark.parametrize("based", [False, True], ids=["in memory", "on a base"])
@pytest.mark.parametrize("name", algorithms.names())
def test_while_a_compaction_is_under_way(name, based, monkeypatch):
    """What was frozen has changes above it."""
    small_pages(monkeypatch)
    live = made_frozen(None, directed=based, based=based)
    expected = outcome(live.as_graph(vertex_order="none"), name, threads=1)
    assert_same(name, outcome(live.view(), name, threads=2), expected)
    assert_same(name, outcome(live.view(), name, threads=2, load=False), expected)
    assert_same(name, outcome(snapshot(live.as_version()), name, threads=2), expected)


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("name", algorithms.names())
def test_results_hold_whatever_the_order_of_the_ids(name, directed, monkeypatch):
    small_pages(monkeypatch)
    live = made(directed=directed, ids=np.random.default_rng(2).permutation(130))
    found = algorithms.find(name)(live.view(), **PARAMETERS.get(name, {}), threads=2)
    np.testing.assert_array_equal(found.ids, np.sort(found.ids))
    if name not in UNVERIFIED:
        algorithms.find(name).verify(live.view(), found)


#: Runs that were stopped before the end on purpose.
UNVERIFIED = {"pagerank", "rwr", "circuit"}


def test_programs_run_in_place_and_on_streams(monkeypatch):
    small_pages(monkeypatch)
    live = made(directed=True)
    smallest = ps.Program(
        state={"value": "int64"},
        init=lambda vertex: vertex.index,
        gather=lambda src, edge, dst: src.value,
        sum="min",
        identity=1 << 40,
        apply=lambda old, a: min(old.value, a),
        activate=lambda new, old: new.value != old.value,
        incremental=True,
        name="smallest",
    )
    expected = ps.run(live.as_graph(), smallest).values
    for strategy in ("auto", "pull", "notify-pull", "push"):
        for options in WAYS.values():
            found = ps.run(live.view(), smallest, strategy=strategy, **options)
            np.testing.assert_array_equal(found.values, expected)
    reference = ps.run(live.view(), smallest, devices="reference", threads=1)
    np.testing.assert_array_equal(reference.values, expected)


def test_models_take_it():
    live = made(directed=False)
    graph = live.as_graph()
    arguments = (lambda m, v: m * v, "add", lambda v, a: a)
    np.testing.assert_allclose(
        ps.gimv(live.view(), *arguments, vector=1.0, max_iter=2, tol=None).values,
        ps.gimv(graph, *arguments, vector=1.0, max_iter=2, tol=None).values,
    )
    given = (
        lambda value, weight: value + weight,
        "min",
        lambda value, message: min(value, message),
    )
    initial = np.full(130, np.inf)
    initial[5] = 0
    np.testing.assert_allclose(
        ps.edge_vertex(live.view(), *given, initial=initial, start=[5]).values,
        ps.sssp(graph, 5).values,
    )
