"""A log on a disk that is full, or that cannot sync."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from disks import FaultyDisk, broken_disk, full_disk, same

from penstock.dynamic.log import Log
from penstock.dynamic.log_reader import Record, Recovery, read_log
from penstock.errors import DiskSpaceError, FormatError, PenstockError

TAG = 0x0123456789ABCDEF


def read(path: Path) -> tuple[list[Record], Recovery]:
    reader = read_log(path, TAG)
    return list(reader), reader.recovery


def numbers(count: int, first: int = 0) -> list[np.ndarray]:
    return [np.arange(first, first + count, dtype=np.uint32)]


def test_full_disk_at_every_write(tmp_path, monkeypatch):
    """Whichever write fails, the batch that needed it is refused and the others are there; when
    there is room again the log goes on.
    """
    monkeypatch.setattr("penstock.dynamic.log.RESERVE_BYTES", 2000)
    met = []

    def fault(step, what, path):
        if step == failing and what in ("write", "reserve"):
            met.append(what)
            return full_disk()
        return None

    for number in range(1, 40):
        folder = tmp_path / str(number)
        folder.mkdir()
        disk = FaultyDisk(folder, fault=fault)
        failing = 0
        log = Log.create(folder / "log", TAG, disk=disk)
        failing = disk.steps + number
        met.clear()
        there, said = [], []
        for i in range(10):
            batch = numbers(100 if i % 3 else 1000, i)
            try:
                log.append(1, batch)
                there.append(batch)
            except DiskSpaceError as error:
                said.append(str(error))
        refused = len(said)
        log.close()
        found, recovery = read(folder / "log")
        assert len(found) == len(there) == 10 - refused
        assert all(same(r.arrays, b) for r, b in zip(found, there, strict=True))
        assert all("the batch was refused, all before it are safe" in each for each in said)
        # The mark of a closed log may be what found no room.
        assert refused + (not recovery.closed) == len(met)
    assert failing > disk.steps


@pytest.mark.parametrize("what", ["truncate", "sync"])
def test_if_it_cannot_be_taken_back_the_log_ends(tmp_path, what):
    disk = FaultyDisk(tmp_path)
    log = Log.create(tmp_path / "log", TAG, disk=disk)
    log.append(1, numbers(2))
    disk.fault = lambda step, did, path: (
        full_disk() if did == "write" else broken_disk() if did == what else None
    )
    with pytest.raises(PenstockError, match="takes nothing more"):
        log.append(1, numbers(500))
    disk.fault = None
    with pytest.raises(PenstockError, match="takes nothing more"):
        log.append(1, numbers(3))
    with pytest.raises(PenstockError, match="takes nothing more"):
        log.close()
    found, recovery = read(tmp_path / "log")
    assert len(found) == 1
    log = Log.resume(recovery, TAG, disk=disk)
    log.append(1, numbers(3))
    log.close()
    assert [len(record.arrays[0]) for record in read(tmp_path / "log")[0]] == [2, 3]


def test_a_refused_batch_does_not_come_back(tmp_path):
    """It was cut off, and the cut was synced before the error was raised."""
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        disk = FaultyDisk(folder)
        log = Log.create(folder / "log", TAG, disk=disk)
        log.append(1, numbers(10))
        disk.fault = lambda step, what, path: broken_disk() if what == "write" else None
        with pytest.raises(PenstockError, match="Input/output error; the batch was refused"):
            log.append(1, numbers(1000))
        log.abandon()
        disk = disk.crash(tmp_path / f"after {seed}", seed)
        found, recovery = read(disk.root / "log")
        assert [len(record.arrays[0]) for record in found] == [10]
        assert recovery.dropped_bytes == 0


def test_after_a_failed_sync_nothing_is_taken_until_reopened(tmp_path):
    disk = FaultyDisk(tmp_path)
    log = Log.create(tmp_path / "log", TAG, disk=disk)
    log.append(1, numbers(10))
    disk.fault = lambda step, what, path: broken_disk() if what == "sync" else None
    with pytest.raises(PenstockError, match=r"syncing failed.*up to 1 are on the disk.*reopen"):
        log.append(1, numbers(20))
    disk.fault = None
    for use in (lambda: log.append(1, numbers(2)), log.flush, log.close):
        with pytest.raises(PenstockError, match="takes nothing more"):
            use()


@pytest.mark.parametrize("policy", ["batch", "never"])
def test_what_a_failed_sync_forgot_is_written_again(tmp_path, policy):
    """The system shows bytes that it failed to write, and a later sync does not write them.
    What the log then takes for its own must survive all the same.
    """
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        disk = FaultyDisk(folder)
        log = Log.create(folder / "log", TAG, sync=policy, disk=disk)
        for i in range(3):
            log.append(1, numbers(100, i))
        failed = {"sync", "truncate"} if policy == "batch" else {"sync"}
        disk.fault = lambda step, what, path, failed=failed: (
            broken_disk() if what in failed else None
        )
        if policy == "never":
            log.append(1, numbers(100, 3))
        with pytest.raises(PenstockError, match="syncing failed"):
            log.append(1, numbers(100, 3)) if policy == "batch" else log.flush()
        log.abandon()
        disk.fault = None
        reader = read_log(folder / "log", TAG, disk=disk)
        assert len(list(reader)) == 4
        log = Log.resume(reader.recovery, TAG, disk=disk)
        log.append(1, numbers(100, 4))
        log.abandon()
        disk = disk.crash(tmp_path / f"after {seed}", seed)
        found, _ = read(disk.root / "log")
        assert [int(record.arrays[0][0]) for record in found] == [0, 1, 2, 3, 4]


def test_no_descriptor_stays_open(tmp_path):
    before = set(os.listdir("/proc/self/fd"))
    disk = FaultyDisk(tmp_path, fault=lambda step, what, path: full_disk() if step > 1 else None)
    with pytest.raises(DiskSpaceError):
        Log.create(tmp_path / "log", TAG, disk=disk)
    with pytest.raises(FormatError):
        read(tmp_path / "log")
    assert set(os.listdir("/proc/self/fd")) == before


def test_what_a_killed_process_left_is_synced_before_the_log_goes_on(tmp_path):
    """The system has it, the disk does not: once the log goes on after it, it must stay."""
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        disk = FaultyDisk(folder)
        log = Log.create(folder / "log", TAG, sync="never", disk=disk)
        log.append(1, numbers(300))
        log.abandon()
        Log.resume(read(folder / "log")[1], TAG, sync="never", disk=disk).abandon()
        disk = disk.crash(tmp_path / f"after {seed}", seed)
        assert len(read(disk.root / "log")[0]) == 1
