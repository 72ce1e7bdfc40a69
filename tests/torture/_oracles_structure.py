"""What components, cores, trusses, communities and simulations must come to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np

from torture._comparing import (
    Check,
    Parameters,
    all_values,
    edge_rows,
    expected_rows,
    fits_int64,
    levels_of,
    matrix_of,
    near,
    same,
    some_values,
)
from torture._graphs import Model
from torture._others import (
    among_neighbours,
    circuit,
    crossing,
    expected_trussness,
    heat,
    neurons,
    plainly,
    scan_making,
    shuffled,
)


def _components(model: Model, parts: Any) -> list[Any]:
    smallest = {v: min(part) for part in parts for v in part}
    return [model.ids[smallest[v]] for v in range(model.n)]


def _connected(model: Model, given: Parameters, result: Any) -> None:
    parts = nx.connected_components(model.networkx(directed=False))
    same(all_values(model, result), _components(model, parts))


def _strong(model: Model, given: Parameters, result: Any) -> None:
    graph = model.networkx()
    parts = nx.strongly_connected_components if model.directed else nx.connected_components
    same(all_values(model, result), _components(model, parts(graph)))


def _cores(model: Model) -> list[int]:
    """Loops do not count; edges that are there several times do."""
    import igraph

    pairs = [(u, v) for u, v in model.edges if u != v]
    return list(igraph.Graph(n=model.n, edges=pairs, directed=False).coreness())


def _core_number(model: Model, given: Parameters, result: Any) -> None:
    same(all_values(model, result), _cores(model))


def _k_core(model: Model, given: Parameters, result: Any) -> None:
    cores = _cores(model)
    k = given["k"] if given.get("k") is not None else max(cores, default=0)
    inside = {v: core for v, core in enumerate(cores) if core >= k}
    same(some_values(model, result), inside)
    rows = expected_rows(model, lambda u, v: u in inside and v in inside)
    same(edge_rows(model, result.edges), rows, "edges")


def _simple(model: Model) -> Any:
    """Undirected, without loops and duplicates."""
    graph = nx.Graph([(u, v) for u, v in model.edges if u != v])
    graph.add_nodes_from(range(model.n))
    return graph


def _truss_number(model: Model, given: Parameters, result: Any) -> None:
    expected = expected_trussness(_simple(model))
    table = result.edges
    ends = zip(table.src.tolist(), table.dst.tolist(), strict=True)
    rows = [(model.place[u], model.place[v]) for u, v in ends]
    same(dict(zip(rows, table.trussness.tolist(), strict=True)), expected, "edges")
    largest = [0] * model.n
    for edge, trussness in expected.items():
        for v in edge:
            largest[v] = max(largest[v], trussness)
    same(all_values(model, result), largest)


def _k_truss(model: Model, given: Parameters, result: Any) -> None:
    trussness = expected_trussness(_simple(model))
    k = given["k"] if given.get("k") is not None else max(trussness.values(), default=2)
    inside = sorted(edge for edge, most in trussness.items() if most >= k)
    ends = zip(result.edges.src.tolist(), result.edges.dst.tolist(), strict=True)
    same(sorted((model.place[u], model.place[v]) for u, v in ends), inside, "edges")
    same(some_values(model, result), dict(Counter(v for edge in inside for v in edge)))


def _forest(model: Model, given: Parameters, result: Any) -> None:
    graph = model.networkx(directed=False)
    if not model.multi and model.directed:  # two edges between the same vertices: the lightest
        graph = nx.MultiGraph(graph)
        graph.clear_edges()
        for (u, v), w in zip(model.edges, model.weights, strict=True):
            graph.add_edge(u, v, weight=w)
    parts = list(nx.connected_components(graph))
    same(all_values(model, result), _components(model, parts))
    same(result.stats["weight"], nx.minimum_spanning_tree(graph).size("weight"), "weight")
    rows = edge_rows(model, result.edges)
    same(len(rows), model.n - len(parts), "number of edges")
    left = Counter(rows) - Counter(expected_rows(model, lambda u, v: True))
    assert not left, f"edges of the forest that the graph does not have: {left}"
    joined = nx.Graph([row[:2] for row in rows])
    same(joined.number_of_edges(), len(rows), "different edges")


def _label_propagation(model: Model, given: Parameters, result: Any) -> None:
    src, dst = ([edge[k] for edge in model.edges] for k in (0, 1))
    rounds = given.get("max_iter", 10)
    labels = plainly(range(model.n), src, dst, rounds, directed=model.directed)
    same(all_values(model, result), [model.ids[labels[v]] for v in range(model.n)])


def _triangles(model: Model, given: Parameters, result: Any) -> None:
    expected = nx.triangles(_simple(model))
    same(all_values(model, result), [expected[v] for v in range(model.n)])
    same(result.stats["total"], sum(expected.values()) // 3, "total")


def _clustering(model: Model, given: Parameters, result: Any) -> None:
    if model.directed:
        expected = among_neighbours(model.n, model.edges)
    else:
        found = nx.clustering(_simple(model))
        expected = [found[v] for v in range(model.n)]
        near(result.stats["transitivity"], nx.transitivity(_simple(model)), 1e-12)
    near(all_values(model, result), expected, 1e-12)


def _scan(model: Model, given: Parameters, result: Any) -> None:
    closed, sigmas = scan_making.known(range(model.n), model.edges)
    epsilon, mu = given.get("epsilon", 0.7), given.get("mu", 2)
    expected = scan_making.reference(closed, sigmas, epsilon, mu)
    same(result.role.tolist(), [expected[v][1] for v in range(model.n)], "roles")
    labels = [expected[v][0] for v in range(model.n)]
    by_place = not fits_int64(model)
    spelled = [label if label < 0 or by_place else model.ids[label] for label in labels]
    same(all_values(model, result), spelled)


def _color(model: Model, given: Parameters, result: Any) -> None:
    degrees = [0] * model.n
    for u, v in model.edges:
        degrees[u] += 1
        degrees[v] += u != v or model.directed
    order = {
        "largest_first": sorted(range(model.n), key=lambda v: (-degrees[v], v)),
        "id": list(range(model.n)),
        "random": shuffled(model.n, given.get("seed", 0)),
    }[given.get("strategy", "largest_first")]
    expected = nx.greedy_color(_simple(model), lambda graph, colours: order)
    same(all_values(model, result), [expected[v] for v in range(model.n)])


def _radius(model: Model, given: Parameters, result: Any) -> None:
    """Counters err; few vertices, with counters as large as these, have a register each."""
    found = all_values(model, result)
    eccentricity, reached = result.eccentricity.tolist(), result.reached.tolist()
    few = model.n <= 12 and list(model.ids) == list(range(model.n))
    for v in range(model.n):
        far = np.array(list(levels_of(model, [v]).values()))
        assert eccentricity[v] <= far.max(), f"eccentricity of {v}: {eccentricity[v]}"
        assert abs(reached[v] - len(far)) <= 0.1 * len(far) + 1, f"reached by {v}: {reached[v]}"
        if few:
            counts = [np.count_nonzero(far <= h) for h in range(far.max() + 1)]
            same(eccentricity[v], far.max(), f"eccentricity of {v}")
            near(found[v], crossing(counts, given.get("effective", 0.9)), 0, 1e-3)


def _array(n: int, values: dict[int, float], missing: float) -> Any:
    return np.array([values.get(v, missing) for v in range(n)], float)


def _simulated(model: Model, given: Parameters) -> Any:
    return matrix_of(model, weight=given.get("weight", True))


def _heat(model: Model, given: Parameters, result: Any) -> None:
    w, c = _simulated(model, given), result.stats["c"]
    near(c, given["c"] if given.get("c") is not None else 1 / (w.sum(1).max(initial=0) or 1), 1e-6)
    expected = heat(w, _array(model.n, given["initial"], 0), c, given["max_iter"])
    near(all_values(model, result), expected, 1e-4, 1e-4)


def _circuit(model: Model, given: Parameters, result: Any) -> None:
    kept = _array(model.n, given["fixed"], np.nan)
    expected = circuit(_simulated(model, given), kept, given["max_iter"])
    near(all_values(model, result), expected, 1e-4, 1e-4)


def _neural_network(model: Model, given: Parameters, result: Any) -> None:
    kept, bias = _array(model.n, given["inputs"], np.nan), given.get("bias", 0.0)
    bias = _array(model.n, bias, 0) if isinstance(bias, dict) else bias
    expected = neurons(_simulated(model, given), kept, bias, given["max_iter"])
    near(all_values(model, result), expected, 1e-3, 1e-3)


CHECKS: dict[str, Check] = {
    "connected_components": _connected,
    "strongly_connected_components": _strong,
    "core_number": _core_number,
    "k_core": _k_core,
    "truss_number": _truss_number,
    "k_truss": _k_truss,
    "minimum_spanning_forest": _forest,
    "label_propagation": _label_propagation,
    "triangles": _triangles,
    "clustering": _clustering,
    "scan": _scan,
    "color": _color,
    "radius": _radius,
    "heat": _heat,
    "circuit": _circuit,
    "neural_network": _neural_network,
}
