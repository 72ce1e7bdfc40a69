"""What is there stays there unless ``--overwrite`` says otherwise, and that is known at once."""

from __future__ import annotations

import json

import pytest

import penstock as ps
from penstock.engine.algorithm import Algorithm
from penstock.engine.engine import Engine
from penstock.errors import TargetExistsError


@pytest.fixture
def never(monkeypatch):
    """No algorithm may begin."""

    def call(*args, **kwargs):
        raise AssertionError("the run began")

    with monkeypatch.context() as patch:
        patch.setattr(Algorithm, "call", call)
        yield


OUTPUTS = {
    "out": ("pagerank", "x.csv"), "parquet": ("pagerank", "x.parquet"),
    "edges": ("minimum_spanning_forest", "x.parquet"), "trace": ("pagerank", "x.json"),
    "picture": ("pagerank", "x.svg"),
}  # fmt: skip


def line_of(kind, graph, file):
    option = {"parquet": "out", "picture": "trace"}.get(kind, kind)
    return ("run", OUTPUTS[kind][0], graph, f"--{option}", file)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_an_output_that_is_there_is_refused_before_the_run(cli, graph, tmp_path, kind, never):
    file = tmp_path / OUTPUTS[kind][1]
    file.write_text("mine")
    shown = cli(*line_of(kind, graph, file))
    assert shown.code == 1
    assert f"{file}: already exists" in shown.error
    assert "--overwrite" in shown.error
    assert file.read_text() == "mine"


def test_the_file_beside_a_picture_is_not_replaced_either(cli, graph, tmp_path, never):
    (tmp_path / "x.json").write_text("mine")
    shown = cli("run", "pagerank", graph, "--trace", tmp_path / "x.svg")
    assert "x.json: already exists" in shown.error


@pytest.mark.parametrize("kind", OUTPUTS)
def test_overwrite_replaces_it(cli, graph, tmp_path, kind):
    file = tmp_path / OUTPUTS[kind][1]
    file.write_text("mine")
    shown = cli(*line_of(kind, graph, file), "--overwrite")
    assert shown.code == 0, shown.err
    assert file.read_bytes() != b"mine"


def test_two_outputs_need_two_names(cli, graph, tmp_path, never):
    file = tmp_path / "x.csv"
    shown = cli("run", "minimum_spanning_forest", graph, "--out", file, "--edges", file)
    assert shown.code == 2
    assert "is named for two outputs" in shown.error


# Checkpoints


@pytest.fixture
def unfinished_run(cli, web, tmp_path, monkeypatch):
    """The folder of a PageRank that was stopped after its second step."""
    folder = tmp_path / "saved"
    step = Engine.step

    def stopped(self, **facts):
        if len(self.metrics.rows) == 2:
            raise KeyboardInterrupt
        return step(self, **facts)

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "step", stopped)
        shown = cli(
            "run", "pagerank", web, "--checkpoint", folder, "--checkpoint-every", 1, "--tol", 0
        )
    assert shown.code == 130
    return folder


def test_a_checkpoint_of_an_unfinished_run_is_not_destroyed(cli, web, unfinished_run):
    saved = unfinished_run / "state.checkpoint"
    before = saved.read_bytes()
    line = ("run", "pagerank", web, "--checkpoint", unfinished_run, "--tol", 0, "--max-iter", 4)
    shown = cli(*line)
    assert shown.code == 1
    for words in (str(unfinished_run), "pagerank", "step 2", "saved 20", "--resume", "--overwrite"):
        assert words in shown.error, shown.error
    assert saved.read_bytes() == before
    shown = cli(*line, "--resume", "--json")
    assert shown.data["stats"]["iterations"] == 2
    assert not unfinished_run.exists(), "it has finished"


def test_overwrite_starts_again(cli, web, unfinished_run):
    line = ("run", "pagerank", web, "--checkpoint", unfinished_run, "--tol", 0, "--max-iter", 4)
    shown = cli(*line, "--overwrite", "--json")
    assert shown.data["stats"]["iterations"] == 4
    assert not unfinished_run.exists()


def test_overwriting_outputs_does_not_stop_resuming(cli, web, unfinished_run, tmp_path):
    (tmp_path / "out.csv").write_text("mine")
    line = ("run", "pagerank", web, "--checkpoint", unfinished_run, "--tol", 0, "--max-iter", 4)
    shown = cli(*line, "--resume", "--overwrite", "--out", tmp_path / "out.csv", "--json")
    assert shown.data["stats"]["iterations"] == 2


def test_python_refuses_too(web, unfinished_run):
    graph = ps.open(web)
    with pytest.raises(TargetExistsError, match=r"overwrite=True"):
        ps.pagerank(graph, checkpoint=unfinished_run, tol=0, max_iter=4)
    found = ps.pagerank(graph, checkpoint=unfinished_run, tol=0, max_iter=4, overwrite=True)
    assert found.stats["iterations"] == 4


# Experiments


def test_results_of_an_earlier_benchmark_are_not_replaced(cli, tmp_path):
    line = (
        "bench", "dynamic", "--scale", 6, "--repeat", 1, "--experiments", "construction",
        "--out", tmp_path, "--pictures", "svg",
    )  # fmt: skip
    (tmp_path / "results.json").write_text("mine")
    shown = cli(*line)
    assert "results.json: already exists" in shown.error
    assert [each.name for each in tmp_path.iterdir()] == ["results.json"]
    assert cli(*line, "--overwrite", "--json").code == 0
    assert json.loads((tmp_path / "results.json").read_text())["suite"]
    (tmp_path / "results.json").unlink()
    assert "already exists" in cli(*line).error
