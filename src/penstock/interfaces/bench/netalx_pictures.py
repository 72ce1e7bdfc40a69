"""Pictures of the suite ``netalx``, from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.config import format_bytes
from penstock.drawing.colors import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY
from penstock.drawing.rows import Row, distinct, rows_of
from penstock.drawing.style import add_legend, add_note, open_figure, plain_ticks
from penstock.interfaces.bench.netalx_experiments import MODES, OUTCOMES
from penstock.interfaces.bench.netalx_searches import DUAL, MEMORY, SCALES_LESS, TIERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLACES = {MEMORY: BLUE, DUAL: GREEN, TIERS: ORANGE}
PLACE_NAMES = {MEMORY: "all in memory", DUAL: "dual", TIERS: "first edges in memory"}
MODE_COLORS = dict(zip(MODES, (PURPLE, SKY), strict=True))
OUTCOME_COLORS = dict(zip(OUTCOMES, (GREEN, ORANGE, SKY, GREY), strict=True))
PARTS = {"edge_bytes": BLUE, "index_bytes": SKY, "state_bytes": GREEN, "buffer_bytes": GREY}
PART_NAMES = {
    "edge_bytes": "edges", "index_bytes": "where lists are", "state_bytes": "values",
    "buffer_bytes": "buffers",
}  # fmt: skip
#: What the thesis measured on a flat graph.
THESIS_SLOWDOWN = 6.18


def short(number: float) -> str:
    """
    >>> short(0), short(7.5), short(1234), short(25_400_000)
    ('0', '7.5', '1.2k', '25M')
    """
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            scaled = number / limit
            return f"{scaled:.2g}{letter}" if scaled < 100 else f"{scaled:.0f}{letter}"
    return f"{number:.3g}"


def _words(names: Sequence[str]) -> dict[str, str]:
    """Entries of a legend."""
    return {PLACE_NAMES[name]: PLACES[name] for name in names}


def _mteps(rows: list[Row]) -> list[float]:
    return [row["teps"] / 1e6 for row in rows]


# Speed against size


def share_of_smaller(rows: list[Row], scale: int) -> float | None:
    """The speed in tiers, of that of a graph in memory that takes as much memory; None if that was
    not run.
    """
    tiers = rows_of(rows, place=TIERS, scale=scale)
    smaller = rows_of(rows, place=MEMORY, scale=scale - SCALES_LESS)
    return float(tiers[0]["teps"] / smaller[0]["teps"]) if smaller else None


def draw_scale(rows: list[Row], path: Path) -> None:
    """Lines: speed by scale."""
    scales = distinct(rows, "scale")
    share = share_of_smaller(rows, scales[-1]) or 0.0
    _draw_speed(
        rows, path, "scale", list(map(str, scales)), "scale (2 to that many vertices)",
        f"Scale {scales[-1]} with some in memory: {share:.0%} of {scales[-1] - SCALES_LESS} in "
        "memory (thesis: 85%).",
    )  # fmt: skip


def draw_edge_factor(rows: list[Row], path: Path) -> None:
    """Lines: speed by edge factor."""
    labels = [f"{row['edge_factor']}\nscale {row['scale']}" for row in rows_of(rows, place=MEMORY)]
    label = "edges per vertex, and scale of the graph"
    _draw_speed(rows, path, "edge_factor", labels, label, "All graphs have about as many edges.")


def _draw_speed(
    rows: list[Row], path: Path, key: str, labels: list[str], label: str, note: str
) -> None:
    """Lines: speed in memory and in tiers, with the share of it that tiers reach."""
    with open_figure(path, 6, 3.3) as figure:
        axes = figure.subplots()
        places = {row[key]: at for at, row in enumerate(rows_of(rows, place=MEMORY))}
        whole = {row[key]: row["teps"] for row in rows_of(rows, place=MEMORY)}
        for place in (MEMORY, TIERS):
            mine = rows_of(rows, place=place)
            axes.plot([places[row[key]] for row in mine], _mteps(mine), "o-", color=PLACES[place])
        for row in rows_of(rows, place=TIERS):
            axes.annotate(
                f"{row['teps'] / whole[row[key]]:.0%}", (places[row[key]], row["teps"] / 1e6),
                (0, 6), textcoords="offset points", ha="center", fontsize=8, color=ORANGE,
            )  # fmt: skip
        axes.set_xticks(list(places.values()), labels)
        axes.set(xlabel=label, ylabel="million TEPS", ylim=(0, 1.1 * max(_mteps(rows))))
        axes.set_xlim(-0.3, len(places) - 0.7)
        axes.grid(visible=False, axis="x")
        add_legend(
            axes, _words((MEMORY, TIERS)), loc="lower left", bbox_to_anchor=(0, 0.98), ncols=2
        )
        share = sum(row["memory_share"] for row in rows_of(rows, place=TIERS)) / len(places)
        words = f"First edges: {share:.0%} of all. At the points: share of the speed in memory."
        add_note(figure, f"{words}\n{note}")


# Edges of each vertex in memory


def draw_heads(rows: list[Row], path: Path) -> None:
    """Lines and bars: speed and memory by k."""
    mine, whole = rows_of(rows, place=TIERS), rows_of(rows, place=MEMORY)[0]
    with open_figure(path, 6.5, 4.4) as figure:
        top, bottom = figure.subplots(2, 1, sharex=True)
        x = range(len(mine))
        top.plot(x, _mteps(mine), "o-", color=ORANGE)
        _mark(top, whole["teps"] / 1e6, "all in\nmemory")
        top.set(ylabel="million TEPS", ylim=(0, 1.15 * max(_mteps(rows))))
        edges = [row["edge_bytes"] / 1e6 for row in mine]
        others = [(row["planned_memory"] - row["edge_bytes"]) / 1e6 for row in mine]
        bottom.bar(x, others, color=GREY, width=0.7)
        bars = bottom.bar(x, edges, bottom=others, color=BLUE, width=0.7)
        shares = [f"{row['memory_share']:.0%}" for row in mine]
        over = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        bottom.bar_label(bars, shares, padding=2, fontsize=8, color=BLUE, bbox=over)
        _mark(bottom, whole["planned_memory"] / 1e6, "all in\nmemory")
        most = max(row["planned_memory"] for row in rows) / 1e6
        bottom.set(ylabel="memory, MB", ylim=(0, 1.2 * most))
        bottom.set_xlabel("edges of each vertex in memory")
        bottom.set_xticks(x, [str(row["head_edges"]) for row in mine])
        for axes in (top, bottom):
            axes.grid(visible=False, axis="x")
        words = {"edges (share of all)": BLUE, "all else": GREY}
        add_legend(bottom, words, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)


def _mark(axes: Axes, height: float, words: str) -> None:
    """A dashed line with a name at its end."""
    axes.axhline(height, color=INK, lw=0.9, ls=(0, (4, 3)))
    axes.annotate(
        words, (1, height), (4, 0), xycoords=("axes fraction", "data"),
        textcoords="offset points", va="center", fontsize=8, color=INK,
    )  # fmt: skip


def draw_heads_time(rows: list[Row], path: Path) -> None:
    """Lines: milliseconds by direction and k; last, all in memory."""
    with open_figure(path, 6.5, 3.2) as figure:
        axes = figure.subplots()
        tiers = rows_of(rows, place=TIERS)
        whole = rows_of(rows, place=MEMORY)[0]
        for mode, color in MODE_COLORS.items():
            name = f"{mode.replace('-', '_')}_seconds"
            axes.plot(range(len(tiers)), [1e3 * row[name] for row in tiers], "o-", color=color)
            axes.plot(len(tiers), 1e3 * whole[name], "o", color=color)
        labels = [str(row["head_edges"]) for row in tiers]
        axes.set_xticks(range(len(tiers) + 1), [*labels, "all in\nmemory"])
        axes.set(xlabel="edges of each vertex in memory", ylabel="milliseconds")
        axes.set_ylim(bottom=0)
        axes.grid(visible=False, axis="x")
        add_legend(axes, MODE_COLORS, loc="lower left", bbox_to_anchor=(0, 0.98), ncols=2)


def draw_heads_lists(rows: list[Row], path: Path) -> None:
    """Bars: lists read bottom-up, and bytes read each way, by k."""
    mine = rows_of(rows, place=TIERS)
    with open_figure(path, 6.5, 5.2) as figure:
        every = figure.subplots(3, 1, sharex=True)
        for axes, title, name, color in zip(
            every,
            ("Lists read bottom-up", "Read bottom-up", "Read top-down"),
            ("bottom_up_lists", "bottom_up_bytes", "top_down_bytes"),
            (SKY, SKY, PURPLE),
            strict=True,
        ):
            in_bytes = name.endswith("bytes")
            bars = axes.bar(
                range(len(mine)), [row[name] / (1e6 if in_bytes else 1) for row in mine],
                color=color, width=0.7,
            )  # fmt: skip
            words = [format_bytes(row[name]) if in_bytes else short(row[name]) for row in mine]
            axes.bar_label(bars, words, padding=2, fontsize=8, color=INK)
            axes.set(title=title, ylabel="MB" if in_bytes else "lists")
            axes.margins(y=0.2)
            axes.grid(visible=False, axis="x")
        every[-1].set_xticks(range(len(mine)), [str(row["head_edges"]) for row in mine])
        every[-1].set_xlabel("edges of each vertex in memory")


# Edges looked at


def draw_looks(rows: list[Row], path: Path) -> None:
    """Dots: vertices that look at so many edges bottom-up; lines: the share of edges within."""
    colors = dict(zip(distinct(rows, "rule"), (BLUE, ORANGE), strict=True))
    with open_figure(path, 7.5, 3.2) as figure:
        left, right = figure.subplots(1, 2)
        for rule, color in colors.items():
            mine = [row for row in rows_of(rows, rule=rule) if row["looks"] is not None]
            some = [row for row in mine if row["vertices"]]
            x = [row["looks"] for row in some]
            left.plot(x, [row["vertices"] for row in some], "o", color=color, markersize=3.5)
            x = [row["looks"] for row in mine]
            right.plot(x, [100 * row["edges_within"] for row in mine], "-", color=color)
            first = 100 * mine[0]["edges_within"]
            right.plot(1, first, "o", color=color)
            right.annotate(
                f"{first:.0f}%", (1, first), (7, -3), textcoords="offset points", fontsize=8,
                color=color,
            )  # fmt: skip
        left.set_yscale("log")
        left.set(title="Vertices that look at m edges", xlabel="m", ylabel="vertices")
        right.set(title="Edges looked at within m", xlabel="m", ylabel="% of the edges looked at")
        right.set_xscale("log", base=2)
        plain_ticks(right.xaxis, (1, 2, 4, 8, 16, 32, 64))
        right.set_ylim(min(100 * row["edges_within"] for row in rows) - 5, 101)
        words = {f"rule: {rule}": color for rule, color in colors.items()}
        add_legend(right, words, loc="lower right")
        add_note(
            figure, "Bottom-up levels from all roots. The thesis had 84% within 1, 90% within 2."
        )


def draw_edges(rows: list[Row], path: Path) -> None:
    """Stacked bars: what becomes of the edges of each level, top-down throughout."""
    mine = rows_of(rows, approach="top-down")
    x = [row["level"] for row in mine]
    with open_figure(path, 7.5, 3.2) as figure:
        left, right = figure.subplots(1, 2)
        for axes, units in (
            (left, [1e6] * len(mine)), (right, [max(row["edges"], 1) / 100 for row in mine]),
        ):  # fmt: skip
            below = [0.0] * len(mine)
            for name, color in OUTCOME_COLORS.items():
                heights = [row[name] / unit for row, unit in zip(mine, units, strict=True)]
                axes.bar(x, heights, bottom=below, color=color, width=0.75)
                below = [a + b for a, b in zip(below, heights, strict=True)]
            axes.set_xlabel("level")
            axes.set_xticks(x)
            axes.grid(visible=False, axis="x")
        left.set(title="Edges of the frontier", ylabel="million edges")
        right.set(title="What became of them", ylabel="% of the level's edges", ylim=(0, 100))
        add_legend(left, OUTCOME_COLORS, loc="upper left")
        add_note(
            figure,
            "Claimed: a vertex was found. Failed: another one had found it. Peer: on the same "
            "level. Parent: on the one above.",
        )


def draw_directions(rows: list[Row], path: Path) -> None:
    """Lines: edges looked at in each level, both ways; rings: what was chosen."""
    colors = {**MODE_COLORS, "hybrid": INK}
    with open_figure(path, 6.5, 3.4) as figure:
        axes = figure.subplots()
        words = {}
        for way, color in colors.items():
            mine = [row for row in rows_of(rows, approach=way) if row["edges"]]
            x, y = [row["level"] for row in mine], [row["edges"] for row in mine]
            words[f"{way}: {short(sum(y))} edges"] = color
            if way == "hybrid":
                axes.plot(
                    x, y, "o", markersize=10, markerfacecolor="none", markeredgecolor=INK,
                    markeredgewidth=1.1,
                )  # fmt: skip
            else:
                axes.plot(x, y, "o-", color=color)
        axes.set_yscale("log")
        axes.set(xlabel="level", ylabel="edges looked at")
        axes.set_xticks(distinct(rows, "level"))
        axes.grid(visible=False, axis="x")
        add_legend(axes, words, loc="lower left", bbox_to_anchor=(0, 0.98), ncols=3)


# Models


def draw_models(rows: list[Row], path: Path) -> None:
    """Bars: memory by part, and speed, of each model."""
    names = [PLACE_NAMES[row["place"]] for row in rows]
    with open_figure(path, 7.5, 2.6) as figure:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        begins = [0.0] * len(rows)
        for part, color in PARTS.items():
            widths = [row[part] / 1e6 for row in rows]
            bars = left.barh(names, widths, left=begins, color=color, height=0.62)
            begins = [a + b for a, b in zip(begins, widths, strict=True)]
        totals = [format_bytes(row["planned_memory"]) for row in rows]
        left.bar_label(bars, totals, padding=3, fontsize=8, color=INK)
        speeds = right.barh(
            names, _mteps(rows), color=[PLACES[row["place"]] for row in rows], height=0.62
        )
        right.bar_label(speeds, [short(row["teps"]) for row in rows], padding=3, fontsize=8)
        left.set_xlabel("memory, MB")
        right.set_xlabel("million TEPS")
        left.invert_yaxis()
        for axes in (left, right):
            axes.margins(x=0.25)
            axes.grid(visible=False, axis="y")
        words = {PART_NAMES[part]: color for part, color in PARTS.items()}
        add_legend(left, words, loc="lower left", bbox_to_anchor=(0, 0.98), ncols=4)


def draw_flat(rows: list[Row], path: Path) -> None:
    """Bars: speed on RMAT and uniform graphs; lines: seconds and bytes of each level."""
    kinds = distinct(rows, "kind")
    largest = max(row["scale"] for row in rows)
    last = max(level["level"] for row in rows for level in row["levels"])
    with open_figure(path, 7.5, 5.9) as figure:
        panels = figure.subplots(3, len(kinds), sharex="row", sharey="row", height_ratios=[3, 3, 3])
        for (speed, time, size), kind in zip(panels.T, kinds, strict=True):
            mine = rows_of(rows, kind=kind)
            names = [f"{PLACE_NAMES[row['place']]}, scale {row['scale']}" for row in mine]
            colors = [PLACES[row["place"]] for row in mine]
            bars = speed.barh(names, _mteps(mine), color=colors, height=0.7)
            labels = [_speed_label(row) for row in mine]
            speed.bar_label(bars, labels, padding=3, fontsize=8, color=INK)
            speed.set(title=kind.upper() if kind == "rmat" else kind, xlabel="million TEPS")
            speed.margins(x=0.4)
            speed.grid(visible=False, axis="y")
            for row in rows_of(mine, scale=largest):
                _draw_levels(time, row, "seconds", 1e-3)
                _draw_levels(size, row, "bytes_read", 1e6)
            size.set_xlabel("level")
            for axes in (time, size):
                axes.set_xticks(range(last + 1))
        panels[0, 0].invert_yaxis()
        panels[1, 0].set_ylabel("milliseconds")
        panels[2, 0].set_ylabel("MB read")
        add_note(
            figure,
            "Times slower than the same graph in memory / than the smaller one, as the thesis "
            f"compares ({THESIS_SLOWDOWN:g} if flat).\nLevels: of the larger graph.",
        )


def _speed_label(row: Row) -> str:
    if row["place"] == MEMORY:
        return short(row["teps"])
    slower = f"{row['slower_than_memory']:.1f} / {row['slower_than_smaller']:.1f}"
    return f"{short(row['teps'])}, {slower} times slower"


def _draw_levels(axes: Axes, row: Row, name: str, unit: float) -> None:
    levels: list[dict[str, Any]] = row["levels"]
    x = [level["level"] for level in levels]
    axes.plot(x, [level[name] / unit for level in levels], "o-", color=PLACES[row["place"]], lw=1.3)
