"""Interrupted runs go on where they were, and come to the same values."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from engine_making import budgets, build, distances, labels, run, values
from engine_programs import heat_program, label_program, path_program, rank_program

import penstock as ps
from penstock.engine.checkpoint import FILE_NAME, Checkpoint, Schedule
from penstock.engine.checkpoint_file import Saved
from penstock.errors import DiskSpaceError, LockedError, OptionError
from penstock.progress import Silent
from penstock.store.graph import Graph

EVERY_STEP = Schedule(every_steps=1)


class StopError(Exception):
    """Somebody stops the run."""


class StopAfter(Silent):
    """Raises when so many steps are done."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def advance(self, amount: float) -> None:
        self.left -= 1
        if self.left == 0:
            raise StopError


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("resume") / "g", weighted=True)


def broken_off(
    graph: Graph, program: Any, folder: Path, steps: int, how: Any, **given: Any
) -> None:
    """Run until ``steps`` are done; the last of them was not saved."""
    how = {"checkpoint": folder, "checkpoint_every": EVERY_STEP, **how}
    with pytest.raises(StopError):
        run(graph, program, how={**how, "progress": StopAfter(steps)}, **given)
    saved = Saved(folder / FILE_NAME)
    assert saved.step == steps - 1
    saved.close()


@pytest.mark.parametrize("tier", ["resident", "memory", "streamed", "ranges"])
def test_the_same_bits_in_every_tier(graph: Graph, tmp_path: Path, tier: str) -> None:
    program = rank_program()
    how: dict[str, Any] = {}
    if tier != "resident":
        how = {"memory": budgets(graph, program)[tier], "load": False}
    expected = run(graph, program, max_iter=7, how=how)
    for steps in (2, 6):
        broken_off(graph, program, tmp_path / "c", steps, how, max_iter=7)
        again = run(
            graph, program, max_iter=7, how={**how, "checkpoint": tmp_path / "c", "resume": True}
        )
        assert (again.values["rank"] == expected.values["rank"]).all()
        assert (again.totals, again.iterations) == (expected.totals, 7)
        assert len(again.engine.metrics.rows) == 8 - steps
        assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("strategy", ["auto", "pull", "notify-pull", "push"])
@pytest.mark.parametrize("how", [{}, {"load": False}])
def test_programs_with_activate(graph: Graph, tmp_path: Path, strategy: Any, how: Any) -> None:
    program = heat_program()
    expected = run(graph, program, strategy=strategy, how=how)
    for steps in (2, expected.iterations - 1):
        broken_off(graph, program, tmp_path / "c", steps, how, strategy=strategy)
        more = {**how, "checkpoint": tmp_path / "c", "resume": True}
        again = run(graph, program, strategy=strategy, how=more)
        assert (again.values["heat"] == expected.values["heat"]).all()
        assert again.iterations == expected.iterations


def test_a_run_that_had_converged_does_nothing_more(graph: Graph, tmp_path: Path) -> None:
    def until(totals: Any) -> bool:
        return bool(totals["change"] < 1e-3)

    expected = run(graph, rank_program(), until=until)
    how = {"checkpoint": tmp_path / "c", "checkpoint_every": EVERY_STEP}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "clear", lambda self: None)
        run(graph, rank_program(), until=until, how=how)
    again = run(graph, rank_program(), until=until, how={**how, "resume": True})
    assert again.converged
    assert again.engine.metrics.rows == []
    assert again.totals == expected.totals
    assert (again.values["rank"] == expected.values["rank"]).all()


