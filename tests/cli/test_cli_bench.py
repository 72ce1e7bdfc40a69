"""``penstock bench``: what each suite must find, whatever the machine's speed."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from penstock.errors import BudgetError
from penstock.interfaces.bench import experiments as e
from penstock.interfaces.bench.graph500 import SEARCHES
from penstock.interfaces.bench.gstream import SUITE
from penstock.interfaces.bench.workloads import (
    FAR,
    Workbench,
    levels_program,
    num_pages,
    source_of,
    sssp,
)
from penstock.interfaces.cli.bench import SUITES
from penstock.stream.policy import POLICIES

ALGORITHMS = ("BFS", "PageRank")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Workbench(14, tmp_path_factory.mktemp("bench"), repeat=1)


def of(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


# The workbench


def test_bfs_as_a_program_is_right(bench):
    graph = bench.graph
    src, dst = graph.to_edges()
    levels = np.full(graph.num_vertices, FAR)
    levels[source_of(graph)] = 0
    for _ in range(graph.num_vertices):
        found = levels.copy()
        np.minimum.at(found, dst, levels[src] + 1)
        if (found == levels).all():
            break
        levels = found
    for strategy in ("push", "pull"):
        assert (levels_program(graph, strategy=strategy).values == levels).all()
    call, _ = bench.algorithms["BFS"]
    assert (call().values == np.where(levels == FAR, -1, levels)).all()


def test_sssp_is_the_same_in_both_modes(bench):
    pulled, notified = (
        sssp(bench.undirected, strategy=strategy).values for strategy in ("pull", "notify-pull")
    )
    assert (pulled == notified).all()
    assert np.count_nonzero(pulled < FAR) > 1000


def test_the_three_graphs_have_the_same_edges(bench):
    pairs = [np.column_stack(graph.to_edges()) for graph in (bench.graph, bench.striped)]
    assert (pairs[0] == pairs[1]).all()
    assert bench.striped.catalog.num_stripes == 2
    either_way = np.unique(np.sort(pairs[0]), axis=0)
    assert bench.undirected.num_edges == len(either_way)


def test_in_memory_means_in_memory(bench):
    def too_large(graph, **options):
        return SimpleNamespace(stats={"resident": False})

    call = bench.runner(too_large)
    call(load=False)
    with pytest.raises(BudgetError, match="scale 14 does not fit in memory as a whole"):
        call()


# The experiments


def test_pages(bench):
    rows = e.pages(bench)
    every = num_pages(bench.graph, "in")
    assert every >= 8
    assert [row["pages_copied"] for row in of(rows, algorithm="PageRank")] == [every] * 10
    levels = [row["pages_copied"] for row in of(rows, algorithm="BFS")]
    assert levels[0] == 1
    assert max(levels) == num_pages(bench.graph, "out")
    assert levels[-1] < max(levels)


def test_storage(bench):
    rows = e.storage(bench)
    found = [(row["algorithm"], row["storage"], row["strategy"]) for row in rows]
    assert sorted(set(found)) == sorted(found)
    assert len(found) == 2 * 3 * 2
    for row in rows:
        streamed = row["storage"] != "memory"
        assert (row["bytes_read"] > 0) == streamed == (row["limit_seconds"] is not None)
    scans = 10 * num_pages(bench.graph, "in") * bench.graph.catalog.page_bytes
    for row in of(rows, algorithm="PageRank", strategy="pull"):
        assert row["bytes_read"] in (0, scans)
    by = {(row["storage"], row["strategy"]): row for row in of(rows, algorithm="BFS")}
    assert by["1 stripe", "push"]["bytes_read"] < by["1 stripe", "pull"]["bytes_read"]
    assert by["1 stripe", "push"]["bytes_read"] == by["2 stripes", "push"]["bytes_read"]


def test_streams(bench):
    rows = e.streams(bench)
    every = num_pages(bench.graph, "in")
    for name in ALGORITHMS:
        mine = of(rows, algorithm=name)
        assert [row["streams"] for row in mine] == [1, 2, 4, 8, 16, 32]
        assert [row["streams_used"] for row in mine] == [min(row["streams"], every) for row in mine]
        assert all(row["seconds"] > 0 for row in mine)


def test_cache(bench):
    rows = e.cache(bench)
    every = num_pages(bench.graph, "in")
    for policy in POLICIES:
        mine = of(rows, algorithm="PageRank", policy=policy, order="cached first")
        assert [row["cache_pages"] for row in mine] == [
            round(share * every) for share in e.CACHE_SHARES
        ]
        assert mine[0]["hit_rate"] == 0
    for row in of(rows, algorithm="PageRank", policy="keep"):
        assert row["hit_rate_later"] == pytest.approx(row["cache_share"])
    # A scan that is longer than the cache never meets a page again.
    plain = of(rows, algorithm="PageRank", order="by number")
    assert [row["hit_rate"] for row in plain] == [0.0] * 5 + [0.9]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_replay_finds_what_a_run_does(bench, name):
    call, direction = bench.algorithms[name]
    run = call(load=False, cache_pages=3, cache="keep", streams=1)
    steps = e.steps_of(run, bench.graph, direction)
    table = bench.graph.page_table(direction)
    assert e.replay(table, steps, 3, "keep", ordered=True) == [
        step["cache_hits"] for step in run.iterations
    ]


def test_buffer(bench):
    rows = e.buffer(bench)
    for name in ALGORITHMS:
        everything, some, none = of(rows, algorithm=name)
        assert [row["buffer"] for row in (everything, some, none)] == ["all", "20%", "none"]
        assert some["bytes_read"] < none["bytes_read"]
        directions = 2 if name == "BFS" else 1
        assert everything["bytes_read"] == directions * everything["graph_bytes"]


def test_timeline(bench):
    for row in e.timeline(bench):
        events = json.loads(Path(row["trace"]).read_text())["traceEvents"]
        assert sum(event["ph"] == "X" for event in events) == row["events"] > 0


def test_modes(bench):
    rows = e.modes(bench)
    for name in ("SSSP", "CC"):
        pull, notify, auto = (
            of(rows, program=name, strategy=strategy)
            for strategy in ("pull", "notify-pull", "auto")
        )
        assert [row["step"] for row in pull] == [row["step"] for row in notify]
        assert {row["chosen"] for row in pull} == {"pull"}
        some_idle = notify if name == "SSSP" else notify[1:]
        assert {row["chosen"] for row in some_idle} == {"notify-pull"}
        assert {row["chosen"] for row in auto} == {"pull", "notify-pull"}
        assert pull[-1]["active_share"] < 0.01


# The command


def test_command_writes_pictures_and_rows(cli, tmp_path):
    out = tmp_path / "made" / "here"
    done = cli(
        "bench", "gstream", "--scale", 10, "--repeat", 1, "--out", out, "--pictures", "svg",
        "--experiments", "pages,timeline,buffer", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    names = ["timeline", "pages", "buffer"]
    assert list(done.data["experiments"]) == names
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [f"{name}.svg" for name in names]
        + ["results.json", "timeline-bfs.json", "timeline-pagerank.json"]
    )
    assert json.loads((out / "results.json").read_text()) == done.data


def test_command_prints_a_table_for_each_experiment(cli, tmp_path):
    done = cli(
        "bench", "gstream", "--scale", 10, "--repeat", 1, "--out", tmp_path, "--pictures", "none"
    )
    assert done.code == 0, done.err
    for number in (4, 5, 13, 14, 15):
        assert f"GStream's Figure {number})" in done.out
    assert "Garaph's Figure 10)" in done.out
    assert not list(tmp_path.glob("*.png"))
    rows = json.loads((tmp_path / "results.json").read_text())
    assert list(rows["experiments"]) == list(SUITE.experiments)
    for _, table in SUITE.summary(rows):
        assert len({len(line) for line in table}) == 1


def test_unknown_experiment(cli, tmp_path):
    done = cli("bench", "gstream", "--experiments", "pages,speed", "--out", tmp_path / "out")
    assert done.code == 2
    assert "there is no 'speed'; there are timeline, pages" in done.error
    assert not (tmp_path / "out").exists()


def test_missing_matplotlib_is_told_before_anything_runs(cli, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = cli("bench", "gstream", "--out", tmp_path / "out")
    assert done.code == 2
    assert "pip install 'penstock[plot]'" in done.error
    assert not (tmp_path / "out").exists()


def test_experiments_keep_their_order():
    assert SUITE.chosen(" cache, pages") == ["pages", "cache"]
    assert SUITE.chosen(None) == list(SUITE.experiments)


def test_place_that_cannot_be_written(cli, tmp_path):
    (tmp_path / "file").write_text("")
    done = cli("bench", "gstream", "--scale", 4, "--out", tmp_path / "file")
    assert done.code == 1
    assert str(tmp_path / "file") in done.error


# Suites


def test_suites_are_listed(cli):
    shown = cli("bench", "--help")
    assert shown.code == 0
    assert all(name in shown.out for name in SUITES)
    without = cli("bench")
    assert (without.code, without.err) == (2, "")
    assert "gstream" in without.out


def test_unknown_suite(cli):
    done = cli("bench", "speed")
    assert done.code == 2
    assert "speed" in done.error


# Graph500


def test_graph500_prints_the_official_lines(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli("bench", "graph500", "--scale", 8, "--roots", 6, "--memory", "20MB")
    assert (done.code, done.err) == (0, "")
    lines = [line.split(":", 1) for line in done.out.splitlines()]
    values = {name: value.replace("!", "").strip() for name, value in lines}
    assert list(values)[:7] == [
        "SCALE", "edgefactor", "NBFS", "graph_generation", "num_mpi_processes",
        "construction_time", "bfs  min_time",
    ]  # fmt: skip
    assert (values["SCALE"], values["edgefactor"], values["NBFS"]) == ("8", "16", "6")
    for kernel in ("bfs ", "sssp"):
        assert float(values[f"{kernel} harmonic_mean_TEPS"]) > 0
        assert float(values[f"{kernel} median_validate"]) > 0
        watts = values[f"{kernel} watts"]
        assert watts == "unavailable" or float(watts) > 0
    assert values["memory_budget"] == "20.0 MB"
    assert os.listdir(tmp_path) == []


def test_graph500_as_json(cli, tmp_path):
    out = tmp_path / "new" / "place"
    done = cli(
        "bench", "graph500", "--scale", 10, "--edgefactor", 8, "--roots", 3, "--seed", 4,
        "--threads", 1, "--page-size", "64KiB", "--out", out, "--json",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    data = done.data
    assert json.loads((out / "results.json").read_text()) == data
    assert (data["num_input_edges"], data["page_bytes"], data["threads"]) == (8 << 10, 64 << 10, 1)
    for rows in data["searches"].values():
        assert [row["validated"] for row in rows] == [True] * 3
        assert all(math.isclose(row["teps"], row["nedge"] / row["seconds"]) for row in rows)
    assert {mode for row in data["searches"]["bfs"] for mode in row["directions"]} >= {"top-down"}


def test_graph500_with_one_root_and_kernel(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--scale", 5, "--roots", 1, "--kernels", "sssp")
    data = cli("bench", "graph500", *options, "--json").data
    assert list(data["searches"]) == ["sssp"]
    assert data["results"]["sssp stddev_time"] is None
    shown = cli("bench", "graph500", *options).out
    assert "sssp stddev_time:               nan\n" in shown
    assert "bfs" not in shown


@pytest.mark.parametrize("as_json", [False, True])
def test_graph500_with_a_wrong_answer(cli, tmp_path, monkeypatch, as_json):
    right = SEARCHES["bfs"]

    def wrong(graph, root, **options):
        result = right.algorithm(graph, root, **options)
        lost = int(np.flatnonzero(result.values == result.values.max())[0])
        result.parents[lost], result.values[lost] = -1, -1
        return result

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SEARCHES, "bfs", replace(right, algorithm=wrong))
    line = ("bench", "graph500", "--scale", 7, "--roots", 2)
    done = cli(*line, *(["--json"] if as_json else []))
    assert done.code == 1
    assert done.error.endswith("2 of 4 searches failed validation; this run has no results\n")
    if as_json:
        assert done.data["validated"] is False
        said = [row["failure"] for row in done.data["searches"]["bfs"]]
    else:
        said = [text.split(": ", 1)[1] for text in done.out.splitlines()]
        assert len(said) == 2
    assert all(text.startswith("rule 4: an input edge joins ") for text in said)
    assert os.listdir(tmp_path) == []


def test_graph500_that_does_not_fit(cli, tmp_path):
    out = tmp_path / "out"
    done = cli("bench", "graph500", "--scale", 24, "--memory", "100MB", "--out", out)
    assert done.code == 3
    assert "validation of sssp at scale 24 take 369.1 MB" in done.error
    assert not out.exists()


@pytest.mark.parametrize(
    "option",
    [
        ("--scale", 32), ("--scale", 5, "--kernels", "pagerank"), ("--scale", 5, "--page-size", 3),
        (),
    ],
)  # fmt: skip
def test_graph500_with_wrong_options(cli, tmp_path, option):
    done = cli("bench", "graph500", *option, "--out", tmp_path / "out")
    assert done.code == 2
    assert not (tmp_path / "out").exists()


def test_graph500_interrupted_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "penstock", "bench", "graph500", "--scale", "16"]
    child = subprocess.Popen(
        [*command, "--roots", "100000", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 120
    # The graph is there, so searches are under way or about to be.
    while not list(tmp_path.glob("out/.graph500-*/made/graph.penstock")):
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, "")
    assert err == "penstock: interrupted; nothing unfinished was left behind\n"
    assert os.listdir(tmp_path / "out") == []
