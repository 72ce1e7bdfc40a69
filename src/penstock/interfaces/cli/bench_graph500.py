"""``penstock bench graph500``: the Graph500 benchmark, validated, with its official output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.interfaces.cli._options import Limits, Output


def command(
    *,
    scale: Annotated[int, typer.Option(help="2 to this many vertices.", min=1, max=31)],
    edgefactor: Annotated[int, typer.Option(help="Edges for each vertex.", min=1)] = 16,
    roots: Annotated[int, typer.Option(help="Searches of each kernel.", min=1)] = 64,
    kernels: Annotated[
        str, typer.Option(metavar="NAME,...", help="Some of bfs and sssp, a comma between.")
    ] = "bfs,sssp",
    seed: Annotated[int, typer.Option(help="Decides edges, weights and roots.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where edge list, graph and results stay. Default: a temporary folder in the "
            "current one, which goes away.",
        ),
    ] = None,
    limits: Limits,
    output: Output,
) -> None:
    """Run Graph500: generate edges, construct, search from each root, validate every answer."""
    from penstock.interfaces.bench.graph500 import Settings, chosen_kernels, run_benchmark
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show

    settings = Settings(
        scale, edgefactor, roots=roots, kernels=chosen_kernels(kernels), seed=seed, out=out,
        **vars(limits),
    )  # fmt: skip
    with watching(kernels=True) as progress:
        data = run_benchmark(settings, progress)
    show("" if output.json else as_text(data), data, as_json=output.json)
    if not data["validated"]:
        typer.echo(f"penstock: {failure_line(data)}", err=True)
        raise typer.Exit(1)


def failed(data: dict[str, Any]) -> list[str]:
    """A line for each search that failed validation."""
    return [
        f"{kernel} from {row['root']}: {row['failure']}"
        for kernel, rows in data["searches"].items()
        for row in rows
        if not row["validated"]
    ]


def failure_line(data: dict[str, Any]) -> str:
    """How many failed."""
    count = sum(len(rows) for rows in data["searches"].values())
    return f"{len(failed(data))} of {count} searches failed validation; this run has no results"


def as_text(data: dict[str, Any]) -> str:
    """The official lines, then ours; of an invalid run, what was wrong."""
    from penstock.interfaces.bench.graph500_report import as_lines, beyond_official

    if not data["validated"]:
        return "\n".join(failed(data))
    return as_lines([*data["results"].items(), *beyond_official(data)])
