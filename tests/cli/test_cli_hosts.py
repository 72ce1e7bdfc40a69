"""``--hosts`` and the commands around it, as far as nothing has to be started."""

from __future__ import annotations

import json

import pytest

import penstock as ps
from penstock.interfaces.cli.main import run


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosts") / "g.penstock"
    ps.generate("rmat", folder, scale=7)
    return str(folder)


@pytest.mark.parametrize("hosts", ["4", "ssh:h1,h2,h3,h4"])
def test_plan_for_hosts_that_are_not_there(path, hosts, capsys):
    assert run(["plan", "pagerank", path, "--hosts", hosts, "--memory", "50MB", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["hosts"] == 4
    assert data["memory"] == 50_000_000
    assert 0 < data["value_bytes"] < data["memory_bytes"] <= data["memory"]
    assert 0 < data["received_bytes"] <= 4 * 128
    assert data["page_bytes"] <= data["all_page_bytes"]
    assert "seconds" not in data  # not known


def test_plan_for_people(path, capsys):
    assert run(["plan", "pagerank", path, "--hosts", "ssh:h1,h2"]) == 0
    text = capsys.readouterr().out
    assert "ranks     2; what follows is for the one with the most" in text
    assert "an iteration at most" in text
    assert "the others were not asked" in text
    assert run(["plan", "bfs", path, "--source", "0", "--hosts", "2"]) == 0
    assert "depends on the frontier" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "pagerank", "--hosts", "2", "--measure"], "measure: is for one host"),
        (["plan", "pagerank", "--hosts", "2", "--device", "gpu"], "device: is for one host"),
        (["plan", "pagerank", "--hosts", "slurm"], "known within srun only"),
        (["plan", "k-core", "--hosts", "2", "--k", "3"], "runs on one host only"),
        (["plan", "pagerank", "--insecure"], "insecure: is for several hosts"),
        (["run", "pagerank", "--tls", "somewhere"], "tls: is for several hosts"),
        (["run", "pagerank", "--hosts", "mpi"], "not available yet"),
        (["run", "pagerank", "--hosts", "slurm"], "SLURM_PROCID is not set"),
    ],
)
def test_what_is_refused(path, words, message, capsys, monkeypatch):
    for name in ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)
    command, algorithm, *options = words
    assert run([command, algorithm, path, *options]) == 2
    assert message in capsys.readouterr().err


def test_certificates(tmp_path, capsys):
    pytest.importorskip("cryptography", reason="needs penstock[cluster]")
    folder = tmp_path / "tls"
    assert run(["certificates", str(folder), "--for", "h1, h2"]) == 0
    assert f"{folder / 'h2'}: for h2; copy it there" in capsys.readouterr().out
    for each in (folder, folder / "h1", folder / "h2"):
        assert {file.name for file in each.iterdir()} >= {"ca.pem", "cert.pem", "key.pem"}
    assert run(["certificates", str(folder), "--for", "h2"]) == 1
    assert "has a certificate already" in capsys.readouterr().err
    assert run(["certificates", str(folder), "--for", "h2", "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["folders"] == [str(folder), str(folder / "h2")]


def test_a_key_for_all_to_read_is_refused(tmp_path, capsys):
    pytest.importorskip("cryptography", reason="needs penstock[cluster]")
    folder = tmp_path / "tls"
    assert run(["certificates", str(folder)]) == 0
    (folder / "key.pem").chmod(0o644)
    assert run(["worker", "tls://127.0.0.1:1", "--tls", str(folder)]) == 1
    assert "can be read by others" in capsys.readouterr().err
