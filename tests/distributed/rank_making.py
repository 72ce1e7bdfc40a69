"""Graphs and runs over ranks that are threads, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.distributed.thread_peers import run_on_threads
from penstock.engine.peers import Peers
from penstock.ingest import options as build_options
from penstock.types import Array


class ThreadHosts(ps.Hosts):
    """Hosts that are threads. ``paths``: where each of them has the graph, instead of one path."""

    def __init__(self, size: int, paths: Sequence[Path] = ()) -> None:
        self._size = size
        self.paths = paths

    @property
    def size(self) -> int:
        return self._size

    def close(self) -> None:
        """There is nothing to end."""

    @property
    def dashboard(self) -> None:
        """There is none."""

    def run(self, function: Callable[..., Any], *args: Any, heard: Any = None) -> list[Any]:
        """``function(peers, *args)`` on every rank."""
        if not self.paths:
            return run_on_threads(self.size, function, *args, heard=heard)

        def on_rank(peers: Peers, job: Any, *more: Any) -> Any:
            return function(peers, replace(job, path=self.paths[peers.rank]), *more)

        return run_on_threads(self.size, on_rank, *args, heard=heard)


def hard_edges(n: int = 900, m: int = 9000, seed: int = 3) -> tuple[Array, Array, Array]:
    """Edges with loops, hubs in both directions whose lists are longer than a page of 4 KiB, and
    weights of which some are 0.
    """
    rng = np.random.default_rng(seed)
    src = np.concatenate([rng.integers(0, n, m), np.zeros(n, int), np.arange(n)])
    some = rng.integers(0, n, m) // (1 + rng.integers(0, 9, m))
    dst = np.concatenate([some, np.arange(n), np.ones(n, int)])
    dst[:50] = src[:50]
    return src, dst, np.round(rng.random(len(src)) * 8)


def build_hard(folder: Path, *, directed: bool, **options: Any) -> ps.Graph:
    """A stored graph of :func:`hard_edges`, with vertices that have no edges."""
    given = {"num_vertices": 1000, "weights": True, "page_size": "4KiB", **options}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_options, "MIN_PAGE_BYTES", 4096)
        return ps.build(hard_edges(), folder / "hard.penstock", directed=directed, **given)
