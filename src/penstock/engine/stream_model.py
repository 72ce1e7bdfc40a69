"""What a run would take on devices that are only described, by the cost model of GStream 2.0. Pure
functions.

Values that are read and written (WA) stay on the devices; pages, and with them the values that are
only read (RA), are sent to the devices in each pass, except pages that a device still has.
Storages, links and kernels work at the same time, so that the slowest of them sets the pace:

    max(bytes read / storages, bytes sent / links, edges / kernels)
        + passes x copies of WA to the devices and back

Nothing here was measured. What a kernel costs is not in the model unless a rate is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from penstock.config import format_bytes
from penstock.engine.division import MOST_RANGES
from penstock.engine.machine import Devices, Machine, Strategy
from penstock.engine.page_model import Pages
from penstock.errors import BudgetError, OptionError

Bottleneck = Literal["storage", "link", "kernels", "copies"]


@dataclass(frozen=True, slots=True)
class Attributes:
    """Bytes of values for each vertex."""

    #: Read and written, on a device: WA. Read only, sent with the pages: RA.
    written: int
    read: int


#: What the paper's Table 4 has, by Penstock's names. PageRank reads prevPR and writes nextPR.
PAPER_ATTRIBUTES = {
    "bfs": Attributes(2, 0),
    "connected_components": Attributes(8, 0),
    "pagerank": Attributes(4, 4),
    "sssp": Attributes(4, 0),
}
#: Passes of the paper's PageRank.
PAPER_PASSES = {"pagerank": 10.0}


@dataclass(frozen=True, slots=True)
class Workload:
    """What is to be done: a graph in pages, values, and times that all pages are gone over."""

    pages: Pages
    attributes: Attributes
    passes: float

    @property
    def written_bytes(self) -> int:
        """Of WA, for all vertices."""
        return self.pages.num_vertices * self.attributes.written

    @property
    def read_bytes(self) -> int:
        """Of RA, for all vertices."""
        return self.pages.num_vertices * self.attributes.read


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """How a device uses its memory."""

    strategy: Strategy
    #: WA is in so many parts, one after the other, and the pages pass once for each (W).
    chunks: int
    streams: int
    #: On one device: WA (WABuf), RA of the pages that are there (RABuf), pages (SPBuf and LPBuf).
    written_bytes: int
    read_buffer_bytes: int
    #: Pages of the streams; those of earlier passes stay as far as there is room (B).
    buffer_pages: int
    buffer_bytes: int

    @property
    def memory_bytes(self) -> int:
        """All of it."""
        return self.written_bytes + self.read_buffer_bytes + self.buffer_bytes


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model says."""

    plan: DevicePlan
    seconds: float
    #: Parts of it: the longest of the first three counts, and the last.
    storage_seconds: float
    link_seconds: float
    kernel_seconds: float
    copy_seconds: float
    limit: Bottleneck
    #: Topology through the slowest of storages and links, nothing kept, nothing else counted: the
    #: paper's own arithmetic.
    plain_seconds: float
    #: Pages found on a device, and in the host's memory, after the first pass.
    device_hits: float
    host_hits: float
    #: From storage; to one device.
    bytes_read: int
    bytes_sent: int
    #: In the host's memory: pages that stay there or are on their way, and all values.
    host_bytes: int


def attributes_of(algorithm: str) -> Attributes:
    """What the paper keeps of each vertex for an algorithm; raises if it does not say."""
    found = PAPER_ATTRIBUTES.get(algorithm)
    if found is None:
        raise OptionError(
            f"device: the papers' model says what values {', '.join(PAPER_ATTRIBUTES)} keep on a "
            f"device; got {algorithm}: choose one of these, or leave out --device"
        )
    return found


