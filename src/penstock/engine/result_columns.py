"""The columns of a result: in ascending order of the user's ids, and made when they are used.

A run has arrays by vid. Putting them in order, and naming the vertices that they mention, is done
for the part that is asked for: only who wants a whole array pays for one.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from penstock.arrays import fresh
from penstock.engine import gather
from penstock.store.graph import Graph
from penstock.store.kept import Slot
from penstock.store.mapped import read_range
from penstock.types import NO_VERTEX, U32, Array

if TYPE_CHECKING:
    import pyarrow as pa

_INT64 = np.dtype(np.int64)
_OBJECT = np.dtype(object)


class Ids(Protocol):
    """The user's ids, ascending. The place of an id in this order is its rank."""

    #: int64, uint64 or object (strings).
    dtype: np.dtype[Any]

    def __len__(self) -> int: ...

    def whole(self) -> Array:
        """All of them."""

    def part(self, begin: int, end: int) -> Array:
        """Those of some consecutive ranks."""

    def take(self, ranks: Array) -> Array:
        """Those of some ranks, as an array of its own."""

    def rank(self, vertex: object) -> int | None:
        """The rank of an id, if it is one of these."""

    def arrow(self, begin: int, end: int) -> pa.Array:
        """Those of some consecutive ranks, for Arrow."""


class RangeIds:
    """Ids that follow one another; they are not in memory."""

    dtype = _INT64

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self._range = range(first, first + count)

    def __len__(self) -> int:
        return len(self._range)

    def whole(self) -> Array:
        """All of them."""
        return self.part(0, len(self))

    def part(self, begin: int, end: int) -> Array:
        """Those of some consecutive ranks."""
        few = self._range[begin:end]
        return np.arange(few.start, few.stop, dtype=np.int64)

    def take(self, ranks: Array) -> Array:
        """Those of some ranks."""
        return ranks.astype(np.int64) + self._range.start

    def rank(self, vertex: object) -> int | None:
        """The rank of an id, if it is one of these."""
        number = _whole_number(vertex)
        if number is None or number not in self._range:
            return None
        return self._range.index(number)

    def arrow(self, begin: int, end: int) -> pa.Array:
        """Those of some consecutive ranks, for Arrow."""
        return _arrow_array(self.part(begin, end), arrow_type(self.dtype))


class ArrayIds:
    """Ids in an array: numbers, or strings as objects."""

    def __init__(self, array: Array) -> None:
        self._array = _strings_as_objects(array)
        self.dtype: np.dtype[Any] = self._array.dtype
        if self._array.ndim != 1 or self.dtype.kind not in "iuO":
            raise ValueError(f"ids are {self.dtype} {array.shape}; expected numbers or strings")

    def __len__(self) -> int:
        return len(self._array)

    def whole(self) -> Array:
        """All of them."""
        return self._array

    def part(self, begin: int, end: int) -> Array:
        """Those of some consecutive ranks."""
        return self._array[begin:end]

    def take(self, ranks: Array) -> Array:
        """Those of some ranks."""
        return np.asarray(self._array[ranks])

    def rank(self, vertex: object) -> int | None:
        """The rank of an id, if it is one of these."""
        wanted = vertex if isinstance(vertex, str) else _whole_number(vertex)
        if wanted is None or isinstance(wanted, str) != (self.dtype == _OBJECT):
            return None
        if not isinstance(wanted, str):
            # Of another type it would be compared as a float, which is not exact.
            limits = np.iinfo(self.dtype)
            if not limits.min <= wanted <= limits.max:
                return None
        rank = int(np.searchsorted(self._array, np.array(wanted, self.dtype)))
        return rank if rank < len(self) and self._array[rank] == wanted else None

    def arrow(self, begin: int, end: int) -> pa.Array:
        """Those of some consecutive ranks, for Arrow."""
        return _arrow_array(self.part(begin, end), arrow_type(self.dtype))


class StringIds:
    """Ids in an Arrow file; only those that are asked for become objects."""

    dtype = _OBJECT

    def __init__(self, strings: pa.ChunkedArray) -> None:
        self._strings = strings

    def __len__(self) -> int:
        return len(self._strings)

    def whole(self) -> Array:
        """All of them."""
        return self.part(0, len(self))

    def part(self, begin: int, end: int) -> Array:
        """Those of some consecutive ranks."""
        found: Array = self._strings.slice(begin, end - begin).to_numpy()
        return found

    def take(self, ranks: Array) -> Array:
        """Those of some ranks."""
        found: Array = self._strings.take(ranks).to_numpy()
        return found

    def rank(self, vertex: object) -> int | None:
        """The rank of an id, if it is one of these."""
        if not isinstance(vertex, str):
            return None
        rank = bisect_left(range(len(self)), vertex, key=lambda at: self._strings[at].as_py())
        return rank if rank < len(self) and self._strings[rank].as_py() == vertex else None

    def arrow(self, begin: int, end: int) -> pa.Array:
        """Those of some consecutive ranks, for Arrow."""
        return self._strings.slice(begin, end - begin).combine_chunks()


def ids_of(graph: Graph) -> Ids:
    """The ids of a graph, which itself is not held."""
    first, strings = graph.description.first_id, graph.mapped_strings()
    if first is not None:
        return RangeIds(first, graph.num_vertices)
    return ArrayIds(graph.ids) if strings is None else StringIds(strings)


