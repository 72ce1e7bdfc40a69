"""``penstock bench netalx``: the experiments of NETALX on this machine, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.interfaces.cli._options import Limits, Output
from penstock.interfaces.cli._suites import ExperimentNames, Files, folder_of, run_suite, scale_of


def command(
    *,
    scale: Annotated[int, scale_of("16 edges", 8, 30)] = 20,
    out: Annotated[Path, folder_of("pictures, results and graphs")] = Path("bench-netalx"),
    experiments: ExperimentNames = None,
    roots: Annotated[int, typer.Option(help="Vertices that searches begin at.", min=1)] = 8,
    repeat: Annotated[int, typer.Option(help="Searches from each; the best counts.", min=1)] = 3,
    limits: Limits,
    files: Files,
    output: Output,
) -> None:
    """Run the experiments of NETALX (BFS with some edges in memory) and draw what comes out."""
    from penstock.interfaces.bench.netalx import SUITE
    from penstock.interfaces.bench.netalx_searches import Netalx

    bench = Netalx(scale, out, num_roots=roots, repeat=repeat, **vars(limits))
    run_suite(SUITE, experiments, files, output, bench)
