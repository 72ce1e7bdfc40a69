"""Every program of the package on simulated GPUs, through the engine, against the reference device.

What the simulator shows is that the kernels and all that is around them are right, not how fast
they are. Warp shuffles it cannot run; see :mod:`penstock.device.cuda.kernels`.
"""

from __future__ import annotations

import gc
from dataclasses import replace

import built_in
import numpy as np
import pytest

import penstock as ps
from penstock.device.spec import Device
from penstock.engine import device_group, planning
from penstock.engine import sweeps as sweeps_module
from penstock.errors import BudgetError, OptionError
from penstock.ingest import options as build_options

pytestmark = pytest.mark.usefixtures("simulator")

GPU = Device("cuda", block=32, streams=1)
TWO_STREAMS = Device("cuda", block=32, streams=2)
#: Ways to run: devices and options.
WAYS = {
    "one": {"devices": [GPU]},
    "streamed": {"devices": [TWO_STREAMS], "load": False},
    "P": {"devices": [GPU, GPU]},
    "S": {"devices": [GPU, GPU], "division": "S", "load": False},
    "with the CPU": {"devices": ["cpu:1", GPU]},
}
SHAPES = ("directed", "undirected", "weighted")


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch):
    """Whatever a test does, no device holds memory afterwards."""
    made = []
    make = device_group._make_device

    def noting(*args, **kwargs):
        made.append(make(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(device_group, "_make_device", noting)
    yield
    gc.collect()  # an error that was caught leads to what its kernels had
    for device in made:
        assert device.spec.kind != "cuda" or device.held_names == []


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Few vertices, because each is a thread; lists that are longer than a page, by edges that are
    there many times; loops; vertices without edges.
    """
    rng = np.random.default_rng(3)
    n = 26
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_options, "MIN_PAGE_BYTES", 4096)
        for name in SHAPES:
            long = 330 if name == "weighted" else 690
            hub = rng.integers(0, n, long)
            src = [rng.integers(0, n, 40), [5, 5], hub]
            dst = [rng.integers(0, n, 40), [5, 5], np.full(long, 8)]
            if name == "directed":
                src, dst = [*src, dst[2]], [*dst, hub]
            src, dst = np.concatenate(src), np.concatenate(dst)
            weights = rng.integers(1, 9, len(src)).astype(np.float32)
            given = (src, dst, weights) if name == "weighted" else (src, dst)
            found[name] = ps.build(
                given, tmp_path_factory.mktemp("g") / name, weights=name == "weighted",
                directed=name == "directed", page_size=4096, layout="slotted",
                physical_ids=(2, 4), num_vertices=n + 4, duplicates="keep",
            )  # fmt: skip
    return found


@pytest.fixture(scope="module")
def references():
    """What the reference device gives, once."""
    found = {}

    def once(name, shape, graph):
        if (name, shape) not in found:
            found[name, shape] = built_in.ALL[name](graph, devices="reference")
        return found[name, shape]

    return once


def cases():
    """Every program on a graph with weights, and on one without: directed or not, in turn."""
    for k, name in enumerate(built_in.ALL):
        if name not in built_in.WEIGHTED:
            directed = k % 2 == 0 and name not in built_in.UNDIRECTED
            yield name, "directed" if directed else "undirected"
        yield name, "weighted"


def assert_same(ours, theirs):
    assert ours.values.dtype == theirs.values.dtype
    if ours.values.dtype.kind == "f":
        # The simulator sums float32 as NumPy does, one step narrower than compiled kernels.
        np.testing.assert_allclose(ours.values, theirs.values, rtol=2e-5, atol=1e-7)
    else:
        np.testing.assert_array_equal(ours.values, theirs.values)
    if "parents" in dir(theirs) and hasattr(theirs, "parents"):
        np.testing.assert_array_equal(ours.parents, theirs.parents)


def test_the_graphs_are_what_they_should_be(graphs):
    for graph in graphs.values():
        table = graph.page_table(graph.stored("in"))
        assert set(table["kind"].tolist()) == {1, 2}
        assert (np.asarray(graph.degrees("in")) == 0).any()


@pytest.mark.parametrize(("name", "shape"), list(cases()))
def test_every_program(graphs, references, name, shape):
    """One after another in the ways there are, so that each way meets several programs."""
    way = list(WAYS.values())[(list(built_in.ALL).index(name) + SHAPES.index(shape)) % len(WAYS)]
    graph = graphs[shape]
    assert_same(built_in.ALL[name](graph, **way), references(name, shape, graph))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["pagerank", "sssp"])
def test_every_way(graphs, references, name, way):
    graph = graphs["weighted"]
    ours = built_in.ALL[name](graph, **WAYS[way])
    assert_same(ours, references(name, "weighted", graph))
    assert ours.stats["division"] == ("S" if way == "S" else "P")


@pytest.mark.parametrize("gather", ["shards", "threads", "warps", "blocks", "buckets", "messages"])
def test_every_way_to_gather(graphs, references, gather):
    graph = graphs["directed"]
    device = Device("cuda", block=32, streams=1, gather=gather)
    ours = built_in.ALL["pagerank"](graph, devices=[device])
    assert_same(ours, references("pagerank", "directed", graph))


def test_pages_that_are_there_are_not_read_again(graphs):
    graph = graphs["directed"]
    ranks = ps.pagerank(graph, max_iter=3, tol=0, devices=[GPU], load=False, cache_pages=0)
    pages = int(np.count_nonzero(graph.page_table("in")["num_edges"]))
    assert [row["pages_read"] for row in ranks.iterations] == [pages, 0, 0]
    edges = int(graph.page_table("in")["num_edges"].sum())
    assert [row["edges"] for row in ranks.iterations] == [edges] * 3


def test_a_device_with_little_memory_takes_smaller_chunks(graphs, references):
    """Less than the lists take: they cannot be there as a whole, and the longest not at once."""
    graph = graphs["directed"]
    memory = 4200
    assert memory < 4 * int(graph.page_table("in")["num_edges"].sum())
    device = Device("cuda", block=32, streams=1, memory=memory)
    ours = built_in.ALL["pagerank"](graph, devices=[device], load=False)
    assert_same(ours, references("pagerank", "directed", graph))
    with pytest.raises(BudgetError, match="requires at least"):
        built_in.ALL["pagerank"](graph, devices=[Device("cuda", block=32, memory=100)])


@pytest.mark.parametrize("state", ["streamed", "ranges"])
def test_values_that_are_in_files(graphs, references, state, monkeypatch, tmp_path):
    """Those that are gathered come one range after another, in every iteration anew."""
    make = planning.make_plan

    def with_files(*args, **kwargs):
        plan = make(*args, **kwargs)
        return replace(plan, state=state, ranges=3 if state == "ranges" else 1)

    monkeypatch.setattr(planning, "make_plan", with_files)
    graph = graphs["directed"]
    for devices in ([GPU], [GPU, GPU]):
        ours = built_in.ALL["pagerank"](graph, devices=devices, load=False, tmpdir=tmp_path)
        assert_same(ours, references("pagerank", "directed", graph))
        assert ours.stats["ranges"] == (3 if state == "ranges" else 1)


def test_async_settles_where_sync_does(graphs):
    graph = graphs["undirected"]
    labels = ps.edge_vertex(
        graph, lambda value, weight: value, "min", lambda value, message: min(value, message),
        initial=lambda vertex: vertex.index, max_iter=30,
    )  # fmt: skip
    from penstock.algorithms._vertex_programs import LABELS

    for devices in ([GPU], [GPU, GPU], ["cpu:1", GPU]):
        ours = ps.run(graph, LABELS, mode="async", max_iter=30, devices=devices)
        groups = {}
        for one, two in zip(ours.values.tolist(), labels.values.tolist(), strict=True):
            assert groups.setdefault(one, two) == two


def test_sums_that_no_atomic_operation_knows_are_pulled():
    """On a path fewer vertices are active from step to step: a CPU pushes in the end."""
    program = ps.Program(
        state={"x": np.int16},
        init=lambda vertex: vertex.vid,
        gather=lambda src, edge, dst: src.x,
        sum="min",
        identity=32767,
        apply=lambda old, a: min(old.x, a),
        activate=lambda new, old: new.x < old.x,
        accumulator=np.int16,
        incremental=True,
    )
    graph = ps.from_edges(np.arange(11), np.arange(1, 12), directed=False)
    theirs = ps.run(graph, program, max_iter=20)
    ours = ps.run(graph, program, max_iter=20, devices=[GPU])
    np.testing.assert_array_equal(ours.values, theirs.values)
    assert "push" in {row["strategy"] for row in theirs.iterations}
    assert {row["strategy"] for row in ours.iterations} == {"pull"}


def test_without_in_lists_a_gpu_pushes_sums_of_floats_itself(tmp_path, monkeypatch):
    src, dst = np.random.default_rng(4).integers(0, 20, (2, 60))
    graph = ps.build((src, dst), tmp_path / "g", directions="out")
    theirs = ps.pagerank(graph, tol=0, max_iter=2)
    monkeypatch.delattr(sweeps_module.Sweeps, "_push_in_order")  # the host's way
    ours = ps.pagerank(graph, tol=0, max_iter=2, devices=[GPU])
    assert_same(ours, theirs)


def test_gpus_alone_do_not_notify(graphs):
    from penstock.algorithms._vertex_programs import LABELS

    graph = graphs["undirected"]
    with pytest.raises(OptionError, match="which a GPU does not"):
        ps.run(graph, LABELS, max_iter=3, strategy="notify-pull", devices=[GPU])
    ours = ps.run(graph, LABELS, max_iter=3, strategy="notify-pull", devices=["cpu:1", GPU])
    assert_same(ours, ps.run(graph, LABELS, max_iter=3))


def test_an_error_in_a_kernel_leaves_nothing_behind(graphs):
    program = ps.Program(
        state={"x": np.float64},
        init=lambda vertex: 1.0,
        gather=lambda src, edge, dst: src.x.nothing,
        sum="add",
        identity=0.0,
        apply=lambda old, a: a,
    )
    with pytest.raises(Exception, match="nothing"):
        ps.run(graphs["directed"], program, devices=[GPU], max_iter=1)
