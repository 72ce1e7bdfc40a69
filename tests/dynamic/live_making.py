"""A small live graph in memory, slow and obviously right, for tests of what runs on one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csr_array

from penstock.dynamic.changes import Changes, Gathered
from penstock.dynamic.maintained.protocol import Sides

Pair = tuple[Any, Any]


class DictSide:
    """One direction: for each vertex number, its neighbours and how often each, with weights."""

    def __init__(self) -> None:
        self.lists: list[dict[int, list[float]]] = []

    @property
    def num_vertices(self) -> int:
        return len(self.lists)

    def degrees(self) -> np.ndarray:
        return np.array([sum(map(len, each.values())) for each in self.lists], np.uint32)

    def gather(self, vertices: np.ndarray) -> Gathered:
        rows = [
            [(w, x) for w, parallel in self.lists[v].items() for x in parallel]
            for v in vertices.tolist()
        ]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        flat = [entry for row in rows for entry in row]
        return Gathered(
            offsets,
            np.array([w for w, _ in flat], np.uint32),
            (np.array([x for _, x in flat], np.float64),),
        )

    def has(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        pairs = zip(src.tolist(), dst.tolist(), strict=True)
        return np.array([v in self.lists[u] for u, v in pairs], bool)


class LiveGraph:
    """Edges come and go in batches. Vertices are numbered in order of first appearance; ids are
    whatever the test likes. ``sides`` is what a maintained algorithm is made with.

    A unique graph keeps one edge of a pair (adding it again changes its weight and counts as not
    new, or as removed and added if ``reweigh``); a multigraph all of them, and deleting removes
    all parallel ones.
    """

    def __init__(
        self, *, directed: bool = False, reverse: bool = True, multigraph: bool = False
    ) -> None:
        self.directed, self.multigraph = directed, multigraph
        self.out = DictSide()
        self.in_: DictSide | None = (DictSide() if reverse else None) if directed else self.out
        self.ids: list[Any] = []
        self.vids: dict[Any, int] = {}
        self.sides = Sides(directed, self.out, lambda: self.in_, self.ids_by_vid, ("weight",))

    def ids_by_vid(self) -> np.ndarray:
        if any(isinstance(each, str) for each in self.ids):
            return np.array(self.ids, object)
        return np.array(self.ids, np.uint64)

    def add_vertices(self, ids: Iterable[Any]) -> None:
        for each in ids:
            if each not in self.vids:
                self.vids[each] = len(self.ids)
                self.ids.append(each)
                for side in {id(s): s for s in (self.out, self.in_) if s is not None}.values():
                    side.lists.append({})

    def batch(
        self,
        added: Sequence[Pair] = (),
        removed: Sequence[Pair] = (),
        weights: Sequence[float] | None = None,
        *,
        reweigh: bool = False,
    ) -> Changes:
        """Remove edges, then add edges; edges are pairs of ids."""
        old = len(self.ids)
        gone = [pair for each in removed for pair in self._remove(*each)]
        self.add_vertices(each for pair in added for each in pair)
        came: list[tuple[int, int]] = []
        for k, (a, b) in enumerate(added):
            u, v = self.vids[a], self.vids[b]
            weight = 1.0 if weights is None else float(weights[k])
            if not self.multigraph and v in self.out.lists[u]:
                if not reweigh or self.out.lists[u][v] == [weight]:
                    self._put(u, v, [weight])
                    continue
                gone.append((u, v))
            parallel = self.out.lists[u].get(v, []) if self.multigraph else []
            self._put(u, v, [*parallel, weight])
            came.append((u, v))
        columns = [np.array(each, np.uint32).reshape(-1, 2).T for each in (came, gone)]
        return Changes(*columns[0].copy(), *columns[1].copy(), len(self.ids), old)

    def _put(self, u: int, v: int, weights: list[float]) -> None:
        self.out.lists[u][v] = weights
        if self.in_ is not None:
            self.in_.lists[v][u] = weights

    def _remove(self, a: Any, b: Any) -> list[tuple[int, int]]:
        """Rows of what went."""
        u, v = self.vids.get(a), self.vids.get(b)
        if u is None or v is None or v not in self.out.lists[u]:
            return []
        parallel = self.out.lists[u].pop(v)
        if self.in_ is not None:
            self.in_.lists[v].pop(u, None)
        return [(u, v)] * len(parallel)

    def edges(self) -> Counter[tuple[int, int]]:
        """Every edge as vertex numbers and how many there are; an undirected one once, with the
        smaller number first.
        """
        return Counter(
            {
                (u, v): len(parallel)
                for u, row in enumerate(self.out.lists)
                for v, parallel in row.items()
                if self.directed or u <= v
            }
        )


SHARED = Path(__file__).parents[3] / "shared/data/graphs"


def batches(most_vertices: int = 12, most_batches: int = 8) -> st.SearchStrategy[list[Any]]:
    """Batches of pairs to add and to remove, out of few vertices, so that they repeat; None in
    place of those to remove stands for all edges there are.
    """
    vertex = st.integers(0, most_vertices - 1)
    pairs = st.lists(st.tuples(vertex, vertex), max_size=2 * most_vertices)
    removed = st.one_of(pairs, pairs, pairs, st.none())
    return st.lists(st.tuples(pairs, removed), max_size=most_batches)


def kinds() -> st.SearchStrategy[dict[str, bool]]:
    """What kind of graph."""
    return st.fixed_dictionaries({"directed": st.booleans(), "multigraph": st.booleans()})


def scattered_id(number: int) -> int:
    """Ids that are not in the order of the vertices' appearance."""
    return number * 7919 % 100_003


def play(live: LiveGraph, batch: Any, name: Callable[[int], Any] = scattered_id) -> Changes:
    """Apply one of :func:`batches`."""
    added, removed = batch
    if removed is None:
        gone = [(live.ids[u], live.ids[v]) for u, v in live.edges()]
    else:
        gone = [(name(u), name(v)) for u, v in removed]
    return live.batch([(name(u), name(v)) for u, v in added], gone)


def random_batches(
    live: LiveGraph, edges: list[Pair], rounds: int, size: int, seed: int = 0
) -> Iterator[Changes]:
    """In turn: remove some of the edges, put others back, and do both at once."""
    rng = np.random.default_rng(seed)
    for k in range(rounds):
        chosen = [edges[i] for i in rng.integers(0, len(edges), 2 * size).tolist()]
        added, removed = chosen[:size], chosen[size:]
        yield live.batch(added if k % 3 else (), removed if k % 3 != 1 else ())


def facebook() -> list[Pair]:
    """The edges of a real graph; the test is skipped where it is not at hand."""
    path = SHARED / "facebook_combined.txt"
    if not path.is_file():
        pytest.skip("no ../shared/data beside the project")
    return [tuple(row) for row in np.loadtxt(path, np.int64, skiprows=1).tolist()]


def as_networkx(live: LiveGraph) -> nx.Graph:
    """The undirected graph of the vertex numbers, without loops and parallel edges."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(live.ids)))
    graph.add_edges_from(pair for pair in live.edges() if pair[0] != pair[1])
    return graph


def as_matrix(live: LiveGraph) -> csr_array:
    """The same as a symmetric matrix of ones: quicker for a real graph."""
    n = len(live.ids)
    pairs = np.array(list(live.edges()), np.int64).reshape(-1, 2)
    src, dst = pairs[pairs[:, 0] != pairs[:, 1]].T
    matrix = csr_array((np.ones(len(src), np.int64), (src, dst)), (n, n))
    return ((matrix + matrix.T) > 0).astype(np.int64)
