"""What this machine does in how long: measured once, kept in the user's cache folder.

The profile has a part for each number of threads (what kernels cost) and one for each place that
graphs are stored in (what reading costs). A part that is missing is measured when it is needed, in
about a second. Times are nanoseconds of one thread while all threads work.
"""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from penstock.device.generated import cache_folder
from penstock.store.contents import stripe_name
from penstock.store.graph import Graph
from penstock.store.paged import FilePages, PagedGraph

VERSION = 1
FILE_NAME = "profile.json"

#: Vectors to gather from.
GATHER_BYTES = (1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)


@dataclass(frozen=True, slots=True)
class Cores:
    """What kernels cost on a number of threads."""

    #: Bytes of a vector, ascending, and the time of a 4-byte value from a random place of it.
    gather_bytes: tuple[int, ...]
    gather_ns: tuple[float, ...]
    #: A list without entries, and how much more one with a few takes besides its gathers.
    vertex_ns: float
    list_ns: float
    #: Turning a page into lists.
    decode_edge_ns: float
    decode_vertex_ns: float
    #: A piece of work that is taken by a thread.
    call_ns: float
    #: A byte read in order from memory; a byte of memory that is new from the system, in a long
    #: array and in the buffer of a page.
    sweep_ns: float
    array_ns: float
    buffer_ns: float


@dataclass(frozen=True, slots=True)
class Disk:
    """What reading pages costs, past the system's cache. Rates in bytes a second."""

    #: In order, by several streams and by one alone.
    rate: float
    stream_rate: float
    #: Anywhere, by several streams.
    random_rate: float
    #: Processor time of a byte.
    cpu_ns: float

    @property
    def ratio(self) -> float:
        """How many times faster reading in order is than reading anywhere."""
        return max(self.rate / self.random_rate, 1.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """What an estimate needs to know of the machine. No disk: the graph is in memory."""

    threads: int
    cores: Cores
    disk: Disk | None


def profile_for(graph: Graph, threads: int, memory: int, *, anew: bool = False) -> Profile:
    """The profile for runs on a graph; what is not known yet is measured, within ``memory``."""
    folder = cache_folder()
    path = None if folder is None else folder / FILE_NAME
    kept = {} if anew or path is None else _read(path)
    cores: dict[str, Any] = kept.get("cores", {})
    disks: dict[str, Any] = kept.get("disks", {})
    before = json.dumps([cores, disks])
    found = _cores(cores.get(str(threads)), threads, memory)
    cores[str(threads)] = asdict(found)
    disk = None
    storage = graph.storage
    if storage is not None and isinstance(storage.pages(storage.directions[0]), FilePages):
        place = _place(storage)
        disk = _disk(disks.get(place), storage, threads)
        if disk is not None:
            disks[place] = asdict(disk)
    if path is not None and json.dumps([cores, disks]) != before:
        whole = {"version": VERSION, "machine": machine(), "cores": cores, "disks": disks}
        _write(path, whole)
    return Profile(threads, found, disk)


def _cores(kept: Any, threads: int, memory: int) -> Cores:
    sizes = _measurable(memory)
    found: Cores | None = _restore(Cores, kept)
    if found is None or len(found.gather_bytes) < len(sizes):
        from penstock.engine.measuring import measure_cores

        found = measure_cores(threads, sizes)
    return found


def _measurable(memory: int) -> tuple[int, ...]:
    """Vectors that fit the memory beside what else measuring takes."""
    return tuple(size for size in GATHER_BYTES if 2 * size <= memory) or GATHER_BYTES[:1]


def _disk(kept: Any, graph: PagedGraph, threads: int) -> Disk | None:
    found: Disk | None = _restore(Disk, kept)
    if found is None:
        from penstock.engine.measuring import measure_disk

        found = measure_disk(graph, threads)
    return found


def _place(graph: PagedGraph) -> str:
    """What the figures of a graph's storage are kept under."""
    assert graph.path is not None
    stripes = set(range(graph.catalog.num_stripes)) - set(graph.missing)
    devices = sorted({os.stat(graph.path / stripe_name(k)).st_dev for k in stripes})
    return "+".join(map(str, devices)) + f", pages of {graph.catalog.page_bytes}"


def machine() -> dict[str, Any]:
    """What a profile belongs to: the processor and the number of cores."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {"cpu": model, "cores": os.cpu_count()}


# The file


def _read(path: Path) -> dict[str, Any]:
    """What was kept for this machine; nothing if it is not there, damaged or of another one."""
    try:
        kept = json.loads(path.read_bytes())
        if (kept["version"], kept["machine"]) != (VERSION, machine()):
            return {}
        if not all(isinstance(kept[part], dict) for part in ("cores", "disks")):
            return {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    return dict(kept)


def _restore(cls: type[Any], data: Any) -> Any:
    """A part as it was kept, or None if it is not whole."""
    try:
        part = cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})
        for each in fields(cls):
            value = getattr(part, each.name)
            for number in value if isinstance(value, tuple) else (value,):
                if not (math.isfinite(number) and number >= 0):
                    return None
        if cls is Disk and not min(part.rate, part.stream_rate, part.random_rate) > 0:
            return None
        if cls is Cores and not 0 < len(part.gather_bytes) == len(part.gather_ns):
            return None
    except (AttributeError, TypeError, ValueError):
        return None
    return part


def _write(path: Path, kept: dict[str, Any]) -> None:
    """Keep a profile; where nothing can be written, it is measured again next time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(kept, file, indent=1)
        os.replace(file.name, path)
    except OSError:
        return
