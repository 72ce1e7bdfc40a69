"""Every program that comes with the package, as a function of a graph and options."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine import algorithm
from penstock.program import STEP_VALUES


def first(graph):
    """The id of the vertex with most out-edges."""
    return int(graph.ids[np.argmax(by_id(graph, graph.degrees("out")))])


def by_id(graph, values):
    """Values by vertex number in the order of the ids."""
    order = graph.vid_of_rank
    return np.asarray(values) if order is None else np.asarray(values)[np.asarray(order)]


def some(graph, modulus):
    """A number for each vertex."""
    return (np.arange(graph.num_vertices) % modulus).astype(np.float64)


def _gimv(graph, **options):
    return ps.gimv(
        graph,
        lambda m, v, src: m * v / max(src.out_degree, 1),
        "add",
        lambda v, a: 0.15 + 0.85 * a,
        vector=some(graph, 5),
        matrix="weight" if graph.catalog.weight else None,
        max_iter=2,
        tol=None,
        **options,
    )


def _edge_vertex(graph, **options):
    return ps.edge_vertex(
        graph,
        lambda value, weight: value + weight,
        "min",
        lambda value, message: min(value, message),
        initial=some(graph, 7),
        incremental=True,
        max_iter=3,
        **options,
    )


def _edge_vertex_sum(graph, **options):
    """A combiner that no atomic operation knows."""
    return ps.edge_vertex(
        graph,
        lambda value, weight: value,
        lambda a, b: a * b % 1009,
        lambda value, message: (value + message) % 1009,
        initial=some(graph, 7) + 1,
        identity=1.0,
        vote_to_halt=None,
        max_iter=2,
        **options,
    )


def _heat(graph, **options):
    return ps.heat(graph, some(graph, 3), max_iter=2, **options)


def _circuit(graph, **options):
    return ps.circuit(
        graph, {first(graph): 5.0, int(graph.ids[0]): 0.0}, max_iter=2, tol=0, **options
    )


def _neural_network(graph, **options):
    return ps.neural_network(graph, some(graph, 4), max_iter=2, **options)


#: By name; those that need weights, or an undirected graph, say so.
ALL: dict[str, Any] = {
    "pagerank": partial(ps.pagerank, max_iter=2, tol=0),
    "pagerank with weights": partial(ps.pagerank, weight=True, max_iter=2, tol=0),
    "pagerank of some": lambda graph, **o: ps.pagerank(
        graph, personalization={first(graph): 1.0}, max_iter=2, tol=0, **o
    ),
    "rwr": lambda graph, **o: ps.rwr(graph, first(graph), max_iter=2, tol=0, **o),
    "heat": _heat,
    "circuit": _circuit,
    "neural_network": _neural_network,
    "bfs": lambda graph, **o: ps.bfs(graph, first(graph), **o),
    "sssp": lambda graph, **o: ps.sssp(graph, first(graph), **o),
    "connected_components": ps.connected_components,
    "degree_distribution": partial(ps.degree_distribution, direction="in"),
    "gimv": _gimv,
    "edge_vertex": _edge_vertex,
    "edge_vertex with a sum of its own": _edge_vertex_sum,
}
WEIGHTED = ("pagerank with weights",)
UNDIRECTED = ("connected_components",)


class _CapturedError(Exception):
    """The program that would run."""


def shapes():
    """Each program's name, signature and parameters, as they are on a small weighted graph."""
    graph = ps.from_edges(
        [0, 1, 2], [1, 2, 0], np.array([1.0, 2.0, 3.0], np.float32), directed=False
    )

    def capture(graph, plan, settings, options):
        signature = plan.needs.program.signature
        given = {**dict.fromkeys(signature.program.totals, 0.0), **settings.params}
        params = {**given, **dict.fromkeys(STEP_VALUES, 1)}
        raise _CapturedError(signature, {name: params[name] for name in signature.params})

    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algorithm, "execute", capture)
        for name, call in ALL.items():
            with pytest.raises(_CapturedError) as caught:
                call(graph, devices="reference")
            found.append((name, *caught.value.args))
    return found
