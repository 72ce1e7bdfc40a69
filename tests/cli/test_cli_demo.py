"""The demo needs nothing and leaves nothing."""

from __future__ import annotations

import os
import tempfile

import pytest

import penstock as ps


@pytest.fixture
def empty_tmp(tmp_path, monkeypatch):
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_demo_shows_everything_and_leaves_nothing(cli, empty_tmp):
    shown = cli("demo", "--scale", 10)
    assert shown.code == 0
    for words in ("1,024 vertices", "built", "verified", "0 problems", "Most edges", "->"):
        assert words in shown.out
    for words in ("ranked", "searched", "Highest PageRank", "reached"):
        assert words in shown.out
    assert "penstock build" in shown.out
    assert os.listdir(empty_tmp) == []


def test_demo_json(cli, empty_tmp):
    data = cli("demo", "--scale", 10, "--json").data
    assert data["num_vertices"] == 1024
    assert data["verified"]["problems"] == 0
    assert data["path"] is None
    assert len(data["pagerank"]["top"]) == 5
    assert data["bfs"]["source"] == data["pagerank"]["top"][0][0]
    assert data["bfs"]["levels"][0] == 1


def test_demo_keeps_the_graph_if_asked(cli, tmp_path):
    keep = tmp_path / "new" / "place"
    shown = cli("demo", "--scale", 8, "--keep", keep)
    assert shown.code == 0
    assert str(keep / "demo.penstock") in shown.out
    assert ps.open(keep / "demo.penstock").num_vertices == 256
    assert cli("demo", "--scale", 8, "--keep", keep).code == 1
    assert cli("demo", "--scale", 8, "--keep", keep, "--overwrite").code == 0


def test_demo_cleans_up_when_it_fails(cli, empty_tmp):
    assert cli("demo", "--scale", 99).code == 2
    assert os.listdir(empty_tmp) == []
