"""Pictures of the suite ``dynamic``, from its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.drawing.colors import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY
from penstock.drawing.rows import Row, distinct, rows_of
from penstock.drawing.style import add_legend, add_note, open_figure, plain_ticks
from penstock.interfaces.bench.dynamic_experiments import LATENCIES, STATIC
from penstock.interfaces.bench.dynamic_runs import CSR, OURS

COLORS = {
    OURS: BLUE, "degaware": ORANGE, "baseline_map": PURPLE, "baseline_vec": GREEN,
    "stinger": SKY, CSR: INK, STATIC: GREY,
}  # fmt: skip
RIVALS_NOTE = "The others are renderings in Numba of what the paper describes, not its programs."


def _colors(rows: list[Row]) -> dict[str, str]:
    return {name: COLORS[name] for name in distinct(rows, "store")}


def whole_batches(rows: list[Row]) -> list[Row]:
    """Without the last batch of a store if it is smaller than the others: it says little."""
    size = max(row["requests"] for row in rows)
    return [row for row in rows if row["requests"] == size]


def draw_construction(rows: list[Row], path: Path) -> None:
    """Lines: microseconds of a request, batch after batch."""
    with open_figure(path, 6.4, 3.6) as figure:
        axes = figure.subplots()
        for name, color in _colors(rows).items():
            mine = rows_of(whole_batches(rows), store=name)
            x = [row["done"] / 1e6 for row in mine]
            axes.plot(
                x, [1e6 * row["seconds"] / row["requests"] for row in mine], "o-", color=color
            )
        axes.set_yscale("log")
        plain_ticks(axes.yaxis)
        axes.set(title="Each batch, one thread", xlabel="million requests so far")
        axes.set_ylabel("microseconds a request")
        add_legend(axes, _colors(rows), loc="upper left", bbox_to_anchor=(1, 1))
        add_note(figure, f"Unique insertion with 5% deletions. {RIVALS_NOTE}")


def draw_rates(rows: list[Row], path: Path) -> None:
    """Lines: million requests a second by share of deletions; bars: bytes of an edge."""
    with open_figure(path, 10, 3.6) as figure:
        panels = figure.subplots(1, 3, width_ratios=[3, 2, 2])
        for axes, unique in zip(panels, (True, False), strict=False):
            for name, color in _colors(rows).items():
                mine = rows_of(rows, store=name, unique=unique)
                x = [100 * row["deletions"] for row in mine]
                axes.plot(x, [row["rate"] / 1e6 for row in mine], "o-", color=color)
            axes.set_yscale("log")
            plain_ticks(axes.yaxis)
            plain_ticks(axes.xaxis, [100 * row["deletions"] for row in mine])
            axes.set(title="Unique" if unique else "Not unique", xlabel="deletions, %")
        panels[0].set_ylabel("million requests a second")
        _bars(panels[2], {
            row["store"]: row["bytes_per_edge"] for row in rows_of(rows, unique=True, deletions=0)
        })  # fmt: skip
        panels[2].set(title="Memory", xlabel="bytes of an edge")
        add_legend(panels[2], _colors(rows), loc="upper left", bbox_to_anchor=(1, 1))
        add_note(figure, f"{rows[0]['threads']} threads. {RIVALS_NOTE}")


def _bars(axes: Any, values: dict[str, float]) -> None:
    names = list(values)
    axes.barh(range(len(names)), list(values.values()), color=[COLORS[name] for name in names])
    axes.set_yticks([])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def draw_order(rows: list[Row], path: Path) -> None:
    """Bars: million requests a second, in random order and sorted."""
    orders = distinct(rows, "order")
    with open_figure(path, 7.5, 3) as figure:
        panels = figure.subplots(1, len(orders), sharex=True)
        for axes, kind in zip(panels, orders, strict=True):
            mine = rows_of(rows, order=kind)
            _bars(axes, {row["store"]: row["rate"] / 1e6 for row in mine})
            axes.set(title=f"{kind.capitalize()} order", xlabel="million requests a second")
        add_legend(panels[-1], _colors(rows), loc="upper left", bbox_to_anchor=(1, 1))
        add_note(figure, f"Unique insertion, {rows[0]['threads']} threads. {RIVALS_NOTE}")


def draw_probes(rows: list[Row], path: Path) -> None:
    """Lines: average distances from home while requests come; bars: edge chunks by theirs."""
    chunks = rows_of(rows, table="chunks", store="degaware")
    lines = [row for row in rows if row["tables"] is None]
    with open_figure(path, 10, 3.4) as figure:
        panels = figure.subplots(1, 3)
        for axes, store in zip(panels, ("degaware", OURS), strict=False):
            mine = rows_of(lines, store=store)
            tables = dict(zip(distinct(mine, "table"), (BLUE, ORANGE, GREEN, PURPLE), strict=False))
            for table, color in tables.items():
                same = [row for row in rows_of(mine, table=table) if row["average"] is not None]
                x = [row["done"] / 1e6 for row in same]
                axes.plot(x, [row["average"] for row in same], color=color, lw=1.2)
            axes.set(title=store, xlabel="million requests so far", ylim=(0, 13))
            add_legend(axes, tables, loc="upper right")
        panels[0].set_ylabel("average probe distance")
        panels[2].bar([row["average"] for row in chunks], [row["tables"] for row in chunks],
                      width=0.9, align="edge", color=GREY)  # fmt: skip
        panels[2].set_yscale("log")
        panels[2].set(title="degaware, edge chunks", xlabel="average probe distance")
        panels[2].set_ylabel("edge chunks")
        add_note(figure, "The paper: below 11 in both tables, below 13 in every edge chunk.")


def draw_algorithms(rows: list[Row], path: Path) -> None:
    """Bars: times as slow as plain lists."""
    names = distinct(rows, "algorithm")
    with open_figure(path, 8.5, 3.2) as figure:
        panels = figure.subplots(1, len(names))
        for axes, name in zip(panels, names, strict=True):
            mine = rows_of(rows, algorithm=name, threads=1)
            plain = rows_of(mine, store=CSR)[0]["seconds"]
            _bars(axes, {row["store"]: row["seconds"] / plain for row in mine})
            axes.set_xscale("log")
            plain_ticks(axes.xaxis)
            axes.axvline(1, color=INK, lw=0.8)
            axes.set(title=name, xlabel="times the seconds of CSR")
        add_legend(panels[-1], _colors(rows), loc="upper left", bbox_to_anchor=(1, 1))
        add_note(
            figure,
            "One thread. The paper's two algorithms on CSR and the others, the library's on ours. "
            "The paper: BFS 2.7 and PageRank 3.4 times CSR.",
        )


def draw_latency(rows: list[Row], path: Path) -> None:
    """Lines: seconds against those at the least latency."""
    least = LATENCIES[1]
    with open_figure(path, 6.4, 3.4) as figure:
        axes = figure.subplots()
        for name, color in _colors(rows).items():
            mine = [row for row in rows_of(rows, store=name) if row["nanoseconds"] >= least]
            first = mine[0]["seconds"]
            x = [row["nanoseconds"] for row in mine]
            axes.plot(x, [row["seconds"] / first for row in mine], "o-", color=color)
        axes.set(title="Slower memory", xlabel="nanoseconds that an access waits")
        axes.set_ylabel(f"times the seconds at {least} ns")
        add_legend(axes, _colors(rows), loc="upper left", bbox_to_anchor=(1, 1))
        add_note(
            figure,
            "Each table, array, node or block that a request goes to waits once, cached or not.\n"
            "The paper delays loads that miss the cache, and finds 1.08 at 350 ns.",
        )


def draw_streams(rows: list[Row], path: Path) -> None:
    """Lines: million requests a second by streams at once."""
    colors = dict(zip(distinct(rows, "deletions"), (BLUE, ORANGE), strict=True))
    with open_figure(path, 5.4, 3.2) as figure:
        axes = figure.subplots()
        for share, color in colors.items():
            mine = rows_of(rows, deletions=share)
            y = [row["rate"] / 1e6 for row in mine]
            axes.plot([row["streams"] for row in mine], y, "o-", color=color)
        axes.set_xscale("log", base=2)
        plain_ticks(axes.xaxis, distinct(rows, "streams"))
        axes.set(title="One live graph, several streams", xlabel="streams at once", ylim=(0, None))
        axes.set_ylabel("million requests a second")
        words = {f"{share:.0%} deletions": color for share, color in colors.items()}
        add_legend(axes, words, loc="lower right")


def draw_durable(rows: list[Row], path: Path) -> None:
    """Lines: million requests a second by rows of a batch, and by streams that share syncs."""
    small = min(distinct(rows, "batch"))
    colors = {"batch": BLUE, "never": GREY}
    with open_figure(path, 8, 3.2) as figure:
        left, right = figure.subplots(1, 2)
        for sync, color in colors.items():
            alone = rows_of(rows, streams=1, sync=sync)
            y = [row["rate"] / 1e6 for row in alone]
            left.plot([row["batch"] for row in alone], y, "o-", color=color)
        shared = rows_of(rows, batch=small, sync="batch")
        y = [row["rate"] / 1e6 for row in shared]
        right.plot([row["streams"] for row in shared], y, "o-", color=BLUE)
        left.set_xscale("log")
        right.set_xscale("log", base=2)
        plain_ticks(right.xaxis, distinct(shared, "streams"))
        for axes in (left, right):
            axes.set_yscale("log")
            plain_ticks(axes.yaxis)
        left.set(title="One stream", xlabel="rows of a batch", ylabel="million requests a second")
        right.set(title=f"Batches of {small:,}", xlabel="streams at once")
        words = {"synced before acknowledged": BLUE, "never synced": GREY}
        add_legend(left, words, loc="lower right")


def draw_maintained(rows: list[Row], path: Path) -> None:
    """Bars: times faster than computing anew."""
    colors = {"inserts": BLUE, "deletes": ORANGE}
    names = distinct(rows, "algorithm")
    with open_figure(path, 6.8, 3) as figure:
        axes = figure.subplots()
        for k, (kind, color) in enumerate(colors.items()):
            mine = rows_of(rows, changes=kind)
            y = [names.index(row["algorithm"]) + 0.4 * k - 0.2 for row in mine]
            axes.barh(y, [row["times"] for row in mine], height=0.36, color=color)
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.axvline(1, color=INK, lw=0.8)
        axes.set(title="Answers that follow", xlabel="times faster than computing anew")
        add_legend(axes, colors, loc="lower right")
        add_note(figure, f"Batches of {rows[0]['edges']:,} edges, their own time included.")
