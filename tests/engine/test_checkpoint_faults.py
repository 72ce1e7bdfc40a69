"""Damage is found, and whatever stops a save, the last good checkpoint is there."""

from __future__ import annotations

import errno
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from test_checkpoint import IDENTITY, OnDisk, contents, load, small_checkpoint

from penstock.engine import checkpoint_file
from penstock.engine.checkpoint import FILE_NAME, LOCK_NAME, Checkpoint
from penstock.errors import AccessError, CorruptionError, DiskSpaceError, FormatError

# Damage


def refused(file: Path) -> None:
    with pytest.raises(CorruptionError, match=f"{FILE_NAME}.*remove it"):
        load(file.parent)


def test_every_changed_byte_is_found(tmp_path: Path) -> None:
    file = small_checkpoint(tmp_path / "run")
    whole = file.read_bytes()
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        file.write_bytes(changed)
        refused(file)
    file.write_bytes(whole)
    assert load(file.parent)[0] == 7


def test_every_length_is_found(tmp_path: Path) -> None:
    file = small_checkpoint(tmp_path / "run")
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        refused(file)
        file.write_bytes(whole[-length:] if length else b"")
        refused(file)
    for extra in (b"\0", b"x", whole):
        for data in (whole + extra, extra + whole):
            file.write_bytes(data)
            refused(file)


def sealed(text: bytes, version: int = 1) -> bytes:
    tail = struct.pack("<4sIQQ", b"PSCP", version, len(text), xxhash.xxh3_64_intdigest(text))
    return text + tail + struct.pack("<Q", xxhash.xxh3_64_intdigest(tail))


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{", b"[]", b"3", b"{}", b"\xff"),
        b'{"arrays": [], "identity": {}, "step": "x", "extra": {}}',
        b'{"arrays": [{"name": "a"}], "identity": {}, "step": 1, "extra": {}}',
        b'{"arrays": [{"name": "a", "dtype": "O", "length": 0, "xxh3": ""}], "identity": {}}',
        b'{"arrays": [{"name": "a", "dtype": "<f8", "length": -1, "xxh3": ""}], "identity": {}}',
    ],
)
def test_nonsense_with_right_checksums(tmp_path: Path, text: bytes) -> None:
    file = small_checkpoint(tmp_path / "run")
    file.write_bytes(sealed(text))
    refused(file)


def test_another_format_version(tmp_path: Path) -> None:
    file = small_checkpoint(tmp_path / "run")
    file.write_bytes(sealed(b"{}", version=2))
    with pytest.raises(FormatError, match=r"format 2.*reads 1"):
        load(file.parent)


def test_disk_that_does_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = small_checkpoint(tmp_path / "run")

    def broken(*args: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "preadv", broken)
    with pytest.raises(CorruptionError, match="Input/output error"):
        load(file.parent)


def failing(
    monkeypatch: pytest.MonkeyPatch, name: str, code: int, good: int = 0
) -> Callable[[], None]:
    """Have a system call fail after some good ones; returns what mends it."""
    call, left = getattr(os, name), good

    def broken(*args: Any, **options: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(code, os.strerror(code))
        return call(*args, **options)

    monkeypatch.setattr(os, name, broken)
    return lambda: monkeypatch.setattr(os, name, call)


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mend = failing(monkeypatch, "open", errno.EROFS)
    with pytest.raises(AccessError, match="run: no permission"):
        Checkpoint(tmp_path / "run", IDENTITY)
    mend()
    small_checkpoint(tmp_path / "run")
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint:
        failing(monkeypatch, "open", errno.EACCES)
        with pytest.raises(AccessError, match="run: no permission"):
            checkpoint.save(8, {}, {})
        with pytest.raises(AccessError, match=f"{FILE_NAME}: the checkpoint cannot be read"):
            checkpoint.load()


# Whatever stops a save


@pytest.mark.parametrize(
    ("call", "code"), [("write", errno.ENOSPC), ("write", errno.EDQUOT), ("fsync", errno.ENOSPC)]
)
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> None:
    monkeypatch.setattr(checkpoint_file, "PIECE_BYTES", 4000)
    small_checkpoint(tmp_path / "run")
    # The pieces and the description; the file, before it is renamed.
    places = {"write": 4, "fsync": 1}[call]
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint:
        for good in range(places):
            mend = failing(monkeypatch, call, code, good)
            with pytest.raises(DiskSpaceError, match=r"run: the disk is full.*77.5 kB.*kept"):
                checkpoint.save(8, {"rank": np.zeros(1500)}, {})
            mend()
            assert sorted(os.listdir(tmp_path / "run")) == [LOCK_NAME, FILE_NAME]
            saved = checkpoint.load()
            assert saved is not None
            assert saved.step == 7
            assert contents(saved)["rank"][6] == 6 / 7
        checkpoint.save(8, {"rank": np.zeros(1500)}, {})
    assert load(tmp_path / "run")[0] == 8


def test_disk_that_is_seen_to_be_too_small(tmp_path: Path) -> None:
    huge = np.broadcast_to(np.uint8(0), 1 << 60)
    too_small = pytest.raises(DiskSpaceError, match=r"1152921.5 TB")
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint, too_small:
        checkpoint.save(1, {"huge": huge}, {})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(errno.EIO, "broken")])
def test_interrupted(tmp_path: Path, error: Any) -> None:
    small_checkpoint(tmp_path / "run")

    class Interrupting(OnDisk):
        def read(self, begin: int, end: int) -> Any:
            raise error

    stopped = pytest.raises((KeyboardInterrupt, OSError))
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint, stopped:
        checkpoint.save(8, {"a": np.arange(3), "b": Interrupting(np.arange(5))}, {})
    assert os.listdir(tmp_path / "run") == [FILE_NAME]
    assert load(tmp_path / "run")[0] == 7


#: Saves one step after another; with a number, dies at that system call of the second step.
SAVING = """
import os, signal, sys
import numpy as np
from penstock.engine import checkpoint_file
from penstock.engine.checkpoint import Checkpoint

def run(folder, steps):
    with Checkpoint(folder, {"graph": "g"}) as checkpoint:
        for step in steps:
            arrays = {"a": np.full(60_000, step), "b": np.full(7, -step)}
            checkpoint.save(step, arrays, {"step": step})
            yield step

def dying(number):
    def wrap(call):
        def counted(*args, **options):
            nonlocal number
            number -= 1
            if number < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)
        return counted
    for name in ("open", "write", "fsync", "close", "replace", "rename", "unlink", "rmdir"):
        setattr(os, name, wrap(getattr(os, name)))

folder = sys.argv[1]
if len(sys.argv) == 2:
    for step in run(folder, range(1, 1 << 60)):
        print(step, flush=True)
checkpoint_file.PIECE_BYTES = 100_000
for k in range(1000):
    child = os.fork()
    if child == 0:
        saving = run(f"{folder}/{k}", (1, 2))
        next(saving)
        dying(k)
        list(saving)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def start(*args: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SAVING, *args]
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=quiet)


def complete(folder: Path) -> int:
    """The step of a checkpoint, which must be all of one piece."""
    with Checkpoint(folder, {"graph": "g"}) as checkpoint:
        saved = checkpoint.load()
        assert saved is not None
        step = saved.step
        assert saved.extra == {"step": step}
        arrays = contents(saved)
    assert np.array_equal(arrays["a"], np.full(60_000, step))
    assert np.array_equal(arrays["b"], np.full(7, -step))
    assert os.listdir(folder) == [FILE_NAME]
    return step


def test_killed_at_every_system_call(tmp_path: Path) -> None:
    with start(str(tmp_path), "each") as child:
        pass
    assert child.returncode == 0
    folders = sorted(tmp_path.iterdir(), key=lambda path: int(path.name))
    steps = [complete(folder) for folder in folders]
    # Five pieces, the description, two files synced and closed, one renamed: all before and after.
    assert len(steps) > 12
    assert steps == sorted(steps)
    assert set(steps) == {1, 2}


def test_killed_at_any_moment(tmp_path: Path) -> None:
    rng = random.Random(3)
    folder = tmp_path / "run"
    for _ in range(4):
        child = start(str(folder))
        try:
            assert child.stdout is not None
            first = int(child.stdout.readline())
            time.sleep(rng.random() / 20)
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        printed = [int(line) for line in child.stdout.read().splitlines(keepends=True)]
        child.stdout.close()
        last = [first, *printed][-1]
        assert complete(folder) in (last, last + 1)
