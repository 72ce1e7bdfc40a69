"""What is true of every algorithm."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import penstock as ps
from penstock import algorithms
from penstock.engine.options import OPTION_NAMES
from penstock.errors import OptionError

NAMES = algorithms.names()


def test_they_are_all_in_the_package():
    assert set(NAMES) <= set(ps.__all__)
    assert tuple(NAMES) == ps._ALGORITHMS


@pytest.mark.parametrize("name", NAMES)
def test_it_is_documented(name):
    found = algorithms.find(name)
    assert getattr(ps, name) is found
    assert found.__doc__.splitlines()[0].endswith(".")
    for parameter in found.parameters:
        assert re.search(rf"^    {parameter}\b", found.__doc__, re.MULTILINE), parameter
    module = inspect.getmodule(found.verify)
    assert len(module.__doc__.strip().splitlines()) >= 4
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text()
    assert f"| `{name}` |" in page


@pytest.mark.parametrize("name", NAMES)
def test_its_example_is_true(name):
    found = algorithms.find(name)
    examples = doctest.DocTestParser().get_doctest(found.__doc__, {}, name, None, None)
    assert examples.examples
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples)
    assert outcome.failed == 0


@pytest.mark.parametrize("name", NAMES)
def test_it_takes_the_common_options(name):
    signature = inspect.signature(algorithms.find(name))
    assert set(OPTION_NAMES) <= set(signature.parameters)


@pytest.mark.parametrize("name", NAMES)
def test_its_needs_are_known_beforehand(name):
    graph = ps.from_edges([0, 1], [1, 2], [1.0, 2.0])
    found = algorithms.find(name)
    required = {
        key: 0 for key, each in found.parameters.items() if each.default is inspect.Parameter.empty
    }
    requirements = found.requirements(graph, **required)
    assert requirements
    for needs in requirements:
        assert needs.vertex_bytes >= 0
        assert needs.passes >= 0


def test_dashes_and_unknown_names():
    assert algorithms.find("degree-distribution").name == "degree_distribution"
    with pytest.raises(OptionError, match="pagerank"):
        algorithms.find("pagerunk")
