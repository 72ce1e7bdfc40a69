"""Progress on a terminal: one bar for each stage, with rate and time left.

Nothing is drawn if stderr is not a terminal; notes are still written, one line each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from penstock.config import format_bytes
from penstock.progress import Progress, Silent

if TYPE_CHECKING:
    import rich.progress

#: What is said when Numba compiles; its work is kept on disk for the next time.
COMPILING = "compiling kernels (first run only; they are kept for the next one)"


def format_amount(amount: float, unit: str) -> str:
    """An amount with its unit, short.

    >>> format_amount(4_194_304, "edges"), format_amount(4_194_304, "bytes")
    ('4.2 M edges', '4.2 MB')
    """
    if unit == "bytes":
        return format_bytes(amount)
    for limit, letter in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if amount >= limit:
            scaled = amount / (1e3 if letter == " k" else limit)
            return f"{scaled:.1f}{letter} {unit}"
    return f"{amount:.0f} {unit}"


def describe_task(completed: float, total: float | None, unit: str, speed: float | None) -> str:
    """How far a stage is and how fast it goes.

    >>> describe_task(2e6, 4e6, "edges", 1e6)
    '2.0 M of 4.0 M edges, 1.0 M edges/s'
    """
    text = format_amount(completed, unit)
    if total is not None and total != completed:
        text = f"{text.removesuffix(unit).rstrip()} of {format_amount(total, unit)}"
    return text + (f", {format_amount(speed, unit)}/s" if speed else "")


class Bars:
    """Draws each stage as a bar; a stage that has ended stays on the screen, marked as done."""

    def __init__(self, drawing: rich.progress.Progress) -> None:
        self._drawing = drawing
        self._task: Any = None

    def start(self, stage: str, total: float | None, unit: str) -> None:
        """End the bar there is and begin another."""
        self.finish()
        self._task = self._drawing.add_task(stage, total=total, unit=unit)

    def advance(self, amount: float) -> None:
        """Move the current bar."""
        if self._task is not None:
            self._drawing.advance(self._task, amount)

    def note(self, text: str) -> None:
        """Print a line above the bars."""
        self._drawing.console.print(text, style="dim", markup=False, highlight=False)

    def finish(self) -> None:
        """Mark the current bar as done."""
        if self._task is None:
            return
        task = next(t for t in self._drawing.tasks if t.id == self._task)
        # Iterations have a limit, which need not be reached; other totals are all there is to do.
        limited = task.fields.get("unit") == "iterations"
        done = max(task.completed, 0 if limited else task.total or 0) or 1
        self._drawing.update(self._task, total=done, completed=done)
        self._drawing.stop_task(self._task)
        self._task = None


class Notes(Silent):
    """No bars; notes as lines."""

    def note(self, text: str) -> None:
        """Print a line."""
        print(f"penstock: {text}", file=sys.stderr)


@contextmanager
def watching(*, kernels: bool = False, announce: bool = False) -> Iterator[Progress]:
    """Something to report progress to, drawn until the end of the block.

    ``kernels`` says that the work may compile some: then the user is told when it does, without a
    terminal only if ``announce`` is set.
    """
    with ExitStack() as stack:
        progress: Progress = Notes()
        if sys.stderr.isatty():
            progress = stack.enter_context(_drawn())
        if kernels and (announce or not isinstance(progress, Notes)):
            stack.enter_context(_when_compiling(progress.note))
        yield progress


@contextmanager
def _drawn() -> Iterator[Bars]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Details(ProgressColumn):
        """Amount, rate, and the time left (or taken, when the stage is done)."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            text = describe_task(task.completed, task.total, task.fields["unit"], speed)
            left = task.time_remaining
            if task.finished:
                text += f", {task.finished_time or task.elapsed or 0:.1f} s"
            elif left is not None:
                text += f", {_clock(left)} left"
            return Text(text, style="dim")

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), Details())
    drawing = Progress(*columns, console=Console(stderr=True))
    with drawing:
        bars = Bars(drawing)
        yield bars
        bars.finish()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def _when_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Call ``tell`` once if Numba begins to compile something."""
    from numba.core import event

    class Listener(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                tell(COMPILING)

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield
