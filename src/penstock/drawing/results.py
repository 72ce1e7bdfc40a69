"""Pictures of results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from penstock.drawing.colors import GREY, INK
from penstock.drawing.groups import GROUPS, Drawable
from penstock.drawing.result_data import (
    RESIDUALS,
    activity,
    at_least,
    chosen_kind,
    convergence,
    degree_counts,
    size_counts,
    value_histogram,
)
from penstock.drawing.style import (
    check_drawing,
    drawn_alike,
    new_figure,
    number_ticks,
    save_figure,
    short_number,
)
from penstock.drawing.timeline import add_part_names, draw_lanes
from penstock.trace import read_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches.
_WIDTH, _HEIGHT = 6.4, 3.9
_TIMELINE_HEIGHT = 2.4
#: Points that have room for a mark each, and bars for a gap between them.
_MARKED = 60
#: Beyond this many, points in drawings are stored as dots of a picture.
_VECTORS = 5000


def plot(
    result: Drawable,
    kind: str | None = None,
    ax: Axes | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Axes:
    """Draw a picture of a result; see :meth:`penstock.engine.result.Result.plot`."""
    check_drawing(path)
    chosen = chosen_kind(result, kind)
    with drawn_alike():
        height = _TIMELINE_HEIGHT if chosen == "timeline" else _HEIGHT
        axes = new_figure(_WIDTH, height).add_subplot() if ax is None else ax
        _DRAWN[chosen](axes, result)
        if path is not None:
            save_figure(axes.figure.figure, Path(path))
    return axes


def set_titles(axes: Axes, result: Drawable, what: str, note: str = "") -> None:
    """What it is, of which graph or file; and below it a fact or two."""
    source = result.stats.get("graph")
    title = f"{what}, {Path(source).name}" if source else what
    # The note stands in the empty line, and is replaced if something is drawn over this.
    axes.set_title(f"{title}\n" if note else title, loc="left")
    below = axes.set_title(note, loc="right", fontsize=8, fontweight="normal", color=GREY)
    below.set(x=0, horizontalalignment="left")


def number_of(count: int, one: str, several: str) -> str:
    """
    >>> number_of(1, "vertex", "vertices"), number_of(2000, "vertex", "vertices")
    ('1 vertex', '2,000 vertices')
    """
    return f"{count:,} {one if count == 1 else several}"


def _name(result: Drawable) -> str:
    return str(result.stats.get("algorithm", result.name))


def _make_log(axes: Axes, *which: Literal["x", "y"]) -> None:
    for each in which:
        if not np.isfinite(getattr(axes.dataLim, f"interval{each}")).all():  # nothing is drawn
            axes.set(**{f"{each}lim": (0.9, 11)})
        axes.set(**{f"{each}scale": "log"})
        number_ticks(getattr(axes, f"{each}axis"))


def draw_degrees(axes: Axes, result: Drawable) -> None:
    """Points for the degrees, and a line for at least so many."""
    degrees, counts = degree_counts(result)
    there = degrees > 0
    x, y = degrees[there], counts[there]
    is_long = len(x) > _VECTORS
    (line,) = axes.plot(x, at_least(y), label=_name(result), zorder=3, rasterized=is_long)
    axes.plot(
        x, y, "o", color=line.get_color(), alpha=0.3, markersize=3.5, markeredgewidth=0,
        rasterized=is_long,
    )  # fmt: skip
    _make_log(axes, "x", "y")
    axes.set(xlabel="degree", ylabel="vertices of a degree (points) or more (line)")
    none, total = int(counts[~there].sum()), int(counts.sum())
    note = number_of(total, "vertex", "vertices")
    note += f", {none:,} of them of degree 0 (not shown)" if none else ""
    set_titles(axes, result, "Degree distribution", note)


def draw_components(axes: Axes, result: Drawable) -> None:
    """A point for each size that occurs."""
    one, several = GROUPS[result.name]
    sizes, counts = size_counts(result)
    axes.plot(
        sizes, counts, "o", label=_name(result), alpha=0.7, markersize=6, markeredgewidth=0,
        rasterized=len(sizes) > _VECTORS,
    )  # fmt: skip
    _make_log(axes, "x", "y")
    axes.set(xlabel=f"vertices in a {one}", ylabel=f"{several} of that size")
    found = int(counts.sum())
    note = number_of(found, one, several)
    if found:
        total = number_of(len(result), "vertex", "vertices")
        note += f", the largest with {int(sizes[-1]):,} of {total}"
    set_titles(axes, result, f"Sizes of {several}", note)


def draw_convergence(axes: Axes, result: Drawable) -> None:
    """A line, and where the run would end."""
    found = convergence(result)
    style = "o-" if len(found.iterations) <= _MARKED else "-"
    axes.plot(found.iterations, found.residuals, style, label=_name(result))
    _make_log(axes, "y")
    _whole_ticks(axes)
    axes.set(xlabel="iteration", ylabel=RESIDUALS[found.name])
    if found.enough is not None:
        axes.axhline(found.enough, color=INK, lw=0.9, ls=(0, (4, 3)))
        words = axes.annotate(
            f"enough: {short_number(float(f'{found.enough:.3g}'))}", (0, found.enough), (4, 3),
            xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8, color=INK,
            annotation_clip=True,
        )  # fmt: skip
        words.set_in_layout(False)  # else room is made for it where it is outside of given limits
    note = number_of(len(result.iterations), "iteration", "iterations")
    set_titles(axes, result, f"Convergence of {_name(result)}", note)


def draw_activity(axes: Axes, result: Drawable) -> None:
    """Bars for the iterations, or an area if they are many."""
    found = activity(result)
    heights = 100 * found.shares if found.is_share else found.shares
    if len(heights) <= _MARKED:
        axes.bar(found.steps, heights, width=0.8, label=_name(result))
    else:
        axes.fill_between(found.steps, heights, step="mid", linewidth=0, label=_name(result))
    _whole_ticks(axes)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("level" if found.by_level else "iteration")
    axes.set_ylabel(f"active {found.unit}" + (", % of all" if found.is_share else ""))
    if axes.get_yscale() != "log":
        axes.set_ylim(0, 100 if found.is_share and heights.max(initial=0) > 50 else None)
    number_ticks(axes.yaxis)
    note = number_of(len(result.iterations), "iteration", "iterations")
    note += ", some of several levels" if found.some_together else ""
    set_titles(axes, result, f"Active {found.unit} in {_name(result)}", note)


def draw_values(axes: Axes, result: Drawable) -> None:
    """Bars; on logarithmic axes if the values are heavy-tailed."""
    found = value_histogram(result)
    one, several = ("edge", "edges") if hasattr(result, "src") else ("vertex", "vertices")
    gap = 0.5 if len(found.counts) <= _MARKED else 0.0
    axes.bar(
        found.edges[:-1], found.counts, np.diff(found.edges), align="edge", edgecolor="white",
        linewidth=gap, label=_name(result),
    )  # fmt: skip
    if found.is_log:
        _make_log(axes, "x", "y")
    else:
        number_ticks(axes.yaxis)
    axes.set_ylim(bottom=0.7 if axes.get_yscale() == "log" else 0)  # so that a bar of one is seen
    axes.grid(visible=False, axis="x")
    axes.set(xlabel=result.name.replace("_", " "), ylabel=several)
    words = [f"{count:,} {word}" for word, count in found.left_out.items()]
    note = number_of(found.total, one, several)
    note += f", {', '.join(words)} (not shown)" if words else ""
    set_titles(axes, result, f"Distribution of {result.name.replace('_', ' ')}", note)


def draw_timeline(axes: Axes, result: Drawable) -> None:
    """Lanes of streams, from the trace file of the run."""
    spans = read_trace(result.stats["trace"])
    draw_lanes(axes, spans)
    add_part_names(axes, over_hosts=any(span.rank is not None for span in spans))
    axes.set_xlabel("milliseconds since the first page")
    set_titles(axes, result, f"Timeline of {_name(result)}")


def _whole_ticks(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


_DRAWN = {
    "degrees": draw_degrees,
    "components": draw_components,
    "convergence": draw_convergence,
    "active": draw_activity,
    "values": draw_values,
    "timeline": draw_timeline,
}
