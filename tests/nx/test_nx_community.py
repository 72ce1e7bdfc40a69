"""Communities by labels."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest
from making import WAYS, backend_graph, random_graph
from networkx.utils import create_py_random_state

import penstock as ps
from penstock.interfaces.nx import community
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph

DRAWING = ("asyn_lpa_communities", "fast_label_propagation_communities")
GENERATORS = {
    "python": random.Random,
    "numpy, old": np.random.RandomState,
    "numpy": np.random.default_rng,
}


def with_parallel_edges(graph):
    several = (nx.MultiDiGraph if graph.is_directed() else nx.MultiGraph)(graph)
    several.add_edges_from(list(graph.edges(data=True))[::2])
    return several


def graphs(*, directed=False):
    for seed in range(8):
        size, weights = 5 + 6 * seed, ("int", "float")[seed % 2]
        graph = random_graph(size, 3 * size, seed, directed=directed, weights=weights, loops=True)
        yield graph
        yield with_parallel_edges(nx.relabel_nodes(graph, "node {}".format))
    yield nx.empty_graph(3, nx.DiGraph if directed else nx.Graph)
    yield nx.DiGraph() if directed else nx.Graph()


def theirs(name, graph, **options):
    return list(getattr(nx.community, name)(graph, **options, backend="networkx"))


def ours(name, graph, **options):
    return list(getattr(community, name)(graph, **options))


def test_communities_without_draws_are_those_of_networkx():
    for graph in graphs():
        found = community.label_propagation_communities(ListedGraph(graph))
        assert type(found) is type({}.values())
        assert list(found) == theirs("label_propagation_communities", graph)


@pytest.mark.parametrize("name", DRAWING)
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_same_draws_make_the_same_communities(name, generator, directed, weight):
    for graph in graphs(directed=directed):
        one, other = (create_py_random_state(GENERATORS[generator](5)) for _ in range(2))
        expected = theirs(name, graph, weight=weight, seed=one)
        assert ours(name, ListedGraph(graph), weight=weight, seed=other) == expected
        # The next draw is the same, too.
        assert one.random() == other.random()


@pytest.mark.parametrize("name", DRAWING)
def test_nothing_is_drawn_before_the_first_community_is_asked_for(name):
    generator = random.Random(3)
    before = generator.getstate()
    communities = getattr(community, name)(ListedGraph(nx.path_graph(9)), seed=generator)
    assert generator.getstate() == before
    next(communities)
    assert generator.getstate() != before


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*DRAWING, "label_propagation_communities"])
def test_a_community_is_not_left_where_nothing_leads_out(way, name, tmp_path):
    graph = nx.disjoint_union_all([nx.complete_graph(size) for size in (3, 1, 5, 8)])
    seed = {"seed": random.Random(2)} if name in DRAWING else {}
    found = ours(name, backend_graph(graph, way, tmp_path), **seed)
    assert found == list(nx.connected_components(graph, backend="networkx"))


def test_parallel_edges_of_a_stored_graph_count():
    src, dst = [0, 0, 0, 1, 3], [1, 2, 2, 3, 4]
    stored = StoredGraph(ps.from_edges(src, dst, directed=False, duplicates="keep"))
    listed = nx.MultiGraph()
    listed.add_nodes_from(range(5))
    listed.add_edges_from(zip(src, dst, strict=True))
    for seed in range(20):
        found = ours(DRAWING[1], stored, seed=random.Random(seed))
        assert found == theirs(DRAWING[1], listed, seed=seed)
