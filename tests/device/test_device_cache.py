"""Compiled kernels are kept for other processes, and never stale."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from penstock.device import generated

BEGINNING = """
import sys
import numpy as np
import penstock as ps
from helping import scaled

FACTOR = 3.0


def gather(src, edge, dst):
    return scaled(src.x) * FACTOR


program = ps.Program(
    state={"x": np.float64}, init=lambda vertex: 1.0, gather=gather, sum="add", identity=0.0,
    apply=lambda old, a: a,
)
graph = ps.from_edges([0, 1], [1, 0])
print(ps.run(graph, program, max_iter=1).values[0])
"""
OF_A_MODEL = """
print(ps.gimv(graph, lambda m, v: scaled(m * v), "add", lambda v, a: v + a, vector=1.0,
              max_iter=1).values[0])
"""
END = """
kernels = [each for name, module in sys.modules.items() if name.startswith("penstock_program_")
           for each in (module.init, module.pull)]
print(sum(sum(k.stats.cache_hits.values()) for k in kernels),
      sum(sum(k.stats.cache_misses.values()) for k in kernels))
print(sorted(module.__file__ for name, module in sys.modules.items()
             if name.startswith("penstock_program_")))
"""
SCRIPT = BEGINNING + OF_A_MODEL + END
HELPING = "def scaled(x):\n    return x * 2.0\n"


class Session:
    """A folder with a user's script, run in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        (folder / "script.py").write_text(SCRIPT)
        (folder / "helping.py").write_text(HELPING)

    def run(self, cache: Path | None = None) -> list[str]:
        """What the script prints: its values, hits and misses, and where the kernels were."""
        environment = {
            **os.environ,
            "PENSTOCK_CACHE_DIR": str(cache or self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment.pop("NUMBA_CACHE_DIR", None)
        done = subprocess.run(
            [sys.executable, "-W", "error", "script.py"],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def files(self) -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in self.cache.rglob("*") if path.is_file()}


def test_a_second_process_compiles_nothing_and_an_edited_one_gives_new_results(tmp_path):
    session = Session(tmp_path)
    first = session.run()
    assert first[:3] == ["6.0", "3.0", "0 4"]
    kept = session.files()
    assert {path.suffix for path in kept} == {".py", ".nbi", ".nbc"}
    assert all(path.is_relative_to(session.cache) for path in kept)
    second = session.run()
    assert second[:3] == ["6.0", "3.0", "4 0"]
    assert session.files() == kept
    # A constant, and a helper in another file.
    (tmp_path / "script.py").write_text(SCRIPT.replace("FACTOR = 3.0", "FACTOR = 5.0"))
    (tmp_path / "helping.py").write_text(HELPING.replace("2.0", "7.0"))
    assert session.run()[:3] == ["35.0", "8.0", "0 4"]


def test_a_folder_that_takes_nothing_is_replaced_by_a_private_one(tmp_path):
    session = Session(tmp_path)
    (tmp_path / "script.py").write_text(BEGINNING + END)
    (tmp_path / "taken").write_text("")
    said = session.run(tmp_path / "taken" / "below")
    assert said[:2] == ["6.0", "0 2"]
    assert "penstock-" in said[2]
    assert not Path(eval(said[2])[0]).exists()  # gone with the process


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path, monkeypatch):
    """What they put there would be run."""
    monkeypatch.setattr(generated, "_private_folder", lambda: tmp_path / "private")
    (tmp_path / "private").mkdir()

    def where(value: int) -> Path:
        module = generated.module_of(f"value = {value}\n", tmp_path / "cache")
        assert module.value == value
        return Path(module.__file__).parent

    kept = tmp_path / "cache" / "kernels"
    umask = os.umask(0)
    try:
        assert where(1) == kept
    finally:
        os.umask(umask)
    assert kept.stat().st_mode & 0o777 == 0o700
    for mode in (0o770, 0o707, 0o777):
        kept.chmod(mode)
        with pytest.warns(UserWarning, match="kernels: is not used .* others may write to it"):
            assert where(mode) == tmp_path / "private"
    kept.chmod(0o755)
    assert where(2) == kept
    kept.rename(tmp_path / "away")
    kept.symlink_to(tmp_path / "away")
    with pytest.warns(UserWarning, match="others may write"):
        assert where(3) == tmp_path / "private"
    assert generated._is_private(tmp_path / "away")
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / "away").stat().st_uid + 1)
    assert not generated._is_private(tmp_path / "away")


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("PENSTOCK_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert generated.cache_folder() == tmp_path / "xdg" / "penstock"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert generated.cache_folder() == tmp_path / ".cache" / "penstock"
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "asked"))
    assert generated.cache_folder() == tmp_path / "asked"


@pytest.mark.parametrize("there", ["", "something else"])
def test_a_damaged_file_is_written_again(tmp_path, there):
    text = textwrap.dedent("größe = 1\n")
    path = generated._written(text, "penstock_program_test", tmp_path)
    assert path is not None
    path.write_text(there, "utf-8")
    assert generated._written(text, "penstock_program_test", tmp_path) == path
    assert path.read_text("utf-8") == text
    assert list(tmp_path.iterdir()) == [path]
