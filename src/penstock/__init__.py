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
    from penstock.errors import PenstockError as PenstockError
    from penstock.interfaces.api import build as build
    from penstock.interfaces.api import from_edges as from_edges
    from penstock.interfaces.api import generate as generate
    from penstock.interfaces.api import open as open
    from penstock.interfaces.export import export as export
    from penstock.store.graph import Graph as Graph

# Where each public name lives. They are imported when first used: `import penstock` is light.
_HOMES = {
    "build": "penstock.interfaces.api",
    "export": "penstock.interfaces.export",
    "from_edges": "penstock.interfaces.api",
    "generate": "penstock.interfaces.api",
    "open": "penstock.interfaces.api",
    "Graph": "penstock.store.graph",
    "PenstockError": "penstock.errors",
}
__all__ = ["Graph", "PenstockError", "build", "export", "from_edges", "generate", "open"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
