"""The suite ``garaph``: what each experiment must find, whatever the machine's speed."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from xml.etree import ElementTree

import numpy as np
import pytest
from bench_rows import of

import penstock as ps
from penstock.device.cuda.kernels import CudaKernels
from penstock.device.signature import signature_of
from penstock.device.spec import Device
from penstock.errors import BudgetError
from penstock.interfaces.bench import garaph_devices as d
from penstock.interfaces.bench import garaph_experiments as e
from penstock.interfaces.bench.garaph import SUITE
from penstock.interfaces.bench.garaph_conflicts import WARP, count_rounds
from penstock.interfaces.bench.garaph_workloads import Garaph, page_bounds
from penstock.interfaces.bench.workloads import source_of
from penstock.interfaces.cli.main import run
from penstock.program import Program

BLOCK = 64


def offsets_of(degrees):
    return np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)


def shards_of(degrees, begins, replicas):
    return offsets_of(degrees), np.array(begins, np.int64), np.array(replicas, np.int64)


def rounds_by_hand(degrees, begins, replicas):
    """Each thread's address, one warp after another."""
    found = []
    for first, end, copies in zip(begins, begins[1:], replicas, strict=False):
        targets = np.repeat(np.arange(first, end), degrees[first:end])
        rounds = 0
        for warp in range(0, len(targets), WARP):
            addresses = [
                (target - first) * copies + tid % copies
                for tid, target in enumerate(targets[warp : warp + WARP].tolist(), warp)
            ]
            rounds += max(Counter(addresses).values())
        found.append(rounds)
    return found


# Counting


