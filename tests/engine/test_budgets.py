"""What the plan accepts, the run can do: see ``budget_grid``."""

from __future__ import annotations

from pathlib import Path

import pytest
from budget_grid import build_shape, cases, disagreements
from torture.shapes import SHAPES

#: Edges, where results and state should be larger than what a plan sets aside for small arrays.
LARGE = 100_000
SMALL = 8_000


@pytest.mark.parametrize("shape", SHAPES)
def test_a_budget_that_the_plan_accepts_never_fails(tmp_path: Path, shape: str) -> None:
    path = build_shape(shape, LARGE if shape in ("star", "long_list") else SMALL, tmp_path)
    found = [each for case in cases() for each in disagreements(path, case, steps=1)]
    assert found == []
