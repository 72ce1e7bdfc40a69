"""A group of processes that may not take more memory than it is told (cgroup v1)."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup/memory")


class MemoryGroup:
    """Made on entry, removed on exit. Killing its processes is left to the caller."""

    def __init__(self, name: str) -> None:
        self._folder = _ROOT / name

    @staticmethod
    def missing() -> str:
        """Why there can be no groups; empty if there can."""
        if not (_ROOT / "memory.limit_in_bytes").exists():
            return f"there is no cgroup v1 memory controller in {_ROOT}"
        if not os.access(_ROOT, os.W_OK):
            return f"{_ROOT} cannot be written to; run as root"
        return ""

    def __enter__(self) -> MemoryGroup:
        self._folder.mkdir()
        return self

    def __exit__(self, *error: object) -> None:
        # Killed processes leave a moment later.
        for _ in range(100):
            with suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(0.05)
        self._folder.rmdir()

    def add(self, pid: int) -> None:
        """Put a process into the group; what it takes from now on counts."""
        (self._folder / "cgroup.procs").write_text(str(pid))

    def limit(self, num_bytes: int) -> None:
        (self._folder / "memory.limit_in_bytes").write_text(str(num_bytes))

    def taken_bytes(self) -> int:
        """What the group takes now, without files that the system may drop."""
        stat = dict(
            line.split() for line in (self._folder / "memory.stat").read_text().splitlines()
        )
        return int(stat["rss"]) + int(stat["mapped_file"])

    def peak_bytes(self) -> int:
        """The most it took, with files that the system could have dropped."""
        return int((self._folder / "memory.max_usage_in_bytes").read_text())
