"""``benchmarks/guard.py``: statistics, measurements, and a run that finds a slow BFS."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[2]
SCALE = 8

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / "benchmarks")
    import guard
    import guard_worker


# Statistics


def test_noise_of_equal_ratios_is_zero():
    assert guard.relative_noise([1.2, 1.2, 1.2]) == 0


def test_noise_ignores_one_outlier():
    ratios = [1.0, 1.01, 0.99, 1.0, 1.01, 0.99]
    assert guard.relative_noise([*ratios, 9.0]) == pytest.approx(
        guard.relative_noise([*ratios, 1.02]), rel=0.5
    )


def test_noise_is_relative_and_falls_with_the_number_of_pairs():
    ratios = [0.9, 1.0, 1.1, 1.0]
    noise = guard.relative_noise(ratios)
    assert guard.relative_noise([10 * ratio for ratio in ratios]) == pytest.approx(noise)
    assert guard.relative_noise(4 * ratios) == pytest.approx(noise / 2)


def test_noise_is_two_standard_errors_of_the_median():
    """By experiment: the medians of many normal samples vary by half of it."""
    samples = np.random.default_rng(1).normal(1, 0.05, (2000, 15))
    error = np.std(np.median(samples, axis=1))
    noises = [guard.relative_noise(sample.tolist()) for sample in samples]
    assert np.mean(noises) == pytest.approx(2 * error, rel=0.15)


@pytest.mark.parametrize(
    ("minima", "medians", "noise", "verdict"),
    [
        (1.0, 1.0, 0.0, "same"),
        (1.05, 1.05, 0.0, "slower"),
        (1.05, 1.05, 0.04, "same"),
        (1.5, 1.0, 0.0, "same"),
        (1.0, 1.5, 0.0, "same"),
        (0.9, 0.9, 0.0, "faster"),
        (0.9, 0.9, 0.1, "same"),
        (0.9, 1.0, 0.0, "same"),
    ],
)
def test_a_verdict_needs_both_ratios_beyond_tolerance_and_noise(minima, medians, noise, verdict):
    assert guard.judge(minima, medians, noise) == verdict


def test_a_comparison_pairs_the_times():
    row = guard.Comparison("bfs", before=(1.0, 2.0, 4.0), now=(2.0, 2.0, 5.0))
    assert row.ratios == [2.0, 1.0, 1.25]
    assert (row.ratio_of_minima, row.median_ratio) == (2.0, 1.25)
    assert row.as_json()["verdict"] == row.verdict


@pytest.mark.parametrize(("seconds", "repeats"), [(10.0, 1), (0.25, 1), (0.1, 3), (0.0, 250_000)])
def test_short_calls_are_repeated(seconds, repeats):
    assert guard.repeats_for(seconds) == repeats


def test_the_table_marks_what_is_slower():
    slow = guard.Comparison("bfs", before=(0.1, 0.1), now=(0.2, 0.2))
    same = guard.Comparison("open", before=(0.1, 0.1), now=(0.1, 0.1))
    head, rule, first, second = guard.markdown([slow, same]).splitlines()
    assert head.count("|") == rule.count("|") == first.count("|") == second.count("|")
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[0].startswith("bfs: ")
    assert cells[1:] == ["100", "100", "200", "200", "2.000", "2.000", "0.000", "**slower**"]
    assert second.endswith("| same |")


# Taking turns


class FakeSide:
    """A side without a process."""

    def __init__(self, name, log, *, error=None, answer=7):
        self.name, self._log, self._answer = name, log, answer
        self._reply = {} if error is None else {"error": error}

    def send(self, **request):
        assert request == {"do": "prepare", "name": "bfs"}

    def receive(self):
        return self._reply

    def run(self, name, repeats):
        self._log.append((self.name, repeats))
        return 0.1, self._answer


def test_sides_alternate_after_a_round_that_does_not_count():
    log = []
    row = guard.compare("bfs", [FakeSide("before", log), FakeSide("now", log)], pairs=3)
    assert [name for name, _ in log[2:]] == ["before", "now", "now", "before", "before", "now"]
    assert [repeats for _, repeats in log] == [1, 1, *[3] * 6]
    assert len(row.before) == len(row.now) == 3


def test_what_the_commit_cannot_do_is_left_out(capsys):
    error = "Traceback:\n  somewhere\nAttributeError: no such thing\n"
    sides = [FakeSide("before", [], error=error), FakeSide("now", [])]
    assert guard.compare("bfs", sides, pairs=2) is None
    said = capsys.readouterr().err
    assert said == "guard: bfs: left out, the commit cannot do it: AttributeError: no such thing\n"


def test_what_the_working_tree_cannot_do_is_an_error():
    sides = [FakeSide("before", []), FakeSide("now", [], error="no such thing")]
    with pytest.raises(guard.SideError, match="bfs, now: no such thing"):
        guard.compare("bfs", sides, pairs=2)


def test_sides_must_have_the_same_answer():
    sides = [FakeSide("before", [], answer=7), FakeSide("now", [], answer=8)]
    with pytest.raises(guard.SideError, match=r"different answers, \[7, 8\]"):
        guard.compare("bfs", sides, pairs=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "bfs,nothing"], "unknown measurement 'nothing'; there are pagerank, bfs"),
        (["--scale", "5"], "requires 6 to 26, got 5"),
        (["--pairs", "1"], "requires at least 2, got 1"),
    ],
)
def test_wrong_options_are_refused(options, message, capsys):
    with pytest.raises(SystemExit):
        guard.parse(["--against", "HEAD", *options])
    assert message in capsys.readouterr().err


# Inputs and measurements


def test_inputs_are_the_same_every_time_and_skewed():
    edges = guard.rmat(SCALE, seed=1)
    assert edges.shape == (2, guard.EDGE_FACTOR << SCALE)
    assert edges.max() < 1 << SCALE
    assert np.array_equal(edges, guard.rmat(SCALE, seed=1))
    assert not np.array_equal(edges, guard.rmat(SCALE, seed=2))
    for row in edges:
        assert np.bincount(row).max() > 6 * guard.EDGE_FACTOR


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guard")
    for name in guard.INPUT_SCALES:
        guard.make_input(folder, name, SCALE)
    return guard_worker.Workspace(folder, folder, SCALE)


@pytest.fixture(scope="module")
def worker(space):
    return guard_worker.Worker(space)


def expected_answer(space, name):
    """Found by SciPy and NumPy; None: not an answer that they have."""
    src, dst = space.edges(guard.MEASUREMENTS[name].input)
    count = int(max(src.max(), dst.max())) + 1
    _, labels = connected_components(coo_array((np.ones(len(src)), (src, dst)), (count, count)))
    if name == "components":
        return len(np.unique(labels[np.union1d(src, dst)]))
    if "bfs" in name or name in ("sssp", "first_run"):
        return int((labels == labels[src[0]]).sum())
    if name in ("live_insert", "build", "open"):
        return len(np.unique(np.sort([src, dst], axis=0), axis=1).T)
    if name == "triangles":
        adjacent = coo_array((np.ones(len(src)), (src, dst)), (count, count)).toarray() > 0
        adjacent = ((adjacent | adjacent.T) & ~np.eye(count, dtype=bool)).astype(int)
        return int(np.trace(adjacent @ adjacent @ adjacent)) // 2
    return None


@pytest.mark.parametrize("name", guard.MEASUREMENTS)
def test_each_measurement_runs_and_answers_as_others_do(name, worker, space):
    assert worker.answer({"do": "prepare", "name": name}) == {}
    request = {"do": "run", "name": name, "repeats": 1}
    first, second = worker.answer(request), worker.answer(request)
    assert first["answer"] == second["answer"]
    assert first["answer"] == (expected_answer(space, name) or first["answer"])
    assert first["seconds"] > 0


def test_streamed_pagerank_and_pagerank_agree(worker):
    """Ten iterations and two have the same vertex on top in a graph as skewed as this one."""
    answers = []
    for name in ("pagerank", "streamed_pagerank"):
        worker.answer({"do": "prepare", "name": name})
        answers.append(worker.answer({"do": "run", "name": name, "repeats": 1})["answer"])
    assert answers[0] == answers[1]


def test_a_request_that_fails_is_answered(worker):
    assert "KeyError: 'nothing'" in worker.answer({"do": "prepare", "name": "nothing"})["error"]


# A whole run

SLOW_BFS = """
import time

