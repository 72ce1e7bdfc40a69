"""The reference device: the same kernels in plain Python. Slow, and obviously right.

It calls the user's functions as they are, on small objects with fields, one edge after another.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from penstock.device.shape import Shape
from penstock.program import Function
from penstock.stream.block import Block
from penstock.types import U8, U32, Array

Arrays = tuple[Array, ...]


class ReferenceKernels:
    """The kernels of one program; the arguments are those of the compiled ones."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._program = shape.program

    def _call(self, role: str, function: Function, params: tuple[Any, ...], *given: Any) -> Any:
        """Call a user's function, with ``p`` if it takes it."""
        code = getattr(function, "py_func", function).__code__
        if code.co_argcount > len(given):
            given = (*given, SimpleNamespace(**dict(zip(self.shape.params, params, strict=True))))
        return function(*given)

    def _sum(self, left: Any, right: Any) -> Any:
        given = self._program.sum
        if not isinstance(given, str):
            return given(left, right)
        return {"add": lambda: left + right, "min": lambda: min(left, right)}.get(
            given, lambda: max(left, right)
        )()

    def _typed(self, value: Any) -> Any:
        """A value as the accumulator would hold it."""
        dtypes = self._program.accumulators
        if len(dtypes) == 1:
            return dtypes[0].type(value)
        return tuple(dtype.type(v) for dtype, v in zip(dtypes, value, strict=True))

    def _fields(self, names: Iterable[str], arrays: Arrays, index: int, vid: int) -> Any:
        found = {name: array[index] for name, array in zip(names, arrays, strict=True)}
        return SimpleNamespace(vid=np.uint32(vid), **found)

    def _edge(self, block: Block, k: int) -> Any:
        names = self.shape.columns
        return SimpleNamespace(**{n: c[k] for n, c in zip(names, block.columns, strict=False)})

    def init(
        self, begin: int, end: int, base: int, local: Arrays, new: Arrays, params: tuple[Any, ...]
    ) -> None:
        """Values to begin with."""
        for v in range(begin, end):
            vertex = self._fields(self.shape.of_init, local, v - base, v)
            self._store(self._call("init", self._program.init, params, vertex), new, v - base)

    def _store(self, value: Any, new: Arrays, index: int) -> None:
        values = (value,) if len(new) == 1 else value
        for array, part in zip(new, values, strict=True):
            array[index] = part

    def _gathered(
        self, block: Block, v: int, base: int, low: int, gathered: Arrays, local: Arrays,
        params: tuple[Any, ...],
    ) -> Any:  # fmt: skip
        identities = self._program.identities
        a = self._typed(identities if len(identities) > 1 else identities[0])
        dst = self._fields(self.shape.local, local, v - base, v)
        for k in range(*map(int, block.offsets[v - block.first : v - block.first + 2])):
            u = int(block.neighbours[k])
            src = self._fields(self.shape.gathered, gathered, u, u + low)
            edge = self._edge(block, k)
            a = self._sum(a, self._typed(self._gather(params, src, edge, dst)))
        return a

    def _gather(self, params: tuple[Any, ...], *given: Any) -> Any:
        return self._call("gather", self._program.gather, params, *given)

    def _applied(
        self, v: int, base: int, local: Arrays, a: Any, new: Arrays, active: U8,
        params: tuple[Any, ...],
    ) -> list[float]:  # fmt: skip
        program, shape = self._program, self.shape
        before = self._fields(shape.local, local, v - base, v)
        self._store(self._call("apply", program.apply, params, before, a), new, v - base)
        after = SimpleNamespace(**vars(before))
        for name, array in zip(shape.new, new, strict=True):
            setattr(after, name, array[v - base])
        count = 0
        if program.activate is not None:
            count = int(bool(self._call("activate", program.activate, params, after, before)))
            active[v] = count
        totals = [self._call("total", t, params, after, before) for t in program.totals.values()]
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
        for v in map(int, vertices):
            a = self._gathered(block, v, base, low, gathered, local, params)
            rows.append(self._applied(v, base, local, a, new, active, params))
        return self._sums(rows)

    def accumulate(
        self, block: Block, begin: int, end: int, base: int, at: int, low: int, gathered: Arrays,
        local: Arrays, sums: Arrays, params: tuple[Any, ...],
    ) -> None:  # fmt: skip
        """Gather over lists or parts of them into accumulators."""
        for v in range(begin, end):
            a = self._gathered(block, v, base, low, gathered, local, params)
            self._add(sums, v - at, a)

    def _read(self, sums: Arrays, index: int) -> Any:
        return sums[0][index] if len(sums) == 1 else tuple(s[index] for s in sums)

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
        emitted = 0
        for v in map(int, vertices):
            src = self._fields(self.shape.gathered, gathered, v, v)
            for k in range(*map(int, block.offsets[v - block.first : v - block.first + 2])):
                u = int(block.neighbours[k])
                dst = self._fields(self.shape.of_dst, of_dst, u, u)
                x = self._typed(self._gather(params, src, self._edge(block, k), dst))
                self._add(sums, u, x)
                if not touched[u]:
                    touched[u] = 1
                    found[emitted] = u
                    emitted += 1
        return emitted
