"""What the pictures of a result show, as arrays; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock.arrays import parts
from penstock.drawing.groups import GROUPS, Drawable, group_sizes
from penstock.errors import OptionError
from penstock.types import Array

#: In the order in which one is chosen if none is asked for.
KINDS = ("degrees", "components", "convergence", "active", "values", "timeline")
#: What an iteration may note of how far it is from the end.
RESIDUALS = {"change": "change of all values, summed", "moving": "values that are not settled"}
#: Values that tell how far a vertex is; less than 0 or infinite: it is not reached.
_FAR = ("level", "distance")
#: Values that are ids: tables of edges have them.
_ENDS = ("src", "dst")
#: Points and bars of a picture at most, where there may be any number.
_MOST_POINTS = 2000
_MOST_BARS = 40
#: Differences and sums of larger values than this could overflow, here or in Matplotlib.
_LARGEST = 1e290


# Which pictures there are


def kinds_of(result: Drawable) -> list[str]:
    """The kinds of pictures that a result has something for."""
    is_counted = _is_degree_table(result)
    is_measured = not is_counted and result.name not in GROUPS and result.name not in _ENDS
    has = {
        "degrees": is_counted or result.name == "degree",
        "components": result.name in GROUPS,
        "convergence": _residual(result) is not None,
        "active": any(_activity(row) for row in result.iterations),
        "values": is_measured and _has_numbers(result),
        "timeline": result.stats.get("trace") is not None,
    }
    return [kind for kind in KINDS if has[kind]]


def chosen_kind(result: Drawable, kind: str | None) -> str:
    """The kind that is asked for, or else the first that there is; ``active`` is chosen only if it
    changes or nothing else is there.
    """
    there = kinds_of(result)
    if kind is None:
        usual = [each for each in there if each != "active" or _changes(activity(result).shares)]
        if not there:
            raise OptionError(
                f"kind: this result of {result.name} has nothing to draw{_hint(result)}"
            )
        return (usual or there)[0]
    if kind not in KINDS:
        raise OptionError(f"kind: expected one of {', '.join(KINDS)}; got {kind!r}")
    if kind not in there:
        has = ", ".join(there) or "nothing to draw"
        raise OptionError(
            f"kind: this result of {result.name} has no {kind}{_hint(result, kind)}; it has {has}"
        )
    return kind


def _hint(result: Drawable, kind: str | None = None) -> str:
    if kind == "timeline":
        return "; run with trace=FILE (--trace) to have one"
    return "" if len(result) else " (the values of a run are in the file of --out)"


def _is_degree_table(result: Drawable) -> bool:
    return result.name == "vertices" and hasattr(result, "degree")


def _has_numbers(result: Drawable) -> bool:
    return len(result) > 0 and result.values.dtype.kind in "iuf"


def _changes(values: Array) -> bool:
    return len(values) > 1 and bool((values != values[0]).any())


# Degrees and components


def degree_counts(result: Drawable) -> tuple[Array, Array]:
    """The degrees that occur, ascending, and how many vertices have each."""
    if _is_degree_table(result):
        return result.ids, result.values
    return _counted(result.values)


def size_counts(result: Drawable) -> tuple[Array, Array]:
    """The sizes of groups that occur, ascending, and how many groups have each."""
    return _counted(group_sizes(result)[1])


def _counted(values: Array) -> tuple[Array, Array]:
    found, counts = np.unique(values, return_counts=True)
    return found, counts


def at_least(counts: Array) -> Array:
    """For numbers in ascending order: how many there are of each or of larger ones.

    >>> at_least(np.array([5, 2, 1]))
    array([8, 3, 1])
    """
    return np.asarray(counts)[::-1].cumsum()[::-1]


# Iterations


@dataclass(frozen=True, slots=True)
class Convergence:
    """What is left to do after each iteration."""

    iterations: Array
    residuals: Array
    #: One of :data:`RESIDUALS`.
    name: str
    #: Below this the run ends, if it is known.
    enough: float | None


def convergence(result: Drawable) -> Convergence:
    """From the per-iteration table; zeros, which have no place on a logarithmic axis, are left
    out.
    """
    name = _residual(result)
    assert name is not None
    rows = [row for row in result.iterations if _is_left(row, name)]
    steps, left = thinned([row["step"] + 1 for row in rows], [row[name] for row in rows])
    return Convergence(steps, left, name, result.stats.get("enough") or None)


def _residual(result: Drawable) -> str | None:
    rows = result.iterations
    return next((name for name in RESIDUALS if any(_is_left(row, name) for row in rows)), None)


def _is_left(row: dict[str, Any], name: str) -> bool:
    return (row.get(name) or 0) > 0


@dataclass(frozen=True, slots=True)
class Activity:
    """How much was active in each iteration."""

    #: The first is 0. Where an iteration finds several levels, they are counted, not iterations.
    steps: Array
    #: 0 to 1; or numbers of vertices if it is not known how many there are.
    shares: Array
    #: Of what: "edges" or "vertices".
    unit: str
    is_share: bool
    by_level: bool
    #: Whether an iteration found more than one level; what is shown of it is the first.
    some_together: bool


def activity(result: Drawable) -> Activity:
    """From the per-iteration table: the share of edges that active vertices have if it says so,
    else of vertices that are active.
    """
    rows = [row for row in result.iterations if _activity(row)]
    unit = _activity(rows[0]) if rows else "vertices"
    rows = [row for row in rows if _activity(row) == unit]
    if unit == "edges":
        shares = [row["active_share"] for row in rows]
    else:
        total = result.stats.get("num_vertices") or 1
        shares = [row["active"] / total for row in rows]
    by_level = all(row.get("levels") is not None for row in rows)
    together = by_level and any(row["levels"] > 1 for row in rows)
    if by_level:
        ends = np.cumsum([row["levels"] for row in rows])
        steps = [0, *ends[:-1].tolist()][: len(rows)]
    else:
        steps = [row["step"] for row in rows]
    is_share = unit == "edges" or bool(result.stats.get("num_vertices"))
    return Activity(*thinned(steps, shares), unit, is_share, by_level, together)


def _activity(row: dict[str, Any]) -> str:
    """What a row tells of: active "edges", "vertices", or nothing."""
    if row.get("active_share") is not None:
        return "edges"
    return "vertices" if row.get("active") is not None else ""


def thinned(x: Sequence[float], y: Sequence[float]) -> tuple[Array, Array]:
    """The points, or if they are too many the highest of each of as many stretches as can be
    drawn.
    """
    places, heights = np.asarray(x), np.asarray(y, np.float64)
    if len(places) <= _MOST_POINTS:
        return places, heights
    stretches = np.array_split(np.arange(len(places)), _MOST_POINTS)
    best = [stretch[np.argmax(heights[stretch])] for stretch in stretches]
    return places[best], heights[best]


# Values


class Histogram(NamedTuple):
    """How many values are in each bin."""

    edges: Array
    counts: Array
    #: Whether both axes should be logarithmic.
    is_log: bool
    #: How many values have no place in it: "zero", "not reached", "not a number or too large".
    left_out: dict[str, int]
    total: int


@dataclass(slots=True)
class _Range:
    """What a look at all values tells."""

    low: float = np.inf
    high: float = -np.inf
    low_positive: float = np.inf
    total: float = 0.0
    count: int = 0
    zeros: int = 0

    def add(self, values: Array) -> None:
        if len(values):
            self.low, self.high = min(self.low, values.min()), max(self.high, values.max())
            positive = values[values > 0]
            self.low_positive = min(self.low_positive, positive.min(initial=np.inf))
            self.total += values.sum()
            self.count += len(values)
            self.zeros += int(np.count_nonzero(values == 0))

    @property
    def is_heavy_tailed(self) -> bool:
        """None is negative, the positive ones span more than two powers of ten, and the mean is
        less than a tenth of the largest.
        """
        return (
            self.low >= 0
            and self.high > 100 * self.low_positive
            and self.total / self.count < self.high / 10
        )


def value_histogram(result: Drawable) -> Histogram:
    """The distribution of the values: bins as wide as each other, or, if they are heavy-tailed, as
    wide as each other on a logarithmic axis. Whole numbers: bins of whole numbers.
    """
    values = result.values
    seen, lost = _Range(), 0
    for begin, end in parts(len(values)):
        kept = _in_reach(result.name, values[begin:end])
        seen.add(kept)
        lost += end - begin - len(kept)
    is_whole = values.dtype.kind in "iu"
    is_log = seen.count > 0 and seen.is_heavy_tailed
    edges = _log_edges(seen, is_whole) if is_log else _even_edges(seen, is_whole)
    counts: Array = np.zeros(len(edges) - 1, np.int64)
    for begin, end in parts(len(values)):
        counts += np.histogram(_in_reach(result.name, values[begin:end]), edges)[0]
    left_out = {"zero": seen.zeros if is_log else 0}
    left_out["not reached" if result.name in _FAR else "not a number or too large"] = lost
    return Histogram(edges, counts, is_log, {k: v for k, v in left_out.items() if v}, len(values))


def _in_reach(name: str, values: Array) -> Array:
    """The values that are numbers and not too large, in double precision."""
    numbers = values.astype(np.float64)
    keep = np.abs(numbers) < _LARGEST
    if name in _FAR:
        keep &= numbers >= 0
    return numbers[keep]


def _log_edges(seen: _Range, is_whole: bool) -> Array:  # noqa: FBT001
    if is_whole:
        return 2.0 ** np.arange(int(np.log2(seen.high)) + 2)
    edges = np.geomspace(seen.low_positive, seen.high, _MOST_BARS + 1)
    edges[[0, -1]] = seen.low_positive, seen.high  # exactly, so that all are inside
    return edges


def _even_edges(seen: _Range, is_whole: bool) -> Array:  # noqa: FBT001
    if not seen.count:
        return np.array([0.0, 1.0])
    if is_whole:
        width = np.ceil((seen.high - seen.low + 1) / _MOST_BARS)
        bars = int((seen.high - seen.low) // width) + 1
        edges: Array = width * np.arange(bars + 1) + (seen.low - 0.5)
        return edges
    if seen.low == seen.high:
        around = max(abs(seen.low), 1.0) / 2
        return np.array([seen.low - around, seen.high + around])
    return np.linspace(seen.low, seen.high, _MOST_BARS + 1)
