"""What every kind of graph has to provide, asked of each kind: the same edges, in other forms."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest

import penstock as ps
from penstock.engine.counts import counts_of
from penstock.engine.result_columns import ids_of
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph
from penstock.store import grouping
from penstock.store.graph import Graph
from penstock.store.list_graph import ListGraph
from penstock.store.paged import PagedGraph
from penstock.store.source import ListArrays

N = 40


def rows() -> tuple[Any, Any, Any]:
    """Edges with a hub, loops, and vertices without edges; the smaller end first."""
    rng = np.random.default_rng(11)
    pairs = {(min(a, b), max(a, b)) for a, b in rng.integers(0, N - 5, (90, 2)).tolist()}
    pairs |= {(3, k) for k in range(3, N - 5)}
    src, dst = np.array(sorted(pairs)).T
    return src, dst, rng.integers(1, 9, len(src)).astype(np.float64)


class Kinds:
    """The graph in every form, by name."""

    def __init__(self, folder: Any, *, directed: bool) -> None:
        self.directed = directed
        self.arrays = rows()
        self._folder = folder
        #: Graphs that others are views of.
        self._held: list[Any] = []

    def make(self, kind: str) -> Graph:
        """The graph, as one kind of source."""
        made: Graph = getattr(self, kind)()
        return made

    def on_disk(self) -> Graph:
        return ps.build(
            self.arrays, self._folder / "graph", directed=self.directed, weights=True,
            num_vertices=N, vertex_order="none", memory="64MB",
        )  # fmt: skip

    def in_memory(self) -> Graph:
        return self._of(slice(None))

    def _of(self, some: slice) -> PagedGraph:
        src, dst, weight = (each[some] for each in self.arrays)
        return ps.from_edges(
            src, dst, weight, directed=self.directed, num_vertices=N, vertex_order="none"
        )

    def _dynamic(self) -> ps.DynamicGraph:
        d = ps.DynamicGraph(
            directed=self.directed, edge_properties={"weight": "float64"},
            reverse=True if self.directed else None,
        )  # fmt: skip
        d.add_vertices(np.arange(N))
        src, dst, weight = self.arrays
        d.add_edges(src, dst, {"weight": weight})
        return d

    def _changed(self) -> ps.DynamicGraph:
        d = ps.DynamicGraph.from_graph(self._of(slice(60)))
        src, dst, weight = self.arrays
        d.delete_edges(src[:10], dst[:10])
        d.add_edges(src[:10], dst[:10], {"weight": weight[:10]})
        d.add_edges(src[60:], dst[60:], {"weight": weight[60:]})
        return d

    def _view(self, d: ps.DynamicGraph) -> Graph:
        self._held.append(d)
        with d.reading() as still:
            return still

    def live(self) -> Graph:
        return self._view(self._dynamic())

    def live_on_base(self) -> Graph:
        return self._view(self._changed())

    def snapshot(self) -> Graph:
        return self._dynamic().snapshot()

    def snapshot_on_base(self) -> Graph:
        return self._changed().snapshot()

    def networkx(self) -> Graph:
        made = nx.DiGraph() if self.directed else nx.Graph()
        made.add_nodes_from(range(N))
        made.add_weighted_edges_from(zip(*(each.tolist() for each in self.arrays), strict=True))
        return ListedGraph(made).to_penstock("weight")

    def networkx_part(self) -> Graph:
        return StoredGraph(self.in_memory()).part(np.arange(N)).stored


KINDS = [name for name in vars(Kinds) if not name.startswith("_") and name != "make"]
PAGED = ("on_disk", "in_memory")
WITH_STORAGE = (*PAGED, "live_on_base", "snapshot_on_base")


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def kinds(request, tmp_path, monkeypatch):
    monkeypatch.setattr(grouping, "PAGE_EDGES", 30)
    return Kinds(tmp_path, directed=request.param)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def expected_lists(kinds, direction):
    """The neighbours and weights of each vertex, in ascending order."""
    lists: list[list[tuple[int, float]]] = [[] for _ in range(N)]
    for u, v, weight in zip(*(each.tolist() for each in kinds.arrays), strict=True):
        if not kinds.directed and u != v:
            lists[v].append((u, weight))
        at, other = (v, u) if kinds.directed and direction == "in" else (u, v)
        lists[at].append((other, weight))
    return [sorted(each) for each in lists]


def found_lists(parts):
    """The same of ``(first, offsets, neighbours, weights)``."""
    lists: list[list[tuple[int, float]]] = [[] for _ in range(N)]
    for first, offsets, neighbours, weights in parts:
        pairs = list(zip(neighbours.tolist(), weights.tolist(), strict=True))
        ends = [int(each) for each in offsets]
        for k, (begin, end) in enumerate(pairwise(ends)):
            lists[first + k] += pairs[begin:end]
    return [sorted(each) for each in lists]


def test_description_and_ids(kinds, kind):
    graph = kinds.make(kind)
    assert (graph.num_vertices, graph.num_edges) == (N, len(kinds.arrays[0]))
    assert (graph.directed, graph.weighted, graph.weight) == (kinds.directed, True, "weight")
    assert graph.directions == (("out", "in") if kinds.directed else ("out",))
    assert [(each.name, each.dtype) for each in graph.columns] == [("weight", np.float64)]
    assert (graph.multigraph, graph.id_kind) == (False, "int")
    assert graph.neighbour_order == ("id" if kind in PAGED else "none")
    assert graph.ids.tolist() == graph.ids_by_vid().tolist() == list(range(N))
    assert ids_of(graph).take(np.array([0, N - 1])).tolist() == [0, N - 1]
    assert graph.description.first_id in (None, 0)


def test_only_graphs_of_pages_have_a_catalog(kinds, kind):
    graph = kinds.make(kind)
    assert isinstance(graph, PagedGraph) == hasattr(graph, "catalog") == (kind in PAGED)
    assert (graph.storage is not None) == (kind in WITH_STORAGE)
    page_bytes = 0 if graph.storage is None else graph.storage.catalog.page_bytes
    assert counts_of(graph).page_bytes == page_bytes
    for direction in graph.directions:
        assert (graph.source(direction) is None) == (kind in PAGED)


def test_counts_agree_with_the_lists(kinds, kind):
    graph = kinds.make(kind)
    for direction in graph.directions:
        degrees = np.array([len(each) for each in expected_lists(kinds, direction)])
        assert graph.degrees(direction).tolist() == degrees.tolist()
        stats, table = graph.list_stats(direction), graph.page_table(direction)
        assert (stats.num_pages, stats.num_edges) == (len(table), degrees.sum())
        assert stats.max_degree == degrees.max()
        bits = np.bincount([int(each).bit_length() for each in degrees])
        assert list(stats.degree_histogram) == bits.tolist()
        assert table["first_vid"].tolist() == [0, *np.cumsum(table["num_vertices"])[:-1].tolist()]
        assert table["num_vertices"].sum() == N
        for row in table:
            mine = degrees[row["first_vid"] : row["first_vid"] + row["num_vertices"]]
            assert mine.sum() == row["num_edges"]


def test_lists_are_the_same_in_every_way_to_read_them(kinds, kind):
    graph = kinds.make(kind)
    for direction in graph.directions:
        expected = expected_lists(kinds, direction)
        for threads in (1, 2):
            parts = (
                (each.first_vid, np.append(0, np.cumsum(each.degrees)), each.neighbours,
                 each.columns["weight"])
                for each in graph.iter_adjacency(direction, threads)
            )  # fmt: skip
            assert found_lists(parts) == expected
        source = graph.source(direction)
        if source is None:
            continue
        there = source.in_place
        assert (there is None) == (source.base is not None)
        if there is not None:
            one_by_one = (
                (v, np.array([begin, end]), there.neighbours, there.columns[0])
                for v, (begin, end) in enumerate(zip(there.starts, there.ends, strict=True))
            )
            assert found_lists(one_by_one) == expected
            filled = (_filled(source, row) for row in graph.page_table(direction))
            assert found_lists(filled) == expected


def _filled(source, row):
    first, count, edges = (int(row[name]) for name in ("first_vid", "num_vertices", "num_edges"))
    out = ListArrays(np.empty(count + 1, np.uint32), np.empty(edges, np.uint32), (np.empty(edges),))
    source.fill(range(first, first + count), None, [0], out)
    return first, out.offsets, out.neighbours, out.columns[0]


@pytest.mark.parametrize("options", [{}, {"load": False}], ids=["loaded", "streamed"])
def test_algorithms_find_the_same(kinds, kind, options):
    graph, reference = kinds.make(kind), kinds.in_memory()
    for run in (
        lambda g: ps.bfs(g, 0, **options), lambda g: ps.sssp(g, 0, **options),
        lambda g: ps.connected_components(g, **options), lambda g: ps.core_number(g, **options),
    ):  # fmt: skip
        np.testing.assert_array_equal(run(graph).values, run(reference).values)
    assert graph.to_arrow().num_rows == len(kinds.arrays[0])


def test_graphs_in_memory_can_be_sent_to_other_processes(kinds):
    for name in ("snapshot", "networkx", "networkx_part"):
        graph = kinds.make(name)
        assert isinstance(graph, ListGraph)
        again = pickle.loads(pickle.dumps(graph))
        assert [each.tolist() for each in again.to_edges()] == [
            each.tolist() for each in graph.to_edges()
        ]
