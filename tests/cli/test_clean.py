"""``penstock clean``: what dead runs left is listed and removed, what is in use stays."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from penstock.interfaces.cli.main import run
from penstock.store.publish import drop_lock, take_lock

OLD = 1_600_000_000


def make_epoch(folder: Path) -> Path:
    """Files as a dead run leaves them, written long ago."""
    folder.mkdir(parents=True)
    for name in ("part-0.by-0", "part-0.by-1", "manifest.by-0", "part-1.by-1.saving"):
        path = folder / f"epoch-000007-1f5e.{name}"
        path.write_bytes(b"x" * 100)
        os.utime(path, (OLD, OLD))
    (folder / "rank-0.beef-1f5e.7.lock").write_text("7")
    os.utime(folder / "rank-0.beef-1f5e.7.lock", (OLD, OLD))
    os.utime(folder, (OLD, OLD))
    return folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.setenv("PENSTOCK_SCRATCH", str(tmp_path))
    return tmp_path / f"penstock-{os.getuid()}"


def listed(capsys: Any, *args: Any) -> list[dict[str, Any]]:
    """What the command finds."""
    assert run(["clean", *map(str, args), "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["found"]
    return found


def test_nothing(root: Path, capsys: Any) -> None:
    assert run(["clean"]) == 0
    assert capsys.readouterr().out == "nothing was left\n"


def test_a_dead_job_is_listed_and_removed(root: Path, capsys: Any) -> None:
    job = make_epoch(root / "beef")
    (found,) = listed(capsys)
    assert found["path"] == str(job)
    assert found["bytes"] >= 400
    assert found["age_seconds"] > 1e6
    assert not found["live"]
    assert not found["removed"]
    assert job.exists()
    assert run(["clean"]) == 0
    assert "--yes removes them" in capsys.readouterr().out
    (found,) = listed(capsys, "--yes")
    assert found["removed"]
    assert not job.exists()


def test_a_live_job_stays(root: Path, capsys: Any) -> None:
    job = make_epoch(root / "beef")
    fd = take_lock(job / "rank-0.beef-1f5e.7.lock", job)
    os.utime(job / "rank-0.beef-1f5e.7.lock", (OLD, OLD))
    os.utime(job, (OLD, OLD))
    (found,) = listed(capsys, "--yes")
    assert found["live"]
    assert not found["removed"]
    os.close(fd)
    (found,) = listed(capsys, "--yes")
    assert found["removed"]


def test_a_young_job_stays(root: Path, capsys: Any) -> None:
    job = make_epoch(root / "beef")
    (job / "epoch-000008-1f5e.part-0.by-0").write_bytes(b"x")
    (found,) = listed(capsys, "--yes")
    assert found["live"]
    (found,) = listed(capsys, "--yes", "--older-than", "0s")
    assert found["removed"]


def test_a_checkpoint_folder_is_looked_at_if_named(root: Path, tmp_path: Path, capsys: Any) -> None:
    folder = make_epoch(tmp_path / "kept")
    (folder / "notes.txt").write_text("of the user's")
    hidden = tmp_path / ".web.penstock.dealing"
    hidden.mkdir()
    os.utime(hidden, (OLD, OLD))
    assert listed(capsys) == []
    found = listed(capsys, folder, tmp_path, "--yes")
    assert {each["kind"] for each in found} == {"checkpoint", "unfinished deal"}
    assert all(each["removed"] for each in found)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert not hidden.exists()


def make_old(folder: Path) -> Path:
    """A folder with a file, both written long ago."""
    folder.mkdir()
    (folder / "part-00000.parquet").write_bytes(b"x" * 100)
    os.utime(folder / "part-00000.parquet", (OLD, OLD))
    os.utime(folder, (OLD, OLD))
    return folder


def test_a_deal_that_goes_on_stays(root: Path, tmp_path: Path, capsys: Any) -> None:
    hidden = make_old(tmp_path / ".web.penstock.dealing")
    lock = tmp_path / ".web.penstock.lock"
    fd = take_lock(lock, tmp_path / "web.penstock")
    (found,) = listed(capsys, tmp_path, "--yes")
    assert (found["live"], found["removed"]) == (True, False)
    drop_lock(fd, lock)
    (found,) = listed(capsys, tmp_path, "--yes")
    assert found["removed"]
    assert not hidden.exists()
    assert not lock.exists()


def test_a_result_that_was_not_written_to_the_end(root: Path, tmp_path: Path, capsys: Any) -> None:
    from penstock.distributed import result_parts

    target = result_parts.Target(tmp_path / "ranks", "ab" * 12, "ab" * 4, overwrite=False)
    hidden = make_old(target.hidden)
    others = [make_old(tmp_path / name) for name in (".ranks.writing.mine", "ranks.writing.12")]
    result_parts._hold(hidden, 7)
    (found,) = listed(capsys, tmp_path, "--yes")
    assert (found["kind"], found["live"], found["removed"]) == ("unfinished result", True, False)
    result_parts.let_go(7)
    (found,) = listed(capsys, tmp_path, "--yes")
    assert found["removed"]
    assert not hidden.exists()
    assert all(each.exists() for each in others)


def test_a_rank_holds_the_result_that_it_writes(root: Path, tmp_path: Path, capsys: Any) -> None:
    """While a part is being written, and until the next call."""
    from penstock.distributed import result_parts

    class Table:
        def __len__(self) -> int:
            return 1

        def to_parquet(self, path: Path) -> None:
            path.write_bytes(b"x")
            self.live = listed(capsys, tmp_path, "--yes", "--older-than", "0s")[0]["live"]

    table = Table()
    target = result_parts.Target(tmp_path / "ranks", "cd" * 12, "cd" * 4, overwrite=False)
    result_parts.write_part(target, 5, table)  # type: ignore[arg-type]
    assert table.live
    (found,) = listed(capsys, tmp_path, "--yes", "--older-than", "0s")
    assert (found["live"], found["removed"]) == (True, False)
    result_parts.let_go(5)
    (found,) = listed(capsys, tmp_path, "--yes", "--older-than", "0s")
    assert found["removed"]


def test_hosts_are_asked(root: Path, capsys: Any) -> None:
    pytest.importorskip("distributed")
    job = make_epoch(root / "beef")
    (found,) = listed(capsys, "--hosts", 2, "--yes")
    assert found["removed"]
    assert not job.exists()


def test_certificates_without_hosts_are_refused(root: Path, capsys: Any) -> None:
    assert run(["clean", "--insecure"]) == 2
    assert "insecure: is for several hosts" in capsys.readouterr().err


def test_a_wrong_time_is_refused(root: Path, capsys: Any) -> None:
    assert run(["clean", "--older-than", "7"]) == 2
    assert "older-than: expected a time" in capsys.readouterr().err
