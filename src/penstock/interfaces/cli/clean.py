"""``penstock clean``: what runs over hosts that have died left on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.interfaces.cli._hosts import HostOptions
from penstock.interfaces.cli._options import Output


def command(
    *,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...",
            help="Folders to look in besides the scratch folder: those of --checkpoint, and those "
            "in which results of --out and parts of dealt graphs are.",
        ),
    ] = None,
    older_than: Annotated[
        str, typer.Option(metavar="TIME", help="Leave alone what was written since (10min, 1h).")
    ] = "10min",
    yes: Annotated[bool, typer.Option("--yes", help="Remove what no run uses any more.")] = False,
    hosts: HostOptions,
    output: Output,
) -> None:
    """List what runs over hosts have left on disk that were killed: saved states, copies of them,
    graphs that were not dealt to the end, results that were not written to the end. With --yes,
    remove what no run uses any more.
    """
    from penstock.config import format_bytes, format_seconds
    from penstock.distributed.cleaning import clean
    from penstock.engine.checkpoint import Schedule
    from penstock.errors import OptionError
    from penstock.interfaces.cli._output import show

    young = Schedule.parse(older_than, "older-than").every_seconds if older_than != "0s" else 0.0
    if young is None:
        raise OptionError(f"older-than: expected a time such as 30s or 1h, got {older_than!r}")
    places = [str(folder.absolute()) for folder in folders or ()]
    with hosts.when_needed() as give_hosts:
        found, removed = clean(give_hosts(), places, young, remove=yes)
    gone = {(each.host, each.path) for each in removed}
    lines = []
    for each in found:
        state = "in use" if each.live else "not in use"
        state = "removed" if (each.host, each.path) in gone else state
        lines.append(
            f"{each.host}:{each.path}: {each.kind}, {format_bytes(each.bytes)}, "
            f"{format_seconds(each.age_seconds)} old, {state}"
        )
    dead = sum(each.bytes for each in found if not each.live)
    if not found:
        lines.append("nothing was left")
    elif yes:
        lines.append(f"removed {format_bytes(sum(each.bytes for each in removed))}")
    elif dead:
        lines.append(f"{format_bytes(dead)} are not in use; --yes removes them")
    data = {
        "found": [{**each._asdict(), "removed": (each.host, each.path) in gone} for each in found],
        "removed_bytes": sum(each.bytes for each in removed),
    }
    show("\n".join(lines), data, as_json=output.json)
