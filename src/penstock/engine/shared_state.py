"""The values of a program's vertices in a run over several hosts.

Every rank has the values that are gathered, for all vertices, and receives new ones from their
owners. It has all other values for its own vertices only, one range after another (see
:mod:`penstock.engine.ownership`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.device.signature import ProgramSignature
from penstock.engine.engine import Engine
from penstock.engine.exchange import (
    Exchange,
    KnownNeeds,
    mark_neighbours,
    rows_of_arrays,
    rows_to_array,
    scatter,
)
from penstock.engine.given import SparseNumbers
from penstock.engine.ownership import Chosen
from penstock.engine.state import Arrays, Given, State, mixed
from penstock.engine.sums import SPAN, Cell, Slots
from penstock.engine.watched_peers import in_exchange
from penstock.store.kept import Slot
from penstock.store.mapped import PART, read_range
from penstock.store.page import LARGE
from penstock.stream.lists import Piece
from penstock.types import I64, U8, U32, Array

#: Which values ranks need of each other, by rank and by the owners of pages.
NEEDS: Slot[KnownNeeds] = Slot("needs of ranks")


class SharedState(State):
    """See :class:`~penstock.engine.state.State`. All values are in memory."""

    has_gaps = True

    def __init__(
        self, engine: Engine, signature: ProgramSignature, fixed: Mapping[str, Given]
    ) -> None:
        self._engine = engine
        self._signature = signature
        self.in_memory = True
        self._in_place = False
        self._whole = {}
        self._own = engine.own_vertices
        self._peers = engine.peers
        table = engine.lists("in").table
        self._long_vertices = table["first_vid"][(table["kind"] == LARGE) & (table["run"] == 0)]
        #: Fields with a value for each vertex. A list that is longer than a page is on several
        #: ranks, which may need values of its vertex.
        self._full = set(signature.gathered)
        if len(self._long_vertices):
            self._full |= set(signature.of_dst)
        self._read_only = {}
        for name in (*signature.program.fixed, *signature.vertex_fields):
            self._read_only[name] = self._given(name, fixed)
        dtypes = signature.program.state_dtypes
        self._told = [name for name in dtypes if name in self._full]
        own = self._own.count
        # Values that no own list names may never arrive: they are 0.
        self.old = {
            name: engine.array(name, dtype, 0, length=None if name in self._full else own)
            for name, dtype in dtypes.items()
        }
        self.new = {
            name: engine.array(f"{name}'", dtype, length=own) for name, dtype in dtypes.items()
        }
        value_bytes = sum(dtypes[name].itemsize for name in self._told)
        self._exchange = Exchange(engine.peers, engine.vertices_of_ranks, value_bytes)
        #: The vertices that own lists name; found in the first pass over all of them.
        self._named: U8 | None = None
        self._passes = False
        if not self._remembers_needs():
            self._named = engine.array("named", np.uint8, 0)
            self._named[self._long_vertices] = 1

    def _remembers_needs(self) -> bool:
        """Use what an earlier run found out about names in lists, if all ranks still have it."""
        kept = self._engine.graph.kept.get(NEEDS, *self._needs_key)
        said = self._peers.allgather(np.array([kept is not None]))
        if kept is None or not all(bool(known[0]) for (known,) in said):
            return False
        self._exchange.needs = kept
        return True

    @property
    def _needs_key(self) -> tuple[Hashable, ...]:
        return self._peers.rank, self._engine.options.page_ranks

    # Fields

    def _given(self, name: str, fixed: Mapping[str, Given]) -> Any:
        given = fixed.get(name)
        dtype = self._signature.program.fixed_dtypes.get(name)
        if isinstance(given, SparseNumbers) and name not in self._full and dtype is not None:
            return self._of_own(name, dtype, given.read)
        return super()._given(name, fixed)

    def _array(self, name: str, dtype: np.dtype[Any], array: Array) -> Any:
        if name in self._full:
            return super()._array(name, dtype, array)
        return self._of_own(name, dtype, lambda begin, end: read_range(array, begin, end))

    def _filled(self, name: str, dtype: np.dtype[Any], fill: Callable[[Any], None]) -> Any:
        if name in self._full:
            return super()._filled(name, dtype, fill)
        found = self._engine.array(name, dtype, length=self._own.count)
        fill(Chosen(self._own, self._engine.num_vertices, found))
        return found

    def _of_own(self, name: str, dtype: np.dtype[Any], read: Callable[[int, int], Array]) -> Array:
        """A field of own vertices, from a function that reads ranges of it."""
        found = self._engine.array(name, dtype, length=self._own.count)
        at = 0
        for begin, end in self._own.ranges(PART):
            found[at : at + end - begin] = read(begin, end)
            at += end - begin
        return found

    def digest(self, name: str) -> int:
        """See :class:`~penstock.engine.state.State`. All ranks ask at the same time."""
        column, total = self._read_only[name], np.zeros(1, np.uint64)
        for low in range(0, self._own.count, PART):
            high = min(low + PART, self._own.count)
            vertices = self._own.part(low, high)
            part = column[vertices] if name in self._full else column[low:high]
            total += mixed(vertices, part).sum(dtype=np.uint64)
        return int(self._peers.allreduce(total)[0])

    def local(self, names: Iterable[str], begin: int, end: int) -> tuple[int, Arrays]:
        """See :class:`~penstock.engine.state.State`. For vertices of others, only the fields that
        are there for every vertex may be read.
        """
        base = begin - self._own.position(begin) if self.owns(begin) else 0
        return base, tuple(
            self._source(name)[base:] if name in self._full else self._source(name)
            for name in names
        )

    def spans(self) -> list[Cell]:
        """See :class:`~penstock.engine.state.State`, also below."""
        return self._own.ranges(SPAN)

    @in_exchange
    def store(self, begin: int, end: int, arrays: Arrays) -> None:
        """Values are sent to others when there are enough of them."""
        self._exchange.complete(begin, end, self._new_told)

    @property
    def _new_told(self) -> Arrays:
        return tuple(self.new[name] for name in self._told)

    def _put(self, vertices: U32, values: Sequence[Array]) -> None:
        for name, part in zip(self._told, values, strict=True):
            scatter(self.old[name], vertices, part)

    def count_nan(self) -> int:
        """How many values of own vertices are NaN."""
        columns = [
            self._own.take(self.old[name]) if name in self._full else self.old[name]
            for name, dtype in self._signature.program.state_dtypes.items()
            if dtype.kind == "f"
        ]
        return sum(int(np.isnan(column).sum()) for column in columns)

    # Other ranks

    def begin_pass(self, *, over_lists: bool) -> None:
        """Send values to others as they are computed."""
        self._exchange.begin()
        self._passes = over_lists

    def saw(self, piece: Piece) -> None:
        """In the first pass, note which vertices are named."""
        if self._named is not None:
            mark_neighbours(piece.block, piece.begin, piece.end, self._named)

    def owns(self, vertex: int) -> bool:
        """Whether it is an own vertex."""
        return self._own.owns(vertex)

    @in_exchange
    def join_slots(self, slots: Slots) -> None:
        """Send all accumulators to every rank: they are few."""
        if len(slots.pages) == 0:
            return
        mine = self._slots_here(slots)
        given = [values[mine] for values in slots.sums]
        for places, *parts in self._exchange.meet(mine, *given):
            for values, part in zip(slots.sums, parts, strict=True):
                values[places] = part

    def _slots_here(self, slots: Slots) -> I64:
        """The places of the accumulators that this rank has."""
        return np.flatnonzero(self._engine.page_owners[slots.pages] == self._peers.rank)

    @in_exchange
    def notified(self, touched: U32, long: U32) -> tuple[U32, U32]:
        """Send vertices to their owners; those with long lists to all ranks."""
        told = touched[np.isin(touched, long)]
        own, said = self._exchange.to_owners(touched, told)
        return own, np.unique(np.concatenate([each for (each,) in said]))

    @in_exchange
    def publish(self, rows: list[tuple[int, Any]], active: U8) -> list[Any]:
        """Wait for the values of the others, and for the vertices that are active."""
        self._take_new()
        width = 1 + len(self._signature.program.totals)
        more = rows_to_array(rows, width), self._exchange.pack_own(active)
        said = self._exchange.finish(self._put, *more)
        if len(active):
            self._exchange.unpack_flags([flags for _, flags in said], active)
        if self._named is not None and self._passes:
            self._say_needs()
            self._named = None
            self._engine.free("named")
        return rows_of_arrays([each for each, _ in said])

    def _take_new(self) -> None:
        """Make the new values of own vertices the old ones."""
        for name, new in self.new.items():
            if name in self._full:
                self._own.put(self.old[name], new)
            else:
                self.old[name], self.new[name] = new, self.old[name]

    def _say_needs(self) -> None:
        assert self._named is not None
        self._exchange.say_needs(self._named)
        kept = self._engine.graph.kept
        kept.put(NEEDS, *self._needs_key, value=self._exchange.needs)

    @in_exchange
    def publish_some(self, vertices: U32, rows: list[Any], active: U8) -> list[Any]:
        """Send what has changed to the others, and wait for what has changed there."""
        positions = self._own.positions(vertices)
        self._exchange.send_some(vertices, self._new_told)
        for name, new in self.new.items():
            places = vertices if name in self._full else positions
            self.old[name][places] = new[positions]
        count = sum(row[0] for row in rows)
        flags = self._exchange.pack_own(active)
        said = self._exchange.finish_some(self._put, np.array([count]), flags)
        self._exchange.unpack_flags([each for _, each in said], active)
        return [(int(count[0]),) for count, _ in said]
