"""Pictures of what was measured: from rows to PNG, SVG or PDF files.

Matplotlib, the extra ``penstock[plot]``, is imported when something is drawn.
"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.config import format_bytes
from penstock.drawing.colors import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from penstock.drawing.rows import Row, distinct, rows_of
from penstock.drawing.style import add_legend, add_note, as_seconds, open_figure, plain_ticks
from penstock.drawing.timeline import add_part_names, draw_lanes, lane_of
from penstock.trace import read_trace

ALGORITHMS = {"BFS": BLUE, "PageRank": ORANGE}
POLICIES = {"keep": GREEN, "lru": BLUE, "mru": ORANGE, "lfu": PURPLE}


# Timelines


def timeline(trace: str | os.PathLike[str], picture: str | os.PathLike[str]) -> None:
    """Draw a trace file, as ``trace=`` and ``--trace`` write it: what each stream did when."""
    draw_timeline([{"algorithm": Path(trace).stem, "trace": trace}], Path(picture))


def draw_timeline(rows: list[Row], path: Path) -> None:
    """One panel for each trace."""
    traces = [read_trace(row["trace"]) for row in rows]
    heights = [max(len({lane_of(span) for span in spans}), 3) for spans in traces]
    with open_figure(path, 8, 1.1 + 0.14 * sum(heights) + 0.6 * len(rows)) as figure:
        panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, row, spans in zip(panels, rows, traces, strict=True):
            draw_lanes(axes, spans)
            axes.set_title(row["algorithm"])
        over_hosts = any(span.rank is not None for spans in traces for span in spans)
        add_part_names(panels[0], over_hosts=over_hosts)
        panels[-1].set_xlabel("milliseconds since the first page")


# Experiments


def draw_pages(rows: list[Row], path: Path) -> None:
    """Bars: pages copied in each step."""
    with open_figure(path, 7.5, 2.9) as figure:
        panels = figure.subplots(1, len(ALGORITHMS), sharey=True)
        for axes, (name, color) in zip(panels, ALGORITHMS.items(), strict=True):
            mine = rows_of(rows, algorithm=name)
            steps = [row["step"] for row in mine]
            copied = [row["pages_copied"] for row in mine]
            axes.bar(steps, copied, color=color, width=0.75)
            every = mine[0]["pages"]
            axes.axhline(every, color=INK, lw=0.9, ls=(0, (4, 3)))
            axes.annotate(
                f"all {every:,} pages", (0, every), (2, 3), xycoords=("axes fraction", "data"),
                textcoords="offset points", fontsize=8, color=INK,
            )  # fmt: skip
            axes.set(title=name, ylim=(0, 1.12 * max(row["pages"] for row in rows)))
            axes.set_xlabel("level" if name == "BFS" else "iteration")
            axes.set_xticks(steps)
            axes.grid(visible=False, axis="x")
        panels[0].set_ylabel("pages copied")


def draw_storage(rows: list[Row], path: Path) -> None:
    """Dots: seconds by place and strategy, and what plain reads would take."""
    colors = {"pull": BLUE, "push": ORANGE}
    places = distinct(rows, "storage")
    with open_figure(path, 7.5, 2.7) as figure:
        panels = figure.subplots(1, len(ALGORITHMS), sharey=True)
        for axes, name in zip(panels, ALGORITHMS, strict=True):
            for row in rows_of(rows, algorithm=name):
                color = colors[row["strategy"]]
                offset = -0.14 if row["strategy"] == "pull" else 0.14
                height = places.index(row["storage"]) + offset
                axes.plot(row["seconds"], height, "o", color=color, markersize=6)
                axes.annotate(
                    as_seconds(row["seconds"]), (row["seconds"], height), (6, 0),
                    textcoords="offset points", va="center", fontsize=8, color=color,
                )  # fmt: skip
                if row["limit_seconds"]:
                    axes.plot(row["limit_seconds"], height, "|", color=color, markersize=9, mew=1.6)
            axes.set_xscale("log")
            axes.margins(x=0.22)
            plain_ticks(axes.xaxis)
            axes.set_title(name)
            axes.set_xlabel("seconds")
        panels[0].set_yticks(range(len(places)), places)
        panels[0].set_ylim(len(places) - 0.5, -0.5)
        add_legend(panels[-1], colors, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)
        add_note(
            figure, "Upright marks: plain reads of the same bytes. Both stripes are on one disk."
        )


def draw_streams(rows: list[Row], path: Path) -> None:
    """Lines: seconds by number of streams."""
    with open_figure(path, 7.5, 2.8) as figure:
        panels = figure.subplots(1, len(ALGORITHMS))
        for axes, (name, color) in zip(panels, ALGORITHMS.items(), strict=True):
            mine = rows_of(rows, algorithm=name)
            counts = [row["streams"] for row in mine]
            axes.plot(counts, [row["seconds"] for row in mine], "o-", color=color)
            axes.set_xscale("log", base=2)
            plain_ticks(axes.xaxis, counts)
            axes.set_ylim(0, 1.1 * max(row["seconds"] for row in mine))
            axes.set_title(name)
            axes.set_xlabel("streams")
        panels[0].set_ylabel("seconds")


def draw_cache(rows: list[Row], path: Path) -> None:
    """Lines: seconds and hit rate by size of the cache, for each policy."""
    with open_figure(path, 7.5, 5.2) as figure:
        panels = figure.subplots(2, len(ALGORITHMS), sharex=True, sharey="row")
        for column, name in enumerate(ALGORITHMS):
            top, bottom = panels[:, column]
            for policy, color in POLICIES.items():
                mine = rows_of(rows, algorithm=name, policy=policy, order="cached first")
                x = [100 * row["cache_share"] for row in mine]
                # Policies often agree: later ones are thinner, so that all can be seen.
                width = 4 - 0.9 * list(POLICIES).index(policy)
                top.plot(x, [row["seconds"] for row in mine], "o-", color=color, lw=1.4)
                rates = [100 * row["hit_rate"] for row in mine]
                bottom.plot(x, rates, "-", color=color, lw=width, solid_capstyle="round")
            plain = rows_of(rows, algorithm=name, order="by number")
            rates = [100 * row["hit_rate"] for row in plain]
            bottom.plot([100 * row["cache_share"] for row in plain], rates, "--", color=INK, lw=1.2)
            bottom.plot([0, 100], [0, 100], ":", color=GREY, lw=1)
            top.set_title(name)
            bottom.set_xlabel("cached pages, % of all")
            bottom.set_xticks(range(0, 101, 20))
        slowest = max(row["seconds"] for row in rows_of(rows, order="cached first"))
        panels[0, 0].set(ylabel="seconds", ylim=(0, 1.08 * slowest))
        panels[1, 0].set_ylabel("hits, % of visits")
        add_legend(panels[0, -1], POLICIES, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=4)
        add_note(
            figure,
            "Cached pages are visited first, with every policy. Dashed: LRU with pages visited by "
            "number (replayed). Dotted: cached share.",
        )


def draw_buffer(rows: list[Row], path: Path) -> None:
    """Bars: seconds and bytes by size of the host buffer."""
    kinds = distinct(rows, "buffer")
    with open_figure(path, 7.5, 3.4) as figure:
        panels = figure.subplots(2, 2, sharey=True)
        for line, (name, color) in zip(panels, ALGORITHMS.items(), strict=True):
            mine = rows_of(rows, algorithm=name)
            seconds = [row["seconds"] for row in mine]
            sizes = [row["bytes_read"] / 1e6 for row in mine]
            labels = [as_seconds(each) for each in seconds], [format_bytes(1e6 * x) for x in sizes]
            for axes, values, words in zip(line, (seconds, sizes), labels, strict=True):
                bars = axes.barh(kinds, values, color=color, height=0.62)
                axes.bar_label(bars, words, padding=3, fontsize=8, color=INK)
                axes.margins(x=0.25)
                axes.grid(visible=False, axis="y")
            line[0].set_title(name)
        panels[0, 0].invert_yaxis()
        figure.supylabel("host buffer, of the graph", fontsize=9, color=INK)
        panels[1, 0].set_xlabel("seconds, without loading")
        panels[1, 1].set_xlabel("MB read from storage")


def draw_modes(rows: list[Row], path: Path) -> None:
    """Lines: seconds of each iteration in both modes; rings: the choice; below: what is active."""
    colors = {"pull": BLUE, "notify-pull": ORANGE}
    programs = distinct(rows, "program")
    with open_figure(path, 7.5, 4.2) as figure:
        panels = figure.subplots(2, len(programs), sharex="col", sharey="row", height_ratios=[3, 1])
        for (top, bottom), name in zip(panels.T, programs, strict=True):
            for mode, color in colors.items():
                # An iteration for which all are active is pulled, whatever was asked for.
                mine = rows_of(rows, program=name, strategy=mode, chosen=mode)
                milliseconds = {row["step"]: 1e3 * row["seconds"] for row in mine}
                x, y = list(milliseconds), list(milliseconds.values())
                top.plot(x, y, "o-", color=color, markersize=3.5)
                chosen = rows_of(rows, program=name, strategy="auto", chosen=mode)
                rings = [row["step"] for row in chosen if row["step"] in milliseconds]
                top.plot(
                    rings, [milliseconds[step] for step in rings], "o", markersize=10,
                    markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.1,
                )  # fmt: skip
            both = rows_of(rows, program=name, strategy="pull")
            shares = [100 * row["active_share"] for row in both]
            bottom.bar([row["step"] for row in both], shares, color=GREY, width=0.75)
            top.set_yscale("log")
            plain_ticks(top.yaxis)
            top.set_title(name)
            bottom.set(xlabel="iteration", ylim=(0, 100), yticks=(0, 50, 100))
            bottom.grid(visible=False, axis="x")
        panels[0, 0].set_ylabel("milliseconds")
        panels[1, 0].set_ylabel("active\nedges, %")
        add_legend(panels[0, -1], colors, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)
        add_note(figure, "Rings: what the engine chose before the iteration.")
