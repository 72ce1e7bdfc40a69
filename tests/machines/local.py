"""Ranks that are processes of this machine, started by the caller: what :class:`Cluster` is for
machines.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from machines import preload
from machines.asking import Asking
from machines.cluster import START_SECONDS, kill, wait_until


class LocalWorkers:
    """The caller and its workers."""

    def __init__(
        self,
        count: int,
        folder: Path,
        *,
        patience: float = 5.0,
        pause: float = 0.0,
        lease: float = 8.0,
    ) -> None:
        self.count = count
        self.folder = folder
        self.counters = folder / "counters"
        self.counters.mkdir(exist_ok=True)
        self._patience = patience
        here = Path(__file__).parent.parent
        path = os.pathsep.join(filter(None, (str(here), os.environ.get("PYTHONPATH"))))
        self._scratch = folder / "tmp"
        self._scratch.mkdir(exist_ok=True)
        self._env = {
            "PYTHONPATH": path,
            "TMPDIR": str(self._scratch),
            preload.COUNTERS: str(self.counters),
            preload.PAUSE: str(pause),
            preload.LEASE: str(lease),
            "DASK_DISTRIBUTED__WORKER__PRELOAD": "['machines.preload']",
            "DASK_TEMPORARY_DIRECTORY": str(folder / "dask"),
        }
        self._log = open(folder / "log", "ab")  # noqa: SIM115 - for as long as this is
        self._pids: set[int] = set()
        self.caller: Asking | None = None

    def start(self) -> None:
        """Start what is not running, and wait until all workers are there."""
        if self.caller is None or not self.caller.alive:
            self.stop()
            process = subprocess.Popen(
                [sys.executable, "-m", "machines.caller"],
                env={**os.environ, **self._env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
            )
            self.caller = Asking(process)
            self._ask({"do": "local", "count": self.count, "patience": self._patience})
        self._ask({"do": "wait", "count": self.count, "seconds": START_SECONDS - 20.0})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self.caller is not None
        answer = self.caller.ask(question, START_SECONDS)
        if answer is None or "error" in answer:
            raise RuntimeError(f"{question}: {answer}\n{self.log()}")
        return answer

    def ranks(self) -> list[dict[str, Any]]:
        """Of each rank: its host, address and process."""
        found: list[dict[str, Any]] = self._ask({"do": "describe"})["ranks"]
        self._pids.update(each["pid"] for each in found)
        return found

    def exchanges(self, pid: int) -> int:
        """How many exchanges the ranks of a worker have begun."""
        return preload.read_count(self.counters, pid)

    def stop(self) -> None:
        """End the caller; its workers end with it."""
        if self.caller is not None:
            self.caller.close()
            self.caller = None
        if not wait_until(lambda: not self.alive(), 20.0):
            for pid in self.alive():
                kill(pid)

    def alive(self) -> list[int]:
        """The workers that are running."""
        return [pid for pid in self._pids if _runs(pid)]

    def log(self) -> str:
        """The end of what all processes wrote."""
        return (self.folder / "log").read_text(errors="replace")[-6000:]

    def close(self) -> None:
        """End everything."""
        self.stop()
        self._log.close()

    def __enter__(self) -> LocalWorkers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def scratch(self, rank: Mapping[str, Any]) -> Path:
        """Where a rank makes temporary files."""
        return self._scratch


def _runs(pid: int) -> bool:
    """Whether a process is there, and not only waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
