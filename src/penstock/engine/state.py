"""The values of a program's vertices, in memory or travelling with the pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from penstock.device.shape import Shape
from penstock.engine.engine import Engine
from penstock.engine.scratch import ScratchColumn, StoredArray
from penstock.errors import OptionError
from penstock.program import VERTEX_FIELDS
from penstock.store.graph import Graph
from penstock.store.mapped import PART, iter_parts
from penstock.types import Array

Arrays = tuple[Array, ...]


def rank_of_vid(graph: Graph) -> Array:
    """The position of each vertex's id among all ids, ascending."""
    order = graph.vid_of_rank
    if order is None:
        return np.arange(graph.num_vertices, dtype=np.uint32)
    ranks: Array = np.empty(graph.num_vertices, np.uint32)
    for begin, part in iter_parts(order):
        ranks[part] = np.arange(begin, begin + len(part), dtype=np.uint32)
    return ranks


def vertex_field(graph: Graph, name: str) -> Array:
    """A built-in field of all vertices."""
    if name == "index":
        return rank_of_vid(graph)
    return graph.degrees("out" if name == "out_degree" else "in")


class State:
    """Every field twice, as it was before the iteration (*old*) and after (*new*); an asynchronous
    run has one that is both.

    In memory, local arrays begin with vertex 0. Otherwise columns are in files, and the arrays that
    kernels get begin with the first vertex of the range asked for.
    """

    def __init__(
        self, engine: Engine, shape: Shape, fixed: Mapping[str, Array], *, in_place: bool
    ) -> None:
        self._engine = engine
        self._shape = shape
        self.in_memory = engine.plan.state == "memory"
        self._in_place = in_place
        graph = engine.graph
        self._read_only: dict[str, Any] = {}
        for name in (*shape.program.fixed, *shape.vertex_fields):
            self._read_only[name] = self._given(graph, name, fixed)
        dtypes = shape.program.state_dtypes
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
            for name in shape.gathered:
                self._whole[name] = engine.array(name, self._source(name).dtype)

    def _given(self, graph: Graph, name: str, fixed: Mapping[str, Array]) -> Any:
        if name in VERTEX_FIELDS:
            array = vertex_field(graph, name)
            dtype = VERTEX_FIELDS[name]
        else:
            if name not in fixed:
                raise OptionError(f"state: the program needs values for its field {name!r}")
            array, dtype = fixed[name], self._shape.program.fixed_dtypes[name]
        if not self.in_memory:
            return StoredArray(array if array.dtype == dtype else array.astype(dtype))
        if array.dtype == dtype and not isinstance(array, np.memmap):
            self._engine.budget.take(array.nbytes, f"state {name!r}")
            return array
        whole = self._engine.array(name, dtype)
        for begin, part in iter_parts(array):
            whole[begin : begin + len(part)] = part
        return whole

    def _source(self, name: str) -> Any:
        return self._read_only[name] if name in self._read_only else self.old[name]

    def gathered(self, low: int, high: int) -> Arrays:
        """What is read through neighbour ids, for vertices ``low`` to ``high``."""
        sources = [self._source(name) for name in self._shape.gathered]
        if self.in_memory:
            return tuple(array[low:high] for array in sources)
        if self._whole:
            return tuple(self._whole[name][low:high] for name in self._shape.gathered)
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

    def store(self, begin: int, arrays: Arrays) -> None:
        """Keep new values that are not in memory."""
        if not self.in_memory:
            for column, array in zip(self.new.values(), arrays, strict=True):
                column.write(begin, array)

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

    def count_nan(self) -> int:
        """How many values are not numbers, in all fields together."""
        found = 0
        for name, dtype in self._shape.program.state_dtypes.items():
            column = self.old[name]
            for begin in range(0, self._engine.num_vertices if dtype.kind == "f" else 0, PART):
                end = min(begin + PART, self._engine.num_vertices)
                part = column[begin:end] if self.in_memory else column.read(begin, end)
                found += int(np.isnan(part).sum())
        return found

    def values(self, name: str) -> Array:
        """A field of all vertices."""
        column = self._whole.get(name, self.old[name])
        if isinstance(column, np.ndarray):
            return column
        values: Array = np.empty(column.length, column.dtype)
        for begin in range(0, column.length, PART):
            end = min(begin + PART, column.length)
            values[begin:end] = column.read(begin, end)
        return values
