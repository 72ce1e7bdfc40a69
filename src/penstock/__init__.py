"""Graph analytics on graphs bigger than memory. Attributes stay, topology moves.

>>> import penstock as ps
>>> graph = ps.from_edges([0, 0, 1], [1, 2, 2])
>>> graph.num_vertices, graph.num_edges
(3, 3)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.version import __version__ as __version__

if TYPE_CHECKING:
    from penstock.algorithms.bfs import bfs as bfs
    from penstock.algorithms.connected_components import (
        connected_components as connected_components,
    )
    from penstock.algorithms.degree_distribution import degree_distribution as degree_distribution
    from penstock.algorithms.pagerank import pagerank as pagerank
    from penstock.algorithms.sssp import sssp as sssp
    from penstock.engine.result import Result as Result
    from penstock.engine.run import run as run
    from penstock.errors import PenstockError as PenstockError
    from penstock.interfaces.api import build as build
    from penstock.interfaces.api import from_edges as from_edges
    from penstock.interfaces.api import generate as generate
    from penstock.interfaces.api import open as open
    from penstock.interfaces.export import export as export
    from penstock.models.edge_vertex import edge_vertex as edge_vertex
    from penstock.models.gimv import gimv as gimv
    from penstock.program import Program as Program
    from penstock.store.graph import Graph as Graph

_ALGORITHMS = ("bfs", "connected_components", "degree_distribution", "pagerank", "sssp")
# Where each public name lives. They are imported when first used: `import penstock` is light.
_HOMES = {
    **{name: f"penstock.algorithms.{name}" for name in _ALGORITHMS},
    "build": "penstock.interfaces.api",
    "edge_vertex": "penstock.models.edge_vertex",
    "export": "penstock.interfaces.export",
    "from_edges": "penstock.interfaces.api",
    "generate": "penstock.interfaces.api",
    "gimv": "penstock.models.gimv",
    "open": "penstock.interfaces.api",
    "run": "penstock.engine.run",
    "Graph": "penstock.store.graph",
    "PenstockError": "penstock.errors",
    "Program": "penstock.program",
    "Result": "penstock.engine.result",
}
__all__ = [
    "Graph", "PenstockError", "Program", "Result", "bfs", "build", "connected_components",
    "degree_distribution", "edge_vertex", "export", "from_edges", "generate", "gimv", "open",
    "pagerank", "run", "sssp",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
