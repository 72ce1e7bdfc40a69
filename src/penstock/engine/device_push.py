"""Push on devices with memory of their own: accumulators stay there until an iteration ends.

Strategy P: each page of out-lists goes to one device, and the accumulators of all are summed up.
Strategy S: each device has the accumulators of some vertices, and every page goes to all. The pages
that devices say they have reached (GStream's nextPIDSet) are the only ones that are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine.device_group import DeviceGroup
from penstock.engine.engine import Engine
from penstock.engine.narrowing import narrow_to
from penstock.stream.lists import Piece
from penstock.types import U8, U32, Array


def push_on_devices(engine: Engine, team: DeviceGroup, frontier: U32, args: tuple[Any, ...]) -> U32:
    """Push from active vertices; ``args`` are those of the host's kernel. The vertices that were
    reached, ascending; their accumulators are in the host's.
    """
    gathered, of_dst, sums, _, params = args
    n, devices = engine.num_vertices, team.pushers()
    lists = engine.lists("out")
    divided = team.shares.division == "S"
    size = -(-n // len(devices)) if divided else n
    bounds = [(min(k * size, n), min((k + 1) * size, n)) for k in range(len(devices))]
    if not divided:
        bounds = [(0, n)] * len(devices)
    for device, (low, high) in zip(devices, bounds, strict=True):
        device.begin_push(low, high, tuple(array[low:high] for array in of_dst))

    def work(stream: int, piece: Piece) -> None:
        number = team.number(stream)
        inside = narrow_to(*bounds[number])(piece) if divided else piece
        engine.timed_call(
            stream, piece, devices[number].push, team.place(stream), inside, gathered, params
        )

    lists.visit(frontier, work, dealer=team.dealer)
    reached = [device.touched_pages() for device in devices]
    found: list[U32] = []
    for begin, end in vertex_ranges(lists.table, np.bitwise_or.reduce(reached)):
        for k, (device, (low, high)) in enumerate(zip(devices, bounds, strict=True)):
            first, last = max(begin, low), min(end, high)
            if first >= last or (not divided and k > 0):
                continue
            others = [] if divided else devices[1:]
            vertices, values = device.take_sums(first, last, others)
            for target, part in zip(sums, values, strict=True):
                target[vertices] = part
            found.append(vertices)
    return np.concatenate([np.empty(0, np.uint32), *found])


def vertex_ranges(table: Array, pages: U8) -> list[tuple[int, int]]:
    """The vertices of some pages, neighbours together."""
    chosen = np.flatnonzero(pages)
    begins = table["first_vid"][chosen].astype(np.int64)
    ends = begins + table["num_vertices"][chosen].astype(np.int64)
    if len(chosen) == 0:
        return []
    apart = np.flatnonzero(begins[1:] > ends[:-1]) + 1
    firsts, lasts = np.append(0, apart), np.append(apart, len(chosen)) - 1
    return list(zip(begins[firsts].tolist(), ends[lasts].tolist(), strict=True))
