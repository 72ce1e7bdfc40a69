"""The user's ids and the vertex numbers they get: dense, in order of first appearance, for good."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from penstock.dynamic.robin_hood import ProbeDistances, RobinHoodTable
from penstock.dynamic.view import extend_order, order_ids
from penstock.errors import AddressingError, IdError, InputError
from penstock.parallel import Workers
from penstock.store.kept import Kept
from penstock.types import MAX_VERTICES, NO_VERTEX, U32, U64, Array, IdKind

#: Ids that are looked up before the new ones among them get numbers: the next ones find them then.
BLOCK_IDS = 1 << 18
#: Up to so many times the ids that are in order, new ones are put among them.
FEW_NEW = 1.1
#: Ids that a worker looks up at a time.
RANGE_IDS = 1 << 15


class _OrderedIds:
    """Ids with their ascending order, and what others keep with them: anew when vertices were
    added.
    """

    def __init__(self) -> None:
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
            self._found = order_ids(self.by_vid())
        elif self.num_vertices > have:
            self._found = extend_order(self._found, self.by_vid())
        return self._found

    @property
    def kept(self) -> Kept:
        """What others keep with the ids, until a vertex is added."""
        if self._kept_vertices != self.num_vertices:
            self._kept_vertices, self._kept = self.num_vertices, Kept()
        return self._kept


class IntIds(_OrderedIds):
    """Ids 0 .. 2**63 - 1."""

    kind: IdKind = "int"
    num_vertices: int = 0

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._workers = workers
        self._table = RobinHoodTable()
        self._ids: U64 = np.empty(1 << 10, np.uint64)

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
        """Raise if there are no numbers left for new ids."""
        if self.num_vertices + sum(map(len, columns)) > MAX_VERTICES:
            ids = np.unique(np.concatenate(columns))
            _check_most(self.num_vertices + int((self.find(ids) == NO_VERTEX).sum()))

    def _keep(self, new: U64) -> None:
        end = self.num_vertices + len(new)
        _check_most(end)
        if end > len(self._ids):
            grown: U64 = np.empty(max(end, 2 * len(self._ids)), np.uint64)
            grown[: self.num_vertices] = self._ids[: self.num_vertices]
            self._ids = grown
        self._ids[self.num_vertices : end] = new
        self.num_vertices = end

    def by_vid(self) -> Array:
        """The id of each vertex number."""
        return self._ids[: self.num_vertices].view(np.int64)

    def load(self, ids: Array) -> None:
        """Take the ids of the first vertices, each once, in order of their numbers."""
        assert self.num_vertices == 0
        self.number(np.ascontiguousarray(ids).astype(np.uint64))

    def nbytes(self) -> int:
        """Bytes held."""
        return self._table.nbytes + self._ids.nbytes

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

    def load(self, ids: Array) -> None:
        """Take the ids of the first vertices, each once, in order of their numbers."""
        assert not self._vids
        self.number(ids)

    def nbytes(self) -> int:
        """Bytes held, about."""
        return self._characters + 120 * len(self._vids)

    def probe_distances(self) -> None:
        """There is no table of ours."""


def _check_most(num_vertices: int) -> None:
    if num_vertices > MAX_VERTICES:
        raise AddressingError(
            f"a graph has {MAX_VERTICES:,} vertices at most, this one would have {num_vertices:,}; "
            "cut it into several graphs"
        )


Ids = IntIds | StringIds
