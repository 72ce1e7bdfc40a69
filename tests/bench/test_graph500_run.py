"""The benchmark from end to end: what it makes, counts, refuses and leaves behind."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import penstock as ps
from penstock.errors import CorruptionError, OptionError, TargetExistsError
from penstock.ingest import generate
from penstock.interfaces.bench import graph500
from penstock.interfaces.bench.graph500 import (
    SEARCHES,
    Settings,
    chosen_kernels,
    run_benchmark,
)
from penstock.interfaces.bench.graph500_edges import (
    EdgeList,
    choose_roots,
    vertices_with_edges,
    write_edges,
)
from penstock.interfaces.bench.power import Energy, Meter
from penstock.progress import Silent


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of scale 9, whose edge list has several components, and what it left."""
    out = tmp_path_factory.mktemp("graph500") / "out"
    return run_benchmark(Settings(9, edgefactor=2, seed=7, out=out)), out


def columns(folder):
    return (
        np.fromfile(folder / "edges" / "src.u32", "<u4").astype(np.int64),
        np.fromfile(folder / "edges" / "dst.u32", "<u4").astype(np.int64),
        np.fromfile(folder / "edges" / "weight.f32", "<f4"),
    )


def test_the_edge_list_is_what_the_generator_makes(finished):
    data, out = finished
    src, dst, weights = columns(out)
    assert data["num_input_edges"] == len(src) == len(dst) == len(weights) == 2 << 9
    source = generate.rmat(9, 2, seed=7, weighted=True)
    chunks = list(source.chunks(lambda amount: None))
    for found, made in ((src, "src"), (dst, "dst")):
        assert (found == np.concatenate([getattr(chunk, made) for chunk in chunks])).all()
    assert (weights == np.concatenate([chunk.columns["weight"] for chunk in chunks])).all()
    assert ((weights >= 0) & (weights < 1)).all()
    assert weights.mean() == pytest.approx(0.5, abs=0.05)


def test_the_graph_has_those_edges(finished):
    data, out = finished
    src, dst, weights = columns(out)
    lightest = {}
    for u, v, w in zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True):
        if u != v:
            key = (min(u, v), max(u, v))
            lightest[key] = min(w, lightest.get(key, 1.0))
    graph = ps.open(out / "graph.penstock")
    assert (graph.directed, graph.num_vertices) == (False, 512)
    u, v, w = _edges(graph)
    assert {(min(a, b), max(a, b)): c for a, b, c in zip(u, v, w, strict=True)} == lightest
    assert data["num_edges"] == len(lightest)


def _edges(graph):
    ids = graph.ids_by_vid()
    parts = list(graph.iter_edges())
    return (
        np.concatenate([ids[src] for src, _, _ in parts]).tolist(),
        np.concatenate([ids[dst] for _, dst, _ in parts]).tolist(),
        np.concatenate([found["weight"] for _, _, found in parts]).tolist(),
    )


def test_roots_have_neighbours_and_differ(finished):
    data, out = finished
    src, dst, _ = columns(out)
    ends = np.unique(np.concatenate([src[src != dst], dst[src != dst]]))
    assert len(set(data["roots"])) == len(data["roots"]) == 64
    assert set(data["roots"]) <= set(ends.tolist())


def test_every_search_is_validated_and_counted(finished):
    data, out = finished
    src, dst, _ = columns(out)
    joined = coo_array((np.ones(len(src)), (src, dst)), shape=(512, 512))
    _, component = connected_components(joined, directed=False)
    edges_of = np.bincount(component[src])
    assert data["validated"]
    for kernel in ("bfs", "sssp"):
        rows = data["searches"][kernel]
        assert [row["root"] for row in rows] == data["roots"]
        assert [row["nedge"] for row in rows] == edges_of[component[data["roots"]]].tolist()
        assert all(row["validated"] and row["failure"] is None for row in rows)
        assert all(row["teps"] == row["nedge"] / row["seconds"] for row in rows)
        assert all(row["validate_seconds"] > 0 for row in rows)
    assert len({row["nedge"] for row in rows}) > 1, "all roots are in one component"
    graph = ps.open(out / "graph.penstock")
    for row in data["searches"]["bfs"]:
        depth = int(ps.bfs(graph, row["root"]).values.max())
        # The last level that is looked for may turn out to be empty.
        assert len(row["directions"]) in (depth, depth + 1)
        assert set(row["directions"]) <= {"top-down", "bottom-up"}


def test_what_is_left_behind(finished):
    data, out = finished
    assert sorted(path.name for path in out.iterdir()) == [
        "edges", "graph.penstock", "results.json",
    ]  # fmt: skip
    assert json.loads((out / "results.json").read_text()) == data
    assert data["results"]["NBFS"] == 64
    build, load = data["build_seconds"], data["load_seconds"]
    assert data["construction_time"] == pytest.approx(build + sum(load.values()))


def test_what_is_there_is_not_overwritten(finished):
    _, out = finished
    before = (out / "results.json").read_bytes()
    with pytest.raises(TargetExistsError, match="edges: already exists"):
        run_benchmark(Settings(4, out=out))
    assert (out / "results.json").read_bytes() == before


def test_the_seed_decides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = Settings(6, roots=3, kernels=("bfs",))
    one, same, other = (
        run_benchmark(replace(settings, seed=seed, threads=threads))
        for seed, threads in ((5, 1), (5, 2), (6, 2))
    )
    assert one["roots"] == same["roots"] != other["roots"]
    assert one["num_edges"] == same["num_edges"] != other["num_edges"]
    assert list(tmp_path.iterdir()) == []


