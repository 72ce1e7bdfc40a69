"""Which device a run is to use: ``cpu``, ``cpu:2``, ``cuda:0@4GB``, ``reference``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from penstock.config import format_bytes, parse_bytes
from penstock.errors import OptionError

Kind = Literal["cpu", "cuda", "reference"]
#: How a GPU gathers lists: see :mod:`penstock.device.cuda.text`.
Gathering = Literal["auto", "shards", "threads", "warps", "blocks", "buckets", "messages"]

_FORM = re.compile(r"([a-z]+)(?::(\d+))?(?:@(\S+))?")
_FORMS = "cpu, cpu:THREADS, cuda, cuda:NUMBER or reference, each with @MEMORY if it has a limit"


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a run.

    ``threads`` is for CPU devices: None takes what the run has. ``memory`` is what the values that
    lists are gathered from, and on a GPU all else too, may take there: None takes what there is.
    The rest is for GPUs and for experiments.
    """

    kind: Kind = "cpu"
    #: Which GPU.
    number: int = 0
    threads: int | None = None
    memory: int | None = None
    #: CPU devices: a kernel's time is made so many times longer, by waiting.
    slowdown: float = 1.0
    #: The dispatcher gives it whole pages or nothing, as it does GPUs.
    only_pulls: bool = False
    gather: Gathering = "auto"
    #: Threads in a block.
    block: int = 256
    #: Copies of each accumulator in shared memory; None: from the degrees of each shard.
    replicas: int | None = None
    #: Pages on their way to the device at once; None: as the run says.
    streams: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise OptionError(f"devices: expected {_FORMS}; got {self.kind!r}")
        if self.threads is not None and self.threads < 1:
            raise OptionError(f"devices: expected at least 1 thread, got {self.threads}")
        for name, value, least in (
            ("number", self.number, 0), ("memory", self.memory, 1), ("streams", self.streams, 1),
        ):  # fmt: skip
            if value is not None and value < least:
                raise OptionError(f"devices: {name}: expected at least {least}, got {value}")
        if not self.slowdown >= 1:
            raise OptionError(f"devices: expected a slowdown of 1 or more, got {self.slowdown}")
        if self.gather not in get_args(Gathering):
            ways = ", ".join(get_args(Gathering))
            raise OptionError(f"devices: gather: expected one of {ways}; got {self.gather!r}")
        if self.block < 32 or self.block > 1024 or self.block & (self.block - 1):
            raise OptionError(
                f"devices: block: expected a power of two from 32 to 1024, got {self.block}"
            )
        if self.replicas not in (None, 1, 2, 4, 8, 16, 32):
            raise OptionError(
                f"devices: replicas: expected 1, 2, 4, 8, 16 or 32; got {self.replicas}"
            )

    @property
    def pulls_only(self) -> bool:
        """Whether it only gathers whole pages; others can look at some of the vertices."""
        return self.only_pulls or self.has_own_memory

    @property
    def has_own_memory(self) -> bool:
        """Whether what it works on must be copied to it: a GPU."""
        return self.kind == "cuda"

    @property
    def name(self) -> str:
        """What to call it, as :func:`parse_device` reads it."""
        number = self.threads if self.kind == "cpu" else self.number
        after = "" if number is None or self.kind == "reference" else f":{number}"
        return f"{self.kind}{after}" + (f"@{format_bytes(self.memory)}" if self.memory else "")


def parse_device(text: str) -> Device:
    """A device as a user writes it."""
    found = _FORM.fullmatch(text.strip().lower())
    if found is None or found[1] not in get_args(Kind) or (found[1] == "reference" and found[2]):
        raise OptionError(f"devices: expected {_FORMS}; got {text!r}")
    kind, number, memory = found[1], found[2], found[3]
    return Device(
        kind=kind,  # type: ignore[arg-type]
        number=int(number or 0) if kind == "cuda" else 0,
        threads=int(number) if kind == "cpu" and number is not None else None,
        memory=None if memory is None else parse_bytes(memory, "devices"),
    )


def parse_devices(value: object) -> tuple[Device, ...]:
    """One device or several: names, a list of them in one text, or :class:`Device` objects."""
    if value is None:
        return (Device(),)
    given = value if isinstance(value, list | tuple) else [value]
    found: list[Device] = []
    for each in given:
        if isinstance(each, Device):
            found.append(each)
        elif isinstance(each, str):
            found += [parse_device(part) for part in each.split(",")]
        else:
            raise OptionError(f"devices: expected {_FORMS}; got {each!r}")
    if not found:
        raise OptionError(f"devices: expected {_FORMS}; got none")
    if len(found) > 1 and any(device.kind == "reference" for device in found):
        raise OptionError("devices: the reference device works alone")
    return tuple(found)
