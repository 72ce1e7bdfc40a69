"""``penstock worker``: a process on this machine that runs ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.errors import OptionError
from penstock.interfaces.cli._hosts import TlsOptions, UntilInputEnds, of_hosts
from penstock.interfaces.cli._options import Memory, Output


def command(
    *,
    scheduler: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The scheduler, such as tls://h1:8786.")
    ],
    threads: Annotated[
        int | None,
        of_hosts(help="Threads of a rank. Default: the cores, divided among the machine's ranks."),
    ] = None,
    memory: Memory = None,
    scratch: Annotated[
        Path | None, of_hosts(metavar="DIR", help="The folder of Dask's files.")
    ] = None,
    name: Annotated[str | None, of_hosts(help="The worker's name. Default: its address.")] = None,
    host: Annotated[
        str | None,
        of_hosts(
            metavar="ADDRESS",
            help="The address of this machine to listen on. Default: that on the route to the "
            "scheduler.",
        ),
    ] = None,
    until_input_ends: UntilInputEnds = False,
    security: TlsOptions,
    output: Output,
) -> None:
    """Run a worker for calls over several hosts, until its scheduler ends. A rank uses no more
    memory than --memory. A worker runs the code that its scheduler sends, as you. Ends with
    Ctrl-C or SIGTERM.
    """
    from penstock.config import memory_budget, parse_bytes
    from penstock.distributed.hosts import load_cluster
    from penstock.distributed.rank_limits import RankLimits
    from penstock.interfaces.cli._bars import Notes
    from penstock.interfaces.cli._output import show

    if threads is not None and threads < 1:
        raise OptionError(f"threads: expected at least 1, got {threads}")
    room = None if memory is None else parse_bytes(memory, "memory")
    if room is not None:
        memory_budget(room)  # raises if it is too little to work with
    if scratch is not None and not scratch.is_dir():
        raise OptionError(f"scratch: {scratch} is not a folder")
    services = load_cluster("dask_service")
    settings = services.WorkerSettings(
        scheduler, tls=security.read(), insecure=security.insecure,
        host=None if host is None else host.strip("[]"), limits=RankLimits(room, threads),
        scratch=scratch, name=name,
    )  # fmt: skip

    def say(address: str) -> None:
        data = {"address": address, "scheduler": scheduler}
        show(f"worker at {address}, joined {scheduler}", data, as_json=output.json)

    services.run_worker(settings, say=say, wait=Notes().note, until_input_ends=until_input_ends)