def test_what_another_run_left_is_refused(graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    start = np.array([3], np.uint32)
    given: dict[str, Any] = {"params": {"source": 7}, "start": start}
    broken_off(graph, path_program(), folder, 2, {}, **given)
    before = (folder / FILE_NAME).read_bytes()
    how = {"checkpoint": folder, "resume": True}
    other = build(tmp_path / "other", weighted=True, directed=False)
    with pytest.raises(OptionError, match="made for graph"):
        run(other, path_program(), how=how, **given)
    with pytest.raises(OptionError, match="made for program"):
        run(graph, rank_program(), how=how)
    with pytest.raises(OptionError, match=r"made for parameter source 7; this run has .* source 8"):
        run(graph, path_program(), how=how, params={"source": 8}, start=start)
    with pytest.raises(OptionError, match="made for start"):
        run(graph, path_program(), how=how, params={"source": 7}, start=start + np.uint32(1))
    with pytest.raises(OptionError, match="made for mode sync"):
        run(graph, path_program(), how=how, mode="async", **given)
    assert (folder / FILE_NAME).read_bytes() == before
    found = values(graph, path_program(), how=how, **given)
    assert (found == values(graph, path_program(), **given)).all()


def test_two_runs_on_one_folder(graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "c"

    class Second(Silent):
        def advance(self, amount: float) -> None:
            with pytest.raises(LockedError, match="another run is using"):
                run(graph, rank_program(), how={"checkpoint": folder})

    run(graph, rank_program(), max_iter=2, how={"checkpoint": folder, "progress": Second()})


def test_a_full_disk_keeps_the_last_checkpoint(graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    expected = values(graph, rank_program(), max_iter=6)
    true_save, saves = Checkpoint.save, []

    def save(self: Checkpoint, step: int, *args: Any) -> None:
        saves.append(step)
        if step == 4:
            patch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=0))
        true_save(self, step, *args)

    how = {"checkpoint": folder, "checkpoint_every": EVERY_STEP}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        with pytest.raises(DiskSpaceError, match="which is kept"):
            run(graph, rank_program(), max_iter=6, how=how)
    assert saves == [1, 2, 3, 4]
    again = run(graph, rank_program(), max_iter=6, how={**how, "resume": True})
    assert (again.values["rank"] == expected).all()
    assert len(again.engine.metrics.rows) == 3


# Within an iteration


def saved_places(graph: Graph, folder: Path, how: Any, program: Any, **given: Any) -> list[Any]:
    """The step and page of each checkpoint that an undisturbed run makes."""
    places, true_save = [], Checkpoint.save

    def save(self: Checkpoint, step: int, arrays: Any, extra: Any) -> None:
        places.append((step, extra["page"]))
        true_save(self, step, arrays, extra)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        run(graph, program, how={**how, "checkpoint": folder}, **given)
    return places


@pytest.mark.parametrize("load", [False, True])
def test_asynchronous_runs_save_within_an_iteration(
    graph: Graph, tmp_path: Path, load: Any
) -> None:
    how = {"load": load, "checkpoint_every": Schedule.parse("5p")}
    places = saved_places(
        graph, tmp_path / "c", how, label_program(), mode="async", strategy="pull"
    )
    pages = len(graph.page_table("in"))
    inside = [page for step, page in places if step == 0]
    assert len(inside) >= 2
    assert all(0 < page < pages for page in inside)
    # A synchronous run saves after iterations only.
    places = saved_places(graph, tmp_path / "c", how, label_program(), strategy="pull")
    assert {page for _, page in places} == {0}
    assert len(places) >= 2


@pytest.mark.parametrize("load", [False, True])
@pytest.mark.parametrize("at", [1, 2, 4])
def test_asynchronous_runs_go_on_within_an_iteration(
    graph: Graph, tmp_path: Path, load: Any, at: int
) -> None:
    folder, true_save, saves = tmp_path / "c", Checkpoint.save, []

    def save(self: Checkpoint, step: int, arrays: Any, extra: Any) -> None:
        true_save(self, step, arrays, extra)
        saves.append((step, extra["page"]))
        if len(saves) == at:
            raise StopError

    how = {"load": load, "checkpoint": folder, "checkpoint_every": Schedule.parse("4p")}
    given: dict[str, Any] = {"mode": "async", "strategy": "pull", "params": {"source": 7}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        with pytest.raises(StopError):
            run(graph, path_program(), how=how, **given)
    # With another way to hold the lists, and another schedule.
    how = {"load": not load, "checkpoint": folder, "checkpoint_every": Schedule.parse("7p")}
    again = run(graph, path_program(), how={**how, "resume": True}, **given)
    assert (again.values["distance"] == distances(graph, 7)).all()
    first = again.engine.metrics.rows[0]
    pages = len(graph.page_table("in"))
    if saves[-1][1]:
        assert first["edges"] < graph.num_edges
    assert again.iterations >= saves[-1][0]
    assert pages > 10


def test_totals_of_an_iteration_in_parts(graph: Graph, tmp_path: Path) -> None:
    how = {"load": False, "checkpoint": tmp_path / "c", "checkpoint_every": Schedule.parse("3p")}
    found = run(graph, rank_program(), mode="async", max_iter=3, how=how)
    lost = found.values["rank"][graph.degrees("out") == 0].sum()
    assert found.totals["lost"] == pytest.approx(lost, rel=1e-9)


# Signals

SCRIPT = """
import os, sys, time
sys.path[:0] = {path!r}
import penstock as ps
from engine_programs import rank_program
from penstock.progress import Silent

class Slow(Silent):
    steps = 0

    def advance(self, amount):
        self.steps += 1
        print("step", flush=True)
        time.sleep(0.01)
        while self.steps >= 20 and os.path.exists({hold!r}):
            time.sleep(0.01)  # never done before the signal is sent

result = ps.run(
    ps.open({graph!r}), rank_program(), max_iter=25, checkpoint={folder!r},
    checkpoint_every={every!r}, resume=True, load={load!r}, progress=Slow(), threads=2,
)
import numpy as np
np.save({out!r}, result.values)
"""


def start(graph: Graph, tmp_path: Path, *, load: bool, every: int) -> subprocess.Popen[str]:
    text = SCRIPT.format(
        path=[str(Path(__file__).parent), *(p for p in sys.path if p.endswith("src"))],
        graph=str(graph.path), folder=str(tmp_path / "c"), load=load, every=every,
        hold=str(tmp_path / "hold"), out=str(tmp_path / "out.npy"),
    )  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells make background jobs ignore interrupts, and so they would be here.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.parametrize(
    ("number", "load"), [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGKILL, False)]
)
def test_signals_at_any_moment(
    graph: Graph, tmp_path: Path, number: signal.Signals, load: Any
) -> None:
    rng = random.Random(int(number))
    expected = ps.run(graph, rank_program(), max_iter=25).values
    out, hold = tmp_path / "out.npy", tmp_path / "hold"
    hold.touch()
    # Only a signal that can be caught leaves a checkpoint that was not due.
    every = 2 if number == signal.SIGKILL else 1000
    for last in (False, True):
        process = start(graph, tmp_path, load=load, every=every)
        if not last:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(rng.random() * 0.2)
            process.send_signal(number)
            hold.unlink()
        _, errors = process.communicate(timeout=120)
        if not last:
            assert process.returncode != 0, errors
            if number != signal.SIGKILL:  # these leave one
                assert (tmp_path / "c" / FILE_NAME).exists(), errors
            assert not out.exists()
    assert process.returncode == 0, errors
    assert (np.load(out) == expected).all()
    assert not (tmp_path / "c").exists()


def test_labels_are_what_they_should_be(graph: Graph, tmp_path: Path) -> None:
    how = {"checkpoint": tmp_path / "c", "checkpoint_every": EVERY_STEP}
    assert (values(graph, label_program(), how=how) == labels(graph)).all()
    assert not (tmp_path / "c").exists()
