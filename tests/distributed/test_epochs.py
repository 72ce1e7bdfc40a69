"""Ranks are lost, at any exchange of a run: the others go on, and the result has the same bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from losing import FragileHosts
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.distributed.losses import RankLostError
from penstock.engine import epoch_reader, epoch_writer
from penstock.engine.epoch_files import epoch_files
from penstock.errors import (
    CorruptionError,
    LockedError,
    OptionError,
    TargetExistsError,
    WorkerError,
)
from penstock.store.publish import take_lock

pytestmark = pytest.mark.usefixtures("scratch")
Call = Callable[..., Any]


def _halving(**more: Any) -> ps.Program:
    """A program with a field that is gathered, and one that only its owner has."""
    return ps.Program(
        state={"level": np.float64, "seen": np.int32},
        init=lambda vertex: (vertex.index * 1.0, 0),
        gather=lambda src, edge, dst: src.level * edge.weight,
        sum="add",
        identity=0.0,
        apply=lambda old, a: (0.5 * old.level + 1e-3 * a * old.given, old.seen + 1),
        totals={"level": lambda new, old: abs(new.level - old.level)},
        fixed={"given": np.float64},
        name="halving",
        **more,
    )


def _run_halving(g: ps.Graph, **options: Any) -> Any:
    given = {"given": np.linspace(0, 1, g.num_vertices)}
    return ps.run(g, _halving(), max_iter=3, params={"level": 0.0}, fields=given, **options)


CALLS: dict[str, Call] = {
    "pagerank": lambda g, **k: ps.pagerank(g, tol=0, max_iter=3, **k),
    "rwr": lambda g, **k: ps.rwr(g, [5, 8], tol=0, max_iter=2, **k),
    "bfs": lambda g, **k: ps.bfs(g, 5, **k),
    "bfs, streamed": lambda g, **k: ps.bfs(g, 5, load=False, **k),
    "sssp": lambda g, **k: ps.sssp(g, 5, cutoff=4, **k),
    "connected_components": lambda g, **k: ps.connected_components(g, **k),
    "components, streamed": lambda g, **k: ps.connected_components(g, load=False, **k),
    "heat": lambda g, **k: ps.heat(g, {3: 1.0}, max_iter=2, **k),
    "circuit": lambda g, **k: ps.circuit(g, {3: 1.0, 9: 0.0}, tol=0, max_iter=2, **k),
    "neural_network": lambda g, **k: ps.neural_network(g, {3: 1.0}, {4: 0.1}, max_iter=2, **k),
    "run": _run_halving,
}
#: Save after each step.
OFTEN = {"checkpoint_every": "1", "threads": 1}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("epochs"), directed=True)


def left(folder: Path) -> list[Path]:
    """The files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def assert_same(found: Any, expected: Any) -> None:
    """Two results are the same to the last bit."""
    for name in expected.columns if hasattr(expected, "columns") else ():
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(found.values, expected.values)
    if "parents" in expected._columns:
        np.testing.assert_array_equal(found.parents, expected.parents)
    if "seen" in expected._columns:
        np.testing.assert_array_equal(found.seen, expected.seen)


@pytest.mark.parametrize("name", CALLS)
def test_a_loss_at_every_exchange(graph: ps.Graph, name: str, scratch: Path) -> None:
    call = CALLS[name]
    expected = call(graph)
    whole = FragileHosts(3)
    assert_same(call(graph, hosts=whole, **OFTEN), expected)
    exchanges = whole.runs[0][0]
    assert exchanges > 8
    steps = set()
    for last in range(exchanges):
        hosts = FragileHosts(3, last, rank=last % 3, fewer=last % 4 - 1)
        found = call(graph, hosts=hosts, **OFTEN)
        assert_same(found, expected)
        if hosts.runs[0][last % 3] <= last:
            continue  # ranks ask each other for the time as often as it takes
        assert len(found.stats["losses"]) == 1
        assert found.stats["hosts"] == hosts.size
        steps.add(found.stats["epochs"]["resumed_after"])
    assert len(steps) > 1, "some went on from what was saved"
    assert left(scratch) == []


def test_several_losses_in_a_row(graph: ps.Graph) -> None:
    hosts = FragileHosts(4, 14, fewer=1, times=3)
    found = CALLS["pagerank"](graph, hosts=hosts, **OFTEN)
    assert_same(found, CALLS["pagerank"](graph))
    assert len(found.stats["losses"]) == 3
    assert found.stats["hosts"] == 1


