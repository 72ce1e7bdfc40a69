"""Bars are drawn on a terminal only."""

from __future__ import annotations

import io

import pytest

from penstock.interfaces.cli import _bars
from penstock.interfaces.cli._bars import Bars, Notes, describe_task, watching


@pytest.fixture
def drawing():
    from rich.console import Console
    from rich.progress import Progress

    screen = io.StringIO()
    with Progress(console=Console(file=screen, force_terminal=True, width=100)) as progress:
        yield progress


def test_no_terminal_no_bars(capsys):
    with watching() as progress:
        assert isinstance(progress, Notes)
        progress.start("reading", 10, "edges")
        progress.advance(10)
    assert capsys.readouterr() == ("", "")


def test_notes_are_lines(capsys):
    with watching() as progress:
        progress.note("worth knowing")
    assert capsys.readouterr().err == "penstock: worth knowing\n"


def test_a_new_stage_ends_the_one_before(drawing):
    bars = Bars(drawing)
    bars.start("one", 10, "edges")
    bars.advance(4)
    bars.start("two", None, "edges")
    bars.advance(7)
    bars.finish()
    one, two = drawing.tasks
    assert (one.description, one.finished, one.completed) == ("one", True, 10)
    assert (two.description, two.finished, two.completed) == ("two", True, 7)


def test_fewer_iterations_than_allowed_are_all_there_were(drawing):
    bars = Bars(drawing)
    bars.start("iterations", 100, "iterations")
    bars.advance(7)
    bars.finish()
    (task,) = drawing.tasks
    assert (task.finished, task.completed) == (True, 7)


def test_advancing_before_a_stage_is_harmless(drawing):
    bars = Bars(drawing)
    bars.advance(1)
    bars.finish()
    assert drawing.tasks == []


def test_drawn_on_a_terminal(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with watching(kernels=True) as progress:
        progress.start("counting", 5e6, "edges")
        progress.advance(2e6)
        progress.note("a note")
        progress.start("writing", None, "pages")
        progress.advance(3)
    text = screen.getvalue()
    for words in ("counting", "5.0 M edges", "a note", "writing", "3 pages"):
        assert words in text


def test_amounts():
    assert describe_task(0, 1e6, "bytes", None) == "0 B of 1.0 MB"
    assert describe_task(12_345, None, "pages", 10) == "12.3 k pages, 10 pages/s"


def test_compiling_is_announced_once(capsys):
    import numba

    with watching(kernels=True, announce=True):
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
    assert capsys.readouterr().err == f"penstock: {_bars.COMPILING}\n"
