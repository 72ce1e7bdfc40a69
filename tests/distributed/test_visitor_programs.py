"""Programs on several ranks give what one processor would, however messages are delayed."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from delaying import DelayingCrew
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.distributed import outbox, visitor_queue
from penstock.distributed.runner import VisitorRunner
from penstock.distributed.visitors import owners

RANKS = [1, 2, 3, 5]


def random_edges(vertices, edges, seed, spread=1):
    """Ends of random edges; ids are ``spread`` apart, loops and repeats are among them."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(0, vertices, edges).astype(np.uint64) * spread for _ in range(2))


def graph_of(src, dst, kind=nx.Graph):
    graph = kind()
    graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    return graph


def as_dict(values):
    assert (values.ids[1:] > values.ids[:-1]).all()
    return dict(zip(values.ids.tolist(), values.values.tolist(), strict=True))


def levels_of(graph, source):
    reached = nx.single_source_shortest_path_length(graph, source)
    return {v: reached.get(v, -1) for v in graph}


def labels_of(graph):
    return {v: min(part) for part in nx.connected_components(graph) for v in part}


def greedy_colors(graph):
    """One vertex after another by ascending id."""
    colors = {}
    for v in sorted(graph):
        taken = {colors[w] for w in graph[v] if w < v}
        colors[v] = next(c for c in range(len(taken) + 1) if c not in taken)
    return colors


def check_proper(graph, colors):
    assert colors.keys() == set(graph)
    assert not [(u, v) for u, v in graph.edges if u != v and colors[u] == colors[v]]


def check_all(runner, graph, source):
    edges = runner.gather()
    found = set(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    assert len(found) == len(edges.src)
    assert found == {(min(e), max(e)) for e in graph.edges}
    assert runner.num_vertices == len(graph)
    assert as_dict(runner.bfs(source)) == levels_of(graph, source)
    assert as_dict(runner.connected_components()) == labels_of(graph)


@pytest.fixture(params=["plain", "delayed"])
def transport(request):
    return (lambda ranks: "threads") if request.param == "plain" else lambda n: DelayingCrew(n, 7)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("spread", [1, 1 << 40])
def test_programs(ranks, spread, transport):
    src, dst = random_edges(200, 260, seed=ranks, spread=spread)
    graph = graph_of(src, dst)
    with VisitorRunner(ranks, transport(ranks)) as runner:
        assert runner.add_edges(src, dst) == graph.number_of_edges()
        check_all(runner, graph, int(src[0]))
        for rule in ("greedy", "repair"):
            assert as_dict(runner.color(rule)) == greedy_colors(graph)
        assert runner.add_edges(dst, src) == 0


def test_programs_in_processes():
    src, dst = random_edges(3000, 9000, seed=1)
    graph = graph_of(src, dst)
    with VisitorRunner(2, "processes", coloring="greedy") as runner:
        assert runner.add_edges(src, dst) == graph.number_of_edges()
        check_all(runner, graph, int(src[0]))
        assert as_dict(runner.color("greedy")) == greedy_colors(graph)
        gone = list(graph.edges)[:2000]
        graph.remove_edges_from(gone)
        assert runner.delete_edges(*np.array(gone).T) == 2000
        check_all(runner, graph, int(src[0]))
        assert as_dict(runner.color("greedy")) == greedy_colors(graph)


@pytest.mark.parametrize("ranks", RANKS)
def test_directed(ranks, transport):
    src, dst = random_edges(200, 300, seed=9)
    graph = graph_of(src, dst, nx.DiGraph)
    with VisitorRunner(ranks, transport(ranks), directed=True) as runner:
        assert runner.add_edges(src, dst) == graph.number_of_edges()
        assert as_dict(runner.bfs(int(src[0]))) == levels_of(graph, int(src[0]))
        half = list(graph.edges)[::2]
        graph.remove_edges_from(half)
        assert runner.delete_edges(*np.array(half).T) == len(half)
        edges = runner.gather()
        assert set(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)) == set(graph.edges)
        assert as_dict(runner.bfs(int(src[0]))) == levels_of(graph, int(src[0]))


