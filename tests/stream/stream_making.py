"""Small graphs with small pages, and their lists read in ways that are obviously right."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import penstock as ps
from penstock.ingest import options as build_options
from penstock.metrics import Metrics
from penstock.parallel import Workers
from penstock.store.graph import Graph
from penstock.store.layout import PAGE_TABLE_DTYPE
from penstock.store.page import LARGE, SMALL
from penstock.stream.cache import PageCache
from penstock.stream.lists import Piece, StreamedLists, load
from penstock.stream.policy import POLICIES
from penstock.stream.resident import ResidentLists

PAGE = 4096
Edge = tuple[int, int, Any]


def build(path: Path | None, arrays: tuple[Any, ...], **options: Any) -> Graph:
    """A graph with pages smaller than users can have; without a path, in memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_options, "MIN_PAGE_BYTES", PAGE)
        if path is None:
            return ps.from_edges(*arrays, **options)
        weighted = len(arrays) > 2
        return ps.build(arrays, path, weights=weighted, page_size=PAGE, memory="64MB", **options)


def two_folders(root: Path) -> list[Path]:
    """Folders for stripes."""
    far = [root / "a", root / "b"]
    for folder in far:
        folder.mkdir()
    return far


def some_edges(n: int = 4000, m: int = 12000, seed: int = 3) -> tuple[Any, Any, Any]:
    """Edges with two lists of several pages each way, and vertices without any."""
    rng = np.random.default_rng(seed)
    spokes = rng.permutation(n)
    src = np.concatenate([rng.integers(0, n, m), np.full(n, 5), spokes, np.full(n // 2, 9)])
    dst = np.concatenate([rng.integers(0, n, m), spokes, np.full(n, 6), spokes[: n // 2]])
    keep = (src % 5 != 2) & (dst % 5 != 2)
    src, dst = src[keep], dst[keep]
    return src, dst, rng.integers(1, 100, len(src)).astype(np.int32)


class Opened:
    """Streamed lists with all that they need."""

    def __init__(
        self, graph: Graph, direction: Any = "out", *, streams: int = 3, cache: int = 4,
        policy: str = "lru", columns: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.graph = graph
        self.columns = columns
        self.workers = Workers(streams)
        self.metrics = Metrics(streams)
        self.cache = PageCache(cache, POLICIES[policy])
        self.lists = StreamedLists(
            graph, direction, columns, self.workers, self.metrics, self.cache
        )
        self._direction = direction

    def resident(self) -> ResidentLists:
        """The same lists, loaded."""
        dtypes = {c.name: c.dtype for c in self.graph.catalog.columns}
        block = load(self.lists, self.graph.num_vertices, [dtypes[name] for name in self.columns])
        return ResidentLists(block, self.lists.table, self._direction, self.workers)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self.workers.close()
        self.lists.close()


def edges_of(stream: int, piece: Piece) -> list[Edge]:
    """The edges of a piece, one by one."""
    block = piece.block
    chosen = range(piece.begin, piece.end) if piece.vertices is None else piece.vertices.tolist()
    found = []
    for v in chosen:
        at = int(v) - block.first
        for k in range(int(block.offsets[at]), int(block.offsets[at + 1])):
            extra = tuple(column[k].item() for column in block.columns)
            found.append((int(v), int(block.neighbours[k]), extra))
    return found


@lru_cache(maxsize=16)
def all_edges(graph: Graph, direction: Any = "out", columns: tuple[str, ...] = ()) -> list[Edge]:
    """Every edge of a direction in order, by the store's own decoder; not to be changed."""
    found: list[Edge] = []
    for part in graph.iter_adjacency(direction):
        owners = np.repeat(np.arange(len(part.degrees)) + part.first_vid, part.degrees)
        extra = zip(*(part.columns[name].tolist() for name in columns), strict=True)
        rest = extra if columns else [()] * len(owners)
        found += zip(owners.tolist(), part.neighbours.tolist(), rest, strict=True)
    return found


@st.composite
def tables(draw: Any) -> Any:
    """Page tables with runs of large pages, pages without edges, and pages of many vertices."""
    rows = []
    vid = edge = 0
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            pages = draw(st.integers(1, 4))
            for run in range(pages):
                count = draw(st.integers(1, 5))
                rows.append((vid, edge, 1, count, run, LARGE, (0, 0, 0)))
                edge += count
            vid += 1
        else:
            vertices, count = draw(st.integers(1, 6)), draw(st.integers(0, 5))
            rows.append((vid, edge, vertices, count, 0, SMALL, (0, 0, 0)))
            vid, edge = vid + vertices, edge + count
    return np.array(rows, PAGE_TABLE_DTYPE), vid
