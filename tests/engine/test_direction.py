"""Which way a frontier is expanded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.algorithms.bfs import threshold_rule
from penstock.engine.direction import (
    SMALL_EDGES,
    TINY_EDGES,
    Outlook,
    bottom_up_cost,
    choose_by_cost,
    choose_streamed,
    stays_small,
)

#: A million vertices with 30 edges each, most of them ahead.
FLAT = Outlook(
    count=30_000, before=1000, edges=900_000, unreached=960_000, unexplored=29_000_000,
    mode="top-down", edge_factor=30.0,
)  # fmt: skip


def test_most_edges_are_still_ahead():
    assert choose_by_cost(FLAT) == "top-down"


def test_the_frontier_has_a_good_part_of_the_edges():
    assert choose_by_cost(replace(FLAT, edges=10_000_000, unexplored=20_000_000)) == "bottom-up"


def test_few_are_left():
    late = replace(FLAT, edges=300_000, unreached=2000, unexplored=2500)
    assert choose_by_cost(late) == "bottom-up"
    assert bottom_up_cost(late) < 2500


def test_small_frontiers_stay_top_down():
    for edges in (1, TINY_EDGES):
        assert stays_small(edges, 0)
        assert choose_by_cost(replace(FLAT, edges=edges, unexplored=0)) == "top-down"
    assert stays_small(SMALL_EDGES, SMALL_EDGES)
    assert not stays_small(SMALL_EDGES, SMALL_EDGES - 1), "few edges are left"
    assert not stays_small(SMALL_EDGES + 1, 1 << 40)


def test_more_edges_to_look_at_cost_more():
    costs = [bottom_up_cost(replace(FLAT, edges=edges)) for edges in (10**7, 10**6, 10**5, 0)]
    assert costs == sorted(costs)
    # However few lead there, nobody looks at an edge twice.
    assert costs[-1] == bottom_up_cost(replace(FLAT, edges=1))


def test_a_stream_reads_lists_as_a_whole():
    assert choose_streamed(replace(FLAT, edges=1001, unexplored=1000)) == "bottom-up"
    assert choose_streamed(replace(FLAT, edges=1000, unexplored=1000)) == "top-down"


RULE = threshold_rule(alpha=4096, beta=4)


def test_thresholds_while_the_frontier_grows():
    # 30 * 100 edges against 30 * unreached + 100: 4096 times as many would be 12,288,000.
    growing = replace(FLAT, count=100, before=99)
    assert RULE(replace(growing, unreached=409_596)) == "bottom-up"
    assert RULE(replace(growing, unreached=409_597)) == "top-down"


def test_thresholds_while_the_frontier_shrinks():
    # 30 * 100 edges against a quarter of 30 * unreached + 100.
    shrinking = replace(FLAT, count=100, before=101, mode="bottom-up")
    assert RULE(replace(shrinking, unreached=396)) == "bottom-up"
    assert RULE(replace(shrinking, unreached=397)) == "top-down"


@pytest.mark.parametrize("mode", ["top-down", "bottom-up"])
def test_thresholds_otherwise_change_nothing(mode):
    level = replace(FLAT, count=100, before=100, unreached=0, mode=mode)
    assert RULE(level) == mode