_search = bfs


def bfs(*arguments, **options):
    time.sleep(0.1)
    return _search(*arguments, **options)
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """This package in a repository of its own, with a BFS in the working tree that sleeps."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed: no commit to compare with")
    root = tmp_path_factory.mktemp("repository")
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("src", "benchmarks"):
        shutil.copytree(ROOT / name, root / name, ignore=unwanted)
    identity = ["-c", "user.name=guard", "-c", "user.email=guard@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "All"]):
        subprocess.run(["git", *command], cwd=root, check=True, env=environment())
    with (root / "src" / "penstock" / "algorithms" / "bfs.py").open("a") as file:
        file.write(SLOW_BFS)
    return root


def environment():
    """Without what a hook of the repository around it would set."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def start(repository, work, *options):
    command = [sys.executable, str(repository / "benchmarks" / "guard.py"), "--against", "HEAD",
               "--scale", str(SCALE), "--pairs", "2", "--folder", str(work), *options]  # fmt: skip
    return subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def assert_nothing_is_left(repository, work):
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True,
        env=environment(),
    )  # fmt: skip
    assert len(listed.stdout.splitlines()) == 1
    assert list(work.iterdir()) == []


def test_a_bfs_that_sleeps_is_found(repository, tmp_path):
    work, report = tmp_path / "work", tmp_path / "report.json"
    work.mkdir()
    with start(repository, work, "--only", "pagerank,bfs", "--json", str(report)) as process:
        shown, said = process.communicate(timeout=600)
    assert process.returncode == 1, said
    found = json.loads(report.read_text())
    assert found["changed"]
    rows = {row["name"]: row for row in found["rows"]}
    assert list(rows) == ["pagerank", "bfs"]
    assert rows["bfs"]["verdict"] == "slower"
    assert min(rows["bfs"]["now"]) > 0.1
    assert all(len(row["before"]) == len(row["now"]) == 2 for row in rows.values())
    assert "**slower**" in next(line for line in shown.splitlines() if line.startswith("| bfs:"))
    assert_nothing_is_left(repository, work)


def test_a_run_that_is_stopped_leaves_nothing(repository, tmp_path):
    with start(repository, tmp_path, "--only", "bfs") as process:
        assert any("guard: bfs" in line for line in process.stderr)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert_nothing_is_left(repository, tmp_path)


def test_an_unknown_commit_is_refused(repository, tmp_path):
    with start(repository, tmp_path, "--against", "nothing") as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "nothing" in said
    assert_nothing_is_left(repository, tmp_path)
