"""``penstock bench netalx``: the experiments of NETALX on this machine, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.interfaces.cli._options import Debug, Json, Memory, Overwrite, PageSize, Threads
from penstock.interfaces.cli._suites import ExperimentNames, PictureKind, suffix_of


def command(
    scale: Annotated[
        int, typer.Option(help="2 to this many vertices, 16 edges each.", min=8, max=30)
    ] = 20,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where pictures, results and graphs go.")
    ] = Path("bench-netalx"),
    experiments: ExperimentNames = None,
    roots: Annotated[int, typer.Option(help="Vertices that searches begin at.", min=1)] = 8,
    repeat: Annotated[int, typer.Option(help="Searches from each; the best counts.", min=1)] = 3,
    pictures: PictureKind = "png",
    page_size: PageSize = None,
    memory: Memory = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run the experiments of NETALX (BFS with some edges in memory) and draw what comes out."""
    from penstock.interfaces.bench.netalx import SUITE
    from penstock.interfaces.bench.netalx_searches import Netalx
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show

    names = SUITE.chosen(experiments)
    with watching(kernels=True) as progress:
        bench = Netalx(
            scale, out, memory=memory, threads=threads, page_size=page_size, num_roots=roots,
            repeat=repeat, progress=progress,
        )  # fmt: skip
        data = SUITE.run(bench, names, suffix_of(pictures), overwrite=overwrite)
    show("" if json else as_text(data), data, as_json=json)


def as_text(data: dict[str, Any]) -> str:
    """Tables for people."""
    from penstock.interfaces.bench.netalx import SUITE
    from penstock.interfaces.cli._suites import suite_text

    first = (
        f"RMAT scale {data['scale']}, undirected: {data['num_vertices']:,} vertices, "
        f"{data['num_edges']:,} edges; {data['threads']} threads, {data['roots']} roots, "
        f"best of {data['repeat']}"
    )
    return suite_text(SUITE, data, first)
