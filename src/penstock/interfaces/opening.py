"""Opening a directory, whichever kind of graph it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.store.graph import Graph
from penstock.store.paged import open_graph

if TYPE_CHECKING:
    from penstock.dynamic.graph import DynamicGraph

#: The file that makes a directory a live graph's.
LIVE_FILE = "live.json"


def is_live(path: str | os.PathLike[str]) -> bool:
    """Whether a directory is that of a graph that changes."""
    return (Path(path) / LIVE_FILE).exists()


def open_any(path: str | os.PathLike[str]) -> Graph | DynamicGraph:
    """A graph directory, open for reading."""
    if not is_live(path):
        return open_graph(path)
    from penstock.dynamic.graph import DynamicGraph

    return DynamicGraph(path, read_only=True)


def open_snapshot(path: str | os.PathLike[str]) -> Graph:
    """A graph directory as it is now, whatever becomes of it."""
    found = open_any(path)
    if isinstance(found, Graph):
        return found
    still = found.snapshot()
    still.path = Path(path)
    found.close()
    return still
