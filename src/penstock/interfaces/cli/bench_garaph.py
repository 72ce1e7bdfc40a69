"""``penstock bench garaph``: Garaph's experiments on replication and on devices, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.interfaces.cli._options import Limits, Output
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
    scale: Annotated[int, scale_of("16 edges", 4, 31)] = 20,
    graph: Annotated[
        Path | None,
        typer.Option(metavar="GRAPH", help="A graph directory to use instead of making one."),
    ] = None,
    out: Annotated[Path, folder_of("pictures, results and graphs")] = Path("bench-garaph"),
    experiments: ExperimentNames = None,
    shared_memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Shared memory of a block of a GPU.")
    ] = "48KiB",
    repeat: Repeat = 3,
    limits: Limits,
    files: Files,
    output: Output,
) -> None:
    """Run Garaph's experiments (copies of accumulators, several devices); no GPU is needed."""
    from penstock.config import parse_bytes
    from penstock.interfaces.bench.garaph import SUITE
    from penstock.interfaces.bench.garaph_workloads import Garaph

    shared_bytes = parse_bytes(shared_memory, "shared_memory")
    bench = Garaph(scale, out, graph, shared_bytes, repeat=repeat, **vars(limits))
    run_suite(SUITE, experiments, files, output, bench)
