"""Requests to graphs that change: inserts and deletes in an order, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.ingest.generate import rmat
from penstock.interfaces.bench.workloads import SEED
from penstock.types import I64, U8, U64, Array, Names


@dataclass(frozen=True)
class Requests:
    """Row i asks for the edge ``src[i] -> dst[i]`` to be added, or deleted if ``adds[i]`` is 0;
    without any ``adds`` all are insertions. Ids are below ``num_ids``.
    """

    src: U64
    dst: U64
    adds: U8
    num_ids: int

    def __len__(self) -> int:
        return len(self.src)

    def batches(self, rows: int) -> Iterator[tuple[U64, U64, U8]]:
        """So many rows at a time."""
        for begin in range(0, len(self.src), rows):
            part = slice(begin, begin + rows)
            yield self.src[part], self.dst[part], self.adds[part]

    def ordered(self) -> Requests:
        """The same, by source and target; those to one edge stay in their order."""
        order = np.lexsort((self.dst, self.src))
        return self._taken(order)

    def one_way(self) -> Requests:
        """Only those from the smaller id to the larger, and loops: of an undirected graph."""
        return self._taken(np.flatnonzero(self.src <= self.dst))

    def streams(self, count: int) -> list[Requests]:
        """Dealt out in turn, as if they came from several places at once. Requests to one edge may
        change places.
        """
        return [self._taken(np.arange(k, len(self.src), count)) for k in range(count)]

    def _taken(self, rows: I64) -> Requests:
        adds = self.adds[rows] if len(self.adds) else self.adds
        return Requests(self.src[rows], self.dst[rows], adds, self.num_ids)


def rmat_requests(scale: int, deletions: float = 0, threads: int = 1) -> Requests:
    """Both directions of RMAT edges, 16 for each of ``2**scale`` vertices with names at random, in
    random order; and deletions, as a share of the insertions, each at a random place after the
    insertion of its edge.
    """
    chunks = list(rmat(scale, seed=SEED, threads=threads).chunks(lambda amount: None))
    one, other = (np.concatenate([_ids(getattr(c, end)) for c in chunks]) for end in ("src", "dst"))
    generator = np.random.default_rng(SEED)
    order = generator.permutation(2 * len(one))
    src, dst = np.concatenate([one, other])[order], np.concatenate([other, one])[order]
    inserted = Requests(src, dst, np.empty(0, np.uint8), 1 << scale)
    return with_deletions(inserted, deletions, generator) if deletions else inserted


def with_deletions(inserted: Requests, share: float, generator: np.random.Generator) -> Requests:
    """Insertions, and deletions of some of them put between."""
    count = len(inserted)
    deleted = generator.choice(count, round(share * count), replace=False)
    times = deleted + generator.random(len(deleted)) * (count - deleted)
    # An insertion stands before a deletion of the same time.
    order = np.argsort(np.concatenate([np.arange(count, dtype=np.float64), times]), kind="stable")
    rows = np.concatenate([np.arange(count), deleted])[order]
    adds = (order < count).astype(np.uint8)
    return Requests(inserted.src[rows], inserted.dst[rows], adds, inserted.num_ids)


def _ids(column: U64 | Names) -> U64:
    assert not isinstance(column, Names)
    return column


def middle_source(requests: Requests) -> int:
    """Where searches begin: an id of middling degree, always the same."""
    degrees: Array = np.bincount(requests.src.astype(np.int64), minlength=requests.num_ids)
    with_edges = np.flatnonzero(degrees)
    by_degree = with_edges[np.argsort(degrees[with_edges], kind="stable")]
    return int(by_degree[len(by_degree) // 2])
