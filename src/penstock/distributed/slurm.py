"""The processes of a Slurm step as a cluster: the first runs a scheduler and the call, the others
are workers. They find each other by a folder on the file system that they share.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from penstock.distributed.addresses import address_towards
from penstock.distributed.certificates import make_job_tls
from penstock.distributed.host_choice import SLURM_OTHERS
from penstock.distributed.started import PROGRAM, start_scheduler
from penstock.distributed.tls import CA_FILE, CERTIFICATE_FILE, KEY_FILE
from penstock.errors import AccessError, OptionError, WorkerError

#: Seconds for the scheduler to listen; for all workers to join; for a worker to find the folder.
LISTEN_SECONDS, JOIN_SECONDS, FIND_SECONDS = 30.0, 120.0, 300.0
_PLACE_FILE = "scheduler.json"
#: The directory of the folder, if it is not the current one.
FOLDER_VARIABLE = "PENSTOCK_SLURM_DIR"
#: The folders of steps in which this process has run the scheduler.
_served: set[Path] = set()


@dataclass(frozen=True, slots=True)
class Step:
    """A process of a Slurm step."""

    rank: int
    size: int
    #: The folder that all of them use.
    folder: Path
    #: Where the step was launched from; None if all processes are on one machine.
    launcher: str | None

    @property
    def names(self) -> list[str]:
        """What the workers are called."""
        return [f"slurm-{rank}" for rank in range(SLURM_OTHERS, self.size)]


def find_step(environment: Mapping[str, str]) -> Step:
    """The step that this process belongs to."""
    rank, size = environment.get("SLURM_PROCID", ""), environment.get("SLURM_NTASKS", "")
    size = environment.get("SLURM_STEP_NUM_TASKS") or size
    if not rank.isdecimal() or not size.isdecimal():
        raise OptionError(
            "hosts: slurm needs processes that srun has started (SLURM_PROCID is not set); use "
            "`srun -n 5 penstock run ... --hosts slurm`, or another kind of hosts"
        )
    if int(size) <= SLURM_OTHERS:
        raise OptionError(
            f"hosts: slurm needs at least {SLURM_OTHERS + 1} processes, one of which runs the "
            f"scheduler; this step has {size}; use srun -n"
        )
    job = "-".join(
        environment.get(f"SLURM_{name}", "0") for name in ("JOB_ID", "STEP_ID", "RESTART_COUNT")
    )
    parent = Path(environment.get(FOLDER_VARIABLE) or ".")
    nodes = environment.get("SLURM_STEP_NUM_NODES") or environment.get("SLURM_NNODES")
    launcher = None if nodes == "1" else environment.get("SLURM_LAUNCH_NODE_IPADDR")
    if launcher is None and nodes != "1":
        raise OptionError("hosts: SLURM_LAUNCH_NODE_IPADDR is not set; is this a step of srun?")
    return Step(int(rank), int(size), parent.absolute() / f".penstock-slurm-{job}", launcher)


class SlurmCluster:
    """The scheduler of a step, run by its first process."""

    def __init__(self, step: Step) -> None:
        self.tls = make_job_tls()
        self.names = step.names
        self._folder = step.folder
        if step.folder in _served:
            raise OptionError(
                "hosts: the workers of this Slurm step have served a call and ended; keep them for "
                "several calls with `with penstock.Hosts('slurm') as hosts:`"
            )
        if step.folder.exists():
            raise OptionError(
                f"hosts: {step.folder} exists, which a Slurm step makes and removes; if no "
                "other process uses it, remove it"
            )
        host = "127.0.0.1" if step.launcher is None else address_towards(step.launcher)
        self._scheduler = start_scheduler(host, self.tls)
        try:
            self.address: str = self._scheduler.answer(LISTEN_SECONDS)["address"]
            self._publish()
        except BaseException:
            self._scheduler.close()
            raise

    def _publish(self) -> None:
        """Make the folder, readable by this user only, in one rename."""
        parent = self._folder.parent
        try:
            made = Path(tempfile.mkdtemp(prefix=f"{self._folder.name}.", dir=parent))
        except OSError as error:
            raise AccessError(
                f"hosts: {parent}: {error.strerror}; the processes of the step need a folder that "
                f"all of them see: set {FOLDER_VARIABLE} to one"
            ) from None
        texts = {
            CA_FILE: self.tls.ca, CERTIFICATE_FILE: self.tls.certificate, KEY_FILE: self.tls.key,
            _PLACE_FILE: json.dumps({"address": self.address}),
        }  # fmt: skip
        for name, text in texts.items():
            descriptor = os.open(made / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w") as file:
                file.write(text)
                os.fsync(descriptor)
        os.rename(made, self._folder)
        _served.add(self._folder)

    def check(self) -> None:
        """Raise if the scheduler has ended."""
        self._scheduler.check()

    def close(self, timeout: float = 0.0) -> None:
        """End the scheduler, and with it the workers."""
        self._scheduler.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def become_worker(step: Step, *, threads: int | None) -> NoReturn:
    """Make this process a worker of the step, until the scheduler ends."""
    address = _find_scheduler(step)
    name = step.names[step.rank - SLURM_OTHERS]
    words = ["worker", address, "--tls", str(step.folder), "--name", name]
    words += [] if threads is None else ["--threads", str(threads)]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(PROGRAM[0], [*PROGRAM, *words])


def _find_scheduler(step: Step) -> str:
    deadline = time.monotonic() + FIND_SECONDS
    place = step.folder / _PLACE_FILE
    while not place.exists():
        if time.monotonic() > deadline:
            raise WorkerError(
                f"hosts: {place} did not appear within {FIND_SECONDS:.0f} seconds. Has the first "
                "process failed? All processes must see that folder: set "
                f"{FOLDER_VARIABLE} to one that they share"
            )
        time.sleep(0.2)
    found = step.folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise AccessError(f"hosts: {step.folder} can be used by others than this user")
    address: str = json.loads(place.read_text())["address"]
    return address
