"""Repaired colours: those of the thesis's example, and always those of the maintained colouring."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from delaying import DelayingCrew
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.distributed import color_repair, outbox, visitor_queue
from penstock.distributed.runner import VisitorRunner


def colors_of(runner):
    found = runner.color()
    return dict(zip(found.ids.tolist(), found.values.tolist(), strict=True))


def columns(rows):
    return [np.array([row[k] for row in rows], int) for k in range(3)]


class Both:
    """One graph twice, with a runner and with a live graph, and a model of its edges."""

    def __init__(self, runner):
        self.runner = runner
        self.live = ps.DynamicGraph(directed=False)
        self.kept = self.live.maintain("color")
        self.graph = nx.Graph()

    def update(self, rows):
        """Apply a batch of (u, v, whether to add) to all; the colours, which are proper."""
        for u, v, adds in rows:
            if adds:
                self.graph.add_edge(u, v)
            elif self.graph.has_edge(u, v):
                self.graph.remove_edge(u, v)
        src, dst, adds = columns(rows)
        self.runner.update(src, dst, adds)
        self.messages = self.runner.stats["messages"]
        self.live.update_edges(src, dst, adds.astype(bool))
        found = colors_of(self.runner)
        ids, colors = self.kept.by_id()
        assert found == dict(zip(ids.tolist(), colors.tolist(), strict=True))
        assert found.keys() == set(self.graph)
        assert not [(u, v) for u, v in self.graph.edges if u != v and found[u] == found[v]]
        return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_the_example_of_the_thesis(ranks):
    """Section 4.8.2, figure 4.20: red, blue, orange and green are 0 to 3."""
    with VisitorRunner(ranks, coloring="repair") as runner:
        both = Both(runner)
        assert both.update([(1, 2, 1), (1, 4, 1)]) == {1: 0, 2: 1, 4: 1}
        assert both.update([(4, 3, 1)]) == {1: 0, 2: 1, 3: 0, 4: 1}
        # 3 gives way to 1, and takes the smallest colour that neither 1 nor 4 has.
        assert both.update([(1, 3, 1)]) == {1: 0, 2: 1, 3: 2, 4: 1}
        # The text has (3, 4) here, which is there already; only (2, 4) makes 4 choose.
        assert both.update([(3, 4, 1)]) == {1: 0, 2: 1, 3: 2, 4: 1}
        assert both.update([(2, 4, 1)]) == {1: 0, 2: 1, 3: 2, 4: 3}
        # 3 keeps its colour, though it could have a smaller one.
        assert both.update([(1, 3, 0)]) == {1: 0, 2: 1, 3: 2, 4: 3}
        assert runner.color("greedy").values.tolist() == [0, 1, 0, 2]


rows = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([1, 1, 1, 0]))


@settings(max_examples=30)
@given(st.sampled_from([1, 2, 3]), st.integers(0, 9), st.lists(rows, max_size=40))
def test_one_edge_at_a_time(ranks, seed, given_rows):
    with VisitorRunner(ranks, DelayingCrew(ranks, seed), coloring="repair") as runner:
        both = Both(runner)
        for row in given_rows:
            both.update([row])


@settings(max_examples=60)
@given(
    st.sampled_from([1, 2, 3, 5]),
    st.integers(0, 9),
    st.lists(st.lists(rows, max_size=25), min_size=1, max_size=5),
)
def test_batches(ranks, seed, given_batches):
    """Whatever the ranks and the delays: the colours are those that one processor finds."""
    with VisitorRunner(ranks, DelayingCrew(ranks, seed), coloring="repair") as runner:
        both = Both(runner)
        for batch in given_batches:
            both.update(batch)


def random_rows(rng, vertices, count, deleted=0.2):
    ends = rng.integers(0, vertices, (count, 2)).tolist()
    return [(u, v, int(rng.random() > deleted)) for u, v in ends]


@pytest.mark.parametrize("seed", range(3))
def test_small_messages_windows_and_steps_change_nothing(seed, monkeypatch):
    """Many messages on their way at once; visits end in the middle of a round."""
    monkeypatch.setattr(outbox, "LEAST_ROOM", 4)
    monkeypatch.setattr(outbox, "MOST_ROOM", 4)
    monkeypatch.setattr(visitor_queue, "WINDOW", 1)
    rng = np.random.default_rng(seed)
    with VisitorRunner(3, DelayingCrew(3, seed), coloring="repair") as runner:
        both = Both(runner)
        for _ in range(4):
            both.update(random_rows(rng, 60, 200))
            assert both.messages > 50


def test_larger_batches_in_processes():
    """Steps of visits end before all candidates are visited."""
    rng = np.random.default_rng(5)
    assert color_repair.STEP_EDGES < 2 * 60_000
    with VisitorRunner(2, "processes", coloring="repair") as runner:
        both = Both(runner)
        for count in (60_000, 3000, 3000):
            both.update(random_rows(rng, 3000, count))


def test_colours_that_begin_later():
    """The first call of ``color`` colours the graph, as ``maintain`` does; then both keep them."""
    rng = np.random.default_rng(2)
    begin = random_rows(rng, 50, 150, deleted=0)
    with VisitorRunner(2) as runner:
        both = Both(runner)
        both.graph.add_edges_from(row[:2] for row in begin)
        src, dst, _ = columns(begin)
        runner.add_edges(src, dst)
        del both.live.maintained["color"]
        both.live.add_edges(src, dst)
        both.kept = both.live.maintain("color")
        both.update([])
        for _ in range(10):
            both.update(random_rows(rng, 50, 20))


def test_one_batch_from_nothing_is_greedy():
    rng = np.random.default_rng(4)
    src, dst, _ = columns(random_rows(rng, 80, 400))
    with VisitorRunner(3, coloring="repair") as runner:
        runner.add_edges(src, dst)
        colors = colors_of(runner)
        assert max(colors.values()) > 2
        assert list(colors.values()) == runner.color("greedy").values.tolist()


def test_only_conflicts_are_repaired():
    """The price of a batch does not depend on the rest of the graph."""
    with VisitorRunner(2, coloring="repair") as runner:
        path = np.arange(4001)
        runner.add_edges(path[1:], path[:-1])
        colors = colors_of(runner)
        runner.add_edges([10], [13])
        assert colors_of(runner) == colors
        runner.add_edges([10], [12])
        assert runner.stats["visitors"] < 12
        assert colors_of(runner) == colors | {12: 2}
