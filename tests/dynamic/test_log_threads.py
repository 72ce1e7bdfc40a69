"""Several threads append at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from disks import FaultyDisk, broken_disk, full_disk

from penstock.dynamic.log import Log
from penstock.dynamic.log_reader import read_log
from penstock.errors import DiskSpaceError, PenstockError

TAG = 77


class SlowDisk(FaultyDisk):
    """The first sync after :meth:`hold` waits for :meth:`go_on`."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.waits = threading.Event()
        self._go = threading.Event()
        self._go.set()

    def hold(self) -> None:
        self._go.clear()
        self.fault = self._wait

    def go_on(self) -> None:
        self._go.set()

    def _wait(self, step, what, path):
        if what == "sync" and not self._go.is_set():
            self.waits.set()
            assert self._go.wait(60)


def values(path: Path) -> list[int]:
    return [int(record.arrays[0][0]) for record in read_log(path, TAG)]


def start_together(log: Log, disk: SlowDisk, count: int, pool: ThreadPoolExecutor):
    """One append that is being synced, and others that wait for it."""
    disk.hold()
    first = pool.submit(log.append, 1, [np.array([0])])
    assert disk.waits.wait(60)
    others = [pool.submit(log.append, 1, [np.array([i])]) for i in range(1, count)]
    while len(log._waiting) < count - 1:
        pass
    return first, others


def test_those_who_wait_share_a_sync(tmp_path):
    disk = SlowDisk(tmp_path)
    log = Log.create(tmp_path / "log", TAG, disk=disk)
    with ThreadPoolExecutor(9) as pool:
        before = disk.syncs
        first, others = start_together(log, disk, 9, pool)
        disk.go_on()
        assert first.result() == 1
        assert sorted(other.result() for other in others) == list(range(2, 10))
    assert disk.syncs == before + 2
    log.close()
    assert sorted(values(tmp_path / "log")) == list(range(9))


def test_numbers_are_those_of_the_records(tmp_path):
    log = Log.create(tmp_path / "log", TAG)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: (log.append(1, [np.array([i])]), i), range(200)))
    log.close()
    records = [(r.sequence, int(r.arrays[0][0])) for r in read_log(tmp_path / "log", TAG)]
    assert sorted(found) == records


@pytest.mark.parametrize("error", [full_disk, broken_disk])
def test_a_group_that_cannot_be_written_is_refused_as_a_whole(tmp_path, error):
    disk = SlowDisk(tmp_path)
    log = Log.create(tmp_path / "log", TAG, disk=disk)
    with ThreadPoolExecutor(5) as pool:
        first, others = start_together(log, disk, 5, pool)
        disk.fault = lambda step, what, path: error() if what == "write" else None
        disk.go_on()
        assert first.result() == 1
        kind = DiskSpaceError if error is full_disk else PenstockError
        raised = [other.exception() for other in others]
        assert all(type(each) is kind for each in raised)
        assert len({id(each) for each in raised}) == 4
    disk.fault = None
    log.append(1, [np.array([100])])
    log.close()
    assert values(tmp_path / "log") == [0, 100]


def test_after_a_failed_sync_those_who_wait_are_refused(tmp_path):
    disk = SlowDisk(tmp_path)
    log = Log.create(tmp_path / "log", TAG, disk=disk)
    held = disk._wait

    def fault(step, what, path):
        held(step, what, path)
        return broken_disk() if what == "sync" else None

    with ThreadPoolExecutor(5) as pool:
        disk._wait = fault
        first, others = start_together(log, disk, 5, pool)
        disk.go_on()
        for each in (first, *others):
            assert "takes nothing more" in str(each.exception())
    log.abandon()


def test_an_interrupt_takes_the_batch_back(tmp_path):
    """Ctrl-C in the middle of a write: the caller gets it, those who wait are refused."""
    disk = SlowDisk(tmp_path)
    log = Log.create(tmp_path / "log", TAG, disk=disk)

    def fault(step, what, path):
        if what == "write":
            raise KeyboardInterrupt

    disk.fault = fault
    with pytest.raises(KeyboardInterrupt):
        log.append(1, [np.array([1])])
    disk.fault = None
    assert log.append(1, [np.array([2])]) == 1
    log.close()
    assert values(tmp_path / "log") == [2]


def test_one_who_waits_may_be_interrupted(tmp_path, monkeypatch):
    """Before another thread has taken its batch, it is as if it had not come."""
    disk = SlowDisk(tmp_path)
    log = Log.create(tmp_path / "log", TAG, disk=disk)
    with ThreadPoolExecutor(1) as pool:
        first, _ = start_together(log, disk, 1, pool)

        def interrupt():
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(log._turn, "wait", interrupt)
            with pytest.raises(KeyboardInterrupt):
                log.append(1, [np.array([1])])
        disk.go_on()
        assert first.result() == 1
    log.append(1, [np.array([2])])
    log.close()
    assert values(tmp_path / "log") == [0, 2]


def test_arrays_that_change_while_they_wait_are_refused(tmp_path):
    """Else a record would be there that reads as damage, and all after it be lost."""
    disk = SlowDisk(tmp_path)
    log = Log.create(tmp_path / "log", TAG, disk=disk)
    with ThreadPoolExecutor(2) as pool:
        first, _ = start_together(log, disk, 1, pool)
        mine = np.array([5])
        waiting = pool.submit(log.append, 1, [mine])
        while not log._waiting:
            pass
        mine[0] = 6
        disk.go_on()
        assert first.result() == 1
        assert "another thread changed the arrays" in str(waiting.exception())
    log.append(1, [mine])
    log.close()
    assert values(tmp_path / "log") == [0, 6]
