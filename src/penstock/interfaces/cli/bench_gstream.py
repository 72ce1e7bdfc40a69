"""``penstock bench gstream``: experiments of two papers on this machine, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.interfaces.cli._options import Debug, Json, Memory, Overwrite, PageSize, Threads
from penstock.interfaces.cli._suites import ExperimentNames, PictureKind, suffix_of


def command(
    scale: Annotated[
        int, typer.Option(help="2 to this many vertices, 16 edges each.", min=4, max=31)
    ] = 20,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Where pictures, traces, results and graphs go."),
    ] = Path("bench-gstream"),
    experiments: ExperimentNames = None,
    repeat: Annotated[int, typer.Option(help="Runs of each; the best counts.", min=1)] = 2,
    pictures: PictureKind = "png",
    page_size: PageSize = None,
    memory: Memory = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run the experiments of GStream and Garaph at a scale that fits, and draw what comes out."""
    from penstock.interfaces.bench.gstream import SUITE
    from penstock.interfaces.bench.workloads import Workbench
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show

    names = SUITE.chosen(experiments)
    with watching(kernels=True) as progress:
        bench = Workbench(
            scale, out, memory=memory, threads=threads, page_size=page_size, repeat=repeat,
            progress=progress,
        )  # fmt: skip
        data = SUITE.run(bench, names, suffix_of(pictures), overwrite=overwrite)
    show("" if json else as_text(data), data, as_json=json)


def as_text(data: dict[str, Any]) -> str:
    """Tables for people."""
    from penstock.config import format_bytes
    from penstock.interfaces.bench.gstream import SUITE
    from penstock.interfaces.cli._suites import suite_text

    first = (
        f"RMAT scale {data['scale']}: {data['num_vertices']:,} vertices, {data['num_edges']:,} "
        f"edges, {data['pages']:,} pages of {format_bytes(data['page_bytes'])} in each direction; "
        f"{data['threads']} threads, best of {data['repeat']}"
    )
    return suite_text(SUITE, data, first)
