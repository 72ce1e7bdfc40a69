"""`penstock plot`: of graphs, and of what runs leave."""

from __future__ import annotations

import json
import sys
from typing import get_args

import pytest

import penstock as ps
from penstock.drawing.result_data import KINDS
from penstock.interfaces.cli import plot
from penstock.interfaces.saved import read_result


def report_text(**parts):
    found = {"algorithm": "bfs", "graph": "g", "stats": {}, "iterations": []}
    return json.dumps({**found, **parts})


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "small.penstock"
    ps.generate("rmat", path, scale=7)
    return path


def test_kinds_are_those_of_results():
    assert get_args(plot.Kind) == KINDS


def test_degrees_of_a_graph(cli, small, here):
    shown = cli("plot", small)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"degrees.png: degrees of {small}, ")
    assert (here / "degrees.png").read_bytes().startswith(b"\x89PNG")


def test_json(cli, small, here):
    data = cli("plot", small, "components", "--out", "c.svg", "--memory", "64MB", "--json").data
    size = (here / "c.svg").stat().st_size
    assert data == {"source": str(small), "kind": "components", "file": "c.svg", "bytes": size}


def test_both_directions_are_drawn(small):
    axes = plot.plot_graph(ps.open(small), "degrees", {})
    out, _, into, _ = axes.lines
    for line, direction in ((out, "out"), (into, "in")):
        found = ps.degree_distribution(ps.open(small), direction=direction)
        assert line.get_xdata().tolist() == found.ids[found.ids > 0].tolist()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["out", "in"]
    assert axes.get_title("right") == "128 vertices"


@pytest.mark.parametrize("options", [{"directed": False}, {"directions": "out"}])
def test_one_direction_is_drawn(options, here):
    graph = ps.generate("rmat", here / "g", scale=6, **options)
    axes = plot.plot_graph(graph, "degrees", {})
    assert len(axes.lines) == 2
    assert axes.get_legend() is None


def test_components_are_those_of_the_algorithm(small):
    graph = ps.open(small)
    axes = plot.plot_graph(graph, "components", {"threads": 1})
    sizes = axes.lines[0].get_xydata()
    assert (sizes[:, 0] * sizes[:, 1]).sum() == graph.num_vertices


def test_live_graphs(cli, here):
    with ps.DynamicGraph(here / "live") as graph:
        graph.add_edges([1, 2, 3], [2, 3, 1])
    assert cli("plot", here / "live", "degrees").code == 0


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_tables(cli, small, here, suffix):
    cli("run", "connected_components", small, "--out", here / f"c{suffix}")
    assert cli("plot", f"c{suffix}", "--json").data["kind"] == "components"
    found, again = ps.connected_components(ps.open(small)), read_result(here / f"c{suffix}")
    assert again.name == "component"
    assert again.values.tolist() == found.values.tolist()
    assert again.ids.tolist() == found.ids.tolist()


def test_tables_of_degrees_strings_and_edges(cli, small, here):
    cli("run", "degree_distribution", small, "--out", "d.csv")
    assert cli("plot", "d.csv", "--json").data["kind"] == "degrees"
    (here / "names.tsv").write_text("ann\tbob\nbob\tcy\ndee\teve\n")
    cli("build", "names.tsv", "names.penstock")
    cli("run", "connected_components", "names.penstock", "--out", "n.parquet")
    assert cli("plot", "n.parquet", "components", "--json").data["kind"] == "components"
    cli("run", "edge_betweenness", small, "--out", "e.parquet")
    assert cli("plot", "e.parquet", "--json").data["kind"] == "values"
    assert read_result(here / "e.parquet").name == "betweenness"


def test_reports_and_traces(cli, small, here):
    ran = cli("run", "pagerank", small, "--no-load", "--trace", "t.json", "--json")
    (here / "report.json").write_text(ran.out)
    for kind in ("convergence", "active", "timeline"):
        assert cli("plot", "report.json", kind, "--json").data["file"] == f"{kind}.png"
    report = read_result(here / "report.json")
    assert report.iterations == ran.data["iterations"]
    assert report.plot().get_title("left").strip() == "Convergence of pagerank, small.penstock"
    assert cli("plot", "t.json", "--out", "t.pdf", "--json").data["kind"] == "timeline"


def test_reports_of_one_iteration(cli, here):
    rows = [{"step": 0, "active": 1, "levels": 5}]
    (here / "b.json").write_text(report_text(iterations=rows))
    assert cli("plot", "b.json", "--json").data["kind"] == "active"
    says = "has no values (the values of a run are in the file of --out)"
    assert says in cli("plot", "b.json", "values").error


def test_traces_are_looked_for_beside_the_report(here):
    folder = here / "runs"
    folder.mkdir()
    (folder / "t.json").write_text("{}")
    for named in ("t.json", "runs/t.json", str(here / "moved" / "t.json")):
        (folder / "r.json").write_text(report_text(stats={"trace": named}))
        assert read_result(folder / "r.json").stats["trace"].samefile(folder / "t.json")
    (folder / "t.json").unlink()
    assert read_result(folder / "r.json").stats["trace"] == here / "moved" / "t.json"


