"""The choice between pull, notify-pull and push."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.dispatch import choose, touched_share

ALL = {"can_pull": True, "can_notify": True, "can_push": True}


@pytest.mark.parametrize(
    ("active", "resident", "ratio", "able", "chosen"),
    [
        (51, True, 4.0, ALL, "pull"),
        (34, True, 4.0, ALL, "notify-pull"),
        (33, True, 4.0, ALL, "push"),
        (50, True, 4.0, ALL | {"can_push": False}, "notify-pull"),
        (13, False, 4.0, ALL, "pull"),
        (9, False, 4.0, ALL, "notify-pull"),
        (8, False, 4.0, ALL, "push"),
        (12, False, 4.0, ALL | {"can_push": False}, "notify-pull"),
        (33, False, 0.1, ALL, "push"),
        (1, True, 1.0, ALL | {"can_push": False, "can_notify": False}, "pull"),
        (99, True, 1.0, ALL | {"can_pull": False}, "push"),
    ],
)
def test_by_the_share_of_edges(
    active: int, resident: Any, ratio: float, able: dict[str, bool], chosen: str
) -> None:
    assert choose(active, 100, active / 100, resident=resident, ratio=ratio, **able) == chosen


@given(st.integers(0, 100), st.integers(0, 100), st.booleans(), st.floats(0, 100), st.data())
def test_never_what_cannot_be_done(
    active: int, edges: int, resident: Any, ratio: float, data: Any
) -> None:
    able = {name: data.draw(st.booleans()) for name in ALL}
    touched = data.draw(st.floats(0, 1))
    chosen = choose(active, edges, touched, resident=resident, ratio=ratio, **able)
    if able["can_pull"]:
        assert able[{"pull": "can_pull", "notify-pull": "can_notify", "push": "can_push"}[chosen]]
    else:
        assert chosen == "push"


def test_notifying_does_not_pay_if_all_edges_are_touched_anyway() -> None:
    able = ALL | {"can_push": False}
    assert choose(20, 100, 0.7, resident=True, ratio=1.0, **able) == "notify-pull"
    assert choose(20, 100, 0.9, resident=True, ratio=1.0, **able) == "pull"


@given(st.floats(0, 1), st.lists(st.integers(0, 1000), max_size=20))
def test_touched_share_is_a_share_and_not_below_the_active_one(
    f: float, histogram: list[int]
) -> None:
    share = touched_share(f, histogram)
    assert 0 <= share <= 1
    if sum(histogram[1:]):
        assert share >= f - 1e-9


def test_touched_share_of_vertices_of_degree_one() -> None:
    assert touched_share(0.25, [5, 8]) == pytest.approx(0.25)
