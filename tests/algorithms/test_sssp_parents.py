"""The parents of shortest paths: those of the contract, by lists of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from traversal_making import COMMON_KINDS, WAY_NAMES, WAYS, build, edges

import penstock as ps
from penstock.algorithms import _paths, _sssp_kernels
from penstock.algorithms._vids import by_vid, vids_by_vid
from penstock.algorithms._weights import weighed_edges
from penstock.algorithms.sssp import STATE_BYTES, verify
from penstock.engine.counts import counts_of
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.plan import SPARE_BYTES
from penstock.engine.planning import open_engine
from penstock.engine.sizes import list_bytes
from penstock.engine.topology import LISTS
from penstock.errors import VerificationError
from penstock.stream.block import Block
from penstock.types import NO_VERTEX

KINDS = {**COMMON_KINDS, "out-lists only": {"directions": "out"}}
WEIGHTS = {
    "whole": lambda rng, m: rng.integers(1, 5, m).astype(np.int32),
    "singles": lambda rng, m: rng.random(m).astype(np.float32),
    # Sums of these have many digits, and many are equal.
    "tenths": lambda rng, m: rng.integers(1, 8, m) / 10,
    "mostly nothing": lambda rng, m: (rng.random(m) < 0.1).astype(np.int32),
    "vanishing": lambda rng, m: np.where(rng.random(m) < 0.9, 1.0, 1e-300),
}


def kept_in_lists(graph):
    """Have the in-lists in memory, as runs over them leave them."""
    options = RunOptions.of()
    with open_engine(graph, options, Needs(("in",), 1.0, ("weight",))) as engine:
        engine.lists("in")


def refuse(*args):
    raise AssertionError("this was not to be used")


def found_parents(graph, found):
    return vids_by_vid(graph, found.parents, by_vid(graph, found.values) < np.inf)


def parents_by_definition(graph, sources, found):
    """The smallest nearer vertex with a tight edge; where there is none, the smallest as near of
    those that have a parent, round by round.
    """
    rows = weighed_edges(graph, "weight")
    src, dst, weight = (np.concatenate(each) for each in zip(*rows, strict=True))
    distances = by_vid(graph, found.values)
    tight = (distances[src] + weight == distances[dst]) & (distances[dst] < np.inf)
    src, dst = src[tight], dst[tight]
    parents = np.full(len(distances), NO_VERTEX, np.uint32)
    nearer = distances[src] < distances[dst]
    np.minimum.at(parents, dst[nearer], src[nearer])
    vids = graph.ids_by_vid()
    is_source = np.isin(vids, sources)
    parents[is_source] = np.flatnonzero(is_source)
    rounds = 0
    while True:
        usable = (parents[src] != NO_VERTEX) & (parents[dst] == NO_VERTEX)
        if not usable.any():
            return parents, rounds
        np.minimum.at(parents, dst[usable], src[usable])
        rounds += 1


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_parents_are_as_defined(kind, weights, tmp_path):
    src, dst = edges(3000, 9000)
    values = WEIGHTS[weights](np.random.default_rng(1), len(src))
    graph = build(tmp_path / "g", (src, dst, values), **KINDS[kind])
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    sources, cutoff = [7, 12, 3050], 20 * float(values.mean())
    found = ps.sssp(graph, sources, cutoff, **WAYS[0])
    verify(graph, found)
    assert 1500 < np.isfinite(found.values).sum() < len(found)
    expected, rounds = parents_by_definition(graph, sources, found)
    assert (rounds > 0) == (weights in ("mostly nothing", "vanishing"))
    np.testing.assert_array_equal(found_parents(graph, found), expected)
    for way in WAYS[1:]:
        same = ps.sssp(graph, sources, cutoff, **way)
        np.testing.assert_array_equal(same.parents, found.parents)


@pytest.mark.parametrize("weights", ["tenths", "mostly nothing"])
def test_in_lists_that_are_in_memory_are_used(weights, tmp_path, monkeypatch):
    src, dst = edges(3000, 9000)
    values = WEIGHTS[weights](np.random.default_rng(1), len(src))
    graph = build(tmp_path / "g", (src, dst, values))
    first = ps.sssp(graph, [7, 12])
    with monkeypatch.context() as patch:
        patch.setattr(_paths, "_take_nearer", refuse)
        expected = first.parents
    assert ("in", ("weight",)) not in graph.kept.keys(LISTS), "they are not loaded for this"
    kept_in_lists(graph)
    monkeypatch.setattr(_paths, "_offer_from_nearer", refuse)
    for threads in (1, 3):
        found = ps.sssp(graph, [7, 12], threads=threads)
        np.testing.assert_array_equal(found.parents, expected)
        verify(graph, found)


@pytest.mark.parametrize("directions", [["out"], ["out", "in"]], ids=["one", "both"])
def test_in_lists_that_do_not_fit_beside_the_others(directions, tmp_path, monkeypatch):
    """There is room to stream one direction, or both."""
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    src, dst = edges(3000, 9000)
    graph = build(tmp_path / "g", (src, dst, np.ones(len(src), np.int32)))
    expected = ps.sssp(graph, 7).parents
    buffers = sum(
        list_bytes(counts_of(graph), each, ["weight"]).stream_bytes for each in directions
    )
    memory = STATE_BYTES * graph.num_vertices + SPARE_BYTES + buffers
    found = ps.sssp(graph, 7, memory=memory)
    assert not found.stats["resident"]
    kept_in_lists(graph)
    monkeypatch.setattr(_paths, "_take_nearer", refuse)
    np.testing.assert_array_equal(found.parents, expected)


@pytest.mark.parametrize("last", [1, 0], ids=["nearer", "as near"])
@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_a_list_in_parts_has_one_smallest(last, way, tmp_path):
    # A source, many vertices around it, and one behind them that could have half of them as parent,
    # from the second page of its list on.
    many = 8000
    around, source, behind = np.arange(many), many, many + 1
    to_many = np.where(around < many // 2, 2, 1)
    src = np.concatenate([np.full(many, source), around])
    dst = np.concatenate([around, np.full(many, behind)])
    weights = np.concatenate([to_many, np.full(many, last)]).astype(np.int32)
    graph = build(tmp_path / "g", (src, dst, weights), directed=False, vertex_order="none")
    runs = graph.page_table("out")
    assert np.count_nonzero(runs["first_vid"] == behind) > 4
    found = ps.sssp(graph, source, **way)
    assert found.values[behind] == 1 + last
    assert found.parents[behind] == many // 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first to last", "last to first"])
def test_parts_of_a_list_may_come_in_any_order(order):
    # The list of 4 is 0, 1 and 2, 3: 1 to 3 have tight edges to it.
    ends = np.array([0, 2], np.uint32)
    parts = [
        Block(4, ends, np.array(pair, np.uint32), (np.array(weights),))
        for pair, weights in (((0, 1), (9.0, 2.0)), ((2, 3), (2.0, 2.0)))
    ]
    vertices, found = np.array([4], np.uint32), np.empty(2, np.uint32)
    parents = np.full(5, NO_VERTEX, np.uint32)
    distances = np.array([0.0, 1.0, 1.0, 1.0, 3.0])
    for k in order:
        _paths._take_nearer(parts[k], vertices, found, distances, parents, True)
    assert parents.tolist() == [NO_VERTEX] * 4 + [1]
    parents, offers = np.array([0, 0, 0, 0, NO_VERTEX], np.uint32), np.full(5, NO_VERTEX, np.uint32)
    for part in parts:
        part.columns[0][:] = 0
    distances[1:] = 3.0
    counts = [
        _paths._take_as_near(parts[k], vertices, found, distances, parents, offers) for k in order
    ]
    assert counts == [1, 0], "found once"
    assert offers.tolist() == [NO_VERTEX] * 4 + [1]


def test_parents_of_lists_in_another_order():
    # 4 has 3, 1 and 2 before it, in this order.
    src, dst, weight = [0, 0, 0, 3, 1, 2], [1, 2, 3, 4, 4, 4], [2, 1, 1, 1, 1, 1]
    graph = ps.from_edges(
        src, dst, np.array(weight, np.int32), directed=False, vertex_order="none",
        neighbour_order="input",
    )  # fmt: skip
    assert ps.sssp(graph, 0).parents.tolist() == [0, 0, 0, 0, 2]


def test_of_several_edges_the_lightest_counts():
    src, dst, weight = [0, 0, 0, 1], [1, 1, 2, 2], [5.0, 1.0, 4.0, 3.0]
    for directed in (True, False):
        graph = ps.from_edges(src, dst, weight, directed=directed, duplicates="keep")
        found = ps.sssp(graph, 0)
        assert found.values.tolist() == [0, 1, 4]
        assert found.parents.tolist() == [0, 0, 0]


@pytest.mark.parametrize("directed", [True, False])
def test_distances_without_a_path_are_noticed(directed):
    graph = ps.from_edges([0, 2], [1, 3], [1.0, 0.0], directed=directed)
    vids = {int(name): vid for vid, name in enumerate(graph.ids_by_vid())}
    distances = np.empty(4)
    for name, distance in enumerate([0.0, 1.0, 7.0, 7.0]):
        distances[vids[name]] = distance
    with (
        open_engine(graph, RunOptions.of(), Needs(("out",), 1.0, ("weight",))) as engine,
        pytest.raises(VerificationError, match="2 vertices have a distance but no path"),
    ):
        _paths.find_parents(engine, np.array([vids[0]], np.uint32), distances)


@pytest.mark.parametrize("way", WAYS[1:3], ids=WAY_NAMES[1:3])
def test_the_mean_weight_is_looked_for_once(way, tmp_path, monkeypatch):
    src, dst = edges(3000, 9000)
    weights = WEIGHTS["whole"](np.random.default_rng(1), len(src))
    graph = build(tmp_path / "g", (src, dst, weights))
    first = ps.sssp(graph, 7, **way)
    monkeypatch.setattr(_sssp_kernels, "mean_weights", refuse)
    again = ps.sssp(graph, 7, **way)
    np.testing.assert_array_equal(again.values, first.values)
    assert again.stats["edges_traversed"] < first.stats["edges_traversed"]
    with pytest.raises(AssertionError, match="not to be used"):
        ps.sssp(ps.open(tmp_path / "g"), 7, **way)
