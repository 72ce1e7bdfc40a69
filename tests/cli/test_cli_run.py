"""``penstock run``: results, options, output, stopping and going on."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import typer

import penstock as ps
from penstock.algorithms import find, names
from penstock.engine.options import OPTION_NAMES, DispatchRule, Division
from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.interfaces.cli import _options, run
from penstock.interfaces.cli._algorithm_options import (
    own_options,
)
from penstock.interfaces.cli._output import plain
from penstock.stream.policy import POLICIES

Letter = Literal["a", "b"]
STATS = {
    *("seconds", "iterations", "edges_traversed", "bytes_read", "cache_hits", "peak_memory"),
    *("io_seconds", "kernel_seconds"),
}


@pytest.fixture(scope="module")
def names_graph(tmp_path_factory):
    """Ids are strings, one of them digits."""
    path = tmp_path_factory.mktemp("names") / "names.penstock"
    ps.build((["ann", "7", "bob"], ["7", "bob", "cy"]), path)
    return path


# What comes out


def test_text_has_the_top_and_every_fact(cli, web):
    shown = cli("run", "pagerank", web, "--top", 3)
    assert (shown.code, shown.err) == (0, "")
    best = ps.pagerank(ps.open(web)).top(3)
    assert "Top 3" in shown.out
    for vertex, rank in best:
        assert f"  {vertex} " in shown.out
        assert f"{rank:.6g}" in shown.out
    for words in ("seconds", "iterations", "edges traversed", "bytes read", "cache hits"):
        assert words in shown.out
    for words in ("peak memory", "waiting for I/O", "in kernels", "16,384 vertices"):
        assert words in shown.out
    assert "strategy" not in shown.out


def test_a_run_says_whether_it_converged(cli, web):
    assert "(converged)" in cli("run", "pagerank", web).out
    stopped = cli("run", "pagerank", web, "--tol", 0, "--max-iter", 2)
    assert "2  (not converged: stopped at max_iter)" in stopped.out


def test_iterations_are_a_table(cli, web):
    shown = cli("run", "pagerank", web, "--iterations", "--tol", 0, "--max-iter", 4)
    table = shown.out.split("Iterations\n")[1].split("\n\n")[0].splitlines()
    assert len(table) == 5
    for words in ("strategy", "active share", "pages", "bytes", "hits", "seconds"):
        assert words in table[0]


def test_json_is_one_object_with_everything(cli, web):
    data = cli("run", "pagerank", web, "--json", "--top", 4, "--alpha", 0.5).data
    expected = ps.pagerank(ps.open(web), alpha=0.5)
    assert (data["algorithm"], data["graph"], data["out"]) == ("pagerank", str(web), None)
    assert data["parameters"]["alpha"] == 0.5
    assert set(data["parameters"]) == set(find("pagerank").parameters)
    assert data["top"] == [list(pair) for pair in expected.top(4)]
    assert set(data["stats"]) >= STATS
    assert len(data["iterations"]) == data["stats"]["iterations"] == expected.stats["iterations"]
    assert "verified" not in data


def test_verified(cli, web, monkeypatch):
    data = cli("run", "pagerank", web, "--json", "--verify").data
    assert data["verified"] is True
    assert 0 < data["measured_error"] <= 1e-5
    shown = cli("run", "pagerank", web, "--verify").out
    assert f"verified by another method; measured error {data['measured_error']:.2g}" in shown

    def fail(graph: object, result: object) -> None:
        raise VerificationError("all wrong")

    monkeypatch.setattr(find("pagerank"), "verify", fail)
    failed = cli("run", "pagerank", web, "--verify")
    assert (failed.code, failed.out) == (1, "")
    assert "all wrong" in failed.error


@pytest.mark.parametrize("name", ["ranks.parquet", "ranks.csv", "RANKS.CSV"])
def test_out_has_all_values(cli, web, tmp_path, name):
    out = tmp_path / name
    assert f"{out}: 16,384 rows" in cli("run", "pagerank", web, "--out", out).out
    read = pyarrow.parquet.read_table if name.endswith("parquet") else pyarrow.csv.read_csv
    table = read(out)
    expected = ps.pagerank(ps.open(web))
    assert table.column("id").to_pylist() == expected.ids.tolist()
    assert np.allclose(table.column("pagerank").to_numpy(), expected.values, rtol=1e-6)
    again = cli("run", "pagerank", web, "--out", out, "--overwrite", "--json")
    assert again.data["out"] == str(out)


def test_streamed_run_counts_pages(cli, web, tmp_path):
    trace = tmp_path / "trace.json"
    limits = ("--no-load", "--cache", "lru", "--cache-pages", 0, "--streams", 1, "--threads", 1)
    line = ("run", "pagerank", web, "--tol", 0, "--max-iter", 3, "--trace", trace, *limits)
    stats = cli(*line, "--json").data["stats"]
    pages = ps.open(web).catalog.directions["in"].num_pages
    assert (stats["resident"], stats["streams"], stats["threads"]) == (False, 1, 1)
    assert (stats["pages_read"], stats["cache_hits"]) == (3 * pages, 0)
    assert "edges streamed" in cli(*line, "--overwrite").out
    assert {"read", "kernel"} <= {
        each["name"] for each in json.loads(trace.read_text())["traceEvents"]
    }


def test_degree_distribution_is_a_histogram(cli, web):
    shown = cli("run", "degree_distribution", web, "--direction", "in")
    assert "  0 " in shown.out
    assert "256 to 511" in shown.out
    assert cli("run", "degree-distribution", web).code == 0


def test_not_finite_is_null(cli, web, monkeypatch):
    values = np.array([np.nan, np.inf, 0.5])
    stats = {**dict.fromkeys(STATS, 0), "change": -np.inf}
    made = Result.table("odd", [1, 2, 3], values, stats=stats)
    monkeypatch.setattr(type(find("pagerank")), "__call__", lambda *args, **rest: made)
    data = cli("run", "pagerank", web, "--json").data
    assert data["top"] == [[2, None], [3, 0.5], [1, None]]
    assert data["stats"]["change"] is None


def test_plain_values():
    given = {"a": np.float32(0.5), "b": np.arange(2), "c": (math.inf, True), "d": Path("x")}
    assert plain(given) == {"a": 0.5, "b": [0, 1], "c": [None, True], "d": "x"}


# Sources


def test_a_source_is_one_of_the_users_ids(cli, web):
    source = ps.pagerank(ps.open(web)).top(1)[0][0]
    found = cli("run", "bfs", web, "--source", source, "--json", "--verify").data
    expected = ps.bfs(ps.open(web), source).values
    assert found["parameters"]["source"] == source
    assert found["summary"]["reached"] == int((expected >= 0).sum())
    assert found["summary"]["levels"] == np.bincount(expected[expected >= 0]).tolist()
    assert "level" in cli("run", "bfs", web, "--source", source).out


def test_a_source_that_looks_like_a_number_may_be_a_string(cli, names_graph):
    found = cli("run", "bfs", names_graph, "--source", "7", "--json").data
    assert found["parameters"]["source"] == "7"
    assert found["summary"] == {"reached": 3, "levels": [1, 1, 1]}


@pytest.mark.parametrize("source", ["99999999", "nobody", "-1"])
def test_a_source_that_is_not_there(cli, web, names_graph, source):
    for graph in (web, names_graph):
        shown = cli("run", "sssp", graph, "--source", source)
        assert (shown.code, shown.out) == (1, "")
        assert source in shown.error


def test_a_source_is_needed(cli, web):
    shown = cli("run", "bfs", web)
    assert shown.code == 2
    assert "--source" in shown.error


def test_components_and_distances(cli, web):
    assert "components; the largest has" in cli("run", "connected_components", web).out
    shown = cli("run", "sssp", web, "--source", 0, "--json").data
    assert all(distance is not None for _, distance in shown["top"])


# Options


def test_help_lists_algorithms(cli):
    shown = cli("run", "--help")
    assert shown.code == 0
    assert all(name in shown.out for name in names())
    assert "PageRank: ranks that add up to 1." in shown.out


def test_help_of_an_algorithm_has_its_options(cli):
    shown = cli("run", "pagerank", "--help")
    assert shown.code == 0
    for words in ("--max-iter", "damping factor", "float32|float64", "--checkpoint-every"):
        assert words in shown.out
    assert "--alpha" not in cli("run", "degree_distribution", "--help").out


@pytest.mark.parametrize("name", names())
def test_every_parameter_is_an_option_with_help(name):
    found = {option.name: option for option in own_options(find(name))}
    assert set(found) == set(find(name).parameters)
    assert all(option.help for option in found.values())


def test_options_may_come_first(cli, web):
    assert cli("run", "--json", "--top", 1, "pagerank", web, "--max-iter=50").code == 0


def test_options_are_those_of_every_algorithm():
    options = _options.WorkOptions().in_python() | run.FileOptions().in_python(Path("g"), "bfs")
    assert set(options) | {"trace", "progress"} == set(OPTION_NAMES)
    assert get_args(_options.CachePolicy) == tuple(POLICIES)
    assert get_args(_options.DivisionName) == get_args(Division)
    assert get_args(_options.DispatchName) == get_args(DispatchRule)


def test_commands_do_not_share_options(cli, web):
    group = typer.main.get_command(run_app())
    before = len(group.get_command(None, "run").params)
    assert cli("run", "pagerank", web).code == 0
    assert len(group.get_command(None, "run").params) == before


def run_app():
    from penstock.interfaces.cli.main import app

    return app


# Errors


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("pagernk WEB", 2, "pagerank"),
        ("pagerank none", 1, "no such graph"),
        ("pagerank WEB --memory 1MB", 3, "memory"),
        ("pagerank WEB --max-iter=-1", 2, "max_iter"),
        ("pagerank WEB --alpha 2", 2, "alpha"),
        ("pagerank WEB --alpha much", 2, "alpha"),
        ("pagerank WEB --dtype int8", 2, "dtype"),
        ("pagerank WEB --cache best", 2, "cache"),
        ("pagerank WEB --top -1", 2, "top"),
        ("pagerank WEB --streams 0", 2, "streams"),
        ("pagerank WEB --checkpoint-every often", 2, "checkpoint"),
        ("pagerank WEB --source 1", 2, "source"),
        ("pagerank WEB --max-iter 1", 1, "after 1 iterations"),
        ("pagerank WEB --out ranks.txt", 2, ".parquet or .csv"),
        ("pagerank WEB --out no/ranks.csv", 1, "no such directory"),
        ("pagerank WEB --trace .", 1, "directory"),
        ("pagerank", 2, "GRAPH"),
        ("", 2, "ALGO"),
    ],
)
def test_errors_are_one_line(cli, web, tmp_path, monkeypatch, line, code, words):
    monkeypatch.chdir(tmp_path)
    shown = cli("run", *(str(web) if word == "WEB" else word for word in line.split()))
    assert (shown.code, shown.out) == (code, "")
    assert words in shown.error
    assert os.listdir(tmp_path) == []


def test_over_budget(cli, tmp_path):
    ps.generate("rmat", tmp_path / "wide", scale=8, page_size="16MiB")
    shown = cli("run", "pagerank", tmp_path / "wide", "--memory", "17MB", "--no-load")
    assert (shown.code, shown.out) == (3, "")
    assert "requires at least" in shown.error


def test_json_error(cli, web):
    assert cli("run", "pagerank", web, "--alpha", 3, "--json").data["exit_code"] == 2


# The start


def test_a_small_run_imports_little(web):
    code = (
        "import sys\n"
        "from penstock.interfaces.cli.main import main\n"
        "try: main()\n"
        "finally: print(*(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "pagerank", str(web), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stderr.split())
    assert not {"pyarrow", "rich", "pandas", "scipy.linalg", "penstock.ingest.build"} & loaded


def test_trace_is_drawn_if_it_is_a_picture(cli, tmp_path):
    graph = tmp_path / "g.penstock"
    cli("generate", "rmat", graph, "--scale", 8)
    picture = tmp_path / "trace.png"
    done = cli("run", "pagerank", graph, "--trace", picture, "--no-load")
    assert done.code == 0, done.err
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "trace.json").read_text().startswith('{"traceEvents"')
