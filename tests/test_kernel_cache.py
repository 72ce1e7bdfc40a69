"""A cached kernel is compiled again if anything changes that was compiled into it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from penstock.kernel_cache import digest_of

HELPERS = """
import numpy as np
from penstock.jit import helper

STEP = 3
TABLE = np.array([1, 2])

@helper
def next_of(x):
    return x + STEP
"""
KERNELS = """
import helpers
from helpers import TABLE, next_of
from penstock.jit import kernel

@kernel
def walk(x):
    return next_of(x) + TABLE[1] + helpers.STEP
"""
RUN = "from kernels import walk; print(walk(10), sum(walk.stats.cache_hits.values()))"


def run(folder: Path) -> list[int]:
    """What the kernel returns, and how often it was found in the cache."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN], cwd=folder, capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "kernels.py").write_text(KERNELS)
    assert run(tmp_path) == [18, 0]
    assert run(tmp_path) == [18, 1]
    return tmp_path


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [("STEP = 3", "STEP = 5", 22), ("[1, 2]", "[1, 7]", 23), ("return x +", "return x -", 12)],
)
def test_what_other_files_change_is_seen(folder, before, after, found):
    (folder / "helpers.py").write_text(HELPERS.replace(before, after))
    assert run(folder) == [found, 0]
    assert run(folder) == [found, 1]


def test_a_kernel_that_cannot_be_kept_runs(folder):
    """Its index does not name what an older version has left."""
    (folder / "helpers.py").write_text(HELPERS.replace("STEP = 3", "STEP = 5"))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
    done = subprocess.run(
        [sys.executable, "-B", "-c", limit + RUN], cwd=folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["22", "0"]
    assert f"{folder}/__pycache__: compiled kernels cannot be kept here" in done.stderr
    assert run(folder) == [22, 0]
    assert run(folder) == [22, 1]


def test_what_was_not_compiled_in_changes_nothing(folder):
    (folder / "helpers.py").write_text("OTHER = 1\n" + HELPERS + "\n# A comment.\n")
    assert run(folder) == [18, 1]


CLOSURES = """
from helpers import next_of
from penstock.jit import helper, kernel

@helper
def double(x):
    return 2 * x

def made_of(step):
    @kernel
    def walk(x):
        return step(x) + 1
    return walk

one, other = made_of(next_of), made_of(double)

def walk(x):
    return 100 * one(x) + other(x)
"""


def test_kernels_of_one_text_around_other_functions(folder):
    (folder / "closures.py").write_text(CLOSURES)
    code = (
        "import closures as c; "
        "print(c.walk(10), *(sum(k.stats.cache_hits.values()) for k in (c.one, c.other)))"
    )
    for hits in ("0 0", "1 1"):
        done = subprocess.run(
            [sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert done.stdout.strip() == f"1421 {hits}"


STATES = """
from typing import NamedTuple
import numpy as np

class State(NamedTuple):
    first: np.ndarray
    second: np.ndarray

given = State(np.array([1]), np.array([2]))
"""
TAKES = """
from penstock.jit import kernel

@kernel
def take(state):
    return 10 * state.first[0] + state.second[0]
"""


def test_tuples_of_other_files(folder):
    """Fields count, and a class that is gone does not matter."""
    (folder / "takes.py").write_text(TAKES)
    (folder / "one.py").write_text(STATES)
    turned = STATES.replace("    first: np.ndarray\n", "") + "\n"
    turned = turned.replace("second: np.ndarray", "second: np.ndarray\n    first: np.ndarray")
    (folder / "other.py").write_text(turned)

    def run(module: str) -> list[int]:
        code = (
            f"from {module} import given; from takes import take; "
            "print(take(given), sum(take.stats.cache_hits.values()))"
        )
        done = subprocess.run(
            [sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return [int(word) for word in done.stdout.split()]

    assert [run("one"), run("other"), run("one"), run("other")] == [
        [12, 0], [21, 0], [12, 1], [21, 1],
    ]  # fmt: skip
    (folder / "one.py").unlink()
    assert run("other") == [21, 1]


def test_an_index_that_cannot_be_read_is_made_again(folder):
    (index,) = (folder / "__pycache__").glob("kernels.walk*.nbi")
    version = pickle.dumps(numba.__version__, protocol=-1)
    index.write_bytes(version + b"cno_such_module\nnothing\n.")
    assert run(folder) == [18, 0]
    assert run(folder) == [18, 1]


def test_a_digest_is_the_same_in_every_process():
    code = (
        "from penstock.kernel_cache import digest_of\n"
        "from penstock.dynamic import list_kernels as k\n"
        "print(*(digest_of(v.py_func) for v in vars(k).values() if hasattr(v, 'py_func')))"
    )
    runs = set()
    for seed in ("1", "2"):
        env = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        runs.add(done.stdout)
    assert len(runs) == 1
    assert len(runs.pop().split()) > 5
    assert digest_of(run) == digest_of(run)
