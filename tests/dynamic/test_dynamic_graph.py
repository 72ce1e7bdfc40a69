"""``DynamicGraph`` as users have it, against a dictionary: in memory and on disk, with compactions
and reopenings in between.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import IdError, InputError, LockedError, OptionError, PenstockError


class Model:
    """What a graph should be."""

    def __init__(self, directed, multigraph):
        self.directed, self.multigraph = directed, multigraph
        self.vertices, self.edges = {}, {}

    def key(self, u, v):
        return (u, v) if self.directed or u <= v else (v, u)

    def update(self, src, dst, adds, weights):
        came = went = 0
        for u, v, adding, weight in zip(src, dst, adds, weights, strict=True):
            key = self.key(u, v)
            if not adding:
                went += len(self.edges.pop(key, ()))
                continue
            self.vertices |= {u: None, v: None}
            if key not in self.edges or self.multigraph:
                came += 1
                self.edges.setdefault(key, []).append(weight)
            else:
                self.edges[key] = [weight]
        return came, went

    def listed(self):
        return sorted((*key, w) for key, some in self.edges.items() for w in some)


def check(graph, model):
    assert graph.num_vertices == len(model.vertices)
    assert graph.num_edges == sum(map(len, model.edges.values()))
    assert graph.ids.tolist() == sorted(model.vertices)
    src, dst, weight = (each.tolist() for each in graph.to_edges())
    rows = ((*model.key(u, v), w) for u, v, w in zip(src, dst, weight, strict=True))
    assert sorted(rows) == model.listed()
    for vertex in list(model.vertices)[:5]:
        out = sorted(
            [v for (u, v), some in model.edges.items() if u == vertex for _ in some]
            + ([] if model.directed else [
                u for (u, v), some in model.edges.items() if v == vertex and u != v for _ in some
            ])
        )  # fmt: skip
        assert sorted(graph.neighbors(vertex).tolist()) == out
        assert graph.degree(vertex) == len(out)


STEP = st.tuples(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans(), st.integers(0, 5)),
        max_size=40,
    ),
    st.sampled_from(["", "", "compact", "reopen"]),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(STEP, min_size=1, max_size=6), directed=st.booleans(), multigraph=st.booleans(),
    reverse=st.booleans(), strings=st.booleans(), on_disk=st.booleans(),
)  # fmt: skip
def test_is_what_the_batches_say(
    tmp_path_factory, steps, directed, multigraph, reverse, strings, on_disk
):
    path = tmp_path_factory.mktemp("live") / "g.penstock" if on_disk else None
    graph = ps.DynamicGraph(
        path, directed, multigraph=multigraph, reverse=reverse, threshold=3,
        edge_properties={"weight": "int16"}, threads=2,
    )  # fmt: skip
    model = Model(directed, multigraph)
    for rows, then in steps:
        src, dst, adds, weights = ([row[k] for row in rows] for k in range(4))
        if strings:
            src, dst = ([f"v{each}" for each in some] for some in (src, dst))
        found = graph.update_edges(
            src, dst, np.array(adds, bool), {"weight": np.array(weights, int)}
        )
        assert found == model.update(src, dst, adds, weights)
        if on_disk and then == "compact":
            graph.compact()
        if on_disk and then == "reopen":
            graph.close()
            graph = ps.DynamicGraph(path, threshold=3, threads=2)
        check(graph, model)
    if directed and reverse:
        for vertex in list(model.vertices)[:5]:
            into = sorted(u for (u, v), some in model.edges.items() if v == vertex for _ in some)
            assert sorted(graph.neighbors(vertex, "in").tolist()) == into
    graph.close()


def test_begins_as_a_static_graph(tmp_path):
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 200, (2, 3000))
    static = ps.from_edges(src, dst)
    for path in (None, tmp_path / "live.penstock"):
        graph = ps.DynamicGraph.from_graph(static, path)
        assert graph.num_edges == static.num_edges
        assert graph.delete_edges(src[:100], dst[:100]) == len(
            {*zip(src[:100], dst[:100], strict=True)}
        )
        left = {*zip(src.tolist(), dst.tolist(), strict=True)} - {
            *zip(src[:100].tolist(), dst[:100].tolist(), strict=True)
        }
        assert {*zip(*(each.tolist() for each in graph.to_edges()), strict=True)} == left
        assert sorted(graph) == sorted(left)
        graph.close()


def test_compacts_to_a_static_graph(tmp_path):
    graph = ps.DynamicGraph(directed=False)
    graph.add_edges([5, 9, 5, 7], [9, 7, 5, 7])
    store = graph.compact(tmp_path / "x.penstock")
    assert store.num_edges == 4
    again = ps.open(tmp_path / "x.penstock")
    assert again.ids.tolist() == [5, 7, 9]
    assert ps.bfs(again, 5).values.tolist() == [0, 2, 1]
    with pytest.raises(OptionError, match="no directory"):
        graph.compact()


def test_a_first_batch_that_is_large_is_sorted(monkeypatch):
    monkeypatch.setattr("penstock.dynamic.state.BULK_ROWS", 1000)
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 80, (2, 4000))
    weight = rng.integers(0, 100, 4000)
    for directed in (True, False):
        bulk, slow = (
            ps.DynamicGraph(directed=directed, edge_properties={"weight": "int32"}, reverse=True)
            for _ in range(2)
        )
        assert bulk.add_edges(src, dst, {"weight": weight}) == sum(
            slow.add_edges(src[k : k + 500], dst[k : k + 500], {"weight": weight[k : k + 500]})
            for k in range(0, 4000, 500)
        )
        assert bulk.num_edges == slow.num_edges
        pairs = [
            sorted(zip(*(e.tolist() for e in g.to_edges()), strict=True)) for g in (bulk, slow)
        ]
        assert pairs[0] == pairs[1]


def test_changes_itself_when_memory_is_full(tmp_path):
    graph = ps.DynamicGraph(tmp_path / "g", memory="17MB")
    graph._storage._budget = 2 << 20  # so that few edges are enough
    rng = np.random.default_rng(3)
    rows = {*()}
    for _ in range(8):
        src, dst = rng.integers(0, 100_000, (2, 100_000))
        graph.add_edges(src, dst)
        rows |= {*zip(src.tolist(), dst.tolist(), strict=True)}
    assert graph.num_edges == len(rows)
    assert (tmp_path / "g").joinpath("log.0").exists() is False
    assert graph.internals.nbytes < 40 << 20
    probe = rng.integers(0, 100_000, (2, 1000))
    pairs = zip(*probe.tolist(), strict=True)
    assert graph.has_edges(*probe).tolist() == [pair in rows for pair in pairs]
    graph.close()
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert again.num_edges == len(rows)


def test_properties_of_edges_and_vertices(tmp_path):
    path = tmp_path / "g"
    with ps.DynamicGraph(
        path,
        edge_properties={"weight": "float32", "kind": "uint8"},
        vertex_properties={"age": "int32"},
    ) as graph:
        graph.add_edges([1, 2], [2, 3], {"weight": [0.5, 1.5], "kind": [7, 8]})
        assert graph.edge_properties.set("kind", [1, 3], [2, 1], [9, 9]) == 1
        assert graph.edge_properties.get("kind", [1, 2], [2, 3]).tolist() == [9, 8]
        assert graph.edge_properties.get("weight", [1], [2]).tolist() == [0.5]
        graph.vertex_properties.set("age", [3, 4], [30, 40])
        assert graph.num_vertices == 4
        graph.compact()
        graph.vertex_properties.set("age", [1], [10])
        assert graph.edge_properties.set("weight", [2], [3], 4.5) == 1
    with ps.DynamicGraph(path) as graph:
        assert graph.vertex_properties.get("age").tolist() == [10, 0, 30, 40]
        assert graph.vertex_properties.get("age", [4, 1]).tolist() == [40, 10]
        assert graph.edge_properties.get("weight", [1, 2], [2, 3]).tolist() == [0.5, 4.5]
        ids, columns = graph.edges(2)
        assert (ids.tolist(), columns["kind"].tolist()) == ([3], [8])
        with pytest.raises(InputError, match="no edge from 3 to 1"):
            graph.edge_properties.get("weight", [1, 3], [2, 1])


BAD = {
    "lengths": (lambda g: g.add_edges([1, 2], [3]), InputError, "as many targets"),
    "negative id": (lambda g: g.add_edges([1, -2], [3, 4]), IdError, "row 1 is -2"),
    "large id": (
        lambda g: g.add_edges(np.array([2**63], np.uint64), [3]),
        IdError,
        "2\\*\\*63 - 1",
    ),
    "float ids": (lambda g: g.add_edges([1.0], [3]), IdError, "whole numbers"),
    "strings": (lambda g: g.add_edges(["a"], ["b"]), IdError, "integer ids"),
    "property name": (lambda g: g.add_edges([1], [3], {"x": [1]}), OptionError, "no property 'x'"),
    "property type": (lambda g: g.add_edges([1], [3], {"weight": ["a"]}), InputError, "is int16"),
    "property float": (lambda g: g.add_edges([1], [3], {"weight": [0.5]}), InputError, "is int16"),
    "property range": (lambda g: g.add_edges([1], [3], {"weight": [70000]}), InputError, "70000"),
    "property rows": (lambda g: g.add_edges([1], [3], {"weight": [1, 2]}), InputError, "1 values"),
    "ops": (lambda g: g.update_edges([1], [3], [5.0]), InputError, "truth values"),
    "direction": (lambda g: g.neighbors(1, "up"), OptionError, "'out' or 'in', got 'up'"),
    "vertex": (lambda g: g.neighbors(99), IdError, "99 is not a vertex"),
    "maintain": (lambda g: g.maintain("magic"), OptionError, "magic"),
    "maintained": (lambda g: g.maintained["bfs"], OptionError, "not maintained"),
    "vertex property": (lambda g: g.vertex_properties.get("age"), OptionError, "vertex_properties"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_and_nothing_is_lost(what, tmp_path):
    call, error, words = BAD[what]
    with ps.DynamicGraph(tmp_path / "g", edge_properties={"weight": "int16"}) as graph:
        graph.add_edges([1, 2], [2, 3], {"weight": [4, 5]})
        with pytest.raises(error, match=words):
            call(graph)
        assert graph.num_edges == 2
        assert graph.num_vertices == 3
        graph.add_edges([3], [1])
    with ps.DynamicGraph(tmp_path / "g") as graph:
        assert sorted(zip(*(e.tolist() for e in graph.to_edges()), strict=True)) == [
            (1, 2, 4), (2, 3, 5), (3, 1, 0)
        ]  # fmt: skip


def test_what_is_not_there_is_not_deleted_and_makes_no_vertices():
    graph = ps.DynamicGraph()
    assert graph.delete_edges([1, 2], [2, 3]) == 0
    assert graph.num_vertices == 0
    assert graph.has_edges([1], [2]).tolist() == [False]
    assert graph.add_edges([], []) == 0
    assert graph.add_vertices([4, 4, 2]) == 2
    assert graph.degree([4, 2]).tolist() == [0, 0]


def test_one_writer_many_readers(tmp_path):
    path = tmp_path / "g"
    with ps.DynamicGraph(path) as writer:
        writer.add_edges([1], [2])
        with pytest.raises(LockedError):
            ps.DynamicGraph(path)
        with ps.DynamicGraph(path, read_only=True) as reader:
            writer.add_edges([2], [3])
            assert reader.num_edges == 1
            reader.refresh()
            assert reader.num_edges == 2
            writer.compact()
            writer.add_edges([3], [4])
            assert reader.num_edges == 2
            reader.refresh()
            assert sorted(reader) == [(1, 2), (2, 3), (3, 4)]
            with pytest.raises(OptionError, match="reading only"):
                reader.add_edges([1], [3])
    with pytest.raises(PenstockError, match="closed"):
        writer.add_edges([1], [3])


def test_what_is_said_must_be_what_is_there(tmp_path):
    ps.DynamicGraph(tmp_path / "g", directed=False).close()
    with pytest.raises(OptionError, match=r"directed: .* has False, not True"):
        ps.DynamicGraph(tmp_path / "g", directed=True)
    with pytest.raises(OptionError, match="edge_properties"):
        ps.DynamicGraph(tmp_path / "g", edge_properties={"w": "int8"})
    with pytest.raises(OptionError, match="cannot be 'text'"):
        ps.DynamicGraph(edge_properties={"w": "text"})


def test_several_threads_change_it_at_once(tmp_path):
    graph = ps.DynamicGraph(tmp_path / "g", memory="20MB")
    rng = np.random.default_rng(5)
    parts = [rng.integers(0, 5000, (2, 3000)) + 10_000 * k for k in range(4)]
    failures = []

    def work(k):
        try:
            for at in range(0, 3000, 300):
                graph.add_edges(parts[k][0, at : at + 300], parts[k][1, at : at + 300])
                graph.delete_edges(parts[k][0, at : at + 50], parts[k][1, at : at + 50])
                if k == 0 and at % 900 == 0:
                    graph.compact()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    expected = set()
    for src, dst in parts:
        for at in range(0, 3000, 300):
            rows = [*zip(src[at : at + 300].tolist(), dst[at : at + 300].tolist(), strict=True)]
            expected |= {*rows}
            expected -= {*rows[:50]}
    assert {*graph} == expected
    graph.close()
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert {*again} == expected


def test_a_snapshot_stays_while_the_graph_changes(tmp_path):
    for path in (None, tmp_path / "g"):
        graph = ps.DynamicGraph(path)
        graph.add_edges(np.arange(100), np.arange(1, 101))
        if path is not None:
            graph.compact()
            graph.delete_edges([0], [1])
            graph.add_edges([0], [1])
        before = graph.snapshot()
        graph.delete_edges(np.arange(50), np.arange(1, 51))
        graph.add_edges([7], [2000])
        if path is not None:
            graph.compact()
        assert before.num_edges == 100
        assert ps.bfs(before, 0).values.tolist() == list(range(101))
        assert ps.bfs(graph, 0).values.max() == 0
        graph.close()


def test_answers_are_kept_up_to_date(tmp_path):
    graph = ps.DynamicGraph(tmp_path / "g", directed=False)
    rng = np.random.default_rng(6)
    graph.add_edges(*rng.integers(0, 60, (2, 100)))
    kept = {
        "bfs": graph.maintain("bfs", source=3), "color": graph.maintain("color"),
        "connected_components": graph.maintain("connected_components"),
        "degree": graph.maintain("degree"), "triangles": graph.maintain("triangles"),
        "pagerank": graph.maintain("pagerank"),
    }  # fmt: skip
    for step in range(6):
        graph.update_edges(*rng.integers(0, 70, (2, 40)), rng.random(40) < 0.6)
        if step == 3:
            graph.compact()
        found = {name: graph.maintained[name].by_id()[1] for name in kept}
        order = graph.maintained["bfs"].by_id()[0]
        assert np.array_equal(order, graph.ids)
        assert np.array_equal(found["bfs"], ps.bfs(graph, 3).values)
        assert np.array_equal(found["connected_components"], ps.connected_components(graph).values)
        assert np.array_equal(found["triangles"], ps.triangles(graph).values)
        assert np.array_equal(found["degree"], graph.degree(graph.ids))
        assert (
            np.abs(
                found["pagerank"] - ps.pagerank(graph, tol=0, max_iter=150, dtype="float64").values
            ).sum()
            < 1e-4
        )
        src, dst = graph.to_edges()
        colours = dict(zip(graph.ids.tolist(), found["color"].tolist(), strict=True))
        assert all(
            colours[u] != colours[v]
            for u, v in zip(src.tolist(), dst.tolist(), strict=True)
            if u != v
        )
    with pytest.raises(OptionError, match="already"):
        graph.maintain("bfs", source=1)
    del graph.maintained["bfs"]
    graph.maintain("bfs", source=1)
    graph.close()
