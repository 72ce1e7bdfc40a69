"""Options that are made of an algorithm's parameters."""

from __future__ import annotations

from typing import Literal

import pytest

import penstock as ps
from penstock.engine.algorithm import Algorithm, Vertex, VertexValues, Vertices
from penstock.engine.parameters import named_kind
from penstock.interfaces.cli._algorithm_options import (
    own_options,
    own_values,
    parameter_help,
)

Letter = Literal["a", "b"]
STATS = {
    *("seconds", "iterations", "edges_traversed", "bytes_read", "cache_hits", "peak_memory"),
    *("io_seconds", "kernel_seconds"),
}


def test_options_from_a_function():
    def example(task, source: Vertex, depth: int | None = None, kind: Letter = "a", fast=False):
        """For this test."""

    made = Algorithm(example, requirements=None, verify=None)  # type: ignore[arg-type]
    made.parameters["fast"] = made.parameters["fast"].replace(annotation=bool)
    options = {option.name: option for option in own_options(made)}
    assert options["source"].required
    assert [options[name].default for name in ("depth", "kind", "fast")] == [None, "a", False]
    assert options["fast"].is_flag


def test_named_kind():
    kinds = (Vertex, Vertices | None, VertexValues, int | None, Literal["x"], bool)
    assert [named_kind(each) for each in kinds] == [
        "vertex", "vertices", "vertex values", None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["7"], 7.0),
        (["1=2.5", "3=-1"], {1: 2.5, 3: -1.0}),
        (["@values.txt", "9=1e3"], {4: 0.5, 5: 2.0, 9: 1000.0}),
    ],
)
def test_values_of_vertices(given, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "values.txt").write_text("4 0.5\n\n5,2\n")
    graph = ps.from_edges([0], [1])
    made = Algorithm(_valued, requirements=None, verify=None)  # type: ignore[arg-type]
    assert own_values(made, graph, {"values": given}) == {"values": expected}
    assert own_values(made, graph, {"values": []}) == {"values": None}


@pytest.mark.parametrize("given", ["a=b", "=3", "7 seven", "@nowhere.txt"])
def test_values_that_are_none(given):
    made = Algorithm(_valued, requirements=None, verify=None)  # type: ignore[arg-type]
    with pytest.raises(ps.PenstockError, match="values"):
        own_values(made, ps.from_edges([0], [1]), {"values": [given, "1=2"]})


def _valued(task, values: VertexValues = None):
    """For these tests."""


def test_several_vertices_and_their_names(tmp_path):
    made = Algorithm(_sourced, requirements=None, verify=None)  # type: ignore[arg-type]
    (tmp_path / "ids").write_text("x=1\ny z\n")
    named = ps.from_edges(["x=1"], ["y z"])
    assert own_values(made, named, {"source": [f"@{tmp_path / 'ids'}"]}) == {
        "source": ["x=1", "y z"]
    }
    assert own_values(made, ps.from_edges([0], [1]), {"source": ["1"]}) == {"source": 1}


def _sourced(task, source: Vertices):
    """For this test."""


def test_parameter_help_of_several_sections():
    text = """One line.

    Parameters
    ----------
    a, b
        Two ``things``,
        explained.

        More.
    c : int
        A third.

    Returns
    -------
    d
        Not one.
    """
    explained = "Two things, explained. More."
    assert parameter_help(text) == {"a": explained, "b": explained, "c": "A third."}
