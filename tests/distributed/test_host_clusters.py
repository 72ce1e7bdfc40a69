"""Clusters as users start them: schedulers and workers, ssh, Slurm; and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import penstock as ps
from penstock.distributed.certificates import write_certificates
from penstock.errors import OptionError, WorkerError
from penstock.interfaces.cli.main import run

psutil = pytest.importorskip("psutil", reason="needs penstock[cluster]")
pytest.importorskip("distributed", reason="needs penstock[cluster]")
pytest.importorskip("cryptography", reason="needs penstock[cluster]")

SECONDS = 60.0
PROGRAM = [sys.executable, "-m", "penstock"]
#: Takes the options that ssh takes, and runs the command here.
FAKE_SSH = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -G) echo "hostname 127.0.0.1"; exit 0;;
    -o) shift 2;;
    --) shift; break;;
    *) shift;;
  esac
done
case $1 in
  dead) echo "ssh: connect to host dead port 22: Connection refused" >&2; exit 255;;
esac
shift
exec sh -c "$*"
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return ps.generate("rmat", tmp_path_factory.mktemp("clusters") / "g.penstock", scale=7)


def start(*words, **options):
    return subprocess.Popen(
        [*PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **options,
    )  # fmt: skip


def end(process, number=signal.SIGTERM):
    """Stop a process; its exit code, and what it had said on stderr."""
    process.send_signal(number)
    _, said = process.communicate(timeout=SECONDS)
    return process.returncode, said


def address_of(process):
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return json.loads(line)["address"]


def wait_for(condition):
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert condition()


def children():
    """The processes that this one has started, and those that they have."""
    return set(psutil.Process().children(recursive=True))


def all_gone(processes):
    return not any(each.is_running() and each.status() != "zombie" for each in processes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tls") / "tls"
    write_certificates(made, ["h1"])
    return made


@pytest.fixture(scope="module")
def cluster(folder):
    """The address of a scheduler with two workers, who end when it does."""
    scheduler = start("scheduler", "--port", 0, "--tls", folder, "--json")
    address = address_of(scheduler)
    words = (
        "worker",
        address,
        "--tls",
        folder / "h1",
        "--threads",
        1,
        "--memory",
        "60MB",
        "--json",
    )
    workers = [start(*words) for _ in range(2)]
    for worker in workers:
        address_of(worker)
    yield address
    code, said = end(scheduler)
    assert code == 0
    # Those who were refused by what they had to show; nothing else went wrong.
    assert all("TLS handshake failed" in line for line in said.splitlines())
    for worker in workers:
        _, said = worker.communicate(timeout=SECONDS)
        assert (worker.returncode, said) == (0, "")


def test_ranks_on_workers(graph, folder, cluster):
    with ps.Hosts(cluster, tls=folder) as hosts:
        found = ps.pagerank(graph, hosts=hosts)
        described = hosts.describe()
    np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)
    assert found.stats["threads"] == 1
    assert [each["memory_bytes"] for each in described] == [60_000_000] * 2
    assert [each["threads"] for each in described] == [1, 1]
    assert all(each["address"].startswith("tls://127.0.0.1:") for each in described)


def test_who_is_there(graph, folder, cluster, capsys):
    words = ["hosts", "--hosts", cluster, "--tls", str(folder), "--graph", str(graph.path)]
    assert run([*words, "--measure", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["ranks"]
    assert [each["rank"] for each in rows] == [0, 1]
    for row in rows:
        assert (row["threads"], row["memory_bytes"]) == (1, 60_000_000)
        assert (row["stripes"], row["num_stripes"]) == ([0], 1)
        assert row["free_disk_bytes"] > 0
        assert row["exchange_ms"] > 0
        assert row["network_rate"] > 0
    assert len({row["pid"] for row in rows}) == 2
    assert run(["hosts", "--hosts", cluster, "--tls", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "2 ranks on 1 machine" in text
    assert "stripes" not in text


def test_dealing_and_cleaning_with_certificates(graph, folder, cluster, tmp_path, capsys):
    words = ["--hosts", cluster, "--tls", str(folder)]
    assert run(["deal", str(graph.path), "--to", str(tmp_path / "g.penstock"), *words]) == 2
    assert "there are 2 hosts and one place" in capsys.readouterr().err
    (tmp_path / ".g.penstock.dealing").mkdir()
    assert run(["clean", str(tmp_path), *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["found"]
    assert str(tmp_path / ".g.penstock.dealing") in [each["path"] for each in found]
    assert run(["clean", *words[:2]]) == 2
    assert "needs certificates" in capsys.readouterr().err


def test_a_client_without_a_certificate_is_refused(cluster):
    with pytest.raises(OptionError, match="needs certificates"):
        ps.Hosts(cluster)


def test_a_client_of_another_authority_is_refused(cluster, tmp_path):
    write_certificates(tmp_path / "other", [])
    with pytest.raises(WorkerError, match="no Dask scheduler at"):
        ps.Hosts(cluster, tls=tmp_path / "other")


def test_a_worker_of_another_authority_is_refused(cluster, tmp_path):
    write_certificates(tmp_path / "other", [])
    worker = start("worker", cluster, "--tls", tmp_path / "other")
    _, said = worker.communicate(timeout=SECONDS)
    assert worker.returncode == 1
    assert "refuses these certificates" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_ends_when_it_is_told(folder, cluster, number):
    worker = start("worker", cluster, "--tls", folder, "--json", start_new_session=True)
    address_of(worker)
    started = psutil.Process(worker.pid).children(recursive=True)
    assert started
    os.killpg(worker.pid, number)
    _, said = worker.communicate(timeout=SECONDS)
    assert (worker.returncode, said) == (0, "")
    wait_for(lambda: all_gone(started))


def test_a_worker_waits_for_its_scheduler():
    worker = start("worker", "tcp://127.0.0.1:1")
    assert "waiting for a scheduler at tcp://127.0.0.1:1" in worker.stderr.readline()
    assert end(worker) == (0, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scheduler", "--host", "0.0.0.0"], "is not encrypted"),
        (["worker", "tcp://10.1.2.3:8786"], "is not encrypted"),
        (["worker", "tls://10.1.2.3:8786"], "needs certificates"),
        (["worker", "tcp://127.0.0.1:8786", "--host", "10.1.2.3"], "is not encrypted"),
        (["worker", "h1"], "an address is tls://HOST:PORT"),
        (["worker", "tcp://127.0.0.1:1", "--threads", "0"], "threads: expected at least 1"),
        (["worker", "tcp://127.0.0.1:1", "--scratch", "/none"], "is not a folder"),
        (["hosts"], "hosts: not given"),
        (["hosts", "--hosts", "mpi"], "not available yet"),
        (["hosts", "--hosts", "tcp://10.1.2.3:8786"], "is not encrypted"),
    ],
)
def test_what_is_refused(words, message, capsys):
    assert run(words) == 2
    assert message in capsys.readouterr().err


# Clusters that a call starts


@pytest.fixture
def fake_ssh(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(FAKE_SSH)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def test_ssh(graph, fake_ssh):
    before = children()
    with ps.Hosts("ssh:h1,h2", threads=1) as hosts:
        started = children() - before
        found = ps.pagerank(graph, hosts=hosts)
        assert hosts.size == 2
        words = [word for each in started for word in each.cmdline()]
    np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)
    assert not any("PRIVATE" in word for word in words)
    assert len(started) > 4
    wait_for(lambda: all_gone(started))


def test_ssh_that_fails_names_the_host(fake_ssh):
    before = children()
    with pytest.raises(WorkerError, match=r"ssh dead: ended with exit code 255: .*refused"):
        ps.Hosts("ssh:h1,dead")
    wait_for(lambda: all_gone(children() - before))


def test_slurm(graph, tmp_path):
    names = {"JOB_ID": "7", "STEP_ID": "0", "NTASKS": "3", "NNODES": "1"}
    given = {f"SLURM_{name}": value for name, value in names.items()}
    words = ["run", "pagerank", graph.path, "--hosts", "slurm", "--json"]
    steps = [
        start(*words, cwd=tmp_path, env={**os.environ, **given, "SLURM_PROCID": str(rank)})
        for rank in range(3)
    ]
    found = [step.communicate(timeout=SECONDS) for step in steps]
    assert [step.returncode for step in steps] == [0, 0, 0], found
    data = json.loads(found[0][0])
    assert data["stats"]["hosts"] == 2
    assert data["estimate"] is None
    assert not list(tmp_path.iterdir())


def test_hosts_that_end_leave_workers_elsewhere_nothing(fake_ssh):
    """If the process with the call is killed, what it started ends by itself."""
    code = (
        "import penstock as p, time; p.Hosts('ssh:h1'); print('there', flush=True); time.sleep(99)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "there\n"
    started = psutil.Process(process.pid).children(recursive=True)
    assert len(started) > 2
    process.kill()
    process.communicate(timeout=SECONDS)
    wait_for(lambda: all_gone(started))


def test_ctrl_c(graph):
    words = ("run", "pagerank", graph.path, "--hosts", 2, "--tol", 0, "--max-iter", 1_000_000_000)
    process = start(*words, start_new_session=True)
    wait_for(lambda: len(busy_ranks(process.pid)) == 2)
    started = psutil.Process(process.pid).children(recursive=True)
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "penstock: interrupted; nothing unfinished was left behind"
    assert "Traceback" not in said
    assert time.monotonic() - begun < 20
    wait_for(lambda: all_gone(started))


def busy_ranks(pid):
    """The processes below one that ranks are open in: these listen, besides the worker's own."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        try:
            connections = child.net_connections("tcp")
        except psutil.NoSuchProcess:  # it has ended since
            continue
        if sum(each.status == "LISTEN" for each in connections) > 2:
            found.append(child)
    return found


def test_a_script_needs_no_main_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import penstock\nwith penstock.Hosts(2) as hosts:\n    print(hosts.size)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (0, "2\n")
