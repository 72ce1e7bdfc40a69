"""One direction of a graph that changes: an immutable base and what has changed since, as one.

An edge is there if it was *added*, or if the base has it and it was not *removed*. In a graph
without parallel edges three rules keep it so:

- Without columns an edge of the base is never among the added ones: adding it again takes it out of
  the removed ones. So rows whose edge is in the base go to one, all others to the other.
- With columns an edge of the base that is added again has new values: it stands in both from then
  on. So any row whose edge is in the base removes it there, and everything goes to the added ones.
- In a multigraph every row that adds goes to the added ones, and a row that deletes goes to both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.arrays import fresh
from penstock.dynamic import merge_kernels as kernels
from penstock.dynamic.base import FEW_EDGES, BaseLists
from penstock.dynamic.changes import Gathered, PlainLists
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.maintained.protocol import ByVertex
from penstock.dynamic.sparse_lists import SparseLists
from penstock.errors import OptionError
from penstock.radix import sort_pairs
from penstock.types import I64, U8, U32, U64, Array

#: Lists that one worker puts together at a time have about so many edges.
PIECE_EDGES = 1 << 18
_NONE: I64 = np.empty(0, np.int64)

_Work = Callable[[int, int], None]
_Pieces = Sequence[tuple[int, int]]
#: Calls the work for every piece.
Each = Callable[[_Work, _Pieces], None]


class MergedSide:
    """Lists of a base and of what changed, as :class:`~penstock.dynamic.changes.LiveSide` has them.

    Without a base, the added ones are all there are. With one, only the lists of vertices that
    changed take memory. ``removed`` holds pairs, each once, and no columns; a side with a base that
    is given none makes its own.
    """

    def __init__(
        self,
        base: BaseLists | None,
        added: DegreeAwareLists | SparseLists,
        removed: SparseLists | None = None,
    ) -> None:
        self.base = base
        self.added = added
        self.removed = removed
        self.multigraph = added.multigraph
        if base is not None:
            parallel = base.graph.multigraph
            if parallel and not self.multigraph:
                raise OptionError(
                    f"{base.graph!r} was built with duplicates='keep' and may have parallel edges; "
                    "open it as a multigraph"
                )
            sparse = added if isinstance(added, SparseLists) else SparseLists(added)
            self.added, self._changed = sparse, sparse.changed
            if removed is None:
                plain = DegreeAwareLists(threads=base.workers.count)
                self.removed = SparseLists(plain, self._changed)
            #: In a multigraph a removed pair may be several edges of the base: all of them, and
            #: those of each vertex that changed, by its number.
            self._gone_edges = 0
            self._gone = ByVertex(np.uint32)
            self.grow(base.num_vertices)
            self._take_off_removed()

    def _take_off_removed(self) -> None:
        """Count what is removed already."""
        assert self.base is not None
        assert self.removed is not None
        if self.multigraph and self.removed.num_edges:
            everyone = self._changed.vertices
            gone = self.removed.gather(everyone)
            src = np.repeat(everyone, np.diff(gone.offsets))
            self._count_gone(src, self.base.count(src, gone.neighbours))

    def _count_gone(self, src: U32, gone: I64) -> None:
        """Count edges of the base that are removed; in a multigraph."""
        counts = self._gone.grow(self._changed.count)
        kernels.add_counts(self._changed.numbers_of(src), gone, counts)
        self._gone_edges += int(gone.sum())

    def _gone_of(self, vertices: U32) -> U32:
        """How many edges of some vertices of the base are removed."""
        assert self.removed is not None
        if self.multigraph:
            return self._gone.grow(self._changed.count)[self._changed.numbers_of(vertices)]
        return self.removed.lengths_of(vertices)

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""
        return self.added.num_vertices

    @property
    def num_edges(self) -> int:
        """Entries of all lists."""
        if self.base is None or self.removed is None:
            return self.added.num_edges
        gone = self._gone_edges if self.multigraph else self.removed.num_edges
        return self.added.num_edges + self.base.num_edges - gone

    @property
    def changed_bytes(self) -> int:
        """Bytes of what changed since the base: merging gives them back."""
        return self.nbytes - (0 if self.base is None else self._changed.fixed_bytes)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        if self.removed is None:
            return self.added.nbytes
        numbered = self._changed.nbytes + self._gone.now.nbytes
        return self.added.nbytes + self.removed.nbytes + numbered

    def grow(self, num_vertices: int) -> None:
        """Have so many vertices; new ones have no edges."""
        self.added.grow(num_vertices)

    def degrees(self) -> U32:
        """How long each list is; not to be changed."""
        if isinstance(self.added, DegreeAwareLists):
            return self.added.degrees()
        assert self.base is not None
        changed = self._changed.vertices
        if not len(changed) and self.num_vertices == self.base.num_vertices:
            return self.base.degrees()
        degrees: U32 = np.zeros(self.num_vertices, np.uint32)
        degrees[: self.base.num_vertices] = self.base.degrees()
        degrees[changed] += self.added.lengths_of(changed) - self._gone_of(changed)
        return degrees

    def degrees_of(self, vertices: U32) -> U32:
        """How long the lists of some vertices are."""
        if isinstance(self.added, DegreeAwareLists):
            return (self.added.ends[vertices] - self.added.starts[vertices]).astype(np.uint32)
        assert self.base is not None
        degrees: U32 = self.base.degrees_of(vertices).astype(np.uint32)
        return degrees + self.added.lengths_of(vertices) - self._gone_of(vertices)

    def has(self, src: U32, dst: U32) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each edge ``src -> dst`` is there."""
        found: Any = self.added.find(src, dst) >= 0
        if self.base is not None:
            found |= self._alive(src, dst, self.base.find(src, dst))
        return found  # type: ignore[no-any-return]

    def _alive(self, src: U32, dst: U32, positions: I64) -> Any:
        """Which edges with these positions in the base are not removed."""
        assert self.removed is not None
        alive = positions >= 0
        if self.removed.num_edges:
            rows = np.flatnonzero(alive)
            alive[rows] = self.removed.find(src[rows], dst[rows]) < 0
        return alive

    def values(self, src: U32, dst: U32) -> tuple[Any, tuple[Array, ...]]:
        """Whether each edge is there, and its columns (of parallel edges, those of one; where there
        is no edge, zeros).
        """
        places = self.added.find(src, dst)
        found: Any = places >= 0
        columns = tuple(np.zeros(len(src), column.dtype) for column in self.added.columns)
        rows = np.flatnonzero(found)
        for out, values in zip(columns, self.added.columns, strict=True):
            out[rows] = values[places[rows]]
        if self.base is not None:
            rest = np.flatnonzero(~found)
            positions = self.base.find(src[rest], dst[rest])
            alive = self._alive(src[rest], dst[rest], positions)
            rows = rest[alive]
            found[rows] = True
            for out, values in zip(columns, self.base.values(positions[alive]), strict=True):
                out[rows] = values
        return found, columns

    # Lists

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given."""
        added = self.added.gather(vertices)
        if self.base is None:
            return added
        assert self.removed is not None
        base = self.base.gather(vertices)
        gone = Gathered(_NONE, np.empty(0, np.uint32))
        if self.removed.num_edges:
            gone = self.removed.gather(vertices)
            kernels.sort_lists(0, len(vertices), gone.offsets, gone.neighbours)
        if not len(added.neighbours) and not len(gone.neighbours):
            return base
        return merged(base, gone, added, in_order=False, each=self._each)

    def _each(self, work: _Work, pieces: _Pieces) -> None:
        assert self.base is not None
        self.base.workers.run(lambda _, piece: work(*piece), pieces)

    # Batches

    def load_rows(self, src: U32, dst: U32, columns: Sequence[Array] = ()) -> U8:
        """Add many edges to a side that has none, and no base."""
        assert isinstance(self.added, DegreeAwareLists)
        return self.added.load_rows(src, dst, columns)

    def apply(
        self, src: U32, dst: U32, adds: U8 | None = None, columns: Sequence[Array] = ()
    ) -> U8:
        """Add and delete edges, as :meth:`DegreeAwareLists.apply` does it: says of each row whether
        an edge appeared or went.
        """
        if self.base is None:
            return self.added.apply(src, dst, adds, columns)
        if self.multigraph:
            changed: U8 = (self.apply_counted(src, dst, adds, columns) != 0).astype(np.uint8)
            return changed
        positions = self.base.find(src, dst)
        if self.added.columns:
            return self._apply_valued(src, dst, adds, columns, np.flatnonzero(positions >= 0))
        return self._apply_plain(src, dst, adds, positions >= 0)

    def _apply_plain(self, src: U32, dst: U32, adds: U8 | None, in_base: Any) -> U8:
        assert self.removed is not None
        rows = np.flatnonzero(in_base)
        if not len(rows):
            return self.added.apply(src, dst, adds)
        others = np.flatnonzero(~in_base)
        result: U8 = np.empty(len(src), np.uint8)
        ops: U8 = np.ones(len(rows), np.uint8) if adds is None else adds[rows]
        result[rows] = self.removed.apply(src[rows], dst[rows], (ops == 0).astype(np.uint8))
        result[others] = self.added.apply(
            src[others], dst[others], None if adds is None else adds[others]
        )
        return result

    def _apply_valued(
        self, src: U32, dst: U32, adds: U8 | None, columns: Sequence[Array], rows: I64
    ) -> U8:
        assert self.removed is not None
        result = self.added.apply(src, dst, adds, columns)
        if len(rows):
            # The first row of an edge that was alive in the base: to the added ones a change of
            # its values looks like a new edge, and its deletion like that of none.
            result[rows] ^= self.removed.apply(src[rows], dst[rows])
        return result

    def apply_counted(
        self, src: U32, dst: U32, adds: U8 | None = None, columns: Sequence[Array] = ()
    ) -> U32:
        """As :meth:`apply`, but says how many edges each row made or deleted: in a multigraph, a
        deletion takes all parallel edges.
        """
        if not self.multigraph:
            return self.apply(src, dst, adds, columns).astype(np.uint32)
        counts: U32 = np.zeros(len(src), np.uint32)
        deletions = np.flatnonzero(adds == 0) if adds is not None else _NONE
        if len(deletions):
            assert adds is not None
            initial = np.zeros(len(src), np.int64)
            initial[deletions] = self._count_added(src[deletions], dst[deletions])
            order = _by_pair(src, dst)
            kernels.count_in_turn(order, src, dst, adds, initial, counts)
        else:
            counts[:] = 1
        self.added.apply(src, dst, adds, columns)
        if self.base is not None:
            self._remove_parallel(src[deletions], dst[deletions], deletions, counts)
        return counts

    def _count_added(self, src: U32, dst: U32) -> I64:
        """How many edges of each pair were added."""
        found: I64 = np.zeros(len(src), np.int64)
        rows = np.flatnonzero(self.added.find(src, dst) >= 0)
        if len(rows):
            vertices, places = np.unique(src[rows], return_inverse=True)
            lists = self.added.gather(vertices)
            kernels.sort_lists(0, len(vertices), lists.offsets, lists.neighbours)
            some = found[rows]
            kernels.count_in_lists(places, dst[rows], lists.offsets, lists.neighbours, some)
            found[rows] = some
        return found

    def _remove_parallel(self, src: U32, dst: U32, rows: I64, counts: U32) -> None:
        """Remove pairs from the base; their edges are added to the counts of their rows."""
        assert self.base is not None
        assert self.removed is not None
        there = self.base.count(src, dst)
        some = np.flatnonzero(there)
        if len(some):
            gone = there[some] * self.removed.apply(src[some], dst[some])
            counts[rows[some]] += gone.astype(np.uint32)
            self._count_gone(src[some], gone)


def merged(
    base: Gathered, gone: Gathered, added: Gathered, *, in_order: bool,
    each: Each | None = None,
) -> Gathered:  # fmt: skip
    """Lists of a base less what is gone (sorted lists, or no offsets), and what was added: merged,
    if all are ascending, else one after the other. ``each`` runs pieces of the work.
    """
    run = each or _one_by_one
    lists = len(base.offsets) - 1
    sizes: I64 = np.zeros(lists, np.int64)
    cuts = _cut(base.offsets)
    given = (base.plain, gone.plain, added.plain)

    def measure(lo: int, hi: int) -> None:
        kernels.count_merged(lo, hi, *given, sizes)

    run(measure, cuts)
    offsets: I64 = np.zeros(lists + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    total = int(offsets[-1])
    neighbours: U32 = fresh(total, np.uint32)
    target = PlainLists(offsets, neighbours)
    origin: U64 = fresh(total if base.columns else 0, np.uint64)
    pairs = [
        (_bits(first), _bits(np.ascontiguousarray(second)), fresh(total, first.dtype))
        for first, second in zip(base.columns, added.columns, strict=True)
    ]

    def put(lo: int, hi: int) -> None:
        kernels.merge_lists(lo, hi, in_order, *given, target, origin)
        for first, second, out in pairs:
            kernels.take_values(
                int(offsets[lo]), int(offsets[hi]), origin, first, second, _bits(out)
            )

    run(put, cuts)
    return Gathered(offsets, neighbours, tuple(out for _, _, out in pairs))


def _one_by_one(work: _Work, pieces: _Pieces) -> None:
    for piece in pieces:
        work(*piece)


def _bits(values: Array) -> Array:
    """The same bytes as unsigned numbers: kernels copy them whatever they mean."""
    return values.view(f"u{values.dtype.itemsize}")


def _cut(offsets: I64) -> list[tuple[int, int]]:
    """Cut lists into pieces of about the same number of edges."""
    lists, total = len(offsets) - 1, int(offsets[-1])
    if total < FEW_EDGES and lists < FEW_EDGES:
        return [(0, lists)]
    parts = max(total // PIECE_EDGES, lists // PIECE_EDGES, 1)
    wanted = np.linspace(0, total, parts + 1)[1:-1]
    ends = [0, *np.searchsorted(offsets, wanted).clip(0, lists).tolist(), lists]
    return [(a, b) for a, b in pairwise(ends) if a < b]


def _by_pair(src: U32, dst: U32) -> U32:
    """Rows with equal pairs beside each other, in their order."""
    keys = (src.astype(np.uint64) << np.uint64(32)) | dst
    order: U32 = np.arange(len(src), dtype=np.uint32)
    spare_keys, spare_order = np.empty_like(keys), np.empty_like(order)
    bits = int(keys.max()).bit_length() if len(keys) else 1
    if sort_pairs(keys, order, spare_keys, spare_order, max(bits, 1)):
        return spare_order
    return order
