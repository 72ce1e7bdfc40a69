"""Commands on the directory of a graph that changes."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps


@pytest.fixture
def live(tmp_path):
    path = tmp_path / "live.penstock"
    with ps.DynamicGraph(path, edge_properties={"weight": "float32"}) as graph:
        graph.add_edges(np.arange(10), np.arange(1, 11), {"weight": np.ones(10)})
        graph.compact()
        graph.add_edges([3], [20], {"weight": [2.5]})
    return path


def test_info(live, cli):
    said = cli("info", live)
    assert said.code == 0
    assert "live graph" in said.out
    assert "11 vertices, 10 edges" in said.out
    assert "1 batches" in said.out
    data = cli("info", live, "--json").data
    assert (data["base"]["num_edges"], data["log"]["batches"], data["generation"]) == (10, 1, 1)


def test_verify_reads_base_and_log(live, cli):
    said = cli("verify", live)
    assert said.code == 0
    assert "no problems" in said.out
    log = next(live.glob("log.*"))
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    said = cli("verify", live)
    assert said.code == 1
    assert str(live) in said.out


def test_verify_tells_of_bytes_after_the_last_record(live, cli):
    """Here the mark of a log that was closed is damaged; no batch is."""
    log = next(live.glob("log.*"))
    data = bytearray(log.read_bytes())
    data[-3] ^= 4
    log.write_bytes(data)
    said = cli("verify", live)
    assert said.code == 0
    assert "64 bytes after it" in said.out
    assert "no problems" in said.out
    assert len(cli("verify", live, "--json").data["notes"]) == 1
    assert cli("run", "bfs", live, "--source", 0, "--json").data["stats"]["edges_traversed"] == 11


def test_run_plan_and_export(live, tmp_path, cli):
    said = cli("run", "bfs", live, "--source", 0, "--json")
    assert said.code == 0
    assert said.data["stats"]["edges_traversed"] == 11
    assert cli("plan", "pagerank", live).code == 0
    said = cli("export", live, tmp_path / "edges.csv")
    assert said.code == 0
    assert "11 edges" in said.out


def test_open_gives_the_graph_for_reading(live):
    with ps.open(live) as graph:
        assert graph.num_edges == 11
        with pytest.raises(ps.PenstockError, match="reading only"):
            graph.add_edges([1], [5])


def test_a_graph_with_several_logs(live, tmp_path, cli):
    """A compaction began, and its process died."""
    with ps.DynamicGraph(live) as graph:
        graph._storage.freeze()
        graph.add_edges([4], [21], {"weight": [1.5]})
    said = cli("info", live)
    assert said.code == 0
    assert "2 batches" in said.out
    assert "2 logs: a compaction is under way or was interrupted" in said.out
    data = cli("info", live, "--json").data
    sizes = [(live / name).stat().st_size for name in ("log.1", "log.2")]
    assert (data["log"]["name"], data["log"]["earlier"]) == ("log.2", ["log.1"])
    assert (data["log"]["batches"], data["log"]["bytes"]) == (2, sum(sizes))
    assert cli("verify", live).code == 0
    assert cli("run", "bfs", live, "--source", 0, "--json").data["stats"]["edges_traversed"] == 12
    first = live / "log.1"
    first.write_bytes(first.read_bytes()[:-8])
    said = cli("verify", live)
    assert said.code == 1
    assert "log.2, which follows it" in said.out


# A graph that was never compacted has a log and no store.


@pytest.fixture(params=["empty", "int", "string"])
def uncompacted(request, tmp_path):
    path = tmp_path / f"{request.param}.penstock"
    ids = {"empty": [], "int": [7, 8, 9], "string": ["a", "b", "c"]}[request.param]
    with ps.DynamicGraph(path, reverse=True, edge_properties={"weight": "float32"}) as graph:
        graph.add_edges(ids, ids[1:] + ids[:1], {"weight": np.arange(len(ids))})
    return path


@pytest.mark.parametrize("options", [(), ("--no-load",), ("--memory", "100MB")])
def test_run_on_a_graph_that_was_never_compacted(uncompacted, tmp_path, cli, options):
    out = tmp_path / "ranks.csv"
    said = cli("run", "pagerank", uncompacted, "--out", out, *options)
    assert said.code == 0, said.err
    ranks = [line.split(",")[1] for line in out.read_text().splitlines()[1:]]
    assert np.allclose(np.array(ranks, float), 1 / 3)
    assert len(ranks) == (0 if uncompacted.name == "empty.penstock" else 3)


def test_plan_for_a_graph_that_was_never_compacted(uncompacted, cli):
    said = cli("plan", "pagerank", uncompacted, "--json")
    assert said.code == 0, said.err
    assert said.data["bytes_read"] == 0


def test_info_verify_and_export_of_a_graph_that_was_never_compacted(uncompacted, tmp_path, cli):
    edges = 0 if uncompacted.name == "empty.penstock" else 3
    data = cli("info", uncompacted, "--json").data
    assert (data["base"], data["generation"], data["log"]["batches"]) == (None, 0, min(edges, 1))
    said = cli("verify", uncompacted)
    assert (said.code, f"and {edges} edges" in said.out) == (0, True)
    said = cli("export", uncompacted, tmp_path / "edges.csv", "--json")
    assert (said.code, said.data["num_edges"]) == (0, edges)
    assert len((tmp_path / "edges.csv").read_text().splitlines()) == edges + 1


def test_plot_of_a_graph_that_was_never_compacted(uncompacted, tmp_path, cli):
    picture = tmp_path / "degrees.png"
    said = cli("plot", uncompacted, "--out", picture)
    assert said.code == 0, said.err
    assert picture.stat().st_size > 0
