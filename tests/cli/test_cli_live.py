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
