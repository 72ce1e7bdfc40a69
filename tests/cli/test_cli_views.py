"""What is shown of the results of some algorithms."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engine.result import Result
from penstock.interfaces.cli._views import components, degrees, distances, highest, levels


def test_levels():
    shown = levels(Result.table("level", [1, 2, 3, 4], [0, 1, -1, 1]), 2)
    assert shown.summary == {"reached": 3, "levels": [1, 2]}
    assert shown.top == [(2, 1), (4, 1)]
    assert "reached 3 of 4 vertices in 2 levels" in shown.text


def test_many_levels_are_cut():
    text = levels(Result.table("level", range(100), range(100)), 1).body
    assert text.count("\n") == 31
    assert "30 and more        70" in text


def test_distances_leave_out_what_is_not_reached():
    shown = distances(Result.table("distance", [1, 2, 3, 4], [0.0, np.inf, 2.5, 2.5]), 2)
    assert shown.top == [(3, 2.5), (4, 2.5)]
    assert shown.summary == {"reached": 3, "mean": 5 / 3, "largest": 2.5}


@pytest.mark.parametrize(
    ("ids", "kind"),
    [([1, 5, 7, 9], np.int64), (["a", "b", "c", "d"], object), ([2**63, 2**64 - 5], object)],
)
def test_components(ids, kind):
    ids = [*ids, *(2**64 - 4 + k for k in range(4 - len(ids)))]
    labels = np.array([ids[0], ids[1], ids[1], ids[1]], kind)
    shown = components(Result.table("component", ids, labels), 1)
    assert shown.top == [(ids[1], 3)]
    assert shown.summary == {"components": 2, "largest": 3}
    assert "75.0% of all" in shown.text


@pytest.mark.parametrize("show", [levels, distances, components, degrees, highest])
def test_nothing_to_show(show):
    kind = np.float64 if show is distances else np.int64
    empty = Result.table("nothing", np.zeros(0, np.int64), np.zeros(0, kind))
    assert show(empty, 3).top == []


def test_degrees_are_in_powers_of_two():
    shown = degrees(Result.table("vertices", [0, 1, 2, 3, 4, 1024], [5, 4, 3, 2, 1, 9]), 2)
    rows = [line.split("  ")[1:] for line in shown.text.splitlines()[1:]]
    counts = {row[0]: int(next(filter(None, row[1:]))) for row in rows}
    assert {name: count for name, count in counts.items() if count} == {
        "0": 5, "1": 4, "2 to 3": 5, "4 to 7": 1, "1,024 to 2,047": 9,
    }  # fmt: skip
    assert shown.summary == {"degrees": 6, "largest": 1024}
    assert shown.top == [(1024, 9), (0, 5)]