def test_long_path_and_star():
    """Many levels of one vertex each, and a level of very many."""
    path = np.arange(2000, dtype=np.uint64)
    leaves = np.arange(10_000, 60_000, dtype=np.uint64)
    with VisitorRunner(3) as runner:
        runner.add_edges(path[1:], path[:-1])
        runner.add_edges(np.full(len(leaves), 5), leaves)
        values = runner.bfs(0)
        assert (values.values[:2000] == path).all()
        assert (values.values[2000:] == 6).all()
        assert not runner.connected_components().values.any()
        colors = as_dict(runner.color("greedy"))
        assert [colors[v] for v in range(2000)] == [0, 1] * 1000
        assert {colors[v] for v in leaves.tolist()} == {0}


batches = st.lists(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.booleans()), max_size=25),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40)
@given(
    st.sampled_from([1, 2, 3]), st.sampled_from(["greedy", "repair"]), st.integers(0, 9), batches
)
def test_batches_of_both_kinds(ranks, rule, seed, given_batches):
    """Adds and deletes of the same edges in one batch, in order; deleting makes no vertex."""
    graph = nx.Graph()
    with VisitorRunner(ranks, DelayingCrew(ranks, seed), coloring=rule) as runner:
        for rows in given_batches:
            added = deleted = 0
            for u, v, adds in rows:
                if adds and not graph.has_edge(u, v):
                    graph.add_edge(u, v)
                    added += 1
                elif not adds and graph.has_edge(u, v):
                    graph.remove_edge(u, v)
                    deleted += 1
            src, dst, ops = (np.array([row[k] for row in rows], int) for k in range(3))
            assert runner.update(src, dst, ops) == (added, deleted)
            before = as_dict(runner.color(rule))
            check_proper(graph, before)
            assert rule == "repair" or before == greedy_colors(graph)
        if graph:
            check_all(runner, graph, min(graph))


@pytest.mark.parametrize("rule", ["greedy", "repair"])
@pytest.mark.parametrize("seed", range(4))
def test_small_messages_and_windows_change_nothing(rule, seed, monkeypatch):
    """Many messages on their way at once, most of them late; ranks hold back all the time."""
    monkeypatch.setattr(outbox, "LEAST_ROOM", 4)
    monkeypatch.setattr(outbox, "MOST_ROOM", 4)
    monkeypatch.setattr(visitor_queue, "WINDOW", 1)
    src, dst = random_edges(60, 300, seed=seed)
    graph = graph_of(src, dst)
    with VisitorRunner(3, DelayingCrew(3, seed), coloring=rule) as runner:
        assert runner.add_edges(src, dst) == graph.number_of_edges()
        assert runner.stats["messages"] > 100
        check_all(runner, graph, int(src[0]))
        colors = as_dict(runner.color(rule))
        check_proper(graph, colors)
        assert rule == "repair" or colors == greedy_colors(graph)
        assert (
            runner.delete_edges(src[::2], dst[::2])
            == graph_of(src[::2], dst[::2]).number_of_edges()
        )
        graph.remove_edges_from(zip(src[::2].tolist(), dst[::2].tolist(), strict=True))
        check_all(runner, graph, int(src[0]))
        assert rule == "repair" or as_dict(runner.color(rule)) == greedy_colors(graph)


def test_owners_are_even_and_the_same_everywhere():
    ids = np.arange(40_000, dtype=np.uint64) << np.uint64(3)
    for ranks in (2, 3, 7):
        shares = np.bincount(owners(ids, ranks), minlength=ranks) / len(ids)
        assert abs(shares - 1 / ranks).max() < 0.02
    assert owners(np.array([0, 1, 2, 3, 1 << 62], np.uint64), 1000).tolist() == [
        0,
        789,
        730,
        856,
        525,
    ]
