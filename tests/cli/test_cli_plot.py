"""`penstock plot`: of graphs, and of what runs leave."""

from __future__ import annotations

import json
import sys
from typing import get_args

import pytest

import penstock as ps
from penstock.engine.plot_data import KINDS
from penstock.interfaces.cli import plot
from penstock.interfaces.saved import read_result


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
            "is not what penstock run writes (no 'stats')",
        ),
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
