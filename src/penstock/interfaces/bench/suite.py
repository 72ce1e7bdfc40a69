"""A suite of experiments: run them, write rows and pictures, and say what came out as tables.

An experiment is a function from a workbench to rows; a row is a dict of plain values. Pictures and
tables are made from rows alone.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from penstock.drawing.style import check_drawing
from penstock.errors import AccessError, OptionError
from penstock.files import check_target, unfinished
from penstock.version import __version__

#: The file with the rows of all experiments.
RESULTS = "results.json"

Row = dict[str, Any]
Cells = tuple[str, ...]
Draw = Callable[[list[Row], Path], None]


class Bench(Protocol):
    """What a suite wants of its workbench."""

    folder: Path

    def within(self: B, folder: Path) -> B:
        """The same with graphs in another folder, which is there."""
        ...

    def warm(self) -> None:
        """Run everything once: compiling is not what is measured."""
        ...

    def facts(self) -> Row:
        """What was run on."""
        ...


B = TypeVar("B", bound=Bench)


@dataclass(frozen=True)
class Experiment(Generic[B]):
    """An experiment: how it is run, and how its rows are shown."""

    heading: str
    run: Callable[[B], list[Row]]
    #: The first row has the heads of the columns.
    table: Callable[[list[Row]], list[Cells]]
    #: How each picture is drawn, by the name of its file.
    pictures: Mapping[str, Draw]


@dataclass(frozen=True)
class Suite(Generic[B]):
    """Experiments of a paper, in the order of its figures."""

    name: str
    #: What was run on in one line, from the facts of the workbench.
    headline: Callable[[Row], str]
    experiments: Mapping[str, Experiment[B]]

    def chosen(self, names: str | None) -> list[str]:
        """The experiments of a list such as ``"pages,cache"``, in their own order; None: all."""
        wanted = [name.strip() for name in (names or ",".join(self.experiments)).split(",")]
        for name in wanted:
            if name not in self.experiments:
                raise OptionError(
                    f"experiments: there is no {name!r}; there are {', '.join(self.experiments)}"
                )
        return [name for name in self.experiments if name in wanted]

    def run(
        self,
        bench: B,
        names: Sequence[str],
        suffix: str | None = ".png",
        *,
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Run experiments; pictures and ``results.json`` go to the workbench's folder.

        Graphs are made in a hidden folder there, which goes away. What an experiment found is
        written when it ends, whatever becomes of the next one. ``suffix`` says which kind of
        pictures; None: none. Files of an earlier run are replaced only if ``overwrite``.
        """
        out = bench.folder
        if suffix is not None:
            check_drawing(f"any{suffix}")
        try:
            out.mkdir(parents=True, exist_ok=True)
            pictures = [p for name in names for p in self.experiments[name].pictures]
            check_target(out / RESULTS, overwrite=overwrite)
            for picture in pictures if suffix else ():
                check_target(out / f"{picture}{suffix}", overwrite=overwrite)
            with tempfile.TemporaryDirectory(prefix=".graphs-", dir=out) as folder:
                inside = bench.within(Path(folder))
                inside.warm()
                data: dict[str, Any] = {
                    "suite": self.name, "version": __version__, **inside.facts(),
                    "experiments": {}, "pictures": {}, "results": str(out / RESULTS),
                }  # fmt: skip
                for name in names:
                    experiment = self.experiments[name]
                    rows = data["experiments"][name] = experiment.run(inside)
                    for picture, draw in experiment.pictures.items() if suffix else ():
                        path = out / f"{picture}{suffix}"
                        draw(rows, path)
                        data["pictures"][picture] = str(path)
                    with unfinished(out / RESULTS, overwrite=True) as temporary:
                        temporary.write_text(json.dumps(data, indent=1) + "\n")
        except PermissionError as error:
            if isinstance(error, AccessError):
                raise
            raise AccessError(f"{error.filename}: no permission to write there") from None
        return data

    def summary(self, data: dict[str, Any]) -> list[tuple[str, list[Cells]]]:
        """A heading and a table for each experiment that was run."""
        return [
            (self.experiments[name].heading, self.experiments[name].table(rows))
            for name, rows in data["experiments"].items()
        ]


def grouped(rows: Iterable[Row], key: str) -> list[tuple[Any, list[Row]]]:
    """Rows by the value of a key, in order of appearance."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return list(groups.items())


def as_time(seconds: float) -> str:
    """
    >>> as_time(0.01234), as_time(12.34)
    ('12.3 ms', '12.3 s')
    """
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
