"""How devices divide work: decisions as pure functions of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.device.spec import Device, parse_device, parse_devices
from penstock.engine.dealing import DynamicScheduler, StaticScheduler
from penstock.engine.device_group import owners_of
from penstock.engine.device_push import vertex_ranges
from penstock.engine.division import all_pull, alpha, divide, takes_another
from penstock.engine.options import RunOptions
from penstock.errors import BudgetError, OptionError

TIMES = st.floats(1e-6, 1e3)


class TestDivide:
    def test_values_that_fit_are_on_every_device(self):
        assert divide(100, [100, 200]).division == "P"
        assert divide(100, [None, None]).ranges == 1

    def test_values_that_do_not_fit_are_divided(self):
        shares = divide(100, [60, 60])
        assert (shares.division, shares.ranges) == ("S", 2)

    def test_if_not_even_a_part_fits_they_come_in_rounds(self):
        shares = divide(100, [20, 30])
        assert (shares.division, shares.ranges) == ("S", 6)

    def test_one_device_has_them_in_ranges(self):
        shares = divide(100, [30])
        assert (shares.division, shares.ranges) == ("P", 4)

    def test_what_is_asked_for_counts(self):
        assert divide(100, [None, None], "S").ranges == 2
        shares = divide(100, [50, 50], "P")
        assert (shares.division, shares.ranges) == ("P", 2)

    def test_too_little_is_refused_with_what_would_do(self):
        with pytest.raises(BudgetError, match="at least 4 B each"):
            divide(1000, [1, 1])
        assert divide(1000, [4, 4]).ranges <= 256

    @given(st.integers(0, 10**6), st.lists(st.integers(8000, 10**6), min_size=1, max_size=5))
    def test_a_part_always_fits(self, size, rooms):
        shares = divide(size, rooms)
        assert -(-size // shares.ranges) <= min(rooms)
        assert shares.ranges % (len(rooms) if shares.division == "S" else 1) == 0

    def test_rmat30_and_rmat32_as_in_the_paper(self):
        # PageRank has 4 bytes a vertex: one device of 6 GB holds those of RMAT30, and two divide
        # those of RMAT31; RMAT32 takes two of 12 GB.
        assert divide(4 << 30, [6 * 10**9]).ranges == 1
        assert divide(4 << 31, [6 * 10**9] * 2).division == "S"
        assert divide(4 << 32, [12 * 10**9] * 2).ranges == 2


class TestDispatch:
    def test_garaphs_alpha(self):
        assert alpha(0.25, 1, 2.0) == pytest.approx(1.0)
        assert alpha(0.9, 1, 0.5) == pytest.approx(0.5)  # never more than a pull of all
        assert alpha(0.01, 10, 4.0) == pytest.approx(0.8)

    @given(TIMES, TIMES, TIMES)
    def test_whoever_decides_takes_the_shorter_time(self, alone, host, others):
        together = 1 / (1 / host + 1 / others)
        taken = together if all_pull(alone, host, others) else alone
        assert taken == min(together, alone)

    def test_nobody_knows_anything_yet(self):
        assert takes_another(None, [1.0], 1)
        assert takes_another(5.0, [None, None], 1)

    def test_a_slow_stream_leaves_the_last_pages_to_the_fast_one(self):
        assert takes_another(3.0, [1.0], 3)
        assert not takes_another(3.0, [1.0], 2)
        assert not takes_another(3.0, [2.0, 2.0], 2)

    def test_others_do_pages_as_a_whole(self):
        # 3 pages at the rates of the others would take 4.6 s, but two of them end after 5 s.
        assert takes_another(5.0, [4.0, 5.0, 5.0], 3)

    @given(st.lists(TIMES, min_size=1, max_size=6), st.integers(1, 1000))
    def test_the_fastest_never_declines(self, seconds, left):
        seconds.sort()
        assert takes_another(seconds[0], seconds[1:], left)

    @given(st.lists(TIMES, min_size=2, max_size=6), st.integers(1, 60))
    def test_pages_are_all_taken_and_about_as_early_as_can_be(self, seconds, pages):
        """Play it with streams that need exactly their time: no worse than the best of all streams
        and of the fastest alone, but for a page.
        """
        free = [0.0] * len(seconds)
        working, left = set(range(len(seconds))), pages
        while left:
            stream = min(working, key=lambda k: (free[k], k))
            others = [each for k, each in enumerate(seconds) if k != stream]
            if not takes_another(seconds[stream], others, left):
                working.discard(stream)
                continue
            free[stream] += seconds[stream]
            left -= 1
        together = pages / sum(1 / each for each in seconds)
        bound = min(pages * min(seconds), 2 * together + max_of_used(free, seconds))
        assert max(free) <= bound * (1 + 1e-9)


def max_of_used(free, seconds):
    return max((each for at, each in zip(free, seconds, strict=True) if at), default=0.0)


class TestDealers:
    def test_p_deals_by_the_pages_number(self):
        dealer = StaticScheduler([0, 1, 1], lambda *_: False, to_all=False)
        take = dealer.deal([4, 7, 2, 1])
        assert [take(0), take(0), take(0)] == [0, 2, None]
        assert [take(1), take(2), take(2)] == [1, 3, None]

    def test_s_deals_every_page_to_all(self):
        dealer = StaticScheduler([0, 1], lambda *_: False, to_all=True)
        assert dealer.copies == 2
        take = dealer.deal([3, 3, 9, 9])
        assert [take(0), take(0), take(0)] == [0, 2, None]
        assert [take(1), take(1), take(1)] == [1, 3, None]

    def test_a_free_dealer_learns_how_long_pages_take(self, monkeypatch):
        now = [0.0]
        monkeypatch.setattr("penstock.engine.dealing.clock", lambda: now[0])
        dealer = DynamicScheduler(2, lambda *_: False)
        take = dealer.deal(range(10))
        assert [take(0), take(1)] == [0, 1]
        for _ in range(6):
            now[0] += 1.0
            assert take(0) is not None
        now[0] += 0.5
        assert take(1) is None  # it took 6.5 s for a page, and 2 are left
        assert dealer.seconds == [1.0, 6.5]
        assert dealer.pull_seconds(range(1)) == pytest.approx(10.0)
        assert dealer.pull_seconds(range(2)) == pytest.approx(10 / (1 + 1 / 6.5))

    def test_only_those_who_take_part_count(self):
        dealer = DynamicScheduler(2, lambda *_: False)
        dealer.seconds = [5.0, 1.0]
        dealer.streams = range(1)
        take = dealer.deal([0, 1])
        assert [take(0), take(0), take(0)] == [0, 1, None]

    def test_somebody_takes_the_rest_even_if_all_turn_slow(self, monkeypatch):
        """One that has declined is not there to wait for."""
        now = [0.0]
        monkeypatch.setattr("penstock.engine.dealing.clock", lambda: now[0])
        dealer = DynamicScheduler(2, lambda *_: False)
        dealer.seconds = [1.0, 3.0]
        take = dealer.deal(range(3))
        assert take(0) == 0
        assert take(1) is None
        now[0] += 1000.0
        assert [take(0), take(0), take(0)] == [1, 2, None]


@given(st.lists(st.integers(1, 8), min_size=1, max_size=5), st.integers(0, 20))
def test_every_device_has_streams(weights, more):
    owners = owners_of(len(weights) + more, weights)
    assert len(owners) == len(weights) + more
    assert owners == sorted(owners)
    assert set(owners) == set(range(len(weights)))


class TestNames:
    def test_devices_by_name(self):
        assert parse_device("cpu") == Device()
        assert parse_device("cpu:2@1MB") == Device(threads=2, memory=10**6)
        assert parse_device(" CUDA:1@4GiB ") == Device("cuda", 1, memory=4 << 30)
        assert parse_devices("cpu:1,cuda") == (Device(threads=1), Device("cuda"))
        assert parse_devices([Device("cuda"), "cpu:1"])[1].threads == 1

    @pytest.mark.parametrize(
        "text", ["gpu", "cpu:", "cpu:x", "reference:2", "", "cuda@lots", "c pu"]
    )
    def test_what_is_none_is_refused(self, text):
        with pytest.raises(OptionError, match="devices"):
            parse_devices(text)

    def test_what_cannot_be(self):
        for given_ in ("cpu:0", [], 7, ["cpu", "reference"]):
            with pytest.raises(OptionError, match="devices"):
                parse_devices(given_)
        for fields in ({"slowdown": 0.5}, {"gather": "x"}, {"block": 33}, {"replicas": 3}):
            with pytest.raises(OptionError, match="devices"):
                Device("cuda", **fields)

    def test_the_host_comes_first_and_threads_are_shared(self):
        options = RunOptions.of(devices="cuda:1,cpu,cpu:3", threads=4)
        assert [device.name for device in options.devices] == ["cpu:4", "cpu:3", "cuda:1"]
        assert options.threads == 4 + 3 + 4
        assert not options.on_plain_cpu
        shared = RunOptions.of(devices="cpu,cpu", threads=5)
        assert [device.threads for device in shared.devices] == [2, 2]
        assert RunOptions.of(devices="cpu", threads=3).on_plain_cpu
        assert not RunOptions.of(devices="cpu@1MB").on_plain_cpu

    def test_options_of_devices_are_checked(self):
        with pytest.raises(OptionError, match="division"):
            RunOptions.of(division="Q")
        with pytest.raises(OptionError, match="dispatch"):
            RunOptions.of(dispatch="best")


def test_ranges_of_pages_with_neighbours_together():
    table = np.zeros(5, [("first_vid", np.int64), ("num_vertices", np.int64)])
    table["first_vid"], table["num_vertices"] = [0, 10, 11, 11, 12], [10, 1, 1, 1, 8]
    assert vertex_ranges(table, np.array([1, 0, 1, 1, 0], np.uint8)) == [(0, 10), (11, 12)]
    assert vertex_ranges(table, np.array([0, 1, 1, 1, 1], np.uint8)) == [(10, 20)]
    assert vertex_ranges(table, np.zeros(5, np.uint8)) == []
