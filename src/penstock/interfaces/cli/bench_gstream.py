"""``penstock bench gstream``: experiments of two papers on this machine, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    out: Annotated[Path, folder_of("pictures, traces, results and graphs")] = Path("bench-gstream"),
    experiments: ExperimentNames = None,
    repeat: Repeat = 2,
    limits: Limits,
    files: Files,
    output: Output,
) -> None:
    """Run the experiments of GStream and Garaph at a scale that fits, and draw what comes out."""
    from penstock.interfaces.bench.gstream import SUITE
    from penstock.interfaces.bench.workloads import Workbench

    bench = Workbench(scale, out, repeat=repeat, **vars(limits))
    run_suite(SUITE, experiments, files, output, bench)
