"""The user's ids and the vertex numbers they get: dense, in order of first appearance, for good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from penstock.dynamic.id_order import Empty, extend_order, order_ids
from penstock.dynamic.region import Region, check_reservable
from penstock.dynamic.robin_hood import ProbeDistances, RobinHoodTable
from penstock.dynamic.scratch import ScratchArray, scratch_array
from penstock.errors import AddressingError, IdError, InputError
from penstock.parallel import Workers
from penstock.store.kept import Kept
from penstock.store.mapped import PART, iter_parts, read_range
from penstock.store.paged import PagedGraph
from penstock.types import MAX_VERTICES, NO_VERTEX, U32, U64, Array, IdKind

#: Ids that are looked up before the new ones among them get numbers: the next ones find them then.
BLOCK_IDS = 1 << 18
#: Up to so many times the ids that are in order, new ones are put among them.
FEW_NEW = 1.1
#: Ids that a worker looks up at a time.
RANGE_IDS = 1 << 15


class _OrderedIds:
    """Ids with their ascending order, and what others keep with them.

    With a folder for scratch files, the order is in mapped files there, and what others keep goes
    with the version of the graph that they had. Without, both stay until vertices are added.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._empty: Empty = np.empty if folder is None else partial(scratch_array, folder)
        self._found: tuple[Array, U32 | None] | None = None
        self._kept = Kept()
        self._kept_vertices = -1

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""
        raise NotImplementedError

    def by_vid(self) -> Array:
        """The id of each vertex number."""
        raise NotImplementedError

    def in_order(self) -> tuple[Array, U32 | None]:
        """The ids ascending, and the vertex number of each (None: they ascend with the numbers)."""
        have = 0 if self._found is None else len(self._found[0])
        if self._found is None or self.num_vertices > FEW_NEW * have:
            self._found = order_ids(self.by_vid(), self._empty)
        elif self.num_vertices > have:
            self._found = extend_order(self._found, self.by_vid(), self._empty)
        return self._found

    @property
    def _order_bytes(self) -> int:
        """What the order takes in memory."""
        if self._found is None or self._folder is not None:
            return 0
        return sum(each.nbytes for each in self._found if each is not None)

    @property
    def kept(self) -> Kept:
        """What others keep with the ids."""
        if self._folder is not None:
            return Kept()
        if self._kept_vertices != self.num_vertices:
            self._kept_vertices, self._kept = self.num_vertices, Kept()
        return self._kept


class IntIds(_OrderedIds):
    """Ids 0 .. 2**63 - 1. With a folder, the ids by vertex number are in a scratch file there."""

    kind: IdKind = "int"
    num_vertices: int = 0

    def __init__(self, workers: Workers, folder: Path | None = None) -> None:
        super().__init__(folder)
        self._workers = workers
        self._table = RobinHoodTable()
        self._ids: Region | ScratchArray = (
            Region(np.uint64) if folder is None else ScratchArray(folder, np.uint64)
        )

    def check(self, ids: Any, name: str) -> U64:
        """The ids as they are kept; raises if some cannot be ids."""
        array: Array = np.asarray(ids)
        if array.ndim != 1:
            raise InputError(f"{name}: expected a list of ids, got an array of shape {array.shape}")
        if len(array) == 0:
            return np.empty(0, np.uint64)
        if array.dtype.kind == "f" and np.all(np.mod(array, 1) == 0):
            raise IdError(
                f"{name}: ids are whole numbers, got {array.dtype}; give integers "
                f"({name}.astype('int64'))"
            )
        if array.dtype.kind not in "iu":
            raise IdError(
                f"{name}: this graph has integer ids, got {array.dtype} (such as "
                f"{array[0]!r}); a graph is made with ids='string' to have others"
            )
        bad = array < 0 if array.dtype.kind == "i" else array > np.uint64((1 << 63) - 1)
        if bad.any():
            row = int(np.argmax(bad))
            raise IdError(
                f"{name}: row {row} is {array[row]}; ids are 0 .. 2**63 - 1: renumber the ids"
            )
        return np.ascontiguousarray(array, np.uint64)

    def find(self, ids: U64) -> U32:
        """The vertex number of each id, NO_VERTEX if it has none."""
        out: U32 = np.empty(len(ids), np.uint32)
        self._find(ids, out)
        return out

    def _find(self, ids: U64, out: U32) -> int:
        if len(ids) <= RANGE_IDS:
            return self._table.find(ids, out)
        starts = range(0, len(ids), RANGE_IDS)

        def work(_: int, begin: int) -> int:
            return self._table.find(ids, out, begin, min(begin + RANGE_IDS, len(ids)))

        return sum(self._workers.run(work, starts))

    def number(self, *columns: U64) -> list[U32]:
        """The vertex numbers of ids; those that have none yet get the next ones."""
        found = [np.empty(len(column), np.uint32) for column in columns]
        for begin in range(0, max(map(len, columns), default=0), BLOCK_IDS):
            for column, out in zip(columns, found, strict=True):
                part, here = column[begin : begin + BLOCK_IDS], out[begin : begin + BLOCK_IDS]
                if self._find(part, here):
                    self._keep(self._table.insert(part, here))
        return found

    def check_room(self, *columns: U64) -> None:
        """Raise if there are no numbers, no address space or no disk for new ids. Other threads may
        be looking up and adding ids.
        """
        most = self.num_vertices + sum(map(len, columns))
        if most > MAX_VERTICES:
            ids = np.unique(np.concatenate(columns))
            most = self.num_vertices + int((self.find(ids) == NO_VERTEX).sum())
            _check_most(most)
        check_reservable(self._table.missing_bytes(most) + self._ids.missing_bytes(most))
        if isinstance(self._ids, ScratchArray):
            self._ids.allocate(most)

    def _keep(self, new: U64) -> None:
        end = self.num_vertices + len(new)
        _check_most(end)
        self._ids.reserve(end, self.num_vertices)
        self._ids.array[self.num_vertices : end] = new
        self.num_vertices = end

    def by_vid(self) -> Array:
        """The id of each vertex number."""
        return self._ids.array[: self.num_vertices].view(np.int64)

    def load(self, graph: PagedGraph) -> None:
        """Take the ids and the vertex numbers of a graph, a part at a time."""
        assert self.num_vertices == 0
        n, order = graph.num_vertices, graph.vid_of_rank
        self._ids.reserve(n, 0)
        ids: U64 = self._ids.array[:n]
        for begin, part in _id_parts(graph):
            end = begin + len(part)
            where = slice(begin, end) if order is None else read_range(order, begin, end)
            ids[where] = part
        self._table.reserve(n)
        for begin in range(0, n, BLOCK_IDS):
            block = ids[begin : begin + BLOCK_IDS]
            self._table.insert(block, np.full(len(block), NO_VERTEX, np.uint32))
        assert len(self._table) == n
        self.num_vertices = n

    @property
    def logged_bytes(self) -> float:
        """Bytes that an id takes in the log."""
        return 8.0

    def nbytes(self) -> int:
        """Bytes in memory."""
        by_vid = 8 * self.num_vertices if self._folder is None else 0
        return self._table.nbytes + by_vid + self._order_bytes

    def probe_distances(self) -> ProbeDistances:
        """How far ids are from home in their table."""
        return self._table.probe_distances()


