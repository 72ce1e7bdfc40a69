"""``penstock export``: the edges of a graph as one file that other programs read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from penstock.interfaces.cli._options import GraphPath, Output, Overwrite, Threads

FormatName = Literal["txt", "csv", "tsv", "parquet"]


def command(
    *,
    graph: GraphPath,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Ends in .txt, .csv or .tsv (also with .gz), or in .parquet."
        ),
    ],
    format: Annotated[
        FormatName | None, typer.Option(help="Default: by the name of the file.")
    ] = None,
    overwrite: Overwrite = False,
    threads: Threads = None,
    output: Output,
) -> None:
    """Write the edges to a file, in your own ids, with weights and attributes."""
    from penstock.config import format_bytes
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show
    from penstock.interfaces.export import export
    from penstock.interfaces.opening import open_snapshot

    started = time.perf_counter()
    opened = open_snapshot(graph)
    with watching() as progress:
        export(opened, file, format=format, overwrite=overwrite, threads=threads, progress=progress)
    seconds = time.perf_counter() - started
    size = file.stat().st_size
    data = {
        "path": str(graph),
        "file": str(file),
        "num_edges": opened.num_edges,
        "bytes": size,
        "seconds": seconds,
    }
    text = f"{file}: {opened.num_edges:,} edges, {format_bytes(size)}, in {seconds:.1f} s"
    show(text, data, as_json=output.json)
