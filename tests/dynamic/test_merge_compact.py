"""Compaction: the store that comes out is sound, and is the graph that went in."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merge_making import PAGE, some_edges, store

import penstock as ps
from penstock.dynamic import merge_compact
from penstock.dynamic.base import BaseLists
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.merge import MergedSide
from penstock.dynamic.merge_compact import CompactOptions, compact, write_store
from penstock.errors import DiskSpaceError, TargetExistsError
from penstock.store.check import check_graph
from penstock.store.layout import Column
from penstock.store.memory import MemoryTarget
from penstock.store.packer import FileSink

N = 3000
WEIGHT = (Column("weight", np.dtype("<f8")),)


@dataclass
class Ids:
    """Ids by vertex number."""

    values: list

    @property
    def kind(self):
        return "string" if self.values and isinstance(self.values[0], str) else "int"

    @property
    def num_vertices(self):
        return len(self.values)

    def by_vid(self):
        return np.array(self.values, object if self.kind == "string" else np.int64)


class Live:
    """A graph that changes: its sides, and its edges as a counter of (source, target, *values)."""

    def __init__(self, graph, ids, *, directed=True, both=True, multigraph=False, columns=()):
        self.ids, self.directed, self.multigraph = Ids(ids), directed, multigraph
        self.columns = columns
        self.edges: dict = {}
        names = ("out", "in") if directed and both else ("out",)
        self.sides = {}
        for name in names:
            base = None if graph is None else BaseLists(graph, name, threads=2)
            added = DegreeAwareLists(columns, multigraph=multigraph, threads=2)
            self.sides[name] = MergedSide(base, added)
        if graph is not None:
            for src, dst, values in graph.iter_edges():
                rows = zip(*(c.tolist() for c in values.values()), strict=True)
                rows = list(rows) or [()] * len(src)
                for u, v, row in zip(src.tolist(), dst.tolist(), rows, strict=True):
                    self.edges.setdefault(self.pair(u, v), []).append(row)
        self.grow(len(ids))

    def pair(self, u, v):
        return (u, v) if self.directed else (min(u, v), max(u, v))

    def grow(self, count):
        for side in self.sides.values():
            side.grow(count)

    def apply(self, rows):
        """Rows of (source, target, whether to add, value)."""
        if not rows:
            return
        src, dst = np.array([row[:2] for row in rows], np.uint32).T.copy()
        adds = np.array([row[2] for row in rows], np.uint8)
        columns = [np.array([row[3] for row in rows], c.dtype) for c in self.columns]
        if self.directed:
            for name, side in self.sides.items():
                ends = (src, dst) if name == "out" else (dst, src)
                side.apply(*ends, adds, columns)
        else:
            # Each row in both lists, side by side, so that rows stay in order; loops once.
            keep = np.ones(2 * len(src), bool)
            keep[1::2] = src != dst
            twice = [np.repeat(array, 2)[keep] for array in (adds, *columns)]
            ends = [np.stack(two, 1).ravel()[keep] for two in ((src, dst), (dst, src))]
            self.sides["out"].apply(*ends, twice[0], twice[1:])
        for u, v, add, value in rows:
            pair, values = self.pair(u, v), (float(value),) if self.columns else ()
            if not add:
                self.edges.pop(pair, None)
            elif self.multigraph:
                self.edges.setdefault(pair, []).append(values)
            else:
                self.edges[pair] = [values]

    def options(self, **more):
        weight = self.columns[0].name if self.columns else None
        return CompactOptions(
            self.directed, self.columns, weight, page_bytes=PAGE, threads=2, **more
        )

    def close(self):
        for side in self.sides.values():
            side.added.close()
            if side.base is not None:
                side.base.close()
                side.removed.close()

    def check(self, graph):
        """Whether a graph is this one, with the same numbers."""
        ids = self.ids.values
        assert graph.num_vertices == len(ids)
        assert graph.ids_by_vid().tolist() == ids
        assert graph.ids.tolist() == sorted(ids)
        assert graph.num_edges == sum(map(len, self.edges.values()))
        expected = Counter(
            (ids[u], ids[v], *values) for (u, v), all_ in self.edges.items() for values in all_
        )
        found = Counter(zip(*(array.tolist() for array in graph.to_edges()), strict=True))
        if not self.directed:
            expected = Counter({_ordered(edge): k for edge, k in expected.items()})
            found = Counter({_ordered(edge): k for edge, k in found.items()})
        assert found == expected
        for name, side in self.sides.items():
            assert graph.degrees(name).tolist() == side.degrees().tolist()


def _ordered(edge):
    return (*sorted(edge[:2]), *edge[2:])


def ids_of(kind, count):
    """Ids that are neither by degree nor in order, unless they are to be."""
    if kind == "string":
        return [f"{k * 7919 % 10007:x}é" for k in range(count)]
    return [k * 7919 % 10007 for k in range(count)] if kind == "int" else list(range(count))


#: How the graph begins, and what it is.
KINDS = {
    "directed": {},
    "out-lists only": {"both": False, "ids": "range"},
    "undirected": {"directed": False, "ids": "string"},
    "weighted": {"columns": WEIGHT, "ids": "int"},
    "weighted, undirected": {"columns": WEIGHT, "directed": False},
    "parallel": {"multigraph": True, "ids": "string"},
    "parallel, weighted": {"multigraph": True, "columns": WEIGHT, "directed": False},
    "slotted": {"layout": "slotted"},
    "as in the input": {"neighbour_order": "input", "columns": WEIGHT},
}


@pytest.fixture(scope="module", params=KINDS)
def started(request, tmp_path_factory):
    """A base with lists of several pages, and what to make of it."""
    what = dict(KINDS[request.param])
    kind = what.pop("ids", "range")
    build = {key: what.pop(key) for key in ("layout", "neighbour_order") if key in what}
    weighted = "columns" in what
    src, dst, *rest = some_edges(m=2000, weighted=weighted)
    ids = np.array(ids_of(kind, N), object if kind == "string" else np.int64)
    if weighted:
        rest = [np.floor(100 * rest[0])]
    path = tmp_path_factory.mktemp("compact") / "g.penstock"
    graph = store(
        (ids[src], ids[dst], *rest), path, directed=what.get("directed", True),
        duplicates="keep" if what.get("multigraph") else "last",
        **({"num_vertices": N} if kind == "range" else {}), **build,
    )  # fmt: skip
    return graph, kind, what


def live_from(started):
    """The graph of a fixture with two new vertices, and which edges it begins with."""
    graph, kind, what = started
    known = graph.ids_by_vid().tolist()
    return Live(graph, [*known, *ids_of(kind, N + 20)[-2:]], **what)


drawn = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 1 << 20), st.booleans(), st.integers(0, 9)),
    max_size=30,
)


def rows_of(live, some):
    """Rows near vertex 0, of edges that are there, of the last vertices."""
    n, there = live.ids.num_vertices, list(live.edges)
    rows = []
    for u, k, add, value in some:
        pair = there[k % len(there)] if k % 3 == 0 and there else (u, k % n)
        if k % 7 == 0:
            pair = (n - 1 - u % 3, n - 1 - k % 2)
        rows.append((*pair, add, value))
    return rows


@settings(max_examples=3, deadline=None)
@given(st.lists(drawn, min_size=1, max_size=2), drawn)
def test_two_compactions_against_the_edges(started, tmp_path_factory, batches, later):
    folder = tmp_path_factory.mktemp("out")
    live = live_from(started)
    for some in batches:
        live.apply(rows_of(live, some))
    graph = compact(folder / "g", live.sides, live.ids, live.options())
    assert check_graph(folder / "g").problems == ()
    live.check(graph)
    live.close()
    following = Live(graph, live.ids.values, directed=live.directed,
                     multigraph=live.multigraph, columns=live.columns,
                     both=len(live.sides) == 2)  # fmt: skip
    assert following.edges.keys() == live.edges.keys()
    following.apply(rows_of(following, later))
    again = compact(folder / "g", following.sides, live.ids, live.options(), overwrite=True)
    assert check_graph(folder / "g").problems == ()
    following.check(again)
    following.close()
    shutil.rmtree(folder)


def test_lists_of_several_pages_change(started, tmp_path):
    live = live_from(started)
    hub = int(np.argmax(live.sides["out"].degrees()))
    gone = [(u, v, False, 0) for u, v in live.edges if u == hub][::3]
    new = [(hub, v, True, v % 5) for v in range(0, live.ids.num_vertices, 2)]
    live.apply([*gone, *new])
    graph = compact(tmp_path / "g", live.sides, live.ids, live.options())
    assert check_graph(tmp_path / "g").problems == ()
    assert (graph.page_table("out")["run"] > 0).any()
    live.check(graph)
    live.close()


def test_in_memory(started):
    live = live_from(started)
    live.apply(rows_of(live, [(k % 5, 3 * k, k % 2 == 0, k % 9) for k in range(40)]))
    target = MemoryTarget()
    live.check(target.graph(write_store(target, live.sides, live.ids, live.options())))
    live.close()


@pytest.mark.parametrize("kind", ["range", "int", "string"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_without_a_base(directed, weighted, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(merge_compact, "PART_EDGES", 500)
    monkeypatch.setattr(merge_compact, "PART_VERTICES", 900)
    src, dst = some_edges(m=2000)
    columns = WEIGHT if weighted else ()
    live = Live(None, ids_of(kind, N), directed=directed, columns=columns)
    rows = zip(src.tolist(), dst.tolist(), strict=True)
    live.apply([(u, v, True, (u ^ v) % 50) for u, v in rows])
    live.apply([(u, v, False, 0) for u, v in list(live.edges)[::5]])
    graph = compact(tmp_path / "g", live.sides, live.ids, live.options())
    assert check_graph(tmp_path / "g").problems == ()
    live.check(graph)
    assert graph.catalog.ids.kind == kind
    assert graph.catalog.vertex_order == ("none" if kind == "range" else "given")
    live.close()


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("kind", ["int", "string"])
def test_without_edges(kind, count, tmp_path):
    live = Live(None, ids_of(kind, count))
    graph = compact(tmp_path / "g", live.sides, live.ids, live.options())
    assert check_graph(tmp_path / "g").problems == ()
    live.check(graph)
    live.close()


def test_ids_that_follow_each_other_need_no_file(tmp_path):
    live = Live(None, [12, 10, 11])
    live.apply([(0, 2, True, 0)])
    graph = compact(tmp_path / "g", live.sides, live.ids, live.options())
    assert graph.catalog.ids.kind == "range"
    assert [array.tolist() for array in graph.to_edges()] == [[12], [11]]
    assert check_graph(tmp_path / "g").problems == ()
    live.close()


def test_algorithms_do_not_see_where_a_graph_comes_from(tmp_path):
    src, dst = some_edges(m=2000)
    live = Live(None, ids_of("int", N), directed=False)
    rows = zip(src.tolist(), dst.tolist(), strict=True)
    live.apply([(u, v, True, 0) for u, v in rows])
    graph = compact(tmp_path / "g", live.sides, live.ids, live.options())
    live.close()
    ids = live.ids.by_vid()
    everyone = np.arange(N)
    plain = ps.from_edges(
        np.concatenate([ids[src], ids[everyone]]), np.concatenate([ids[dst], ids[everyone]]),
        directed=False, self_loops="drop",
    )  # fmt: skip
    assert graph.ids.tolist() == plain.ids.tolist()
    assert ps.bfs(graph, ids[7]).values.tolist() == ps.bfs(plain, ids[7]).values.tolist()
    assert ps.triangles(graph).values.tolist() == ps.triangles(plain).values.tolist()
    assert ps.core_number(graph).values.tolist() == ps.core_number(plain).values.tolist()
    colors = ps.color(graph, strategy="largest_first").values
    a, b = (np.searchsorted(plain.ids, array) for array in plain.to_edges())
    assert (colors[a] != colors[b]).all()


class Watch:
    """Keeps what it is told."""

    def __init__(self):
        self.stages, self.done = [], []

    def start(self, stage, total, unit):
        self.stages.append((stage, total, unit))
        self.done.append(0)

    def advance(self, amount):
        self.done[-1] += amount

    def note(self, text):
        raise AssertionError(text)


def test_progress(tmp_path):
    live = Live(None, ids_of("range", N))
    live.apply([(u, v, True, 0) for u, v in zip(*some_edges(m=2000), strict=True)])
    watch = Watch()
    compact(tmp_path / "g", live.sides, live.ids, live.options(), progress=watch)
    edges = len(live.edges)
    assert watch.stages == [
        ("writing out-lists", edges, "edges"),
        ("writing in-lists", edges, "edges"),
    ]
    assert watch.done == [edges, edges]
    live.close()


@pytest.mark.parametrize("page", [0, 1, 5])
@pytest.mark.parametrize("there", [False, True])
def test_a_compaction_that_fails_leaves_what_was_there(page, there, tmp_path, monkeypatch):
    live = Live(None, ids_of("range", N))
    live.apply([(u, v, True, 0) for u, v in zip(*some_edges(m=2000), strict=True)])
    target = tmp_path / "g"
    if there:
        compact(target, live.sides, live.ids, live.options())
    write = FileSink.write

    def failing(self, page_id, data):
        if page_id == page:
            raise OSError(28, "No space left on device")
        write(self, page_id, data)

    monkeypatch.setattr(FileSink, "write", failing)
    with pytest.raises(DiskSpaceError):
        compact(target, live.sides, live.ids, live.options(), overwrite=True)
    assert [each.name for each in tmp_path.iterdir()] == (["g"] if there else [])
    if there:
        live.check(ps.open(target))
        assert check_graph(target).problems == ()
    live.close()


def test_a_graph_that_is_there_is_not_overwritten(tmp_path):
    live = Live(None, [1, 2])
    compact(tmp_path / "g", live.sides, live.ids, live.options())
    with pytest.raises(TargetExistsError):
        compact(tmp_path / "g", live.sides, live.ids, live.options())
    live.close()
