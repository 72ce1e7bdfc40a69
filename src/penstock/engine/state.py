"""The values of a program's vertices, in memory or travelling with the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from penstock.device.signature import ProgramSignature
from penstock.engine.engine import Engine
from penstock.engine.given import Numbers, SparseNumbers
from penstock.engine.scratch import InMemory, ScratchColumn, StoredArray
from penstock.engine.sums import Cell, Slots, spans
from penstock.errors import OptionError
from penstock.program import VERTEX_FIELDS
from penstock.store.graph import Graph
from penstock.store.mapped import PART, iter_parts, read_range
from penstock.stream.lists import Piece
from penstock.types import U8, U32, U64, Array

Arrays = tuple[Array, ...]
#: A fixed field: numbers that are placed here, or an array by vertex number.
Given = Array | Numbers


def rank_of_vid(graph: Graph) -> Array:
    """The position of each vertex's id among all ids, ascending."""
    ranks: Array = np.empty(graph.num_vertices, np.uint32)
    _fill_ranks(graph, ranks)
    return ranks


def _fill_ranks(graph: Graph, ranks: Array) -> None:
    order = graph.vid_of_rank
    for begin in range(0, len(ranks), PART):
        end = min(begin + PART, len(ranks))
        part = slice(begin, end) if order is None else read_range(order, begin, end)
        ranks[part] = np.arange(begin, end, dtype=np.uint32)


def mixed(vertices: U32, values: Array) -> U64:
    """A number for each vertex that changes with any bit of its value."""
    found = vertices.astype(np.uint64)
    octets = np.ascontiguousarray(values).view(np.uint8).reshape(len(vertices), -1)
    for k in range(octets.shape[1]):
        found = (found ^ octets[:, k]) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


