"""``penstock certificates``: certificates and keys for encrypted connections between machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.interfaces.cli._options import Output, Overwrite


def command(
    *,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write.")],
    hosts: Annotated[
        str, typer.Option("--for", metavar="HOSTS", help="Names of hosts, separated by commas.")
    ] = "",
    days: Annotated[float, typer.Option(help="Days that they are valid.")] = 365,
    overwrite: Overwrite = False,
    output: Output,
) -> None:
    """Make certificates and keys for connections between hosts: in DIR for this machine, and in
    DIR/HOST for each host of --for, to be copied there. `--tls` takes each of these folders.
    DIR/ca-key.pem can make certificates for further hosts later; keep it here.
    """
    from penstock.distributed.certificates import write_certificates
    from penstock.interfaces.cli._output import show

    names = [name.strip() for name in hosts.split(",") if name.strip()]
    folders = write_certificates(folder, names, days=days, overwrite=overwrite)
    lines = [f"{folder}: for this machine (--tls {folder})"]
    lines += [f"{each}: for {each.name}; copy it there" for each in folders[1:]]
    lines.append("Keep the keys secret: anyone who has one can run code on all hosts.")
    show("\n".join(lines), {"folders": folders, "days": days}, as_json=output.json)
