"""Disks that are full, or cannot be read, while the state of a run over hosts is saved."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from losing import FragileHosts
from rank_making import ThreadHosts, build_hard
from test_epochs import CALLS, OFTEN, assert_same, left

import penstock as ps
from penstock.engine import epoch_writer
from penstock.engine.epoch_files import EpochFolder
from penstock.errors import DiskSpaceError

pytestmark = pytest.mark.usefixtures("scratch")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("disks"), directed=True)


def _fill_disk(monkeypatch: Any, *, rank: int, part: bool) -> None:
    """No room for what a rank writes: its part, or the copy of another's."""
    begin = EpochFolder.begin

    def fail(self: EpochFolder, name: Any) -> int:
        if name.by == rank and (name.part == rank) == part and name.part is not None:
            raise OSError(28, "No space left on device")
        return begin(self, name)

    monkeypatch.setattr(EpochFolder, "begin", fail)


def test_a_run_goes_on_without_room(graph: ps.Graph, monkeypatch: Any, scratch: Path) -> None:
    _fill_disk(monkeypatch, rank=1, part=True)
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(3), **OFTEN)
    assert_same(found, CALLS["pagerank"](graph))
    assert found.stats["epochs"]["saved"] == 0
    assert "the disk is full" in found.stats["epochs"]["notes"][0]
    assert left(scratch) == []


def test_a_copy_that_has_no_room_is_left_out(graph: ps.Graph, monkeypatch: Any) -> None:
    _fill_disk(monkeypatch, rank=1, part=False)
    found = CALLS["pagerank"](graph, hosts=FragileHosts(3, 24, fewer=1), **OFTEN)
    assert_same(found, CALLS["pagerank"](graph))
    assert found.stats["epochs"]["resumed_after"] > 0


def test_a_part_that_cannot_be_read_again_has_no_copy(graph: ps.Graph, monkeypatch: Any) -> None:
    read = os.pread

    def fail(fd: int, count: int, offset: int) -> bytes:
        path = os.readlink(f"/proc/self/fd/{fd}")
        if count == epoch_writer.COPY_BYTES and ".part-1." in Path(path).name:
            raise OSError(errno.EIO, "Input/output error")
        return read(fd, count, offset)

    monkeypatch.setattr(os, "pread", fail)
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(3), **OFTEN)
    assert_same(found, CALLS["pagerank"](graph))
    assert found.stats["epochs"]["saved"] > 0
    assert any("Input/output error" in note for note in found.stats["epochs"]["notes"])


def test_no_room_in_a_given_folder_is_an_error(
    graph: ps.Graph, tmp_path: Path, monkeypatch: Any
) -> None:
    _fill_disk(monkeypatch, rank=1, part=True)
    with pytest.raises(DiskSpaceError, match="the disk is full"):
        CALLS["pagerank"](graph, hosts=ThreadHosts(3), checkpoint=tmp_path / "kept", **OFTEN)


def test_a_scratch_folder_of_another_user_is_not_used(graph: ps.Graph, scratch: Path) -> None:
    root = scratch / f"penstock-{os.getuid()}"
    root.mkdir()
    root.chmod(0o777)
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(2), **OFTEN)
    assert_same(found, CALLS["pagerank"](graph))
    assert "others can write or read there" in found.stats["epochs"]["notes"][0]
    assert list(root.iterdir()) == []
