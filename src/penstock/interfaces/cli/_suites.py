"""What the suites of ``penstock bench`` that run experiments have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from penstock.interfaces.cli._options import Output, Overwrite

if TYPE_CHECKING:
    from penstock.interfaces.bench.suite import Suite

ExperimentNames = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", help="Some of them, with commas between. Default: all."),
]
Repeat = Annotated[int, typer.Option(help="Runs of each; the best counts.", min=1)]


def scale_of(what: str, least: int, most: int) -> Any:
    """Declares the option for the size of a suite's graph, which has so much for each vertex."""
    return typer.Option(help=f"2 to this many vertices, {what} each.", min=least, max=most)


def folder_of(what: str) -> Any:
    """Declares the option for the folder that a suite writes to."""
    return typer.Option(metavar="DIR", help=f"Where {what} go.")


@dataclass(frozen=True)
class Files:
    """The files that a suite writes."""

    pictures: Annotated[
        Literal["png", "svg", "none"], typer.Option(help="What pictures are written as.")
    ] = "png"
    overwrite: Overwrite = False

    @property
    def suffix(self) -> str | None:
        """How the names of pictures end; None: there are none."""
        return None if self.pictures == "none" else f".{self.pictures}"


def run_suite(
    suite: Suite[Any],
    experiments: str | None,
    files: Files,
    output: Output,
    bench: Any,
) -> None:
    """Run the experiments that are named on a workbench, and show what comes out."""
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show

    names = suite.chosen(experiments)
    with watching(kernels=True) as progress:
        watched = replace(bench, progress=progress)
        data = suite.run(watched, names, files.suffix, overwrite=files.overwrite)
    text = "" if output.json else suite_text(suite, data)
    show(text, data, as_json=output.json)


def suite_text(suite: Suite[Any], data: dict[str, Any]) -> str:
    """Tables for people, below a line about what was run on."""
    from penstock.interfaces.cli._output import table

    lines = [suite.headline(data)]
    for heading, rows in suite.summary(data):
        lines += ["", heading, table(rows)]
    lines += ["", "Written", *(f"  {path}" for path in data["pictures"].values())]
    return "\n".join([*lines, f"  {data['results']}"])
