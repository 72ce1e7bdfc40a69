"""Pictures of results: what they show, as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from plot_making import GROUPED, NAMED, RANKED, REACHED, TABLE, table

import penstock as ps
from penstock import arrays
from penstock.drawing import result_data
from penstock.drawing.groups import group_sizes
from penstock.drawing.timeline import lanes_of
from penstock.engine.result import Result
from penstock.errors import OptionError
from penstock.trace import Span

matplotlib = pytest.importorskip("matplotlib")


# What is chosen


def test_kinds_of_results(web):
    hub = ps.pagerank(web).top(1)[0][0]
    usual = {
        "degrees": [ps.degree_distribution(web), ps.induced_subgraph(web, [hub, 1, 2])],
        "components": [
            ps.connected_components(web), ps.strongly_connected_components(web),
            ps.label_propagation(web), ps.minimum_spanning_forest(web),
            ps.scan(web, epsilon=0.3, mu=2, index=False),
        ],
        "convergence": [ps.pagerank(web), ps.rwr(web, hub)],
        "active": [ps.bfs(web, hub, breakdown=True)],
        "values": [ps.triangles(web), ps.closeness(web), ps.heat(web, hub), ps.color(web)],
    }  # fmt: skip
    for kind, results in usual.items():
        for result in results:
            assert result_data.chosen_kind(result, None) == kind, result
            assert kind in result_data.kinds_of(result)


def test_active_is_the_usual_kind_only_if_it_changes():
    assert result_data.chosen_kind(REACHED, None) == "active"
    rows = [{"step": k, "active": 3} for k in range(4)]
    assert result_data.chosen_kind(table([1, 2], iterations=rows), None) == "values"
    assert result_data.chosen_kind(table([], iterations=rows), None) == "active"


@pytest.mark.parametrize(
    "graph",
    [
        ps.from_edges([0, 1, 2], [1, 2, 0], directed=False),
        ps.from_edges([], [], num_vertices=1),
    ],
)
def test_what_never_changes_has_no_convergence(graph, tmp_path):
    ranks = ps.pagerank(graph)
    assert {row["change"] for row in ranks.iterations} == {0}
    axes = ranks.plot(path=tmp_path / "r.png")
    assert sum(bar.get_height() for bar in axes.patches) == graph.num_vertices
    with pytest.raises(OptionError, match="no convergence; it has active, values"):
        ranks.plot("convergence")


@pytest.mark.parametrize(
    ("result", "kind", "says"),
    [
        (RANKED, "components", "result of rank has no components; it has convergence, active, val"),
        (TABLE, "values", "has no values; it has degrees$"),
        (GROUPED, "timeline", r"no timeline; run with trace=FILE \(--trace\).*; it has components"),
        (RANKED, "pie", "expected one of degrees, components, .*; got 'pie'"),
        (table([], "score"), "values", r"has no values \(.* file of --out\); it has nothing to"),
        (table([], "score"), None, r"result of score has nothing to draw \(.* file of --out\)"),
        (table(["a", "b"], "name"), None, "nothing to draw"),
        (Result.table("dst", [1, 2], [3, 4], id_name="src"), None, "result of dst has nothing"),
    ],
)
def test_kinds_that_are_not_there(result, kind, says):
    with pytest.raises(OptionError, match=says):
        result.plot(kind)


# Numbers


def test_degrees_of_a_table_and_of_vertices():
    degrees, counts = result_data.degree_counts(TABLE)
    assert (degrees.tolist(), counts.tolist()) == ([0, 1, 2, 5], [4, 10, 3, 1])
    degrees, counts = result_data.degree_counts(table([3, 1, 3, 0], "degree"))
    assert (degrees.tolist(), counts.tolist()) == ([0, 1, 3], [1, 1, 2])


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(arrays.parts, "__defaults__", (3,))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("result", "labels", "sizes"),
    [
        (GROUPED, [0, 3, 4], [4, 1, 1]),
        (table([7, 7, 1, 9, 7], "label"), [1, 7, 9], [1, 3, 1]),
        (Result.table("tree", ["a", "b", "c"], NAMED), ["a", "c"], [2, 1]),
        (
            table([2, 2, 2, 5, 2, 5], "cluster", columns={"role": np.array([0, 1, 0, 2, 3, 1])}),
            [2, 5], [3, 1],
        ),
        (table([2, 2, 5, 5], "cluster"), [2, 5], [2, 2]),
        (table([9, 9, 0, 7], "component"), [0, 7, 9], [1, 1, 2]),
        (table([np.nan, 4.0, 4.0], "tree"), [4], [2]),
        (table(np.array([None, "b", "b"], object), "component"), ["b"], [2]),
        (table(np.array([2**64 - 1, None], object), "label"), [2**64 - 1], [1]),
    ],
)  # fmt: skip
def test_sizes_of_groups(result, labels, sizes):
    found = group_sizes(result)
    assert [each.tolist() for each in found] == [labels, sizes]
    which, counts = result_data.size_counts(result)
    assert which.tolist() == sorted(set(sizes))
    assert counts.tolist() == [sizes.count(size) for size in which]


def test_convergence_has_no_zeros():
    found = result_data.convergence(RANKED)
    assert (found.iterations.tolist(), found.residuals.tolist()) == ([1, 2], [0.5, 0.05])
    assert (found.name, found.enough) == ("change", 0.01)


def test_convergence_of_a_real_run(web):
    result = ps.pagerank(web, tol=1e-7)
    found = result_data.convergence(result)
    assert found.residuals.tolist() == [row["change"] for row in result.iterations]
    assert found.residuals[-1] < found.enough <= found.residuals[-2]


def test_convergence_by_what_moves():
    rows = [{"step": k, "moving": left} for k, left in enumerate((9.0, 4.0, 0.0))]
    found = result_data.convergence(table([1.0], iterations=rows))
    assert (found.name, found.residuals.tolist(), found.enough) == ("moving", [9, 4], None)


def test_activity_counts_levels():
    found = result_data.activity(REACHED)
    assert found.steps.tolist() == [0, 1, 3]
    assert found.shares.tolist() == [0.1, 0.2, 0.1]
    assert (found.unit, found.is_share) == ("vertices", True)
    assert found.by_level
    assert found.some_together


def test_activity_of_edges_and_without_a_number_of_vertices():
    edges = result_data.activity(RANKED)
    assert (edges.unit, edges.shares.tolist(), edges.by_level) == ("edges", [1, 1, 1], False)
    rows = [{"step": 0, "mode": "x"}, {"step": 1, "active": 5}, {"step": 2, "active": 7}]
    counts = result_data.activity(table([1], iterations=rows))
    assert (counts.steps.tolist(), counts.shares.tolist()) == ([1, 2], [5, 7])
    assert not counts.is_share


def test_activity_of_a_real_search(web):
    hub = ps.pagerank(web).top(1)[0][0]
    result = ps.bfs(web, hub, breakdown=True)
    found = result_data.activity(result)
    levels = np.bincount(result.values[result.values >= 0])[: len(found.shares)]
    assert (found.shares * web.num_vertices).round().tolist() == levels.tolist()
    assert not found.some_together


def test_many_points_are_thinned_to_the_highest():
    x, y = np.arange(100_000), np.zeros(100_000)
    y[[7, 55_555]] = 1, 2
    places, heights = result_data.thinned(x, y)
    assert len(places) == len(heights) == 2000
    assert dict(zip(places.tolist(), heights.tolist(), strict=True))[55_555] == 2
    assert heights.sum() == 3


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("values", "edges", "counts", "left_out"),
    [
        (np.array([1, 2, 2, 4]), [0.5, 1.5, 2.5, 3.5, 4.5], [1, 2, 0, 1], {}),
        (np.array([-3, -3, -1]), [-3.5, -2.5, -1.5, -0.5], [2, 0, 1], {}),
        (np.array([0] * 20 + [1, 1, 2, 3, 500]), 2.0 ** np.arange(10),
         [2, 2, 0, 0, 0, 0, 0, 0, 1], {"zero": 20}),
        (np.array([2.0, 2.0, np.nan, np.inf]), [1, 3], [2], {"not a number or too large": 2}),
        (np.array([0.0, 0.0]), [-0.5, 0.5], [2], {}),
        (np.array([np.nan]), [0, 1], [0], {"not a number or too large": 1}),
        (np.array([-1e308, 1e308, 3.0]), [1.5, 4.5], [1], {"not a number or too large": 2}),
        (np.array([-1e308, 1e308]), [0, 1], [0], {"not a number or too large": 2}),
    ],
)  # fmt: skip
def test_histogram(values, edges, counts, left_out):
    found = result_data.value_histogram(table(values))
    np.testing.assert_array_equal(found.edges, edges)
    assert found.counts.tolist() == counts
    assert found.left_out == left_out
    assert found.is_log == ("zero" in left_out)
    assert found.counts.sum() + sum(left_out.values()) == found.total == len(values)


def test_histogram_of_what_is_reached():
    found = result_data.value_histogram(REACHED)
    assert (found.counts.tolist(), found.left_out) == ([1, 2, 3, 1], {"not reached": 3})
    far = result_data.value_histogram(table([0.0, 1.5, np.inf], "distance"))
    assert (far.counts.sum(), far.left_out) == (2, {"not reached": 1})


def test_heavy_tails_are_logarithmic():
    rng = np.random.default_rng(1)
    heavy = result_data.value_histogram(table(rng.pareto(1.0, 10_000)))
    assert heavy.is_log
    assert heavy.counts.sum() == 10_000
    ratios = heavy.edges[1:] / heavy.edges[:-1]
    np.testing.assert_allclose(ratios, ratios[0])
    assert not result_data.value_histogram(table(rng.normal(5, 1, 10_000))).is_log
    assert not result_data.value_histogram(table(rng.random(10_000))).is_log


def test_histogram_of_a_wide_range_of_whole_numbers_has_equal_bins():
    found = result_data.value_histogram(table(np.arange(1000)))
    assert set(np.diff(found.edges)) == {25.0}
    assert found.counts.tolist() == [25] * 40


def test_lanes():
    spans = [Span(3, "read", 10.0, 2.0), Span(1, "kernel", 12.0, 1.0), Span(3, "kernel", 13.0, 1.0)]
    lanes, length = lanes_of(spans)
    assert length == 4.0
    assert list(lanes.items()) == [
        (1, {"kernel": [(2.0, 1.0)]}),
        (3, {"kernel": [(3.0, 1.0)], "read": [(0.0, 2.0)]}),
    ]
    assert lanes_of([]) == ({}, 1.0)
