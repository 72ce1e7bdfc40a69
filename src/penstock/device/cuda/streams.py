"""One GPU with its streams: buffers within the budget, loads in their cache, launches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.device.cuda.kernels import CudaKernels
from penstock.device.cuda.loads import MAX_LOAD, Load, Loads
from penstock.device.cuda.memory import (
    ALIGNMENT,
    DeviceMemory,
    Span,
    SpanCache,
    check_gpu,
    device_limit,
    gpu,
    numba_cuda,
    processors,
    simulated,
    view,
)
from penstock.device.signature import ProgramSignature
from penstock.device.spec import Device
from penstock.errors import BudgetError
from penstock.stream.budget import spell_enough
from penstock.types import U8

#: What a load is called: kind, lowest neighbour, page, first vertex, the vertex after the last.
Key = tuple[Any, ...]
#: The simulator runs one kernel at a time, whoever launches it.
_one_at_a_time = threading.Lock()
#: What a kernel's loops over all items are shared among, in blocks for each multiprocessor.
GRID_BLOCKS = 32


class Stream:
    """A queue of copies and kernels, and the buffers of the host thread that fills it."""

    def __init__(self, memory: DeviceMemory, number: int) -> None:
        self.queue: Any = numba_cuda().stream()
        #: Bytes on the device to work in.
        self.room: Any = None
        self._memory = memory
        self._number = number
        self._pinned: dict[str, U8] = {}

    def pinned(self, what: str, size: int) -> U8:
        """A pinned buffer of the host with at least so many bytes: for ``lists`` or ``values``."""
        had = self._pinned.get(what)
        if had is None or len(had) < size:
            self._pinned.pop(what, None)
            del had
            name = f"pinned {what} {self._number}"
            self._pinned[what] = self._memory.host_array(name, 1 << max(size - 1, 1).bit_length())
        return self._pinned[what]

    def close(self) -> None:
        """Forget the buffers."""
        self._pinned.clear()
        self.room = None


class Streams:
    """The streams of a GPU, and the loads that they share.

    What is left of the budget beside resident values is divided into room to work, for each
    stream, and a buffer of loads, which is also the cache of those that were used (SPBuf and
    LPBuf). Both are as large as the budget allows.
    """

    def __init__(self, spec: Device, signature: ProgramSignature, count: int) -> None:
        check_gpu(spec.number)
        self.spec = spec
        self.kernels = CudaKernels(signature, spec.block)
        with gpu(spec.number):
            self.memory = DeviceMemory(spec.name, device_limit(spec.name, spec.memory))
            self._grid = GRID_BLOCKS * processors()
            self.loads = Loads(self.kernels, spec, 2 * processors())
            self.each = [Stream(self.memory, k) for k in range(count)]
            #: For what is done between iterations.
            self.own = Stream(self.memory, count)
        #: Called when memory is short: who can do with less gives some back.
        self.give_way: Callable[[], None] = lambda: None
        self.cache_hits = 0
        self.cache: SpanCache | None = None
        self._buffer: Any = None
        #: By thread and key.
        self._asked: dict[tuple[int, Key], Span] = {}
        self._turn = threading.RLock()

    # Buffers

    def drop(self) -> None:
        """Give back room and loads, to make them anew with another size."""
        self.cache = None
        self._buffer = None
        self._asked.clear()
        for stream in self.each:
            stream.room = None
        self.memory.free("loads", *(f"room {k}" for k in range(len(self.each))))

    def fits(self, resident: int) -> bool:
        """Whether so many more bytes leave enough to work with, once :meth:`drop` was called."""
        return self.memory.budget.used + resident + self._least() <= self.memory.budget.limit

    def check(self, resident: int, holder: str) -> None:
        """Raise a BudgetError that says how many are required, unless they do."""
        if not self.fits(resident):
            self.give_way()
        if not self.fits(resident):
            budget, least = self.memory.budget, self._least()
            raise BudgetError(
                f"devices: {self.spec.name}: {holder} need {format_bytes(resident)} and "
                f"{len(self.each)} streams {format_bytes(least)}, of {format_bytes(budget.limit)}; "
                f"requires at least {spell_enough(budget.used + resident + least)}, or fewer "
                "streams, or more devices"
            )

    @property
    def _users(self) -> int:
        """Loads that others may use when a stream needs one: one each, and those asked for."""
        return 2 * len(self.each) - 1

    def _least(self) -> int:
        load, room = self.loads.least()
        return len(self.each) * room + (2 * self._users + 1) * load

    def make(self) -> SpanCache:
        """Make the buffers, if they are not there: a quarter of what is left is room, at most."""
        with self._turn:
            if self.cache is None:
                self.check(0, "values")
                count, (_, room) = len(self.each), self.loads.least()
                spare = self.memory.budget.left - self._least()
                more = min(spare // (4 * count), max(self.loads.useful_room() - room, 0))
                room += more // ALIGNMENT * ALIGNMENT
                for k, stream in enumerate(self.each):
                    stream.room = self.memory.array(f"room {k}", room, np.uint8)
                left = self.memory.budget.left
                self._buffer = self.memory.array("loads", left, np.uint8)
                self.cache = SpanCache(left, self._users)
            return self.cache

    @property
    def limits(self) -> tuple[int, int]:
        """Bytes of a load, and of the room to work on it, at most."""
        return min(self.make().largest, MAX_LOAD), len(self.each[0].room)

    def close(self) -> None:
        """Give back everything."""
        with gpu(self.spec.number):
            self.drop()
            for stream in (*self.each, self.own):
                stream.close()
            self.memory.close()

    # Loads

    def ask(self, key: Key) -> bool:
        """Whether a load is there. If so, it stays until the calling thread uses it, or asks for
        one of another page.
        """
        thread = threading.get_ident()
        with self._turn:
            for mine in [each for each in self._asked if each[0] == thread]:
                if mine[1][:3] != key[:3]:
                    self._let_go(mine)
            if (thread, key) in self._asked:
                return True
            if self.cache is None or len(self._asked) >= len(self.each):
                return False
            span = self.cache.acquire(key)
            if span is not None:
                self._asked[thread, key] = span
            return span is not None

    def _let_go(self, asked: tuple[int, Key]) -> None:
        span = self._asked.pop(asked)
        if self.cache is not None:
            self.cache.release(span)

    def forget_asked(self) -> None:
        """Nobody is to use what was asked for."""
        with self._turn:
            for each in list(self._asked):
                self._let_go(each)

    def find(self, key: Key) -> Span | None:
        """A load that is there, in use from now on."""
        with self._turn:
            span = self._asked.pop((threading.get_ident(), key), None)
            if span is None:
                span = self.make().acquire(key)
            self.cache_hits += span is not None
        return span

    @contextmanager
    def using(self, stream: Stream, span: Span) -> Iterator[Load]:
        """Work with a load that is there; ends when the stream's queue is empty."""
        assert self.cache is not None
        try:
            yield span.content
            stream.queue.synchronize()
        finally:
            self.cache.release(span)

    @contextmanager
    def loading(self, stream: Stream, load: Load, staged: U8, key: Key | None) -> Iterator[Load]:
        """Copy a load to the device and work with it; ends when the stream's queue is empty.

        Only then others can find it: before, it may still be on its way.
        """
        cache, size = self.make(), load.layout.size
        span = cache.place(key, size)
        try:
            try:
                load.arrays = load.layout.on_device(self._buffer, span.begin)
                whole = view(self._buffer, span.begin, span.begin + size)
                whole.copy_to_device(staged[:size], stream=stream.queue)
                yield load
            finally:  # nothing may be on its way to a place that others take
                stream.queue.synchronize()
            cache.keep(span, load)
        finally:
            cache.release(span)

    # Launches

    def launch(
        self, name: str, items: int, stream: Stream, given: Mapping[str, Any], shared: int = 0
    ) -> int:
        """Start a kernel over so many items; returns the number of blocks."""
        block = self.spec.block
        if name in ("gather_shards", "fold"):
            grid = items
        elif name == "gather_list":
            grid = min(-(-items // block), self.loads.most_blocks)
        else:
            threads = {"gather_warps": 32, "gather_blocks": block}.get(name, 1)
            threads = given["width"] if name == "push" else threads
            grid = min(-(-items * threads // block), self._grid)
        grid = max(grid, 1)
        turn = _one_at_a_time if simulated() else nullcontext()
        if name == "gather_warps" and not simulated():
            name = "gather_warps_shuffle"
        with turn:
            self.kernels.launch(name, grid, block, stream.queue, shared, given)
        return grid

    def gather(self, load: Load, stream: Stream, given: dict[str, Any]) -> None:
        """Start what makes accumulators of a load's lists."""
        given = {**given, **load.arrays, "first": load.first, "count": load.count}
        for each in load.launches:
            if each.chosen is not None:
                given["chosen"] = load.arrays[each.chosen]
            grid = self.launch(each.kernel, each.work, stream, given, each.shared_bytes)
            if each.kernel == "gather_list" and grid > 1:
                self.launch("fold", 1, stream, {**given, "count": grid})
