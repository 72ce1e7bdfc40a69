"""A graph with several logs: what the directory says, what is read, what is kept and removed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from disks import FaultyDisk, broken_disk
from hypothesis import given, settings
from hypothesis import strategies as st
from live_folder_making import SCHEMA, compact, make_base, names, write_next

from penstock.dynamic.folder import LiveFolder
from penstock.dynamic.folder_catalog import LiveCatalog, LogRecord, read_live_catalog
from penstock.dynamic.log import Log
from penstock.errors import CorruptionError, FormatError, InputNotFoundError, PenstockError
from penstock.store.catalog import seal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph"


class Writer:
    """Numbers, one a batch, in the logs of a folder."""

    def __init__(self, path: Path, disk: FaultyDisk | None = None) -> None:
        if path.exists():
            self.folder = LiveFolder.open(path, disk=disk)
        else:
            self.folder = LiveFolder.create(path, SCHEMA, disk=disk)
        reader = self.folder.read_log()
        self.found = [int(record.arrays[0][0]) for record in reader]
        self.log: Log = self.folder.resume_log(reader.recovery)

    def add(self, *values: int) -> None:
        for value in values:
            self.log.append(1, [np.array([value])])

    def rotate(self) -> None:
        self.log.flush()
        old, self.log = self.log, self.folder.rotate(self.log.end.sequence)
        old.abandon()

    def close(self) -> None:
        self.log.close()
        self.folder.close()


def values(folder: LiveFolder) -> list[int]:
    return [int(record.arrays[0][0]) for record in folder.read_log()]


def rewrite(path: Path, **change: object) -> None:
    """Change fields of live.json, and seal it again."""
    data = {**json.loads((path / "live.json").read_text()), **change}
    del data["checksum"]
    text = json.dumps(data, indent=1).removesuffix("\n}") + ",\n"
    (path / "live.json").write_text(text + seal(text.encode()))


def three_logs(path: Path) -> None:
    """Batches 1 to 5 in three logs; the writer dies."""
    writer = Writer(path)
    writer.add(1, 2)
    writer.rotate()
    writer.add(3)
    writer.rotate()
    writer.add(4, 5)
    writer.log.abandon()
    writer.folder.close()


class TestReading:
    def test_all_logs_are_read_in_order(self, path):
        three_logs(path)
        with LiveFolder.open(path, read_only=True) as folder:
            reader = folder.read_log()
            with pytest.raises(ValueError, match="not been read"):
                _ = reader.recovery
            assert [(record.sequence, int(record.arrays[0][0])) for record in reader] == [
                (k, k) for k in range(1, 6)
            ]
            assert reader.recovery.path == path / "log.2"
            assert (reader.recovery.records, reader.recovery.closed) == (5, False)
            sizes = [(path / f"log.{k}").stat().st_size for k in range(3)]
            assert reader.num_bytes == sum(sizes)

    def test_batches_go_on_in_the_last_log(self, path):
        three_logs(path)
        writer = Writer(path)
        assert writer.found == [1, 2, 3, 4, 5]
        writer.add(6)
        writer.close()
        with LiveFolder.open(path) as folder:
            assert values(folder) == [1, 2, 3, 4, 5, 6]
            assert folder.catalog.log == "log.2"

    def test_a_torn_tail_is_dropped_from_the_last_log_only(self, path):
        three_logs(path)
        for name, whole in [(f"log.{k}", (path / f"log.{k}").read_bytes()) for k in range(3)]:
            for damaged in (whole[:-5], whole + b"more"):
                (path / name).write_bytes(damaged)
                for read_only in (True, False):
                    with LiveFolder.open(path, read_only=read_only) as folder:
                        reader = folder.read_log()
                        if name == "log.2":
                            count = 5 if damaged.endswith(b"more") else 4
                            assert len(list(reader)) == count
                            assert reader.recovery.dropped_bytes > 0
                            continue
                        following = f"log.{int(name[-1]) + 1}"
                        with pytest.raises(CorruptionError, match=f"{name}.*{following}"):
                            list(reader)
            (path / name).write_bytes(whole)

    def test_every_byte_of_an_earlier_log_counts(self, path):
        three_logs(path)
        whole = (path / "log.1").read_bytes()
        with LiveFolder.open(path, read_only=True) as folder:
            for at in range(0, len(whole), 3):
                damaged = bytearray(whole)
                damaged[at] ^= 1
                (path / "log.1").write_bytes(damaged)
                with pytest.raises((CorruptionError, FormatError)):
                    list(folder.read_log())

    @pytest.mark.parametrize("number", [0, 1, 2])
    def test_a_missing_log(self, path, number):
        three_logs(path)
        (path / f"log.{number}").unlink()
        with pytest.raises(InputNotFoundError, match=rf"log\.{number}: the log is missing"):
            LiveFolder.open(path, read_only=True)
        with LiveFolder.open(path) as folder, pytest.raises(InputNotFoundError, match="missing"):
            values(folder)

    def test_logs_in_another_order_are_refused(self, path):
        three_logs(path)
        (path / "log.0").rename(path / "away")
        (path / "log.1").rename(path / "log.0")
        (path / "away").rename(path / "log.1")
        with LiveFolder.open(path) as folder, pytest.raises(FormatError, match="another graph"):
            values(folder)

    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.data())
    def test_a_reader_goes_on_from_where_it_was(self, tmp_path_factory, counts, data):
        path = tmp_path_factory.mktemp("logs") / "graph"
        writer, number, found = Writer(path), 0, []
        with LiveFolder.open(path, read_only=True) as reader:
            recovery = None
            for count in counts:
                writer.add(*range(number, number + count))
                number += count
                if data.draw(st.booleans()):
                    writer.rotate()
                if data.draw(st.booleans()):
                    assert reader.catch_up()
                    reading = reader.read_log(recovery)
                    found += [int(record.arrays[0][0]) for record in reading]
                    recovery = reading.recovery
                    assert found == list(range(number))
            assert reader.catch_up()
            found += [int(r.arrays[0][0]) for r in reader.read_log(recovery)]
        assert found == list(range(number))
        writer.close()


class TestCatalog:
    def test_it_names_the_logs_in_their_order(self, path):
        writer = Writer(path)

        def names():
            data = json.loads((path / "live.json").read_text())
            assert data["format"] == {"read": 2, "write": 2}
            return [item["name"] for item in data["logs"]]

        assert names() == ["log.0"]
        writer.rotate()
        assert names() == ["log.0", "log.1"]
        write_next(writer.folder)
        assert names() == ["log.1"]
        writer.close()

    def test_version_1_is_read(self, path):
        writer = Writer(path)
        writer.close()
        data = json.loads((path / "live.json").read_text())
        (log,) = data.pop("logs")
        data |= {"format": {"read": 1, "write": 1}, "log": log["name"], "log_tag": log["tag"]}
        del data["checksum"]
        text = json.dumps(data, indent=1).removesuffix("\n}") + ",\n"
        (path / "live.json").write_text(text + seal(text.encode()))
        with LiveFolder.open(path) as folder:
            assert [each.name for each in folder.catalog.logs] == ["log.0"]

    @given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4, unique=True))
    @settings(max_examples=20, deadline=None)
    def test_any_number_of_logs_comes_back(self, tmp_path_factory, tags):
        folder = tmp_path_factory.mktemp("catalog")
        *earlier, last = [LogRecord(f"log.{7 + k}", tag) for k, tag in enumerate(tags)]
        catalog = LiveCatalog(1, 7, SCHEMA, None, *last, {}, "someone", tuple(earlier))
        (folder / "live.json").write_text(catalog.to_json())
        assert read_live_catalog(folder, FaultyDisk(folder)) == catalog

    @pytest.mark.parametrize(
        ("logs", "message"),
        [
            ([], "expected one or more"),
            ([("log.0", "1"), ("log.0", "1")], "expected one or more"),
            ([("log.0", "1"), ("../log", "2")], "outside the graph"),
            ([("log.0", "1"), ("log.2", "2")], "numbers from 0 on"),
            ([("log.1", "1"), ("log.2", "2")], "numbers from 0 on"),
            ([("log.0", "x")], "a field is missing or wrong"),
        ],
    )
    def test_logs_that_cannot_be(self, path, logs, message):
        LiveFolder.create(path, SCHEMA).close()
        wanted = [{"name": name, "tag": tag} for name, tag in logs]
        rewrite(path, format={"read": 2, "write": 2}, logs=wanted)
        with pytest.raises(FormatError, match=message):
            LiveFolder.open(path)

    def test_a_log_whose_number_is_not_the_generation_is_refused(self, path):
        """The next log would have its name, and it would be removed."""
        LiveFolder.create(path, SCHEMA).close()
        (path / "log.0").rename(path / "log.1")
        rewrite(path, logs=[{"name": "log.1", "tag": "1"}])
        with pytest.raises(FormatError, match="numbers from 0 on"):
            LiveFolder.open(path)


class TestGenerations:
    def test_the_base_has_the_number_of_the_log_that_follows_it(self, path):
        three_logs(path)
        writer = Writer(path)
        assert writer.folder.next_base_path == path / "base.2"
        writer.rotate()
        assert writer.folder.next_base_path == path / "base.3"
        write_next(writer.folder)
        writer.folder.remove_leftovers()
        assert names(path) == {
            *("live.json", "lock", "log.3", "base.3", "vertex.0.3.npy", "vertex.1.3.npy")
        }
        assert values(writer.folder) == []
        writer.add(6)
        writer.close()
        with LiveFolder.open(path) as folder:
            assert values(folder) == [6]
            assert folder.catalog.generation == 3

    def test_nothing_is_published_without_a_log_of_its_own(self, path):
        with LiveFolder.create(path, SCHEMA) as folder:
            for use in (
                lambda: folder.next_base_path,
                lambda: folder.save_vertex_column(0, np.zeros(1)),
                lambda: folder.publish(base=make_base(path / "base.1")),
            ):
                with pytest.raises(ValueError, match="no log was begun"):
                    use()

    def test_a_base_that_was_not_published_goes_and_the_logs_stay(self, path):
        writer = Writer(path)
        writer.add(1)
        writer.rotate()
        writer.add(2)
        make_base(writer.folder.next_base_path)
        (path / ".base.1.building").mkdir()
        writer.folder.save_vertex_column(0, np.zeros(1))
        writer.log.abandon()
        writer.folder.close()
        assert {"base.1", "vertex.0.1.npy"} <= names(path)
        with LiveFolder.open(path) as folder:
            assert values(folder) == [1, 2]
        assert names(path) == {"live.json", "lock", "log.0", "log.1"}

    def test_a_log_that_was_not_published_goes(self, tmp_path, path):
        disk = FaultyDisk(tmp_path)
        writer = Writer(path, disk)
        writer.add(1)
        disk.fault = lambda step, what, path: broken_disk() if what == "rename" else None
        with pytest.raises(PenstockError, match="was not begun"):
            writer.folder.rotate(writer.log.end.sequence)
        disk.fault = None
        assert "log.1" in names(path)
        writer.add(2)
        writer.close()
        with LiveFolder.open(path) as folder:
            assert values(folder) == [1, 2]
        assert names(path) == {"live.json", "lock", "log.0"}

    def test_a_reader_keeps_all_logs_that_it_knows(self, path):
        """It may not have read the last of them yet."""
        writer = Writer(path)
        writer.add(1)
        writer.rotate()
        writer.add(2)
        with LiveFolder.open(path, read_only=True) as reader:
            for _ in range(2):
                write_next(writer.folder)
                writer.folder.remove_leftovers()
                writer.rotate()
            assert {"log.0", "log.1"} <= names(path)
            assert values(reader) == [1, 2]
            assert not reader.catch_up()
        writer.folder.remove_leftovers()
        assert not {"log.0", "log.1", "base.1"} & names(path)
        writer.close()

    def test_a_reader_that_caught_up_keeps_the_logs_that_came(self, path):
        writer = Writer(path)
        compact(writer.folder)
        writer.close()
        writer = Writer(path)
        with LiveFolder.open(path, read_only=True) as reader:
            writer.rotate()
            writer.add(7)
            assert values(reader) == []
            assert reader.catch_up()
            write_next(writer.folder)
            writer.rotate()
            write_next(writer.folder)
            writer.folder.remove_leftovers()
            assert {"base.1", "log.1", "log.2"} <= names(path)
            assert values(reader) == [7]
        writer.close()

    def test_a_snapshot_keeps_its_base_and_no_later_one(self, path):
        writer = Writer(path)
        compact(writer.folder)
        writer.close()
        writer = Writer(path)
        writer.rotate()
        hold = writer.folder.hold()
        write_next(writer.folder)
        writer.rotate()
        write_next(writer.folder)
        writer.folder.remove_leftovers()
        assert names(path) & {"base.1", "base.2", "base.3"} == {"base.1", "base.3"}
        hold.close()
        writer.folder.remove_leftovers()
        assert "base.1" not in names(path)
        writer.close()

    def test_a_reader_that_comes_while_a_log_begins(self, path, monkeypatch):
        writer = Writer(path)
        writer.add(1)
        real, calls = read_live_catalog, []

        def read(*args, **options):
            found = real(*args, **options)
            calls.append(len(found.logs))
            if len(calls) == 1:
                writer.rotate()
                writer.add(2)
            return found

        monkeypatch.setattr("penstock.dynamic.folder.read_live_catalog", read)
        with LiveFolder.open(path, read_only=True) as reader:
            assert values(reader) == [1, 2]
        assert calls == [1, 2, 2]
        writer.close()

    def test_links_are_refused_for_every_log(self, path):
        three_logs(path)
        os.rename(path / "log.1", path.parent / "away")
        (path / "log.1").symlink_to(path.parent / "away")
        for read_only in (True, False):
            with (
                pytest.raises(FormatError, match=r"log\.1: is a "),
                LiveFolder.open(path, read_only=read_only) as folder,
            ):
                values(folder)
