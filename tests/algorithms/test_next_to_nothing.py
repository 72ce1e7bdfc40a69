"""Graphs with next to nothing in them, by every algorithm that has a value for each vertex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traversal_making import build

import penstock as ps
from penstock.algorithms import find
from penstock.errors import FormatError


def zeros(n: int) -> list[int]:
    return [0] * n


def own_ids(n: int) -> list[int]:
    return list(range(n))


#: The values without edges, and what the stats say then.
EXPECTED: dict[str, tuple[Callable[[int], list[int]], dict[str, Any]]] = {
    "closeness": (zeros, {}),
    "clustering": (zeros, {"average": 0}),
    "connected_components": (own_ids, {}),
    "core_number": (zeros, {}),
    "k_core": (zeros, {"k": 0}),
    "label_propagation": (own_ids, {}),
    "minimum_spanning_forest": (own_ids, {"weight": 0.0, "edges": 0}),
    "radius": (zeros, {"diameter": 0, "radius": 0}),
    "strongly_connected_components": (own_ids, {}),
    "triangles": (zeros, {"total": 0}),
    "truss_number": (zeros, {"largest": 0}),
}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", EXPECTED)
def test_without_edges(name, directed):
    algorithm, (values, stats) = find(name), EXPECTED[name]
    for n in (0, 1, 2):
        graph = ps.from_edges([], [], directed=directed, num_vertices=n)
        found = algorithm(graph)
        assert found.ids.tolist() == own_ids(n)
        assert found.values.tolist() == values(n)
        assert {each: found.stats[each] for each in stats} == stats
        assert not algorithm.finds_edges or len(found.edges) == 0
        algorithm.verify(graph, found)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "k_core"])
def test_a_loop_alone_changes_nothing(name, directed):
    algorithm, (values, stats) = find(name), EXPECTED[name]
    found = algorithm(ps.from_edges([0], [0], [2.0], directed=directed))
    assert found.values.tolist() == values(1)
    assert {each: found.stats[each] for each in stats} == stats


@pytest.mark.parametrize("name", ["clustering", "scan", "triangles", "truss_number"])
@pytest.mark.parametrize(("there", "missing"), [("out", "in"), ("in", "out")])
def test_one_direction_is_not_enough(name, there, missing, tmp_path):
    arrays = (np.array([0, 1, 2]), np.array([1, 2, 0]))
    graph = build(tmp_path / "g", arrays, directions=there)
    with pytest.raises(FormatError, match=f"without its {missing}-lists.*both"):
        find(name)(graph)
