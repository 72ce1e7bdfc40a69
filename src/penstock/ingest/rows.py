"""Reading an input: its rows become numbers and wait to be sorted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from penstock.errors import InputError
from penstock.ingest.order import fingerprint
from penstock.ingest.plan import plan_read
from penstock.ingest.spool import IntChunk, Packed, Spool, pack_chunk
from penstock.jit import kernel
from penstock.parallel import ordered_map
from penstock.progress import Progress
from penstock.protocols import BadLines, Source
from penstock.sorting.spill import Spill
from penstock.store.folder import check_space
from penstock.types import U64, EdgeChunk, Names

if TYPE_CHECKING:
    from penstock.ingest.names import HashedNames, NameCollector

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
        #: What the source announces, until it has been gone through.
        self.num_rows = int(source.size or 0) if source.unit == "edges" else 0

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
    #: Vertices the input names outside its edges (numbers only): see :func:`extra_ids`.
    extra: Spill | None = None
    #: Of all rows with the ids they came with; None: they have not been read.
    fingerprint: int | None = None


@dataclass(slots=True)
class _Piece:
    packed: Packed
    max_id: int
    inexact: dict[str, int]
    names: list[HashedNames]
    fingerprint: int


#: The type a column is stored in, by what :func:`_inexact` found for all of its values.
_NARROW = (np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.float64))


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

        result.names = NameCollector(scratch, budget // 10 if scratch else UNLIMITED)
    automatic = [name for name, dtype in source.columns.items() if dtype is None]
    inexact = dict.fromkeys(automatic, 0)
    seen = 0

    def digest(chunk: EdgeChunk) -> _Piece:
        names: list[HashedNames] = []
        ids = [_as_numbers(side, seed, names) for side in (chunk.src, chunk.dst)]
        found = {name: _inexact(chunk.columns[name]) for name in automatic}
        packed = pack_chunk(IntChunk(ids[0], ids[1], chunk.columns))
        return _Piece(packed, _largest(ids), found, names, fingerprint(ids[0], ids[1]))

    if scratch is not None and source.unit == "bytes" and source.size is not None:
        # Rows take about as much room as they do in a file.
        check_space(scratch, max(0, int(source.size) - limit), "a copy of the input")
    for note in source.notes:
        progress.note(note)
    progress.start("reading", source.size, source.unit)
    for piece in ordered_map(digest, source.chunks(progress.advance), threads):
        spool.append(piece.packed)
        result.max_id = max(result.max_id, piece.max_id)
        seen = (seen + piece.fingerprint) % (1 << 64)
        for name, found in piece.inexact.items():
            inexact[name] |= found
        for hashed in piece.names:
            assert result.names is not None
            result.names.add(hashed)
    result.rows = SpoolRows(spool)
    result.columns |= {name: _NARROW[found] for name, found in inexact.items()}
    result.fingerprint = seen
    if source.vertices is not None:
        _read_vertices(source.vertices(), result, scratch, limit, seed)
    for note in _passed_over(source.bad_lines):
        progress.note(note)
    return result


def _passed_over(bad_lines: BadLines) -> Iterator[str]:
    """What is to be said about lines that are no edges."""
    if bad_lines.comments:
        yield f"{bad_lines.comments:,} comment lines"
    if bad_lines.count:
        examples = "".join(f"\n  {example}" for example in bad_lines.examples)
        others = "\n  ..." if bad_lines.count > len(bad_lines.examples) else ""
        yield f"{bad_lines.count:,} bad lines skipped:{examples}{others}"


def _read_vertices(
    vertices: Iterator[U64 | Names], result: ReadResult, scratch: Path | None, limit: int, seed: int
) -> None:
    result.extra = Spill(scratch and scratch / "vertices", limit // 4)
    for ids in vertices:
        names: list[HashedNames] = []
        numbers = _as_numbers(ids, seed, names)
        if result.names is not None:
            for hashed in names:
                result.names.add(hashed)
        elif len(numbers):
            result.extra.append(0, np.ascontiguousarray(numbers).view(np.uint8))
            result.max_id = max(result.max_id, int(numbers.max()))


def extra_ids(extra: Spill | None, *, take: bool) -> Iterator[U64]:
    """The vertices that were named outside the edges, a part at a time."""
    if extra is not None:
        for block in extra.read(0, take=take, at_once=1 << 20):
            yield block.view(np.uint64)


def _as_numbers(ids: U64 | Names, seed: int, names: list[HashedNames]) -> U64:
    if not isinstance(ids, Names):
        return ids
    from penstock.ingest.names import hash_names

    names.append(hash_names(ids, seed))
    return names[-1].keys


def _largest(sides: list[U64]) -> int:
    return max((int(ids.max()) for ids in sides if len(ids)), default=-1)


@kernel
def _inexact(values):  # type: ignore[no-untyped-def]
    """Which types cannot hold all of these float64 values: 1 for int32, plus 2 for float32."""
    found = 0
    for i in range(len(values)):
        value = values[i]
        if not (-2147483648.0 <= value <= 2147483647.0 and np.floor(value) == value):
            found |= 1
        # Not a number differs from itself; float32 has it.
        if value == value and np.float64(np.float32(value)) != value:
            found |= 2
    return found


def check_columns(source: Source) -> None:
    """Raise if two columns have one name."""
    if source.weight is not None and source.weight not in source.columns:
        raise InputError(f"{source.name}: has no weight column {source.weight!r}")
