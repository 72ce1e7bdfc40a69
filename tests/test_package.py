"""The package as a whole: light to import, typed, documented, and of a readable size."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import penstock

HOME = Path(penstock.__file__).parent
HEAVY = (
    "numpy", "numba", "pyarrow", "typer", "rich", "dask", "distributed", "tornado", "cryptography",
)  # fmt: skip
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(penstock.__path__, "penstock.")
    if not module.name.endswith("__main__")
)
FILES = sorted(HOME.rglob("*.py"))


def loaded_after(code: str) -> set[str]:
    """Which heavy modules a fresh interpreter has loaded after some code."""
    ending = f"import sys, json; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{ending}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_is_light():
    assert loaded_after("import penstock") == set()


def test_info_is_light(tmp_path):
    penstock.generate("rmat", tmp_path / "g", scale=4)
    code = f"from penstock.interfaces.cli.main import run\nrun(['info', {str(tmp_path / 'g')!r}])"
    assert loaded_after(code) <= {"numpy", "typer"}


@pytest.mark.parametrize("command", ["build", "hosts", "worker", "scheduler", "certificates"])
def test_help_is_light(command):
    code = f"from penstock.interfaces.cli.main import run\nrun(['{command}', '--help'])"
    assert loaded_after(code) <= {"typer", "rich"}


def test_version_is_that_of_the_distribution():
    assert penstock.__version__ == version("penstock")


def test_typed():
    assert (HOME / "py.typed").is_file()


@pytest.mark.parametrize("name", sorted(penstock.__all__))
def test_public_names_exist_and_are_documented(name):
    assert getattr(penstock, name).__doc__
    assert name in dir(penstock)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = penstock.nothing


@pytest.mark.parametrize("name", ["penstock", *MODULES])
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_files_and_functions_are_short(path):
    text = path.read_text()
    lines = text.count("\n")
    assert lines <= 400, f"{path.name} has {lines} lines, 400 are allowed"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # The docstring explains; it is not what has to be kept short.
            first = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0]
            length = (node.end_lineno or 0) - first.lineno + 1
            # A kernel can call only what is in its own file, so it may be a little longer.
            decorators = {ast.unparse(each) for each in node.decorator_list}
            limit = 80 if decorators & {"kernel", "helper"} else 60
            assert length <= limit, f"{node.name} has {length} lines"


#: What says where lists are, who works on them, and what memory there is; verbs of the engine know.
HIDDEN = {
    "is_resident", "is_tiered", "resident", "tier", "block_of", "workers", "threads", "streams",
    "budget", "plan", "page_table", "pages", "drop_cache", "lists", "timed_call", "per_stream",
}  # fmt: skip


@pytest.mark.parametrize("file", sorted((HOME / "algorithms").glob("*.py")), ids=lambda f: f.name)
def test_an_algorithm_does_not_ask_where_lists_are(file):
    """The import rule (pyproject.toml) keeps pages, threads and devices out; this does the rest."""
    used = {
        node.attr
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name | ast.Attribute)
        and ast.unparse(node.value).endswith(("engine", "task", "options", "lists", "graph"))
    }
    assert used & HIDDEN == set()


#: Functions of the engine that are there for algorithms, by the modules that they are in.
VERBS = {
    "engine": "scan traverse reduce select map_ranges run_per_thread call",
    "frontiers": "open_frontier",
    "whole_lists": "WholeLists all_lists all_sides",
    "ordered": "scan_in_order scan_joined best_end",
    "sharing": "map_shares map_chunks one_at_a_time Scratch shared_from",
    "edge_rows": "mark_neighbours collect_edges",
    "pairs": "Pairs",
}


def algorithms_that_reach(start: set[str]) -> set[str]:
    """The public algorithms that import some modules, or others that do."""
    files = [*(HOME / "algorithms").glob("*.py"), *(HOME / "engine").glob("*.py")]
    texts = {f"{file.parent.name}.{file.stem}": file.read_text() for file in files}
    verbs = {f"engine.{name}" for name in VERBS} - {"engine.engine"}
    reached = set(start)
    while True:
        further = {
            name for name, text in texts.items()
            if name.startswith("algorithms.") or name in verbs
            if any(f"penstock.{each} import" in text for each in reached)
        }  # fmt: skip
        if further <= reached:
            return {name for name in reached if re.match(r"algorithms\.[a-z]", name)}
        reached |= further


@pytest.mark.parametrize(
    ("module", "verb"), [(m, v) for m, verbs in VERBS.items() for v in verbs.split()]
)
def test_two_algorithms_use_a_verb(module, verb):
    called = re.compile(rf"\.{verb}\(" if module == "engine" else rf"(?<!def )\b{verb}\(")
    files = [*(HOME / "algorithms").glob("*.py"), *(HOME / "engine").glob("*.py")]
    callers = {
        f"{file.parent.name}.{file.stem}" for file in files if called.search(file.read_text())
    }
    assert len(algorithms_that_reach(callers - {"engine.engine"})) >= 2, callers
