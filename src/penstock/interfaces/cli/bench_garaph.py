"""``penstock bench garaph``: Garaph's experiments on replication and on devices, with pictures."""

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
    graph: Annotated[
        Path | None,
        typer.Option(metavar="GRAPH", help="A graph directory to use instead of making one."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where pictures, results and graphs go.")
    ] = Path("bench-garaph"),
    experiments: ExperimentNames = None,
    shared_memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Shared memory of a block of a GPU.")
    ] = "48KiB",
    repeat: Annotated[int, typer.Option(help="Runs of each; the best counts.", min=1)] = 3,
    pictures: PictureKind = "png",
    page_size: PageSize = None,
    memory: Memory = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run Garaph's experiments (copies of accumulators, several devices); no GPU is needed."""
    from penstock.config import parse_bytes
    from penstock.interfaces.bench.garaph import SUITE
    from penstock.interfaces.bench.garaph_workloads import Garaph
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show

    names = SUITE.chosen(experiments)
    with watching(kernels=True) as progress:
        bench = Garaph(
            scale, out, graph, parse_bytes(shared_memory, "shared_memory"), memory=memory,
            threads=threads, page_size=page_size, repeat=repeat, progress=progress,
        )  # fmt: skip
        data = SUITE.run(bench, names, suffix_of(pictures), overwrite=overwrite)
    show("" if json else as_text(data), data, as_json=json)


def as_text(data: dict[str, Any]) -> str:
    """Tables for people."""
    from penstock.config import format_bytes
    from penstock.interfaces.bench.garaph import SUITE
    from penstock.interfaces.cli._suites import suite_text

    name = data["graph"] or f"RMAT scale {data['scale']}"
    first = (
        f"{name}: {data['num_vertices']:,} vertices, {data['num_edges']:,} edges; a GPU with "
        f"{format_bytes(data['shared_bytes'])} of shared memory for a block; {data['threads']} "
        f"threads, best of {data['repeat']}"
    )
    return suite_text(SUITE, data, first)
