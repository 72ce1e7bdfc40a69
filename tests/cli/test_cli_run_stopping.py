"""``penstock run``: signals, checkpoints, and going on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from penstock.engine.engine import Engine

COMMAND = [sys.executable, "-m", "penstock", "run"]
ENDLESS = ("--tol", "0", "--max-iter", "100000000")


def start(graph, *options):
    return subprocess.Popen(
        [*COMMAND, "pagerank", str(graph), *ENDLESS, *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stop_when(child, condition, signum):
    end = time.monotonic() + 120
    while not condition():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    child.send_signal(signum)
    return child.communicate(timeout=60)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_checkpoint(cli, web, tmp_path, signum, code):
    folder = tmp_path / "saved"
    saved = folder / "state.checkpoint"
    child = start(web, "--checkpoint", folder, "--checkpoint-every", 50)
    out, err = stop_when(child, saved.exists, signum)
    assert (child.returncode, out) == (code, "")
    assert "--resume" in err.splitlines()[-1]
    assert str(folder) in err
    step = int(err.split("saved after step ")[1].split()[0])
    line = ("run", "pagerank", web, "--tol", 0, "--max-iter", step + 3, "--json")
    resumed = cli(*line, "--checkpoint", folder, "--resume")
    assert f"going on after step {step}" in resumed.err
    assert resumed.data["stats"]["iterations"] == 3
    assert resumed.data["top"] == cli(*line).data["top"]
    assert not folder.exists()


def signalled_in_step_3(monkeypatch, signum):
    """From now on a run is sent a signal in its third step; the list is of the steps begun."""
    begun = []
    step = Engine.step

    def interrupted_step(engine, **facts):
        begun.append(facts)
        if len(begun) == 3:
            os.kill(os.getpid(), signum)
        return step(engine, **facts)

    monkeypatch.setattr(Engine, "step", interrupted_step)
    return begun


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_without_a_checkpoint_a_signal_ends_it(cli, web, tmp_path, monkeypatch, signum, code):
    begun = signalled_in_step_3(monkeypatch, signum)
    shown = cli("run", "pagerank", web, *ENDLESS, "--out", tmp_path / "out.csv")
    assert (shown.code, shown.out, len(begun)) == (code, "", 3)
    assert "nothing unfinished was left behind" in shown.error
    assert os.listdir(tmp_path) == []


def test_default_checkpoint_is_beside_the_graph(web):
    folder = web.parent / ".web.penstock.pagerank.checkpoint"
    child = start(web, "--checkpoint-every", 50)
    _, err = stop_when(child, (folder / "state.checkpoint").exists, signal.SIGINT)
    assert str(folder) in err
    child = start(web, "--resume")
    _, err = stop_when(child, (folder / "lock").exists, signal.SIGINT)
    assert "going on after step" in err
    (folder / "state.checkpoint").unlink()
    folder.rmdir()


def test_resume_without_a_checkpoint_starts_anew(cli, web):
    shown = cli("run", "pagerank", web, "--resume")
    assert shown.code == 0
    assert "starting from step 0" in shown.error
    assert os.listdir(web.parent) == ["web.penstock"]


def test_a_checkpoint_of_another_run_is_refused(cli, web, tmp_path, monkeypatch):
    folder = tmp_path / "saved"
    with monkeypatch.context() as patch:
        signalled_in_step_3(patch, signal.SIGINT)
        assert cli("run", "pagerank", web, *ENDLESS, "--checkpoint", folder).code == 130
    assert (folder / "state.checkpoint").exists()
    shown = cli("run", "pagerank", web, "--alpha", 0.5, "--checkpoint", folder, "--resume")
    assert shown.code == 2
    assert "alpha" in shown.error
    assert (folder / "state.checkpoint").exists()