def test_bfs_alone_has_no_weights(tmp_path):
    data = run_benchmark(Settings(6, roots=2, kernels=("bfs",), out=tmp_path))
    assert list(data["searches"]) == ["bfs"]
    assert sorted(p.name for p in (tmp_path / "edges").iterdir()) == ["dst.u32", "src.u32"]
    assert ps.open(tmp_path / "graph.penstock").catalog.weight is None
    assert not any(name.startswith("sssp") for name in data["results"])


def test_fewer_roots_than_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = []

    class Watching(Silent):
        def note(self, text):
            notes.append(text)

    data = run_benchmark(Settings(3, edgefactor=4, roots=64), Watching())
    assert len(data["roots"]) == data["results"]["NBFS"] <= 8
    assert data["roots_asked"] == 64
    assert notes == [
        f"only {len(data['roots'])} vertices have an edge to another one: there are as many roots"
    ]


# No trust


def broken(search, spoil):
    """A search whose answers are spoiled before anybody sees them."""

    def call(graph, root, **how):
        result = search.algorithm(graph, root, **how)
        answer = SimpleNamespace(
            stats=result.stats, iterations=result.iterations,
            parents=result.parents.copy(), values=result.values.copy(),
        )  # fmt: skip
        spoil(answer, root)
        return answer

    return replace(search, algorithm=call)


def test_searches_that_fail_are_named(tmp_path, monkeypatch):
    def spoil(answer, root):
        if root % 2:
            answer.values[root] = 5

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SEARCHES, "bfs", broken(SEARCHES["bfs"], spoil))
    monkeypatch.setattr(graph500, "REHEARSAL_SCALE", 4)
    data = run_benchmark(Settings(7, roots=8, seed=2))
    assert not data["validated"]
    assert "results" not in data
    odd = [row for row in data["searches"]["bfs"] if row["root"] % 2]
    even = [row for row in data["searches"]["bfs"] if not row["root"] % 2]
    assert odd
    assert even
    assert all(row["validated"] for row in [*even, *data["searches"]["sssp"]])
    for row in odd:
        assert (row["validated"], row["nedge"], row["teps"]) == (False, None, None)
        assert row["failure"].startswith(f"rule 2: vertex {row['root']} has level 5, but")


# Power


def test_power_is_the_energy_over_the_time_of_the_searches(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    class Known(Meter):
        def measuring(self):
            return nullcontext(Energy(2.0))

    data = run_benchmark(Settings(6, roots=4, kernels=("bfs",)), meter=Known([]))
    rows, power = data["searches"]["bfs"], data["power"]["bfs"]
    assert power["watts"] == pytest.approx(8.0 / sum(row["seconds"] for row in rows))
    teps = data["results"]["bfs  harmonic_mean_TEPS"]
    assert power["mteps_per_watt"] == pytest.approx(teps / 1e6 / power["watts"])


def test_power_that_cannot_be_read_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = run_benchmark(Settings(4, roots=1), meter=Meter.open(tmp_path / "none"))
    for power in data["power"].values():
        assert (power["watts"], power["mteps_per_watt"], power["counters"]) == (None, None, [])
        assert "none" in power["trouble"]


# Parts


def test_kernels_are_named():
    assert chosen_kernels("sssp, bfs") == ("bfs", "sssp")
    with pytest.raises(OptionError, match="there is no 'pagerank'; there are bfs, sssp"):
        chosen_kernels("pagerank")


def test_roots_are_drawn_evenly_from_those_with_edges():
    marks = np.zeros(1000, np.uint8)
    marks[::7] = 1
    drawn = np.concatenate([choose_roots(marks, 5, seed, part=64) for seed in range(400)])
    assert set(drawn.tolist()) == set(range(0, 1000, 7))
    assert np.bincount(drawn // 500).tolist() == pytest.approx([1000, 1000], rel=0.1)
    assert sorted(choose_roots(marks, 1000, 1, part=64)) == list(range(0, 1000, 7))
    assert len(choose_roots(np.zeros(10, np.uint8), 5, 1)) == 0
    assert len(choose_roots(marks, 5, -1)) == 5


def test_loops_do_not_make_a_root(tmp_path):
    np.array([0, 1, 3], "<u4").tofile(tmp_path / "src.u32")
    np.array([0, 2, 3], "<u4").tofile(tmp_path / "dst.u32")
    edges = EdgeList(tmp_path, 2, 3, weighted=False)
    for rows in (1, 2, 10):
        assert vertices_with_edges(edges, 2, rows).tolist() == [0, 1, 1, 0]


def test_an_edge_list_that_is_too_short(tmp_path):
    source = generate.rmat(5, 4)
    edges = write_edges(source, 5, tmp_path, Silent())
    with (tmp_path / "dst.u32").open("r+b") as file:
        file.truncate(4 * 100)
    with pytest.raises(CorruptionError, match=r"dst\.u32: ends 28 edges too early"):
        list(edges.parts(50))


def test_nothing_is_left_of_an_edge_list_that_was_not_finished(tmp_path):
    source = generate.rmat(8, 4, chunk_rows=16)

    def interrupted(advance):
        for k, chunk in enumerate(source.chunks(advance)):
            if k == 3:
                raise KeyboardInterrupt
            yield chunk

    with pytest.raises(KeyboardInterrupt):
        write_edges(replace(source, chunks=interrupted), 8, tmp_path, Silent())
    assert list(tmp_path.iterdir()) == []
