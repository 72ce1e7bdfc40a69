"""Penstock on machines of a network: a scheduler, a worker on each machine, started as users start
them, and the process that makes calls. The command lines of the tests are here and nowhere else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from machines import preload
from machines.asking import Asking
from machines.certificates import Certificate
from machines.network import Machine, Network

PORT = 8786
PROGRAM = [sys.executable, "-m", "penstock"]
#: Seconds for processes to start, on a machine that is busy.
START_SECONDS = 120.0


def scheduler_command(machine: Machine, certificate: Certificate | None) -> list[str]:
    return [
        *PROGRAM, "scheduler", "--host", machine.address, "--port", str(PORT),
        *_security(certificate),
    ]  # fmt: skip


def worker_command(machine: Machine, address: str, certificate: Certificate | None) -> list[str]:
    """A nanny, whose worker is another process. It ends when the worker does at the scheduler's
    word, and when the scheduler is gone.
    """
    return [
        *PROGRAM, "worker", address, "--host", machine.address, "--threads", "1",
        "--name", machine.host, "--scratch", str(machine.folder), *_security(certificate),
    ]  # fmt: skip


def _security(certificate: Certificate | None) -> list[str]:
    return certificate.options() if certificate else ["--insecure"]


class Cluster:
    """Workers on all machines of a network, the scheduler and the caller on the first.

    ``apart``: the first machine has no worker. ``pause``: seconds that each exchange takes longer.
    ``lease``: seconds without a caller after which a rank ends.
    """

    def __init__(
        self,
        network: Network,
        certificate: Certificate | None = None,
        *,
        env: Mapping[str, str] | None = None,
        patience: float = 5.0,
        pause: float = 0.0,
        lease: float = 8.0,
        apart: bool = False,
    ) -> None:
        self.network = network
        self.workers = network.machines[int(apart) :]
        self.certificate = certificate
        self.folder = network.folder
        self.own = network.machines[0].own
        self.counters = network.folder / "counters"
        self.counters.mkdir(exist_ok=True)
        scheme = "tls" if certificate else "tcp"
        self.address = f"{scheme}://{network.machines[0].address}:{PORT}"
        self._patience = patience
        here = Path(__file__).parent.parent
        more = (env or {}).get("PYTHONPATH")
        path = os.pathsep.join(filter(None, (str(here), more, os.environ.get("PYTHONPATH"))))
        self._env = {
            **(env or {}),
            "PYTHONPATH": path,
            preload.COUNTERS: str(self.counters),
            preload.PAUSE: str(pause),
            preload.LEASE: str(lease),
            "DASK_DISTRIBUTED__WORKER__PRELOAD": "['machines.preload']",
            "DASK_LOGGING__DISTRIBUTED": "warning",
        }
        self._log = open(network.folder / "log", "ab")  # noqa: SIM115 - for as long as this is
        self.scheduler: subprocess.Popen[Any] | None = None
        self.nannies: dict[int, subprocess.Popen[Any]] = {}
        self.caller: Asking | None = None

    # Starting and ending

    def start(self) -> None:
        """Start what is not running, and wait until all workers are there."""
        first = self.network.machines[0]
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.stop()
            self.scheduler = self._start(first, scheduler_command(first, self.certificate))
        self.start_workers()
        if self.caller is None or not self.caller.alive:
            if self.caller is not None:
                self.caller.close()
            self._start_caller()
        assert self.caller is not None
        deadline = time.monotonic() + START_SECONDS
        while True:
            # One whose connection to the scheduler has broken may end a while later.
            self.start_workers()
            question = {"do": "wait", "count": len(self.workers), "seconds": 5.0}
            answer = self.caller.ask(question, START_SECONDS)
            if answer is not None and "error" not in answer:
                return
            if answer is None or time.monotonic() > deadline:
                raise RuntimeError(f"the cluster does not start: {answer}\n{self.log()}")

    def start_workers(self) -> None:
        """Start those that are not running, and do not wait."""
        for machine in self.workers:
            nanny = self.nannies.get(machine.number)
            if nanny is None or nanny.poll() is not None:
                command = worker_command(machine, self.address, self.certificate)
                self.nannies[machine.number] = self._start(machine, command)

    def _start_caller(self) -> None:
        first = self.network.machines[0]
        process = self._start(
            first, [sys.executable, "-m", "machines.caller"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.caller = Asking(process)
        certificate = self.certificate
        answer = self.caller.ask(
            {
                "do": "connect",
                "address": self.address,
                "tls": certificate and [str(certificate.certificate), str(certificate.key)],
                "patience": self._patience,
                "seconds": START_SECONDS,
            },
            START_SECONDS,
        )
        if answer is None or "error" in answer:
            raise RuntimeError(f"the caller does not connect: {answer}\n{self.log()}")

    def _start(
        self, machine: Machine, command: Sequence[str], **options: Any
    ) -> subprocess.Popen[Any]:
        scratch = machine.folder / "tmp"
        scratch.mkdir(exist_ok=True)
        given = {"stdout": self._log, **options}
        inside = ["sh", "-c", 'mkdir -p "$TMPDIR"; exec "$@"', "sh", *command]
        env = {**self._env, "TMPDIR": str(scratch)}
        return machine.start(inside, env=env, stderr=self._log, **given)

    def stop(self) -> None:
        """Kill all processes; the machines stay."""
        for machine in self.network.machines:
            for pid in machine.pids():
                kill(pid)
        for process in (self.scheduler, *self.nannies.values()):
            if process is not None:
                process.wait(30)
        if self.caller is not None:
            self.caller.close()
        self.scheduler, self.caller = None, None
        self.nannies.clear()

    def close(self) -> None:
        """End everything but the network."""
        self.stop()
        self._log.close()

    def log(self) -> str:
        """The end of what all processes wrote."""
        return (self.network.folder / "log").read_text(errors="replace")[-6000:]

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Looking

    def ranks(self) -> list[dict[str, Any]]:
        """Of each rank: its host, address and process."""
        assert self.caller is not None
        answer = self.caller.ask({"do": "describe"}, START_SECONDS)
        if answer is None or "error" in answer:
            raise RuntimeError(f"ranks cannot be described: {answer}\n{self.log()}")
        found: list[dict[str, Any]] = answer["ranks"]
        return found

    def machine_of(self, rank: Mapping[str, Any]) -> Machine:
        return next(each for each in self.network.machines if each.host == rank["host"])

    def exchanges(self, pid: int) -> int:
        """How many exchanges the ranks of a worker have begun."""
        return preload.read_count(self.counters, pid)

    def scratch(self, rank: Mapping[str, Any]) -> Path:
        """Where a rank makes temporary files, as its own processes see it."""
        return Path(f"/proc/{rank['pid']}/root{self.machine_of(rank).folder}") / "tmp"


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process that may be gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until(true: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is true; whether it is."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
