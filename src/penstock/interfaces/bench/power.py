"""Energy that the machine used, from the counters of Linux' powercap (RAPL).

A counter is one zone: a folder with ``name``, ``energy_uj`` (micro-joules, which begin again at 0
after ``max_energy_range_uj``). What counts are the packages and their memory (``dram``); zones
inside a package (``core``, ``uncore``) are part of it, and the platform's (``psys``) contains them
all. The same package may be listed twice, under two drivers. Most systems let only root read this.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")
#: A counter that lasts 262 kJ goes round in four minutes at 1 kW; it is read more often than that.
READ_EVERY_SECONDS = 30.0


@dataclass(slots=True)
class Zone:
    """One counter."""

    folder: Path
    #: Such as "package-0" or "package-0 dram".
    name: str
    range_uj: int
    last_uj: int

    def used(self) -> int:
        """Micro-joules since the last call."""
        now = _number(self.folder / "energy_uj")
        since = now - self.last_uj
        self.last_uj = now
        return since if since >= 0 else since + self.range_uj


@dataclass(slots=True)
class Energy:
    """What was used while it was measured; None: it cannot be told."""

    joules: float | None = None


@dataclass(slots=True)
class Meter:
    """All counters of the machine; without any, nothing can be told."""

    zones: list[Zone]
    #: Why there are none, or a counter could not be read.
    trouble: str | None = None
    _used: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, folder: Path = POWERCAP) -> Meter:
        """Find the counters that can be read."""
        try:
            zones = _zones(folder)
        except (OSError, ValueError) as error:
            return cls([], f"{folder}: {error}")
        return cls(zones, None if zones else f"{folder}: no package has a counter there")

    @contextmanager
    def measuring(self) -> Iterator[Energy]:
        """Measure the block."""
        energy = Energy()
        self._read()
        self._used = 0
        ended = threading.Event()

        def read_now_and_then() -> None:
            while not ended.wait(READ_EVERY_SECONDS):
                self._read()

        watcher = threading.Thread(target=read_now_and_then, name="penstock power", daemon=True)
        if self.zones:
            watcher.start()
        try:
            yield energy
        finally:
            ended.set()
            if self.zones:
                watcher.join()
            self._read()
            # No machine uses nothing: a counter that has not moved was too slow for the block.
            if self.zones and self._used > 0:
                energy.joules = self._used / 1e6

    def _read(self) -> None:
        with self._lock:
            try:
                self._used += sum(zone.used() for zone in self.zones)
            except (OSError, ValueError) as error:
                self.zones, self.trouble = [], str(error)


def _zones(folder: Path) -> list[Zone]:
    found: dict[str, Zone] = {}
    for package in sorted(folder.glob("*:*")):
        name = _name(package)
        if package.name.count(":") != 1 or not name.startswith("package"):
            continue
        memory = [
            (f"{name} dram", inner)
            for inner in sorted(folder.glob(f"{package.name}:*"))
            if _name(inner) == "dram"
        ]
        for label, place in [(name, package), *memory]:
            if label not in found:
                found[label] = Zone(
                    place, label, _number(place / "max_energy_range_uj"),
                    _number(place / "energy_uj"),
                )  # fmt: skip
    return list(found.values())


def _name(zone: Path) -> str:
    try:
        return (zone / "name").read_text().strip()
    except OSError:
        return ""


def _number(path: Path) -> int:
    return int(path.read_text())
