"""Edges that a file lists from both ends: each is kept once, and that both are there is checked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.errors import InputError
from penstock.types import U64, Array, EdgeChunk


class OneSided:
    """Keeps the edges with source <= target of every batch, and counts."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._totals = np.zeros(3, np.uint64)
        #: Entries seen, from both ends.
        self.entries = 0

    @property
    def loops(self) -> int:
        """Entries seen that join a vertex to itself."""
        return int(self._totals[1])

    def keep(self, ids: U64, weights: Array, columns: tuple[str, ...]) -> Iterator[EdgeChunk]:
        """The batch (which is overwritten) as at most one chunk."""
        from penstock.ingest.formats import _passes

        self.entries += ids.shape[1]
        kept = _passes.keep_upper(ids, weights, self._totals)
        if kept:
            yield EdgeChunk(ids[0, :kept], ids[1, :kept], dict.fromkeys(columns, weights[:kept]))

    def check(self) -> None:
        """Raise an InputError, in the end, if some edge was listed from one of its ends only."""
        upward, loops, balance = (int(total) for total in self._totals)
        if balance or self.entries != 2 * upward + loops:
            raise InputError(
                f"{self._path}: the graph is undirected, but some edges are listed at one of their "
                "ends only"
            )
