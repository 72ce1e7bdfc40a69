"""The suite ``dynamic``: what each experiment must find, whatever the machine's speed."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from bench_rows import of

import penstock as ps
from penstock.errors import OptionError, VerificationError
from penstock.interfaces.bench import dynamic_experiments as e
from penstock.interfaces.bench import dynamic_live as live
from penstock.interfaces.bench.dynamic import SUITE
from penstock.interfaces.bench.dynamic_delay import rounds_of
from penstock.interfaces.bench.dynamic_replay import STREAMS, check_end
from penstock.interfaces.bench.dynamic_runs import NAMES, OURS, RIVALS, chosen_stores
from penstock.interfaces.bench.dynamic_workbench import Dynamic
from penstock.interfaces.bench.dynamic_workloads import rmat_requests
from penstock.interfaces.cli.main import run

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    found = Dynamic(8, folder, batch=1500, data=tiny_data(folder), threads=2, repeat=1)
    found.warm()
    return found


def tiny_data(folder):
    """A stream of each kind, in files of the names that the suite knows."""
    data = folder / "data"
    files = {
        "messages": "1 2 100\n2 3 101\n1 2 105\n",
        "ratings": "6,2,4,1289241912.5\n6,5,-10,1289241941\n",
        "changes": "1 2 30\n3 4 60\n5 6 70\n",
    }
    for stream in STREAMS:
        path = data / stream.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[stream.name])
    base = data / "p2p-31" / "p2p-31.e.mutable_base"
    base.with_name("p2p-31.e.mutable_delta").write_text("d 3 4\nu 1 2 85\na 7 8 9\n")
    base.with_name("p2p-31.e").write_text("1 2 85\n5 6 70\n7 8 9\n")
    return data


def by_hand(requests, unique=True):
    edges = {}
    adds = requests.adds if len(requests.adds) else np.ones(len(requests), np.uint8)
    for pair, add in zip(
        zip(requests.src.tolist(), requests.dst.tolist(), strict=True), adds.tolist(), strict=True
    ):
        if add:
            edges[pair] = 1 if unique else edges.get(pair, 0) + 1
        else:
            edges.pop(pair, None)
    return sum(edges.values())


# Requests


def test_both_directions_at_random():
    requests = rmat_requests(8)
    assert len(requests) == 32 << 8
    pairs = set(zip(requests.src.tolist(), requests.dst.tolist(), strict=True))
    assert pairs == {(dst, src) for src, dst in pairs}
    assert (np.diff(requests.src.astype(np.int64)) < 0).mean() > 0.3
    assert (rmat_requests(8).src == requests.src).all()


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_deletions_come_after_their_insertion(share):
    requests = rmat_requests(8, share)
    inserted = 32 << 8
    assert len(requests) == inserted + round(share * inserted)
    assert int(requests.adds.sum()) == inserted
    seen = set()
    for src, dst, add in zip(requests.src, requests.dst, requests.adds, strict=True):
        if add:
            seen.add((src, dst))
        else:
            assert (src, dst) in seen
    places = np.flatnonzero(requests.adds == 0) / len(requests)
    assert 0.5 < places.mean() < 0.9


def test_sorted_and_dealt_out():
    requests = rmat_requests(6, 0.2)
    ordered = requests.ordered()
    keys = ordered.src.astype(np.int64) * 64 + ordered.dst.astype(np.int64)
    assert (np.diff(keys) >= 0).all()
    assert by_hand(ordered) == by_hand(requests)
    parts = requests.streams(3)
    assert sum(map(len, parts)) == len(requests)
    assert (parts[1].src == requests.src[1::3]).all()
    assert (parts[1].adds == requests.adds[1::3]).all()


def test_one_way():
    requests = rmat_requests(8, 0.2)
    pairs = set(zip(requests.src.tolist(), requests.dst.tolist(), strict=True))
    one = requests.one_way()
    assert set(zip(one.src.tolist(), one.dst.tolist(), strict=True)) == {
        (src, dst) for src, dst in pairs if src <= dst
    }
    assert len(one.adds) == len(one)


def test_batches():
    parts = list(rmat_requests(4).batches(200))
    assert [len(src) for src, _, _ in parts] == [200, 200, 112]


def test_names_of_stores():
    assert chosen_stores(None) == NAMES
    assert chosen_stores("stinger, penstock") == ("penstock", "stinger")
    with pytest.raises(OptionError, match="there is no 'neo'; there are penstock, degaware"):
        chosen_stores("neo")


def test_waiting_is_as_long_as_it_says():
    assert rounds_of(0) == 0
    assert 10 < rounds_of(1000) < 100_000
    assert rounds_of(2000) == pytest.approx(2 * rounds_of(1000), abs=2)


# The experiments


def test_construction(rows, bench):
    requests = bench.requests(0.05)
    found = rows("construction")
    assert {row["store"] for row in found} == {*NAMES, "CSR"}
    for name in (*NAMES, "CSR"):
        mine = of(found, store=name)
        assert sum(row["requests"] for row in mine) == len(requests)
        assert mine[-1]["done"] == len(requests)
        assert {row["num_edges"] for row in mine} == {by_hand(requests)}
        assert all(row["seconds"] > 0 for row in mine)


def test_rates(rows, bench):
    found = rows("rates")
    assert len(found) == 7 * len(NAMES)
    for row in found:
        expected = by_hand(bench.requests(row["deletions"]), row["unique"])
        assert (row["num_edges"], row["threads"]) == (expected, 2)
        assert row["bytes_per_edge"] > 4
        assert row["rate"] == pytest.approx(row["requests"] / row["seconds"])


def test_order(rows, bench):
    found = rows("order")
    assert {(row["store"], row["order"]) for row in found} == {
        (name, order) for name in NAMES for order in ("random", "sorted")
    }
    assert {row["num_edges"] for row in found} == {by_hand(bench.requests())}


def test_probes(rows, bench):
    found = rows("probes")
    for table in ("low-degree", "middle-high-degree"):
        mine = of(found, store="degaware", table=table)
        assert len(mine) >= e.POINTS
        assert mine[-1]["done"] == len(bench.requests(0.05))
        assert all(row["average"] is None or 0 <= row["average"] < 13 for row in mine)
    chunks = of(found, store="degaware", table="chunks")
    assert sum(row["tables"] for row in chunks) > 100
    assert max(row["average"] for row in chunks) < 13
    ours = of(found, store=OURS)
    assert {row["table"] for row in ours} >= {"out-lists"}
    assert all(0 <= row["average"] <= row["worst_average"] < 13 for row in ours)


def test_algorithms(rows, bench):
    found = rows("algorithms")
    assert {row["store"] for row in found} == {*NAMES, "CSR", e.STATIC}
    assert {row["touched"] for row in of(found, algorithm="PageRank")} == {
        by_hand(bench.requests())
    }
    reached = {row["touched"] for row in of(found, algorithm="BFS")}
    assert len(reached) == 1
    assert reached.pop() > 100
    assert {row["threads"] for row in of(found, store=OURS)} == {1, 2}
    assert all(row["seconds"] > 0 for row in found)


def test_latency(rows, bench):
    found = rows("latency")
    assert {row["store"] for row in found} == set(RIVALS)
    assert {row["num_edges"] for row in found} == {by_hand(bench.requests(0.05))}
    for name in RIVALS:
        assert [row["nanoseconds"] for row in of(found, store=name)] == list(e.LATENCIES)


def test_streams(rows, bench):
    found = rows("streams")
    assert [row["streams"] for row in of(found, deletions=0)] == list(live.STREAM_COUNTS)
    assert {row["num_edges"] for row in of(found, deletions=0)} == {by_hand(bench.requests())}
    for row in of(found, deletions=0.05):
        # Requests to one edge may change places: a few edges more or fewer are there.
        assert by_hand(bench.requests(0.05)) <= row["num_edges"] <= by_hand(bench.requests())


def test_durable(rows, bench):
    found = rows("durable")
    assert {row["num_edges"] for row in found} == {by_hand(bench.requests())}
    assert [row["streams"] for row in of(found, batch=1000, sync="batch")] == list(
        live.STREAM_COUNTS
    )
    assert len(of(found, sync="never")) == 1
    assert list(bench.folder.glob("*/live")) == []


def test_replay(rows):
    found = rows("replay")
    edges = {(row["stream"], row["unique"]): row["num_edges"] for row in found}
    assert edges == {
        ("messages", True): 2,
        ("messages", False): 3,
        ("ratings", True): 2,
        ("changes", True): 3,
    }
    assert {row["store"] for row in found} == set(NAMES)


def test_replay_must_end_in_the_given_edges(tmp_path):
    graph = ps.DynamicGraph(edge_properties={"weight": "int32"})
    graph.add_edges([1, 5], [2, 6], {"weight": [8, 9]})
    end = tmp_path / "end"
    end.write_text("5 6 9\n1 2 8\n")
    check_end(graph, end)
    for wrong in ("5 6 9\n1 2 7\n", "5 6 9\n", "5 6 9\n2 1 8\n"):
        end.write_text(wrong)
        with pytest.raises(VerificationError, match="2 edges after its changes"):
            check_end(graph, end)
    graph.close()


@pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/data beside the project")
def test_real_streams(tmp_path):
    bench = Dynamic(4, tmp_path, ("penstock", "degaware"), 20_000, SHARED, repeat=1)
    found = live.replay(bench)
    edges = {(row["stream"], row["unique"]): row["num_edges"] for row in found}
    assert edges == {
        ("messages", True): 20_296,
        ("messages", False): 59_835,
        ("ratings", True): 35_592,
        ("changes", True): 147_892,
    }
    assert len(found) == 2 * len(edges)


def test_maintained(rows):
    found = rows("maintained")
    names = set(live.kept_algorithms(0))
    assert {(row["algorithm"], row["changes"]) for row in found} == {
        (name, kind) for name in names for kind in ("inserts", "deletes")
    }
    for row in found:
        assert 0 < row["follows"] <= row["slowest"]
        assert row["follows"] < row["seconds"]
        assert row["times"] == pytest.approx(row["recomputed"] / row["follows"])


def test_changes_are_undone():
    """What is added is deleted again, and the answer is kept all the while."""
    graph = ps.DynamicGraph(directed=False)
    graph.add_edges([0, 1, 2], [1, 2, 3])
    seen = []
    kept = ({}, lambda given: seen.append(given.num_edges))
    parts = [(np.array([0, 5]), np.array([2, 6])), (np.array([1]), np.array([3]))]
    live.followed(graph, "connected_components", kept, parts, 1)
    assert seen == [6, 3]
    with pytest.raises(OptionError, match="not maintained"):
        graph.maintained["connected_components"]
    graph.close()


@pytest.mark.parametrize("name", list(SUITE.experiments))
def test_tables(name, rows):
    table = SUITE.experiments[name].table(json.loads(json.dumps(rows(name))))
    assert len(table) > 1
    assert len({len(line) for line in table}) == 1


@pytest.mark.parametrize("name", list(SUITE.experiments))
def test_pictures(name, rows, tmp_path):
    for picture, draw in SUITE.experiments[name].pictures.items():
        path = tmp_path / f"{picture}.svg"
        draw(rows(name), path)
        assert ElementTree.fromstring(path.read_text()).tag.endswith("svg")


# The command


def test_command(tmp_path, capsys):
    out = tmp_path / "out"
    line = ["bench", "dynamic", "--scale", "7", "--repeat", "1", "--threads", "1"]
    line += ["--experiments", "construction,order", "--stores", "penstock,degaware"]
    assert run([*line, "--batch", "1000", "--pictures", "svg", "--out", str(out)]) == 0
    assert "RMAT scale 7: 4,096 requests, both directions" in capsys.readouterr().out
    data = json.loads((out / "results.json").read_text())
    assert (data["suite"], data["batch"], data["data"]) == ("dynamic", 1000, None)
    assert data["stores"] == ["penstock", "degaware"]
    assert list(data["experiments"]) == ["construction", "order"]
    assert sorted(path.name for path in out.iterdir()) == [
        "construction.svg", "order.svg", "results.json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--experiments", "speed"), "there is no 'speed'; there are construction, probes"),
        (("--stores", "penstock,neo"), "there is no 'neo'; there are penstock, degaware"),
    ],
)
def test_command_refuses(options, message, tmp_path, capsys):
    assert run(["bench", "dynamic", "--out", str(tmp_path / "out"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
