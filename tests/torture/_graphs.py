"""Small graphs of many shapes for comparisons: as plain edges, and in every kind of store."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

#: A row: two vertices from 0 to n - 1, and a weight.
Row = tuple[int, int, float]

#: Pages smaller than users can have, so that small graphs have many.
PAGE_BYTES = 4096

STORES = ("memory", "banded", "slotted", "striped", "live", "live on base", "live on disk")
#: Of each id kind, the id of a vertex; ascending with the vertex.
ID_OF: dict[str, Callable[[int], Any]] = {
    "int": lambda v: v,
    "large": lambda v: v * 2**50 + 7,
    "huge": lambda v: 2**63 + v * 2**50,
    "string": lambda v: f"vé{v:05}",
}
LIVE_BATCHES = 3


@dataclass(frozen=True)
class Model:
    """A graph as plain edges, after the rules of building; vertices are 0 .. n - 1."""

    n: int
    directed: bool
    edges: tuple[tuple[int, int], ...]
    #: One for each edge; all 1 if the graph has no weights.
    weights: tuple[float, ...]
    has_weights: bool
    #: Of each vertex; ascending.
    ids: tuple[Any, ...]
    #: Whether two vertices may have several edges.
    multi: bool

    @cached_property
    def arcs(self) -> list[Row]:
        """Edges in both directions if the graph is undirected; loops once."""
        rows = [(u, v, w) for (u, v), w in zip(self.edges, self.weights, strict=True)]
        if not self.directed:
            rows += [(v, u, w) for u, v, w in rows if u != v]
        return rows

    @cached_property
    def out(self) -> list[list[int]]:
        """The out-neighbours of each vertex."""
        lists: list[list[int]] = [[] for _ in range(self.n)]
        for u, v, _ in self.arcs:
            lists[u].append(v)
        return lists

    @cached_property
    def place(self) -> dict[Any, int]:
        """The vertex of each id."""
        return {each: v for v, each in enumerate(self.ids)}

    def networkx(self, *, directed: bool | None = None, loops: bool = True) -> Any:
        """The same graph; a multigraph if it may have several edges."""
        import networkx as nx

        directed = self.directed if directed is None else directed
        kinds = {(True, True): nx.MultiDiGraph, (True, False): nx.MultiGraph}
        kinds |= {(False, True): nx.DiGraph, (False, False): nx.Graph}
        graph = kinds[self.multi, directed]()
        graph.add_nodes_from(range(self.n))
        for (u, v), w in zip(self.edges, self.weights, strict=True):
            if loops or u != v:
                graph.add_edge(u, v, weight=w)
        return graph


def expand(case: dict[str, Any]) -> tuple[int, list[Row]]:
    """The number of vertices and the rows of a case: given, or made by its shape."""
    given = case["graph"]
    if "edges" in given:
        return given["n"], [(u, v, w) for u, v, w in given["edges"]]
    rng = random.Random(f"{given['shape']} {given['n']} {given['seed']}")
    n = given["n"]
    pairs = SHAPES[given["shape"]](n, rng) if n else []
    least = 0 if case.get("zero_weights") else 1
    step = 0.5 if case["weights"] == "float32" else 1
    return n, [(u, v, rng.randint(least, 9) * step) for u, v in pairs]


def model_of(case: dict[str, Any]) -> Model:
    """What building must make of the rows. Only ids 0 .. n - 1 and live graphs have isolated
    vertices; from other graphs these are left out.
    """
    n, rows = expand(case)
    keep, directed = case["duplicates"] == "keep", case["directed"]
    vertices = list(range(n))
    if case["ids"] != "int" and not case["store"].startswith("live"):
        vertices = sorted({end for u, v, _ in rows for end in (u, v)})
    number = {v: k for k, v in enumerate(vertices)}
    rows = [(number[u], number[v], w) for u, v, w in rows]
    if not keep:
        last = {((u, v) if directed or u <= v else (v, u)): w for u, v, w in rows}
        rows = [(u, v, w) for (u, v), w in last.items()]
    weighted = case["weights"] is not None
    return Model(
        n=len(vertices),
        directed=directed,
        edges=tuple((u, v) for u, v, _ in rows),
        weights=tuple(w if weighted else 1 for _, _, w in rows),
        has_weights=weighted,
        ids=tuple(ID_OF[case["ids"]](v) for v in vertices),
        multi=keep,
    )


def build(case: dict[str, Any], folder: Path) -> Any:
    """The graph in the store that the case names; `folder` is empty."""
    import penstock as ps
    from penstock.ingest import options as build_options

    build_options.MIN_PAGE_BYTES = PAGE_BYTES
    n, rows = expand(case)
    store = case["store"]
    if store.startswith("live"):
        return _live(case, n, rows, folder)
    arrays = columns_of(case, rows)
    options = build_options_of(case, n)
    if store == "memory":
        return ps.from_edges(*arrays, **options)
    options |= {"layout": "slotted" if store == "slotted" else "banded"}
    options |= {"directions": case.get("directions", "both")}
    if store == "striped":
        options["stripes"] = [folder / "stripe 1", folder / "stripe 2"]
        for stripe in options["stripes"]:
            stripe.mkdir()
    return ps.build(
        arrays, folder / "g", weights=len(arrays) == 3, page_size=PAGE_BYTES, memory="64MB",
        threads=1, **options,
    )  # fmt: skip


def build_options_of(case: dict[str, Any], n: int) -> dict[str, Any]:
    """What building in memory and on disk have in common."""
    options = {
        "directed": case["directed"],
        "duplicates": case["duplicates"],
        "vertex_order": case["vertex_order"],
        "neighbour_order": case["neighbour_order"],
    }
    return options | ({"num_vertices": n} if case["ids"] == "int" else {"ids": id_kind(case)})


def id_kind(case: dict[str, Any]) -> str:
    return "string" if case["ids"] == "string" else "int"


def columns_of(case: dict[str, Any], rows: list[Row]) -> tuple[Any, ...]:
    """Sources, targets, and weights if there are any."""
    kinds = {"int": np.int64, "large": np.int64, "huge": np.uint64, "string": object}
    kind, id_of = kinds[case["ids"]], ID_OF[case["ids"]]
    ends = tuple(np.array([id_of(row[k]) for row in rows], kind) for k in (0, 1))
    if case["weights"] is None:
        return ends
    return (*ends, np.array([row[2] for row in rows], case["weights"]))


def _live(case: dict[str, Any], n: int, rows: list[Row], folder: Path) -> Any:
    """In batches; between them edges come and go that are not of the graph."""
    import penstock as ps

    store = case["store"]
    size = -(-len(rows) // LIVE_BATCHES)
    batches = [rows[size * k : size * (k + 1)] for k in range(LIVE_BATCHES)]
    if store == "live on base":
        base = build(case | {"store": "banded", "graph": {"n": n, "edges": batches[0]}}, folder)
        graph = ps.DynamicGraph.from_graph(
            base, multigraph=case["duplicates"] == "keep", reverse=case["directed"]
        )
        batches = batches[1:]
    else:
        properties = {} if case["weights"] is None else {"weight": case["weights"]}
        graph = ps.DynamicGraph(
            folder / "live" if store == "live on disk" else None, directed=case["directed"],
            multigraph=case["duplicates"] == "keep", reverse=case["directed"], sync="never",
            edge_properties=properties, ids=id_kind(case), threads=1,
        )  # fmt: skip
    id_of = ID_OF[case["ids"]]
    graph.add_vertices([id_of(v) for v in range(n)])
    present = {frozenset(row[:2]) for row in rows}
    passing = [(v, (3 * v + 1) % n, 1.0) for v in range(n)]
    passing = [row for row in passing if frozenset(row[:2]) not in present]
    for batch in (passing, *batches):
        ends, weight = columns_of(case, batch)[:2], columns_of(case, batch)[2:]
        graph.add_edges(*ends, {"weight": weight[0]} if weight else None)
    graph.delete_edges(*columns_of(case, passing)[:2])
    return graph


def close(graph: Any) -> None:
    """Close a graph that changes; others hold nothing open."""
    if hasattr(graph, "close"):
        graph.close()


# Shapes: pairs of a number of vertices, which is 1 or more.

Pairs = list[tuple[int, int]]


def _random(n: int, rng: random.Random) -> Pairs:
    m = rng.randint(0, 4 * n)
    return [(rng.randrange(n), rng.randrange(n)) for _ in range(m)]


def _star(n: int, rng: random.Random) -> Pairs:
    hub, way = rng.randrange(n), rng.randrange(3)
    pairs = [(hub, v) for v in range(n) if v != hub]
    return [(u, v) if way == 0 or (way == 2 and v % 2) else (v, u) for u, v in pairs]


def _path(n: int, rng: random.Random) -> Pairs:
    order = rng.sample(range(n), n)
    return list(pairwise(order))


def _cycle(n: int, rng: random.Random) -> Pairs:
    pairs = _path(n, rng)
    return [*pairs, (pairs[-1][1], pairs[0][0])] if pairs else [(0, 0)]


def _two_hubs(n: int, rng: random.Random) -> Pairs:
    a, b = rng.randrange(n), rng.randrange(n)
    return [(hub, v) if rng.random() < 0.7 else (v, hub) for hub in (a, b) for v in range(n)]


def _clique(n: int, rng: random.Random) -> Pairs:
    n = min(n, 24)
    return [(u, v) for u in range(n) for v in range(n) if u != v and rng.random() < 0.95]


def _loops(n: int, rng: random.Random) -> Pairs:
    return [(v, v) for v in range(n) for _ in range(rng.randint(1, 2))]


def _multigraph(n: int, rng: random.Random) -> Pairs:
    few = [(rng.randrange(n), rng.randrange(n)) for _ in range(max(1, n // 2))]
    return [rng.choice(few) for _ in range(4 * n)]


def _isolated(n: int, rng: random.Random) -> Pairs:
    return [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, 3))]


def _parts(n: int, rng: random.Random) -> Pairs:
    cut = rng.randint(0, n)
    pairs = _random(n, rng)
    return [(u, v) for u, v in pairs if (u < cut) == (v < cut)]


def _triangles(n: int, rng: random.Random) -> Pairs:
    near = [(v, v + step) for v in range(n) for step in (1, 2, 3) if v + step < n]
    return [pair for pair in near if rng.random() < 0.8]


def _long_lists(n: int, rng: random.Random) -> Pairs:
    """Two lists that are longer than a page."""
    return [*_two_hubs(n, rng), *((rng.randrange(n), rng.randrange(n)) for _ in range(n // 2))]


SHAPES: dict[str, Callable[[int, random.Random], Pairs]] = {
    "random": _random,
    "star": _star,
    "path": _path,
    "cycle": _cycle,
    "two hubs": _two_hubs,
    "clique": _clique,
    "loops": _loops,
    "multigraph": _multigraph,
    "isolated": _isolated,
    "parts": _parts,
    "triangles": _triangles,
    "long lists": _long_lists,
}
