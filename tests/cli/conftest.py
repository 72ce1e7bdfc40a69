from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.interfaces.cli.main import run


@dataclass
class Outcome:
    """What a command line did."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object, which must be all there is on stdout."""
        assert self.out.count("\n") == 1
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    @property
    def error(self) -> str:
        """The one line on stderr."""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("penstock: ")
        return self.err


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def call(*args: object) -> Outcome:
        capsys.readouterr()
        code = run([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """Five edges with a weight and a label, one of them twice, one a loop."""
    path = tmp_path / "edges.csv"
    path.write_text(
        "from,to,cost,year\n10,20,1.5,1999\n20,30,2,2000\n10,20,2.5,2001\n30,30,4,2002\n"
        "30,40,8,2003\n"
    )
    return path


@pytest.fixture
def graph(cli: Callable[..., Outcome], edges: Path, tmp_path: Path) -> Path:
    path = tmp_path / "g.penstock"
    made = cli("build", edges, path, "--weights", "cost", "--attribute", "year")
    assert made.code == 0, made.err
    return path


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of several pages, for algorithms."""
    path = tmp_path_factory.mktemp("web") / "web.penstock"
    ps.generate("rmat", path, scale=14)
    return path
