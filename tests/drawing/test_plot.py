"""Pictures of results: what they show as numbers, and that they show it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from penstock import arrays
from penstock.drawing import result_data
from penstock.drawing.groups import group_sizes
from penstock.drawing.timeline import PARTS, lanes_of
from penstock.engine.result import Result
from penstock.errors import InputNotFoundError, OptionError
from penstock.trace import Span

matplotlib = pytest.importorskip("matplotlib")

TABLE = Result.table("vertices", [0, 1, 2, 5], [4, 10, 3, 1], id_name="degree")
#: Three components: 0 1 2 5, 3, 4.
GROUPED = Result.table("component", range(6), [0, 0, 0, 3, 4, 0])
RANKED = Result.table(
    "rank",
    [1, 2, 3],
    [0.5, 0.25, 0.25],
    stats={"algorithm": "pagerank", "graph": "/data/web.penstock", "enough": 0.01},
    iterations=[
        {"step": 0, "active_share": 1.0, "active": None, "change": 0.5},
        {"step": 1, "active_share": 1.0, "active": None, "change": 0.05},
        {"step": 2, "active_share": 1.0, "active": None, "change": 0.0},
    ],
)
REACHED = Result.table(
    "level",
    range(10),
    np.array([0, 1, 1, 2, 2, 2, 3, -1, -1, -1], np.int32),
    stats={"algorithm": "bfs", "num_vertices": 10},
    iterations=[
        {"step": 0, "active": 1, "levels": 1},
        {"step": 1, "active": 2, "levels": 2},
        {"step": 2, "active": 1, "levels": 1},
    ],
)
NAMED = np.array(["a", "a", "c"], object)


def table(values, name="score", **more):
    return Result.table(name, np.arange(len(values)), np.asarray(values), **more)


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    return ps.generate("rmat", tmp_path_factory.mktemp("plot") / "web.penstock", scale=8)


@pytest.fixture(scope="module")
def traced(web):
    """A run with its trace."""
    return ps.pagerank(web, load=False, streams=2, trace=web.path.parent / "t.json")


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


# Pictures


def note_of(axes):
    return axes.get_title("right")


def test_picture_of_degrees():
    axes = TABLE.plot()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    line, points = axes.lines
    assert points.get_xydata().tolist() == [[1, 10], [2, 3], [5, 1]]
    assert line.get_xydata().tolist() == [[1, 14], [2, 4], [5, 1]]
    assert axes.get_title("left").strip() == "Degree distribution"
    assert note_of(axes) == "18 vertices, 4 of them of degree 0 (not shown)"


def test_picture_of_components():
    axes = GROUPED.plot()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.lines[0].get_xydata().tolist() == [[1, 2], [4, 1]]
    assert axes.get_xlabel() == "vertices in a component"
    assert note_of(axes) == "3 components, the largest with 4 of 6 vertices"


def test_picture_of_convergence():
    axes = RANKED.plot()
    assert axes.get_yscale() == "log"
    line, enough = axes.lines
    assert line.get_xydata().tolist() == [[1, 0.5], [2, 0.05]]
    assert enough.get_ydata() == [0.01, 0.01]
    assert axes.get_title("left").strip() == "Convergence of pagerank, web.penstock"
    assert [text.get_text() for text in axes.texts] == ["enough: 0.01"]


def test_the_end_of_a_run_beyond_given_limits_takes_no_room():
    figure = matplotlib.figure.Figure(layout="constrained")
    axes = RANKED.plot(ax=figure.subplots())
    axes.set_ylim(0.02, 1)
    (words,) = axes.texts
    figure.draw_without_rendering()
    assert words not in axes.get_default_bbox_extra_artists()
    assert words.get_annotation_clip()


def test_picture_of_what_is_active():
    axes = REACHED.plot()
    bars = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in axes.patches]
    np.testing.assert_allclose(bars, [(0, 10), (1, 20), (3, 10)])
    assert axes.get_xlabel() == "level"
    assert axes.get_ylabel() == "active vertices, % of all"
    assert note_of(axes) == "3 iterations, some of several levels"


def test_picture_of_many_iterations_is_an_area():
    rows = [{"step": k, "active": k % 7} for k in range(5000)]
    axes = table([1], iterations=rows, stats={"num_vertices": 10}).plot("active")
    assert not axes.patches
    assert len(axes.collections) == 1


def test_picture_of_values():
    axes = REACHED.plot("values")
    assert [bar.get_height() for bar in axes.patches] == [1, 2, 3, 1]
    assert axes.get_xscale() == "linear"
    assert note_of(axes) == "10 vertices, 3 not reached (not shown)"


@pytest.mark.parametrize("kind", ["active", "values"])
def test_bars_on_axes_that_are_logarithmic(kind, tmp_path):
    axes = matplotlib.figure.Figure().subplots()
    axes.set(yscale="log")
    REACHED.plot(kind, ax=axes, path=tmp_path / "b.png")
    low, high = axes.get_ylim()
    assert 0 < low < min(bar.get_height() for bar in axes.patches) < high


def test_notes_of_one():
    rows = [{"step": 0, "active": 1, "change": 0.5}]
    one = table([1.5], iterations=rows)
    assert note_of(one.plot("values")) == "1 vertex"
    assert note_of(one.plot("convergence")) == note_of(one.plot("active")) == "1 iteration"
    assert note_of(table([1], "degree").plot()) == "1 vertex"
    alone = note_of(table([0], "component").plot())
    assert alone == "1 component, the largest with 1 of 1 vertex"


def test_picture_of_edges(web):
    axes = ps.edge_betweenness(web).plot()
    assert axes.get_ylabel() == "edges"
    assert note_of(axes).startswith(f"{web.num_edges:,} edges")


def test_picture_of_a_million_values_has_few_bars():
    axes = table(np.random.default_rng(2).pareto(1.0, 1_000_000)).plot()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert len(axes.patches) == 40
    assert sum(bar.get_height() for bar in axes.patches) == 1_000_000


def test_picture_of_a_timeline(traced):
    axes = traced.plot("timeline")
    events = json.loads(traced.stats["trace"].read_text())["traceEvents"]
    begins = [event["ts"] for event in events if event["ph"] == "X"]
    ends = [event["ts"] + event["dur"] for event in events if event["ph"] == "X"]
    assert axes.get_xlim()[1] == pytest.approx((max(ends) - min(begins)) / 1e3)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "read the page", "decode it", "kernel",
    ]  # fmt: skip
    drawn = {matplotlib.colors.to_hex(each.get_facecolor()[0]) for each in axes.collections}
    assert drawn == set(PARTS.values())


def test_timeline_whose_trace_is_gone(tmp_path):
    gone = table([1, 2], stats={"trace": tmp_path / "gone.json"})
    with pytest.raises(InputNotFoundError, match=r"gone\.json: cannot be read"):
        gone.plot("timeline")


@pytest.mark.parametrize("count", [0, 1, 4])
def test_graphs_without_edges(count, tmp_path):
    graph = ps.from_edges([], [], num_vertices=count)
    degrees = ps.degree_distribution(graph).plot(path=tmp_path / "d.png")
    assert not len(degrees.lines[0].get_xydata())
    assert note_of(degrees).startswith("1 vertex" if count == 1 else f"{count} vertices")
    parts = ps.connected_components(graph).plot(path=tmp_path / "c.png")
    assert parts.lines[0].get_xydata().tolist() == ([[1, count]] if count else [])
    assert (parts.get_xscale(), parts.get_yscale()) == ("log", "log")


def test_axes_of_a_part_of_a_figure(tmp_path):
    figure = matplotlib.figure.Figure()
    left, _ = figure.subfigures(1, 2)
    TABLE.plot(ax=left.subplots(), path=tmp_path / "whole.png")
    assert (tmp_path / "whole.png").stat().st_size > 0


def test_axes_that_are_given():
    figure = matplotlib.figure.Figure()
    left, right = figure.subplots(1, 2)
    assert TABLE.plot(ax=left) is left
    TABLE.plot(ax=left)
    assert len(left.lines) == 4
    assert left.lines[0].get_color() != left.lines[2].get_color()
    assert not right.has_data()


def test_nothing_global_changes():
    before = matplotlib.rcParams.copy()
    TABLE.plot()
    assert matplotlib.rcParams.copy() == before
    code = """
