"""GIM-V: the examples of its papers agree with native algorithms, SciPy and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from models_graphs import directed, matrix, undirected
from scipy.sparse.csgraph import connected_components

import penstock as ps
from penstock.errors import OptionError, ProgramError


def spread(m, v):
    return 0.85 * m * v


def test_pagerank():
    """The paper's three functions; what arrives nowhere is lost, as in the paper."""
    graph = ps.from_edges([0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 1, 3])
    ours = ps.gimv(
        graph, spread, "add", lambda v, a, vertex, p: 0.15 / p.num_vertices + a,
        vector=1 / graph.num_vertices, matrix="column_normalized", tol=1e-12,
    )  # fmt: skip
    theirs = ps.pagerank(graph, tol=1e-12, dtype="float64")
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-10)
    assert ours.stats["converged"]


def test_random_walk_with_restart():
    graph = directed()
    restart = np.zeros(60)
    restart[5] = 1.0
    ours = ps.gimv(
        graph, lambda m, v, src, p: p.c * m * v, "add",
        lambda v, a, vertex, p: (1 - p.c) * vertex.restart + a,
        vector=restart, matrix="column_normalized", tol=None, max_iter=60,
        params={"c": 0.85}, fields={"restart": restart},
    )  # fmt: skip
    walk = (matrix(graph) > 0).astype(float)
    walk /= np.maximum(walk.sum(axis=0), 1)
    expected = np.linalg.solve(np.eye(60) - 0.85 * walk, 0.15 * restart)
    np.testing.assert_allclose(ours.values, expected, atol=1e-5)
    assert ours.stats["iterations"] == 60


def test_connected_components():
    graph = undirected()
    ours = ps.gimv(
        graph, lambda m, v: v, "min", lambda v, a: min(v, a),
        vector=lambda vertex: vertex.index, dtype=np.uint32,
    )  # fmt: skip
    _, labels = connected_components(matrix(graph), directed=False)
    smallest = [np.flatnonzero(labels == label)[0] for label in labels]
    np.testing.assert_array_equal(ours.values, smallest)
    assert ours.values.dtype == np.uint32
    assert ours.stats["converged"]
    assert ours.stats["totals"]["change"] == 0


@pytest.mark.parametrize("kind", ["weight", "ones", "column_normalized"])
def test_plain_multiplication(kind):
    graph, vector = directed(), np.arange(60.0)
    m = matrix(graph) if kind == "weight" else (matrix(graph) > 0).astype(float)
    if kind == "column_normalized":
        m /= np.maximum(m.sum(axis=0), 1)
    for device in ("cpu", "reference"):
        ours = ps.gimv(
            graph, lambda m, v: m * v, "add", lambda v, a: a, vector=vector, matrix=kind,
            max_iter=1, devices=device,
        )  # fmt: skip
        np.testing.assert_allclose(ours.values, m @ vector, rtol=1e-12)


def test_a_combine_all_and_a_test_of_ones_own():
    seen = []

    def until(change):
        seen.append(change)
        return len(seen) == 3

    ours = ps.gimv(
        directed(), lambda m, v: m + v, lambda a, b: a if a < b else b, lambda v, a: min(v, a),
        vector=np.where(np.arange(60) == 0, 0, np.inf), identity=np.inf,
        change=lambda new, old: new != old, until=until,
    )  # fmt: skip
    assert ours.stats["iterations"] == 3
    assert seen[0] == np.count_nonzero(matrix(directed())[:, 0][1:])


def test_weights_may_have_any_name(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"a": [0, 1], "b": [1, 2], "how far": [2.0, 3.0]})
    graph = ps.build(table, tmp_path / "g", columns=("a", "b"), weights="how far")
    ours = ps.gimv(graph, lambda m, v: m * v, "max", lambda v, a: a, vector=1, max_iter=1)
    assert ours.values.tolist() == [-np.inf, 2.0, 3.0]


def test_what_cannot_be():
    graph = undirected()
    good = {"vector": 1.0}

    def plain(x, y):
        return x * y

    def call(combine2=plain, combine_all="add", assign=plain, **more):
        return ps.gimv(graph, combine2, combine_all, assign, **{**good, **more})

    with pytest.raises(OptionError, match="matrix: the graph has no weights"):
        call(matrix="weight")
    with pytest.raises(OptionError, match="matrix: expected one of weight"):
        call(matrix="identity")
    with pytest.raises(OptionError, match="array of 60 numbers; got an array of shape"):
        call(vector=np.ones(3))
    with pytest.raises(OptionError, match="got str"):
        call(vector="ones")
    with pytest.raises(OptionError, match="identity: combine_all is a function"):
        call(combine_all=plain)
    with pytest.raises(OptionError, match="'initial' is taken"):
        call(params={"initial": 1})
    with pytest.raises(ProgramError, match=r"assign: expected a function \(v, a\[, vertex"):
        call(assign=lambda v: v)
    with pytest.raises(ProgramError, match="combine2: expected a Python function"):
        call(combine2=max)


def test_mistakes_are_said_of_the_users_functions():
    def combine2(m, v, src):
        return src.rank

    def too_many(m, v):
        return m, v

    for wrong, line, said in [
        (combine2, 1, "combine2: src has no 'rank'; it has value"),
        (too_many, 0, "too_many: it returns 2 values"),
    ]:
        with pytest.raises(ProgramError) as caught:
            ps.gimv(directed(), wrong, "add", lambda v, a: a, vector=1.0)
        place = f"{__file__}:{wrong.__code__.co_firstlineno + line}: {said}"
        assert str(caught.value).startswith(place)
