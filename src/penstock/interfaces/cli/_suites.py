"""What the suites of ``penstock bench`` that run experiments have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from penstock.interfaces.bench.suite import Suite

ExperimentNames = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", help="Some of them, with commas between. Default: all."),
]
PictureKind = Annotated[
    Literal["png", "svg", "none"], typer.Option(help="What pictures are written as.")
]


def suffix_of(pictures: str) -> str | None:
    """How the names of such pictures end; None: there are none."""
    return None if pictures == "none" else f".{pictures}"


def suite_text(suite: Suite[Any], data: dict[str, Any], first: str) -> str:
    """Tables for people, below a first line."""
    from penstock.interfaces.cli._output import table

    lines = [first]
    for heading, rows in suite.summary(data):
        lines += ["", heading, table(rows)]
    lines += ["", "Written", *(f"  {path}" for path in data["pictures"].values())]
    return "\n".join([*lines, f"  {data['results']}"])
