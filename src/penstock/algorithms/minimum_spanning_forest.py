"""Minimum spanning forest: the lightest edges that join what is connected.

Returns the forest's edges with their weights, and for each vertex the smallest of the user's ids in
its tree. Edges are ordered by weight, then by vertex numbers (see ``_forest``), so that there is
one forest, whatever order edges are met in.

Method: one scan finds the lightest edge of each vertex (the first round of Boruvka's method), which
is in the forest; this leaves half of the vertices as trees at most, and few on graphs with hubs. A
second scan collects the edges between these trees. When as many have come as there is room for, all
but the spanning forest of those that are there (Filter-Kruskal) are thrown away: at most one edge
for each tree stays. From then on, edges are left out at once if they come later than the first
three quarters of that forest and lie within what these join. Where a directed graph has the lists
of one direction only, the first scan is left out.

Trade-off: two passes over the topology, and room for one and a half edges for each vertex.
Boruvka's method alone needs less room, and a pass for each halving of the trees.

Repeating: each scan is a step. What the first one found is kept as it is; the second begins anew.

Boruvka: "O jistem problemu minimalnim", 1926. Kruskal: "On the shortest spanning subtree of a
graph", Proc. AMS 1956.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms import _forest as kernels
from penstock.algorithms._forest_check import verify
from penstock.algorithms.connected_components import smallest_ids
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.checkpoint_file import within
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.ordered import scan_joined
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table
from penstock.engine.sharing import Scratch, one_at_a_time
from penstock.errors import InputError
from penstock.store.graph import Graph
from penstock.types import NO_VERTEX, U32, VID, Array, Direction

#: Edges that are handed over at once.
HANDFUL = 1 << 12
#: Bytes for each vertex: trees, and those of the sieve, in a new and an old version.
SIEVE_BYTES = 12
#: Room for so many edges that are not known to be in the forest, at least.
LEAST_ROOM = 1 << 14


class _WeightError(Exception):
    """A weight is NaN."""


class _Forest:
    """Edges of the forest, and behind them those that may be in it."""

    def __init__(self, engine: Engine, weight_type: np.dtype[Any]) -> None:
        n = engine.num_vertices
        self.engine = engine
        self.labels: U32 = engine.array("labels", VID)
        room = _room(n)
        # The system gives memory when it is first written to: before the second scan, for n edges.
        self._edge_bytes = 8 + weight_type.itemsize
        engine.hold("forest", n * self._edge_bytes)
        self.src, self.dst = np.empty(room, VID), np.empty(room, VID)
        self.weights: Array = np.empty(room, weight_type)
        #: Edges that are in the forest for certain, and edges that are there.
        self.certain = self.count = 0
        #: What light edges have joined, and the weight and the smaller end of the last of them: an
        #: edge within that comes later closes a circle with them, and is not in the forest.
        self.sieve: tuple[U32, Any, Any] = (self.labels, weight_type.type(0), np.uint64(0))
        self._span = self._limit = 0
        #: Takes edges that may be in the forest.
        self.add = one_at_a_time(self._add)

    def begin(self, near: U32, least: Array, outward: Array) -> None:
        """From the lightest edge of each vertex; ``near`` is used up."""
        arrays = (self.labels, self.src, self.dst, self.weights)
        self.certain = self.count = int(kernels.hook(near, least, outward, *arrays))
        self.engine.map_ranges(kernels.compress, self.labels)
        # Kruskal's trees keep the smaller of two labels, and so end with the smallest vertex.
        kernels.lower(self.labels, near)

    def open(self) -> None:
        """From now on edges may be added."""
        self.engine.hold("forest", len(self.src) * self._edge_bytes)
        self.engine.hold("trees", SIEVE_BYTES * len(self.labels))
        # At first often: then fewer are added that are not in the forest.
        self._span = max((len(self.src) - len(self.labels)) // 8, HANDFUL)
        self._limit = self.count + self._span

    def _add(self, src: U32, dst: U32, weights: Array) -> None:
        if self.count + len(src) > min(self._limit, len(self.src)):
            self._thin_out()
        end = self.count + len(src)
        self.src[self.count : end] = src
        self.dst[self.count : end] = dst
        self.weights[self.count : end] = weights
        self.count = end

    def thin(self) -> U32:
        """Forget edges that are not in the spanning forest of those that are there; its trees."""
        trees = self.labels.copy()
        self.count = kernels.kruskal(
            self.src, self.dst, self.weights, self.certain, self.count, trees
        )
        return trees

    def _thin_out(self) -> None:
        """Make room, and a finer sieve. Others may be using the old one, which is still right."""
        self.thin()
        # They are in order now. With all of them, a heavy one would spoil it.
        end = self.certain + (self.count - self.certain) * 3 // 4
        if end > self.certain:
            joined = self.labels.copy()
            kernels.join(self.src, self.dst, self.certain, end, joined)
            kernels.compress(0, len(joined), joined)
            lowest = np.uint64(min(self.src[end - 1], self.dst[end - 1]))
            self.sieve = (joined, self.weights[end - 1], lowest)
        self._span *= 2
        self._limit = self.count + self._span


def _room(num_vertices: int) -> int:
    """A forest, and half as much again to come."""
    return num_vertices + max(num_vertices // 2, LEAST_ROOM) + HANDFUL


def _grow(engine: Engine, weight_type: np.dtype[Any], *, prepared: bool) -> tuple[_Forest, U32]:
    """The spanning forest, and the smallest vertex of each vertex's tree."""
    engine.options.progress.start("scans", 1 + prepared, "scans")
    near: U32 = np.empty(0, VID)
    least: Array = np.empty(0, weight_type)
    outward: NDArray[np.bool_] = np.empty(0, bool)
    if prepared:
        near = engine.array("near", VID, NO_VERTEX)
        least = engine.array("least", weight_type, 0)
        outward = engine.array("outward", bool, False)
    arrays = {"near": near, "outward": outward, "least": least}
    with Recovery(engine, {"algorithm": "minimum_spanning_forest"}) as recovery:
        rules = {"near": within(0, engine.num_vertices - 1, NO_VERTEX)}
        if prepared and recovery.resume(arrays, rules) is None:
            with engine.step(mode="lightest of each vertex"):
                for direction in engine.graph.directions:
                    _scan_lightest(engine, direction, near, least, outward)
            recovery.after(1, arrays, {})
        forest = _Forest(engine, weight_type)
        if prepared:
            forest.begin(near, least, outward)
        else:
            forest.labels[:] = np.arange(engine.num_vertices, dtype=VID)
        for name in list(arrays):
            engine.free(name)
        del near, least, outward, arrays
        forest.open()
        with engine.step(mode="between trees", active=engine.num_vertices - forest.certain):
            _scan_crossing(engine, forest)
            trees = forest.thin()
            engine.map_ranges(kernels.compress, trees)
    return forest, trees


