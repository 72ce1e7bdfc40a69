"""What the benchmarks share: capped runs, disk use while running, tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup/memory")


@dataclass(frozen=True)
class Run:
    """How a command went."""

    seconds: float
    stdout: str
    returncode: int
    #: Most memory its cgroup held (page cache included), if it was capped.
    cgroup_peak_bytes: int | None
    #: Most bytes the watched folder held.
    disk_peak_bytes: int


@contextmanager
def memory_cap(limit: int | None) -> Iterator[Path | None]:
    """A cgroup (v1) with a memory limit; None for no limit."""
    if limit is None:
        yield None
        return
    if not os.access(CGROUP, os.W_OK):
        sys.exit("a memory cap needs root and the cgroup v1 memory controller")
    group = Path(tempfile.mkdtemp(prefix="penstock-", dir=CGROUP))
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        yield group
    finally:
        group.rmdir()


def run(command: list[str], *, cap: int | None = None, watch: Path | None = None) -> Run:
    """Run a command to its end, capped if asked, looking at a folder's size meanwhile."""
    with memory_cap(cap) as group:

        def enter() -> None:
            if group is not None:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        disk_peak = 0
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=enter)
        while process.poll() is None:
            if watch is not None:
                disk_peak = max(disk_peak, folder_bytes(watch))
            try:
                process.wait(0.25)
            except subprocess.TimeoutExpired:
                continue
        seconds = time.perf_counter() - start
        peak = None
        if group is not None:
            peak = int((group / "memory.max_usage_in_bytes").read_text())
    assert process.stdout is not None
    return Run(seconds, process.stdout.read(), process.returncode, peak, disk_peak)


def penstock(*arguments: str) -> list[str]:
    """A command line of the installed penstock."""
    return [sys.executable, "-m", "penstock", *arguments]


def checked(result: Run) -> dict[str, object]:
    """The JSON object a command printed, or the end of the benchmark."""
    if result.returncode != 0:
        sys.exit(f"a command failed with exit code {result.returncode}")
    answer: dict[str, object] = json.loads(result.stdout)
    return answer


def folder_bytes(folder: Path) -> int:
    """Bytes on disk below a folder; files that vanish meanwhile do not matter."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return total


def drop_caches() -> bool:
    """Forget the page cache, if allowed."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        return False
    return True


@contextmanager
def work_folder(asked: str | None) -> Iterator[Path]:
    """The folder to work in: the one asked for, or a temporary one."""
    if asked is not None:
        Path(asked).mkdir(parents=True, exist_ok=True)
        yield Path(asked)
        return
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def table(rows: list[tuple[object, ...]]) -> None:
    """Print rows in columns; the first is the head."""
    text = [[f"{x:.3g}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    widths = [max(len(row[k]) for row in text) for k in range(len(text[0]))]
    for row in text:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
