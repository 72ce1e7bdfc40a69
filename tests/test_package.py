"""The package as a whole: light to import, typed, documented, and of a readable size."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import penstock

HOME = Path(penstock.__file__).parent
HEAVY = ("numpy", "numba", "pyarrow", "typer", "rich")
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


def test_help_is_light():
    code = "from penstock.interfaces.cli.main import run\nrun(['build', '--help'])"
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
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # The docstring explains; it is not what has to be kept short.
            first = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0]
            length = (node.end_lineno or 0) - first.lineno + 1
            # A kernel can call only what is in its own file, so it may be a little longer.
            decorators = {ast.unparse(each) for each in node.decorator_list}
            limit = 80 if decorators & {"kernel", "helper"} else 60
            assert length <= limit, f"{node.name} has {length} lines"