def _lists_of(block: Any) -> tuple[Any, ...]:
    """What kernels see of a block: its first vertex, offsets, neighbours and weights."""
    none = np.broadcast_to(np.uint8(1), len(block.neighbours))
    weights = block.columns[0] if block.columns else none
    return block.first, block.offsets, block.neighbours, weights


def _scan_lightest(
    engine: Engine, direction: Direction, near: U32, least: Array, outward: NDArray[np.bool_]
) -> None:
    inward, arrays = direction == "in", (near, least, outward)

    def look(block: Any, begin: int, end: int) -> None:
        bad = kernels.lightest(*_lists_of(block), begin, end, 0, inward, *arrays)
        if bad != end:
            raise _WeightError

    def look_at_part(block: Any, v: int) -> tuple[Array, ...]:
        mine = (np.full(1, NO_VERTEX, VID), np.zeros(1, least.dtype), np.zeros(1, bool))
        if kernels.lightest(*_lists_of(block), v, v + 1, v, inward, *mine) != v + 1:
            raise _WeightError
        return mine

    def join(v: int, found: tuple[Array, ...]) -> None:
        if found[0][0] != NO_VERTEX:
            ends = np.array([0, 1], np.uint32)
            kernels.lightest(v, ends, found[0], found[1], v, v + 1, 0, inward, *arrays)

    scan_joined(engine, look, look_at_part, join, direction=direction)


def _scan_crossing(engine: Engine, forest: _Forest) -> None:
    graph = engine.graph
    direction = graph.directions[0]
    once, inward = not graph.directed, direction == "in"
    in_order = graph.neighbour_order == "id"

    handfuls = Scratch(
        lambda: (
            np.empty(HANDFUL, VID), np.empty(HANDFUL, VID), np.empty(HANDFUL, forest.weights.dtype)
        )
    )  # fmt: skip

    def look(block: Any, begin: int, end: int) -> None:
        lists, handful, v, edge = _lists_of(block), handfuls.take(), begin, 0
        while v < end:
            count, v, edge = kernels.crossing(
                lists, v, edge, end, forest.labels, forest.sieve, once, in_order, inward, handful
            )
            if edge < 0:
                raise _WeightError
            forest.add(*(column[:count] for column in handful))
        handfuls.give_back(handful)

    engine.scan(look, direction=direction)


