"""GraphFolder: a graph is there or it is not, whatever happens while it is built."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from store_making import build_store, problems, random_lists, write_store

from penstock.errors import (
    DiskSpaceError,
    InputNotFoundError,
    LockedError,
    OptionError,
    TargetExistsError,
)
from penstock.store import publish
from penstock.store.folder import GraphFolder
from penstock.store.packer import FileSink
from penstock.store.paged import open_graph


@pytest.fixture
def disk(tmp_path):
    """A directory for stripes, and beside it one for graphs."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "here").mkdir()
    return tmp_path / "disk"


def write(folder: Path, seed: int = 1, **options) -> None:
    write_store(folder, random_lists(30 + seed, 9, seed), **options)


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


# Locks


def test_only_one_builds_a_graph(tmp_path):
    with GraphFolder(tmp_path / "g", overwrite=False):
        with pytest.raises(LockedError, match=rf"g: is being built .*pid {os.getpid()}"):
            GraphFolder(tmp_path / "g", overwrite=True).__enter__()
        with GraphFolder(tmp_path / "other", overwrite=False):
            assert ".g.lock" in names(tmp_path)
        assert (tmp_path / ".g.building" / "tmp").is_dir()
    assert names(tmp_path) == set()
    write(tmp_path / "g")
    assert names(tmp_path) == {"g"}


CHILD = """
import sys
from penstock.store.folder import GraphFolder
with GraphFolder(sys.argv[1], tuple(sys.argv[2:]), overwrite=True) as folder:
    print(folder.scratch_in(__import__("pathlib").Path(sys.argv[2])), flush=True)
    (folder.scratch / "x").write_text("x")
    folder.page_sink("out")
    sys.stdin.readline()
    __import__("os")._exit(9)
"""


def test_another_process_builds_and_is_killed(disk):
    """Its lock holds while it lives; what it leaves does not open, and the next build clears it."""
    target = disk.parent / "here" / "g"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, target, disk],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with child:
        elsewhere = Path(child.stdout.readline().strip())
        with pytest.raises(LockedError, match=f"pid {child.pid}"):
            write(target)
        child.kill()
    assert names(target.parent) == {".g.lock", ".g.building"}
    assert elsewhere.is_dir()
    assert len(names(disk)) == 2
    with pytest.raises(InputNotFoundError):
        open_graph(target)
    write(target)
    assert names(target.parent) == {"g"}
    assert names(disk) == set()


def test_a_lock_whose_file_is_gone_does_not_count(tmp_path, monkeypatch):
    """Between opening the file and locking it, the holder before may have removed it."""
    path = tmp_path / "lock"
    real = fcntl.flock
    opened = []

    def flock(fd: int, operation: int) -> None:
        opened.append(fd)
        if len(opened) == 1:
            path.unlink()
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    fd = publish.take_lock(path, tmp_path)
    assert len(opened) == 2
    assert path.read_text() == str(os.getpid())
    with pytest.raises(LockedError):
        publish.take_lock(path, tmp_path)
    publish.drop_lock(fd, path)
    assert names(tmp_path) == set()


# Failures


class TroubleError(Exception):
    pass


@pytest.mark.parametrize("error", [TroubleError(), KeyboardInterrupt(), SystemExit(1)])
def test_a_failure_leaves_nothing(disk, error):
    before = len(os.listdir("/proc/self/fd"))
    target = disk.parent / "here" / "g"

    def fail() -> None:
        with GraphFolder(target, (disk, disk), overwrite=False) as folder:
            folder.scratch_in(disk)
            folder.page_sink("out").write(0, np.zeros(4096, np.uint8))
            folder.array_writer("x.npy", np.int64, 5)(np.arange(3))
            folder.save("y.npy", np.arange(3))
            (folder.scratch / "deep").mkdir()
            assert len(names(disk)) == 3
            raise error

    with pytest.raises(type(error)):
        fail()
    assert names(target.parent) == set()
    assert names(disk) == set()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_full_disk_is_told_and_leaves_nothing(disk):
    target = disk.parent / "here" / "g"
    with (
        pytest.raises(DiskSpaceError, match="the disk is full; nothing was left behind"),
        GraphFolder(target, (disk,), overwrite=False),
    ):
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere")
    assert names(target.parent) == names(disk) == set()


