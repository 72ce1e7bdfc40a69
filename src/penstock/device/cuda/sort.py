"""Sorting pairs on a GPU: see :mod:`penstock.device.sorting`.

Several streams take jobs in rotation, each with memory of its own on the device and pinned memory
on the host: while one copies in, another computes and a third copies out. Radix sort goes from one
copy of the pairs to a second one and back, 4 bits at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numba import cuda

from penstock.config import format_bytes
from penstock.device.cuda import sort_kernels as kernels
from penstock.device.cuda.memory import DeviceMemory, Layout, check_gpu, device_limit, gpu, view
from penstock.device.sorting import Groups, Job, Limits, gather
from penstock.device.spec import Device
from penstock.errors import BudgetError
from penstock.stream.budget import spell_enough
from penstock.types import I64, Array

T = TypeVar("T")

#: Streams if nothing else is asked for: one copies in, one computes, one copies out.
STREAMS = 3
_INTEGER = np.dtype(np.int64)
_ONE_BYTE = np.dtype(np.uint8)


class _Lane:
    """A stream, and the arrays it works with, by name."""

    def __init__(self, device: dict[str, Any], host: dict[str, Array]) -> None:
        self.stream: Any = cuda.stream()
        self.device = device
        self.host = host

    def send(self, name: str, count: int) -> None:
        """Copy the first entries of an array to the device."""
        part = view(self.device[name], 0, count)
        part.copy_to_device(self.host[name][:count], stream=self.stream)

    def fetch(self, name: str, count: int, source: str | None = None) -> None:
        """Copy the first entries of an array to the host."""
        part = view(self.device[source or name], 0, count)
        part.copy_to_host(self.host[name][:count], stream=self.stream)


class CudaSorter:
    """Sorts on one GPU, within the memory that its device says."""

    def __init__(self, device: Device) -> None:
        check_gpu(device.number)
        self.number = device.number
        self.threads = min(device.block, kernels.THREADS)
        self.streams = device.streams or STREAMS
        with gpu(self.number):
            self.memory = DeviceMemory(device.name, device_limit(device.name, device.memory))

    def limits(self, key: np.dtype[Any], value: np.dtype[Any]) -> Limits:
        """See :class:`~penstock.device.sorting.PairSorter`."""

        def size(pairs: int) -> int:
            return self._sort_layout(pairs, key, value).size

        alone, each = self._most(size, 1), self._most(size, self.streams)
        return Limits(alone, each, each)

    def sort(self, jobs: Sequence[Job]) -> None:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        self._sort(jobs, lambda job: None)

    def divide(self, jobs: Sequence[Job], splitters: Array) -> list[I64]:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        bounds: list[I64] = []

        def after(job: Job) -> None:
            inside = np.searchsorted(job.target[0], splitters)
            bounds.append(np.concatenate([[0], inside, [len(job)]]))

        self._sort(jobs, after)
        return bounds

    def scan(self, numbers: Array) -> I64:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        sums: I64 = np.empty(len(numbers) + 1, np.int64)
        total = 0

        def start(lane: _Lane, part: slice) -> None:
            count = part.stop - part.start
            np.copyto(lane.host["level 0"][:count], numbers[part], casting="same_kind")
            lane.send("level 0", count)
            top = self._add_up(lane, count)
            lane.fetch("level 0", count)
            lane.fetch("total", 1, top)

        def finish(lane: _Lane, part: slice) -> None:
            nonlocal total
            lane.stream.synchronize()
            np.add(lane.host["level 0"][: part.stop - part.start], total, out=sums[part])
            total += int(lane.host["total"][0])

        def layout(count: int) -> Layout:
            return self._with_levels(Layout(), count)

        host = {"level 0": (0, _INTEGER), "total": (1, _INTEGER)}
        self._in_parts(len(numbers), layout, host, start, finish)
        sums[-1] = total
        return sums

    def compact(self, keys: Array) -> Groups:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        unique: list[Array] = [np.empty(0, keys.dtype)]
        firsts: list[I64] = []

        def start(lane: _Lane, part: slice) -> None:
            lead, count = min(part.start, 1), part.stop - part.start
            lane.host["keys"][: lead + count] = keys[part.start - lead : part.stop]
            lane.send("keys", lead + count)
            args: tuple[Any, ...] = lane.device["keys"], count, lead, lane.device["level 0"]
            self._launch(lane, count + 1, self.threads, args, kernels.make_mark_firsts)
            top = self._add_up(lane, count + 1)
            args += lane.device["unique"], lane.device["firsts"]
            self._launch(lane, count, self.threads, args, kernels.make_take_firsts)
            lane.fetch("total", 1, top)

        def finish(lane: _Lane, part: slice) -> None:
            lane.stream.synchronize()
            total = int(lane.host["total"][0])
            lane.fetch("keys", total, "unique")
            lane.fetch("firsts", total)
            lane.stream.synchronize()
            unique.append(lane.host["keys"][:total].copy())
            firsts.append(lane.host["firsts"][:total] + part.start)

        def layout(count: int) -> Layout:
            made = Layout()
            made.add("keys", count + 1, keys.dtype)
            made.add("unique", count, keys.dtype)
            made.add("firsts", count, _INTEGER)
            return self._with_levels(made, count + 1)

        host = {"keys": (1, keys.dtype), "firsts": (0, _INTEGER), "total": (1, _INTEGER)}
        self._in_parts(len(keys), layout, host, start, finish)
        return Groups(np.concatenate(unique), np.concatenate([*firsts, [len(keys)]]))

    # Jobs

    def _sort(self, jobs: Sequence[Job], after: Callable[[Job], None]) -> None:
        """Sort each job, and call ``after`` each, in their order."""

        def start(lane: _Lane, job: Job) -> None:
            count = len(job)
            gather(job.pieces, (lane.host["keys"][:count], lane.host["values"][:count]))
            lane.send("keys", count)
            lane.send("values", count)
            suffix = self._sort_by_digits(lane, count, job.bits)
            lane.fetch("keys", count, "keys" + suffix)
            lane.fetch("values", count, "values" + suffix)

        def finish(lane: _Lane, job: Job) -> None:
            lane.stream.synchronize()
            for name, target in zip(("keys", "values"), job.target, strict=True):
                target[:] = lane.host[name][: len(job)]
            after(job)

        longest = max(map(len, jobs))
        key, value = (each.dtype for each in jobs[0].target)
        layout, host = self._sort_layout(longest, key, value), Layout()
        host.add("keys", longest, key)
        host.add("values", longest, value)
        with self._lanes(len(jobs), layout, host) as lanes:
            _rotate(lanes, jobs, start, finish)

    def _sort_by_digits(self, lane: _Lane, count: int, bits: int) -> str:
        """Sort what is on the device; returns the end of the names of the arrays it is in."""
        names, tile = ["", "2"], kernels.tile_pairs(self.threads)
        key, value = lane.device["keys"].dtype, lane.device["values"].dtype
        blocks = -(-count // tile)
        for low in range(0, bits, kernels.DIGIT_BITS):
            keys, values = (lane.device[each + names[0]] for each in ("keys", "values"))
            there = (lane.device[each + names[1]] for each in ("keys", "values"))
            shift, counts = key.type(low), lane.device["level 0"]
            args: tuple[Any, ...] = keys, count, shift, counts
            self._launch(lane, count, tile, args, kernels.make_count_digits, key)
            self._add_up(lane, kernels.DIGITS * blocks)
            args = keys, values, count, shift, counts, *there
            self._launch(lane, count, tile, args, kernels.make_scatter_digits, key, value)
            names.reverse()
        return names[0]

    def _add_up(self, lane: _Lane, count: int) -> str:
        """What stands before each number of level 0; returns the name of the sum of all."""
        tile, sizes = kernels.tile_numbers(self.threads), self._levels(count)
        levels = [lane.device[f"level {k}"] for k in range(len(sizes))]
        for k in range(len(sizes) - 1):
            args = levels[k], sizes[k], levels[k + 1]
            self._launch(lane, sizes[k], tile, args, kernels.make_scan_tiles)
        for k in reversed(range(len(sizes) - 2)):
            args = levels[k], sizes[k], levels[k + 1]
            self._launch(lane, sizes[k], tile, args, kernels.make_add_sums)
        return f"level {len(sizes) - 1}"

    def _launch(
        self, lane: _Lane, count: int, tile: int, args: tuple[Any, ...], make: Any, *dtypes: Any
    ) -> None:
        """A kernel over so many items, of which a block takes a tile."""
        kernel = kernels.compiled(make, self.threads, *dtypes)
        kernel[-(-count // tile), self.threads, lane.stream](*args)

    # Memory

    def _levels(self, count: int) -> list[int]:
        """How many numbers are added up: all; the sums of tiles; the sums of tiles of these; ...;
        the sum of all.
        """
        sizes = [count]
        while len(sizes) == 1 or sizes[-1] > 1:
            sizes.append(-(-sizes[-1] // kernels.tile_numbers(self.threads)))
        return sizes

    def _with_levels(self, layout: Layout, count: int) -> Layout:
        for k, size in enumerate(self._levels(count)):
            layout.add(f"level {k}", size, _INTEGER)
        return layout

    def _sort_layout(self, pairs: int, key: np.dtype[Any], value: np.dtype[Any]) -> Layout:
        """The arrays of a stream that sorts so many pairs."""
        layout = Layout()
        for end in ("", "2"):
            layout.add("keys" + end, pairs, key)
            layout.add("values" + end, pairs, value)
        blocks = -(-pairs // kernels.tile_pairs(self.threads))
        return self._with_levels(layout, kernels.DIGITS * blocks)

    def _most(self, size: Callable[[int], int], streams: int) -> int:
        """How many items each of some streams has room for."""
        share = self.memory.budget.left // streams
        low, high = 0, share
        while low < high:
            middle = (low + high + 1) // 2
            if size(middle) <= share:
                low = middle
            else:
                high = middle - 1
        if low == 0:
            raise BudgetError(
                f"devices: {self.memory.name}: {format_bytes(self.memory.budget.left)} is not "
                f"enough to sort with {streams} streams; "
                f"requires at least {spell_enough(streams * size(self.threads))}"
            )
        return low

    def _in_parts(
        self,
        total: int,
        layout: Callable[[int], Layout],
        host: dict[str, tuple[int, np.dtype[Any]]],
        start: Callable[[_Lane, slice], None],
        finish: Callable[[_Lane, slice], None],
    ) -> None:
        """Go over an array in parts that fit. ``host``: arrays of the host, and how many more
        entries they have than a part; ``total`` has one.
        """
        if total == 0:
            return
        most = min(total, self._most(lambda count: layout(count).size, self.streams))
        pinned = Layout()
        for name, (more, dtype) in host.items():
            pinned.add(name, more if name == "total" else most + more, dtype)
        parts = [slice(at, min(at + most, total)) for at in range(0, total, most)]
        with self._lanes(len(parts), layout(most), pinned) as lanes:
            _rotate(lanes, parts, start, finish)

    @contextmanager
    def _lanes(self, jobs: int, device: Layout, host: Layout) -> Iterator[list[_Lane]]:
        """Streams for so many jobs, with their memory."""
        names = [f"sorting {k}" for k in range(min(jobs, self.streams))]
        lanes: list[_Lane] = []
        with gpu(self.number):
            try:
                for name in names:
                    buffer = self.memory.array(name, device.size, _ONE_BYTE)
                    pinned = self.memory.host_array(f"{name} (host)", host.size)
                    lanes.append(_Lane(device.on_device(buffer), host.on_host(pinned)))
                    del buffer, pinned
                yield lanes
            finally:
                for lane in lanes:
                    lane.stream.synchronize()
                lanes.clear()
                self.memory.free(*names, *(f"{name} (host)" for name in names))


def _rotate(
    lanes: Sequence[_Lane],
    items: Iterable[T],
    start: Callable[[_Lane, T], None],
    finish: Callable[[_Lane, T], None],
) -> None:
    """Start items on one lane after another; each is finished before its lane is used again."""
    waiting: deque[tuple[_Lane, T]] = deque()
    for k, item in enumerate(items):
        if len(waiting) == len(lanes):
            finish(*waiting.popleft())
        lane = lanes[k % len(lanes)]
        start(lane, item)
        waiting.append((lane, item))
    while waiting:
        finish(*waiting.popleft())
