"""Memory of a GPU: a budget, buffers with names, and a cache of loads.

The few calls that differ between a driver and Numba's simulator are functions of their own, the
first ones here; what they do with a driver was written from its documentation, and never run on a
GPU.
"""

from __future__ import annotations

import bisect
import importlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.errors import BudgetError, OptionError
from penstock.stream.budget import Budget
from penstock.types import U8, Array

#: Arrays begin at multiples of this: it suits every dtype, and reads that are done together.
ALIGNMENT = 256
#: Left to the driver, and to others, when a device has no limit of its own.
MARGIN = 256 << 20
#: What the simulator's GPU has; it says that it has no end.
SIMULATED_BYTES = 64 << 20
_SIMULATED_PROCESSORS = 2


def simulated() -> bool:
    """Whether kernels run in Numba's simulator."""
    config: Any = importlib.import_module("numba.core.config")
    return bool(config.ENABLE_CUDASIM)


def numba_cuda() -> Any:
    """The module, imported when the first GPU is asked for."""
    return importlib.import_module("numba.cuda")


def gpu(number: int) -> AbstractContextManager[Any]:
    """The context of a GPU for the calling thread; the simulator has one GPU of any number."""
    if simulated():
        number = 0
    found: AbstractContextManager[Any] = numba_cuda().gpus[number]
    return found


def check_gpu(number: int) -> None:
    """Raise an OptionError if there is no such GPU."""
    if simulated():
        return
    if not numba_cuda().is_available():
        raise OptionError(
            f"devices: cuda:{number}: Numba finds no CUDA driver; install penstock[cuda] and a "
            "driver, or leave the device out"
        )
    count = len(numba_cuda().gpus)
    if number >= count:
        raise OptionError(f"devices: cuda:{number}: there are {count} GPUs, numbered from 0")


