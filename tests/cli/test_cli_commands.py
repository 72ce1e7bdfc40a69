"""Each command does its work, says so, and prints one JSON object if asked."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest

import penstock as ps
from penstock.ingest import options as build_options
from penstock.ingest.sorting import DuplicateRule
from penstock.interfaces import api
from penstock.interfaces.cli import _options, build
from penstock.interfaces.cli.bench import SUITES
from penstock.interfaces.cli.main import COMMANDS
from penstock.protocols import OnBadLine
from penstock.sorting.spill import Spill
from penstock.types import IdKind


def test_version(cli):
    assert cli("--version").out == f"penstock {ps.__version__}\n"


def test_help_names_every_command(cli):
    shown = cli("--help")
    assert shown.code == 0
    assert all(name in shown.out for name in COMMANDS)


def test_no_command_is_wrong_usage(cli):
    shown = cli()
    assert (shown.code, shown.err) == (2, "")
    assert "Usage" in shown.out


LEAVES = [(name,) for name in COMMANDS if name != "bench"] + [("bench", each) for each in SUITES]


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_has_help_json_and_debug(cli, words):
    shown = cli(*words, "--help")
    assert shown.code == 0
    assert "--json" in shown.out
    assert "--debug" in shown.out


def test_choices_are_those_of_the_layers_below():
    pairs = (
        (_options.DuplicateRule, DuplicateRule),
        (_options.VertexOrder, build_options.VertexOrder),
        (_options.NeighbourOrder, build_options.NeighbourOrder),
        (_options.Directions, build_options.Directions),
        (_options.LayoutName, build_options.LayoutName),
        (_options.IdKind, IdKind),
        (_options.OnBadLine, OnBadLine),
        (_options.GeneratorName, api.Generator),
    )
    for here, there in pairs:
        assert get_args(here) == get_args(there)


def test_every_option_of_build_is_on_the_command_line():
    found = {**build.InputOptions().in_python(), **_options.GraphOptions().in_python()}
    signature = inspect.signature(api.build)
    assert set(found) == set(signature.parameters) - {"source", "path", "progress"}
    same = {k: v for k, v in found.items() if k not in ("stripes", "attributes")}
    assert same == {name: signature.parameters[name].default for name in same}


@pytest.mark.parametrize("kind", ["rmat", "uniform"])
def test_generate(cli, tmp_path, kind):
    path = tmp_path / "g.penstock"
    data = cli("generate", kind, path, "--scale", 6, "--edge-factor", 4, "--json").data
    opened = ps.open(path)
    assert (data["num_vertices"], data["num_edges"]) == (64, opened.num_edges)
    assert data["seconds"] > 0
    assert data["num_edges"] + data["rules"]["duplicates_dropped"] == 256


def test_generate_is_decided_by_its_seed(cli, tmp_path):
    names = [f"{k}.penstock" for k in range(3)]
    for name, seed in zip(names, (5, 5, 6), strict=True):
        cli("generate", "rmat", tmp_path / name, "--scale", 6, "--seed", seed)
    pages = [(tmp_path / name / "stripe.0" / "out.pages").read_bytes() for name in names]
    assert pages[0] == pages[1] != pages[2]


def test_generate_with_even_quadrants(cli, tmp_path):
    options = ("--a", 0.25, "--b", 0.25, "--c", 0.25)
    data = cli("generate", "rmat", tmp_path / "g", "--scale", 8, *options, "--json").data
    # With the usual quadrants the largest degree of this size is above 100.
    assert data["directions"]["out"]["max_degree"] < 50


def test_generate_undirected_slotted(cli, tmp_path):
    data = cli(
        *("generate", "rmat", tmp_path / "g", "--scale", 6, "--undirected", "--layout", "slotted"),
        *("--physical-ids", "2,2", "--page-size", "64KiB", "--self-loops", "drop", "--json"),
    ).data
    assert data["directed"] is False
    assert list(data["directions"]) == ["out"]
    assert data["physical_ids"] == [2, 2]


def test_build_tells_what_it_made(cli, edges, tmp_path):
    made = cli("build", edges, tmp_path / "g.penstock")
    assert (made.code, made.err) == (0, "")
    assert "4 vertices, 4 directed edges (1 duplicates dropped)" in made.out


def test_build_with_weights_and_attributes(graph):
    opened = ps.open(graph)
    src, dst, weight = opened.to_edges()
    found = sorted(zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True))
    assert found == [(10, 20, 2.5), (20, 30, 2.0), (30, 30, 4.0), (30, 40, 8.0)]
    assert [column.name for column in opened.catalog.columns] == ["cost", "year"]


def test_build_options_reach_the_graph(cli, edges, tmp_path):
    (tmp_path / "far").mkdir()
    data = cli(
        *("build", edges, tmp_path / "g", "--undirected", "--weights=2", "--duplicates", "sum"),
        *("--self-loops", "drop", "--order", "none", "--neighbours", "degree", "--threads", 1),
        *("--stripe", tmp_path / "far", "--tmpdir", tmp_path, "--memory", "32MB", "--header"),
        *("--columns", "from,to", "--ids", "int", "--separator", ",", "--comment", "!", "--json"),
    ).data
    assert data["directed"] is False
    assert data["rules"]["self_loops_dropped"] == 1
    assert (data["vertex_order"], data["neighbour_order"]) == ("none", "degree")
    assert [stripe["present"] for stripe in data["stripes"]] == [True, True]
    weights = sorted(ps.open(tmp_path / "g").to_edges()[2].tolist())
    assert weights == [2.0, 4.0, 8.0]


def test_build_several_files_and_patterns(cli, tmp_path):
    for k in range(3):
        (tmp_path / f"part-{k}.txt").write_text(f"{k} {k + 1}\n")
    one_by_one = [tmp_path / f"part-{k}.txt" for k in range(3)]
    assert cli("build", *one_by_one, tmp_path / "a", "--json").data["num_edges"] == 3
    assert cli("build", tmp_path / "part-*.txt", tmp_path / "b", "--json").data["num_edges"] == 3


def test_build_string_ids(cli, tmp_path):
    (tmp_path / "names.tsv").write_text("ann\tbob\nbob\tcy\n")
    data = cli("build", tmp_path / "names.tsv", tmp_path / "g", "--json").data
    assert data["ids"] == {"kind": "string"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"),
        ("g.graph", "2 1\n2\n1\n"),
        ("g.gr", "p sp 2 1\na 1 2 5\n"),
    ],
)
def test_build_formats_that_have_no_columns(cli, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    built = cli("build", str(tmp_path / name), str(tmp_path / "g.penstock"), "--json")
    assert built.data["num_edges"] == 1


def test_build_skips_lines(cli, tmp_path):
    (tmp_path / "e.txt").write_text("junk\njunk again\n1 2\nhuh\n2 3\n")
    options = ("--skip-lines", 2, "--on-bad-line", "skip", "--no-header", "--ids", "int", "--json")
    assert cli("build", tmp_path / "e.txt", tmp_path / "g", *options).data["num_edges"] == 2


def test_build_tells_which_columns_and_lines_it_read(cli, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,from,to\n" + "1,2,3\n# note\n" * 20 + "1,2,x\n")
    made = cli("build", path, tmp_path / "g", "--on-bad-line", "skip")
    assert "1 bad lines skipped" in made.out
    assert f"{path}: source is column 'from', target 'to'" in made.out
    assert "20 comment lines" in made.out
    assert f"{path}:42: found '1,2,x', expected a target id" in made.out
    options = ("--on-bad-line", "skip", "--overwrite", "--json")
    notes = cli("build", path, tmp_path / "g", *options).data["notes"]
    assert len(notes) == 3
    assert cli("build", path, tmp_path / "h", *options, "--max-bad-lines", "0").code == 1


def test_build_num_vertices(cli, tmp_path):
    (tmp_path / "e.txt").write_text("0 1\n")
    data = cli("build", tmp_path / "e.txt", tmp_path / "g", "--num-vertices", 7, "--json").data
    assert data["num_vertices"] == 7


def test_same_bytes_whatever_memory_and_threads(cli, tmp_path, monkeypatch):
    """Every file, catalog included; the small budget must really have gone to disk."""
    flushed = []
    flush = Spill._flush
    monkeypatch.setattr(Spill, "_flush", lambda spill: (flush(spill), flushed.append(spill))[0])
    spilled = []
    for name, memory, threads in (("a", "17MB", 1), ("b", "400MB", 3)):
        flushed.clear()
        limits = ("--memory", memory, "--threads", threads)
        made = cli("generate", "rmat", tmp_path / name, "--scale", 17, *limits)
        assert made.code == 0, made.err
        spilled.append(max((spill.peak_file_bytes for spill in flushed), default=0))
    assert spilled[0] > 0
    assert spilled[1] == 0
    first, second = (
        {
            f.relative_to(tmp_path / name): f.read_bytes()
            for f in (tmp_path / name).rglob("*.*")
            if f.is_file()
        }
        for name in "ab"
    )
    assert first == second
    assert {"graph.json", "out.degrees.npy"} <= {path.name for path in first}


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("a.txt g --weights", True),
        ("a.txt g --weights cost", "cost"),
        ("a.txt g --weights 2", "2"),
        ("a.txt g --weights=cost", "cost"),
        ("--weights a.txt g", True),
        ("a.txt --weights g", True),
        ("a.txt b.txt --weights g.penstock", True),
        ("--weights cost a.txt g", "cost"),
        ("a.txt g --weights --memory 1GB", True),
        ("a.txt --memory 1GB --weights g", True),
        ("a.txt g --overwrite --weights cost", "cost"),
        ("a.txt g --no-weights", False),
        ("a.txt g", None),
    ],
)
def test_weights_with_and_without_a_column(cli, monkeypatch, tmp_path, line, meant):
    seen = []
    monkeypatch.setattr(
        api, "build", lambda source, path, **rest: seen.append((source, str(path), rest["weights"]))
    )
    monkeypatch.chdir(tmp_path)
    assert cli("build", *line.split()).code == 0
    assert seen[0][2] is meant if isinstance(meant, bool | None) else seen[0][2] == meant
    assert seen[0][1] in ("g", "g.penstock")


def test_info_shows_what_the_paper_shows(cli, graph):
    shown = cli("info", graph).out
    for words in ("vertices", "edges", "#SP", "#LP", "page size", "fill", "B/edge", "max degree"):
        assert words in shown
    assert "cost float32, year int32" in shown
    assert "last  (1 dropped)" in shown
    assert "ids: integers" in shown


def test_info_json(cli, graph):
    data = cli("info", graph, "--json").data
    opened = ps.open(graph)
    assert data["num_vertices"] == opened.num_vertices
    assert data["num_edges"] == opened.num_edges
    assert data["weight"] == "cost"
    out = data["directions"]["out"]
    assert sum(entry["vertices"] for entry in out["degree_histogram"]) == 4
    assert 0 < out["fill"] < 1
    files = [f for f in graph.rglob("*") if f.is_file() and f.name != "stripe.json"]
    assert data["disk"]["total_bytes"] == sum(f.stat().st_size for f in files)


def test_info_reads_no_index(cli, graph):
    for file in graph.glob("*.npy"):
        file.unlink()
    assert cli("info", graph).code == 0


def test_info_tells_of_a_missing_stripe(cli, edges, tmp_path):
    (tmp_path / "far").mkdir()
    cli("build", edges, tmp_path / "g", "--stripe", tmp_path / "far")
    next((tmp_path / "far").iterdir()).rename(tmp_path / "elsewhere")
    shown = cli("info", tmp_path / "g")
    assert shown.code == 0
    assert "MISSING" in shown.out


def test_info_of_an_empty_graph(cli, tmp_path):
    (tmp_path / "none.txt").write_text("# nothing\n")
    made = cli("build", tmp_path / "none.txt", tmp_path / "g", "--num-vertices", "0")
    assert made.code == 0, made.err
    assert "no ids" in cli("info", tmp_path / "g").out


def test_verify(cli, graph):
    data = cli("verify", graph, "--json").data
    assert data["ok"] is True
    assert data["problems"] == []
    assert data["pages"] == 2
    assert "no problems" in cli("verify", graph).out


def test_verify_tells_of_an_index_that_runs_do_not_use(cli, graph):
    cli("run", "scan", graph)
    description = graph.with_name(graph.name + ".columns") / "columns.json"
    text = description.read_text()
    assert cli("verify", graph, "--json").data["notes"] == []
    description.write_text(text.replace('"version": 1', '"version": 0'))
    said = cli("verify", graph, "--json")
    assert (said.code, len(said.data["notes"])) == (0, 1)
    assert "runs do not use it" in said.data["notes"][0]


def test_verify_finds_a_flipped_bit(cli, graph):
    file = graph / "stripe.0" / "out.pages"
    pages = bytearray(file.read_bytes())
    pages[100] ^= 1
    file.write_bytes(pages)
    shown = cli("verify", graph)
    assert shown.code == 1
    assert "out.pages" in shown.out
    assert "damaged" in shown.error
    data = cli("verify", graph, "--json")
    assert data.code == 1
    assert data.data["ok"] is False
    assert data.data["num_problems"] >= 1
