"""``penstock bench dynamic``: experiments on graphs that change, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.interfaces.cli._options import Debug, Json, Overwrite, Threads
from penstock.interfaces.cli._suites import ExperimentNames, PictureKind, suffix_of


def command(
    scale: Annotated[
        int, typer.Option(help="2 to this many vertices, 32 requests each.", min=4, max=26)
    ] = 16,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where pictures, results and live graphs go.")
    ] = Path("bench-dynamic"),
    experiments: ExperimentNames = None,
    stores: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Some of penstock, degaware, baseline_map, baseline_vec, stinger. Default: all.",
        ),
    ] = None,
    batch: Annotated[int, typer.Option(help="Requests of a batch.", min=1)] = 100_000,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Real streams to replay: see the documentation."),
    ] = None,
    repeat: Annotated[int, typer.Option(help="Runs of each; the best counts.", min=1)] = 3,
    pictures: PictureKind = "png",
    threads: Threads = None,
    overwrite: Overwrite = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run DegAwareRHH's experiments: a live graph beside the stores its authors compare."""
    from penstock.interfaces.bench.dynamic import SUITE
    from penstock.interfaces.bench.dynamic_runs import chosen_stores
    from penstock.interfaces.bench.dynamic_workbench import Dynamic
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show

    names = SUITE.chosen(experiments)
    with watching(kernels=True) as progress:
        bench = Dynamic(
            scale, out, chosen_stores(stores), batch, data, threads, repeat, progress,
        )  # fmt: skip
        data_found = SUITE.run(bench, names, suffix_of(pictures), overwrite=overwrite)
    show("" if json else as_text(data_found), data_found, as_json=json)


def as_text(data: dict[str, Any]) -> str:
    """Tables for people."""
    from penstock.interfaces.bench.dynamic import SUITE
    from penstock.interfaces.cli._suites import suite_text

    first = (
        f"RMAT scale {data['scale']}: {data['num_requests']:,} requests, both directions, for "
        f"{data['num_edges']:,} edges, {data['batch']:,} at a time; {data['threads']} threads, "
        f"best of {data['repeat']}"
    )
    return suite_text(SUITE, data, first)
