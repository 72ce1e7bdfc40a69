"""What tolerances promise holds on graphs of any size, and verifiers measure it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy import sparse
from traversal_making import stopping_after

import penstock as ps
from penstock.algorithms import find, names
from penstock.engine.algorithm import Vertex, VertexValues, Vertices
from penstock.engine.options import RunOptions
from penstock.errors import ConvergenceError, OptionError, VerificationError

MILLION = 1_000_000


@pytest.fixture(scope="module")
def uniform():
    """A million vertices, three edges each, some of which have none."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, MILLION, (2, 3 * MILLION))
    return ps.from_edges(src, dst, num_vertices=MILLION)


def exact_ranks(graph, alpha=0.85, jump=None):
    """The power method in float64, until it is done."""
    n = graph.num_vertices
    src, dst = (np.asarray(ends) for ends in graph.to_edges()[:2])
    degrees = np.bincount(src, minlength=n)
    along = sparse.csr_matrix((np.ones(len(src)), (dst, src)), (n, n))
    jump = np.full(n, 1 / n) if jump is None else jump
    ranks, before = jump, np.zeros(n)
    while np.abs(ranks - before).sum() > 1e-13:
        before = ranks
        arrived = along @ np.divide(ranks, degrees, out=np.zeros(n), where=degrees > 0)
        ranks = (1 - alpha) * jump + alpha * (arrived + ranks[degrees == 0].sum() * jump)
    return ranks


def test_default_ranks_of_a_million_vertices_are_right(uniform):
    exact = exact_ranks(uniform)
    found = ps.pagerank(uniform)
    assert np.abs(found.values - exact).sum() <= 1e-5
    assert found.stats["converged"]
    assert np.abs(found.values - exact).sum() <= found.stats["error_bound"] <= 1e-5
    assert set(found.values.argsort()[-20:]) == set(exact.argsort()[-20:])
    find("pagerank").verify(uniform, found)
    assert found.stats["measured_error"] <= 1e-5


def test_default_values_of_a_walk_are_right_on_a_million_vertices(uniform):
    jump = np.zeros(MILLION)
    jump[[5, 6]] = 0.5
    exact = exact_ranks(uniform, jump=jump)
    for found in (ps.rwr(uniform, [5, 6]), ps.pagerank(uniform, personalization={5: 1, 6: 1})):
        bound = found.stats["error_bound"]
        assert np.abs(found.values - exact).sum() <= bound <= 6e-5


def test_verifier_refuses_ranks_after_one_iteration(uniform):
    found = ps.pagerank(uniform, tol=0, max_iter=1)
    find("pagerank").verify(uniform, found)
    assert found.stats["measured_error"] < 1e-6, "it is what one iteration gives"
    assert np.abs(found.values - exact_ranks(uniform)).sum() <= found.stats["error_bound"]
    assert not found.stats["converged"]
    found.stats["parameters"] |= {"tol": 1e-6, "max_iter": 100}
    with pytest.raises(VerificationError, match="may be off by"):
        find("pagerank").verify(uniform, found)


def test_float32_reaches_changes_far_below_the_default(uniform):
    changes = [row["change"] for row in ps.pagerank(uniform, tol=0, max_iter=60).iterations]
    assert changes[-1] < 1e-8


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("tol", [0, 1e-6, 1e-3])
def test_a_verifier_takes_what_is_right_and_nothing_that_is_off_by_more(mode, tol):
    src, dst = np.random.default_rng(1).integers(0, 300, (2, 900))
    graph = ps.from_edges(src, dst, num_vertices=300)
    found = ps.pagerank(graph, tol=tol, max_iter=50, mode=mode)
    verify = find("pagerank").verify
    verify(graph, found)
    allowed = found.stats["error_bound"] if tol == 0 else (0.85 * tol + 5e-7) / 0.15
    # Rank that is moved from one vertex to others is an error of twice as much.
    found.values[0] += 2 * allowed
    with pytest.raises(VerificationError, match="pagerank"):
        verify(graph, found)


def test_ranks_after_some_iterations_are_no_others():
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    for name, more in (("pagerank", {}), ("rwr", {"source": 0})):
        found = find(name)(graph, tol=0, max_iter=4, **more)
        found.stats["parameters"]["max_iter"] = 5
        with pytest.raises(VerificationError, match=f"{name}.*after exactly 5 iterations"):
            find(name).verify(graph, found)


# Circuits


def clique(weight: float):
    """One vertex, joined by a conductance to the first of 20 that are all joined."""
    src, dst = np.triu_indices(20, 1)
    src, dst = np.append(src + 1, 0), np.append(dst + 1, 1)
    return ps.from_edges(src, dst, np.append(np.ones(190), weight), directed=False)


def test_potentials_that_rise_slowly_are_not_taken_for_settled():
    # All of them end at 1; each iteration brings them nearer by a millionth.
    with pytest.raises(ConvergenceError, match="20 potentials may be off by more"):
        ps.circuit(clique(1e-4), {0: 1.0})


@pytest.mark.parametrize("tol", [1e-4, 1e-2])
def test_potentials_are_as_near_as_the_tolerance_says(tol):
    graph = clique(5.0)
    found = ps.circuit(graph, {0: 2.0}, tol=tol)
    assert np.abs(found.values - 2).max() <= 2 * (tol + 1e-5)
    assert found.values[1:].max() < 2, "it did not go on for ever"
    find("circuit").verify(graph, found)
    assert np.abs(found.values - 2).max() / 2 <= found.stats["measured_error"] <= 1.5 * tol


