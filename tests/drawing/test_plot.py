"""Pictures of results: that they show what they should."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from plot_making import GROUPED, RANKED, REACHED, TABLE, table

import penstock as ps
from penstock.drawing import result_data
from penstock.drawing.timeline import PARTS
from penstock.errors import InputNotFoundError, OptionError

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")


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