@pytest.mark.parametrize(
    ("rows", "ids", "labels"),
    [
        (f"1,1\n{2**64 - 1},1\n", [1, 2**64 - 1], [1, 1]),
        (f"-1,1\n{2**64 - 1},1\n", ["-1", f"{2**64 - 1}"], [1, 1]),
        ("007,007\n7,7\n", ["007", "7"], ["007", "7"]),
        ('1,"NA"\n2,\n3,NA\n', [1, 2, 3], ["NA", None, None]),
        ("", [], []),
    ],
)
def test_names_of_vertices_stay_what_they_are(here, rows, ids, labels):
    (here / "c.csv").write_text(f"id,component\n{rows}")
    found = read_result(here / "c.csv")
    assert (found.ids.tolist(), found.values.tolist()) == (ids, labels)


def test_ends_of_edges_stay_what_they_are(here):
    (here / "e.csv").write_text("src,dst,weight\n01,1,0.5\n1,02,2\n")
    found = read_result(here / "e.csv")
    assert (found.ids.tolist(), found.dst.tolist()) == (["01", "1"], ["1", "02"])
    assert found.values.tolist() == [0.5, 2]


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("id,component\n2,1\n3,1\n5,4\n", [[1, 1], [2, 1]]),
        ("id,component\n1,1\n2,1\n3,9\n", [[1, 1], [2, 1]]),
        ("id,cluster\n1,1\n2,1\n3,9\n", [[1, 1], [2, 1]]),
    ],
)
def test_groups_that_somebody_else_named(here, text, points):
    (here / "z.csv").write_text(text)
    assert read_result(here / "z.csv").plot().lines[0].get_xydata().tolist() == points


def test_what_is_there_is_kept(cli, small, here):
    (here / "degrees.png").write_text("mine")
    assert "already exists" in cli("plot", small).error
    assert (here / "degrees.png").read_text() == "mine"
    assert cli("plot", small, "--overwrite").code == 0
    assert (here / "degrees.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.parquet", None, "none.parquet: there is no such file or graph"),
        ("a.docx", "", "a.docx: expected a graph directory, or a file that ends in .parquet, .csv"),
        ("a.parquet", "junk", "a.parquet: is not what penstock run writes"),
        ("a.csv", "", "a.csv: is not what penstock run writes"),
        ("a.csv", "id\n1\n", "columns are id: there are no values"),
        ("a.csv", "src,dst\n1,2\n", "columns are src, dst: there are no values"),
        ("a.json", "{", "a.json: is not what penstock run writes"),
        ("a.json", "[]", "neither a report nor a trace"),
        (
            "a.json",
            json.dumps({"iterations": []}),
            "is not what penstock run writes (no 'algorithm')",
        ),
        ("a.json", report_text(stats=5), "a.json: is not what penstock run writes (stats is 5, "),
        ("a.json", report_text(graph=[1]), "graph is [1], expected text"),
        ("a.json", report_text(iterations={}), "iterations is {}, expected a list"),
        ("a.json", report_text(iterations=[1]), "iterations: 0 is 1, expected an object"),
        ("a.json", report_text(iterations=[{}]), "no 'step'"),
        (
            "a.json",
            report_text(iterations=[{"step": 0, "change": "much"}]),
            "iterations: 0: change is 'much', expected a number or null",
        ),
        ("a.json", report_text(stats={"enough": []}), "stats: enough is [], expected a number"),
        ("a.json", report_text(stats={"trace": 3}), "stats: trace is 3, expected text or null"),
        ("a.csv", "id,cluster,role\n1,1,core\n", "column role is of type string, expected numb"),
        ("a.csv", "id,degree\n1,many\n", "column degree is of type string, expected numbers"),
        ("a.json", json.dumps({"traceEvents": [3]}), "a.json: is not a trace"),
    ],
)
def test_sources_that_cannot_be_drawn(cli, here, name, content, says):
    if content is not None:
        (here / name).write_text(content)
    shown = cli("plot", name)
    assert shown.code == 1
    assert says in shown.error
    assert not list(here.glob("*.png"))


def test_kinds_that_are_not_there(cli, small, here):
    assert (
        "which has degrees and components, but no values; use" in cli("plot", small, "values").error
    )
    assert cli("plot", small, "pie").code == 2
    cli("run", "pagerank", small, "--out", "ranks.parquet")
    assert "no timeline; run with trace=FILE" in cli("plot", "ranks.parquet", "timeline").error
    assert "a.docx: expected" in cli("plot", small, "--out", "a.docx").error


def test_folders_that_are_no_graphs(cli, here):
    (here / "empty").mkdir()
    shown = cli("plot", "empty")
    assert shown.code == 1
    assert "empty" in shown.error


def test_without_matplotlib(cli, small, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'penstock[plot]'" in cli("plot", small).error
