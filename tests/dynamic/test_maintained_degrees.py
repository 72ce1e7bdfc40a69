"""Degrees that are kept: after every batch the lengths of the lists."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_making import LiveGraph, batches, kinds, play

from penstock.dynamic.maintained import MAINTAINED, make
from penstock.errors import OptionError


def started(live, **parameters):
    kept = make("degree", live.sides, **parameters)
    kept.start()
    return kept


def expected(live, direction):
    """By counting the ends of edges."""
    found = Counter()
    for (u, v), count in live.edges().items():
        if not live.directed:
            found.update(dict.fromkeys((u, v), count))
            continue
        if direction != "in":
            found[u] += count
        if direction != "out":
            found[v] += count
    return [found[v] for v in range(len(live.ids))]


@given(batches(), kinds(), st.sampled_from(["out", "in", "both"]))
def test_every_batch(given_batches, kind, direction):
    live = LiveGraph(**kind)
    kept = started(live, direction=direction)
    for batch in given_batches:
        kept.update(play(live, batch))
        assert kept.values.tolist() == expected(live, direction)
    assert started(live, direction=direction).values.tolist() == expected(live, direction)


def test_loops_and_parallel_edges():
    live = LiveGraph(directed=False, multigraph=True)
    kept = started(live)
    kept.update(live.batch([(0, 0), (0, 1), (1, 0), (0, 1)]))
    assert kept.values.tolist() == [4, 3]
    kept.update(live.batch(removed=[(1, 0)]))
    assert kept.values.tolist() == [1, 0]


def test_out_degrees_need_no_reverse_edges():
    live = LiveGraph(directed=True, reverse=False)
    kept = started(live)
    kept.update(live.batch([(0, 1), (0, 2)]))
    assert kept.values.tolist() == [2, 0, 0]
    for direction in ("in", "both"):
        with pytest.raises(OptionError, match=r"degree: .*reverse=False"):
            make("degree", live.sides, direction=direction)


def test_bad_parameters():
    live = LiveGraph()
    with pytest.raises(OptionError, match="direction: expected out, in or both; got 'up'"):
        make("degree", live.sides, direction="up")
    with pytest.raises(OptionError, match="maintain: expected one of bfs, color"):
        make("diameter", live.sides)


@pytest.mark.parametrize("name", sorted(MAINTAINED))
def test_every_algorithm_is_there(name):
    live = LiveGraph()
    live.batch([(0, 1)], weights=[1.0])
    parameters = {"source": 0} if name in ("bfs", "sssp") else {}
    kept = make(name, live.sides, **parameters)
    kept.start()
    assert kept.name == name
    assert len(kept.values) == 2
    assert kept.facts["seconds"] > 0
