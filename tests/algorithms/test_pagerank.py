"""PageRank against NetworkX and by its own verifier."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.algorithms.pagerank import verify
from penstock.errors import ConvergenceError, OptionError, VerificationError

EDGES = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40)
    )
)


def both(n, edges, *, directed):
    src, dst = np.array(edges, int).reshape(-1, 2).T
    mine = ps.from_edges(src, dst, directed=directed, num_vertices=n)
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from(edges)
    if not directed:  # one entry a loop here, one there too: NetworkX's matrix has it once
        other = other.to_directed()
    return mine, other


@settings(max_examples=50)
@given(EDGES, st.booleans(), st.sampled_from([0.0, 0.5, 0.85]))
def test_equals_networkx(shape, directed, alpha):
    mine, other = both(*shape, directed=directed)
    found = ps.pagerank(mine, alpha=alpha, tol=1e-12, max_iter=1000, dtype="float64")
    expected = nx.pagerank(other, alpha=alpha, tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(found.values, [expected[v] for v in range(shape[0])], atol=1e-9)
    verify(mine, found)


@settings(max_examples=30)
@given(EDGES, st.booleans())
def test_push_and_async_end_at_the_same_ranks(shape, directed):
    mine, _ = both(*shape, directed=directed)
    options = {"tol": 1e-12, "max_iter": 2000, "dtype": "float64"}
    pulled = ps.pagerank(mine, **options).values
    np.testing.assert_allclose(ps.pagerank(mine, strategy="push", **options).values, pulled)
    np.testing.assert_allclose(ps.pagerank(mine, mode="async", **options).values, pulled, atol=1e-9)


def test_exactly_so_many_iterations():
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    for k in (0, 1, 7):
        result = ps.pagerank(graph, tol=0, max_iter=k)
        assert result.stats["iterations"] == k
    np.testing.assert_allclose(ps.pagerank(graph, tol=0, max_iter=0).values, 1 / 3)


def test_ranks_that_do_not_settle_are_an_error():
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    with pytest.raises(ConvergenceError, match="after 2 iterations"):
        ps.pagerank(graph, tol=1e-15, max_iter=2)


@pytest.mark.parametrize("wrong", [{"alpha": 1.5}, {"tol": -1.0}, {"max_iter": -1}])
def test_parameters_that_cannot_be(wrong):
    with pytest.raises(OptionError):
        ps.pagerank(ps.from_edges([0], [1]), **wrong)


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match="momery"):
        ps.pagerank(ps.from_edges([0], [1]), momery="1GB")


def test_verifier_finds_a_wrong_rank():
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    result = ps.pagerank(graph)
    result.values[0] += 0.01
    with pytest.raises(VerificationError, match="one more step"):
        verify(graph, result)


@pytest.mark.parametrize("directions", ["out", "in"])
def test_one_direction_only(tmp_path, directions):
    edges = ([0, 1, 2, 2, 3], [1, 2, 0, 1, 3])
    graph = ps.build(edges, tmp_path / "g.penstock", directions=directions)
    if directions == "in":
        with pytest.raises(ps.PenstockError, match="out-lists"):
            ps.pagerank(graph)
        return
    expected = ps.pagerank(ps.from_edges(*edges)).values
    np.testing.assert_allclose(ps.pagerank(graph).values, expected, rtol=1e-6)


def test_nothing_and_nobody():
    assert len(ps.pagerank(ps.from_edges([], []))) == 0
    np.testing.assert_allclose(ps.pagerank(ps.from_edges([], [], num_vertices=3)).values, 1 / 3)
