"""Timelines: what each stream did when, a lane for each."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from penstock.drawing.colors import GREEN, ORANGE, SKY
from penstock.drawing.style import add_legend
from penstock.trace import Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The parts of a stream's work, as traces call them.
PARTS = {"read": ORANGE, "copy": SKY, "kernel": GREEN}
_PART_NAMES = {"read": "read the page", "copy": "decode it", "kernel": "kernel"}
#: Parts of a timeline closer together than this share of it are drawn as one.
_FINEST = 1 / 4000

Lanes = dict[int, dict[str, list[tuple[float, float]]]]


def lanes_of(spans: list[Span]) -> tuple[Lanes, float]:
    """For each stream and part the begins and lengths, in milliseconds since the first of all, and
    how long it took in all. What could not be told apart in a picture is joined.
    """
    start = min((span.begin_ms for span in spans), default=0.0)
    end = max((span.begin_ms + span.length_ms for span in spans), default=1.0)
    found: defaultdict[int, defaultdict[str, list[tuple[float, float]]]]
    found = defaultdict(lambda: defaultdict(list))
    for span in spans:
        found[span.stream][span.part].append((span.begin_ms - start, span.length_ms))
    finest = (end - start) * _FINEST
    lanes = {
        stream: {part: merged(found[stream][part], finest) for part in sorted(found[stream])}
        for stream in sorted(found)
    }
    return lanes, end - start


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


def draw_lanes(axes: Axes, spans: list[Span]) -> None:
    """The lanes of a trace, the first at the top."""
    lanes, length = lanes_of(spans)
    for part, color in PARTS.items():
        for place, lane in enumerate(lanes.values()):
            bars = lane.get(part, [])
            axes.broken_barh(bars, (place - 0.38, 0.76), facecolor=color, linewidth=0)
    axes.set(ylim=(max(len(lanes), 1) - 0.4, -0.6), xlim=(0, length))
    axes.set_ylabel("stream")
    places = range(0, len(lanes), max(1, len(lanes) // 4))
    axes.set_yticks(list(places), [str(list(lanes)[place]) for place in places])
    axes.grid(visible=False, axis="y")


def add_part_names(axes: Axes) -> None:
    """What the colours are, above the lanes."""
    words = {_PART_NAMES[part]: color for part, color in PARTS.items()}
    add_legend(axes, words, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=3)