import sys
from penstock.engine.result import Result
assert Result.table("score", [1, 2], [3, 4]).plot().has_data()
sys.exit("matplotlib.pyplot" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Files


@pytest.mark.parametrize("kind", result_data.KINDS)
def test_no_file_is_blank(kind, traced, tmp_path):
    from matplotlib.image import imread

    results = {"degrees": TABLE, "components": GROUPED, "active": REACHED}
    path = tmp_path / "picture.png"
    results.get(kind, traced).plot(kind, path=path)
    pixels = imread(path)[:, :, :3]
    is_ink = pixels.max(axis=2) < 0.6
    is_colored = np.ptp(pixels, axis=2) > 0.3
    assert 0.003 < is_ink.mean() < 0.2
    assert 0.0002 < is_colored.mean() < 0.6


@pytest.mark.parametrize(("suffix", "begin"), [(".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_other_files_and_the_same_bytes(suffix, begin, tmp_path):
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        RANKED.plot(path=path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(begin)
    assert first == second


def test_writing_replaces_only_when_complete(tmp_path, monkeypatch):
    path = tmp_path / "p.png"
    path.write_text("old")

    def fail(*args, **options):
        raise RuntimeError("no")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(RuntimeError):
        TABLE.plot(path=path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    TABLE.plot(path=path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_names_and_places_that_cannot_be(tmp_path):
    with pytest.raises(OptionError, match=r"p\.docx: expected .*\.png, \.svg or \.pdf"):
        TABLE.plot(path=tmp_path / "p.docx")
    with pytest.raises(InputNotFoundError, match="no such directory"):
        TABLE.plot(path=tmp_path / "none" / "p.png")


def test_without_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r"pip install 'penstock\[plot\]'"):
        TABLE.plot()
