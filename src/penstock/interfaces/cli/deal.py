"""``penstock deal``: send the stripes of a graph out to hosts, or to folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.interfaces.cli._hosts import HostOptions
from penstock.interfaces.cli._options import GraphPath, Output


def command(
    *,
    graph: GraphPath,
    to: Annotated[
        list[Path],
        typer.Option(
            metavar="DIR",
            help="With --hosts: the directory to make on each of them. Without: the directory of "
            "one part, as it is mounted here; repeat it for each.",
        ),
    ],
    copies: Annotated[
        int, typer.Option(help="Hosts that get each stripe: with 2, the loss of one is survived.")
    ] = 1,
    stripes: Annotated[
        int | None,
        typer.Option(
            help="How many stripes to cut the graph into. Default: 64, or one a host if those are "
            "more."
        ),
    ] = None,
    hosts: HostOptions,
    output: Output,
) -> None:
    """Deal a graph out to several hosts: each gets the index files and some of the stripes. Begun
    again, it sends what is missing. Hosts that see one file system need no dealing.
    """
    from penstock.config import format_bytes
    from penstock.distributed.dealing import deal
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show
    from penstock.store.paged import open_graph
    from penstock.store.part import stripe_list

    with hosts.when_needed() as give_hosts, watching() as progress:
        found = deal(
            open_graph(graph), to, hosts=give_hosts(), copies=copies, num_stripes=stripes,
            progress=progress,
        )  # fmt: skip
    data = {
        "graph": str(graph),
        "path": None if hosts.hosts is None else str(found.path),
        "stripes": found.num_stripes,
        "copies": found.copies,
        "places": [{"name": name, "stripes": list(own)} for name, own in found.places.items()],
        "bytes_sent": found.bytes_sent,
        "bytes_kept": found.bytes_kept,
    }
    lines = [
        f"{name}: {len(own)} stripes ({stripe_list(own)})" for name, own in found.places.items()
    ]
    kept = f", {format_bytes(found.bytes_kept)} were there already" if found.bytes_kept else ""
    copied = f", {copies} copies of each" if copies > 1 else ""
    lines.append(
        f"{graph}: dealt in {found.num_stripes} stripes{copied}; {format_bytes(found.bytes_sent)} "
        f"were sent and verified{kept}"
    )
    show("\n".join(lines), data, as_json=output.json)
