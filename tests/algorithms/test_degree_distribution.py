from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.algorithms.degree_distribution import verify
from penstock.errors import OptionError, VerificationError

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40)


@given(EDGES, st.booleans(), st.sampled_from(["out", "in", "both"]))
def test_counts_the_edges(edges, directed, direction):
    src, dst = np.array(edges, int).reshape(-1, 2).T
    graph = ps.from_edges(src, dst, directed=directed, num_vertices=10)
    result = ps.degree_distribution(graph, direction)
    assert result.values.sum() == 10
    verify(graph, result)


def test_verifier_finds_a_wrong_count():
    graph = ps.from_edges([0, 1], [1, 2])
    result = ps.degree_distribution(graph)
    result.values[0] += 1
    with pytest.raises(VerificationError):
        verify(graph, result)


def test_unknown_direction():
    with pytest.raises(OptionError, match="direction"):
        ps.degree_distribution(ps.from_edges([0], [1]), "up")
