"""``G[node]`` of a stored graph is what it is in NetworkX."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.errors import BudgetError
from penstock.interfaces.nx import stored


def make(kind, directed, duplicates, tmp_path):
    """A graph with ids that leave gaps, two columns, loops and pairs that occur twice."""
    rng = np.random.default_rng(5)
    src, dst = 10 * rng.integers(0, 30, (2, 150))
    table = {
        "from": src, "to": dst, "cost": rng.random(150).astype(np.float32),
        "year": rng.integers(2**53, 2**54, 150),
    }  # fmt: skip
    import pandas as pd

    if kind == "live":
        graph = ps.DynamicGraph(
            directed=directed, multigraph=duplicates == "keep",
            edge_properties={"cost": "float32", "year": "int64"},
        )  # fmt: skip
        graph.add_edges(src, dst, {"cost": table["cost"], "year": table["year"]})
        return graph
    return ps.build(
        pd.DataFrame(table), tmp_path / "g.penstock", directed=directed, duplicates=duplicates,
        weights="cost", attributes=["year"],
    )  # fmt: skip


def same(found, right):
    """Equal; parallel edges may have other numbers."""
    if isinstance(right, str) or "cost" in right:
        return found == right
    return list(found) == list(right) and sorted(map(str, found.values())) == sorted(
        map(str, right.values())
    )


@pytest.mark.parametrize("kind", ["stored", "live"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("duplicates", ["last", "keep"])
def test_neighbours_and_edges_are_those_of_networkx(kind, directed, duplicates, tmp_path):
    graph = make(kind, directed, duplicates, tmp_path)
    right, found = graph.to_networkx(), graph.nx()
    for u in right:
        assert list(found[u]) == sorted(right[u])
        assert len(found[u]) == len(right[u])
        for v in [*right, 5, 0, 1, "x"]:
            assert (v in found[u]) == (v in right[u])
            assert same(found[u].get(v, "none"), right[u].get(v, "none"))
            if v in right[u] and not directed:
                assert found[u][v] == found[v][u]
            if v not in right[u]:
                with pytest.raises(KeyError):
                    found[u][v]
    with pytest.raises(KeyError):
        found[5]


def test_an_edge_that_is_not_there_is_a_key_error():
    graph = ps.from_edges([0, 0, 0], [7, 8, 9]).nx()
    for position in (0, 1, 2, -1):
        with pytest.raises(KeyError):
            graph[0][position]
    assert graph[0][8] == {}
    assert 1 not in graph[0]
    assert list(graph[7]) == []
    assert graph[0][8.0] == {}


def test_weights_are_read_edge_by_edge():
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 4.0]).nx()
    assert sum(graph[u][v]["weight"] for u in graph for v in graph[u]) == 7


def test_columns_that_do_not_fit_are_not_loaded(monkeypatch):
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 4.0]).nx()
    near = graph[0]
    monkeypatch.setattr(stored, "memory_budget", lambda given: 50)
    assert 1 in near
    with pytest.raises(BudgetError, match="in memory"):
        near[1]
