"""What a run may use: bytes and threads, from arguments, the machine and its cgroup."""

from __future__ import annotations

import os
import re
from pathlib import Path

from penstock.errors import BudgetError, OptionError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {unit + "I": 2 ** (10 * power) for power, unit in enumerate("KMGT", 1)}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)

#: What the interpreter, its imports and the compiled kernels take, beyond which a budget counts.
#: Measured: 170 MB for numbers from text, up to 256 MB for tables and string ids, which need Arrow.
BASE_BYTES = 256 << 20
#: What a run may go over its budget by.
SLACK_BYTES = 40 << 20
#: Less than this is not enough to work with.
MIN_BUDGET_BYTES = 16 << 20


def parse_bytes(value: str | int | float, name: str = "memory") -> int:
    """Turn ``"2GB"`` (10**9), ``"2GiB"`` (2**30), ``"512M"`` or a number into bytes.

    >>> parse_bytes("1.5KiB")
    1536
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    else:
        match = _SIZE.fullmatch(str(value))
        if match is None:
            raise OptionError(
                f"{name}: expected a number of bytes such as 512MB or 2GiB, got {value!r}"
            )
        number = float(match[1]) * _UNITS[match[2].upper()]
    if number < 1:
        raise OptionError(f"{name}: expected at least one byte, got {value!r}")
    return int(number)


def format_bytes(count: float) -> str:
    """Spell a number of bytes for people, in powers of 1000.

    >>> format_bytes(1_234_567)
    '1.2 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def format_seconds(seconds: float) -> str:
    """Spell a time for people: about two digits of it.

    >>> format_seconds(0.0123), format_seconds(140), format_seconds(280_000)
    ('0.012 s', '140 s', '3.2 days')
    """
    for unit, size in (("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"


def _read_int(path: Path) -> int | None:
    try:
        return int(path.read_text().strip())
    except (OSError, ValueError):
        return None


def cgroup_limit_bytes() -> int | None:
    """The memory limit of the cgroup this process is in (v1 or v2), or None."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    limits = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            root, name = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"
        elif controllers == "":
            root, name = Path("/sys/fs/cgroup"), "memory.max"
        else:
            continue
        folder = root / path.lstrip("/")
        # A limit on any ancestor holds too.
        for level in (folder, *folder.parents):
            if level == root.parent:
                break
            limit = _read_int(level / name)
            if limit is not None and limit < 1 << 60:
                limits.append(limit)
    return min(limits, default=None)


def available_bytes() -> int:
    """Memory the machine could give without swapping."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) // 2


def memory_budget(memory: str | int | float | None = None) -> int:
    """The bytes a run may hold beyond its base: what was asked for, or the default.

    The default is half of what the machine has available, and under a cgroup limit at most what
    remains of it beside the base.
    """
    if memory is not None:
        budget = parse_bytes(memory)
        if budget < MIN_BUDGET_BYTES:
            raise BudgetError(
                f"memory: {format_bytes(budget)} is too little to work with; "
                f"give at least {format_bytes(MIN_BUDGET_BYTES)}"
            )
        return budget
    budget = available_bytes() // 2
    limit = cgroup_limit_bytes()
    if limit is not None:
        budget = min(budget, limit - BASE_BYTES - SLACK_BYTES)
    return max(budget, MIN_BUDGET_BYTES)


def thread_count(threads: int | None = None) -> int:
    """How many threads to use: what was asked for, or one for each usable core."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    if threads < 1:
        raise OptionError(f"threads: expected at least 1, got {threads}")
    return threads