class Namer:
    """Turns vids into the user's ids.

    No vertex is -1 where ids are int64, else None (in an array of objects).
    """

    def __init__(
        self, ids: Ids, vid_of_rank: U32 | None, threads: int = 1, ranks: U32 | None = None
    ) -> None:
        self._ids = ids
        self._vid_of_rank = vid_of_rank
        self._threads = threads
        self._ranks = ranks
        self.dtype = _INT64 if ids.dtype == _INT64 else _OBJECT
        #: What the names are when none is missing.
        self.id_dtype = ids.dtype

    def ranks(self, vids: U32, *, again: bool = True) -> U32:
        """The rank of the id of each vertex; ``NO_VERTEX`` stays what it is. ``again``: there are
        more to come, for which the table of ranks stays.
        """
        if self._vid_of_rank is None:
            return vids
        table = self._ranks
        if table is None:
            table = gather.inverse(self._vid_of_rank, self._threads)
            self._ranks = table if again else None
        return gather.translate(vids, table, self._threads)

    def names(self, ranks: U32, places: U32 | None = None, out: Array | None = None) -> Array:
        """The id of each rank, or of those at some places; in ``out`` if it is given."""
        rows = len(ranks) if places is None else len(places)
        found: Array = np.empty(rows, self.dtype) if out is None else out
        ids = self._ids
        if self.dtype == _INT64 and rows >= gather.FEW_ROWS:
            table = ids.first if isinstance(ids, RangeIds) else ids.whole()
            gather.number(ranks, table, found, places)
            return found
        mine = ranks if places is None else gather.take(ranks, places)
        found[:] = -1 if self.dtype == _INT64 else None
        there = mine != NO_VERTEX
        found[there] = ids.take(mine[there])
        return found


RANKS: Slot[U32] = Slot("ranks of ids")


def ranks_of_ids(graph: Graph, *, keep: bool, threads: int = 1) -> U32 | None:
    """The rank of the id of each vertex, if it is in memory, where lists may be, too. ``keep``:
    there is memory for it, from now on.
    """
    order, kept = graph.vid_of_rank, graph.kept_of_ids
    found = kept.get(RANKS)
    if found is None and keep and order is not None:
        found = kept.put(RANKS, value=gather.inverse(order, threads))
    return found


class Column:
    """A column given in order of vids, or of ranks if ``vid_of_rank`` is None.

    With ``namer`` it is a column of vids, to be shown as ids. A function is called when the column
    is first used. An array that is given belongs to the column from then on.
    """

    def __init__(
        self,
        given: Array | Callable[[], Array],
        length: int,
        vid_of_rank: U32 | None = None,
        namer: Namer | None = None,
        threads: int = 1,
    ) -> None:
        self._given: Array | Callable[[], Array] | None = given
        self._length = length
        self._vid_of_rank = vid_of_rank
        self._namer = namer
        self._threads = threads
        #: Whether what is given are ranks by now, instead of vids.
        self._is_ranked = False
        self._whole: Array | None = None
        if not callable(given):
            self._source()

    def _source(self) -> Array:
        assert self._given is not None
        if callable(self._given):
            self._given = self._given()
        array = self._given = _strings_as_objects(np.asarray(self._given))
        if array.shape != (self._length,):
            raise ValueError(f"a column has shape {array.shape}, expected ({self._length},)")
        return array

    def make(self) -> None:
        """Call the function now, if there is one."""
        if self._given is not None:
            self._source()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries."""
        if self._whole is not None:
            return self._whole.dtype
        return self._source().dtype if self._namer is None else self._namer.dtype

    def part(self, begin: int, end: int) -> Array:
        """The entries of some consecutive ranks."""
        if self._whole is not None:
            return self._whole[begin:end]
        order, namer, source = self._vid_of_rank, self._namer, self._source()
        if order is None:
            found = source[begin:end]
        else:
            found = gather.take(source, read_range(order, begin, end))
        if namer is None:
            return found
        return namer.names(found if self._is_ranked else namer.ranks(found))

    def whole(self) -> Array:
        """All entries; from now on they are kept, instead of what they were made from."""
        if self._whole is None:
            if self._vid_of_rank is None and self._namer is None:
                self._whole = self._source()
            else:
                self._whole = self._gathered()
            self._given = None
        return self._whole

    def _gathered(self) -> Array:
        namer, order, dtype = self._namer, self._vid_of_rank, self.dtype
        if namer is not None and not self._is_ranked:
            # By vid, because vertices that follow one another mention vertices that are near.
            self._given, self._is_ranked = namer.ranks(self._source(), again=False), True
        source = self._source()
        whole: Array = fresh(self._length, dtype)

        def work(begin: int, end: int) -> None:
            mine = whole[begin:end]
            places = None if order is None else read_range(order, begin, end)
            if namer is not None:
                namer.names(source[begin:end] if places is None else source, places, mine)
            elif places is not None:
                gather.take(source, places, mine)

        # Objects are made one at a time anyway.
        gather.in_pieces(self._length, 1 if dtype == _OBJECT else self._threads, work)
        return whole

    @cached_property
    def arrow_type(self) -> pa.DataType:
        """What the column is in Arrow."""
        if self._namer is not None:
            return arrow_type(self._namer.id_dtype)
        if self.dtype != _OBJECT:
            return arrow_type(self.dtype)
        import pyarrow as pa

        found = pa.infer_type(self.whole(), from_pandas=True)
        return pa.large_string() if pa.types.is_null(found) else found

    def arrow(self, begin: int, end: int) -> pa.Array:
        """The entries of some consecutive ranks, for Arrow; None becomes null."""
        return _arrow_array(self.part(begin, end), self.arrow_type)


def arrow_type(dtype: np.dtype[Any]) -> pa.DataType:
    """What Arrow calls a type; objects are strings."""
    import pyarrow as pa

    return pa.large_string() if dtype == _OBJECT else pa.from_numpy_dtype(dtype)


def _arrow_array(array: Array, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.array(array, kind)


def _strings_as_objects(array: Array) -> Array:
    return array.astype(object) if array.dtype.kind in "UT" else array


def _whole_number(value: object) -> int | None:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