def test_it_ends_after_some_attempts(graph: ps.Graph, tmp_path: Path) -> None:
    text = r"rank 1 is lost: .*it was tried 5 times; with checkpoint=FOLDER"
    with pytest.raises(WorkerError, match=text):
        CALLS["pagerank"](graph, hosts=FragileHosts(2, 3, times=9), **OFTEN)
    folder = tmp_path / "kept"
    with pytest.raises(WorkerError, match=r"resume=True \(--resume\) goes on from there"):
        CALLS["pagerank"](graph, hosts=FragileHosts(2, 16, times=9), checkpoint=folder, **OFTEN)
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(3), checkpoint=folder, resume=True)
    assert_same(found, CALLS["pagerank"](graph))
    assert found.stats["epochs"]["resumed_after"] > 0
    assert not folder.exists()


def test_an_error_of_the_program_is_not_tried_again(graph: ps.Graph) -> None:
    hosts = FragileHosts(2)
    with pytest.raises(OptionError, match="alpha"):
        ps.pagerank(graph, hosts=hosts, alpha=2)
    assert len(hosts.runs) == 1


def test_a_short_run_writes_nothing(graph: ps.Graph, scratch: Path) -> None:
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(2))
    assert "epochs" not in found.stats
    assert list(scratch.iterdir()) == []


def test_notes_say_what_happened(graph: ps.Graph) -> None:
    notes: list[str] = []

    class Progress:
        def start(self, stage: str, total: float | None, unit: str) -> None: ...
        def advance(self, amount: float) -> None: ...
        def note(self, text: str) -> None:
            notes.append(text)

    hosts = FragileHosts(3, 20, fewer=1)
    CALLS["pagerank"](graph, hosts=hosts, progress=Progress(), **OFTEN)
    assert notes[0] == (
        "rank 1 is lost: the test has ended it; going on from the last saved step with 2 ranks"
    )
    assert notes[1].startswith("went on after step ")


# A folder of the user's


