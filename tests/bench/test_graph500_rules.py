"""Validation accepts right trees, and names the rule that a wrong one breaks."""

from __future__ import annotations

import numpy as np
import pytest
from graph500_making import Case, breadth_first, cases, dijkstra, levels_along
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.errors import InputError
from penstock.interfaces.bench.graph500_edges import Edges
from penstock.interfaces.bench.graph500_rules import TOLERANCE, validate_bfs, validate_sssp

# Not every graph has what is to be broken.
picky = settings(suppress_health_check=[HealthCheck.filter_too_much], max_examples=40)


def judge_bfs(case, parents, levels, **how):
    return validate_bfs(case.root, parents, levels, case.parts(), **how)


def judge_sssp(case, parents, distances, **how):
    return validate_sssp(case.root, parents, distances, case.parts(), **how)


def broken_rule(verdict):
    assert verdict.failure is not None
    assert str(verdict.failure).startswith(f"rule {verdict.failure.rule}: ")
    return verdict.failure.rule


# Right answers


@given(cases(), st.integers(1, 40), st.integers(1, 3))
def test_right_trees_pass(case, rows, threads):
    parents, levels = breadth_first(case)
    verdict = validate_bfs(case.root, parents, levels, case.parts(rows), threads)
    assert verdict.failure is None
    assert verdict.nedge == case.nedge(levels >= 0)
    parents, distances = dijkstra(case)
    verdict = validate_sssp(case.root, parents, distances, case.parts(rows), threads)
    assert verdict.failure is None
    assert verdict.nedge == case.nedge(levels >= 0)


def test_loops_and_multiple_edges_are_counted():
    # 0 - 1 three times, a loop at each; a loop at 2, which is not reached.
    src, dst = np.array([[0, 1, 0, 0, 1, 2], [1, 0, 1, 0, 1, 2]], np.uint32)
    case = Case(3, src, dst, np.full(6, 0.5, np.float32), 0)
    assert judge_bfs(case, *breadth_first(case)).nedge == 5
    assert judge_sssp(case, *dijkstra(case)).nedge == 5


# Wrong trees: each takes a right one and breaks one thing


def some(data, choices):
    choices = list(choices)
    assume(choices)
    return data.draw(st.sampled_from(choices))


def in_tree(case, parents):
    return [v for v in range(case.num_vertices) if parents[v] >= 0 and v != case.root]


def outside(case, parents):
    return [v for v in range(case.num_vertices) if parents[v] < 0]


def make_cycle(data, case, parents):
    members = in_tree(case, parents)
    a = some(data, members)
    b = some(data, [v for v in members if v != a])
    parents[a], parents[b] = b, a
    return {1}


def make_second_top(data, case, parents):
    v = some(data, in_tree(case, parents))
    parents[v] = v
    return {1}


def orphan_children(data, case, parents):
    with_children = [v for v in in_tree(case, parents) if (parents == v).any()]
    parents[some(data, with_children)] = -1
    return {1}


def adopt_from_outside(data, case, parents):
    parents[some(data, in_tree(case, parents))] = some(data, outside(case, parents))
    return {1}


def leave_the_vertices(data, case, parents):
    v = some(data, in_tree(case, parents))
    parents[v] = some(data, [case.num_vertices, case.num_vertices + 7, 1 << 40, -2, -(1 << 40)])
    return {1}


def change_parent_of_root(data, case, parents):
    others = [v for v in range(-1, case.num_vertices) if v != case.root]
    parents[case.root] = some(data, others)
    return {1}


def lose_leaf(data, case, parents):
    leaves = [v for v in in_tree(case, parents) if not (parents == v).any()]
    parents[some(data, leaves)] = -1
    return {4}


def gain_vertex(data, case, parents):
    x = some(data, outside(case, parents))
    inside = [*in_tree(case, parents), case.root]
    parents[x] = some(data, inside)
    # If it has other vertices around, an edge leads out of the tree; else there is just no edge.
    return {4} if any(v != x for v, _ in case.neighbours(x)) else {5}


def take_stranger(data, case, parents):
    """A parent one level above that is no neighbour."""
    levels = levels_along(parents, case.root)
    pairs = [
        (v, u)
        for v in in_tree(case, parents)
        for u in range(case.num_vertices)
        if levels[u] == levels[v] - 1 and not case.joined(u, v)
    ]
    v, u = some(data, pairs)
    parents[v] = u
    return {5}


