"""Workers on machines that ``ssh`` reaches, with a scheduler here, for as long as they are needed.

Certificates are made for the purpose and sent through the standard input of ``ssh``. A worker ends
when that input ends: when this process closes it, or is killed, or ssh loses its connection.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from collections.abc import Sequence

from penstock.distributed.addresses import address_towards
from penstock.distributed.certificates import make_job_tls
from penstock.distributed.started import PROGRAM, StartedProcess, start_scheduler
from penstock.errors import OptionError, WorkerError

#: Seconds for the scheduler to listen; for all workers to join.
LISTEN_SECONDS, JOIN_SECONDS = 30.0, 90.0
#: It never asks for a password, and gives up on hosts that are gone.
_SSH = (
    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5",
    "-o", "ServerAliveCountMax=6",
)  # fmt: skip
#: An address of no host (RFC 5737), to find the route to other networks.
_OUTSIDE = "192.0.2.1"


class SshCluster:
    """A scheduler on this machine and a worker on each host."""

    def __init__(self, names: Sequence[str], *, threads: int | None = None) -> None:
        self.tls = make_job_tls()
        #: The names of the workers.
        self.names = [f"{name} ({k})" for k, name in enumerate(names)]
        self._workers: list[StartedProcess] = []
        self._scheduler = start_scheduler(_own_address(names), self.tls)
        try:
            self.address: str = self._scheduler.answer(LISTEN_SECONDS)["address"]
            for name, called in zip(names, self.names, strict=True):
                words = ["worker", self.address, "--tls", "-", "--until-input-ends"]
                words += ["--name", called, "--json"]
                words += [] if threads is None else ["--threads", str(threads)]
                command = [*_SSH, "--", name, _remote(words)]
                self._workers.append(StartedProcess(f"ssh {name}", command, self.tls))
        except BaseException:
            self.close()
            raise

    def check(self) -> None:
        """Raise if a process has ended, with what it wrote to stderr."""
        for each in (self._scheduler, *self._workers):
            each.check()

    def close(self, timeout: float = 0.0) -> None:
        """End all processes."""
        for each in self._workers:
            each.release()
        for each in (*self._workers, self._scheduler):
            each.close()


def _remote(words: Sequence[str]) -> str:
    """The command for the remote shell: with the same Python if that exists there, as on machines
    that share their files; otherwise with the ``penstock`` on its path.
    """
    python, rest = shlex.quote(PROGRAM[0]), shlex.join(words)
    script = f"if [ -x {python} ]; then exec {python} -m penstock {rest}; fi; exec penstock {rest}"
    return f"sh -c {shlex.quote(script)}"


def _own_address(names: Sequence[str]) -> str:
    """The address of this machine on the route to the first host that can be resolved here."""
    for name in names:
        with contextlib.suppress(OptionError):
            return address_towards(_real_name(name))
    with contextlib.suppress(OptionError):
        return address_towards(_OUTSIDE)
    raise OptionError(f"hosts: this machine has no route to {', '.join(names)}")


def _real_name(name: str) -> str:
    """The host name that the configuration of ssh has for a name."""
    plain = name.rpartition("@")[2].strip("[]")
    try:
        found = subprocess.run(
            ["ssh", "-G", "--", name], capture_output=True, text=True, timeout=10,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        raise WorkerError("hosts: ssh is not installed on this machine") from None
    except subprocess.TimeoutExpired:
        return plain
    lines = [line.split(maxsplit=1) for line in found.stdout.splitlines()]
    return next((line[1] for line in lines if len(line) == 2 and line[0] == "hostname"), plain)