def free_bytes() -> int:
    """Bytes that can be taken on the current GPU, with a margin left."""
    if simulated():
        return SIMULATED_BYTES
    free = int(numba_cuda().current_context().get_memory_info().free)
    return max(free - max(MARGIN, free // 16), 0)


def device_limit(name: str, asked: int | None) -> int:
    """The budget of the current GPU: what was asked for, or what it has."""
    found = free_bytes()
    if asked is not None and asked > found and not simulated():
        raise BudgetError(
            f"devices: {name}: the GPU has only {format_bytes(found)} to give; ask for less, or "
            "for no number at all"
        )
    return found if asked is None else asked


def processors() -> int:
    """How many multiprocessors the current GPU has."""
    if simulated():
        return _SIMULATED_PROCESSORS
    return int(numba_cuda().get_current_device().MULTIPROCESSOR_COUNT)


def _flush() -> None:
    """Free what Numba has been asked to free and keeps for later."""
    if not simulated():
        numba_cuda().current_context().deallocations.clear()


def _storage(array: Any) -> Any:
    """What stays alive as long as a view of it does; with a driver, the array itself."""
    return array._ary if simulated() else array


def view(array: Any, begin: int, end: int, dtype: np.dtype[Any] | None = None) -> Any:
    """Part of an array on the device, perhaps as another dtype (of a byte array).

    Slices are enough in the simulator. With a driver they count references to the memory, and
    threads that make slices of the same array at once can miscount; so there a view is made of an
    address. What owns the memory must outlive it.
    """
    dtype = array.dtype if dtype is None else dtype
    if simulated():
        return array[begin:end].view(dtype)
    at = array.__cuda_array_interface__["data"][0] + begin * array.dtype.itemsize
    count = (end - begin) * array.dtype.itemsize // dtype.itemsize
    described = {
        "shape": (count,), "strides": None, "typestr": dtype.str, "data": (at, False), "version": 3,
    }  # fmt: skip
    return numba_cuda().from_cuda_array_interface(described, owner=array, sync=False)


_peers: dict[tuple[int, int], bool] = {}


def can_copy_directly(source: int, target: int) -> bool:
    """Whether one GPU's memory can be copied to another's without the host's."""
    if simulated() or source == target:
        return True
    if (source, target) not in _peers:
        with numba_cuda().gpus[target]:
            context = numba_cuda().current_context()
            possible = bool(context.can_access_peer(source))
            if possible:
                _enable_peer(context, source)
        _peers[source, target] = possible
    return _peers[source, target]


def _enable_peer(context: Any, source: int) -> None:
    """Let a context reach another GPU's memory; others in this process may have done so."""
    try:
        context.enable_peer_access(numba_cuda().gpus[source].get_primary_context().handle)
    except Exception as error:
        if "ALREADY_ENABLED" not in str(error):
            raise


def copy_between(target: Any, source: Any, gpus: tuple[int, int], stream: Any) -> None:
    """Copy an array of the first GPU to the second, whose context is the current one."""
    if can_copy_directly(*gpus):
        target.copy_to_device(source, stream=stream)
        return
    through: Array = np.empty(source.size, source.dtype)
    with gpu(gpus[0]):
        source.copy_to_host(through)
    target.copy_to_device(through, stream=stream)
    stream.synchronize()


class DeviceMemory:
    """All that is held on one device, and the pinned host memory that goes with it."""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.budget = Budget(limit)
        #: Pinned bytes of the host, by holder.
        self.pinned: dict[str, int] = {}
        self._arrays: dict[str, Any] = {}
        self._given: list[tuple[str, weakref.ref[Any]]] = []
        self._lock = threading.Lock()

    def array(self, holder: str, count: int, dtype: Any) -> Any:
        """A new array on the device, under a name of its own."""
        dtype = np.dtype(dtype)
        with self._lock:
            assert holder not in self._arrays, holder
            self.budget.take(max(count, 1) * dtype.itemsize, holder)
            try:
                made = numba_cuda().device_array(max(count, 1), dtype)
            except Exception as error:
                self.budget.give_back(holder)
                raise self._refused(holder, count * dtype.itemsize, error) from error
            self._arrays[holder] = made
            self._given.append((holder, weakref.ref(_storage(made))))
        return made

    def _refused(self, holder: str, size: int, error: Exception) -> Exception:
        """The driver had no memory although the budget did: others hold some."""
        if "OUT_OF_MEMORY" not in str(error) and not isinstance(error, MemoryError):
            return error
        return BudgetError(
            f"devices: {self.name}: {holder}: the GPU did not give {format_bytes(size)}, since "
            "others have taken some of its memory; try again, or give the device less"
        )

    def host_array(self, holder: str, size: int) -> U8:
        """New pinned bytes of the host, in place of those that had the name."""
        with self._lock:
            self._arrays.pop(holder, None)
            made: U8 = numba_cuda().pinned_array(size, np.uint8)
            self.pinned[holder] = size
            self._arrays[holder] = made
            self._given.append((holder, weakref.ref(made)))
        return made

    def free(self, *holders: str) -> None:
        """Give back arrays by name; names that hold nothing are passed over."""
        with self._lock:
            for holder in holders:
                self._arrays.pop(holder, None)
                self.pinned.pop(holder, None)
                self.budget.give_back(holder)
            self._given = [each for each in self._given if each[1]() is not None]
        _flush()

    def close(self) -> None:
        """Give back everything."""
        self.free(*list(self._arrays))

    @property
    def held(self) -> list[str]:
        """Names that hold memory, and names that gave it back but that somebody still uses."""
        with self._lock:
            alive = [name for name, made in self._given if made() is not None]
        return sorted({*self._arrays, *self.budget.holders, *alive})


class Layout:
    """Arrays one after another in a buffer of bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._places: dict[str, tuple[int, int, np.dtype[Any]]] = {}

    def add(self, name: str, count: int, dtype: Any) -> None:
        """Room for an array; one without elements gets room for one, so that it has an address."""
        dtype = np.dtype(dtype)
        end = self.size + max(count, 1) * dtype.itemsize
        self._places[name] = (self.size, end, dtype)
        self.size = -(-end // ALIGNMENT) * ALIGNMENT

    def begin(self, name: str) -> int:
        """The byte that an array begins with."""
        return self._places[name][0]

    def on_device(self, buffer: Any, at: int = 0) -> dict[str, Any]:
        """The arrays in a buffer on the device."""
        return {
            name: view(buffer, at + begin, at + end, dtype)
            for name, (begin, end, dtype) in self._places.items()
        }

    def on_host(self, buffer: U8, names: set[str] | None = None) -> dict[str, Array]:
        """The arrays in a host buffer that has the same layout, or some of them."""
        return {
            name: buffer[begin:end].view(dtype)
            for name, (begin, end, dtype) in self._places.items()
            if names is None or name in names
        }


class Span:
    """A part of the cache: bytes ``begin`` to ``end``, and what they are to their user."""

    __slots__ = ("begin", "content", "end", "key", "users")

    def __init__(self, begin: int, end: int, key: Hashable | None) -> None:
        self.begin, self.end, self.key = begin, end, key
        self.users = 1
        self.content: Any = None


class SpanCache:
    """Which bytes of a buffer hold which loads. What was not used for longest makes room (LRU).

    With ``users`` spans in use besides, there is always room for a span of ``largest`` bytes: they
    leave ``users + 1`` gaps at most, which have ``capacity - users * largest`` bytes together.
    """

    def __init__(self, capacity: int, users: int) -> None:
        self.capacity = capacity
        self.largest = capacity // (2 * users + 1) // ALIGNMENT * ALIGNMENT
        self.evictions = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Span] = OrderedDict()
        #: Gaps in order, as lists of where they begin and where they end.
        self._begins, self._ends = [0], [capacity]
        #: No gap has so many bytes.
        self._too_long = capacity + 1

    def acquire(self, key: Hashable) -> Span | None:
        """The span with this key, in use from now on; None if it is not there."""
        with self._lock:
            span = self._kept.get(key)
            if span is not None:
                span.users += 1
                self._kept.move_to_end(key)
            return span

    def place(self, key: Hashable | None, size: int) -> Span:
        """A new span, in use; one without a key is not kept. :meth:`keep` lets others find it."""
        size = -(-size // ALIGNMENT) * ALIGNMENT
        assert size <= self.largest
        with self._lock:
            where = self._gap(size)
            while where is None:
                oldest = next((span for span in self._kept.values() if span.users == 0), None)
                if oldest is None:
                    raise RuntimeError("more loads of a GPU are in use than it has streams for")
                where = self._evict(oldest, size)
            begin = self._begins[where]
            self._begins[where] += size
            if self._begins[where] == self._ends[where]:
                del self._begins[where], self._ends[where]
            return Span(begin, begin + size, key)

    def keep(self, span: Span, content: Any) -> None:
        """The span holds what its key says."""
        with self._lock:
            span.content = content
            if span.key is not None and span.key not in self._kept:
                self._kept[span.key] = span

    def release(self, span: Span) -> None:
        """One user less; what cannot be found again is free then."""
        with self._lock:
            span.users -= 1
            if span.users == 0 and self._kept.get(span.key) is not span:
                self._free(span)

    def _evict(self, span: Span, size: int) -> int | None:
        """Free a span; the gap that it is in now, if that is large enough."""
        del self._kept[span.key]
        self.evictions += 1
        where = self._free(span)
        return where if self._ends[where] - self._begins[where] >= size else None

    def _free(self, span: Span) -> int:
        """Make a gap of a span, together with those beside it."""
        span.content = None
        k = bisect.bisect_left(self._begins, span.begin)
        if k < len(self._begins) and self._begins[k] == span.end:
            self._begins[k] = span.begin
        else:
            self._begins.insert(k, span.begin)
            self._ends.insert(k, span.end)
        if k > 0 and self._ends[k - 1] == span.begin:
            self._ends[k - 1] = self._ends[k]
            del self._begins[k], self._ends[k]
            k -= 1
        self._too_long = max(self._too_long, self._ends[k] - self._begins[k] + 1)
        return k

    def _gap(self, size: int) -> int | None:
        """The first gap that is large enough."""
        if size >= self._too_long:
            return None
        pairs = zip(self._begins, self._ends, strict=True)
        found = next((k for k, (begin, end) in enumerate(pairs) if end - begin >= size), None)
        if found is None:
            self._too_long = size
        return found