def plan_device(work: Workload, devices: Devices) -> DevicePlan:
    """How the values are placed; raises if they cannot be.

    WA goes whole to each device if it fits beside one page and its RA (Strategy P), else in equal
    parts (Strategy S), and if these do not fit either, in chunks.
    """
    form = work.pages.format
    page_values = min(form.most_vertices, work.pages.num_vertices) * work.attributes.read
    stream_bytes = form.page_bytes + page_values
    room = devices.memory_bytes - stream_bytes
    fits_one = work.written_bytes <= room
    strategy = devices.strategy or ("P" if fits_one else "S")
    share = devices.count if strategy == "S" else 1
    chunks = 1 if room <= 0 else max(math.ceil(work.written_bytes / (share * room)), 1)
    if room <= 0 or chunks > MOST_RANGES or (strategy == "P" and not fits_one):
        raise BudgetError(_refusal(work, devices, strategy, stream_bytes))
    held = math.ceil(work.written_bytes / (share * chunks))
    left = devices.memory_bytes - held
    streams = min(devices.streams, left // stream_bytes, max(work.pages.count, 1))
    read_buffer = streams * page_values
    buffer_pages = min((left - read_buffer) // form.page_bytes, max(work.pages.count, 1))
    return DevicePlan(
        strategy, chunks, streams, held, read_buffer, buffer_pages, buffer_pages * form.page_bytes
    )


def _refusal(work: Workload, devices: Devices, strategy: Strategy, stream_bytes: int) -> str:
    each = f"a page on its way with its values {format_bytes(stream_bytes)}"
    if strategy == "P":
        need = work.written_bytes + stream_bytes
        values = f"the values take {format_bytes(work.written_bytes)}, "
    else:
        need = stream_bytes + math.ceil(work.written_bytes / (devices.count * MOST_RANGES))
        values = ""
    do = " or strategy=S" if strategy == "P" and devices.strategy else ""
    return (
        f"device: {format_bytes(devices.memory_bytes)} is not enough: {values}{each}; "
        f"requires a device of at least {format_bytes(need)}{do}"
    )


def predict(work: Workload, machine: Machine) -> Prediction:
    """How long a run would take on a machine."""
    devices, storages = machine.devices, machine.storages
    plan = plan_device(work, devices)
    topology = work.pages.topology_bytes
    rounds = work.passes * plan.chunks
    split = devices.count if plan.strategy == "P" else 1
    total = max(work.pages.count, 1)
    # B / (S + L): in Strategy P each device keeps pages of its own, in S all keep the same.
    device_hits = min(split * plan.buffer_pages / total, 1.0)
    host_hits = 1.0 if storages is None else storages.kept_share(topology)
    # Pages come to a device through the host's buffer, in one order: the smaller of the two has
    # nothing that the larger has not.
    read = 0.0 if storages is None else topology * _cold(rounds, max(host_hits, device_hits))
    sent = (topology * _cold(rounds, device_hits) + rounds * work.read_bytes) / split
    storage = 0.0 if storages is None else read / storages.total_rate
    link = _link_seconds(sent, split, devices)
    kernels = 0.0
    if devices.edge_rate is not None:
        # Each device does the edges of its pages (P), or those that lead to its values (S).
        kernels = work.passes * work.pages.num_edges / (devices.count * devices.edge_rate)
    copies = math.ceil(work.passes) * _copy_seconds(work, plan, devices)
    parts: dict[Bottleneck, float] = {"storage": storage, "link": link, "kernels": kernels}
    # With one stream a page is read, sent and worked on before the next.
    paced = max(parts.values()) if plan.streams > 1 else sum(parts.values())
    parts["copies"] = copies
    plain = _link_seconds(topology * rounds / split, split, devices)
    if storages is not None:
        plain = max(plain, topology * rounds / storages.total_rate)
    return Prediction(
        plan,
        paced + copies,
        storage,
        link,
        kernels,
        copies,
        max(parts, key=lambda part: parts[part]),
        plain,
        device_hits,
        host_hits,
        round(read),
        round(sent),
        _host_bytes(work, plan, devices, host_hits),
    )


def _cold(rounds: float, hits: float) -> float:
    """Times that all pages come: the first time none is there yet."""
    return min(rounds, 1.0) + max(rounds - 1.0, 0.0) * (1.0 - hits)


def _host_bytes(work: Workload, plan: DevicePlan, devices: Devices, host_hits: float) -> int:
    moving = min(devices.count * plan.streams, work.pages.count) * work.pages.format.page_bytes
    pages = max(round(host_hits * work.pages.topology_bytes), moving)
    return pages + work.written_bytes + work.read_bytes


def _link_seconds(sent: float, split: int, devices: Devices) -> float:
    """Sending so many bytes to each device at the same time, different ones to so many of them."""
    seconds = sent / devices.link_rate
    if devices.page_rate is not None:
        seconds = max(seconds, split * sent / devices.page_rate)
    return seconds


def _copy_seconds(work: Workload, plan: DevicePlan, devices: Devices) -> float:
    """WA to the devices and back, once, in long copies.

    In Strategy P it goes whole to all devices at the same time; the others then send theirs to the
    first one, which merges them, and that goes back to the host. In Strategy S each device gets its
    part at the same time, and the parts come back one after the other.
    """
    whole = work.written_bytes / devices.link_rate
    if plan.strategy == "P":
        return whole + (devices.count - 1) * whole + whole
    return whole / devices.count + whole