def interrupt(graph: ps.Graph, folder: Path, name: str = "pagerank", size: int = 3) -> None:
    """Leave a checkpoint in a folder, as a run does that is not tried again."""
    whole = FragileHosts(size)
    CALLS[name](graph, hosts=whole, checkpoint=folder, overwrite=True, **OFTEN)
    for last in range(whole.runs[0][0] * 3 // 4, whole.runs[0][0]):
        hosts = FragileHosts(size, last)
        hosts.alive = False
        with pytest.raises(RankLostError):
            CALLS[name](graph, hosts=hosts, checkpoint=folder, overwrite=True, **OFTEN)
        names = [match for _, match in epoch_files(folder)]
        if len(names) == 3 * size and len({match[1] for match in names}) == 1:
            return
    raise AssertionError("no loss left one epoch, and that complete")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_going_on_with_other_ranks(graph: ps.Graph, tmp_path: Path, name: str, size: int) -> None:
    folder = tmp_path / "kept"
    interrupt(graph, folder, name)
    hosts = ThreadHosts(size)
    found = CALLS[name](graph, hosts=hosts, checkpoint=folder, resume=True, **OFTEN)
    assert_same(found, CALLS[name](graph))
    assert found.stats["epochs"]["resumed_after"] is not None
    assert not folder.exists()


def test_small_pieces(graph: ps.Graph, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(epoch_reader, "PIECE", 37)
    monkeypatch.setattr(epoch_writer, "COPY_BYTES", 501)
    for name in ("run", "bfs"):
        folder = tmp_path / name
        interrupt(graph, folder, name)
        found = CALLS[name](graph, hosts=ThreadHosts(2), checkpoint=folder, resume=True)
        assert_same(found, CALLS[name](graph))


def test_an_unfinished_run_is_not_overwritten(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    interrupt(graph, folder)
    with pytest.raises(TargetExistsError, match="over 3 hosts, which did not finish"):
        CALLS["pagerank"](graph, hosts=ThreadHosts(2), checkpoint=folder)
    with pytest.raises(OptionError, match="was saved by a run over hosts"):
        CALLS["pagerank"](graph, checkpoint=folder, resume=True)
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(2), checkpoint=folder, overwrite=True)
    assert_same(found, CALLS["pagerank"](graph))
    assert "epochs" not in found.stats
    assert not folder.exists()


def test_another_run_is_refused(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    interrupt(graph, folder)
    given = {"hosts": ThreadHosts(2), "checkpoint": folder, "resume": True}
    with pytest.raises(OptionError, match=r"parameter alpha 0\.85; this run has .* 0\.5"):
        ps.pagerank(graph, alpha=0.5, tol=0, max_iter=3, **given)
    with pytest.raises(OptionError, match="this run has"):
        ps.bfs(graph, 5, **given)


def test_given_values_are_compared(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    interrupt(graph, folder, "run")
    other = {"given": np.linspace(0, 2, graph.num_vertices)}
    with pytest.raises(OptionError, match="field given"):
        ps.run(
            graph, _halving(), max_iter=3, params={"level": 0.0}, fields=other,
            hosts=ThreadHosts(2), checkpoint=folder, resume=True,
        )  # fmt: skip


def test_a_folder_in_use_is_refused(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    lock = folder / "rank-0.beef-1.1.lock"
    held = take_lock(lock, folder)
    assert held
    with pytest.raises(LockedError, match="another run is using this checkpoint folder"):
        CALLS["pagerank"](graph, hosts=ThreadHosts(2), checkpoint=folder)


def test_a_checkpoint_without_hosts_is_left_alone(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "state.checkpoint").write_bytes(b"of one machine")
    with pytest.raises(OptionError, match="was saved by a run without hosts"):
        CALLS["pagerank"](graph, hosts=ThreadHosts(2), checkpoint=folder, resume=True)
    assert (folder / "state.checkpoint").exists()


# Damage


def parts_of(folder: Path, part: int) -> list[Path]:
    """The files that have a part: the rank's own first."""
    found = [path for path, match in epoch_files(folder) if match[3] == str(part)]
    return sorted(found, key=lambda path: not path.name.endswith(f".by-{part}"))


def flip(path: Path, where: float) -> None:
    """Change one bit."""
    data = bytearray(path.read_bytes())
    data[int(where * (len(data) - 1))] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("where", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_the_copy_of_a_damaged_part_is_used(graph: ps.Graph, tmp_path: Path, where: float) -> None:
    folder = tmp_path / "kept"
    interrupt(graph, folder)
    for part in range(3):
        flip(parts_of(folder, part)[part % 2], where)
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(2), checkpoint=folder, resume=True)
    assert_same(found, CALLS["pagerank"](graph))
    notes = found.stats["epochs"]["notes"]
    assert sum("is damaged, and was not used" in note for note in notes) >= 1


def test_a_missing_part_has_a_copy(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    interrupt(graph, folder)
    for path in folder.iterdir():  # a host is gone with all it had
        if path.name.endswith(".by-1"):
            path.unlink()
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(2), checkpoint=folder, resume=True)
    assert_same(found, CALLS["pagerank"](graph))
    assert found.stats["epochs"]["resumed_after"] is not None


def test_a_part_that_is_nowhere_is_an_error(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    interrupt(graph, folder)
    kept = {path: path.read_bytes() for path in left(folder)}
    for path in parts_of(folder, 2):
        path.unlink()
    given = {"hosts": ThreadHosts(2), "checkpoint": folder, "resume": True}
    with pytest.raises(CorruptionError, match="part 2 of 3 is on none of the hosts that are here"):
        CALLS["pagerank"](graph, **given)
    for path, data in kept.items():
        path.write_bytes(data)
    for path in parts_of(folder, 2):
        flip(path, 0.5)
    with pytest.raises(CorruptionError, match="part 2 of 3 is damaged, and no copy is here"):
        CALLS["pagerank"](graph, **given)


def test_a_lost_scratch_folder_costs_time_only(graph: ps.Graph, scratch: Path) -> None:
    hosts = FragileHosts(3, 24, fewer=1)

    def remove_parts() -> None:
        for path in left(scratch):
            if ".part-0." in path.name:
                path.unlink()

    hosts.before_recovery = remove_parts
    found = CALLS["pagerank"](graph, hosts=hosts, **OFTEN)
    assert_same(found, CALLS["pagerank"](graph))
    assert found.stats["epochs"]["resumed_after"] is None
    assert "the run began again" in "".join(found.stats["epochs"]["notes"])
    assert left(scratch) == []


def test_a_newer_epoch_of_a_rank_that_had_gone_ahead(graph: ps.Graph, tmp_path: Path) -> None:
    """A manifest on one rank is enough, if all parts are there."""
    folder = tmp_path / "kept"
    interrupt(graph, folder)
    for path in folder.iterdir():
        if ".manifest." in path.name and not path.name.endswith(".by-2"):
            path.unlink()
    found = CALLS["pagerank"](graph, hosts=ThreadHosts(2), checkpoint=folder, resume=True)
    assert_same(found, CALLS["pagerank"](graph))
    assert found.stats["epochs"]["resumed_after"] is not None
