"""Graphs of extreme shapes: functions of about how many edges (or vertices) they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Sources, targets, how many vertices there are, and whether edges have a direction.
Shape = tuple[Any, Any, int, bool]


def _star(scale: int) -> Shape:
    return np.zeros(scale, np.int64), np.arange(1, scale + 1), scale + 1, False


def _long_list(scale: int) -> Shape:
    """One directed list; of 16 million edges it takes about 1,000 pages of 64 KiB."""
    return np.zeros(scale, np.int64), np.arange(1, scale + 1), scale + 1, True


def _path(scale: int) -> Shape:
    return np.arange(scale), np.arange(1, scale + 1), scale + 1, True


def _two_hubs(scale: int) -> Shape:
    n = scale // 2
    hubs = np.repeat([n, n + 1], n)
    return hubs, np.tile(np.arange(n), 2), n + 2, False


def _clique(scale: int) -> Shape:
    n = max(int((2 * scale) ** 0.5), 2)
    src, dst = np.triu_indices(n, 1)
    return src.astype(np.int64), dst.astype(np.int64), n, False


def _loops(scale: int) -> Shape:
    return np.arange(scale), np.arange(scale), scale, True


def _multigraph(scale: int) -> Shape:
    """Few pairs of vertices, each with many edges."""
    rng = np.random.default_rng(1)
    n = max(int(scale**0.5) // 8, 2)
    return rng.integers(0, n, scale), rng.integers(0, n, scale), n, True


def _isolated(scale: int) -> Shape:
    """Hardly any edges."""
    ends = np.arange(0, scale, max(scale // 100, 1), dtype=np.int64)
    return ends, np.roll(ends, 1), scale, True


def _uniform(scale: int) -> Shape:
    rng = np.random.default_rng(2)
    n = max(scale // 16, 1)
    return rng.integers(0, n, scale), rng.integers(0, n, scale), n, True


SHAPES: dict[str, Callable[[int], Shape]] = {
    "star": _star,
    "long_list": _long_list,
    "path": _path,
    "two_hubs": _two_hubs,
    "clique": _clique,
    "loops": _loops,
    "multigraph": _multigraph,
    "isolated": _isolated,
    "uniform": _uniform,
}
