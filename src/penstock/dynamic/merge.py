"""One direction of a graph that changes: an immutable base and what has changed since, as one.

The base is a store, or, while a compaction writes the next one, a side that was frozen (see
:mod:`penstock.dynamic.layers`).

An edge is there if it was *added*, or if the base has it and it was not *removed*. In a graph
without parallel edges three rules keep it so:

- Without columns an edge of the base is never among the added ones: adding it again takes it out of
  the removed ones. So rows whose edge is in the base go to one, all others to the other.
- With columns an edge of the base that is added again has new values: it stands in both from then
  on. So any row whose edge is in the base removes it there, and everything goes to the added ones.
- In a multigraph every row that adds goes to the added ones, and a row that deletes goes to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.dynamic import merge_kernels as kernels
from penstock.dynamic.base import BaseLists
from penstock.dynamic.changes import Gathered
from penstock.dynamic.layers import LowerLists
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.maintained.protocol import ByVertex
from penstock.dynamic.merge_lists import Pieces, Work, merged
from penstock.dynamic.sparse_lists import SparseLists
from penstock.dynamic.tables import Layer
from penstock.errors import OptionError
from penstock.types import I64, U8, U32, Array

_NONE: I64 = np.empty(0, np.int64)


class MergedSide:
    """Lists of a base and of what changed, as :class:`~penstock.dynamic.changes.LiveSide` has them.

    Without a base, the added ones are all there are. With one, only the lists of vertices that
    changed take memory. ``removed`` holds pairs, each once, and no columns; a side with a base that
    is given none makes its own.
    """

    def __init__(
        self,
        base: LowerLists | None,
        added: DegreeAwareLists | SparseLists,
        removed: SparseLists | None = None,
    ) -> None:
        self.base = base
        self.added = added
        self.removed = removed
        self.multigraph = added.multigraph
        if base is not None:
            if base.multigraph and not self.multigraph:
                raise OptionError(
                    f"{base!r} was built with duplicates='keep' and may have parallel edges; "
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

    def stand_on(self, base: LowerLists) -> None:
        """Go on with another base that has the same lists: what changed since is the same."""
        self.base = base

    @property
    def bottom(self) -> BaseLists | None:
        """The store that is below everything, if there is one."""
        return None if self.base is None else self.base.bottom

    @property
    def layers(self) -> tuple[Layer, ...]:
        """What changed since that store, from the lowest layer to the highest."""
        if self.base is None:
            return (Layer(self.added),)
        return (*self.base.layers, Layer(self.added, self.removed))

    def close(self, *, wait: bool = True) -> None:
        """End the threads."""
        for lists in (self.base, self.added, self.removed):
            if lists is not None:
                lists.close(wait=wait)

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
        if self.base is None:
            return self.added.nbytes
        mine = self.nbytes - self.base.nbytes - self._changed.fixed_bytes
        return mine + self.base.changed_bytes

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        if self.base is None or self.removed is None:
            return self.added.nbytes
        numbered = self._changed.nbytes + self._gone.now.nbytes
        return self.added.nbytes + self.removed.nbytes + numbered + self.base.nbytes

    def missing_bytes(self, new_vertices: int, rows: int) -> int:
        """Address space that a number of rows could need besides."""
        if self.base is None or self.removed is None:
            return self.added.missing_bytes(new_vertices, rows)
        parts = (self.added, self.removed, self.base)
        return sum(part.missing_bytes(new_vertices, rows) for part in parts)

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
            found |= self._alive(src, dst, self.base.has(src, dst))
        return found  # type: ignore[no-any-return]

    def _alive(self, src: U32, dst: U32, in_base: Any) -> Any:
        """Which edges that are ``in_base`` are not removed."""
        assert self.removed is not None
        if self.removed.num_edges:
            rows = np.flatnonzero(in_base)
            in_base[rows] = self.removed.find(src[rows], dst[rows]) < 0
        return in_base

    def count(self, src: U32, dst: U32) -> I64:
        """How many edges there are from each source to its target."""
        counts = self.added.count(src, dst).astype(np.int64)
        if self.base is not None:
            below = self.base.count(src, dst)
            counts += np.where(self._alive(src, dst, below > 0), below, 0)
        return counts

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
            in_base, below = self.base.look_up(src[rest], dst[rest])
            alive = self._alive(src[rest], dst[rest], in_base)
            found[rest[alive]] = True
            for out, values in zip(columns, below, strict=True):
                out[rest[alive]] = values[alive]
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

    def _each(self, work: Work, pieces: Pieces) -> None:
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
        in_base = self.base.has(src, dst)
        if self.added.columns:
            return self._apply_valued(src, dst, adds, columns, np.flatnonzero(in_base))
        return self._apply_plain(src, dst, adds, in_base)

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
        if self.base is None:
            return self.added.apply_counted(src, dst, adds, columns)
        if not self.multigraph:
            return self.apply(src, dst, adds, columns).astype(np.uint32)
        counts = self.added.apply_counted(src, dst, adds, columns)
        if adds is not None:
            deletions = np.flatnonzero(adds == 0)
            self._remove_parallel(src[deletions], dst[deletions], deletions, counts)
        return counts

    def change(
        self, src: U32, dst: U32, adds: U8 | None = None, columns: Sequence[Array] = ()
    ) -> tuple[int, int]:
        """As :meth:`apply`, but says only how many edges appeared and went in all."""
        if isinstance(self.added, DegreeAwareLists):
            return self.added.change(src, dst, adds, columns)
        return totals(self.apply_counted(src, dst, adds, columns), adds)

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


def totals(counts: U32, adds: U8 | None) -> tuple[int, int]:
    """How many edges appeared and went, from how many that were by row."""
    total = int(counts.sum())
    added = total if adds is None else int(counts.sum(where=adds != 0))
    return added, total - added