def _complain(graph: Graph) -> InputError:
    """What to say of the first weight that is NaN."""
    name = graph.weight
    assert name is not None
    ids = graph.ids_by_vid()
    for src, dst, columns in graph.iter_edges():
        bad = np.flatnonzero(np.isnan(columns[name]) & (src != dst))
        if len(bad):
            break
    return InputError(
        f"minimum_spanning_forest: edge {ids[src[bad[0]]]} - {ids[dst[bad[0]]]} has {name} nan; "
        "edges are chosen by their weights: rebuild the graph with numbers"
    )


def _weight_type(graph: Graph) -> np.dtype[Any]:
    dtypes = {column.name: column.dtype for column in graph.columns}
    return dtypes.get(graph.weight or "", np.dtype(np.uint8))


def _is_prepared(graph: Graph | Counts) -> bool:
    """Whether the lists say of each vertex which edges it has."""
    return not graph.directed or len(graph.directions) == 2


def _requirements(counts: Counts) -> list[Needs]:
    columns = () if counts.weight is None else (counts.weight,)
    edge_bytes = 8 + (counts.column_bytes(columns) or 1)
    n = counts.num_vertices
    # First labels, a forest, and the lightest edge of each vertex with its source: 1 + 2 edges;
    # then labels, room for a forest and a half, and trees; last trees, these, and sorted weights.
    vertex_bytes = max(1 + 2 * edge_bytes, 4 + (3 * edge_bytes + 1) // 2 + SIEVE_BYTES)
    more = (_room(n) - n - n // 2 + 16 * HANDFUL) * edge_bytes
    passes = 1.0 if not _is_prepared(counts) else 1.5 if counts.directed else 2.0
    return [
        Needs(
            counts.directions, passes, columns, vertex_bytes=vertex_bytes, more_bytes=more, work=1.5
        )
    ]


@algorithm(requirements=_requirements, verify=verify, finds_edges=True)
def minimum_spanning_forest(task: Task) -> Result:
    """Minimum spanning forest: edges of the least total weight that join whatever is connected.

    The values are the smallest id of each vertex's tree, which is its connected component;
    ``edges`` is a table of the forest's edges with their weights, ``stats["weight"]`` the sum of
    these (float64), ``stats["edges"]`` how many there are.

    Parameters
    ----------
    graph
        Directed or not, with any weights but NaN; without weights every edge counts 1.

    Semantics
    ---------
    direction
        Directions are ignored; the edges of a directed graph are listed as they lead. One direction
        of lists is enough.
    duplicates
        The lightest counts.
    loops
        Never in the forest; their weights may be anything.
    isolates
        A vertex without edges is a tree by itself.
    values
        Ids. Weights may be negative or infinite; NaN is refused.
    ties
        Of equal weights the edge with the smaller lower vertex number comes first, then the smaller
        higher one, then the one that leads from lower to higher: there is one forest. Vertex
        numbers are those inside: by descending degree unless the graph was built otherwise.
    passes
        2; of a directed graph 2 over the out-lists and 1 over the in-lists, or 1 if there is one
        direction only.

    Examples
    --------
    >>> import penstock as ps
    >>> g = ps.from_edges([0, 1, 2, 3], [1, 2, 0, 4], [5.0, 1.0, 2.0, 7.0], directed=False)
    >>> found = ps.minimum_spanning_forest(g)
    >>> found.values.tolist(), found.stats["weight"]
    ([0, 0, 0, 3, 3], 10.0)
    >>> list(zip(found.edges.src.tolist(), found.edges.dst.tolist()))
    [(0, 2), (1, 2), (3, 4)]
    """
    graph = task.graph
    weight_type = _weight_type(graph)
    with task.open() as engine:
        try:
            forest, trees = _grow(engine, weight_type, prepared=_is_prepared(graph))
        except _WeightError:
            raise _complain(graph) from None
    # Not copies: the room behind them is hardly worth one.
    count = forest.count
    src, dst, weights = forest.src[:count], forest.dst[:count], forest.weights[:count]
    del forest
    name = graph.weight
    with np.errstate(invalid="ignore"):
        # In order, so that the sum does not depend on the order that edges came in.
        total = float(np.sort(weights).sum(dtype=np.float64))

    def edges() -> Result:
        return edge_table(graph, src, dst, {} if name is None else {name: weights})

    return task.result(
        "tree", lambda: smallest_ids(graph, trees), more={"weight": total, "edges": count},
        values_are_vids=True, edges=edges,
    )  # fmt: skip
