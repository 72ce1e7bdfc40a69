"""How much of the shortest paths from a source goes through each vertex (Brandes' dependencies).

The vertices that a source reaches are put into *rounds*: all edges of shortest paths lead from
earlier rounds to later ones. Without weights a round is a level of a breadth-first search. Forward,
``paths[v]``, how many shortest paths lead to v, is the sum of those of the vertices before it.
Backward, ``share[v] = (1 + dependency[v]) / paths[v]`` is what each path to v carries from beyond,
and ``dependency[u] = paths[u] * (sum of the shares of the vertices after it)``.

Without weights both are sums over whole lists, with no test whether an edge is on a shortest path:
in-neighbours of a vertex on level d are on level d - 1 or deeper, and deeper ones have no paths
yet; its out-neighbours are on level d + 1 or nearer, and nearer ones have no share yet. With
weights an edge counts if it is tight: ``distance[u] + weight == distance[v]``.

Sums are float64, over each list in its order, so that they do not depend on the number of threads.

Brandes: "A faster algorithm for betweenness centrality", J. Mathematical Sociology 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms._brandes_whole import FOLD_BYTES, WHOLE_SOURCES, chunk_bytes, is_small
from penstock.algorithms._levels import search_levels
from penstock.algorithms._sources import all_or_some, check_k, source_identity
from penstock.algorithms._sssp_steps import shortest_distances
from penstock.engine.counts import Counts, Selected
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.recovery import Recovery
from penstock.engine.vertices import vids_of
from penstock.errors import InputError, OptionError
from penstock.jit import atomic_add, kernel
from penstock.store.graph import Graph
from penstock.types import I64, U32, VID, Array

F64 = NDArray[np.float64]

#: Passes over the lists for each source.
PASSES, WEIGHTED_PASSES = 5.0, 30.0
#: Bytes for each vertex: paths, share, sums; and what a search holds until it is done, which is
#: more than the rounds that it leaves.
SWEEP_BYTES = 8 + 8 + 8 + 25


@dataclass(frozen=True, slots=True)
class Rounds:
    """The vertices that are reached: round k is ``vertices[starts[k] : starts[k + 1]]``."""

    vertices: U32
    starts: I64
    #: Levels (int32, -1 where not reached) or distances (float64, inf where not reached).
    distances: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, k: int) -> U32:
        return self.vertices[self.starts[k] : self.starts[k + 1]]


class Sweeps:
    """The arrays of the two sweeps over the shortest paths of one source, used for one source
    after the other.
    """

    def __init__(self, engine: Engine, *, weighted: bool) -> None:
        self.engine = engine
        self.weighted = weighted
        #: Whether one path leads to each neighbour of the source, and nobody has to look.
        self._simple = not weighted and not engine.graph.multigraph
        self.paths: F64 = engine.array("paths", np.float64)
        self.share: F64 = engine.array("share", np.float64)
        self._sums: F64 = engine.array("sums", np.float64)

    def run(self, source: int, each: Callable[[U32, F64], None]) -> Rounds:
        """Both sweeps from a source. ``each(vertices, sums)`` is called for the vertices of each
        round but the source, the last round first, where ``paths * sums`` are the dependencies.
        """
        engine = self.engine
        with engine.within_step():
            rounds = self._search(source)
        self.paths[:] = 0
        self.share[:] = 0
        self.paths[source] = 1
        for k in range(1, len(rounds)):
            if k == 1 and self._simple:
                self.paths[rounds[k]] = 1
                continue
            self._sum(rounds, k, self.paths, "in")
            engine.map_ranges(_commit, rounds[k], self._sums, self.paths, length=len(rounds[k]))
        for k in range(len(rounds) - 1, 0, -1):
            if k == len(rounds) - 1:
                self._sums[rounds[k]] = 0
            else:
                self._sum(rounds, k, self.share, "out")
            each(rounds[k], self._sums)
            args = (rounds[k], self._sums, self.paths, self.share)
            engine.map_ranges(_share, *args, length=len(rounds[k]))
        return rounds

    def _search(self, source: int) -> Rounds:
        if self.weighted:
            return _tight_rounds(self.engine, source)
        levels, _ = search_levels(self.engine, source)
        deepest = int(levels.max(initial=0))
        counts = sum(self.engine.map_ranges(_count_levels, levels, deepest + 1))
        starts: I64 = np.zeros(deepest + 2, np.int64)
        np.cumsum(counts, out=starts[1:])
        vertices: U32 = np.empty(starts[-1], VID)
        _place(levels, starts.copy(), vertices)
        return Rounds(vertices, starts, levels)

    def _sum(self, rounds: Rounds, k: int, values: F64, direction: Any) -> None:
        """For each vertex of a round, the sum of the values of its neighbours."""
        if self.weighted:
            args: tuple[Any, ...] = (values, rounds.distances, direction == "in")
            chosen = _sum_tight
        else:
            args, chosen = (values,), _sum_all
        self.engine.reduce(rounds[k], chosen, self._sums, *args, direction=direction)


def _tight_rounds(engine: Engine, source: int) -> Rounds:
    """Rounds by weight: a vertex comes once all tight edges to it come from earlier rounds."""
    distances = shortest_distances(engine, source)
    reached = engine.select(_is_reached, distances)
    waiting: NDArray[np.int32] = np.zeros(engine.num_vertices, np.int32)
    engine.traverse(reached, _count_tight, distances, waiting, most=0)
    vertices: U32 = np.empty(len(reached), VID)
    starts, begin = [0], 0
    found: U32 = np.array([source], VID)
    while len(found):
        end = begin + len(found)
        vertices[begin:end] = np.sort(found)
        found = engine.traverse(vertices[begin:end], _release, distances, waiting)
        begin = end
        starts.append(end)
    if begin < len(reached):
        raise InputError(
            "betweenness: edges of weight 0 form a circle, so that there is no number of shortest "
            "paths; rebuild the graph with weights above 0"
        )
    return Rounds(vertices, np.array(starts), distances)


@kernel
def _sum_all(block, vertices, sums, values):  # type: ignore[no-untyped-def]
    """The sum of the values of each vertex's neighbours."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i]) - first
        total = 0.0
        for edge in range(np.uint64(offsets[v]), np.uint64(offsets[v + one])):
            total += values[neighbours[edge]]
        sums[i] = total


