"""The values that lists are gathered from, on a GPU (WABuf)."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.device.cuda.memory import copy_between, gpu, view
from penstock.device.cuda.streams import Streams
from penstock.device.device import Arrays, Change
from penstock.device.signature import ProgramSignature
from penstock.types import Array

#: Devices read each other's values while they take over changes.
_one_at_a_time = threading.RLock()

Ranges = list[tuple[int, int]]


class Values:
    """Gathered fields of vertices ``low`` to ``low + count``.

    If the device holds those of all vertices, and has room, it also keeps the new values that it
    makes, in arrays that take turns with those that are read; if values change in place, there is
    one array of each.
    """

    def __init__(
        self, streams: Streams, signature: ProgramSignature, num_vertices: int, *, in_place: bool
    ) -> None:
        self.low, self.count = 0, -1
        #: By field, what is gathered from.
        self.current: dict[str, Any] = {}
        self._other: dict[str, Any] = {}
        self._streams = streams
        streams.give_way = self._drop_new
        self._num_vertices = num_vertices
        self._in_place = in_place
        self._fields = signature.gathered
        self._changing = tuple(
            name for name in signature.gathered if name in signature.program.state
        )
        #: Vertices that the arrays have room for.
        self._room = -1
        #: Whether new values were made that are not gathered from yet.
        self._made = False

    @property
    def held_bytes(self) -> int:
        """Bytes that are gathered from."""
        return sum(max(self.count, 0) * array.dtype.itemsize for array in self.current.values())

    @property
    def kept(self) -> tuple[str, ...]:
        """Fields whose new values are kept here when vertices are applied."""
        whole = self.low == 0 and self.count == self._num_vertices
        return self._changing if whole and (self._in_place or self._other) else ()

    def new(self, begin: int, end: int) -> dict[str, Any]:
        """Where the new values of vertices go, by field."""
        self._made = True
        target = self.current if self._in_place else self._other
        return {name: view(target[name], begin, end) for name in self.kept}

    def given(self) -> dict[str, Any]:
        """What kernels that gather are given."""
        return {"low": self.low, **{f"g_{name}": array for name, array in self.current.items()}}

    def hold(self, low: int, gathered: Arrays, changes: Sequence[Change] | None, me: Any) -> None:
        """See :class:`~penstock.device.device.ProgramDevice`; ``me`` is the device."""
        arrays = dict(zip(self._fields, gathered, strict=True))
        count = len(gathered[0]) if gathered else self._num_vertices
        with _one_at_a_time, gpu(self._streams.spec.number):
            moved = (low, count) != (self.low, self.count)
            if not self._in_place:
                self._streams.forget_asked()
            if count > self._room:
                self._make(arrays, count)
            self.low, self.count = low, count
            if moved or changes is None:
                for name in self._fields if moved else self._changing:
                    self._copy(name, [(0, count)], arrays[name])
            else:
                self._update(arrays, changes, me)
            self._made = False
            self._streams.own.queue.synchronize()
            self._streams.make()

    def _make(self, arrays: dict[str, Array], count: int) -> None:
        """Arrays of the right size; buffers are made anew around them."""
        self.clear()
        self._streams.drop()
        one = sum(array.nbytes for array in arrays.values())
        two = one + sum(arrays[name].nbytes for name in self._changing)
        self._streams.check(one, "gathered values")
        self._room = count
        memory = self._streams.memory
        for name, array in arrays.items():
            self.current[name] = memory.array(f"values {name}", count, array.dtype)
        if not self._in_place and count == self._num_vertices and self._streams.fits(two - one):
            for name in self._changing:
                self._other[name] = memory.array(f"new values {name}", count, arrays[name].dtype)

    def clear(self) -> None:
        """Give back the arrays."""
        self._drop_new()
        self.current.clear()
        self.low, self.count, self._room = 0, -1, -1
        self._streams.memory.free(*(f"values {name}" for name in self._fields))

    def _drop_new(self) -> None:
        """Do without arrays for new values: the host has them, too."""
        self._other.clear()
        self._streams.memory.free(*(f"new values {name}" for name in self._changing))

    # Changes

    def _update(self, arrays: dict[str, Array], changes: Sequence[Change], me: Any) -> None:
        mine = self._inside(each for each in changes if each.writer is me) if self.kept else []
        if not self._in_place and mine:
            self._take_new(mine, self._inside(changes))
        for each in _joined(changes):
            if each.writer is me and self.kept:
                continue
            source = getattr(each.writer, "values", None)
            theirs = source if isinstance(source, Values) and source.kept else None
            for name in self._changing:
                if theirs is None:
                    self._copy(name, self._inside([each]), arrays[name])
                else:
                    self._copy_from(theirs, name, self._inside([each]))

    def _take_new(self, mine: Ranges, changed: Ranges) -> None:
        """Gather from what was made here: arrays take turns if they have much that is new."""
        target, source, ranges = self.current, self._other, mine
        if 2 * sum(end - begin for begin, end in mine) >= self.count:
            target, source, ranges = self._other, self.current, _others(changed, self.count)
        for name in self._changing:
            for begin, end in ranges:
                part = view(source[name], begin, end)
                view(target[name], begin, end).copy_to_device(part, stream=self._queue)
        if target is self._other:
            for name in self._changing:
                self.current[name], self._other[name] = self._other[name], self.current[name]

    @property
    def _queue(self) -> Any:
        return self._streams.own.queue

    def _inside(self, changes: Iterable[Change]) -> Ranges:
        """Their ranges, as far as they are held here, counted from ``low``."""
        ends = [(each.begin - self.low, each.end - self.low) for each in changes]
        clipped = [(max(begin, 0), min(end, self.count)) for begin, end in ends]
        return [(begin, end) for begin, end in clipped if begin < end]

    def _copy(self, name: str, ranges: Ranges, array: Array) -> None:
        for begin, end in ranges:
            if begin == end:
                continue
            part = view(self.current[name], begin, end)
            part.copy_to_device(array[begin:end], stream=self._queue)

    def _copy_from(self, theirs: Values, name: str, ranges: Ranges) -> None:
        """Copy what another device made: all vertices are there."""
        source = theirs._other if theirs._made and theirs._other else theirs.current
        gpus = theirs._streams.spec.number, self._streams.spec.number
        for begin, end in ranges:
            part = view(source[name], begin + self.low, end + self.low)
            copy_between(view(self.current[name], begin, end), part, gpus, self._queue)


def _joined(changes: Iterable[Change]) -> list[Change]:
    """Neighbouring ranges of the same writer as one."""
    found: list[Change] = []
    for each in sorted(changes, key=lambda change: change.begin):
        if found and found[-1].end == each.begin and found[-1].writer is each.writer:
            found[-1] = found[-1]._replace(end=each.end)
        else:
            found.append(each)
    return found


def _others(ranges: Ranges, count: int) -> Ranges:
    """What is in none of the ranges.

    >>> _others([(5, 7), (0, 2), (1, 3)], 9)
    [(3, 5), (7, 9)]
    """
    found, at = [], 0
    for begin, end in sorted(ranges):
        if begin > at:
            found.append((at, begin))
        at = max(at, end)
    return [*found, (at, count)] if at < count else found
