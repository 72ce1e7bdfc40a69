"""What cannot be written: errors name the file and say what to do, and nothing is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import AccessError, TargetExistsError

BEGIN = """
import resource, sys
import penstock as ps
from penstock.errors import DiskSpaceError
folder = sys.argv[1]
g = ps.open(f"{folder}/g.penstock")

def attempt(limit, call):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        call()
    except DiskSpaceError as error:
        print(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
"""

#: How each kind of file is written, what its error names, and the advice.
CASES = {
    "trace": (
        "attempt(2000, lambda: ps.bfs(g, 0, load=False, trace=f'{folder}/t.json'))",
        "t.json", "write to another folder",
    ),
    "parquet": (
        "r = ps.pagerank(g); attempt(2000, lambda: r.to_parquet(f'{folder}/r.parquet'))",
        "r.parquet", "write to another folder",
    ),
    "csv": (
        "r = ps.pagerank(g); attempt(2000, lambda: r.to_csv(f'{folder}/r.csv'))",
        "r.csv", "write to another folder",
    ),
    "edges": (
        "r = ps.minimum_spanning_forest(u).edges\n"
        "attempt(2000, lambda: r.to_parquet(f'{folder}/e.parquet'))",
        "e.parquet", "write to another folder",
    ),
    "checkpoint": (
        "attempt(2000, lambda: ps.pagerank(g, checkpoint=f'{folder}/c', checkpoint_every=1))",
        "c:", "checkpoint=",
    ),
    "state": (
        "from pathlib import Path\nimport numpy as np\nfrom penstock.engine.scratch import zeros\n"
        "attempt(2000, lambda: zeros(Path(folder), np.dtype('f8'), 1000, in_memory=False))",
        "", "tmpdir=",
    ),
    "index": (
        "attempt(2000, lambda: ps.scan(u, index=f'{folder}/i'))",
        "i:", "index=False",
    ),
    "export": (
        "from penstock.interfaces.export import export\n"
        "attempt(2000, lambda: export(g, f'{folder}/x.csv'))",
        "x.csv", "write to another folder",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits")
    ps.generate("rmat", folder / "g.penstock", scale=12, page_size="64KiB")
    g = ps.open(folder / "g.penstock")
    src, dst = g.to_edges()[:2]
    ps.build((src, dst, src * 1.0), folder / "u.penstock", directed=False)
    return folder


@pytest.mark.parametrize("case", CASES)
def test_a_file_that_would_be_larger_than_allowed(made: Path, case: str) -> None:
    call, name, advice = CASES[case]
    before = sorted(os.listdir(made))
    code = textwrap.dedent(BEGIN) + f"u = ps.open(f'{{folder}}/u.penstock')\n{call}\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(made)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"{made}/{name}".rstrip("/") in done.stdout
    assert "larger than the system allows; raise the limit (ulimit -f)" in done.stdout
    assert advice in done.stdout
    assert sorted(os.listdir(made)) == before


def test_a_trace_that_is_there_is_not_replaced_unasked(made: Path, tmp_path: Path) -> None:
    graph, path = ps.open(made / "g.penstock"), tmp_path / "t.json"
    path.write_text("mine")
    reported: list[Any] = []

    class Reporter:
        def start(self, *args: Any) -> None:
            reported.append(args)

        def advance(self, *args: Any) -> None:
            reported.append(args)

        def note(self, *args: Any) -> None:
            reported.append(args)

    with pytest.raises(TargetExistsError, match=r"t\.json: already exists.*overwrite=True"):
        ps.pagerank(graph, trace=path, progress=Reporter())
    assert (path.read_text(), reported) == ("mine", [])
    ps.pagerank(graph, trace=path, overwrite=True)
    assert json.loads(path.read_text())["traceEvents"]


@pytest.mark.parametrize("kind", ["pipe", "missing"])
def test_a_trace_that_cannot_be(made: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.json" if kind == "pipe" else tmp_path / "no" / "t.json"
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(OSError, match=r"regular file|no such directory"):
        ps.pagerank(ps.open(made / "g.penstock"), trace=path, overwrite=True)


def test_errors_of_another_file_are_not_blamed_on_the_target(tmp_path: Path) -> None:
    from penstock.files import unfinished

    with (
        pytest.raises(FileNotFoundError, match="other"),
        unfinished(tmp_path / "x", overwrite=False),
    ):
        (tmp_path / "other").read_bytes()
    with (
        pytest.raises(AccessError, match=r"x: cannot be written"),
        unfinished(tmp_path / "x", overwrite=False) as temporary,
    ):
        temporary.unlink()
