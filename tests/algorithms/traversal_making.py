"""Graphs that traversals find hard, and ways to run over them, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import penstock as ps
from penstock.engine import direction
from penstock.engine.recovery import Recovery
from penstock.errors import VerificationError
from penstock.ingest import options as build_options
from penstock.types import Array

#: Options that put lists in memory, or stream them, a page at a time or several.
WAYS = [
    {"load": True, "threads": 1},
    {"load": True, "threads": 3},
    {"load": False, "threads": 2},
    {"load": False, "threads": 1, "streams": 1, "cache_pages": 0},
]
WAY_NAMES = ["one thread", "three threads", "streamed", "page by page"]

#: What a graph may be built as, at least.
COMMON_KINDS: dict[str, dict[str, Any]] = {
    "directed": {},
    "undirected": {"directed": False},
    "as given": {"directed": False, "vertex_order": "none", "neighbour_order": "input"},
}

#: The number of vertices, and pairs of them.
SMALL = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40)
    )
)


def small_graph(shape: tuple[int, list[tuple[int, int]]], **options: Any) -> ps.Graph:
    """The graph of a :data:`SMALL`."""
    n, pairs = shape
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    return ps.from_edges(src, dst, num_vertices=n, **options)


def kept(*, keep: bool) -> dict[str, Any]:
    """Options for edges that are there as often as they are given, in the order given; or once."""
    if keep:
        return {"duplicates": "keep", "neighbour_order": "input"}
    return {"duplicates": "last", "neighbour_order": "id"}


def assert_noticed(
    verify: Callable[[ps.Graph, Any], None],
    graph: ps.Graph,
    found: Any,
    change: dict[int, Any],
    message: str,
    column: str = "values",
) -> None:
    """A verifier accepts a result, and not what becomes of it when some values change."""
    verify(graph, found)
    values = getattr(found, column)
    for place, value in change.items():
        assert values[place] != value
        values[place] = value
    with pytest.raises(VerificationError, match=message):
        verify(graph, found)


def edges(n: int = 6000, m: int = 12000, seed: int = 5) -> tuple[Array, Array]:
    """A core with two hubs whose lists are longer than a page, a long path, and loops; a seventh of
    the vertices is in a part of its own, and another seventh has no edges.
    """
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, m), rng.integers(0, n, m)
    spokes = rng.permutation(n)[: n * 2 // 3]
    path = np.arange(n, n + 300)
    parts = [
        (src, dst),
        (np.full(len(spokes), 7), spokes),
        (spokes[::-1], np.full(len(spokes), 12)),
        (path[:-1], path[1:]),
        (np.array([5, n]), np.array([n, 5])),
    ]
    src, dst = (np.concatenate(each) for each in zip(*parts, strict=True))
    apart = (src % 7 == 4) != (dst % 7 == 4)
    alone = (src % 7 == 3) | (dst % 7 == 3)
    keep = ~(apart | alone) | (src >= n) | (dst >= n)
    return src[keep], dst[keep]


def build(path: Path, arrays: tuple[Array, ...], **options: Any) -> ps.Graph:
    """A graph with pages smaller than users can have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_options, "MIN_PAGE_BYTES", 4096)
        return ps.build(
            arrays, path, weights=len(arrays) == 3, page_size=4096, memory="256MB", **options
        )


@contextmanager
def stopping_after(step: int) -> Iterator[None]:
    """A run within is interrupted right after it saved this step."""
    original: Callable[..., None] = Recovery.after

    def after(self: Recovery, done: int, *args: Any) -> None:
        original(self, done, *args)
        if done == step and self._checkpoint is not None:  # not a part of another run's step
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recovery, "after", after)
        yield


@contextmanager
def small_levels(edges: int) -> Iterator[None]:
    """Within, levels of more edges are not small: all threads find them, either way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direction, "SMALL_EDGES", edges)
        patch.setattr(direction, "TINY_EDGES", min(edges, direction.TINY_EDGES))
        yield
