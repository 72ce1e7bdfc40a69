"""Errors are one line and an exit code; signals clean up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from penstock.errors import BudgetError, CorruptionError, OptionError
from penstock.interfaces import api
from penstock.interfaces.cli._failures import exit_code, message


def test_wrong_usage(cli):
    for line in ("bild", "build", "build one", "info", "info --foo x", "generate foo g", "export"):
        assert cli(*line.split()).code == 2
        assert cli(*line.split()).error


@pytest.mark.parametrize(
    "option",
    [
        ("--duplicates", "some"),
        ("--memory", "lots"),
        ("--threads", "0"),
        ("--page-size", "1000"),
        ("--physical-ids", "9,9"),
        ("--physical-ids", "two"),
        ("--columns", "0"),
        ("--format", "word"),
        ("--duplicates", "min"),
    ],
)
def test_unusable_option_values(cli, edges, tmp_path, option):
    shown = cli("build", edges, tmp_path / "g", *option)
    assert shown.code == 2
    assert shown.error
    assert os.listdir(tmp_path) == ["edges.csv"]


def test_missing_things(cli, tmp_path):
    assert "no such graph" in cli("info", tmp_path / "none").error
    assert cli("verify", tmp_path / "none").code == 1
    assert cli("export", tmp_path / "none", tmp_path / "x.csv").code == 1
    assert cli("build", tmp_path / "none.txt", tmp_path / "g").code == 1
    assert os.listdir(tmp_path) == []


def test_bad_line_names_file_and_line(cli, tmp_path):
    (tmp_path / "e.txt").write_text("1 2\n3 x\n")
    shown = cli("build", tmp_path / "e.txt", tmp_path / "g")
    assert shown.code == 1
    assert "e.txt:2" in shown.error
    assert os.listdir(tmp_path) == ["e.txt"]


def test_existing_target(cli, graph, edges):
    shown = cli("build", edges, graph)
    assert shown.code == 1
    assert "already exists" in shown.error
    assert "--overwrite" in shown.error
    assert cli("build", edges, graph, "--overwrite").code == 0


def test_over_budget(cli, edges, tmp_path):
    limits = ("--num-vertices", 100_000_000, "--memory", "20MB")
    shown = cli("build", edges, tmp_path / "g", *limits)
    assert shown.code == 3
    assert "memory" in shown.error
    assert os.listdir(tmp_path) == ["edges.csv"]


def test_json_errors_are_one_object_too(cli, tmp_path):
    shown = cli("info", tmp_path / "none", "--json")
    assert shown.data["exit_code"] == shown.code == 1
    assert shown.data["kind"] == "InputNotFoundError"
    assert shown.data["error"] in shown.error
    assert cli("info", "--json").data["exit_code"] == 2


def test_debug_shows_where(cli, tmp_path):
    shown = cli("info", tmp_path / "none", "--debug")
    assert shown.code == 1
    assert "Traceback" in shown.err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError("Unable to allocate 9 TiB"), 3, "9 TiB"),
        (BudgetError("too much"), 3, "too much"),
        (OptionError("two\nlines\x1b[31m"), 2, "two lines\\x1b[31m"),
        (CorruptionError("page 7"), 1, "page 7"),
        (PermissionError(13, "Permission denied", "/x"), 1, "/x: Permission denied"),
        (ZeroDivisionError("oh"), 1, "unexpected ZeroDivisionError"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_of_all_kinds(cli, monkeypatch, tmp_path, error, code, words):
    def fail(*args: object, **rest: object) -> None:
        raise error

    monkeypatch.setattr(api, "generate", fail)
    shown = cli("generate", "rmat", tmp_path / "g")
    assert shown.code == code
    assert words in shown.error


def test_a_signal_decides_the_code():
    assert exit_code(KeyboardInterrupt(), signal.SIGTERM) == 143
    assert message(KeyboardInterrupt(), 143).startswith("terminated")


COMMAND = [sys.executable, "-m", "penstock"]


@pytest.mark.parametrize(
    ("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_leave_nothing(tmp_path, signum, code):
    child = subprocess.Popen(
        [*COMMAND, "generate", "rmat", "g.penstock", "--scale", "24", "--memory", "200MB"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        # Under nohup it would rightly ignore a hang-up.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    _wait_until(lambda: os.listdir(tmp_path), child)
    child.send_signal(signum)
    err = child.communicate(timeout=120)[1]
    assert child.returncode == code
    assert err.count("\n") == 1
    assert os.listdir(tmp_path) == []


def _wait_until(condition, child):
    end = time.monotonic() + 120
    while not condition():
        assert child.poll() is None, "the command ended too early"
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def test_a_reader_that_goes_away_is_no_error(graph):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*COMMAND, "info", str(graph)], stdout=write_end, stderr=subprocess.PIPE, check=False
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, b"")


def test_full_output(graph):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "info", str(graph)], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1


def test_any_locale(graph):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(
        [*COMMAND, "info", str(graph)], env=environment, capture_output=True, check=True
    )
    assert b"#" in done.stdout
    assert done.stdout.isascii()
