"""The directory of a live graph: made, opened, locked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from live_folder_making import SCHEMA, make_base, names

from penstock.dynamic.folder import LiveFolder
from penstock.dynamic.folder_catalog import BaseRecord
from penstock.errors import (
    FormatError,
    InputNotFoundError,
    LockedError,
    PenstockError,
    TargetExistsError,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph"


class TestCreate:
    def test_it_is_there_and_empty(self, path):
        with LiveFolder.create(path, SCHEMA):
            pass
        with LiveFolder.open(path) as folder:
            reader = folder.read_log()
            assert list(reader) == []
            assert folder.base_path is None
            assert folder.vertex_column(0).shape == (0,)
            assert folder.vertex_column(1).dtype == np.uint8
            folder.resume_log(reader.recovery).close()
        assert names(path) == {"live.json", "lock", "log.0"}

    def test_from_a_base(self, path):
        with LiveFolder.create(path, SCHEMA, build=make_base) as folder:
            assert folder.base_path == path / "base.0"
        with LiveFolder.open(path) as folder:
            assert folder.catalog.base == BaseRecord("base.0", 5, 4, 10)

    def test_a_base_that_fails_leaves_nothing(self, path):
        def build(base: Path) -> BaseRecord:
            base.mkdir()
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            LiveFolder.create(path, SCHEMA, build=build)
        assert not path.exists()

    def test_an_empty_folder_may_be_there(self, path):
        path.mkdir()
        LiveFolder.create(path, SCHEMA).close()
        LiveFolder.open(path).close()

    def test_other_things_are_not_touched(self, path):
        with pytest.raises(InputNotFoundError, match="no such directory"):
            LiveFolder.create(path / "deeper", SCHEMA)
        path.write_text("mine")
        with pytest.raises(TargetExistsError, match="no directory"):
            LiveFolder.create(path, SCHEMA)
        assert path.read_text() == "mine"
        path.unlink()
        path.mkdir()
        (path / "mine").touch()
        with pytest.raises(TargetExistsError, match=r"not empty.*'mine'"):
            LiveFolder.create(path, SCHEMA)
        assert names(path) == {"mine"}

    def test_rotated_logs_of_others_are_not_removed(self, path):
        """A folder whose names are all like those of a live graph may still be another's."""
        path.mkdir()
        (path / "log.0").write_text("2026-01-01 00:00:00 started\n" * 10)
        (path / "log.1").write_text("2026-01-02 00:00:00 started\n" * 10)
        for _ in range(2):
            with pytest.raises(TargetExistsError, match=r"not empty.*'log\.0', 'log\.1'"):
                LiveFolder.create(path, SCHEMA)
            assert names(path) - {"lock"} == {"log.0", "log.1"}
            (path / "lock").touch()

    def test_a_graph_is_not_overwritten(self, path):
        LiveFolder.create(path, SCHEMA).close()
        before = (path / "live.json").read_bytes()
        with pytest.raises(TargetExistsError, match="is a live graph already"):
            LiveFolder.create(path, SCHEMA)
        assert (path / "live.json").read_bytes() == before

    def test_an_interrupted_creation_does_not_open_and_is_made_again(self, path):
        LiveFolder.create(path, SCHEMA, build=make_base).close()
        (path / "live.json").rename(path / "live.json.tmp")
        with pytest.raises(FormatError, match=r"no live\.json.*make it again"):
            LiveFolder.open(path)
        LiveFolder.create(path, SCHEMA).close()
        assert names(path) == {"live.json", "lock", "log.0"}

    def test_opening_what_is_not_there(self, path):
        for read_only in (True, False):
            with pytest.raises(InputNotFoundError, match="no such live graph"):
                LiveFolder.open(path, read_only=read_only)


class TestLocks:
    def test_a_second_writer_is_refused(self, path):
        folder = LiveFolder.create(path, SCHEMA)
        for use in (LiveFolder.open, lambda path: LiveFolder.create(path, SCHEMA)):
            with pytest.raises((LockedError, TargetExistsError)):
                use(path)
        with pytest.raises(LockedError, match=rf"pid {os.getpid()}\).*read_only=True"):
            LiveFolder.open(path)
        folder.close()
        LiveFolder.open(path).close()

    def test_a_second_process_is_refused(self, path):
        text = (
            "import sys; from penstock.dynamic.folder import LiveFolder\n"
            "folder = LiveFolder.open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
        )
        LiveFolder.create(path, SCHEMA).close()
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [sys.executable, "-c", text, str(path)], stdin=pipe, stdout=pipe
        ) as other:
            try:
                assert other.stdout.readline() == b"open\n"
                with pytest.raises(LockedError, match=f"pid {other.pid}"):
                    LiveFolder.open(path)
                LiveFolder.open(path, read_only=True).close()
            finally:
                other.kill()
        LiveFolder.open(path).close()

    def test_a_lock_that_was_removed_meanwhile_does_not_count(self, path, monkeypatch):
        LiveFolder.create(path, SCHEMA).close()
        flock = __import__("fcntl").flock

        def slow(fd, how):
            (path / "lock").unlink()
            flock(fd, how)

        monkeypatch.setattr("fcntl.flock", slow)
        with pytest.raises(LockedError):
            LiveFolder.open(path)

    def test_readers_change_nothing(self, path):
        LiveFolder.create(path, SCHEMA).close()
        (path / "log.7").touch()
        before = names(path)
        with LiveFolder.open(path, read_only=True) as folder:
            reader = folder.read_log()
            list(reader)
            for use in (
                lambda: folder.resume_log(reader.recovery),
                lambda: folder.rotate(0),
                folder.remove_leftovers,
                lambda: folder.save_vertex_column(0, np.zeros(1)),
            ):
                with pytest.raises(PenstockError, match="open for reading only"):
                    use()
        assert names(path) == before

    def test_a_closed_folder_is_closed(self, path):
        folder = LiveFolder.create(path, SCHEMA)
        folder.close()
        folder.close()
        with pytest.raises(PenstockError, match="closed"):
            folder.rotate(0)