def test_a_part_without_a_potential_does_not_keep_others_from_settling():
    # 3 and 4 feed each other, and 2, for ever with 0.
    graph = ps.from_edges([0, 1, 3, 4, 3], [1, 2, 4, 3, 2])
    found = ps.circuit(graph, {0: 1.0})
    assert found.values.tolist() == [1, 1, 0.5, 0, 0]
    find("circuit").verify(graph, found)


def test_the_verifier_of_circuits_refuses_potentials_that_hardly_change():
    graph = clique(1e-4)
    found = ps.circuit(graph, {0: 1.0}, tol=0, max_iter=5)
    found.stats["parameters"] |= {"tol": 1e-4, "max_iter": 1000}
    found.values[1:] = 0.5
    with pytest.raises(VerificationError, match="circuit: 1,000 more iterations leave"):
        find("circuit").verify(graph, found)
    quick = clique(5.0)
    found = ps.circuit(quick, {0: 1.0})
    found.values[1:] -= 5e-4
    with pytest.raises(VerificationError, match="largest error is about"):
        find("circuit").verify(quick, found)


# Numbers that are none


def required(parameters):
    kinds = {Vertex: 0, Vertices: [0], VertexValues: {0: 1.0}, int: 2}
    return {
        each.name: kinds[each.annotation]
        for each in parameters.values()
        if each.default is inspect.Parameter.empty
    }


def numbers(*annotations):
    return [
        (name, each.name)
        for name in names()
        for each in find(name).parameters.values()
        if each.annotation in annotations
    ]


FLOATS = numbers(float, float | None)
INTEGERS = numbers(int, int | None)


@pytest.mark.parametrize(("name", "parameter"), FLOATS + INTEGERS)
def test_nan_is_no_parameter(name, parameter):
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], directed=False)
    chosen = find(name)
    given = {**required(chosen.parameters), parameter: float("nan")}
    with pytest.raises(OptionError, match=f"{parameter}: expected a .*number.*, got nan"):
        chosen(graph, **given)
    with pytest.raises(OptionError, match=parameter):
        chosen.requirements(graph, **given)


@pytest.mark.parametrize(("name", "parameter"), INTEGERS)
@pytest.mark.parametrize("value", [2.5, float("inf"), "3"])
def test_numbers_that_have_to_be_whole(name, parameter, value):
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], directed=False)
    chosen = find(name)
    with pytest.raises(OptionError, match=parameter):
        chosen(graph, **{**required(chosen.parameters), parameter: value})


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), -1e-9])
@pytest.mark.parametrize("name", ["pagerank", "rwr", "circuit"])
def test_tolerances_that_cannot_be(name, value):
    graph = ps.from_edges([0, 1], [1, 0])
    chosen = find(name)
    with pytest.raises(OptionError, match="tol: expected a finite number of 0 or more"):
        chosen(graph, **required(chosen.parameters), tol=value)


@pytest.mark.parametrize(("name", "parameter"), FLOATS)
def test_infinity_is_refused_where_it_means_nothing(name, parameter):
    if (name, parameter) == ("sssp", "cutoff"):
        return
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], directed=False)
    chosen = find(name)
    given = {**required(chosen.parameters), parameter: float("inf")}
    if name == "bfs":
        given = {**given, "alpha": float("inf"), "beta": float("inf")}
    with pytest.raises(OptionError):
        chosen(graph, **given)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, "0.1"])
def test_tolerances_of_models_that_cannot_be(value):
    graph = ps.from_edges([0, 1], [1, 0])
    with pytest.raises(OptionError, match="tol"):
        ps.gimv(graph, lambda m, v: v, "add", lambda v, a: a, vector=1.0, tol=value)
    if value != "0.1":
        with pytest.raises(OptionError, match="max_iter"):
            ps.gimv(graph, lambda m, v: v, "add", lambda v, a: a, vector=1.0, max_iter=value)


# What goes with it


def test_estimates_go_by_the_same_rule():
    large = ps.from_edges([0], [1], num_vertices=MILLION)
    for graph in (large, ps.from_edges([0], [1])):
        assert find("pagerank").requirements(graph)[0].passes == 86
        assert find("pagerank").requirements(graph, max_iter=30)[0].passes == 30
        assert find("pagerank").requirements(graph, tol=0)[0].passes == 100
    plan = find("circuit").plan(large, RunOptions.of(), {"fixed": {0: 1.0}})
    given = 4 + 4  # one vertex and its number
    assert plan.sizes.state_bytes == plan.needs.vertex_bytes * MILLION + given


def test_a_run_that_is_resumed_goes_by_its_own_tolerance(tmp_path):
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    loose = {"tol": 1e-1, "checkpoint": tmp_path / "c", "checkpoint_every": 1}
    steps = ps.pagerank(graph, tol=1e-1).stats["iterations"]
    with pytest.raises(KeyboardInterrupt), stopping_after(steps):
        ps.pagerank(graph, **loose)
    found = ps.pagerank(graph, **{**loose, "tol": 1e-6}, resume=True)
    np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)
