"""When changes are merged: decisions alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.dynamic.compaction_limits import (
    LogLimits,
    Need,
    log_need,
    logged_once,
    memory_need,
    retry_at,
    working_bytes,
)

MB = 1 << 20
sizes = st.integers(0, 1 << 44)


def test_a_small_graph_has_a_log_of_16_mb():
    limits = LogLimits()
    assert log_need(16 * MB, 1000, limits) is Need.NONE
    assert log_need(16 * MB + 1, 1000, limits) is Need.SOON
    assert log_need(20 * MB, 1000, limits) is Need.SOON
    assert log_need(20 * MB + 1, 1000, limits) is Need.NOW


def test_a_large_graph_has_a_log_of_twice_what_it_is():
    limits = LogLimits()
    assert log_need(200 * MB, 100 * MB, limits) is Need.NONE
    assert log_need(200 * MB + 1, 100 * MB, limits) is Need.SOON
    assert log_need(250 * MB, 100 * MB, limits) is Need.SOON
    assert log_need(250 * MB + 1, 100 * MB, limits) is Need.NOW


@given(sizes, sizes, st.integers(0, 1 << 30))
def test_no_need_means_less_than_three_times_the_graph(log_bytes, once, floor):
    limits = LogLimits(floor)
    need = log_need(log_bytes, once, limits)
    if need is not Need.NOW:
        assert log_bytes <= max(3 * once, 3 * floor // 2)
    if log_bytes <= 2 * once:
        assert need is Need.NONE
    assert log_need(log_bytes + 1, once, limits) >= need
    assert log_need(log_bytes, once + 1, limits) <= need
    assert limits.soft(once) <= limits.hard(once)
    assert retry_at(log_bytes, once, limits) >= log_bytes


def test_what_logging_a_graph_once_takes():
    # Ids of 8 bytes and no columns; a weight of 4 bytes; strings of 12 bytes; a vertex column.
    assert logged_once(10, 0, id_bytes=8, edge_bytes=0, vertex_bytes=0) == 160
    assert logged_once(10, 3, id_bytes=8, edge_bytes=4, vertex_bytes=0) == 224
    assert logged_once(10, 3, id_bytes=20, edge_bytes=0, vertex_bytes=8) == 484


def test_what_work_takes_is_left_free():
    working = working_bytes(1_000_000)
    assert working == 128_000_000 + 64 * MB
    most = 1000 * MB - working
    assert memory_need(most // 2, most // 2, 1000 * MB, working) is Need.NONE
    assert memory_need(most // 2 + 1, most // 2 + 1, 1000 * MB, working) is Need.SOON
    assert memory_need(most + 1, most + 1, 1000 * MB, working) is Need.NOW
    assert (
        memory_need(20 * MB, 20 * MB, 80 * MB, working) is Need.SOON
    )  # a quarter is always theirs


def test_memory_asks_at_half_of_what_changes_may_take():
    # 100 for all, 20 of which stay: changes may take 80.
    assert [memory_need(changed, 20 + changed, 100) for changed in (40, 41, 80, 81)] == [
        Need.NONE, Need.SOON, Need.SOON, Need.NOW
    ]  # fmt: skip
    # What stays takes everything: changes may take a quarter all the same.
    assert [memory_need(changed, 500 + changed, 100) for changed in (12, 13, 25, 26)] == [
        Need.NONE, Need.SOON, Need.SOON, Need.NOW
    ]  # fmt: skip


@given(sizes, sizes, st.integers(16, 1 << 44))
def test_memory_that_grows_never_asks_for_less(changed, stays, budget):
    need = memory_need(changed, changed + stays, budget)
    assert memory_need(changed + 1, changed + 1 + stays, budget) >= need
    assert memory_need(changed, changed + stays + 1, budget) >= need
    if changed + stays > budget and changed > budget // 4:
        assert need is Need.NOW
    if changed + stays <= budget // 2:
        assert need is Need.NONE
