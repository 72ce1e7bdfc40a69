"""Regions where address space is refused: they get what is needed, or the caller is told."""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import penstock as ps
from penstock.dynamic import region
from penstock.dynamic.region import HEADROOM, Region, check_reservable
from penstock.errors import BudgetError

MiB = 1 << 20


class LimitedMap(mmap.mmap):
    """Refuses to map more than a number of bytes, at once or in all."""

    most_at_once = most_in_all = 1 << 62
    in_all = 0
    refused = 0

    def __new__(cls, fileno, length, *args, **kwargs):
        cls._check(length, length)
        made = super().__new__(cls, fileno, length, *args, **kwargs)
        cls.in_all += length
        return made

    @classmethod
    def _check(cls, size, more):
        if size > cls.most_at_once or cls.in_all + more > cls.most_in_all:
            cls.refused += 1
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    def resize(self, size):
        more = size - len(self)
        self._check(size, more)
        super().resize(size)
        type(self).in_all += more

    def close(self):
        type(self).in_all -= len(self)
        super().close()

    def __del__(self):
        if not self.closed:
            type(self).in_all -= len(self)


@pytest.fixture
def limits(monkeypatch):
    """A class of maps of which a test says what they refuse."""

    class Limits(LimitedMap):
        pass

    monkeypatch.setattr(region.mmap, "mmap", Limits)
    monkeypatch.setattr(region, "_refused", threading.Event())
    monkeypatch.setattr(region, "_is_limited", lambda: False)
    return Limits


def test_headroom_where_it_is_given(limits):
    grown = Region("u1")
    grown.reserve(MiB, 0)
    assert len(grown.array) == HEADROOM * MiB
    grown.reserve(3 * MiB, 0)
    assert len(grown.array) == HEADROOM * MiB
    assert not limits.refused


def test_what_is_needed_where_headroom_is_refused(limits):
    limits.most_at_once = 3 * MiB
    grown = Region("u4")
    grown.array[:] = 7
    used = len(grown.array)
    grown.reserve(MiB // 2, used)
    assert len(grown.array) == MiB // 2
    assert (grown.array[:used] == 7).all()
    assert not grown.array[used:].any()
    assert limits.refused == 1
    # The second time headroom is not asked for.
    grown.reserve(3 * MiB // 4, used)
    assert len(grown.array) == 3 * MiB // 4
    assert (grown.array[:used] == 7).all()
    assert limits.refused == 1
    with pytest.raises(BudgetError, match="4,194,304 bytes of address space"):
        grown.reserve(MiB, used)
    assert (grown.array[:used] == 7).all()


def test_a_copy_of_what_is_needed(limits):
    """An array that is still in use stays where it is."""
    limits.most_at_once = 3 * MiB
    grown = Region("u1")
    old = grown.array
    old[:5] = 1, 2, 3, 4, 5
    grown.reserve(MiB, 5)
    assert len(grown.array) == MiB
    assert grown.array[:6].tolist() == [1, 2, 3, 4, 5, 0]
    assert old[:5].tolist() == [1, 2, 3, 4, 5]


def test_a_check_leaves_enough_for_the_last(limits):
    """Headroom for the first region is all there is: after the check it does not take it."""
    check = 3 * MiB
    regions = [Region("u1") for _ in range(3)]
    limits.most_in_all = limits.in_all + check
    check_reservable(check)
    for each in regions:
        each.reserve(MiB, 0)
        assert len(each.array) == MiB
    with pytest.raises(BudgetError, match="address space"):
        check_reservable(MiB)


def test_sizes_that_no_machine_has():
    for size in (1 << 62, 1 << 70):
        with pytest.raises(BudgetError, match="address space"):
            check_reservable(size)
        with pytest.raises(BudgetError, match="address space"):
            Region("u1").reserve(size, 0)
    # This says nothing of smaller ones.
    assert not region._refused.is_set()


@pytest.mark.parametrize("at_once", [True, False])
def test_a_graph_where_headroom_is_refused(tmp_path, limits, at_once):
    """It takes every batch that fits, and refuses others before they are logged."""
    rng = np.random.default_rng(3)
    there = set()
    with ps.DynamicGraph(tmp_path / "g", reverse=True, threads=1) as graph:
        graph.add_edges([1], [2])
        there.add((1, 2))
        before = limits.in_all
        if at_once:
            limits.most_at_once = 16 * MiB
        else:
            limits.most_in_all = before + 24 * MiB
        refused = 0
        for _ in range(12):
            src, dst = rng.integers(0, 3000, (2, 30_000))
            try:
                graph.add_edges(src, dst)
            except BudgetError:
                refused += 1
                continue
            there |= set(zip(src.tolist(), dst.tolist(), strict=True))
        assert limits.refused
        assert 0 < refused < 12
        assert set(graph) == there
        assert graph.add_edges([5000], [5001]) == 1
        there.add((5000, 5001))
    limits.most_at_once = limits.most_in_all = 1 << 62
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert set(again) == there


def test_vertices_that_there_is_no_room_for_are_not_logged(tmp_path, limits):
    with ps.DynamicGraph(tmp_path / "g", threads=1) as graph:
        graph.add_edges([1], [2])
        limits.most_at_once = 4 * MiB
        with pytest.raises(BudgetError, match="address space"):
            graph.add_vertices(np.arange(1_000_000))
        assert graph.add_vertices([1, 7]) == 1
    limits.most_at_once = 1 << 62
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert again.ids.tolist() == [1, 2, 7]


def test_a_process_whose_limit_is_not_known(tmp_path):
    """The system refuses for real, and is not asked before: as where a container does."""
    code = """
    import resource, sys
    import numpy as np
    import penstock as ps
    from penstock.dynamic import region
    rng = np.random.default_rng(1)
    d = ps.DynamicGraph(sys.argv[1], reverse=True, threads=1)
    d.add_edges([1], [2])
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limit = taken + (1 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    region._is_limited = lambda: False
    there = np.array([(1 << 32) + 2])
    for rows in (800_000, 1000, 1000):
        src, dst = rng.integers(0, 50_000, (2, rows))
        d.add_edges(src, dst)
        there = np.union1d(there, src * (1 << 32) + dst)
    src, dst = d.to_edges()
    print(region._refused.is_set(), np.array_equal(np.sort(src * (1 << 32) + dst), there))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "g")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr
