"""A checkpoint comes back as it was saved, to the run it belongs to."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine import checkpoint_file
from penstock.engine.checkpoint import FILE_NAME, LOCK_NAME, TEMPORARY_NAME, Checkpoint, Schedule
from penstock.engine.checkpoint_file import Saved
from penstock.errors import (
    FormatError,
    InputNotFoundError,
    LockedError,
    OptionError,
    TargetExistsError,
)

IDENTITY = {"graph": "00ff", "program": "pagerank", "alpha": 0.85, "source": None}
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", ">u4"),
]


class OnDisk(NamedTuple):
    """An array that is seen through read and write only."""

    held: Any

    @property
    def length(self) -> int:
        return len(self.held)

    @property
    def dtype(self) -> Any:
        return self.held.dtype

    def read(self, begin: int, end: int) -> Any:
        return self.held[begin:end].copy()

    def write(self, begin: int, array: Any) -> None:
        self.held[begin : begin + len(array)] = array


def contents(saved: Saved | None) -> dict[str, Any]:
    assert saved is not None
    arrays = {name: np.empty(length, dtype) for name, (dtype, length) in saved.arrays.items()}
    for name, array in arrays.items():
        saved.read_into(name, array)
    saved.close()
    return arrays


def load(folder: Path) -> tuple[int, dict[str, Any]]:
    with Checkpoint(folder, IDENTITY) as checkpoint:
        saved = checkpoint.load()
        assert saved is not None
        return saved.step, contents(saved)


def small_checkpoint(folder: Path) -> Path:
    with Checkpoint(folder, IDENTITY) as checkpoint:
        checkpoint.save(
            7, {"rank": np.arange(20) / 7, "seen": np.ones(13, np.uint8)}, {"residual": 0.1}
        )
    return folder / FILE_NAME


@st.composite
def some_arrays(draw: Any) -> dict[str, Any]:
    names = draw(st.lists(st.text(max_size=5), unique=True, max_size=3))
    arrays = {}
    for name in names:
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        length = draw(st.integers(0, 40))
        raw = draw(st.binary(min_size=length * dtype.itemsize, max_size=length * dtype.itemsize))
        arrays[name] = np.frombuffer(raw, dtype)
    return arrays


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(
    arrays=some_arrays(),
    step=st.integers(0, 1 << 60),
    extra=st.dictionaries(st.text(), json_values, max_size=3),
    piece_bytes=st.sampled_from([16, 48, 1 << 20]),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    arrays: dict[str, Any],
    step: int,
    extra: dict[str, Any],
    piece_bytes: int,
) -> None:
    folder = tmp_path_factory.mktemp("round") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint_file, "PIECE_BYTES", piece_bytes)
        patch.setattr(checkpoint_file, "FLUSH_BYTES", 100)
        with Checkpoint(folder, IDENTITY) as checkpoint:
            assert checkpoint.load() is None
            checkpoint.save(step, arrays, extra)
            saved = checkpoint.load()
            assert saved is not None
            assert (saved.step, saved.extra) == (step, extra)
            assert saved.arrays == {name: (a.dtype, len(a)) for name, a in arrays.items()}
            found = contents(saved)
    assert {k: v.tobytes() for k, v in found.items()} == {k: v.tobytes() for k, v in arrays.items()}


def test_columns_that_are_not_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_file, "PIECE_BYTES", 64)
    values = np.arange(1001, dtype=np.float32)
    strided = np.arange(300)[::3]
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint:
        checkpoint.save(3, {"far": OnDisk(values), "strided": strided}, {})
        saved = checkpoint.load()
        assert saved is not None
        far, gaps = OnDisk(np.zeros(1001, np.float32)), np.zeros(200, np.int64)
        saved.read_into("far", far)
        saved.read_into("strided", gaps[::2])
        saved.close()
    assert np.array_equal(far.held, values)
    assert np.array_equal(gaps[::2], strided)
    assert not gaps[1::2].any()


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint:
        checkpoint.save(1, {"a": np.arange(3)}, {})
        for wrong in (np.array(["x"], object), np.zeros((2, 2)), np.zeros(2, "u4,f4")):
            with pytest.raises(ValueError, match="array 'a'"):
                checkpoint.save(2, {"a": wrong}, {})
        with pytest.raises(TypeError):
            checkpoint.save(2, {"a": np.arange(4)}, {"x": object()})
        saved = checkpoint.load()
        assert np.array_equal(contents(saved)["a"], np.arange(3))
    assert os.listdir(tmp_path / "run") == [FILE_NAME]


def test_arrays_are_not_copied(tmp_path: Path) -> None:
    array = np.ones(8 << 20, np.float32)
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint:
        tracemalloc.start()
        try:
            checkpoint.save(1, {"a": array}, {})
            saved = checkpoint.load()
            assert saved is not None
            saved.read_into("a", array)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        saved.close()
    assert peak < 1.5 * checkpoint_file.PIECE_BYTES < array.nbytes / 4


def test_older_one_stays_readable(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint:
        checkpoint.save(1, {"a": np.arange(10)}, {})
        old = checkpoint.load()
        checkpoint.save(2, {"b": np.arange(20), "a": np.arange(30)}, {})
        assert np.array_equal(contents(old)["a"], np.arange(10))


def test_targets_that_do_not_fit(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "run", IDENTITY) as checkpoint:
        checkpoint.save(1, {"a": np.arange(10)}, {})
        saved = checkpoint.load()
        assert saved is not None
        for name, target in (("b", np.zeros(10)), ("a", np.zeros(10)), ("a", np.arange(9))):
            with pytest.raises(FormatError, match=f"{FILE_NAME}.*array '{name}'.*remove it"):
                saved.read_into(name, target)
        saved.close()


# Another run


def test_another_run_is_refused(tmp_path: Path) -> None:
    small_checkpoint(tmp_path / "run")
    other = {"graph": "00ff", "program": "pagerank", "alpha": 0.9, "tol": 1e-6}
    with Checkpoint(tmp_path / "run", other) as checkpoint, pytest.raises(OptionError) as raised:
        checkpoint.load()
    words = str(raised.value)
    assert "was made for alpha 0.85, tol None; this run has alpha 0.9, tol 1e-06" in words
    assert "another folder" in words
    assert "pagerank" not in words
    assert load(tmp_path / "run")[0] == 7


def test_the_same_identity_in_other_words(tmp_path: Path) -> None:
    values = {"alpha": 1, "limit": float("inf"), "start": float("nan"), "gone": None}
    with Checkpoint(tmp_path / "run", values) as checkpoint:
        checkpoint.save(1, {}, {})
    again = {"alpha": 1.0, "limit": float("inf"), "start": float("nan")}
    with Checkpoint(tmp_path / "run", again) as checkpoint:
        saved = checkpoint.load()
        assert saved is not None
        saved.close()


# The folder

OPENING = """
import sys
from penstock.engine.checkpoint import Checkpoint
with Checkpoint(sys.argv[1], {}):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-c", OPENING, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"locked\n"
        with pytest.raises(LockedError, match=f"{folder}: another run"):
            Checkpoint(folder, IDENTITY)
        assert (folder / LOCK_NAME).read_text() == str(child.pid)
    assert child.returncode == 0
    with Checkpoint(folder, IDENTITY), pytest.raises(LockedError):
        Checkpoint(folder, IDENTITY)
    Checkpoint(folder, IDENTITY).close()


