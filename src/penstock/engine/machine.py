"""A machine that is only described: devices, the links to them, storages. Pure functions.

``gpu:2x12GiB,link=16GB/s,pages=6GB/s`` are two devices of 12 GiB with a link of 16 GB/s each, to
which the host sends pages at 6 GB/s altogether. ``ssd:2x2.5GB/s,buffer=20%`` are two storages that
read 2.5 GB/s each, through a buffer in the host's memory that holds a fifth of the pages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.config import format_bytes, parse_bytes
from penstock.errors import OptionError

#: "P": values on each device, each page to one of them. "S": values divided among the devices, each
#: page to all of them.
Strategy = Literal["P", "S"]

#: Pages on their way to a device at once, and the most that CUDA has.
USUAL_STREAMS = 16
MOST_STREAMS = 32

_DEVICE_FORM = "gpu:[N x]MEMORY,link=RATE such as gpu:2x12GiB,link=6GB/s"
_STORAGE_FORM = "NAME:[N x]RATE such as ssd:2x2.5GB/s"
_HEAD = re.compile(r"\s*([A-Za-z]\w*)\s*:\s*(?:(\d+)\s*[xX*]\s*)?(\S.*?)\s*")
_EDGES = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)\s*(?:/\s*s)?\s*", re.IGNORECASE)
_THOUSANDS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True, slots=True)
class Devices:
    """Devices of one kind.

    ``memory_bytes`` are those of each, ``link_rate`` the bytes a second that go to each.
    """

    count: int
    memory_bytes: int
    link_rate: float
    #: Bytes a second of pages that the host sends, with a page that goes to several devices counted
    #: once; None: as the links take them.
    page_rate: float | None = None
    #: Edges a second that the kernels of one device do; None: not known, taken as no limit.
    edge_rate: float | None = None
    streams: int = USUAL_STREAMS
    #: None: P if the values fit one device, else S.
    strategy: Strategy | None = None


@dataclass(frozen=True, slots=True)
class Storages:
    """Storages of one kind that pages are spread over.

    ``rate`` is the bytes a second of each, in sequence.
    """

    kind: str
    count: int
    rate: float
    #: Pages in the host's memory: bytes, or a share of all.
    buffer_bytes: int = 0
    buffer_share: float = 0.0

    @property
    def total_rate(self) -> float:
        """Of all together."""
        return self.count * self.rate

    def kept_share(self, topology_bytes: int) -> float:
        """The share of the pages that the buffer holds."""
        return min(max(self.buffer_share, self.buffer_bytes / max(topology_bytes, 1)), 1.0)


@dataclass(frozen=True, slots=True)
class Machine:
    """Devices, and where pages come from; None: they are in the host's memory."""

    devices: Devices
    storages: Storages | None = None


def parse_devices(text: str) -> Devices:
    """Devices from their description.

    >>> parse_devices("gpu:2x12GB,link=6GB/s").memory_bytes
    12000000000
    """
    kind, count, size, options = _parts(text, "device", _DEVICE_FORM)
    if kind != "gpu":
        raise OptionError(f"device: expected {_DEVICE_FORM}, got {kind!r} in {text!r}")
    read: dict[str, Callable[[str, str], Any]] = {
        "link": _rate,
        "pages": _rate,
        "edges": _edges,
        "streams": _streams,
        "strategy": _strategy,
    }
    given = _options(options, read, "device")
    if "link" not in given:
        raise OptionError(
            f"device: expected link=RATE, the bytes a second to a device, such as link=6GB/s; "
            f"got {text!r}"
        )
    return Devices(
        count,
        parse_bytes(size, "device"),
        given["link"],
        given.get("pages"),
        given.get("edges"),
        given.get("streams", USUAL_STREAMS),
        given.get("strategy"),
    )


def parse_storages(text: str) -> Storages:
    """Storages from their description.

    >>> parse_storages("hdd:2x165MB/s,buffer=20%").buffer_share
    0.2
    """
    kind, count, rate, options = _parts(text, "storage", _STORAGE_FORM)
    given = _options(options, {"buffer": _buffer}, "storage")
    size, share = given.get("buffer", (0, 0.0))
    return Storages(kind, count, _rate(rate, "storage"), size, share)


def machine_text(machine: Machine) -> str:
    """The machine in words."""
    devices, storages = machine.devices, machine.storages
    text = f"{_number(devices.count, 'GPU')} of {format_bytes(devices.memory_bytes)}, a link of "
    text += f"{format_bytes(devices.link_rate)}/s{' to each' if devices.count > 1 else ''}"
    if devices.page_rate is not None:
        text += f", pages at {format_bytes(devices.page_rate)}/s altogether"
    text += "; "
    if storages is None:
        return text + "all pages in the host's memory"
    return text + f"{_number(storages.count, storages.kind)} of {format_bytes(storages.rate)}/s"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _parts(text: str, name: str, form: str) -> tuple[str, int, str, list[str]]:
    """What stands before the colon, how many there are, their size, and the options."""
    head, *options = text.split(",")
    match = _HEAD.fullmatch(head)
    if match is None:
        raise OptionError(f"{name}: expected {form}, got {text!r}")
    count = int(match[2] or 1)
    if count < 1:
        raise OptionError(f"{name}: expected at least one, got {text!r}")
    return match[1].lower(), count, match[3], options


def _options(
    options: list[str], read: Mapping[str, Callable[[str, str], Any]], name: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for option in options:
        key, equals, value = (part.strip() for part in option.partition("="))
        if not equals or key not in read:
            names = ", ".join(f"{each}=" for each in read)
            raise OptionError(f"{name}: expected one of {names} got {option.strip()!r}")
        if key in found:
            raise OptionError(f"{name}: {key}= is given twice; give it once")
        found[key] = read[key](value, f"{name}: {key}")
    return found


def _rate(text: str, name: str) -> float:
    """Bytes a second."""
    if not re.search(r"/\s*s\s*$", text, re.IGNORECASE):
        raise OptionError(f"{name}: expected bytes a second such as 6GB/s, got {text!r}")
    return float(parse_bytes(text[: text.rindex("/")], name))


def _edges(text: str, name: str) -> float:
    match = _EDGES.fullmatch(text)
    rate = float(match[1]) * _THOUSANDS[match[2].upper()] if match else 0.0
    if not rate > 0 or not math.isfinite(rate):
        raise OptionError(f"{name}: expected edges a second such as 750M/s, got {text!r}")
    return rate


def _streams(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_STREAMS:
        raise OptionError(f"{name}: expected a number from 1 to {MOST_STREAMS}, got {text!r}")
    return int(text)


def _strategy(text: str, name: str) -> Strategy:
    if text == "P":
        return "P"
    if text == "S":
        return "S"
    raise OptionError(
        f"{name}: expected P (values on each device) or S (values divided among devices), "
        f"got {text!r}"
    )


def _buffer(text: str, name: str) -> tuple[int, float]:
    """Bytes, or a share."""
    if not text.endswith("%"):
        return parse_bytes(text, name), 0.0
    try:
        share = float(text[:-1]) / 100
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise OptionError(f"{name}: expected bytes or a share from 0% to 100%, got {text!r}")
    return 0, share
