"""Graph analytics on graphs bigger than memory. Attributes stay, topology moves.

>>> import penstock as ps
>>> graph = ps.from_edges([0, 0, 1], [1, 2, 2])
>>> graph.num_vertices, graph.num_edges
(3, 3)
"""

# `import networkx` imports this file, for what the backend offers: it takes next to nothing.
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.algorithms.betweenness import betweenness as betweenness
    from penstock.algorithms.bfs import bfs as bfs
    from penstock.algorithms.circuit import circuit as circuit
    from penstock.algorithms.closeness import closeness as closeness
    from penstock.algorithms.clustering import clustering as clustering
    from penstock.algorithms.color import color as color
    from penstock.algorithms.connected_components import (
        connected_components as connected_components,
    )
    from penstock.algorithms.core_number import core_number as core_number
    from penstock.algorithms.cross_edges import cross_edges as cross_edges
    from penstock.algorithms.degree_distribution import degree_distribution as degree_distribution
    from penstock.algorithms.edge_betweenness import edge_betweenness as edge_betweenness
    from penstock.algorithms.egonet import egonet as egonet
    from penstock.algorithms.heat import heat as heat
    from penstock.algorithms.induced_subgraph import induced_subgraph as induced_subgraph
    from penstock.algorithms.k_core import k_core as k_core
    from penstock.algorithms.k_hop import k_hop as k_hop
    from penstock.algorithms.k_truss import k_truss as k_truss
    from penstock.algorithms.label_propagation import label_propagation as label_propagation
    from penstock.algorithms.minimum_spanning_forest import (
        minimum_spanning_forest as minimum_spanning_forest,
    )
    from penstock.algorithms.neural_network import neural_network as neural_network
    from penstock.algorithms.pagerank import pagerank as pagerank
    from penstock.algorithms.radius import radius as radius
    from penstock.algorithms.rwr import rwr as rwr
    from penstock.algorithms.scan import scan as scan
    from penstock.algorithms.sssp import sssp as sssp
    from penstock.algorithms.strongly_connected_components import (
        strongly_connected_components as strongly_connected_components,
    )
    from penstock.algorithms.triangles import triangles as triangles
    from penstock.algorithms.truss_number import truss_number as truss_number
    from penstock.algorithms.two_hop import two_hop as two_hop
    from penstock.device.spec import Device as Device
    from penstock.distributed.hosts import Hosts as Hosts
    from penstock.distributed.part_reading import read_parts as read_parts
    from penstock.dynamic.graph import DynamicGraph as DynamicGraph
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
    from penstock.version import __version__ as __version__

_ALGORITHMS = (
    "betweenness",
    "bfs",
    "circuit",
    "closeness",
    "clustering",
    "color",
    "connected_components",
    "core_number",
    "cross_edges",
    "degree_distribution",
    "edge_betweenness",
    "egonet",
    "heat",
    "induced_subgraph",
    "k_core",
    "k_hop",
    "k_truss",
    "label_propagation",
    "minimum_spanning_forest",
    "neural_network",
    "pagerank",
    "radius",
    "rwr",
    "scan",
    "sssp",
    "strongly_connected_components",
    "triangles",
    "truss_number",
    "two_hop",
)
# Where each public name lives. They are imported when first used: `import penstock` is light.
_HOMES = {
    "__version__": "penstock.version",
    **{name: f"penstock.algorithms.{name}" for name in _ALGORITHMS},
    "build": "penstock.interfaces.api",
    "edge_vertex": "penstock.models.edge_vertex",
    "export": "penstock.interfaces.export",
    "from_edges": "penstock.interfaces.api",
    "generate": "penstock.interfaces.api",
    "gimv": "penstock.models.gimv",
    "open": "penstock.interfaces.api",
    "read_parts": "penstock.distributed.part_reading",
    "run": "penstock.engine.run",
    "Device": "penstock.device.spec",
    "DynamicGraph": "penstock.dynamic.graph",
    "Graph": "penstock.store.graph",
    "Hosts": "penstock.distributed.hosts",
    "PenstockError": "penstock.errors",
    "Program": "penstock.program",
    "Result": "penstock.engine.result",
}
__all__ = [
    "Device", "DynamicGraph", "Graph", "Hosts", "PenstockError", "Program", "Result",
    "betweenness", "bfs", "build",
    "circuit", "closeness", "clustering", "color", "connected_components", "core_number",
    "cross_edges", "degree_distribution", "edge_betweenness", "edge_vertex", "egonet", "export",
    "from_edges",
    "generate", "gimv", "heat", "induced_subgraph", "k_core", "k_hop", "k_truss",
    "label_propagation", "minimum_spanning_forest", "neural_network", "open", "pagerank", "radius",
    "read_parts", "run", "rwr", "scan", "sssp", "strongly_connected_components", "triangles",
    "truss_number", "two_hop",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