@kernel
def _sum_tight(block, vertices, sums, values, distances, backwards):  # type: ignore[no-untyped-def]
    """The sum of the values of neighbours at the other end of a tight edge, which leads to the
    neighbour, or ``backwards`` from it.
    """
    offsets, neighbours, weights = block.offsets, block.neighbours, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        mine = distances[u]
        total = 0.0
        for edge in range(np.uint64(offsets[u - first]), np.uint64(offsets[u - first + one])):
            v = np.uint64(neighbours[edge])
            other = distances[v]
            near, far = (other, mine) if backwards else (mine, other)
            if u != v and near + weights[edge] == far and far < np.inf:
                total += values[v]
        sums[i] = total


@kernel
def _commit(begin, end, vertices, sums, paths):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(vertices[i])
        paths[v] = sums[v]


@kernel
def _share(begin, end, vertices, sums, paths, share):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(vertices[i])
        share[v] = 1.0 / paths[v] + sums[v]


@kernel
def _count_levels(begin, end, levels, count):  # type: ignore[no-untyped-def]
    counts = np.zeros(count, np.int64)
    for v in range(np.uint64(begin), np.uint64(end)):
        if levels[v] >= 0:
            counts[levels[v]] += 1
    return counts


@kernel
def _place(levels, next_place, vertices):  # type: ignore[no-untyped-def]
    """The vertices in the order of their levels, ascending within each."""
    for v in range(np.uint64(len(levels))):
        if levels[v] >= 0:
            vertices[next_place[levels[v]]] = v
            next_place[levels[v]] += 1


@kernel
def _is_reached(begin, end, chosen, distances):  # type: ignore[no-untyped-def]
    count = 0
    for v in range(np.uint64(begin), np.uint64(end)):
        if distances[v] < np.inf:
            chosen[count] = v
            count += 1
    return count


@kernel
def _count_tight(block, vertices, found, distances, waiting):  # type: ignore[no-untyped-def]
    """How many tight edges lead to each vertex."""
    offsets, neighbours, weights = block.offsets, block.neighbours, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        for edge in range(np.uint64(offsets[u - first]), np.uint64(offsets[u - first + one])):
            v = np.uint64(neighbours[edge])
            tight = distances[u] + weights[edge] == distances[v] and distances[v] < np.inf
            if tight and u != v:
                atomic_add(waiting, v, np.int32(1))
    return 0


