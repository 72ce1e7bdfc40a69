"""Pictures of the suite ``garaph``, from its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.drawing.colors import BLUE, GREEN, GREY, INK, ORANGE
from penstock.drawing.rows import Row, distinct, rows_of
from penstock.drawing.style import add_legend, add_note, open_figure, plain_ticks
from penstock.interfaces.bench.garaph_devices import BOTH, DISPATCHED, HOST, OTHER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: By copies of each accumulator; None: by shard.
COPY_COLORS: dict[int | None, str] = {1: ORANGE, None: BLUE}
COPY_NAMES = {1: "one copy", None: "copies by shard"}
ORDER_COLORS = (BLUE, ORANGE)
WAY_COLORS = {HOST: BLUE, OTHER: ORANGE, BOTH: GREY, DISPATCHED: GREEN}
WAY_NAMES = {
    HOST: "host alone", OTHER: "other alone", BOTH: "both pull", DISPATCHED: "dispatched",
}  # fmt: skip
NOT_MEASURED = "nothing was measured on a GPU"


# Replication


def gains(rows: list[Row], replicas: int | None) -> list[float]:
    """For each page of an order, how many times fewer rounds than with one copy."""
    by = {(row["replicas"], row["page"]): max(row["rounds"], 1) for row in rows}
    return [by[1, page] / by[replicas, page] for copies, page in by if copies == replicas]


def draw_pages(rows: list[Row], path: Path) -> None:
    """Lines: rounds of each page with one copy of each accumulator and with more; below: its
    largest degree.
    """
    orders = distinct(rows, "order")
    with open_figure(path, 1 + 3.4 * len(orders), 4.3) as figure:
        panels = figure.subplots(
            2, len(orders), sharex="col", sharey="row", height_ratios=[3, 1], squeeze=False
        )
        notes = [
            f"Counted from the degrees; {NOT_MEASURED}. The paper measured 4.84 times less time "
            "with copies on average, up to 32.15."
        ]
        for (top, bottom), order in zip(panels.T, orders, strict=True):
            for replicas, color in COPY_COLORS.items():
                mine = rows_of(rows, order=order, replicas=replicas)
                x = [row["page"] for row in mine]
                top.plot(x, [row["rounds"] for row in mine], "o-", color=color, lw=1)
            bottom.bar(x, [row["largest_degree"] for row in mine], color=GREY, width=0.75)
            for axes in (top, bottom):
                axes.set_yscale("log")
                axes.grid(visible=False, axis="x")
            top.set_title(f"Vertices by {order}")
            bottom.set_xlabel("page")
            found = gains(rows_of(rows, order=order), None)
            notes.append(
                f"By {order}: {sum(found) / len(found):.3g} times fewer rounds with copies by "
                f"shard on average, up to {max(found):.3g}."
            )
        panels[0, 0].set_ylabel("rounds of atomic additions, counted")
        panels[1, 0].set_ylabel("largest\nin-degree")
        words = {COPY_NAMES[replicas]: color for replicas, color in COPY_COLORS.items()}
        add_legend(panels[0, -1], words, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)
        add_note(figure, "\n".join(notes))


def draw_replication(rows: list[Row], path: Path) -> None:
    """Lines: rounds, and time by the paper's model, by copies of each accumulator; diamonds:
    copies by shard.
    """
    colors = dict(zip(distinct(rows, "order"), ORDER_COLORS, strict=False))
    panels = {
        "rounds": ("Rounds, counted", "rounds for 32 edges", 32),
        "modelled": ("Equation (1), modelled", "accesses to memory for an edge", 1),
        "modelled_by_rounds": ("The same, counted rounds", "accesses to memory for an edge", 1),
    }
    with open_figure(path, 9, 3.3) as figure:
        every = figure.subplots(1, len(panels))
        for axes, (name, (title, label, edges)) in zip(every, panels.items(), strict=True):
            for width, (order, color) in enumerate(colors.items()):
                mine = rows_of(rows, order=order)
                # Lines often agree: the later one is thinner, so that both can be seen.
                _draw_copies(axes, mine, name, edges, color=color, lw=3 - 1.8 * width)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.set(title=title, xlabel="copies of each accumulator", ylabel=label)
            plain_ticks(axes.xaxis, [row["replicas"] for row in rows if row["replicas"]])
            plain_ticks(axes.yaxis)
        words = {f"vertices by {order}": color for order, color in colors.items()}
        add_legend(every[-1], words, loc="upper right")
        add_note(
            figure,
            "Diamonds: copies by shard, at their average. An access to global memory and an atomic "
            f"addition take 1 each; {NOT_MEASURED}.",
        )


def _draw_copies(axes: Axes, rows: list[Row], name: str, edges: int, **style: Any) -> None:
    def height(row: Row) -> float:
        return float(row[name] * edges / max(row["edges"], 1))

    fixed = [row for row in rows if row["replicas"] is not None]
    axes.plot([row["replicas"] for row in fixed], [height(row) for row in fixed], "o-", **style)
    for row in rows_of(rows, replicas=None):
        axes.plot(
            row["mean_replicas"], height(row), "D", color=style["color"], markersize=7,
            markeredgecolor=INK,
        )  # fmt: skip


# Devices


def draw_hybrid(rows: list[Row], path: Path) -> None:
    """Lines: seconds of each iteration on one device, the other, both and as dispatched; rings:
    both worked; below: what is active.
    """
    slower, programs = distinct(rows, "slower"), distinct(rows, "program")
    heights = [3] * len(slower) + [1]
    with open_figure(path, 1 + 3.4 * len(programs), 1.2 + 2.2 * len(slower)) as figure:
        panels = figure.subplots(
            len(heights), len(programs), sharex="col", height_ratios=heights, squeeze=False
        )
        for column, name in zip(panels.T, programs, strict=True):
            for axes, which in zip(column, slower, strict=False):
                mine = rows_of(rows, program=name, slower=which)
                _draw_ways(axes, mine)
                axes.set_title(f"{name}, the {which} slowed down")
            same = rows_of(rows, program=name, slower=slower[0], way=DISPATCHED)
            shares = [100 * row["active_share"] for row in same]
            column[-1].bar([row["step"] for row in same], shares, color=GREY, width=0.75)
            column[-1].set(xlabel="iteration", ylim=(0, 100), yticks=(0, 50, 100))
            column[-1].grid(visible=False, axis="x")
        for axes in panels[:-1, 0]:
            axes.set_ylabel("milliseconds")
        panels[-1, 0].set_ylabel("active\nedges, %")
        words = {WAY_NAMES[way]: color for way, color in WAY_COLORS.items()}
        figure.legend(handles=_samples(words), loc="outside upper right", ncols=4, frameon=False)
        add_note(
            figure,
            "Two CPU devices; the other, in place of a GPU, only pulls. Rings: the dispatcher let "
            f"both work; {NOT_MEASURED}.",
        )


def _draw_ways(axes: Axes, rows: list[Row]) -> None:
    for way, color in WAY_COLORS.items():
        mine = rows_of(rows, way=way)
        x, y = [row["step"] for row in mine], [1e3 * row["seconds"] for row in mine]
        axes.plot(x, y, "--" if way == BOTH else "o-", color=color, markersize=3.5)
    rings = rows_of(rows, way=DISPATCHED, worked=BOTH)
    axes.plot(
        [row["step"] for row in rings], [1e3 * row["seconds"] for row in rings], "o",
        markersize=10, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.1,
    )  # fmt: skip
    axes.set_yscale("log")
    plain_ticks(axes.yaxis)


def _samples(words: dict[str, str]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=color, label=name) for name, color in words.items()]
