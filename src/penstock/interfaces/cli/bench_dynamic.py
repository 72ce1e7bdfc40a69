"""``penstock bench dynamic``: experiments on graphs that change, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.interfaces.cli._options import Output, Threads
from penstock.interfaces.cli._suites import (
    ExperimentNames,
    Files,
    Repeat,
    folder_of,
    run_suite,
    scale_of,
)


def command(
    *,
    scale: Annotated[int, scale_of("32 requests", 4, 26)] = 16,
    out: Annotated[Path, folder_of("pictures, results and live graphs")] = Path("bench-dynamic"),
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
    repeat: Repeat = 3,
    threads: Threads = None,
    files: Files,
    output: Output,
) -> None:
    """Run DegAwareRHH's experiments: a live graph beside the stores its authors compare."""
    from penstock.interfaces.bench.dynamic import SUITE
    from penstock.interfaces.bench.dynamic_runs import chosen_stores
    from penstock.interfaces.bench.dynamic_workbench import Dynamic

    chosen = chosen_stores(stores)
    bench = Dynamic(scale, out, chosen, batch, data, threads, repeat)
    run_suite(SUITE, experiments, files, output, bench)