@kernel
def _release(block, vertices, found, distances, waiting):  # type: ignore[no-untyped-def]
    """One edge less to wait for; who waits for none any more is found."""
    offsets, neighbours, weights = block.offsets, block.neighbours, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        for edge in range(np.uint64(offsets[u - first]), np.uint64(offsets[u - first + one])):
            v = np.uint64(neighbours[edge])
            tight = distances[u] + weights[edge] == distances[v] and distances[v] < np.inf
            if tight and u != v and atomic_add(waiting, v, np.int32(-1)) == 1:
                found[count] = v
                count += one
    return count


# What betweenness of vertices and of edges has in common


def add_up(
    engine: Engine,
    totals: F64,
    sources: U32,
    step: Callable[[U32], tuple[int, dict[str, Any]]],
    **identity: Any,
) -> None:
    """Go through the sources: ``step`` takes some from the beginning of a list, adds what they come
    to to the totals, and gives how many it took and what to note of them.
    """
    progress = engine.options.progress
    progress.start("sources", len(sources), "sources")
    arrays = {"totals": totals}
    with Recovery(engine, {**identity, **source_identity(sources)}) as recovery:
        saved = recovery.resume(arrays)
        done = 0 if saved is None else saved[0]
        while done < len(sources):
            with engine.step() as row:
                count, facts = step(sources[done:])
                row |= facts
                progress.advance(count - 1)
            done += count
            recovery.after(done, arrays, {})


def choose_sources(graph: Graph, k: int | None, seed: int, sources: Any) -> tuple[U32, bool]:
    """The vertex numbers of the sources, and whether they are only some of all."""
    if sources is None:
        found = all_or_some(graph, k, seed)
        return found, len(found) < graph.num_vertices
    if k is not None:
        raise OptionError("k, sources: give one of them")
    return vids_of(graph, sources, "sources"), True


def scale_of(graph: Graph, sources: int, *, normalized: bool, endpoints: bool) -> float:
    """What sums over so many sources are multiplied by, as NetworkX does: ``normalized`` divides by
    the number of pairs that could count, otherwise it is what all sources would come to; an
    undirected pair counts once.
    """
    ends = graph.num_vertices if endpoints else graph.num_vertices - 1
    if ends < 2:
        return 1.0
    if sources == 0:
        return float("nan")
    if normalized:
        return 1 / (sources * (ends - 1))
    return ends / (sources * (1 if graph.directed else 2))


def sweep_needs(
    counts: Counts,
    k: int | None,
    sources: Selected | None,
    *,
    weight: bool,
    vertex_bytes: int = 0,
    edge_bytes: int = 0,
    row_bytes: int = 0,
) -> list[Needs]:
    """What the sweeps need and do, with so many bytes of sums for each vertex or stored edge, and
    then, instead of their own state, so many bytes of the result for each edge. A source costs
    about so many passes on R-MAT graphs: a search, and both sweeps, which look at a page once for
    each level that has vertices in it; with sums of edges, once more.
    """
    if sources is not None and k is not None:
        raise OptionError("k, sources: give one of them")
    check_k(counts, k)
    count = counts.num_vertices if k is None else k
    count = count if sources is None else sources.count
    name = counts.weight if weight else None
    passes, resident = (WEIGHTED_PASSES, 8.0) if name else (PASSES, 2.5)
    passes += 1.0 if edge_bytes else 0.0
    columns = () if name is None else (name,)
    stored = counts.of("out").num_edges
    sums, rows = edge_bytes * stored, row_bytes * counts.num_edges
    memory = Needs(
        ("out", "in"), resident * count, columns, vertex_bytes=SWEEP_BYTES + vertex_bytes,
        more_bytes=sums + max(rows - SWEEP_BYTES * counts.num_vertices, 0),
        forms=("memory",), gathered_bytes=8, work=1.5,
    )  # fmt: skip
    stream = replace(memory, passes=passes * count, forms=("stream",))
    if name is not None or not is_small(counts):
        return [memory, stream]
    folding = 0 if counts.directed or not edge_bytes else FOLD_BYTES * stored
    whole = replace(
        memory, vertex_bytes=vertex_bytes, more_bytes=sums + max(rows, folding), way=WHOLE_SOURCES,
        worker_bytes=chunk_bytes(counts, of_edges=edge_bytes > 0),
    )  # fmt: skip
    return [whole, memory, stream]