def test_finished(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for others in ([], ["notes.txt"]):
        small_checkpoint(folder)
        for name in others:
            (folder / name).touch()
        with Checkpoint(folder, IDENTITY) as checkpoint:
            checkpoint.clear()
            assert checkpoint.load() is None
            checkpoint.clear()
        assert folder.exists() == bool(others)
    assert os.listdir(folder) == ["notes.txt"]


def test_leftovers_go(tmp_path: Path) -> None:
    file = small_checkpoint(tmp_path / "run")
    (file.parent / TEMPORARY_NAME).write_bytes(b"half")
    assert load(file.parent)[0] == 7
    assert os.listdir(file.parent) == [FILE_NAME]


@pytest.mark.parametrize("name", [FILE_NAME, LOCK_NAME])
def test_links_and_pipes_are_refused(tmp_path: Path, name: str) -> None:
    file = small_checkpoint(tmp_path / "run")
    (tmp_path / "mine").write_bytes(file.read_bytes())
    for make in (lambda path: path.symlink_to(tmp_path / "mine"), os.mkfifo):
        (file.parent / name).unlink(missing_ok=True)
        make(file.parent / name)
        with pytest.raises(FormatError, match=f"{name}: is a "):
            load(file.parent)
    (file.parent / name).unlink()
    assert Saved(tmp_path / "mine").step == 7


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    for name in ("file", "nowhere"):
        with pytest.raises(TargetExistsError, match=f"{name}: is not a directory"):
            Checkpoint(tmp_path / name, IDENTITY)
    with pytest.raises(InputNotFoundError, match="missing: no such directory"):
        Checkpoint(tmp_path / "missing" / "run", IDENTITY)


# When


def test_schedule() -> None:
    assert Schedule.parse("10") == Schedule.parse(10) == Schedule(10, None)
    assert Schedule.parse(" 30 s ") == Schedule(None, 30.0)
    assert Schedule.parse("1.5min") == Schedule(None, 90.0)
    assert Schedule.parse("2h") == Schedule(None, 7200.0)
    for wrong in ("", "0", "0s", "-1", "1.5", "s", "10x", "1e3", "ten"):
        with pytest.raises(OptionError, match=f"every: expected .* got {wrong!r}"):
            Schedule.parse(wrong, "every")


@pytest.mark.parametrize(
    ("schedule", "answers"),
    [
        (Schedule(), [False, False, False, False]),
        (Schedule(every_steps=5), [False, True, False, True]),
        (Schedule(every_seconds=60), [False, False, True, True]),
        (Schedule(5, 60), [False, True, True, True]),
    ],
)
def test_due(schedule: Schedule, answers: list[bool]) -> None:
    times = [(4, 59.9), (5, 0.0), (0, 60.0), (6, 61.0)]
    assert [schedule.due(*each) for each in times] == answers
