"""Pictures of what was measured: from rows to PNG or SVG files.

This is the only file that draws. It needs Matplotlib, the extra ``penstock[plot]``, and imports it
when something is drawn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.config import format_bytes
from penstock.errors import AccessError, InputError, InputNotFoundError, OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]

SUFFIXES = (".png", ".svg", ".pdf")
#: The same rows give the same bytes.
_UNDATED: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
#: Told apart by people who see red and green alike.
BLUE, ORANGE, GREEN, PURPLE, SKY, INK, GREY = (
    "#0072b2", "#d55e00", "#009e73", "#aa4499", "#56b4e9", "#222222", "#8a8a8a",
)  # fmt: skip
ALGORITHMS = {"BFS": BLUE, "PageRank": ORANGE}
#: The parts of a stream's work, as traces call them.
PARTS = {"read": ORANGE, "copy": SKY, "kernel": GREEN}
PART_NAMES = {"read": "read the page", "copy": "decode it", "kernel": "kernel"}
POLICIES = {"keep": GREEN, "lru": BLUE, "mru": ORANGE, "lfu": PURPLE}
#: Parts of a timeline closer together than this share of it are drawn as one.
_FINEST = 1 / 4000

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.hashsalt": "penstock",
}


def check_drawing(path: str | os.PathLike[str] | None = None) -> None:
    """Raise unless pictures can be drawn, and drawn into a file of that name."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise OptionError(
            "pictures need Matplotlib, which is not installed; "
            "install it with: pip install 'penstock[plot]'"
        ) from None
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        raise OptionError(
            f"{path}: expected a picture's name to end in {', '.join(SUFFIXES[:-1])} or "
            f"{SUFFIXES[-1]}"
        )


@contextmanager
def _figure(path: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure to draw on, which is written at the end of the block."""
    check_drawing(path)
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type, unused-ignore]
        figure = Figure((width, height), layout="constrained")
        yield figure
        try:
            figure.savefig(path, dpi=160, metadata=_UNDATED.get(path.suffix.lower()))
        except OSError as error:
            raise AccessError(f"{path}: cannot be written ({error.strerror})") from None


def _of(rows: Iterable[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _names(rows: Iterable[Row], key: str) -> list[Any]:
    """The values of a key, each once, in order."""
    return list(dict.fromkeys(row[key] for row in rows))


def _note(figure: Figure, text: str) -> None:
    """A line below everything."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7.5, color=GREY)


def _seconds(value: float) -> str:
    """
    >>> _seconds(0.0123), _seconds(4.56)
    ('12.3 ms', '4.6 s')
    """
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.2g} s"


