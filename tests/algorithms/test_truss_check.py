"""The verifiers of trusses notice what is wrong."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import penstock as ps
from penstock.algorithms import find
from penstock.errors import VerificationError

k_truss, truss_number = find("k_truss"), find("truss_number")


def tailed_triangle() -> ps.Graph:
    """3 hangs on 2."""
    return ps.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False, vertex_order="none")


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([4, 3, 3, 2], "0 - 1 of trussness 4 is in 0 triangles"),
        ([3, 3, 3, 3], "2 - 3 of trussness 3 is in 0 triangles"),
        ([2, 2, 2, 2], "0 - 1 is in a truss of a larger number than 2"),
    ],
)
def test_the_verifier_notices_wrong_trussness(numbers, message):
    graph = tailed_triangle()
    found = truss_number(graph)
    truss_number.verify(graph, found)
    found.edges.trussness[:] = numbers
    with pytest.raises(VerificationError, match=f"truss_number: edge {message}"):
        truss_number.verify(graph, found)


def test_the_verifier_notices_a_clique_that_is_too_low():
    # Each number follows from those of other edges, but all are too small.
    graph = ps.from_edges(*np.array(list(combinations(range(5), 2))).T, directed=False)
    found = truss_number(graph)
    assert found.edges.trussness.tolist() == [5] * 10
    for low in (3, 4):
        found.edges.trussness[:] = low
        with pytest.raises(VerificationError, match=f"is in a truss of a larger number than {low}"):
            truss_number.verify(graph, found)


def test_the_verifier_notices_wrong_values():
    graph = tailed_triangle()
    found = truss_number(graph)
    found.values[3] = 3
    with pytest.raises(VerificationError, match=r"truss_number: 3 has 3, but the largest .* is 2"):
        truss_number.verify(graph, found)


@pytest.mark.parametrize(
    ("pairs", "k", "message"),
    [
        ([(0, 1), (0, 2), (1, 2), (2, 3)], 3, "2 - 3 of trussness 3 is in 0 triangles"),
        ([], 3, "0 - 1 is in a truss of a larger number than 2"),
        ([(0, 1), (0, 2), (1, 2), (1, 3)], 3, "some edges are not edges of the graph"),
        ([], None, "no edges, but"),
        ([(0, 1), (0, 2), (1, 2), (2, 3)], None, "0 - 1 is in a truss of a larger number than 2"),
    ],
)
def test_the_verifier_notices_another_truss(pairs, k, message):
    graph = tailed_triangle()
    found = k_truss(graph, k)
    k_truss.verify(graph, found)
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    ids, degrees = np.unique(np.concatenate((src, dst)), return_counts=True)
    wrong_k = 2 if k is None else k
    stats = found.stats | {"k": wrong_k}
    table = ps.Result.table("dst", src, dst, id_name="src")
    other = ps.Result.table("degree", ids, degrees, stats=stats, edges=lambda: table)
    with pytest.raises(VerificationError, match=f"k_truss: .*{message}"):
        k_truss.verify(graph, other)


def test_the_verifier_notices_wrong_rows():
    graph = tailed_triangle()
    found = k_truss(graph, 3)
    found.values[0] = 3
    with pytest.raises(VerificationError, match="k_truss: the rows are not the ends"):
        k_truss.verify(graph, found)
