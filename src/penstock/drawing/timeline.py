"""Timelines: what each stream did when, a lane for each."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from penstock.drawing.colors import GREEN, GREY, ORANGE, PURPLE, SKY
from penstock.drawing.style import add_legend
from penstock.trace import Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The parts of a stream's work, as traces call them.
PARTS = {"read": ORANGE, "copy": SKY, "kernel": GREEN}
#: And what goes on between ranks: what is drawn later lies on top.
RANK_PARTS = {"exchange": PURPLE, "wait": GREY}
_PART_NAMES = {
    "read": "read the page", "copy": "decode it", "kernel": "kernel", "exchange": "exchange",
    "wait": "wait for others",
}  # fmt: skip
#: Parts of a timeline closer together than this share of it are drawn as one.
_FINEST = 1 / 4000

#: A stream; over several hosts a rank and a stream of it.
Lane = int | tuple[int, int]
Lanes = dict[Lane, dict[str, list[tuple[float, float]]]]


def lanes_of(spans: list[Span]) -> tuple[Lanes, float]:
    """For each stream and part the begins and lengths, in milliseconds since the first of all, and
    how long it took in all. What could not be told apart in a picture is joined.
    """
    start = min((span.begin_ms for span in spans), default=0.0)
    end = max((span.begin_ms + span.length_ms for span in spans), default=1.0)
    found: defaultdict[Lane, defaultdict[str, list[tuple[float, float]]]]
    found = defaultdict(lambda: defaultdict(list))
    for span in spans:
        found[lane_of(span)][span.part].append((span.begin_ms - start, span.length_ms))
    finest = (end - start) * _FINEST
    lanes = {
        lane: {part: merged(found[lane][part], finest) for part in sorted(found[lane])}
        for lane in sorted(found)  # all of one kind
    }
    return lanes, end - start


def lane_of(span: Span) -> Lane:
    """The lane that a span is drawn in."""
    return span.stream if span.rank is None else (span.rank, span.stream)


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
    drawn = {**PARTS, **RANK_PARTS} if any(span.rank is not None for span in spans) else PARTS
    for part, color in drawn.items():
        for place, lane in enumerate(lanes.values()):
            bars = lane.get(part, [])
            axes.broken_barh(bars, (place - 0.38, 0.76), facecolor=color, linewidth=0)
    axes.set(ylim=(max(len(lanes), 1) - 0.4, -0.6), xlim=(0, length))
    places, names, what = lane_names(list(lanes))
    axes.set_ylabel(what)
    axes.set_yticks(places, names)
    axes.grid(visible=False, axis="y")
    for place in range(1, len(lanes)):
        before, after = list(lanes)[place - 1 : place + 1]
        if isinstance(before, tuple) and isinstance(after, tuple) and before[0] != after[0]:
            axes.axhline(place - 0.5, color=GREY, linewidth=0.5)


def lane_names(lanes: list[Lane]) -> tuple[list[int], list[str], str]:
    """Places and names beside the lanes, and what they name: some of the streams, or each rank at
    the first of its streams.

    >>> lane_names([(0, 0), (0, 1), (1, 0)])
    ([0, 2], ['0', '1'], 'rank')
    """
    ranks = [lane[0] for lane in lanes if isinstance(lane, tuple)]
    if ranks:
        found = sorted(set(ranks))
        return [ranks.index(rank) for rank in found], [str(rank) for rank in found], "rank"
    places = list(range(0, len(lanes), max(1, len(lanes) // 4)))
    return places, [str(lanes[place]) for place in places], "stream"


def add_part_names(axes: Axes, *, over_hosts: bool = False) -> None:
    """What the colours are, above the lanes."""
    parts = {**PARTS, **RANK_PARTS} if over_hosts else PARTS
    words = {_PART_NAMES[part]: color for part, color in parts.items()}
    add_legend(axes, words, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=len(words))