def take_detour(data, case, parents):
    """A neighbour as parent that is not one level above: the path becomes longer than need be."""
    levels = levels_along(parents, case.root)
    pairs = [
        (v, u)
        for v in in_tree(case, parents)
        for u, _ in case.neighbours(v)
        if levels[u] == levels[v] and u != v
    ]
    v, u = some(data, pairs)
    parents[v] = u
    return {3}


TREES = [
    make_cycle, make_second_top, orphan_children, adopt_from_outside, leave_the_vertices,
    change_parent_of_root, lose_leaf, gain_vertex, take_stranger, take_detour,
]  # fmt: skip


@pytest.mark.parametrize("break_it", TREES)
@picky
@given(cases(), st.data())
def test_wrong_trees_of_bfs_fail(break_it, case, data):
    parents, levels = breadth_first(case)
    expected = break_it(data, case, parents)
    if 1 not in expected:
        # Consistent with the parents, so that only the tree is wrong.
        levels = levels_along(parents, case.root)
    assert broken_rule(judge_bfs(case, parents, levels)) in expected


@pytest.mark.parametrize("break_it", [each for each in TREES if each is not take_detour])
@picky
@given(cases(), st.data())
def test_wrong_trees_of_sssp_fail(break_it, case, data):
    parents, distances = dijkstra(case)
    expected = break_it(data, case, parents)
    changed = np.flatnonzero((parents < 0) != np.isinf(distances))
    distances[changed] = np.where(parents[changed] < 0, np.inf, 1.0)
    found = broken_rule(judge_sssp(case, parents, distances))
    assert found in expected


@picky
@given(cases(), st.data())
def test_wrong_levels_fail(case, data):
    parents, levels = breadth_first(case)
    levels[data.draw(st.integers(0, case.num_vertices - 1))] += data.draw(
        st.sampled_from([-3, -1, 1, 2])
    )
    assert broken_rule(judge_bfs(case, parents, levels)) == 2


@picky
@given(cases(), st.data())
def test_a_distance_that_is_off_fails(case, data):
    parents, distances = dijkstra(case)
    v = some(data, in_tree(case, parents))
    distances[v] += data.draw(st.sampled_from([0.125, -0.125, 1e-6, -1e-6, 1e3]))
    assert broken_rule(judge_sssp(case, parents, distances)) in (2, 3)


@picky
@given(cases(), st.sampled_from([np.nan, np.inf, -np.inf, -1.0]), st.data())
def test_a_distance_that_is_none_fails(case, value, data):
    parents, distances = dijkstra(case)
    distances[some(data, in_tree(case, parents))] = value
    assert broken_rule(judge_sssp(case, parents, distances)) == 2


@picky
@given(cases(), st.sampled_from([0.0, np.nan, -np.inf]), st.data())
def test_a_distance_of_a_vertex_outside_fails(case, value, data):
    parents, distances = dijkstra(case)
    distances[some(data, outside(case, parents))] = value
    assert broken_rule(judge_sssp(case, parents, distances)) == 2


@picky
@given(cases())
def test_the_root_is_at_distance_0(case):
    parents, distances = dijkstra(case)
    assert broken_rule(judge_sssp(case, parents, distances + 0.5)) == 2


@picky
@given(cases())
def test_distances_of_0_satisfy_no_weight(case):
    """No two ends are too far apart then; only the tree shows that the distances are wrong."""
    parents, distances = dijkstra(case)
    assume((distances[np.isfinite(distances)] > 0).any())
    distances[np.isfinite(distances)] = 0
    assert broken_rule(judge_sssp(case, parents, distances)) == 2


@picky
@given(cases(), st.sampled_from([0.125, 2.0]), st.data())
def test_other_weights_than_those_of_the_input_fail(case, more, data):
    parents, distances = dijkstra(case)
    v = some(data, in_tree(case, parents))
    ends = np.sort([case.src, case.dst], axis=0)
    case.weights[(ends == np.sort([v, parents[v]])[:, None]).all(axis=0)] += np.float32(more)
    assert broken_rule(judge_sssp(case, parents, distances)) == 2


@picky
@given(cases(), st.data())
def test_a_weight_below_that_of_the_search_fails(case, data):
    parents, distances = dijkstra(case)
    v = some(data, in_tree(case, parents))
    ends = np.sort([case.src, case.dst], axis=0)
    between = (ends == np.sort([v, parents[v]])[:, None]).all(axis=0)
    assume(case.weights[between].min() > 0)
    case.weights[between] /= 2
    assert broken_rule(judge_sssp(case, parents, distances)) == 3