def _plain_ticks(axis: Any, values: Sequence[float] | None = None) -> None:
    """Numbers as people write them, also on logarithmic axes; only at ``values`` if given."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_major_locator(
        LogLocator(subs=(1.0, 3.0)) if values is None else FixedLocator(list(values))
    )
    axis.set_minor_locator(NullLocator())


def _legend(axes: Axes, entries: dict[str, str], **options: Any) -> None:
    """Coloured words instead of a box with samples."""
    from matplotlib.lines import Line2D

    samples = [Line2D([], [], color=color, lw=0) for color in entries.values()]
    legend = axes.legend(
        samples, list(entries), handlelength=0, handletextpad=0, frameon=False, **options
    )
    for text, color in zip(legend.get_texts(), entries.values(), strict=True):
        text.set_color(color)
        text.set_fontweight("bold")


# Timelines


def timeline(trace: str | os.PathLike[str], picture: str | os.PathLike[str]) -> None:
    """Draw a trace file, as ``trace=`` and ``--trace`` write it: what each stream did when."""
    draw_timeline([{"algorithm": Path(trace).stem, "trace": trace}], Path(picture))


def read_trace(path: str | os.PathLike[str]) -> list[tuple[int, str, float, float]]:
    """The events of a trace file: stream, part of the work, begin and length in milliseconds."""
    try:
        found = json.loads(Path(path).read_text())
        return [
            (int(event["tid"]), str(event["name"]), event["ts"] / 1e3, event["dur"] / 1e3)
            for event in found["traceEvents"]
            if event["ph"] == "X"
        ]
    except OSError as error:
        raise InputNotFoundError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: is not a trace ({type(error).__name__}: {error}); "
            "expected what --trace writes"
        ) from None


def draw_timeline(rows: list[Row], path: Path) -> None:
    """One panel for each trace."""
    traces = [read_trace(row["trace"]) for row in rows]
    streams = [sorted({event[0] for event in events}) for events in traces]
    heights = [max(len(each), 3) for each in streams]
    with _figure(path, 8, 1.1 + 0.14 * sum(heights) + 0.6 * len(rows)) as figure:
        panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, row, events, numbers in zip(panels, rows, traces, streams, strict=True):
            start = min((event[2] for event in events), default=0.0)
            end = max((event[2] + event[3] for event in events), default=1.0)
            for part, color in PARTS.items():
                for place, stream in enumerate(numbers):
                    mine = [e[2:] for e in events if e[0] == stream and e[1] == part]
                    spans = merged(mine, (end - start) * _FINEST)
                    moved = [(begin - start, length) for begin, length in spans]
                    axes.broken_barh(moved, (place - 0.38, 0.76), facecolor=color, linewidth=0)
            axes.set_title(row["algorithm"])
            axes.set(ylim=(max(len(numbers), 1) - 0.4, -0.6), xlim=(0, end - start))
            axes.set_ylabel("stream")
            axes.set_yticks(range(0, len(numbers), max(1, len(numbers) // 4)))
            axes.grid(visible=False, axis="y")
        words = {PART_NAMES[part]: color for part, color in PARTS.items()}
        _legend(panels[0], words, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=3)
        panels[-1].set_xlabel("milliseconds since the first page")


def merged(spans: list[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Begins and lengths, in order, with those closer together than ``gap`` as one.

    >>> merged([(0, 1), (1.1, 1), (5, 1)], 0.5)
    [(0, 2.1), (5, 1)]
    """
    found: list[tuple[float, float]] = []
    for begin, length in sorted(spans):
        if found and begin - sum(found[-1]) < gap:
            first = found[-1][0]
            found[-1] = (first, max(sum(found[-1]), begin + length) - first)
        else:
            found.append((begin, length))
    return found


# Experiments


def draw_pages(rows: list[Row], path: Path) -> None:
    """Bars: pages copied in each step."""
    with _figure(path, 7.5, 2.9) as figure:
        panels = figure.subplots(1, len(ALGORITHMS), sharey=True)
        for axes, (name, color) in zip(panels, ALGORITHMS.items(), strict=True):
            mine = _of(rows, algorithm=name)
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
    places = _names(rows, "storage")
    with _figure(path, 7.5, 2.7) as figure:
        panels = figure.subplots(1, len(ALGORITHMS), sharey=True)
        for axes, name in zip(panels, ALGORITHMS, strict=True):
            for row in _of(rows, algorithm=name):
                color = colors[row["strategy"]]
                offset = -0.14 if row["strategy"] == "pull" else 0.14
                height = places.index(row["storage"]) + offset
                axes.plot(row["seconds"], height, "o", color=color, markersize=6)
                axes.annotate(
                    _seconds(row["seconds"]), (row["seconds"], height), (6, 0),
                    textcoords="offset points", va="center", fontsize=8, color=color,
                )  # fmt: skip
                if row["limit_seconds"]:
                    axes.plot(row["limit_seconds"], height, "|", color=color, markersize=9, mew=1.6)
            axes.set_xscale("log")
            axes.margins(x=0.22)
            _plain_ticks(axes.xaxis)
            axes.set_title(name)
            axes.set_xlabel("seconds")
        panels[0].set_yticks(range(len(places)), places)
        panels[0].set_ylim(len(places) - 0.5, -0.5)
        _legend(panels[-1], colors, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)
        _note(figure, "Upright marks: plain reads of the same bytes. Both stripes are on one disk.")


def draw_streams(rows: list[Row], path: Path) -> None:
    """Lines: seconds by number of streams."""
    with _figure(path, 7.5, 2.8) as figure:
        panels = figure.subplots(1, len(ALGORITHMS))
        for axes, (name, color) in zip(panels, ALGORITHMS.items(), strict=True):
            mine = _of(rows, algorithm=name)
            counts = [row["streams"] for row in mine]
            axes.plot(counts, [row["seconds"] for row in mine], "o-", color=color)
            axes.set_xscale("log", base=2)
            _plain_ticks(axes.xaxis, counts)
            axes.set_ylim(0, 1.1 * max(row["seconds"] for row in mine))
            axes.set_title(name)
            axes.set_xlabel("streams")
        panels[0].set_ylabel("seconds")


