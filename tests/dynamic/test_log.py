"""The log: what is appended comes back; policies; full disks; syncs that fail."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from disks import FaultyDisk, broken_disk, same
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from penstock.dynamic.log import Log, check_policy
from penstock.dynamic.log_format import decode, encode
from penstock.dynamic.log_reader import Record, Recovery, read_log
from penstock.errors import (
    CorruptionError,
    FormatError,
    InputNotFoundError,
    OptionError,
    PenstockError,
)
from penstock.types import COLUMN_DTYPES

TAG = 0x0123456789ABCDEF

arrays = st.lists(
    st.sampled_from(COLUMN_DTYPES).flatmap(
        lambda name: hnp.arrays(name, st.integers(0, 20), elements={"allow_nan": False})
        if name.startswith("float")
        else hnp.arrays(name, st.integers(0, 20))
    ),
    max_size=5,
)


def read(path: Path, disk=None, since=None) -> tuple[list[Record], Recovery]:
    reader = read_log(path, TAG, disk=disk, since=since)
    return list(reader), reader.recovery


def numbers(count: int, first: int = 0) -> list[np.ndarray]:
    return [np.arange(first, first + count, dtype=np.uint32)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


class TestPayload:
    @given(arrays)
    def test_arrays_come_back(self, batch):
        payload = encode(batch)
        raw = np.frombuffer(b"".join(payload.parts), np.uint8)
        assert len(raw) == payload.num_bytes
        found = decode(raw, "")
        assert same(found, batch)
        assert all(array.ctypes.data % array.dtype.itemsize == 0 for array in found)

    def test_order_of_bytes_and_gaps_are_taken_out(self):
        batch = [np.arange(10, dtype=">u4")[::2]]
        raw = np.frombuffer(b"".join(encode(batch).parts), np.uint8)
        assert decode(raw, "")[0].tolist() == [0, 2, 4, 6, 8]

    @pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.array(["a"]), np.array([True])])
    def test_other_arrays_are_refused(self, wrong):
        with pytest.raises(TypeError, match="1-D arrays"):
            encode([wrong])

    @pytest.mark.parametrize("words", [[2, 0x3475_3C], [1, 0x3475_3C, 100], [1, 7, 0]])
    def test_impossible_tables_are_refused(self, words):
        # 0x34753c is "<u4".
        with pytest.raises(CorruptionError):
            decode(np.array(words, "<u8").view(np.uint8), "here")


class TestAppend:
    @settings(max_examples=40)
    @given(st.lists(st.tuples(st.integers(1, 254), arrays), max_size=8), st.integers(0, 9))
    def test_batches_come_back_in_order(self, tmp_path_factory, batches, reopen_after):
        disk = FaultyDisk(tmp_path_factory.mktemp("log"))
        path = disk.root / "log"
        log = Log.create(path, TAG, after=7, disk=disk)
        given_numbers = []
        for i, (kind, batch) in enumerate(batches):
            if i == reopen_after:
                log.close()
                log = Log.resume(read(path)[1], TAG, disk=disk)
            given_numbers.append(log.append(kind, batch))
        log.close()
        found, recovery = read(path)
        assert [record.sequence for record in found] == given_numbers
        assert [record.kind for record in found] == [kind for kind, _ in batches]
        assert all(same(r.arrays, b) for r, (_, b) in zip(found, batches, strict=True))
        assert recovery.closed
        assert recovery.dropped_bytes == 0
        assert recovery.records == len(batches)
        assert given_numbers == sorted(set(given_numbers))
        assert all(number > 7 for number in given_numbers)

    def test_big_groups_reserve_their_room(self, path):
        log = Log.create(path, TAG)
        log.append(1, numbers(1 << 20))
        log.append(1, numbers(1 << 20, 5))
        log.close()
        found, _ = read(path)
        assert same(found[1].arrays, numbers(1 << 20, 5))
        assert path.stat().st_size == read(path)[1].end.end

    def test_closing_twice_and_reopening_adds_nothing(self, path):
        log = Log.create(path, TAG)
        log.append(1, numbers(3))
        log.close()
        log.close()
        size = path.stat().st_size
        for _ in range(3):
            Log.resume(read(path)[1], TAG).close()
        assert path.stat().st_size == size

    def test_a_closed_log_takes_nothing(self, path):
        log = Log.create(path, TAG)
        log.close()
        for use in (log.flush, lambda: log.append(1, [])):
            with pytest.raises(PenstockError, match="closed"):
                use()

    @pytest.mark.parametrize("kind", [0, 255, -1, 256])
    def test_kinds_of_the_log_itself_are_refused(self, path, kind):
        log = Log.create(path, TAG)
        with pytest.raises(ValueError, match="kind"):
            log.append(kind, [])
        log.close()


class TestOpening:
    def test_a_missing_log(self, path):
        with pytest.raises(InputNotFoundError, match="missing"):
            read(path)

    def test_another_tag(self, path):
        Log.create(path, TAG + 1).close()
        with pytest.raises(FormatError, match=f"{TAG + 1:016x}, expected {TAG:016x}"):
            read(path)

    @pytest.mark.parametrize("content", [b"", b"x", b"something else" * 20, bytes(4096)])
    def test_something_else(self, path, content):
        path.write_bytes(content)
        with pytest.raises(FormatError, match="not a log"):
            read(path)

    def test_a_later_version(self, path, monkeypatch):
        monkeypatch.setattr("penstock.dynamic.log_format.Header.__init__.__defaults__", (2, 0))
        Log.create(path, TAG).abandon()
        with pytest.raises(FormatError, match=r"version 2.*upgrade"):
            read(path)

    @pytest.mark.parametrize("sync", ["sometimes", 0, -1.0, True, None, float("nan"), float("inf")])
    def test_policies_that_are_none(self, path, sync):
        with pytest.raises(OptionError, match="sync: expected"):
            Log.create(path, TAG, sync=sync)
        assert not path.exists()

    def test_policies(self):
        assert [check_policy(each) for each in ("batch", "never", 1)] == ["batch", "never", 1.0]


class TestPolicies:
    def test_batch_syncs_every_append(self, tmp_path):
        disk = FaultyDisk(tmp_path)
        log = Log.create(tmp_path / "log", TAG, disk=disk)
        before = disk.syncs
        for i in range(3):
            log.append(1, numbers(2))
            assert disk.syncs == before + i + 1
            assert log.synced == log.end.sequence
        log.abandon()

    def test_never_syncs_when_asked_only(self, tmp_path):
        disk = FaultyDisk(tmp_path)
        log = Log.create(tmp_path / "log", TAG, sync="never", disk=disk)
        before = disk.syncs
        for _ in range(3):
            log.append(1, numbers(2))
        assert disk.syncs == before
        assert log.synced == 0
        log.flush()
        log.flush()
        assert disk.syncs == before + 1
        assert log.synced == 3
        log.abandon()

    def test_an_interval_syncs_by_itself(self, tmp_path):
        disk = FaultyDisk(tmp_path)
        log = Log.create(tmp_path / "log", TAG, sync=0.01, disk=disk)
        for _ in range(3):
            number = log.append(1, numbers(2))
            until = time.monotonic() + 60
            while log.synced < number and time.monotonic() < until:
                time.sleep(0.001)
            assert log.synced == number
        log.close()
        assert read(tmp_path / "log")[1].closed

    def test_an_interval_does_not_sync_each_append(self, tmp_path):
        disk = FaultyDisk(tmp_path)
        log = Log.create(tmp_path / "log", TAG, sync=3600.0, disk=disk)
        before = disk.syncs
        for _ in range(10):
            log.append(1, numbers(2))
        assert disk.syncs == before
        log.close()
        assert len(read(tmp_path / "log")[0]) == 10

    def test_a_failed_sync_in_the_background_is_told(self, tmp_path):
        disk = FaultyDisk(tmp_path)
        log = Log.create(tmp_path / "log", TAG, sync=0.01, disk=disk)
        disk.fault = lambda step, what, path: broken_disk() if what == "sync" else None
        log.append(1, numbers(2))
        until = time.monotonic() + 60
        while log._failure is None and time.monotonic() < until:
            time.sleep(0.001)
        for use in (lambda: log.append(1, numbers(2)), log.flush, log.close):
            with pytest.raises(PenstockError, match=r"syncing failed.*reopen"):
                use()


class TestReadersWhileItIsWritten:
    def test_since(self, path):
        log = Log.create(path, TAG)
        log.append(1, numbers(1))
        _, recovery = read(path)
        assert read(path, since=recovery.end)[0] == []
        log.append(1, numbers(2))
        log.append(1, numbers(3))
        found, recovery = read(path, since=recovery.end)
        assert [len(record.arrays[0]) for record in found] == [2, 3]
        assert recovery.end == log.end
        log.close()

    def test_a_record_that_was_taken_back_is_noticed(self, path):
        """A reader may see a batch that then could not be synced; it must not go on from there."""
        log = Log.create(path, TAG)
        log.append(1, numbers(1))
        kept = path.read_bytes()
        log.append(1, numbers(2))
        _, recovery = read(path)
        log.abandon()
        path.write_bytes(kept)
        with pytest.raises(FormatError, match=r"record 2 at byte .* taken back"):
            read(path, since=recovery.end)
        log = Log.resume(read(path)[1], TAG)
        log.append(1, numbers(2, 9))
        log.append(1, numbers(2, 9))
        with pytest.raises(FormatError, match=r"record 2 at byte .* taken back"):
            read(path, since=recovery.end)
        log.close()

    def test_a_reader_beside_a_writer_sees_whole_batches_only(self, path, monkeypatch):
        monkeypatch.setattr("penstock.dynamic.log.RESERVE_BYTES", 1000)
        log = Log.create(path, TAG, sync="never")
        stop = threading.Event()

        def write() -> None:
            i = 0
            while not stop.is_set():
                log.append(1, [np.full(i % 700, i, np.uint32)])
                i += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            since, seen = None, 0
            while seen < 3000:
                found, recovery = read(path, since=since)
                for record in found:
                    assert record.arrays[0].tolist() == [seen] * (seen % 700)
                    seen += 1
                since = recovery.end
        finally:
            stop.set()
            writer.join()
            log.close()
