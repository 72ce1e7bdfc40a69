"""The directory of a live graph: published, cleaned."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from disks import FaultyDisk, broken_disk, full_disk
from live_folder_making import SCHEMA, compact, make_base, names

from penstock.dynamic.folder import LiveFolder
from penstock.dynamic.folder_catalog import BaseRecord, read_live_catalog
from penstock.errors import (
    CorruptionError,
    DiskSpaceError,
    FormatError,
    InputNotFoundError,
    PenstockError,
)
from penstock.store.catalog import FileRecord


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph"


class TestGenerations:
    def test_a_catalog_comes_back(self, path):
        with LiveFolder.create(path, SCHEMA) as folder:
            assert read_live_catalog(path, folder._disk) == folder.catalog
            assert folder.catalog.schema == SCHEMA
            compact(folder)
            found = read_live_catalog(path, folder._disk)
        assert found == folder.catalog
        assert found.generation == 1
        assert found.base == BaseRecord("base.1", 5, 4, 10)
        assert found.log == "log.1"
        assert list(found.files) == ["vertex.0.1.npy", "vertex.1.1.npy"]

    def test_published_and_opened_again(self, path):
        with LiveFolder.create(path, SCHEMA) as folder:
            compact(folder)
            folder.remove_leftovers()
            assert names(path) == {
                *("live.json", "lock", "log.1", "base.1", "vertex.0.1.npy", "vertex.1.1.npy")
            }
        with LiveFolder.open(path) as folder:
            assert folder.vertex_column(0).tolist() == [0, 1, 2, 3]
            assert folder.vertex_column(1).dtype == np.uint8
            reader = folder.read_log()
            assert list(reader) == []
            log = folder.resume_log(reader.recovery)
            assert log.append(1, []) > 17
            log.close()

    def test_ids_become_known(self, path):
        with LiveFolder.create(path, replace(SCHEMA, ids=None)) as folder:
            folder.rotate(0).close()
            folder.publish(base=make_base(folder.next_base_path), ids="int")
            assert folder.catalog.schema.ids == "int"
            assert folder.vertex_column(0).shape == (0,)

    def test_readers_keep_their_generation(self, path):
        with LiveFolder.create(path, SCHEMA) as folder:
            compact(folder)
            with LiveFolder.open(path, read_only=True) as reader:
                assert reader.catch_up()
                compact(folder)
                folder.remove_leftovers()
                assert not reader.catch_up()
                assert {"log.1", "base.1", "base.2"} <= names(path)
                assert "log.0" not in names(path)
                assert (reader.base_path / "graph.json").read_text() == "base.1"
                assert reader.vertex_column(0).tolist() == [0, 1, 2, 3]
            folder.remove_leftovers()
            assert names(path) & {"log.1", "base.1", "vertex.0.1.npy"} == set()

    def test_a_snapshot_keeps_its_generation(self, path):
        with LiveFolder.create(path, SCHEMA) as folder:
            compact(folder)
            hold = folder.hold()
            compact(folder)
            folder.remove_leftovers()
            assert "base.1" in names(path)
            hold.close()
            folder.remove_leftovers()
            assert "base.1" not in names(path)

    def test_a_reader_that_comes_while_the_graph_is_published(self, path, monkeypatch):
        """It read ``live.json`` before, and the files it names are gone when it looks for them."""
        with LiveFolder.create(path, SCHEMA) as folder:
            real, calls = read_live_catalog, []

            def read(*args, **options):
                found = real(*args, **options)
                calls.append(found.generation)
                if len(calls) == 1:
                    compact(folder)
                    folder.remove_leftovers()
                return found

            monkeypatch.setattr("penstock.dynamic.folder.read_live_catalog", read)
            with LiveFolder.open(path, read_only=True) as reader:
                assert reader.catalog.generation == 1
                assert list(reader.read_log()) == []
            assert calls == [0, 1, 1]

    def test_leftovers_go_and_others_stay(self, path):
        LiveFolder.create(path, SCHEMA).close()
        for name in (
            "log.5",
            "vertex.0.5.npy",
            "live.json.tmp",
            "notes.txt",
            "base.x",
            ".base.1.lock",
        ):
            (path / name).touch()
        for name in ("base.5", ".base.1.building", ".base.1.old"):
            (path / name).mkdir()
            (path / name / "graph.json").touch()
        # Others have such names, too.
        (path / "log.6").write_text("2026-01-01 00:00:00 started\n" * 10)
        (path / "base.7").mkdir()
        (path / "base.7" / "thesis.txt").touch()
        (path / "log.8").symlink_to(path / "notes.txt")
        LiveFolder.open(path).close()
        kept = {"notes.txt", "base.x", "log.6", "base.7", "log.8"}
        assert names(path) == {"live.json", "lock", "log.0", *kept}

    @pytest.mark.parametrize("kind", ["link", "pipe"])
    @pytest.mark.parametrize("name", ["live.json", "lock", "log.1", "vertex.0.1.npy", "base.1"])
    def test_links_and_pipes_are_refused(self, path, name, kind):
        """And nothing is written to what a link names."""
        with LiveFolder.create(path, SCHEMA) as folder:
            compact(folder)
        away = (path / name).rename(path.parent / "away")
        before = away.read_bytes() if away.is_file() else None
        if name == "base.1":
            if kind == "pipe":
                pytest.skip("the store opens it")
            (path / name).symlink_to(away)
        elif kind == "link":
            (path / name).symlink_to(away)
        else:
            os.mkfifo(path / name)
        for read_only in (False,) if name == "lock" else (True, False):
            with (
                pytest.raises(FormatError, match=f"{name}: is a "),
                LiveFolder.open(path, read_only=read_only) as folder,
            ):
                list(folder.read_log())
        assert before is None or away.read_bytes() == before

    def test_a_catalog_that_is_too_large_is_not_read(self, path):
        LiveFolder.create(path, SCHEMA).close()
        os.truncate(path / "live.json", 1 << 42)
        with pytest.raises(FormatError, match=r"live\.json: is larger than a catalog can be"):
            LiveFolder.open(path)

    def test_a_damaged_vertex_column_is_noticed_on_opening(self, path):
        with LiveFolder.create(path, SCHEMA) as folder:
            compact(folder)
        file = path / "vertex.0.1.npy"
        whole = file.read_bytes()
        for damaged in (whole[:-1], whole + b"x", whole[:-1] + b"x"):
            file.write_bytes(damaged)
            for read_only in (True, False):
                with pytest.raises(CorruptionError, match=r"vertex\.0\.1\.npy"):
                    LiveFolder.open(path, read_only=read_only)
        file.unlink()
        with pytest.raises(InputNotFoundError, match=r"vertex\.0\.1\.npy"):
            LiveFolder.open(path)
        file.write_bytes(whole)
        LiveFolder.open(path).close()

    def test_a_vertex_column_of_another_shape_is_refused(self, path):
        with LiveFolder.create(path, SCHEMA) as folder:
            folder.rotate(0).close()
            base = make_base(folder.next_base_path)
            files = folder.save_vertex_column(0, np.zeros(3)) | folder.save_vertex_column(
                1, np.zeros(4)
            )
            folder.publish(base=base, files=files)
            with pytest.raises(FormatError, match=r"\(3,\), expected float64 \(4,\)"):
                folder.vertex_column(0)
            assert folder.vertex_column(1).shape == (4,)
            assert isinstance(folder.catalog.files["vertex.0.1.npy"], FileRecord)

    def test_a_missing_log(self, path):
        LiveFolder.create(path, SCHEMA).close()
        (path / "log.0").unlink()
        with pytest.raises(InputNotFoundError, match="the log is missing"):
            LiveFolder.open(path, read_only=True)
        with LiveFolder.open(path) as folder, pytest.raises(InputNotFoundError, match="missing"):
            list(folder.read_log())

    def test_a_log_that_was_put_back_from_earlier_is_refused(self, path):
        with LiveFolder.create(path, SCHEMA) as folder:
            earlier = (path / "log.0").read_bytes()
            compact(folder)
            (path / "log.1").write_bytes(earlier)
            with pytest.raises(FormatError, match="belongs to another graph, or to an earlier"):
                list(folder.read_log())

    def test_no_room_to_publish(self, tmp_path, path):
        disk = FaultyDisk(tmp_path)
        with LiveFolder.create(path, SCHEMA, disk=disk) as folder:

            def full(step, what, path):
                return full_disk() if path.name == "live.json.tmp" and what == "write" else None

            disk.fault = full
            with pytest.raises(DiskSpaceError, match=r"log\.1 was not begun"):
                folder.rotate(0)
            disk.fault = None
            assert folder.catalog == read_live_catalog(path, disk)
            assert len(folder.catalog.logs) == 1
            folder.rotate(0).close()
            base = make_base(folder.next_base_path)
            disk.fault = full
            with pytest.raises(DiskSpaceError, match="generation 1 was not published"):
                folder.publish(base=base)
            disk.fault = None
            assert folder.catalog.generation == 0
            folder.publish(base=base)
            assert folder.catalog.generation == 1

    def test_published_but_perhaps_not_for_good(self, tmp_path, path):
        """The name was changed and cannot be synced: nothing more is done with this graph."""
        disk = FaultyDisk(tmp_path)
        folder = LiveFolder.create(path, SCHEMA, disk=disk)
        log = folder.rotate(0)
        base = make_base(folder.next_base_path)
        renamed = []

        def fault(step, what, path):
            renamed.extend(["yes"] if what == "rename" else [])
            return broken_disk() if what == "sync" and renamed else None

        disk.fault = fault
        with pytest.raises(PenstockError, match=r"was published, but .* open the graph again"):
            folder.publish(base=base)
        with pytest.raises(PenstockError, match="closed"):
            folder.remove_leftovers()
        log.abandon()
