"""A disk that can lose power, fill up, or fail to sync.

Everything is done to real files at once, as the system's cache does; beside them it is kept what is
on the disk for certain, and what was asked for since. A crash keeps any part of the latter: each
sector of a file is in any of the states it was in since the last sync, the length of the file
likewise, each name of a folder likewise; bytes that a file gained without a sync may be garbage.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from penstock.dynamic.disk import DiskFile, RealDisk

SECTOR = 512

#: Which operation this is (1, 2, ...), what it is, and the path: the error it is to meet, if any.
Fault = Callable[[int, str, Path], OSError | None]


class PowerLoss(BaseException):
    """The process does nothing more: the machine is off, or it was killed."""


def full_disk() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def broken_disk() -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO))


class _File:
    def __init__(self, content: bytes = b"") -> None:
        #: What is on the disk, then the states that the file went through since.
        self.states: list[bytes] = [content]

    def write(self, offset: int, data: bytes) -> None:
        now = self.states[-1].ljust(offset, b"\0")
        self.states.append(now[:offset] + data + now[offset + len(data) :])

    def resize(self, size: int) -> None:
        self.states.append(self.states[-1][:size].ljust(size, b"\0"))

    def sync(self) -> None:
        self.states = [self.states[-1]]

    def forget(self) -> None:
        """A sync failed: the system takes what it did not write for written."""
        self.states = [self.states[0]]

    def after_crash(self, choice: random.Random, style: str) -> bytes:
        if style in ("all", "nothing"):
            return self.states[-1 if style == "all" else 0]
        size = len(choice.choice(self.states))
        found = b""
        for start in range(0, size, SECTOR):
            versions = [state[start : start + SECTOR].ljust(SECTOR, b"\0") for state in self.states]
            if start >= len(self.states[0]) and choice.random() < 0.1:
                versions = [choice.randbytes(SECTOR)]
            found += choice.choice(versions)
        return found[:size]


class _Folder:
    def __init__(self) -> None:
        self.states: list[dict[str, _File | _Folder]] = [{}]

    def set(self, **names: _File | _Folder | None) -> None:
        now = {**self.states[-1], **names}
        self.states.append({name: node for name, node in now.items() if node is not None})

    def sync(self) -> None:
        self.states = [self.states[-1]]

    def after_crash(self, choice: random.Random, style: str) -> dict[str, _File | _Folder]:
        if style in ("all", "nothing"):
            return self.states[-1 if style == "all" else 0]
        names = sorted(set().union(*self.states))
        found = {name: choice.choice(self.states).get(name) for name in names}
        return {name: node for name, node in found.items() if node is not None}


class FaultyDisk:
    """A :class:`~penstock.dynamic.disk.Disk` over what is in a directory."""

    def __init__(self, root: Path, *, fault: Fault | None = None) -> None:
        self.root = root
        self.fault = fault
        self.steps = 0
        self.syncs = 0
        #: The operation in the middle of which the power goes, or before which a kill comes.
        self.power_loss_at: int | None = None
        self.kill_at: int | None = None
        self.is_off = False
        self._real = RealDisk()
        self._tree = _adopt(root)

    def _step(self, what: str, path: Path, apply: Callable[[], None]) -> None:
        """Do something to the model, unless a fault is due; the caller then does it for real."""
        if self.is_off:
            raise PowerLoss
        self.steps += 1
        error = self.fault(self.steps, what, path) if self.fault is not None else None
        if error is not None:
            raise error
        if self.steps in (self.power_loss_at, self.kill_at):
            self.is_off = True
            if what != "sync" and self.steps == self.power_loss_at:
                apply()
            raise PowerLoss
        apply()

    def _folder(self, path: Path) -> _Folder:
        node: _File | _Folder = self._tree
        for name in path.relative_to(self.root).parts:
            assert isinstance(node, _Folder)
            node = node.states[-1][name]
        assert isinstance(node, _Folder)
        return node

    # Disk

    def create(self, path: Path) -> DiskFile:
        node = _File()
        self._step("create", path, lambda: self._folder(path.parent).set(**{path.name: node}))
        return _OpenFile(self, node, self._real.create(path))

    def open(self, path: Path, *, write: bool = False) -> DiskFile:
        if self.is_off:
            raise PowerLoss
        file = self._real.open(path, write=write)
        node = self._folder(path.parent).states[-1][path.name]
        assert isinstance(node, _File)
        return _OpenFile(self, node, file)

    def rename(self, old: Path, new: Path) -> None:
        assert old.parent == new.parent
        folder = self._folder(old.parent)
        node = folder.states[-1][old.name]
        self._step("rename", new, lambda: folder.set(**{old.name: None, new.name: node}))
        self._real.rename(old, new)

    def remove(self, path: Path) -> None:
        if self.is_off:
            raise PowerLoss
        if path.exists():
            folder = self._folder(path.parent)
            self._step("remove", path, lambda: folder.set(**{path.name: None}))
            self._real.remove(path)

    def remove_folder(self, path: Path) -> None:
        folder = self._folder(path.parent)
        self._step("remove", path, lambda: folder.set(**{path.name: None}))
        self._real.remove_folder(path)

    def make_folder(self, path: Path) -> None:
        node = _Folder()
        parent = self._folder(path.parent)
        self._step("make_folder", path, lambda: parent.set(**{path.name: node}))
        self._real.make_folder(path)

    def sync_folder(self, path: Path) -> None:
        self._step("sync", path, self._folder(path).sync)

    # What may be found afterwards

    def next_process(self) -> None:
        """Only the process was killed: the system still has all that was asked of it."""
        self.is_off, self.kill_at, self.fault = False, None, None

    def crash(self, target: Path, seed: int) -> FaultyDisk:
        """Lose power; write what is left into a new directory, and be the disk of that."""
        self.is_off = True
        choice = random.Random(seed)
        style = choice.choice(["all", "nothing", "mixed", "mixed"])
        target.mkdir()
        _write_tree(self._tree, self.root, target, choice, style)
        return FaultyDisk(target)


class _OpenFile:
    def __init__(self, disk: FaultyDisk, node: _File, real: DiskFile) -> None:
        self.path = real.path
        self._disk = disk
        self._node = node
        self._real = real

    def size(self) -> int:
        return self._real.size()

    def read(self, offset: int, num_bytes: int):
        if self._disk.is_off:
            raise PowerLoss
        return self._real.read(offset, num_bytes)

    def write(self, offset: int, parts: Sequence[memoryview]) -> None:
        data = b"".join(parts)
        try:
            self._disk._step("write", self.path, lambda: self._node.write(offset, data))
        except OSError:
            data = data[: len(data) // 2]
            self._node.write(offset, data)
            self._real.write(offset, [memoryview(data)])
            raise
        self._real.write(offset, [memoryview(data)])

    def reserve(self, offset: int, num_bytes: int) -> None:
        size = max(self.size(), offset + num_bytes)
        self._disk._step("reserve", self.path, lambda: self._node.resize(size))
        self._real.reserve(offset, num_bytes)

    def truncate(self, num_bytes: int) -> None:
        self._disk._step("truncate", self.path, lambda: self._node.resize(num_bytes))
        self._real.truncate(num_bytes)

    def sync(self) -> None:
        self._disk.syncs += 1
        try:
            self._disk._step("sync", self.path, self._node.sync)
        except OSError:
            self._node.forget()
            raise

    def close(self) -> None:
        self._real.close()


def _adopt(path: Path) -> _Folder:
    folder = _Folder()
    for entry in path.iterdir():
        folder.set(**{entry.name: _adopt(entry) if entry.is_dir() else _File(entry.read_bytes())})
    folder.sync()
    return folder


def _write_tree(
    folder: _Folder, source: Path, target: Path, choice: random.Random, style: str
) -> None:
    known = set().union(*folder.states)
    for name, node in sorted(folder.after_crash(choice, style).items()):
        if isinstance(node, _Folder):
            (target / name).mkdir()
            _write_tree(node, source / name, target / name, choice, style)
        else:
            (target / name).write_bytes(node.after_crash(choice, style))
    if source.is_dir():
        for entry in source.iterdir():
            if entry.name not in known:  # made by others, who see to its durability themselves
                if entry.is_dir():
                    shutil.copytree(entry, target / entry.name, symlinks=True)
                else:
                    shutil.copyfile(entry, target / entry.name)


def same(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    """Whether two lists of arrays are the same, types included."""
    return len(first) == len(second) and all(
        a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in zip(first, second, strict=True)
    )