def test_a_failed_sync_leaves_nothing(disk, monkeypatch):
    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        write(disk.parent / "here" / "g", stripes=(disk,))
    assert names(disk.parent / "here") == names(disk) == set()
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_cannot_be_begun(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(InputNotFoundError, match="no such directory to put the graph in"):
        GraphFolder(tmp_path / "none" / "g", overwrite=False).__enter__()
    with pytest.raises(InputNotFoundError, match="none: no such directory for a stripe"):
        GraphFolder(tmp_path / "g", (tmp_path / "none",), overwrite=False).__enter__()
    for length in (250, 240):
        with pytest.raises(OptionError, match="cannot be made: File name too long"):
            GraphFolder(tmp_path / ("g" * length), (tmp_path,), overwrite=False).__enter__()
    with (
        GraphFolder(tmp_path / "g", overwrite=False) as folder,
        pytest.raises(InputNotFoundError, match="no such directory for temporary files"),
    ):
        folder.scratch_in(tmp_path / "none")
    assert names(tmp_path) == set()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_failed_build_leaves_nothing(disk):
    target = disk.parent / "here" / "g"
    for layout in ("banded", "slotted"):
        with pytest.raises(ValueError):
            build_store(
                target, [0, 5], [1, 2], layout=layout, num_vertices=3, stripes=(disk,), tmpdir=disk
            )
        assert names(target.parent) == names(disk) == set()


# Stripes


def test_pages_are_dealt_out_over_stripes(disk):
    target = disk.parent / "here" / "g"
    lists = random_lists(300, 60, 1)
    write_store(disk.parent / "plain", lists)
    catalog = write_store(target, lists, stripes=(disk, disk))
    assert names(target) >= {"stripe.0", "stripe.1", "stripe.2"}
    plain = (disk.parent / "plain" / "stripe.0" / "out.pages").read_bytes()
    stripes = [(target / f"stripe.{k}" / "out.pages").read_bytes() for k in range(3)]
    pages = catalog.directions["out"].num_pages
    assert pages > 3
    for j in range(pages):
        at = j // 3 * 4096
        assert stripes[j % 3][at : at + 4096] == plain[j * 4096 : (j + 1) * 4096]
    assert sum(map(len, stripes)) == len(plain)
    for k in (1, 2):
        far = (target / f"stripe.{k}").readlink()
        assert far.parent == disk
        assert names(far) == {"stripe.json", "out.pages", "in.pages", "owner.json"}
        assert json.loads((far / "owner.json").read_text())["graph"] == str(target)
    assert names(disk) == {(target / f"stripe.{k}").readlink().name for k in (1, 2)}
    assert problems(target) == []


def test_graphs_of_the_same_name_keep_their_stripes_apart(disk):
    targets = [disk.parent / name / "g" for name in ("here", "there")]
    (disk.parent / "there").mkdir()
    for seed, target in enumerate(targets):
        write(target, seed, stripes=(disk,))
    for target in targets:
        assert problems(target) == []
    write(targets[0], 5, stripes=(disk,), overwrite=True)
    for target in targets:
        assert problems(target) == []
    assert len(names(disk)) == 2


# Overwriting


def test_a_graph_is_not_overwritten_unasked(tmp_path):
    write(tmp_path / "g", 1)
    with pytest.raises(TargetExistsError, match="g: already exists"):
        write(tmp_path / "g", 2)
    assert open_graph(tmp_path / "g").num_vertices == 31
    assert names(tmp_path) == {"g"}


def test_what_is_no_graph_is_not_overwritten(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "graph.json").write_text('{"nodes": [], "links": []}')
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").symlink_to(tmp_path / "file" / "x")
    kept = names(tmp_path)
    for name in kept - {"dangling"}:
        with pytest.raises(TargetExistsError, match="is not a graph"):
            write(tmp_path / name, overwrite=True)
    assert names(tmp_path) == kept


@pytest.mark.parametrize("exchange", [True, False])
def test_overwriting_swaps(disk, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(publish, "_exchange", lambda first, second: False)
    target = disk.parent / "here" / "g"
    write(target, 1, stripes=(disk,))
    old = open_graph(target)
    with pytest.raises(TroubleError), GraphFolder(target, (disk,), overwrite=True):
        raise TroubleError
    assert problems(target) == []
    assert len(names(disk)) == 1
    write(target, 2, stripes=(disk, disk), overwrite=True)
    assert open_graph(target).num_vertices == 32
    assert problems(target) == []
    assert len(names(disk)) == 2
    # Who has the old graph open can go on reading it.
    assert len(old._pages["out"]._fds) == 2
    old.pages("out").read_page(0, np.empty(4096, np.uint8))
    write(target, 3, overwrite=True)
    assert problems(target) == []
    assert names(disk) == set()
    assert names(target.parent) == {"g"}


def test_a_damaged_graph_can_be_overwritten(tmp_path):
    write(tmp_path / "g", 1)
    text = (tmp_path / "g" / "graph.json").read_text()
    (tmp_path / "g" / "graph.json").write_text(text[:-40])
    write(tmp_path / "g", 2, overwrite=True)
    assert problems(tmp_path / "g") == []


def test_a_link_to_a_graph_is_followed(tmp_path):
    (tmp_path / "a").mkdir()
    write(tmp_path / "a" / "g", 1)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "g")
    write(tmp_path / "link", 2, overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert open_graph(tmp_path / "a" / "g").num_vertices == 32
    assert names(tmp_path) == {"a", "link"}
    assert names(tmp_path / "a") == {"g"}


def test_stripes_that_a_copy_shares_stay(disk):
    target = disk.parent / "here" / "g"
    write(target, 1, stripes=(disk,))
    shutil.copytree(target, disk.parent / "here" / "copy", symlinks=True)
    with pytest.warns(UserWarning, match="is left in place.*nothing proves"):
        write(disk.parent / "here" / "copy", 2, overwrite=True)
    assert problems(target) == []
    assert problems(disk.parent / "here" / "copy") == []


# Kills at every step


class Killed(BaseException):
    pass


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch, action) -> bool:
    """Let the process die, as it were, at its step-th change to directories; False if it ends
    before that.
    """
    left = [step]

    def dying(function):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return function(*args, **kwargs)

        return call

    def die(self: GraphFolder) -> None:
        try:
            if left[0] >= 0:
                leave(self)
        finally:
            for each in self._open:
                each.close(sync=False) if isinstance(each, FileSink) else each.close()
            if self._lock is not None:
                os.close(self._lock)

    leave = GraphFolder._leave
    with monkeypatch.context() as patch:
        for name in ("mkdir", "symlink", "rename", "fsync", "rmdir", "unlink"):
            patch.setattr(os, name, dying(getattr(os, name)))
        patch.setattr(publish, "_exchange", dying(publish._exchange))
        patch.setattr(GraphFolder, "_leave", die)
        try:
            action()
        except Killed:
            return True
    return False


@pytest.mark.parametrize(("overwrite", "exchange"), [(False, True), (True, True), (True, False)])
def test_kills_at_every_step(disk, monkeypatch, overwrite, exchange):
    """There is the old graph or the new one, never less; the next build clears up."""
    if not exchange:
        monkeypatch.setattr(publish, "_exchange", lambda first, second: False)
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    target = disk.parent / "here" / "g"
    if overwrite:
        write(target, 1, stripes=(disk,))
    step = 0
    while killed_at(
        step, monkeypatch, lambda: write(target, 2, stripes=(disk, disk), overwrite=overwrite)
    ):
        spare = target.parent / ".g.old"
        if target.exists():
            assert problems(target) == []
            assert open_graph(target).num_vertices in ((31, 32) if overwrite else (32,))
        elif overwrite:
            assert not exchange
            assert problems(spare) == []
        write(target, 1, stripes=(disk,), overwrite=True)
        assert open_graph(target).num_vertices == 31
        assert names(target.parent) == {"g"}
        assert names(disk) == {(target / "stripe.1").readlink().name}
        if not overwrite:
            shutil.rmtree((target / "stripe.1").readlink())
            shutil.rmtree(target)
        step += 1
    assert step > 20
    assert open_graph(target).num_vertices == 32
    assert problems(target) == []
    assert len(names(disk)) == 2


def test_a_graph_that_waits_under_its_other_name_comes_back(tmp_path):
    """As after a kill between two renames, where directories cannot be exchanged."""
    write(tmp_path / "g", 1)
    (tmp_path / "g").rename(tmp_path / ".g.old")
    with pytest.raises(TargetExistsError):
        write(tmp_path / "g", 2)
    assert names(tmp_path) == {"g"}
    assert problems(tmp_path / "g") == []
