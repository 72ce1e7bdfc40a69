"""The values of a program's vertices in a run over rows of hosts.

No rank has the values of all vertices. A rank has up to three copies of a field, as needed: for the
vertices of the row's range, which lists are gathered from; for those whose lists are in pages of
the rank's place, if gathering reads these; and for own vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.device.signature import ProgramSignature
from penstock.engine.engine import Engine
from penstock.engine.exchange import Exchange
from penstock.engine.ownership import Chosen, Vertices, pages_by_number, vertices_in
from penstock.engine.shared_state import SharedState
from penstock.engine.state import Arrays, Given, State, copy_parts
from penstock.engine.sums import Slots
from penstock.store.mapped import PART
from penstock.types import I64, U8, U32, Array


class GridState(SharedState):
    """See :class:`~penstock.engine.shared_state.SharedState`. :attr:`old` and :attr:`new` are of
    own vertices.
    """

    def __init__(
        self, engine: Engine, signature: ProgramSignature, fixed: Mapping[str, Given]
    ) -> None:
        grid = engine.plan.grid
        assert grid is not None
        self._engine, self._signature, self._grid = engine, signature, grid
        self._peers, self._own = engine.peers, engine.own_vertices
        self.in_memory, self._in_place, self._whole = True, False, {}
        self._full = set()
        self._low, self._high = grid.range_of(engine.peers.rank)
        #: For each place, the vertices of which gathering reads values; empty if it reads none.
        self._columns_of: list[Vertices] = []
        if signature.of_dst:
            table = engine.gather_table
            places = pages_by_number(len(table), engine.options.page_ranks) % grid.places
            self._columns_of = [vertices_in(table, places == p) for p in range(grid.places)]
        #: Gathered fields, of the range; and the other fields that gathering reads.
        self._ranged: dict[str, Array] = {}
        self._columns: dict[str, Array] = {}
        self._read_only = {}
        for name in (*signature.program.fixed, *signature.vertex_fields):
            self._given(name, fixed)
        dtypes = signature.program.state_dtypes
        for name, dtype in dtypes.items():
            for label, vertices, kept in self._places(name):
                kept[name] = engine.array(f"{name} {label}", dtype, length=vertices.count)
        own = self._own.count
        self.old = {name: engine.array(name, dtype, length=own) for name, dtype in dtypes.items()}
        self.new = {
            name: engine.array(f"{name}'", dtype, length=own) for name, dtype in dtypes.items()
        }
        self._told = [name for name in dtypes if self._places(name)]
        value_bytes = sum(dtypes[name].itemsize for name in self._told)
        self._exchange = Exchange(engine.peers, engine.vertices_of_ranks, value_bytes)
        self._exchange.know_needs(self._needs)
        self._named: U8 | None = engine.array("named", np.uint8, 0, length=self._high - self._low)
        self._passes = False

    # Fields

    @property
    def _column(self) -> Vertices:
        return self._columns_of[self._grid.place(self._peers.rank)]

    def _places(self, name: str) -> list[tuple[str, Vertices, dict[str, Any]]]:
        """The copies of a field besides that of own vertices: label, vertices, and their place."""
        found = []
        if name in self._signature.gathered:
            vertices = Vertices(np.array([self._low]), np.array([self._high]))
            found.append(("in the range", vertices, self._ranged))
        if name in self._signature.of_dst:
            found.append(("at the place", self._column, self._columns))
        return found

    def _given(self, name: str, fixed: Mapping[str, Given]) -> Any:
        return State._given(self, name, fixed)

    def _array(self, name: str, dtype: np.dtype[Any], array: Array) -> Any:
        return self._filled(name, dtype, lambda target: copy_parts(array, target))

    def _filled(self, name: str, dtype: np.dtype[Any], fill: Callable[[Any], None]) -> Any:
        places = self._places(name)
        if name in self._signature.local or name in self._signature.of_init:
            places.append(("own", self._own, self._read_only))
        for label, vertices, kept in places:
            found = self._engine.array(f"{name} {label}", dtype, length=vertices.count)
            fill(Chosen(vertices, self._engine.num_vertices, found))
            kept[name] = found
        return None

    def digest(self, name: str) -> int:
        """The state of hosts in rows is not saved: there is nothing to compare."""
        return 0

    def gathered(self, low: int, high: int) -> Arrays:
        """What is read through neighbour ids, of the row's range."""
        assert (low, high) == (self._low, self._high)
        return tuple(self._ranged[name] for name in self._signature.gathered)

    def local_here(self, begin: int) -> tuple[int, Arrays]:
        """What gathering reads for vertices from ``begin`` on, and the vertex that it begins with.
        The kernels that gather take the other fields, too, but do not read them.
        """
        names: Iterable[str] = self._signature.local
        base = begin - self._column.position(begin) if self._columns_of else 0
        return base, tuple(
            self._columns[name] if name in self._columns else self._source(name) for name in names
        )

    # Other ranks

    def _needs(self, of: int, by: int) -> U8:
        """Which values of a rank's vertices may be needed by another: flags by position."""
        vertices = self._exchange.vertices[of]
        flags: U8 = np.zeros(vertices.count, np.uint8)
        if any(name in self._signature.gathered for name in self._told):
            begin, end = vertices.within(*self._grid.range_of(by))
            flags[begin:end] = 1
        self._mark_column(flags, vertices, self._grid.place(by))
        return flags

    def _mark_column(self, flags: U8, vertices: Vertices, place: int) -> None:
        """Mark those of a rank's vertices whose values gathering reads at a place."""
        if not any(name in self._signature.of_dst for name in self._told):
            return
        column = self._columns_of[place]
        for low in range(0, vertices.count, PART):
            high = min(low + PART, vertices.count)
            flags[low:high] |= column.has(vertices.part(low, high))

    def _named_of(self, rank: int) -> U8:
        """Which values of a rank's vertices this rank needs, after a pass over its lists."""
        assert self._named is not None
        vertices = self._exchange.vertices[rank]
        flags: U8 = np.zeros(vertices.count, np.uint8)
        begin, end = vertices.within(self._low, self._high)
        for low in range(begin, end, PART):
            high = min(low + PART, end)
            flags[low:high] = self._named[vertices.part(low, high) - np.uint32(self._low)]
        self._mark_column(flags, vertices, self._grid.place(self._peers.rank))
        return flags

    def _put(self, vertices: U32, values: Sequence[Array]) -> None:
        begin, end = np.searchsorted(vertices, [self._low, self._high])
        inside = vertices[begin:end] - np.uint32(self._low)
        mine = self._column.has(vertices) if self._columns_of else None
        for name, part in zip(self._told, values, strict=True):
            if name in self._ranged:
                self._ranged[name][inside] = part[begin:end]
            if name in self._columns:
                self._columns[name][self._column.positions(vertices[mine])] = part[mine]

    def _take_new(self) -> None:
        self.old, self.new = self.new, self.old
        for low in range(0, self._own.count, PART):
            high = min(low + PART, self._own.count)
            values = [self.old[name][low:high] for name in self._told]
            self._put(self._own.part(low, high), values)

    def _say_needs(self) -> None:
        self._exchange.say_needs_of({k: self._named_of(k) for k in self._exchange.others})

    def _slots_here(self, slots: Slots) -> I64:
        """The last row has the accumulators."""
        rank = self._peers.rank
        places = self._engine.page_owners[slots.pages] % self._grid.places
        mine = places == self._grid.place(rank)
        return np.flatnonzero(mine & (self._grid.row(rank) == self._grid.rows - 1))

    def alltoall(self, messages: Sequence[Arrays]) -> list[Arrays]:
        """See :meth:`Exchange.alltoall <penstock.engine.exchange.Exchange.alltoall>`."""
        return self._exchange.alltoall(messages)
