"""The choice between pull, notify-pull and push."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.dispatch import choose

ALL = {"can_pull": True, "can_notify": True, "can_push": True}


@pytest.mark.parametrize(
    ("active", "resident", "ratio", "able", "chosen"),
    [
        (51, True, 4.0, ALL, "pull"),
        (50, True, 4.0, ALL, "push"),
        (50, True, 4.0, ALL | {"can_push": False}, "notify-pull"),
        (13, False, 4.0, ALL, "pull"),
        (12, False, 4.0, ALL, "push"),
        (12, False, 4.0, ALL | {"can_push": False}, "notify-pull"),
        (50, False, 0.1, ALL, "push"),
        (1, True, 1.0, ALL | {"can_push": False, "can_notify": False}, "pull"),
        (99, True, 1.0, ALL | {"can_pull": False}, "push"),
    ],
)
def test_by_the_share_of_edges(
    active: int, resident: Any, ratio: float, able: dict[str, bool], chosen: str
) -> None:
    assert choose(active, 100, resident=resident, ratio=ratio, **able) == chosen


@given(st.integers(0, 100), st.integers(0, 100), st.booleans(), st.floats(0, 100), st.data())
def test_never_what_cannot_be_done(
    active: int, edges: int, resident: Any, ratio: float, data: Any
) -> None:
    able = {name: data.draw(st.booleans()) for name in ALL}
    chosen = choose(active, edges, resident=resident, ratio=ratio, **able)
    if able["can_pull"]:
        assert able[{"pull": "can_pull", "notify-pull": "can_notify", "push": "can_push"}[chosen]]
    else:
        assert chosen == "push"
