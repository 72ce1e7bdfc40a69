"""``penstock scheduler``: a Dask scheduler, which workers join and calls are sent to."""

from __future__ import annotations

from typing import Annotated

from penstock.interfaces.cli._hosts import TlsOptions, UntilInputEnds, of_hosts
from penstock.interfaces.cli._options import Output

#: The port of Dask's own schedulers.
PORT = 8786


def command(
    *,
    host: Annotated[
        str,
        of_hosts(metavar="ADDRESS", help="The address of this machine to listen on."),
    ] = "127.0.0.1",
    port: Annotated[int, of_hosts(help="The port to listen on; 0 is any free port.")] = PORT,
    until_input_ends: UntilInputEnds = False,
    security: TlsOptions,
    output: Output,
) -> None:
    """Run a Dask scheduler: workers join it (`penstock worker`), and calls are sent to it
    (`--hosts`). Anyone who reaches it can run code as you, so beyond this machine it needs
    certificates (`--tls`). Ends with Ctrl-C or SIGTERM.
    """
    from penstock.distributed.hosts import load_cluster
    from penstock.interfaces.cli._output import show

    services = load_cluster("dask_service")

    def say(address: str) -> None:
        text = f"scheduler at {address}; workers join with `penstock worker {address}`"
        show(text, {"address": address}, as_json=output.json)

    services.run_scheduler(
        host.strip("[]"), port, tls=security.read(), insecure=security.insecure, say=say,
        until_input_ends=until_input_ends,
    )  # fmt: skip
