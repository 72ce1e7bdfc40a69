"""Commands on the directory of a graph that changes."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import penstock as ps
from penstock.dynamic.graph import DynamicGraph


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


def test_info_shows_what_there_is_now(tmp_path, cli):
    """Batches say neither which edges were there before nor which ids are new."""
    path = tmp_path / "g.penstock"

    def check(vertices, edges, ids, **more):
        data = cli("info", path, "--json").data
        assert (data["num_vertices"], data["num_edges"], data["ids"]) == (vertices, edges, ids)
        assert more.items() <= data.items()
        said = cli("info", path)
        assert said.err == ""
        lines = dict(line.strip().split("  ", 1) for line in said.out.splitlines())
        assert lines["vertices"].strip() == str(vertices)
        assert lines["edges"].strip() == str(edges)
        assert lines["ids"].strip() == (ids or "not known yet")
        assert lines["reverse lists"].strip() == "kept"

    with ps.DynamicGraph(path, reverse=True) as graph:
        pass
    check(0, 0, None, reverse=True)
    with ps.DynamicGraph(path) as graph:
        graph.add_edges(["a", "b", "a"], ["b", "c", "b"])
        graph.delete_edges(["b", "x"], ["c", "y"])
    check(3, 1, "string", base=None)
    with ps.DynamicGraph(path) as graph:
        graph.compact()
    check(3, 1, "string", base={"name": "base.1", "num_vertices": 3, "num_edges": 1})
    with ps.DynamicGraph(path) as graph:
        graph.add_edges(["a", "c"], ["b", "d"])
        graph.delete_edges(["a"], ["b"])
        graph.add_vertices(["c", "e", "f"])
    check(6, 1, "string")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "made when first needed, about 0 B in memory"),
        ({"reverse": True}, "kept"),
        ({"reverse": False}, "never kept"),
        ({"directed": False}, "not needed"),
    ],
)
def test_info_says_whether_reverse_lists_are_kept(tmp_path, cli, options, said):
    ps.DynamicGraph(tmp_path / "g", **options).close()
    line = next(x for x in cli("info", tmp_path / "g").out.splitlines() if "reverse lists" in x)
    assert line.split("reverse lists")[1].strip() == said
    assert cli("info", tmp_path / "g", "--json").data["reverse"] is options.get("reverse")


def test_info_opens_no_graph_whose_log_is_empty(live, cli, monkeypatch):
    with ps.DynamicGraph(live) as graph:
        graph.compact()
    monkeypatch.setattr(DynamicGraph, "__init__", lambda *_, **__: pytest.fail("it is opened"))
    data = cli("info", live, "--json").data
    assert (data["num_vertices"], data["num_edges"], data["ids"]) == (12, 11, "int")


@pytest.fixture
def crashed(live, tmp_path):
    """The directory as a crash leaves it: the log ends with a batch."""
    path = tmp_path / "crashed.penstock"
    with ps.DynamicGraph(live) as graph:
        graph.add_edges([3], [21], {"weight": [1]})
        shutil.copytree(live, path)
    return path


COMMANDS = {
    "info": ("info",),
    "verify": ("verify",),
    "run": ("run", "pagerank"),
    "plan": ("plan", "pagerank"),
    "export": ("export",),
    "plot": ("plot",),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("torn", [False, True])
def test_commands_tell_of_a_log_that_was_not_closed(
    crashed, live, tmp_path, cli, command, as_json, torn
):
    if torn:
        with next(crashed.glob("log.*")).open("ab") as log:
            log.write(b"torn" * 25)
    more = {"export": [tmp_path / "edges.csv"], "plot": ["--out", tmp_path / "degrees.png"]}
    options = [*more.get(command, []), *["--json"] * as_json]
    said = cli(*COMMANDS[command], crashed, *options)
    assert said.code == 0
    assert (
        "log.1: was not closed: its writer died, or has it open; replayed 2 batches" in said.error
    )
    assert said.error.endswith(", which are no whole batch\n") == torn
    assert ("passed over 100 bytes from byte" in said.error) == torn
    assert as_json == said.out.startswith("{")
    if as_json:
        assert isinstance(said.data, dict)
    options = [*options, "--overwrite"] if command in more else options
    assert cli(*COMMANDS[command], live, *options).err == ""


def test_info_of_an_empty_log_that_was_not_closed(live, tmp_path, cli):
    with ps.DynamicGraph(live) as graph:
        graph.compact()
        shutil.copytree(live, tmp_path / "g")
    said = cli("info", tmp_path / "g", "--json")
    assert "replayed 0 batches" in said.error
    assert (said.data["log"]["closed"], said.data["num_edges"]) == (False, 11)


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


def test_plan_says_what_is_made_first(tmp_path, cli):
    with ps.DynamicGraph(tmp_path / "g") as graph:
        graph.add_edges(range(2000), range(1, 2001))
    found = cli("plan", "pagerank", tmp_path / "g", "--json").data
    assert found["builds"] == ["in"]
    assert found["build_bytes"] > 8000
    assert "in-lists" in cli("plan", "pagerank", tmp_path / "g").out
    assert cli("plan", "sssp", tmp_path / "g", "--source", "0", "--json").data["builds"] == []
