"""The bench itself, and each campaign for a few cases."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import penstock as ps
from penstock import algorithms, config
from penstock.ingest import options as build_options
from torture import _campaign, _stores, budgets, differential
from torture.__main__ import main as bench
from torture._graphs import STORES
from torture._oracles import CHECKS

FAKE = """
import os, signal, subprocess, sys, time
from torture import found, ok, skipped

NAME = "fake"
DESCRIPTION = "Does what its cases say."
CATEGORIES = ("do",)
TIMEOUT_SECONDS = 60


def cases(seed):
    for number in range(12):
        yield {"do": "ok", "number": number} if number != 5 else {"do": DO, "number": 40}


def run(case, workspace):
    (workspace / "tried").open("a").write("x")
    if case["do"] == "find" and case["number"] >= 7:
        return found("seven or more\\nit is " + str(case["number"]))
    if case["do"] == "raise":
        raise KeyError("nothing there")
    if case["do"] == "skip":
        return skipped("not here")
    if case["do"] == "crash":
        print("last words", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if case["do"] == "tell":
        return found(os.environ.get("NUMBA_BOUNDSCHECK", "unset"))
    if case["do"] == "exit":
        os._exit(3)
    if case["do"] == "hang":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        open(os.environ["FAKE_CHILD"], "w").write(str(child.pid))
        time.sleep(1000)
    if case["do"] == "eat":
        eaten = bytearray(b"x" * (400 << 20))
        time.sleep(1000)
    return ok()


def shrink(case):
    yield {**case, "number": case["number"] // 2}
    yield {**case, "number": case["number"] - 1}


def snippet(case):
    return "do(" + repr(case["number"]) + ")"
"""


@pytest.fixture
def fake(tmp_path):
    """Write a campaign whose sixth case does something; give its path."""

    def write(what):
        path = tmp_path / "fake.py"
        path.write_text(FAKE.replace("DO,", f"{what!r},"))
        return str(path)

    return write


def run(*arguments, tmp_path):
    """Exit code and report of a run."""
    report = tmp_path / "report.json"
    code = bench([*arguments, "--jobs", "1", "--report", str(report)])
    return code, json.loads(report.read_text())["campaigns"][0]


def test_nothing_found(fake, tmp_path):
    code, report = run(fake("ok"), "--cases", "100", tmp_path=tmp_path)
    assert code == 0
    assert report["statuses"] == {"ok": 12}
    assert report["categories"] == {"do": {"ok": 12}}


def test_skipped_with_a_reason(fake, tmp_path):
    code, report = run(fake("skip"), "--cases", "100", tmp_path=tmp_path)
    assert code == 0
    assert report["skip_reasons"] == {"not here": 1}


def test_findings_are_minimised(fake, tmp_path, capsys):
    code, report = run(fake("find"), "--cases", "100", tmp_path=tmp_path)
    assert code == 1
    (finding,) = report["findings"]
    assert finding["headline"] == "seven or more"
    assert finding["case"]["number"] == 40
    assert finding["minimal"]["number"] == 7
    assert finding["text"] == "seven or more\nit is 7"
    capsys.readouterr()
    assert bench([finding["command"].split()[3], "--case", json.dumps(finding["minimal"])]) == 1
    assert "do(7)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("what", "options", "headline"),
    [
        ("raise", (), "KeyError in fake.py, run"),
        ("crash", (), f"worker killed by signal {int(signal.SIGSEGV)} (SIGSEGV)"),
        ("exit", (), "worker exited with code 3"),
        ("eat", ("--memory-mib", "300"), "took more than 300 MiB of memory"),
    ],
)
def test_found_without_help_of_the_campaign(what, options, headline, fake, tmp_path):
    arguments = fake(what), "--cases", "100", "--shrink-seconds", "0", *options
    code, report = run(*arguments, tmp_path=tmp_path)
    assert code == 1
    assert report["statuses"] == {"ok": 11, "found": 1}  # another worker went on
    assert report["findings"][0]["headline"] == headline
    assert report["findings"][0]["case"] == {"do": what, "number": 40}


@pytest.mark.parametrize(("options", "told"), [((), "unset"), (("--bounds-checks",), "1")])
def test_workers_have_bounds_checks_if_asked(options, told, fake, tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    _, report = run(fake("tell"), "--cases", "6", *options, tmp_path=tmp_path)
    assert report["findings"][0]["headline"] == told


def test_what_a_crashed_worker_printed_is_told(fake, tmp_path):
    _, report = run(fake("crash"), "--cases", "6", "--shrink-seconds", "0", tmp_path=tmp_path)
    assert "last words" in report["findings"][0]["text"]


def test_a_hang_is_ended_with_all_it_started(fake, tmp_path, monkeypatch):
    child = tmp_path / "child"
    monkeypatch.setenv("FAKE_CHILD", str(child))
    arguments = fake("hang"), "--cases", "100", "--timeout", "3", "--shrink-seconds", "0"
    _, report = run(*arguments, tmp_path=tmp_path)
    assert report["statuses"] == {"ok": 11, "found": 1}
    assert report["findings"][0]["headline"] == "did not end within 3 s"
    assert "fake.py" in report["findings"][0]["text"]  # where it was
    assert ends(int(child.read_text()))


def test_a_run_goes_on_where_it_stopped(fake, tmp_path):
    state = tmp_path / "state"
    fixed = fake("find"), "--state", str(state)
    _, first = run(*fixed, "--cases", "7", tmp_path=tmp_path)
    with open(state, "a") as file:
        file.write('{"campaign": "fa')  # the process was killed while it wrote
    before = len(state.read_text().splitlines())
    code, second = run(*fixed, "--cases", "100", tmp_path=tmp_path)
    assert first["statuses"] == {"ok": 6, "found": 1}
    assert second["statuses"] == {"ok": 11, "found": 1}
    assert code == 1  # what was found before still counts
    assert second["findings"] == first["findings"]
    assert len(state.read_text().splitlines()) - before == 12 - 7


def test_ctrl_c_writes_the_report(fake, tmp_path):
    child, report, state = (tmp_path / name for name in ("child", "report.json", "state"))
    command = [sys.executable, "-m", "torture", fake("hang"), "--minutes", "5", "--jobs", "1"]
    command += ["--report", str(report), "--state", str(state)]
    path = os.pathsep.join([str(_campaign.FOLDER.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "FAKE_CHILD": str(child)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        while not (child.exists() and child.read_text()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
    assert ends(int(child.read_text()))
    assert json.loads(report.read_text())["campaigns"][0]["statuses"] == {"ok": 5}
    code, rest = run(fake("ok"), "--state", str(state), "--cases", "100", tmp_path=tmp_path)
    assert code == 0
    assert rest["statuses"] == {"ok": 12}


def test_arguments_that_are_wrong(capsys):
    with pytest.raises(SystemExit) as error:
        bench(["no_such_campaign"])
    assert error.value.code == 2
    assert "no such campaign" in capsys.readouterr().err


def ends(pid):
    """Wait until a process that was killed is gone, or only waits to be reaped."""
    for _ in range(600):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("name", _campaign.names())
def test_cases_depend_on_the_seed_alone(name):
    campaign = _campaign.load(name)
    first, again, other = (list(itertools.islice(campaign.cases(s), 20)) for s in (1, 1, 2))
    assert json.loads(json.dumps(first)) == again
    assert other != first
    assert campaign.name == name


@pytest.mark.parametrize("name", _campaign.names())
def test_campaign_finds_nothing(name, tmp_path):
    quick_cases = _campaign.load(name).quick_cases
    code, report = run(name, "--cases", str(quick_cases), "--seed", "1", tmp_path=tmp_path)
    assert report["findings"] == []
    assert code == 0
    assert report["cases"] == quick_cases


@pytest.mark.parametrize(
    ("wrong", "headline"),
    [
        (lambda calls: True, "triangles: differs from the oracle"),
        (lambda calls: calls == 2, "triangles: not the same bits with other threads"),
    ],
    ids=["always", "with other options"],
)
def test_comparisons_find_a_wrong_value(wrong, headline, tmp_path, monkeypatch):
    # The campaign changes these for its process.
    monkeypatch.setattr(config, "MIN_BUDGET_BYTES", config.MIN_BUDGET_BYTES)
    monkeypatch.setattr(build_options, "MIN_PAGE_BYTES", build_options.MIN_PAGE_BYTES)
    original, calls = ps.triangles, []

    def triangles(*args, **kwargs):
        calls.append(args)
        result = original(*args, **kwargs)
        result.values[0] += wrong(len(calls))
        return result

    monkeypatch.setattr(ps, "triangles", triangles)
    case = next(each for each in differential.cases(1) if each["algorithm"] == "triangles")
    graph = {"n": 3, "edges": [[0, 1, 1], [1, 2, 1], [2, 0, 1]]}
    plain = {"ids": "int", "store": "memory", "weights": None, "run": {}, "verify": False}
    outcome = differential.run(case | {"graph": graph} | plain, tmp_path)
    assert (outcome.status, outcome.headline) == ("found", headline)


@pytest.mark.parametrize("store", STORES)
def test_snippets_run(store, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build_options, "MIN_PAGE_BYTES", build_options.MIN_PAGE_BYTES)
    monkeypatch.chdir(tmp_path)
    case = next(differential.cases(1)) | {"store": store, "ids": "string", "weights": "int32"}
    case |= {"algorithm": "connected_components", "parameters": {}, "run": {}}
    case["graph"] = {"n": 3, "edges": [[0, 1, 1], [1, 0, 2], [2, 2, 1]]}
    case.pop("directions", None)
    exec(differential.snippet(case), {})
    assert capsys.readouterr().out == "['vé00000' 'vé00000' 'vé00002']\n"


def test_every_algorithm_is_attacked():
    names = set(algorithms.names())
    tables = (budgets.PARAMETERS, differential._PARAMETERS, CHECKS, _stores._calls("plain"))
    for table in tables:
        assert set(table) == names
