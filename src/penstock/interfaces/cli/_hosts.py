"""Options of commands that run over several hosts, or serve others that do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.errors import OptionError
from penstock.interfaces.cli import _options as o

if TYPE_CHECKING:
    from penstock.distributed.hosts import Hosts
    from penstock.distributed.tls import Tls

of_hosts = o.in_panel("Several hosts")

#: In place of a folder: certificates and a key are read from standard input.
FROM_INPUT = "-"

TlsFolder = Annotated[
    Path | None,
    of_hosts(
        metavar="DIR",
        help="A folder with ca.pem, cert.pem and key.pem, which `penstock certificates` makes. The "
        "key must be readable by its owner only (mode 0600).",
    ),
]
TlsCa = Annotated[
    Path | None,
    of_hosts(metavar="FILE", help="In place of DIR/ca.pem: whose certificates are accepted."),
]
TlsCert = Annotated[Path | None, of_hosts(metavar="FILE", help="In place of DIR/cert.pem.")]
TlsKey = Annotated[Path | None, of_hosts(metavar="FILE", help="In place of DIR/key.pem.")]
Insecure = Annotated[
    bool,
    of_hosts(
        "--insecure",
        help="Go beyond this machine without encryption. Anyone who reaches a scheduler, a worker "
        "or their connections can run code as you, and read and change your data.",
    ),
]
#: For processes that another process starts and ends.
UntilInputEnds = Annotated[bool, typer.Option("--until-input-ends", hidden=True)]


@dataclass(frozen=True)
class TlsOptions:
    """The certificates that a service shows and accepts."""

    tls: TlsFolder = None
    tls_ca: TlsCa = None
    tls_cert: TlsCert = None
    tls_key: TlsKey = None
    insecure: Insecure = False

    def read(self) -> Tls | None:
        """The certificates; None if none are given."""
        from penstock.distributed.tls import choose_tls, receive_tls

        if str(self.tls) == FROM_INPUT:
            with open(0, "rb", closefd=False) as source:
                return receive_tls(source)
        files = {"ca": self.tls_ca, "cert": self.tls_cert, "key": self.tls_key}
        return choose_tls(files, self.tls)


@dataclass(frozen=True)
class HostOptions(TlsOptions):
    """The hosts that a command runs over."""

    hosts: Annotated[
        str | None,
        of_hosts(
            metavar="HOSTS",
            help="Run over several hosts: a number of processes on this machine; tls://HOST:PORT, "
            "the address of a Dask scheduler; ssh:HOST1,HOST2 to start workers there for this "
            "command; or slurm, in processes that srun has started. Default: this process only.",
        ),
    ] = None

    def open(self) -> Hosts:
        """The hosts; the caller closes them."""
        from penstock.distributed.hosts import Hosts

        self.check()
        if self.hosts is None:
            raise OptionError(
                "hosts: not given; --hosts takes a number, tls://HOST:PORT, ssh:HOST1,HOST2 or "
                "slurm"
            )
        return Hosts(self.hosts, tls=self.read(), insecure=self.insecure)

    @contextmanager
    def when_needed(self) -> Iterator[Callable[[], Hosts | None]]:
        """Within the block, a function that opens the hosts at its first call, and returns None if
        there are none. Processes of Slurm become workers at once.
        """
        self.check()
        with ExitStack() as stack:
            opened: list[Hosts] = []

            def give() -> Hosts | None:
                if self.hosts is not None and not opened:
                    opened.append(stack.enter_context(self.open()))
                return opened[0] if opened else None

            if self.hosts == "slurm":
                give()
            yield give

    def check(self) -> None:
        """Raise for options that would have no effect."""
        if self.hosts is not None:
            return
        for name, value in vars(self).items():
            if value is not None and value is not False:
                raise OptionError(f"{name.replace('_', '-')}: is for several hosts; give --hosts")