def draw_cache(rows: list[Row], path: Path) -> None:
    """Lines: seconds and hit rate by size of the cache, for each policy."""
    with _figure(path, 7.5, 5.2) as figure:
        panels = figure.subplots(2, len(ALGORITHMS), sharex=True, sharey="row")
        for column, name in enumerate(ALGORITHMS):
            top, bottom = panels[:, column]
            for policy, color in POLICIES.items():
                mine = _of(rows, algorithm=name, policy=policy, order="cached first")
                x = [100 * row["cache_share"] for row in mine]
                # Policies often agree: later ones are thinner, so that all can be seen.
                width = 4 - 0.9 * list(POLICIES).index(policy)
                top.plot(x, [row["seconds"] for row in mine], "o-", color=color, lw=1.4)
                rates = [100 * row["hit_rate"] for row in mine]
                bottom.plot(x, rates, "-", color=color, lw=width, solid_capstyle="round")
            plain = _of(rows, algorithm=name, order="by number")
            rates = [100 * row["hit_rate"] for row in plain]
            bottom.plot([100 * row["cache_share"] for row in plain], rates, "--", color=INK, lw=1.2)
            bottom.plot([0, 100], [0, 100], ":", color=GREY, lw=1)
            top.set_title(name)
            bottom.set_xlabel("cached pages, % of all")
            bottom.set_xticks(range(0, 101, 20))
        slowest = max(row["seconds"] for row in _of(rows, order="cached first"))
        panels[0, 0].set(ylabel="seconds", ylim=(0, 1.08 * slowest))
        panels[1, 0].set_ylabel("hits, % of visits")
        _legend(panels[0, -1], POLICIES, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=4)
        _note(
            figure,
            "Cached pages are visited first, with every policy. Dashed: LRU with pages visited by "
            "number (replayed). Dotted: cached share.",
        )


def draw_buffer(rows: list[Row], path: Path) -> None:
    """Bars: seconds and bytes by size of the host buffer."""
    kinds = _names(rows, "buffer")
    with _figure(path, 7.5, 3.4) as figure:
        panels = figure.subplots(2, 2, sharey=True)
        for line, (name, color) in zip(panels, ALGORITHMS.items(), strict=True):
            mine = _of(rows, algorithm=name)
            seconds = [row["seconds"] for row in mine]
            sizes = [row["bytes_read"] / 1e6 for row in mine]
            labels = [_seconds(each) for each in seconds], [format_bytes(1e6 * x) for x in sizes]
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
    programs = _names(rows, "program")
    with _figure(path, 7.5, 4.2) as figure:
        panels = figure.subplots(2, len(programs), sharex="col", sharey="row", height_ratios=[3, 1])
        for (top, bottom), name in zip(panels.T, programs, strict=True):
            for mode, color in colors.items():
                # An iteration for which all are active is pulled, whatever was asked for.
                mine = _of(rows, program=name, strategy=mode, chosen=mode)
                milliseconds = {row["step"]: 1e3 * row["seconds"] for row in mine}
                x, y = list(milliseconds), list(milliseconds.values())
                top.plot(x, y, "o-", color=color, markersize=3.5)
                chosen = _of(rows, program=name, strategy="auto", chosen=mode)
                rings = [row["step"] for row in chosen if row["step"] in milliseconds]
                top.plot(
                    rings, [milliseconds[step] for step in rings], "o", markersize=10,
                    markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.1,
                )  # fmt: skip
            both = _of(rows, program=name, strategy="pull")
            shares = [100 * row["active_share"] for row in both]
            bottom.bar([row["step"] for row in both], shares, color=GREY, width=0.75)
            top.set_yscale("log")
            _plain_ticks(top.yaxis)
            top.set_title(name)
            bottom.set(xlabel="iteration", ylim=(0, 100), yticks=(0, 50, 100))
            bottom.grid(visible=False, axis="x")
        panels[0, 0].set_ylabel("milliseconds")
        panels[1, 0].set_ylabel("active\nedges, %")
        _legend(panels[0, -1], colors, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)
        _note(figure, "Rings: what the engine chose before the iteration.")


DRAWINGS: dict[str, Callable[[list[Row], Path], None]] = {
    "timeline": draw_timeline,
    "pages": draw_pages,
    "storage": draw_storage,
    "streams": draw_streams,
    "cache": draw_cache,
    "buffer": draw_buffer,
    "modes": draw_modes,
}
