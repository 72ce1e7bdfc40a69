"""Graphs and results that are made once."""

from __future__ import annotations

import pytest

import penstock as ps

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    return ps.generate("rmat", tmp_path_factory.mktemp("plot") / "web.penstock", scale=8)


@pytest.fixture(scope="module")
def traced(web):
    """A run with its trace."""
    return ps.pagerank(web, load=False, streams=2, trace=web.path.parent / "t.json")
