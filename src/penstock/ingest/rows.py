"""Reading an input: its rows become numbers and wait to be sorted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from penstock.errors import InputError
from penstock.ingest.plan import plan_read
from penstock.ingest.spool import IntChunk, Packed, Spool, pack_chunk
from penstock.parallel import ordered_map
from penstock.progress import Progress
from penstock.protocols import Source
from penstock.types import U64, Array, EdgeChunk, Names

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.ingest.names import NameCollector

#: In memory nothing is ever sent to disk.
UNLIMITED = 1 << 62


class Rows(Protocol):
    """Rows that can be gone through, in pieces that any thread may load."""

    num_rows: int

    def pieces(self, *, take: bool) -> Iterator[Any]:
        """All pieces in order; with ``take`` for the last time."""

    def load(self, piece: Any) -> IntChunk:
        """The rows of a piece."""

    def shrink(self, limit: int) -> None:
        """Hold no more than this in memory."""


class SourceRows:
    """Rows read again from their source each time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.num_rows = 0

    def pieces(self, *, take: bool) -> Iterator[EdgeChunk]:
        """See :class:`Rows`."""
        self.num_rows = 0
        for chunk in self._source.chunks(lambda amount: None):
            self.num_rows += len(chunk)
            yield chunk

    def load(self, piece: EdgeChunk) -> IntChunk:
        """See :class:`Rows`."""
        assert isinstance(piece.src, np.ndarray)
        assert isinstance(piece.dst, np.ndarray)
        return IntChunk(piece.src, piece.dst, piece.columns)

    def shrink(self, limit: int) -> None:
        """See :class:`Rows`."""


class SpoolRows:
    """Rows in a spool."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.num_rows = spool.num_rows

    def pieces(self, *, take: bool) -> Iterator[Any]:
        """See :class:`Rows`."""
        return self.spool.raw_chunks(take=take)

    def load(self, piece: Any) -> IntChunk:
        """See :class:`Rows`."""
        return self.spool.unpack(piece)

    def shrink(self, limit: int) -> None:
        """See :class:`Rows`."""
        self.spool.shrink(limit)


@dataclass(slots=True)
class ReadResult:
    """What reading found."""

    rows: Rows
    #: Types the columns come in, and the types they are to be stored in.
    spooled: dict[str, np.dtype[Any]]
    columns: dict[str, np.dtype[Any]]
    #: Largest id, -1 if there is none (numbers only).
    max_id: int = -1
    #: Distinct strings (strings only).
    names: NameCollector | None = None
    #: Vertices the input names outside its edges (numbers only).
    extra: list[U64] = field(default_factory=list)


@dataclass(slots=True)
class _Piece:
    packed: Packed
    max_id: int
    exact: dict[str, int]
    names: list[pa.Table]


#: How narrow a type holds a column's values exactly: index into this.
_NARROW = (np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.float64))


def read_rows(
    source: Source, budget: int, threads: int, scratch: Path | None, progress: Progress, seed: int
) -> ReadResult:
    """Read all rows once into a spool."""
    spooled = {k: np.dtype(np.float64) if v is None else v for k, v in source.columns.items()}
    limit = UNLIMITED
    if scratch is not None:
        limit = plan_read(budget, threads, sum(d.itemsize for d in spooled.values())).spool_bytes
    spool = Spool(scratch and scratch / "rows", limit, spooled)
    result = ReadResult(SpoolRows(spool), spooled, dict(spooled))
    if source.id_kind == "string":
        from penstock.ingest.names import NameCollector

        result.names = NameCollector(scratch, budget // 6 if scratch else UNLIMITED)
    automatic = [name for name, dtype in source.columns.items() if dtype is None]
    width = dict.fromkeys(automatic, 0)

    def digest(chunk: EdgeChunk) -> _Piece:
        tables: list[pa.Table] = []
        ids = [_as_numbers(side, seed, tables) for side in (chunk.src, chunk.dst)]
        exact = {name: _exactness(chunk.columns[name]) for name in automatic}
        packed = pack_chunk(IntChunk(ids[0], ids[1], chunk.columns))
        return _Piece(packed, _largest(ids), exact, tables)

    progress.start("reading", source.size, source.unit)
    for piece in ordered_map(digest, source.chunks(progress.advance), threads):
        spool.append(piece.packed)
        result.max_id = max(result.max_id, piece.max_id)
        for name, needed in piece.exact.items():
            width[name] = max(width[name], needed)
        for table in piece.names:
            assert result.names is not None
            result.names.add(table)
    result.rows = SpoolRows(spool)
    result.columns |= {name: _NARROW[needed] for name, needed in width.items()}
    _read_vertices(source, result, seed)
    return result


def _read_vertices(source: Source, result: ReadResult, seed: int) -> None:
    if source.vertices is None:
        return
    for ids in source.vertices():
        tables: list[pa.Table] = []
        numbers = _as_numbers(ids, seed, tables)
        if result.names is not None:
            for table in tables:
                result.names.add(table)
        elif len(numbers):
            result.extra.append(np.unique(numbers))
            result.max_id = max(result.max_id, int(numbers.max()))


def _as_numbers(ids: U64 | Names, seed: int, tables: list[pa.Table]) -> U64:
    if not isinstance(ids, Names):
        return ids
    from penstock.ingest.names import distinct_names, hash_names

    keys = hash_names(ids, seed)
    tables.append(distinct_names(ids, keys))
    return keys


def _largest(sides: list[U64]) -> int:
    return max((int(ids.max()) for ids in sides if len(ids)), default=-1)


def _exactness(values: Array) -> int:
    """Which type of ``_NARROW`` these float64 values need."""
    with np.errstate(invalid="ignore", over="ignore"):
        if np.array_equal(values, np.clip(values, -(2**31), 2**31 - 1).astype(np.int32)):
            return 0
        return 1 if np.array_equal(values, values.astype(np.float32), equal_nan=True) else 2


def check_columns(source: Source) -> None:
    """Raise if two columns have one name."""
    if source.weight is not None and source.weight not in source.columns:
        raise InputError(f"{source.name}: has no weight column {source.weight!r}")
