"""What NetworkX sees of the backend: entry points, signatures, conversion, reasons; its cost."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

import penstock as ps
from penstock.errors import BudgetError, OptionError
from penstock.interfaces.nx import stored
from penstock.interfaces.nx.backend import SMALL_EDGES, backend
from penstock.interfaces.nx.info import FUNCTIONS, LOADS, STREAMS, get_info
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.page import page
from penstock.interfaces.nx.stored import StoredGraph

PAGE = Path(__file__).parents[2] / "docs" / "networkx-functions.md"


def modules_after(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_networkx_finds_the_backend():
    (found,) = entry_points(group="networkx.backends", name="penstock")
    assert found.load() is backend
    (found,) = entry_points(group="networkx.backend_info", name="penstock")
    assert found.load() is get_info
    assert nx.utils.backends.backend_info["penstock"]["functions"].keys() == FUNCTIONS.keys()


def test_importing_networkx_imports_nothing_heavy():
    ours = modules_after("import networkx") - modules_after(
        "import importlib.metadata as m; e = m.entry_points; m.entry_points = "
        "lambda **k: [] if k.get('group', '').startswith('networkx') else e(**k); import networkx"
    )
    assert {each.split(".")[0] for each in ours} <= {"penstock", "__future__"}
    assert len(ours) <= 10, ours


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_networkxs_signature(name):
    expected = inspect.signature(nx.utils.backends._registered_algorithms[name].orig_func)
    found = inspect.signature(getattr(backend, name))
    assert [(p.name, p.default, p.kind) for p in found.parameters.values()] == [
        (p.name, p.default, p.kind) for p in expected.parameters.values()
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_does_and_where_its_lists_are(name):
    assert getattr(backend, name).__doc__
    assert FUNCTIONS[name][1].startswith((STREAMS, LOADS))


def test_the_page_is_what_the_table_says():
    """Run `python -m penstock.interfaces.nx.page > docs/networkx-functions.md` if this fails."""
    assert PAGE.read_text() == page()


def test_the_page_has_every_function():
    text = page()
    assert all(f"| `{name}` |" in text for name in FUNCTIONS)


def test_other_names_are_not_there():
    assert not hasattr(backend, "steiner_tree")
    assert "pagerank" in dir(backend)


@pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")
def test_a_graph_is_converted_once_until_it_changes():
    graph = random_graph(20, 40, 1, weights="int")
    nx.pagerank(graph, backend="penstock")
    nx.degree_centrality(graph, backend="penstock")
    kept = graph.__networkx_cache__["backends"]["penstock"].values()
    assert len({id(each) for each in kept}) == 1
    before = nx.pagerank(graph, backend="penstock")
    graph.add_edges_from([(0, node) for node in range(1, 20)])
    after = nx.pagerank(graph, backend="penstock")
    assert after != before
    assert after == pytest.approx(nx.pagerank(graph), abs=1e-6)


def test_it_says_why_it_should_not_run():
    small, large = nx.path_graph(5), nx.path_graph(SMALL_EDGES + 1)
    assert "5" not in str(backend.should_run("pagerank", (large,), {}))
    assert "4 edges" in backend.should_run("pagerank", (small,), {})
    assert "4 edges" in backend.should_run("pagerank", (), {"G": small})
    assert backend.should_run("pagerank", (large,), {}) is True
    assert backend.should_run("pagerank", (StoredGraph(ps.from_edges([0], [1])),), {}) is True
    assert backend.can_run("pagerank", (small,), {}) is True


def test_a_result_that_is_no_graph_stays_what_it_is():
    assert backend.convert_to_nx({1: 2}) == {1: 2}
    graph = nx.path_graph(3)
    assert backend.convert_to_nx(backend.convert_from_nx(graph)) is graph


def weighted_edges(graph):
    ends = tuple if graph.is_directed() else frozenset
    return {(ends((u, v)), weight) for u, v, weight in graph.edges(data="weight")}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [None, "int", "float"])
def test_a_graph_has_the_same_nodes_and_edges(way, directed, weights, tmp_path):
    graph = random_graph(25, 50, 3, directed=directed, weights=weights, loops=True)
    found = backend_graph(graph, way, tmp_path)
    assert list(found) == list(found.nodes) == list(graph)
    assert (len(found), found.size()) == (len(graph), graph.size())
    assert (found.is_directed(), found.is_multigraph()) == (directed, False)
    assert dict(found.degree) == dict(graph.degree)
    assert dict(found.degree([3, 4])) == dict(graph.degree([3, 4]))
    assert found.degree(3) == found.degree[3] == graph.degree[3]
    assert nx.density(found) == nx.density(graph)
    assert nx.degree_histogram(found) == nx.degree_histogram(graph)
    for node in graph:
        assert set(found.neighbors(node)) == set(found[node]) == set(graph[node])
        if directed:
            assert set(found.predecessors(node)) == set(graph.predecessors(node))
            assert found.in_degree[node] == graph.in_degree[node]
            assert found.out_degree[node] == graph.out_degree[node]
    back = backend.convert_to_nx(found)
    assert set(back.nodes) == set(graph.nodes)
    assert weighted_edges(back) == weighted_edges(graph)
    part = found.part(found.places_of([1, 2, 3, 4, 5, 99]))
    assert set(part) == {1, 2, 3, 4, 5}
    assert part.number_of_edges() == graph.subgraph(range(1, 6)).number_of_edges()


def test_nodes_of_a_store_are_the_users_ids():
    graph = ps.from_edges(["b", "a", "ü"], ["a", "ü", "c"]).nx()
    assert list(graph) == ["a", "b", "c", "ü"]
    assert graph.find("b") == 1
    assert graph.find("x") is graph.find(1) is graph.find(("a",)) is None
    assert graph.has_edge("b", "a")
    assert not graph.has_edge("a", "b")
    assert not graph.has_edge("x", "a")
    assert set(nx.pagerank(graph)) == {"a", "b", "c", "ü"}
    with pytest.raises(nx.NetworkXError, match="x is not in the graph"):
        graph.neighbors("x")
    with pytest.raises(KeyError):
        graph.degree["x"]
    numbers = ps.from_edges([10, 20], [20, 30]).nx()
    assert list(numbers) == [10, 20, 30]
    assert 20.0 in numbers
    assert 20.5 not in numbers
    assert sorted(nx.subgraph(numbers, [10, 20, 99])) == [10, 20]
    assert dict(nx.degree(numbers)) == {10: 1, 20: 2, 30: 1}
    assert (numbers.number_of_edges(10, 20), numbers.number_of_edges(20, 10)) == (1, 0)
    assert numbers.number_of_edges(10, 99) == 0
    with pytest.raises(OptionError, match="weights"):
        numbers.degree(weight="weight")
    with pytest.raises(OptionError, match="weights"):
        numbers.size(weight="weight")
    with pytest.raises(nx.NetworkXError, match="not a valid node"):
        nx.triangles(ps.from_edges([0], [1], directed=False).nx(), [[1]])
    assert numbers.find(20) == 1
    assert numbers.find(25) is numbers.find("20") is None


def test_parallel_edges_of_a_store_weigh_together():
    kept = ps.from_edges([0, 0, 1], [1, 1, 2], [3.0, 2.0, 1.0], directed=False, duplicates="keep")
    graph = kept.nx()
    assert graph.is_multigraph()
    assert graph.number_of_edges() == 3
    assert graph.lists("out", "weight", "min").weights.tolist() == [2, 2, 1, 1]
    assert graph.lists("out", "weight", "sum").weights.tolist() == [5, 5, 1, 1]
    assert graph.lists().neighbours.tolist() == [1, 0, 2, 1]
    assert dict(graph.degree) == {0: 2, 1: 3, 2: 1}
    assert (graph.number_of_edges(0, 1), graph.number_of_edges(2, 1)) == (2, 1)


def test_a_store_without_weights_is_ranked_without():
    plain = ps.from_edges([0, 1, 2], [1, 2, 0]).nx()
    assert nx.pagerank(plain) == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    with pytest.raises(OptionError, match="a column"):
        nx.dijkstra_path(plain, 0, 2, weight=lambda u, v, data: 1)


def test_what_is_too_large_is_not_made_into_a_graph_of_networkx(monkeypatch):
    graph = ps.from_edges([0, 1, 2], [1, 2, 0])
    monkeypatch.setattr(type(graph), "num_edges", 2_000_000_000)
    with pytest.raises(BudgetError, match="2,000,000,000 edges"):
        backend.convert_to_nx(graph.nx())


def test_lists_that_do_not_fit_are_not_loaded(monkeypatch):
    graph = ps.from_edges([0, 1, 2], [1, 2, 0]).nx()
    monkeypatch.setattr(stored, "memory_budget", lambda given: 50)
    with pytest.raises(BudgetError, match="in memory"):
        graph.lists()
    assert len(nx.pagerank(graph)) == 3


def test_a_live_graph_is_a_snapshot():
    live = ps.DynamicGraph(directed=False)
    live.add_edges([0, 1], [1, 2])
    graph = live.nx()
    live.add_edges([2], [3])
    assert (len(graph), graph.number_of_edges()) == (3, 2)
    assert live.nx().number_of_edges() == 3
    assert isinstance(ListedGraph(nx.path_graph(3)).to_penstock(), ps.Graph)


@pytest.mark.parametrize("way", WAYS)
def test_graphs_can_be_pickled(way, tmp_path):
    graph = random_graph(10, 20, 4, weights="int")
    found = backend_graph(graph, way, tmp_path)
    before = nx.pagerank(found)
    assert nx.pagerank(pickle.loads(pickle.dumps(found))) == pytest.approx(before)


def test_a_pickled_graph_of_networkx_has_none_of_our_arrays():
    graph = nx.gnm_random_graph(300, 3000, seed=1)
    size = len(pickle.dumps(graph))
    nx.pagerank(graph, backend="penstock")
    assert len(pickle.dumps(graph)) < size + 1000