class State:
    """Every field twice, as it was before the iteration (*old*) and after (*new*); an asynchronous
    run has one that is both.

    In memory, local arrays begin with vertex 0. Otherwise columns are in files, and the arrays that
    kernels get begin with the first vertex of the range asked for.
    """

    def __init__(
        self,
        engine: Engine,
        signature: ProgramSignature,
        fixed: Mapping[str, Given],
        *,
        in_place: bool,
    ) -> None:
        self._engine = engine
        self._signature = signature
        self.in_memory = engine.plan.state == "memory"
        self._in_place = in_place
        graph = engine.graph
        self._read_only: dict[str, Any] = {}
        for name in (*signature.program.fixed, *signature.vertex_fields):
            self._read_only[name] = self._given(name, fixed)
        dtypes = signature.program.state_dtypes
        #: Columns that are in a file and, because they are gathered, in memory too.
        self._whole: dict[str, Array] = {}
        if self.in_memory:
            self.old: dict[str, Any] = {n: engine.array(n, d) for n, d in dtypes.items()}
            self.new = (
                self.old if in_place else {n: engine.array(f"{n}'", d) for n, d in dtypes.items()}
            )
            return
        folder = engine.scratch_folder()
        n = graph.num_vertices
        self.old = {name: ScratchColumn(folder, d, n) for name, d in dtypes.items()}
        self.new = {name: ScratchColumn(folder, d, n) for name, d in dtypes.items()}
        if engine.plan.state == "streamed":
            for name in signature.gathered:
                self._whole[name] = engine.array(name, self._source(name).dtype)

    def _given(self, name: str, fixed: Mapping[str, Given]) -> Any:
        graph = self._engine.graph
        if name == "index":
            return self._filled(
                name, VERTEX_FIELDS[name], lambda target: _fill_ranks(graph, target)
            )
        if name in VERTEX_FIELDS:
            degrees = graph.degrees("out" if name == "out_degree" else "in")
            return self._array(name, VERTEX_FIELDS[name], degrees)
        if name not in fixed:
            raise OptionError(f"state: the program needs values for its field {name!r}")
        given, dtype = fixed[name], self._signature.program.fixed_dtypes[name]
        if not isinstance(given, Numbers):
            return self._array(name, dtype, given)
        if isinstance(given, SparseNumbers) and not self.in_memory and given.dtype == dtype:
            return given
        return self._filled(name, dtype, given.fill)

    def _array(self, name: str, dtype: np.dtype[Any], array: Array) -> Any:
        """A field that is in an array, in memory or mapped."""
        if array.dtype != dtype:
            return self._filled(name, dtype, lambda target: copy_parts(array, target))
        if not self.in_memory:
            return StoredArray(array)
        if isinstance(array, np.memmap):
            return self._filled(name, dtype, lambda target: copy_parts(array, target))
        self._engine.budget.take(array.nbytes, f"state {name!r}")
        return array

    def _filled(self, name: str, dtype: np.dtype[Any], fill: Callable[[Any], None]) -> Any:
        """A field that a function writes, in memory or in a file."""
        if self.in_memory:
            whole = self._engine.array(name, dtype)
            fill(whole)
            return whole
        column = ScratchColumn(self._engine.scratch_folder(), dtype, self._engine.num_vertices)
        column.reserve()
        fill(column.whole())
        return column

    def _source(self, name: str) -> Any:
        return self._read_only[name] if name in self._read_only else self.old[name]

    def digest(self, name: str) -> int:
        """A checksum of a field that is given: the sum of a number made of each vertex and its
        value, which does not depend on how many hosts have them.
        """
        column, total = self._read_only[name], np.zeros(1, np.uint64)
        for begin in range(0, self._engine.num_vertices, PART):
            end = min(begin + PART, self._engine.num_vertices)
            part = column[begin:end] if self.in_memory else column.read(begin, end)
            total += mixed(np.arange(begin, end, dtype=np.uint32), part).sum(dtype=np.uint64)
        return int(total[0])

    def gathered(self, low: int, high: int) -> Arrays:
        """What is read through neighbour ids, for vertices ``low`` to ``high``."""
        sources = [self._source(name) for name in self._signature.gathered]
        if self.in_memory:
            return tuple(array[low:high] for array in sources)
        if self._whole:
            return tuple(self._whole[name][low:high] for name in self._signature.gathered)
        return tuple(column.read(low, high) for column in sources)

    def local(self, names: Iterable[str], begin: int, end: int) -> tuple[int, Arrays]:
        """Fields read in page order, and the vertex that the arrays begin with."""
        sources = [self._source(name) for name in names]
        if self.in_memory:
            return 0, tuple(sources)
        return begin, tuple(column.read(begin, end) for column in sources)

    def new_arrays(self, begin: int, end: int) -> Arrays:
        """Where new values go; then call :meth:`store`."""
        if self.in_memory:
            return tuple(self.new.values())
        return tuple(np.empty(end - begin, column.dtype) for column in self.new.values())

    def store(self, begin: int, end: int, arrays: Arrays) -> None:
        """The new values of vertices ``begin`` to ``end`` are complete."""
        if not self.in_memory:
            for column, array in zip(self.new.values(), arrays, strict=True):
                column.write(begin, array)

    def spans(self) -> list[Cell]:
        """The vertices whose values are here to be made, in ranges."""
        return spans(self._engine.num_vertices)

    def swap(self) -> None:
        """The new values are now the old ones."""
        if self._in_place:
            return
        self.old, self.new = self.new, self.old
        if not self.in_memory:
            self.reload()

    def reload(self) -> None:
        """Bring what is gathered back into memory after its file has changed."""
        for name, whole in self._whole.items():
            for begin in range(0, len(whole), PART):
                end = min(begin + PART, len(whole))
                whole[begin:end] = self._source(name).read(begin, end)

    def commit(self, vertices: Array) -> None:
        """Make the new values of some vertices the old ones (in memory)."""
        if not self._in_place:
            for name, old in self.old.items():
                old[vertices] = self.new[name][vertices]

    # What a run over several hosts does more in

    #: Whether values of consecutive vertices may be apart.
    has_gaps = False

    def begin_pass(self, *, over_lists: bool) -> None:
        """The values of all vertices are made next, in a pass over all lists or from what is known
        of each vertex; :meth:`publish` ends the pass.
        """

    def saw(self, piece: Piece) -> None:
        """A pass over all lists came to these."""

    def owns(self, vertex: int) -> bool:
        """Whether the values of a vertex are made here."""
        return True

    def join_slots(self, slots: Slots) -> None:
        """Bring the accumulators of all parts of long lists together."""

    def notified(self, touched: U32, long: U32) -> tuple[U32, U32]:
        """Of the vertices that were notified (ascending): those whose values are made here, and
        those that have a ``long`` list.
        """
        return touched, touched

    def publish(self, rows: list[tuple[int, Any]], active: U8) -> list[Any]:
        """All new values are complete, and are the old ones now. ``rows``: what kernels returned,
        and from which vertex on; all rows in the order of the vertices.
        """
        self.swap()
        return [row for _, row in sorted(rows, key=itemgetter(0))]

    def publish_some(self, vertices: U32, rows: list[Any], active: U8) -> list[Any]:
        """The new values of some vertices are the old ones now; returns what kernels returned."""
        self.commit(vertices)
        return rows

    def count_nan(self) -> int:
        """How many values are not numbers, in all fields together."""
        found = 0
        for name, dtype in self._signature.program.state_dtypes.items():
            column = self.old[name]
            for begin in range(0, self._engine.num_vertices if dtype.kind == "f" else 0, PART):
                end = min(begin + PART, self._engine.num_vertices)
                part = column[begin:end] if self.in_memory else column.read(begin, end)
                found += int(np.isnan(part).sum())
        return found

    def column(self, name: str) -> InMemory | ScratchColumn:
        """A field of all vertices, wherever it is."""
        column = self._whole.get(name, self.old[name])
        return InMemory(column) if isinstance(column, np.ndarray) else column


def copy_parts(array: Array, target: Any) -> None:
    """Copy an array, which may be mapped from a file."""
    for begin, part in iter_parts(array):
        target[begin : begin + len(part)] = part