class StringIds(_OrderedIds):
    """Ids that are strings."""

    kind: IdKind = "string"

    def __init__(self) -> None:
        super().__init__()
        self._vids: dict[str, int] = {}
        #: The ids by number, as far as somebody asked for them.
        self._ids: Array = np.empty(0, object)
        self._characters = 0

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""
        return len(self._vids)

    def check(self, ids: Any, name: str) -> Array:
        """The ids as they are kept; raises if some cannot be ids."""
        given: Iterable[Any] = ids.to_pylist() if hasattr(ids, "to_pylist") else ids
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            raise InputError(f"{name}: expected a list of ids, got one; give [{given!r}]")
        array: Array = np.array(list(given), dtype=object)
        for row, each in enumerate(array):
            if not isinstance(each, str):
                raise IdError(
                    f"{name}: this graph has ids that are strings, got {each!r} in row {row}; "
                    "give strings"
                )
            if "\0" in each or not each:
                raise IdError(
                    f"{name}: row {row} is {each!r}; an id has a character, none of them NUL"
                )
        return array

    def find(self, ids: Array) -> U32:
        """The vertex number of each id, NO_VERTEX if it has none."""
        known = self._vids
        return np.fromiter((known.get(each, NO_VERTEX) for each in ids), np.uint32, len(ids))

    def number(self, *columns: Array) -> list[U32]:
        """The vertex numbers of ids; those that have none yet get the next ones."""
        known = self._vids
        before = len(known)
        found = [
            np.fromiter(
                (known.setdefault(each, len(known)) for each in column), np.uint32, len(column)
            )
            for column in columns
        ]
        self._characters += sum(map(len, islice(reversed(known), len(known) - before)))
        return found

    def check_room(self, *columns: Array) -> None:
        """Raise if there are no numbers left for new ids."""
        if len(self._vids) + sum(map(len, columns)) > MAX_VERTICES:
            new = {each for column in columns for each in column} - self._vids.keys()
            _check_most(len(self._vids) + len(new))

    def by_vid(self) -> Array:
        """The id of each vertex number."""
        known, have = self._vids, len(self._ids)
        if have < len(known):
            new = np.fromiter(islice(reversed(known), len(known) - have), object)
            self._ids = np.concatenate([self._ids, new[::-1]])
        return self._ids

    def load(self, graph: PagedGraph) -> None:
        """Take the ids and the vertex numbers of a graph."""
        assert not self._vids
        self.number(graph.ids_by_vid())

    @property
    def logged_bytes(self) -> float:
        """Bytes that an id takes in the log, about, on average: its end, and its characters."""
        return 8.0 + self._characters / max(len(self._vids), 1)

    def nbytes(self) -> int:
        """Bytes in memory, about."""
        held = self._ids.nbytes + self._order_bytes
        return self._characters + 120 * len(self._vids) + held

    def probe_distances(self) -> None:
        """There is no table of ours."""


def _id_parts(graph: PagedGraph) -> Iterator[tuple[int, Array]]:
    """The ids of a graph in ascending order, a part at a time, and where each part begins."""
    first = graph.description.first_id
    if first is None:
        yield from iter_parts(graph.ids)
        return
    for begin in range(0, graph.num_vertices, PART):
        end = min(begin + PART, graph.num_vertices)
        yield begin, np.arange(first + begin, first + end, dtype=np.uint64)


def _check_most(num_vertices: int) -> None:
    if num_vertices > MAX_VERTICES:
        raise AddressingError(
            f"a graph has {MAX_VERTICES:,} vertices at most, this one would have {num_vertices:,}; "
            "cut it into several graphs"
        )


Ids = IntIds | StringIds
