"""Logs that are cut off, damaged or mixed up: what was proven to be there is never silently lost,
and what is read is never wrong.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from disks import FaultyDisk, same
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.dynamic.log import Log
from penstock.dynamic.log_format import HEADER_BYTES
from penstock.dynamic.log_reader import Position, Record, Recovery, read_log
from penstock.errors import CorruptionError, FormatError

TAG = 0xFEDCBA9876543210
BATCHES = [
    [np.arange(5, dtype=np.uint32), np.array([0.5, -1.0])],
    [np.frombuffer(b"names", np.uint8)],
    [],
    [np.arange(3, dtype=np.int64)],
]


def read(path: Path) -> tuple[list[Record], Recovery]:
    reader = read_log(path, TAG)
    return list(reader), reader.recovery


def write(path: Path, *, close: bool) -> list[Position]:
    """The log of BATCHES; returns where each record is, that of the closing included."""
    log = Log.create(path, TAG, disk=FaultyDisk(path.parent))
    places = [log.end]
    for batch in BATCHES:
        log.append(9, batch)
        places.append(log.end)
    if close:
        log.close()
        places.append(log.end)
    else:
        log.abandon()
    return places


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_cut_off_at_every_length(path):
    places = write(path, close=True)
    whole = path.read_bytes()
    for length in range(HEADER_BYTES, len(whole)):
        path.write_bytes(whole[:length])
        found, recovery = read(path)
        there = [place for place in places if place.end <= length]
        expected = min(len(there) - 1, len(BATCHES))
        assert [record.sequence for record in found] == list(range(1, expected + 1))
        assert all(same(r.arrays, b) for r, b in zip(found, BATCHES, strict=False))
        assert recovery.end == there[-1]
        assert recovery.dropped_bytes == length - there[-1].end
        assert not recovery.closed


def test_a_log_without_its_first_record(path):
    write(path, close=True)
    whole = path.read_bytes()
    for length in range(HEADER_BYTES):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError):
            read(path)


@pytest.mark.parametrize("flip", [0x01, 0x80])
@pytest.mark.parametrize("close", [True, False])
def test_a_byte_flipped_at_every_place(path, flip, close):
    """In all but the last record it is an error. The last one was acknowledged too, but nothing
    that follows says so, unless the log was closed; what is lost then is the mark of that only.
    """
    places = write(path, close=close)
    whole = path.read_bytes()
    last = places[-1].start
    for i in range(len(whole)):
        damaged = bytearray(whole)
        damaged[i] ^= flip
        path.write_bytes(damaged)
        if i < last:
            with pytest.raises(FormatError):
                read(path)
            continue
        found, recovery = read(path)
        assert len(found) == (len(BATCHES) if close else len(BATCHES) - 1)
        assert all(same(r.arrays, b) for r, b in zip(found, BATCHES, strict=False))
        assert recovery.end == places[-2]
        assert recovery.dropped_bytes == len(whole) - last
        assert not recovery.closed


def test_damage_is_named(path):
    places = write(path, close=True)
    damaged = bytearray(path.read_bytes())
    damaged[places[2].start + HEADER_BYTES] ^= 4
    path.write_bytes(damaged)
    where = rf"{path}: record 2 at byte {places[2].start:,} is damaged.*restore"
    with pytest.raises(CorruptionError, match=where):
        read(path)


def test_records_before_the_damage_are_given(path):
    places = write(path, close=True)
    damaged = bytearray(path.read_bytes())
    damaged[places[2].start] ^= 4
    path.write_bytes(damaged)
    records = iter(read_log(path, TAG))
    assert same(next(records).arrays, BATCHES[0])
    with pytest.raises(CorruptionError):
        next(records)


@given(st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=60)
def test_any_damage_is_noticed(tmp_path_factory, seed, pieces):
    """Pieces overwritten, left out or doubled, anywhere before the mark of closing."""
    path = tmp_path_factory.mktemp("damage") / "log"
    write(path, close=True)
    whole = path.read_bytes()
    damaged = bytearray(whole)
    choice = np.random.default_rng(seed)
    for _ in range(pieces):
        last = len(damaged) - HEADER_BYTES
        begin = int(choice.integers(0, last))
        end = min(begin + int(choice.integers(1, 100)), last)
        kind = choice.integers(0, 4)
        piece = damaged[begin:end]
        damaged[begin:end] = [choice.bytes(end - begin), b"", piece * 2, bytes(end - begin)][kind]
    path.write_bytes(damaged)
    if damaged.startswith(whole[:-HEADER_BYTES]):  # what was put in comes after the last batch
        assert len(read(path)[0]) == len(BATCHES)
        return
    with pytest.raises(FormatError):
        read(path)


def test_a_record_left_out_is_damage(path):
    places = write(path, close=True)
    whole = path.read_bytes()
    path.write_bytes(whole[: places[2].start] + whole[places[2].end :])
    with pytest.raises(CorruptionError, match=f"record 2 at byte {places[2].start:,}"):
        read(path)


def test_records_of_another_log_do_not_follow(path, tmp_path):
    """As where a file got blocks that another log had before."""
    log = Log.create(path, TAG)
    log.append(1, BATCHES[0])
    log.abandon()
    other = Log.create(tmp_path / "other", TAG + 1)
    for batch in BATCHES:
        other.append(1, batch)
    other.close()
    there = len(path.read_bytes())
    path.write_bytes(path.read_bytes() + (tmp_path / "other").read_bytes()[there:])
    found, recovery = read(path)
    assert len(found) == 1
    assert recovery.dropped_bytes > 0


def test_records_that_went_another_way_do_not_follow(path):
    """Two ways the log went from one record on: the second of one does not follow the first of the
    other, though number and place fit.
    """
    log = Log.create(path, TAG)
    log.append(1, BATCHES[0])
    log.abandon()
    both = []
    start = path.read_bytes()
    for value in (1, 2):
        path.write_bytes(start)
        log = Log.resume(read(path)[1], TAG, sync="never")
        log.append(1, [np.full(4, value)])
        middle = log.end.end
        log.append(1, [np.full(4, value)])
        log.abandon()
        both.append(path.read_bytes())
    path.write_bytes(both[0][:middle] + both[1][middle:])
    found, _ = read(path)
    assert [record.sequence for record in found] == [1, 2]


def test_zeros_at_the_end_are_the_end(path):
    places = write(path, close=True)
    path.write_bytes(path.read_bytes() + bytes(10_000))
    found, recovery = read(path)
    assert len(found) == len(BATCHES)
    assert recovery.dropped_bytes == 0
    assert recovery.closed
    log = Log.resume(recovery, TAG)
    assert path.stat().st_size == places[-1].end
    log.append(1, BATCHES[0])
    log.close()
    assert len(read(path)[0]) == len(BATCHES) + 1


def test_a_torn_tail_is_said_and_cut_off(path):
    places = write(path, close=False)
    with path.open("ab") as file:
        file.write(b"a part of something")
    _, recovery = read(path)
    assert str(recovery) == (
        f"{path}: 4 batches, up to record 4; 19 bytes after it, from byte "
        f"{places[-1].end:,} on, are no whole record and are dropped: no later record says that "
        "they were synced"
    )
    Log.resume(recovery, TAG).abandon()
    assert path.stat().st_size == places[-1].end
    assert str(read(path)[1]).endswith("not closed, nothing dropped")


def test_proof_may_be_far_from_the_damage(path, monkeypatch):
    """The header that proves it is found wherever it stands among the pieces that are looked at."""
    log = Log.create(path, TAG)
    log.append(1, BATCHES[0])
    log.append(1, [np.zeros(999, np.uint64)])
    log.close()
    damaged = bytearray(path.read_bytes())
    damaged[HEADER_BYTES] ^= 1
    path.write_bytes(damaged)
    for scan in range(HEADER_BYTES, 400, 7):
        monkeypatch.setattr("penstock.dynamic.log_reader._SCAN_BYTES", scan)
        with pytest.raises(CorruptionError):
            read(path)


def test_a_record_that_is_completed_while_it_is_looked_at(path, monkeypatch):
    """A reader finds a record incomplete, then one that proves it: it looks once more."""
    write(path, close=True)
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[HEADER_BYTES] ^= 1
    path.write_bytes(damaged)
    reader = read_log(path, TAG)
    looked = reader._is_damaged

    def looking(*args):
        found = looked(*args)
        path.write_bytes(whole)
        return found

    monkeypatch.setattr(reader, "_is_damaged", looking)
    assert len(list(reader)) == len(BATCHES)
