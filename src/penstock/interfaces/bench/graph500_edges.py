"""The edge list of Graph500 on disk: what construction starts from, and what results are checked
against.

One raw array a column, little-endian, in the order of the edges: ``src.u32`` and ``dst.u32`` have
the ends, ``weight.f32`` the weights, if there are some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.errors import CorruptionError
from penstock.files import unfinished
from penstock.ingest.formats._columns import WEIGHT
from penstock.jit import kernel
from penstock.parallel import ordered_map
from penstock.progress import Progress
from penstock.protocols import Source
from penstock.store.folder import check_space
from penstock.types import I64, U8, U32, Array, EdgeChunk

_FILES = {"src": "src.u32", "dst": "dst.u32", WEIGHT: "weight.f32"}
_DTYPES: dict[str, np.dtype[Any]] = {
    "src": np.dtype("<u4"), "dst": np.dtype("<u4"), WEIGHT: np.dtype("<f4"),
}  # fmt: skip


class Edges(NamedTuple):
    """Some consecutive edges; ``weights`` has no entries if the list has none."""

    src: U32
    dst: U32
    weights: Array


@dataclass(frozen=True, slots=True)
class EdgeList:
    """The edges of a graph of ``2**scale`` vertices, in the files of a folder."""

    folder: Path
    scale: int
    num_edges: int
    weighted: bool

    @property
    def num_vertices(self) -> int:
        """Vertices are 0 to this less one, with or without edges."""
        return 1 << self.scale

    @property
    def paths(self) -> dict[str, Path]:
        """The file of each column."""
        return {name: self.folder / _FILES[name] for name in column_names(weighted=self.weighted)}

    def parts(self, rows: int) -> Iterator[Edges]:
        """The edges in order, ``rows`` at a time."""
        with ExitStack() as stack:
            files = {
                name: stack.enter_context(path.open("rb", buffering=0))
                for name, path in self.paths.items()
            }
            for first in range(0, self.num_edges, rows):
                count = min(rows, self.num_edges - first)
                found = {name: _read(files[name], name, count) for name in files}
                yield Edges(
                    found["src"], found["dst"], found.get(WEIGHT, np.empty(0, np.float32))
                )  # fmt: skip

    def source(self, rows: int) -> Source:
        """The same as an input of a build."""

        def chunks(advance: Callable[[float], None]) -> Iterator[EdgeChunk]:
            for part in self.parts(rows):
                columns = {WEIGHT: part.weights} if self.weighted else {}
                yield EdgeChunk(part.src.astype(np.uint64), part.dst.astype(np.uint64), columns)
                advance(len(part.src))

        return Source(
            chunks, self.num_edges, "edges", "int",
            columns={WEIGHT: _DTYPES[WEIGHT]} if self.weighted else {},
            weight=WEIGHT if self.weighted else None,
            declared=range(self.num_vertices), directed=False, cheap_to_repeat=True,
            name=str(self.folder),
        )  # fmt: skip


def column_names(*, weighted: bool) -> tuple[str, ...]:
    """The columns of a list."""
    return ("src", "dst", WEIGHT) if weighted else ("src", "dst")


def edge_bytes(*, weighted: bool) -> int:
    """Bytes of an edge on disk."""
    return sum(_DTYPES[name].itemsize for name in column_names(weighted=weighted))


def _read(file: Any, name: str, count: int) -> Array:
    found = np.fromfile(file, _DTYPES[name], count)
    if len(found) != count:
        raise CorruptionError(
            f"{file.name}: ends {count - len(found):,} edges too early; make the edge list anew"
        )
    return found


def write_edges(source: Source, scale: int, folder: Path, progress: Progress) -> EdgeList:
    """Write the edges that a generator makes. The files appear when all of them are complete."""
    weighted = source.weight is not None
    edges = EdgeList(folder, scale, int(source.size or 0), weighted)
    check_space(folder, edges.num_edges * edge_bytes(weighted=weighted), "the edge list")
    progress.start("generating edges", edges.num_edges, "edges")
    with ExitStack() as stack:
        temporary = {
            name: stack.enter_context(unfinished(path, overwrite=False))
            for name, path in edges.paths.items()
        }
        with ExitStack() as opened:
            files = {
                name: opened.enter_context(path.open("wb")) for name, path in temporary.items()
            }
            for chunk in source.chunks(progress.advance):
                columns = {"src": chunk.src, "dst": chunk.dst, **chunk.columns}
                for name, file in files.items():
                    file.write(np.asarray(columns[name]).astype(_DTYPES[name]).data)
    return edges


# Search keys


@kernel
def _mark_ends(src, dst, marks):  # type: ignore[no-untyped-def]
    for i in range(len(src)):
        if src[i] != dst[i]:
            marks[src[i]] = 1
            marks[dst[i]] = 1


def vertices_with_edges(edges: EdgeList, threads: int, rows: int) -> U8:
    """A mark for each vertex: 1 if it has an edge that is no loop."""
    marks: U8 = np.zeros(edges.num_vertices, np.uint8)

    def mark(part: Edges) -> None:
        _mark_ends(part.src, part.dst, marks)

    for _ in ordered_map(mark, edges.parts(rows), threads):
        pass
    return marks


def choose_roots(marks: U8, count: int, seed: int, part: int = 1 << 20) -> I64:
    """``count`` different vertices drawn evenly from those that are marked, or all of them if there
    are no more, in the order in which they were drawn.
    """
    begins = range(0, len(marks), part)
    totals = np.cumsum([np.count_nonzero(marks[a : a + part]) for a in begins], dtype=np.int64)
    candidates = int(totals[-1]) if len(totals) else 0
    drawn = np.random.default_rng(seed % (1 << 64)).choice(
        candidates, min(count, candidates), replace=False, shuffle=True
    )
    roots: I64 = np.empty(len(drawn), np.int64)
    # The k-th marked vertex: its part by the totals, its place in the part by counting.
    for i, k in enumerate(drawn.tolist()):
        at = int(np.searchsorted(totals, k, side="right"))
        before = int(totals[at - 1]) if at else 0
        roots[i] = at * part + np.flatnonzero(marks[at * part : (at + 1) * part])[k - before]
    return roots
