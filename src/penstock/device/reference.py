"""The reference device: the same kernels in plain Python. Slow, and obviously right.

It calls the user's functions as they are, on small objects with fields, one edge after another.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np

from penstock.device.signature import ProgramSignature
from penstock.program import Function
from penstock.stream.block import Block
from penstock.types import U8, U32, Array

Arrays = tuple[Array, ...]


class ReferenceKernels:
    """The kernels of one program; the arguments are those of the compiled ones."""

    def __init__(self, signature: ProgramSignature) -> None:
        self.signature = signature
        self._program = signature.program
        self._turn = Lock()

    def _call(self, function: Function, params: tuple[Any, ...], *given: Any) -> Any:
        """Call a user's function, with ``p`` if it takes it."""
        code = getattr(function, "py_func", function).__code__
        if code.co_argcount > len(given):
            given = (
                *given,
                SimpleNamespace(**dict(zip(self.signature.params, params, strict=True))),
            )
        return function(*given)

    def _sum(self, left: Any, right: Any) -> Any:
        given = self._program.sum
        if callable(given):
            return self._typed(given(left, right))
        if given == "add":
            return self._typed(left + right)
        return min(left, right) if given == "min" else max(left, right)

    def _typed(self, value: Any) -> Any:
        """A value as the accumulator would hold it."""
        dtypes = self._program.accumulators
        if len(dtypes) == 1:
            return dtypes[0].type(value).item()
        return tuple(dtype.type(v).item() for dtype, v in zip(dtypes, value, strict=True))

    def _fields(self, names: Iterable[str], arrays: Arrays, index: int, vid: int) -> Any:
        found = {name: array[index].item() for name, array in zip(names, arrays, strict=True)}
        return SimpleNamespace(vid=vid, **found)

    def _edge(self, block: Block, k: int) -> Any:
        places = self.signature.edge_fields
        return SimpleNamespace(**{n: block.columns[j][k].item() for n, j in places.items()})

    def init(
        self, begin: int, end: int, base: int, local: Arrays, new: Arrays, params: tuple[Any, ...]
    ) -> None:
        """Values to begin with."""
        for v in range(begin, end):
            vertex = self._fields(self.signature.of_init, local, v - base, v)
            self._store(self._call(self._program.init, params, vertex), new, v - base)

    def _store(self, value: Any, new: Arrays, index: int) -> None:
        values = (value,) if len(new) == 1 else value
        for array, part in zip(new, values, strict=True):
            array[index] = part

    def _gathered(
        self, block: Block, v: int, base: int, low: int, gathered: Arrays, local: Arrays,
        params: tuple[Any, ...], a: Any,
    ) -> Any:  # fmt: skip
        """The sum ``a``, and what the list of a vertex adds to it from left to right."""
        dst = self._fields(self.signature.local, local, v - base, v)
        for k in _edges(block, v):
            u = int(block.neighbours[k])
            src = self._fields(self.signature.gathered, gathered, u, u + low)
            edge = self._edge(block, k)
            a = self._sum(a, self._typed(self._call(self._program.gather, params, src, edge, dst)))
        return a

    def _applied(
        self, v: int, base: int, local: Arrays, a: Any, new: Arrays, active: U8,
        params: tuple[Any, ...],
    ) -> list[float]:  # fmt: skip
        program, signature = self._program, self.signature
        before = self._fields(signature.local, local, v - base, v)
        self._store(self._call(program.apply, params, before, a), new, v - base)
        after = SimpleNamespace(**vars(before))
        for name, array in zip(signature.new, new, strict=True):
            setattr(after, name, array[v - base].item())
        count = 0
        if program.activate is not None:
            count = int(bool(self._call(program.activate, params, after, before)))
            active[v] = count
        totals = [self._call(t, params, after, before) for t in program.totals.values()]
        return [count, *map(float, totals)]

    def _sums(self, rows: Iterable[list[float]]) -> tuple[float, ...]:
        total = [0.0] * (1 + len(self._program.totals))
        for row in rows:
            total = [x + y for x, y in zip(total, row, strict=True)]
        return (int(total[0]), *total[1:])

    def pull(
        self, block: Block, begin: int, end: int, base: int, low: int, gathered: Arrays,
        local: Arrays, new: Arrays, active: U8, params: tuple[Any, ...],
    ) -> tuple[float, ...]:  # fmt: skip
        """Gather over whole lists, apply."""
        vertices = np.arange(begin, end, dtype=np.uint32)
        return self.pull_some(block, vertices, base, low, gathered, local, new, active, params)

    def pull_some(
        self, block: Block, vertices: U32, base: int, low: int, gathered: Arrays,
        local: Arrays, new: Arrays, active: U8, params: tuple[Any, ...],
    ) -> tuple[float, ...]:  # fmt: skip
        """The same for given vertices."""
        rows = []
        identities = self._program.identities
        zero = self._typed(identities if len(identities) > 1 else identities[0])
        for v in map(int, vertices):
            a = self._gathered(block, v, base, low, gathered, local, params, zero)
            rows.append(self._applied(v, base, local, a, new, active, params))
        return self._sums(rows)

    def accumulate(
        self, block: Block, begin: int, end: int, base: int, at: int, low: int, gathered: Arrays,
        local: Arrays, sums: Arrays, params: tuple[Any, ...],
    ) -> None:  # fmt: skip
        """Gather over lists or parts of them, going on with accumulators."""
        for v in range(begin, end):
            had = self._read(sums, v - at)
            a = self._gathered(block, v, base, low, gathered, local, params, had)
            self._store(a, sums, v - at)

    def _read(self, sums: Arrays, index: int) -> Any:
        parts = tuple(array[index].item() for array in sums)
        return parts[0] if len(parts) == 1 else parts

    def _add(self, sums: Arrays, index: int, a: Any) -> None:
        self._store(self._sum(self._read(sums, index), a), sums, index)

    def finish(
        self, begin: int, end: int, base: int, at: int, local: Arrays, sums: Arrays, new: Arrays,
        active: U8, params: tuple[Any, ...],
    ) -> tuple[float, ...]:  # fmt: skip
        """Apply what was accumulated."""
        vertices = np.arange(begin, end, dtype=np.uint32)
        return self.finish_some(vertices, base, at, local, sums, new, active, params)

    def finish_some(
        self, vertices: U32, base: int, at: int, local: Arrays, sums: Arrays, new: Arrays,
        active: U8, params: tuple[Any, ...],
    ) -> tuple[float, ...]:  # fmt: skip
        """The same for given vertices."""
        rows = []
        for v in map(int, vertices):
            a = self._read(sums, v - at)
            rows.append(self._applied(v, base, local, a, new, active, params))
        return self._sums(rows)

    def merge(self, sums: Arrays, first: int, stop: int) -> None:
        """Sum neighbouring accumulators into the first of them."""
        for j in range(first + 1, stop):
            self._add(sums, first, self._read(sums, j))

    def push(
        self, block: Block, vertices: U32, found: U32, gathered: Arrays, of_dst: Arrays,
        sums: Arrays, touched: U8, params: tuple[Any, ...],
    ) -> int:  # fmt: skip
        """Gather along the lists of given vertices into the accumulators of their neighbours."""
        with self._turn:  # others push to the same neighbours
            return self._push(block, vertices, found, gathered, of_dst, sums, touched, params)

    def _push(
        self, block: Block, vertices: U32, found: U32, gathered: Arrays, of_dst: Arrays,
        sums: Arrays, touched: U8, params: tuple[Any, ...],
    ) -> int:  # fmt: skip
        emitted = 0
        for v in map(int, vertices):
            src = self._fields(self.signature.gathered, gathered, v, v)
            for k in _edges(block, v):
                u = int(block.neighbours[k])
                dst = self._fields(self.signature.of_dst, of_dst, u, u)
                edge = self._edge(block, k)
                x = self._typed(self._call(self._program.gather, params, src, edge, dst))
                self._add(sums, u, x)
                if not touched[u]:
                    touched[u] = 1
                    found[emitted] = u
                    emitted += 1
        return emitted


def _edges(block: Block, v: int) -> range:
    """Where the list of a vertex is."""
    return range(int(block.offsets[v - block.first]), int(block.ends[v - block.first]))