# Messages


def path_case():
    src, dst = np.array([[0, 1, 2], [1, 2, 3]], np.uint32)
    return Case(5, src, dst, np.array([0.5, 0.25, 0.75], np.float32), 0)


def test_failures_name_the_vertex_and_the_numbers():
    case = path_case()
    parents, levels = breadth_first(case)

    def said(**changes):
        p, values = parents.copy(), levels.copy()
        for v, parent in changes.get("parents", {}).items():
            p[v] = parent
        for v, level in changes.get("levels", {}).items():
            values[v] = level
        failure = judge_bfs(case, p, values).failure
        return failure.vertex, str(failure)

    assert said(parents={1: 2, 2: 1})[1] == (
        "rule 1: vertex 1 has parent 2, from where the path leads round in a cycle instead of to "
        "the root (the root is 0)"
    )
    assert said(parents={2: -1}) == (
        3, "rule 1: vertex 3 has parent 2, from where the path leads to a vertex that has no "
        "parent (the root is 0)",
    )  # fmt: skip
    assert "leads to a number that is no vertex" in said(parents={2: 5})[1]
    assert "leads to a vertex that is its own parent" in said(parents={1: 1})[1]
    assert said(parents={0: 1}) == (0, "rule 1: the root 0 has parent 1, expected itself")
    assert said(levels={3: 7}) == (
        3, "rule 2: vertex 3 has level 7, but its path along parents to the root 0 has 3 edges"
    )  # fmt: skip
    assert said(levels={4: 7}) == (4, "rule 2: vertex 4 has level 7, but it has no parent")
    assert said(parents={3: -1}, levels={3: -1}) == (
        3, "rule 4: an input edge joins 2, which is in the tree, and 3, which has no parent"
    )  # fmt: skip
    assert said(parents={4: 3}, levels={4: 4}) == (
        4, "rule 5: vertex 4 has parent 3, but no input edge joins the two"
    )  # fmt: skip


def test_arrays_of_different_lengths_fail():
    case = path_case()
    parents, levels = breadth_first(case)
    assert "5 parents but 4 levels" in str(judge_bfs(case, parents, levels[:-1]).failure)


def test_a_root_that_is_no_vertex_fails():
    case = path_case()
    parents, levels = breadth_first(case)
    assert broken_rule(validate_bfs(5, parents, levels, case.parts())) == 1


def test_an_edge_that_leaves_the_vertices_is_an_error_of_the_input():
    case = path_case()
    case.dst[2] = 5
    parents, levels = breadth_first(path_case())
    with pytest.raises(InputError, match="joins 2 and 5, but vertices are 0 to 4"):
        judge_bfs(case, parents, levels)
    with pytest.raises(InputError, match="joins 2 and 5, but vertices are 0 to 4"):
        judge_sssp(case, *dijkstra(path_case()))


def test_the_tolerance_is_relative():
    case = path_case()
    parents, distances = dijkstra(case)
    case.weights *= 1000
    distances *= 1000
    near, far = distances.copy(), distances.copy()
    near[3] *= 1 + TOLERANCE / 2
    far[3] *= 1 + TOLERANCE * 3
    assert judge_sssp(case, parents, near).failure is None
    assert broken_rule(judge_sssp(case, parents, far)) == 3


# Large ones


def long_path(n, *, from_far_end=False):
    """A path, its parents from vertex 0 on (or from the last), and its levels."""
    ends = np.arange(n, dtype=np.uint32)
    edges = Edges(ends[:-1], ends[1:], np.empty(0, np.float32))
    if from_far_end:
        return edges, np.minimum(np.arange(1, n + 1), n - 1), np.arange(n)[::-1]
    return edges, np.maximum(np.arange(-1, n - 1), 0), np.arange(n)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("from_far_end", [False, True])
def test_a_tree_as_deep_as_it_has_vertices(from_far_end, threads):
    n = 1 << 20
    edges, parents, levels = long_path(n, from_far_end=from_far_end)
    verdict = validate_bfs(n - 1 if from_far_end else 0, parents, levels, [edges], threads)
    assert (verdict.failure, verdict.nedge) == (None, n - 1)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("length", [1, 2, 1000, (1 << 20) - 1])
def test_cycles_of_any_length_are_found(length, threads):
    edges, parents, levels = long_path(1 << 20)
    parents[1] = length
    failure = validate_bfs(0, parents, levels, [edges], threads).failure
    assert (failure.rule, failure.vertex) == (1, 1)
