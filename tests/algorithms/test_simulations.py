"""Heat, circuits and neural networks against dense matrices, and over every kind of list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAYS, build, edges, stopping_after

import penstock as ps
from penstock import algorithms, config
from penstock.engine.options import RunOptions
from penstock.errors import ConvergenceError, FormatError, IdError, OptionError, VerificationError

NAMES = ["heat", "circuit", "neural_network"]


def matrix(graph, *, weight=True):
    """W[v, u] is what the edges from u to v weigh together."""
    found = np.zeros((graph.num_vertices, graph.num_vertices))
    rows = graph.to_edges()
    weights = rows[2] if weight and len(rows) == 3 else np.ones(len(rows[0]))
    for u, v, w in zip(rows[0], rows[1], weights, strict=True):
        found[v, u] += w
        if not graph.directed and u != v:
            found[u, v] += w
    return found


def heat(w, start, c, steps):
    values = start
    for _ in range(steps):
        values = values + c * (w @ values - w.sum(1) * values)
    return values


def circuit(w, kept, steps):
    free = np.isnan(kept) & (w.sum(1) > 0)
    step = np.where(free[:, None], w / np.where(free, w.sum(1), 1)[:, None], np.eye(len(w)))
    return np.linalg.matrix_power(step, steps) @ np.where(np.isnan(kept), 0, kept)


def neurons(w, kept, bias, steps):
    values = np.where(np.isnan(kept), 0, kept)
    for _ in range(steps):
        values = np.where(np.isnan(kept), np.tanh(bias + w @ values), kept)
    return values


def array(n, values, missing):
    """Values for some vertices, for all."""
    return np.array([values.get(v, missing) for v in range(n)], float)


@st.composite
def cases(draw):
    """A graph, values for some of its vertices, and a number of steps."""
    n, pairs = draw(SMALL)
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    count = len(src)
    weights = draw(
        st.none() | st.lists(st.sampled_from([0.0, 0.25, 1.0, 2.5]), min_size=count, max_size=count)
    )
    weights = None if weights is None else np.array(weights, float)
    graph = ps.from_edges(src, dst, weights, directed=draw(st.booleans()), num_vertices=n)
    numbers = st.dictionaries(st.integers(0, n - 1), st.sampled_from([-2.0, 0.0, 0.5, 3.0]))
    return graph, draw(numbers), draw(numbers), draw(st.integers(0, 6)), draw(st.booleans())


@settings(max_examples=40)
@given(cases())
def test_they_equal_dense_matrices(case):
    graph, first, second, steps, weight = case
    n, w = graph.num_vertices, matrix(graph, weight=weight)
    options = {"max_iter": steps, "weight": weight}
    warm = ps.heat(graph, first, **options)
    assert warm.stats["c"] == pytest.approx(1 / (w.sum(1).max() or 1))
    expected = heat(w, array(n, first, 0), warm.stats["c"], steps)
    np.testing.assert_allclose(warm.values, expected, atol=1e-5)
    stepped = ps.heat(graph, first, c=0.03, **options)
    np.testing.assert_allclose(
        stepped.values, heat(w, array(n, first, 0), 0.03, steps), rtol=1e-5, atol=1e-5
    )
    potentials = ps.circuit(graph, first, tol=0, **options)
    expected = circuit(w, array(n, first, np.nan), steps)
    np.testing.assert_allclose(potentials.values, expected, atol=1e-5)
    one = ps.neural_network(graph, first, 0.25, **options)
    expected = neurons(w, array(n, first, np.nan), 0.25, steps)
    np.testing.assert_allclose(one.values, expected, atol=1e-5)
    each = ps.neural_network(graph, first, second, **options)
    expected = neurons(w, array(n, first, np.nan), array(n, second, 0), steps)
    np.testing.assert_allclose(each.values, expected, atol=1e-5)
    for found in (warm, stepped, potentials, one, each):
        assert found.values.dtype == np.float32
        algorithms.find(found.stats["algorithm"]).verify(graph, found)


@settings(max_examples=25)
@given(cases())
def test_circuits_settle_where_kirchhoff_has_them(case):
    graph, kept, _, _, weight = case
    found = ps.circuit(graph, kept, max_iter=100_000, weight=weight)
    algorithms.find("circuit").verify(graph, found)
    n, w = graph.num_vertices, matrix(graph, weight=weight)
    given_values = array(n, kept, np.nan)
    expected = circuit(w, given_values, 1 << 20)
    np.testing.assert_allclose(found.values, expected, atol=2e-3)
    assert found.values.min() >= min(0, *kept.values(), 0)
    assert found.values.max() <= max(0, *kept.values(), 0)


KINDS = {
    **COMMON_KINDS,
    "out-lists only": {"directions": "out"},
    "in-lists only": {"directions": "in"},
}


def weighted(path, **kind):
    src, dst = edges()
    weights = np.random.default_rng(1).random(len(src)).astype(np.float32)
    return build(path, (src, dst, weights), num_vertices=7000, **kind)


def runs(graph, **way):
    """One of each."""
    start = {7: 9.0, 12: 3.0, 5: -1.0, 20: 2.0}
    signed = {7: 1.0, 12: -0.5, 5: 0.25}
    return [
        ps.heat(graph, start, c=0.001, **way),
        ps.circuit(graph, start, tol=0, max_iter=12, **way),
        ps.neural_network(graph, signed, {20: 0.1}, max_iter=4, **way),
    ]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path):
    graph = weighted(tmp_path / "g", **kind)
    assert (graph.page_table(graph.directions[0])["run"] > 0).any(), "no list had parts"
    first = runs(graph, **WAYS[0])
    for found in first:
        algorithms.find(found.stats["algorithm"]).verify(graph, found)
        assert np.count_nonzero(found.values) > 1000
    for way in WAYS[1:]:
        for found, expected in zip(runs(graph, **way), first, strict=True):
            np.testing.assert_array_equal(found.values, expected.values)


def test_all_layouts_agree(tmp_path):
    results = [
        runs(weighted(tmp_path / name, **KINDS[name])) for name in ("undirected", "as given")
    ]
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-4, atol=1e-5)


def test_the_length_of_a_step_is_chosen_from_the_weights(tmp_path):
    graph = weighted(tmp_path / "g")
    _, dst, weights = graph.to_edges()
    sums = np.zeros(7000)
    np.add.at(sums, dst, weights.astype(float))
    for way in WAYS:
        found = ps.heat(graph, {7: 1.0}, max_iter=2, **way)
        assert found.stats["c"] == pytest.approx(1 / sums.max(), rel=1e-12)
    pages = np.count_nonzero(graph.page_table("in")["num_edges"])
    assert found.stats["pages_read"] == 3 * pages
    assert found.stats["iterations"] == 2
    assert ps.heat.plan(graph, RunOptions.of(), {"initial": {}}).needs.directions == ("in",)


@pytest.mark.parametrize("k", range(3), ids=NAMES)
def test_they_go_on_where_they_stopped(k, tmp_path):
    graph = weighted(tmp_path / "g")
    call = [
        lambda **more: ps.heat(graph, {7: 9.0}, **more),
        lambda **more: ps.circuit(graph, {7: 9.0, 12: 3.0}, tol=3e-3, **more),
        lambda **more: ps.neural_network(graph, {7: 1.0}, **more),
    ][k]
    whole = call()
    with pytest.raises(KeyboardInterrupt), stopping_after(3):
        call(checkpoint=tmp_path / "c", checkpoint_every=1)
    rest = call(checkpoint=tmp_path / "c", resume=True, load=False)
    assert rest.stats["iterations"] == whole.stats["iterations"] - 3
    np.testing.assert_array_equal(rest.values, whole.values)


def test_a_budget_that_does_not_hold_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "MIN_BUDGET_BYTES", 1 << 20)
    graph = weighted(tmp_path / "g")
    for whole in runs(graph):
        less = whole.stats["planned_memory"] - 1
        assert whole.stats["resident"]
        call = getattr(ps, whole.stats["algorithm"])
        found = call(graph, **whole.stats["parameters"], memory=less)
        assert not found.stats["resident"]
        np.testing.assert_array_equal(found.values, whole.values)


def test_heat_is_kept_and_evens_out():
    ring = ps.from_edges(np.arange(9), (np.arange(9) + 1) % 9, directed=False)
    found = ps.heat(ring, {0: 9.0}, max_iter=500)
    np.testing.assert_allclose(found.values, 1, rtol=1e-4)
    np.testing.assert_allclose(found.values.sum(), 9, rtol=1e-5)


def test_a_step_that_is_too_long_is_an_error():
    star = ps.from_edges(np.zeros(50, int), np.arange(1, 51), directed=False)
    with pytest.raises(ConvergenceError, match=r"heat: after 60 iterations.*smaller c"):
        ps.heat(star, {0: 1.0}, c=1.0, max_iter=60)


def test_a_ladder_of_resistors():
    # Two resistors of 1 ohm beside one of 2 ohms: conductances 1, 1 and 0.5.
    graph = ps.from_edges([0, 1, 0], [1, 2, 2], [1.0, 1.0, 0.5], directed=False)
    assert ps.circuit(graph, {0: 10.0, 2: 0.0})[1] == pytest.approx(5)
    assert ps.circuit(graph, {0: 10.0, 1: 0.0})[2] == pytest.approx(10 / 3, rel=1e-5)
    # Parallel ones count as often as they are there.
    doubled = ps.from_edges([0, 1, 0], [1, 2, 1], directed=False, duplicates="keep")
    assert ps.circuit(doubled, {0: 9.0, 2: 0.0})[1] == pytest.approx(6)


def test_potentials_that_do_not_settle_are_an_error():
    path = ps.from_edges(np.arange(50), np.arange(1, 51), directed=False)
    with pytest.raises(ConvergenceError, match=r"circuit: after 20 iterations .* potentials"):
        ps.circuit(path, {0: 0.0, 50: 1.0}, max_iter=20)
    assert not ps.circuit(path, {0: 0.0, 50: 1.0}, max_iter=20, tol=0).stats["converged"]


def test_the_tolerance_is_a_share_of_the_largest_potential():
    path = ps.from_edges(np.arange(20), np.arange(1, 21), directed=False)
    small = ps.circuit(path, {0: 0.0, 20: 2.0**-20})
    large = ps.circuit(path, {0: 0.0, 20: 2.0**20})
    np.testing.assert_array_equal(small.values * 2.0**40, large.values)
    assert small.stats["iterations"] == large.stats["iterations"] > 100


@pytest.mark.parametrize("directed", [True, False])
def test_next_to_nothing(directed):
    nothing = ps.from_edges([], [], directed=directed)
    alone = ps.from_edges([], [], directed=directed, num_vertices=2)
    loop = ps.from_edges([0], [0], directed=directed)
    for name in NAMES:
        call = getattr(ps, name)
        assert len(call(nothing, {})) == 0
        assert call(alone, {1: 0.5}).values.tolist() == [0, 0.5]
        assert call(loop, {0: 0.5}).values.tolist() == [0.5]
    assert ps.circuit(loop, {}).values.tolist() == [0]
    np.testing.assert_allclose(
        ps.neural_network(loop, {}, 0.5, max_iter=2).values, np.tanh(0.5 + np.tanh(0.5)), rtol=1e-6
    )


def test_values_in_other_forms():
    named = ps.from_edges(["b", "c"], ["c", "a"], directed=False)
    assert ps.circuit(named, {"a": 1.0, "b": 3.0})["c"] == pytest.approx(2)
    kept = [1.0, 3.0, np.nan]
    assert ps.circuit(named, kept)["c"] == pytest.approx(2)
    assert ps.heat(named, 4.0).values.tolist() == [4, 4, 4]
    both = [ps.neural_network(named, {"a": 1.0}, each).values for each in (0.5, [0.5, 0.5, 0.5])]
    np.testing.assert_array_equal(*both)


def test_what_cannot_be(tmp_path):
    graph = ps.from_edges([0, 1], [1, 0])
    for name in NAMES:
        call = getattr(ps, name)
        with pytest.raises(OptionError, match="max_iter"):
            call(graph, {}, max_iter=-1)
        with pytest.raises(OptionError, match="expected numbers, got inf"):
            call(graph, {0: np.inf})
        with pytest.raises(IdError, match="no vertex 5"):
            call(graph, {5: 1.0})
    with pytest.raises(OptionError, match="initial"):
        ps.heat(graph, {0: np.nan})
    with pytest.raises(OptionError, match="c: expected"):
        ps.heat(graph, {}, c=-1.0)
    with pytest.raises(OptionError, match="tol"):
        ps.circuit(graph, {}, tol=-1.0)
    with pytest.raises(OptionError, match="bias"):
        ps.neural_network(graph, {}, np.nan)
    forwards = build(tmp_path / "g", (np.array([0]), np.array([1])), directions="out")
    with pytest.raises(FormatError, match="in-lists"):
        ps.heat(forwards, {})
    assert ps.heat(forwards, {0: 1.0}, c=0.5, max_iter=1).values.tolist() == [1, 0.5]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", [0, 1, 3, 4])
def test_the_verifier_notices(name, place):
    graph = ps.from_edges([0, 1, 2, 3], [1, 2, 0, 2], [0.5, 1.0, 2.0, 1.0], num_vertices=5)
    chosen = algorithms.find(name)
    found = chosen(graph, {0: 1.0, 3: 2.0})
    chosen.verify(graph, found)
    found.values[place] += 0.01
    with pytest.raises(VerificationError, match=name):
        chosen.verify(graph, found)


def test_the_verifier_of_circuits_knows_that_nothing_comes_of_nothing():
    # Any potential would be a fixed point of the two that are apart.
    graph = ps.from_edges([0, 2], [1, 3], directed=False)
    found = ps.circuit(graph, {0: 1.0})
    found.values[2:] = 0.5
    with pytest.raises(VerificationError, match="nothing leads there"):
        algorithms.find("circuit").verify(graph, found)