@pytest.mark.parametrize(
    ("degrees", "copies", "rounds"),
    [
        ([32], 1, 32),
        ([32], 32, 1),
        ([33], 1, 33),
        ([1] * 32, 1, 1),
        ([0, 0], 4, 0),
        ([3, 29], 4, 8),
        ([31, 1, 0, 2], 1, 31 + 2),
        # A list that goes over the end of a warp.
        ([20, 24], 8, 3 + 2),
    ],
)
def test_rounds_of_one_shard(degrees, copies, rounds):
    found = count_rounds(*shards_of(degrees, [0, len(degrees)], [copies]))
    assert found.rounds.tolist() == [rounds]
    assert found.warps.tolist() == [-(-sum(degrees) // WARP)]


@pytest.mark.parametrize("copies", [1, 2, 4, 8, 16, 32])
def test_rounds_are_those_of_each_thread(copies):
    generator = np.random.default_rng(copies)
    degrees = np.minimum(generator.zipf(1.4, 500), 3000)
    degrees[generator.random(500) < 0.2] = 0
    begins = [0, 1, 7, 7, 60, 333, 500]
    replicas = [copies, 1, 4, copies, copies, 32]
    found = count_rounds(*shards_of(degrees, begins, replicas))
    assert found.rounds.tolist() == rounds_by_hand(degrees, begins, replicas)


def _zero(vertex):
    return 0


def _one(src, edge, dst):
    return 1


def _sum(old, a):
    return a


COUNTING = Program(
    state={"number": np.int32}, init=_zero, gather=_one, sum="add", identity=0, apply=_sum,
    accumulator=np.int32, name="count in-edges",
)  # fmt: skip


class Recorder:
    """The atomic additions of each thread, in its own order."""

    def __init__(self, monkeypatch):
        from numba.cuda.simulator.kernelapi import FakeCUDAAtomic

        self.addresses = defaultdict(list)
        add = FakeCUDAAtomic.add

        def recorded(atomic, array, index, value):
            thread = threading.current_thread()
            self.addresses[thread.blockIdx.x, thread.threadIdx.x].append(int(index))
            return add(atomic, array, index, value)

        monkeypatch.setattr(FakeCUDAAtomic, "add", recorded)

    def rounds(self, block):
        """Threads of a warp are in step: their additions with the same number happen at once."""
        total = 0
        for warp in range(0, BLOCK, WARP):
            lanes = [self.addresses[block, thread] for thread in range(warp, warp + WARP)]
            for step in range(max(map(len, lanes))):
                at_once = [lane[step] for lane in lanes if len(lane) > step]
                total += max(Counter(at_once).values())
        return total


def test_rounds_are_those_of_the_kernel(monkeypatch):
    """The kernel that GPUs run, in the simulator: what its threads add to at the same time."""
    degrees = np.array([100, 3, 0, 1, 40, 7, 7, 7, 0, 65, 2, 1, 1, 1, 90, 0, 5])
    begins, replicas = [0, 1, 4, 9, 14, 17], [8, 2, 4, 1, 32]
    offsets = offsets_of(degrees)
    owners = np.repeat(np.arange(len(degrees)), degrees)
    firsts = np.repeat(begins[:-1], np.diff(offsets[begins]))
    sums = np.zeros(len(degrees), np.int32)
    recorder = Recorder(monkeypatch)
    CudaKernels(signature_of(COUNTING, {}, {}), BLOCK).launch(
        "gather_shards", len(replicas), BLOCK, 0, 32 * 4 * 4,
        {
            "first": 0, "low": 0, "count": len(degrees),
            "offsets": offsets.astype(np.uint32), "neighbours": np.zeros(len(owners), np.uint32),
            "shards": np.array(begins, np.uint32), "replicas": np.array(replicas, np.int32),
            "targets": (owners - firsts).astype(np.uint16), "s0": sums,
        },
    )  # fmt: skip
    assert (sums == degrees).all()
    found = count_rounds(offsets, np.array(begins), np.array(replicas))
    assert found.rounds.tolist() == [recorder.rounds(k) for k in range(len(replicas))]


# The workbench


def test_pages_have_about_as_many_edges():
    degrees = np.random.default_rng(5).integers(0, 40, 5000)
    offsets = offsets_of(degrees)
    bounds = page_bounds(offsets)
    assert (len(bounds), bounds[0], bounds[-1]) == (34, 0, 5000)
    edges = np.diff(offsets[bounds])
    assert abs(edges - offsets[-1] / 33).max() <= 40
    # A vertex that has the edges of several pages.
    assert page_bounds(offsets_of([1, 97, 1, 1]), 4).tolist() == [0, 2, 4]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Garaph(12, tmp_path_factory.mktemp("bench"), shared_bytes=4 << 10, repeat=1)


def test_orders_are_those_of_the_graph(bench, tmp_path):
    graph = bench.graph
    _, targets = graph.to_edges()
    in_degrees = np.bincount(targets, minlength=graph.num_vertices)
    assert (np.diff(bench.offsets["id"]) == in_degrees).all()
    assert (np.sort(np.diff(bench.offsets["degree"])) == np.sort(in_degrees)).all()
    assert (np.diff(bench.offsets["degree"]) == graph.degrees("in")).all()
    plain = ps.build(
        (np.array([0, 1, 2]), np.array([1, 1, 0])), tmp_path / "g", vertex_order="none"
    )
    given = Garaph(0, tmp_path, plain.path)
    assert {name: found.tolist() for name, found in given.offsets.items()} == {"id": [0, 1, 3, 3]}


# The experiments


def test_pages(rows, bench):
    found = rows("pages")
    assert len(found) == 2 * len(e.REPLICAS) * 33
    for order in ("degree", "id"):
        degrees = np.diff(bench.offsets[order])
        bounds = page_bounds(bench.offsets[order])
        for replicas in e.REPLICAS:
            mine = of(found, order=order, replicas=replicas)
            assert [row["page"] for row in mine] == list(range(33))
            assert sum(row["edges"] for row in mine) == bench.graph.num_edges
            assert [row["vertices"] for row in mine] == np.diff(bounds).tolist()
            assert [row["largest_degree"] for row in mine] == np.maximum.reduceat(
                degrees, bounds[:-1]
            ).tolist()
            for row in mine:
                assert row["warps"] <= row["rounds"] <= row["edges"]
                assert row["rounds"] / row["shards"] <= row["slowest_rounds"] <= row["rounds"]
                assert 1 <= row["mean_replicas"] <= 32


def test_pages_are_counted_as_by_hand(rows, bench):
    offsets = bench.offsets["id"]
    bounds = page_bounds(offsets)
    degrees = np.diff(offsets)[: bounds[1]]
    for copies in (1, 8, 32):
        # 4 KiB hold 1024 accumulators of 4 bytes.
        begins = [*range(0, len(degrees), 1024 // copies), len(degrees)]
        replicas = [copies] * (len(begins) - 1)
        row = of(rows("pages"), order="id", replicas=copies, page=0)[0]
        assert row["shards"] == len(replicas)
        assert row["rounds"] == sum(rounds_by_hand(degrees, begins, replicas))


def test_replication(rows):
    found, pages = rows("replication"), rows("pages")
    assert [row["replicas"] for row in found] == [*e.REPLICAS] * 2
    for row in found:
        mine = of(pages, order=row["order"], replicas=row["replicas"])
        for name in ("edges", "shards", "rounds", "modelled", "modelled_by_rounds"):
            assert row[name] == pytest.approx(sum(page[name] for page in mine))
        assert row["mean_replicas"] == (row["replicas"] or row["mean_replicas"])
    for order in ("degree", "id"):
        fixed = [row for row in of(found, order=order) if row["replicas"]]
        rounds = [row["rounds"] for row in fixed]
        assert rounds == sorted(rounds, reverse=True)
        assert rounds[-1] == fixed[-1]["warps"]
        assert [row["shards"] for row in fixed] == sorted(row["shards"] for row in fixed)
    # Where neighbours have like degrees, no one number of copies is as good as the right ones.
    best = min(row["modelled_by_rounds"] for row in of(found, order="degree") if row["replicas"])
    assert of(found, order="degree", replicas=None)[0]["modelled_by_rounds"] < best


def test_modelled_time_of_one_shard():
    """V = 4, E = 64, R = 8: 4 * 8 + 64 loads, 64 * 64 / 32 additions, 4 * 3 merges; two warps of
    two lists of 16, so two rounds each, for 32 threads.
    """
    row = e._count(offsets_of([16] * 4), 8, 48 << 10)
    assert row["modelled"] == 32 + 64 + 128 + 12
    assert row["rounds"] == 4
    assert row["modelled_by_rounds"] == 32 + 64 + 4 * 32 + 12


def test_correlation():
    made = [{"rounds": x, "largest_degree": y} for x, y in ((1, 2), (2, 4), (3, 6))]
    assert e.correlation(made, "rounds") == pytest.approx(1)
    assert e.correlation(made[:1], "rounds") is None


def test_hybrid(rows, bench):
    found = rows("hybrid")
    assert {(row["slower"], row["program"]) for row in found} == {
        (slower, program) for slower in ("host", "other") for program in ("SSSP", "CC")
    }
    for slower in ("host", "other"):
        for program in ("SSSP", "CC"):
            ways = [of(found, slower=slower, program=program, way=way) for way in d.WAYS]
            host, other, both, dispatched = ways
            for column in ("step", "active_share"):
                assert len({tuple(row[column] for row in way) for way in ways}) == 1
            assert {row["worked"] for row in host} == {"host"}
            assert {(row["strategy"], row["worked"]) for row in other} == {("pull", "other")}
            assert {(row["strategy"], row["worked"]) for row in both} == {("pull", "both")}
            # The host goes its own way if it is alone, else all pull.
            for row in dispatched:
                assert row["strategy"] == "pull" or row["worked"] == "host"


@pytest.mark.parametrize("program", ["SSSP", "CC"])
def test_devices_find_the_same(bench, program):
    call = d.device_programs(bench.undirected)[program]
    host, other = Device(threads=1), Device(threads=1, only_pulls=True, slowdown=2.0)
    alone = call(devices=[host]).values
    assert len(np.unique(alone)) > 1
    for devices in ([other], [host, other]):
        assert (call(devices=devices).values == alone).all()


def test_programs_of_other_graphs(tmp_path):
    graph = ps.generate("rmat", tmp_path / "g", scale=6)
    programs = d.device_programs(graph)
    assert list(programs) == ["SSSP"]
    levels = ps.bfs(graph, source_of(graph)).values
    assert (programs["SSSP"]().values == levels).all()


def test_hybrid_means_in_memory(bench):
    call = d.device_programs(bench.undirected)["CC"]
    with pytest.raises(BudgetError, match="does not fit in memory as a whole"):
        d.each_iteration(
            lambda **options: call(load=False, **options), Device(), Device(only_pulls=True), 1
        )


def test_dispatcher_against_the_best():
    seconds = {
        "host": (3.0, 1.0),
        "other": (2.0, 9.0),
        "both": (1.0, 2.0),
        "dispatched": (1.5, 1.0),
    }
    made = [
        {"way": way, "step": step, "seconds": each[step]}
        for way, each in seconds.items()
        for step in (0, 1)
    ]
    assert [(row["seconds"], best) for row, best in d.against_best(made)] == [(1.5, 1), (1, 1)]


@pytest.mark.parametrize("name", list(SUITE.experiments))
def test_tables(name, rows):
    table = SUITE.experiments[name].table(json.loads(json.dumps(rows(name))))
    assert len(table) > 1
    assert len({len(line) for line in table}) == 1


# The command


def test_command(tmp_path, capsys):
    out = tmp_path / "out"
    line = ["bench", "garaph", "--scale", "9", "--repeat", "1", "--threads", "1"]
    assert run([*line, "--pictures", "svg", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "RMAT scale 9: 512 vertices" in shown
    data = json.loads((out / "results.json").read_text())
    assert (data["suite"], data["shared_bytes"], data["graph"]) == ("garaph", 48 << 10, None)
    assert list(data["experiments"]) == list(SUITE.experiments)
    pictures = [name for each in SUITE.experiments.values() for name in each.pictures]
    assert sorted(path.name for path in out.iterdir()) == sorted(
        ["results.json", *(f"{name}.svg" for name in pictures)]
    )
    for name in pictures:
        text = (out / f"{name}.svg").read_text()
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert ("ounted" in text) == (name != "hybrid")
        assert "nothing was measured on a GPU" in text


def test_command_with_a_graph(tmp_path, capsys):
    made = ps.generate("rmat", tmp_path / "g.penstock", scale=8)
    options = ["--graph", str(made.path), "--shared-memory", "1KiB", "--pictures", "none"]
    options += ["--experiments", "replication", "--json", "--out", str(tmp_path / "out")]
    assert run(["bench", "garaph", *options]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["graph"], data["scale"]) == (str(made.path), None)
    assert data["num_edges"] == made.num_edges
    assert list(data["experiments"]) == ["replication"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--experiments", "pages,speed"), 2, "there is no 'speed'; there are pages, replication"),
        (("--shared-memory", "100"), 2, "at least 128 bytes, room for a vertex; got 100"),
        (("--graph", "nowhere.penstock"), 1, "nowhere.penstock: no such graph"),
    ],
)
def test_command_with_wrong_options(tmp_path, capsys, options, code, message):
    out = tmp_path / "out"
    assert run(["bench", "garaph", *options, "--pictures", "none", "--out", str(out)]) == code
    assert message in capsys.readouterr().err
    assert not list(out.glob("**/*"))
