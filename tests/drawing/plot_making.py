"""Results to draw."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engine.result import Result

matplotlib = pytest.importorskip("matplotlib")

TABLE = Result.table("vertices", [0, 1, 2, 5], [4, 10, 3, 1], id_name="degree")
#: Three components: 0 1 2 5, 3, 4.
GROUPED = Result.table("component", range(6), [0, 0, 0, 3, 4, 0])
RANKED = Result.table(
    "rank",
    [1, 2, 3],
    [0.5, 0.25, 0.25],
    stats={"algorithm": "pagerank", "graph": "/data/web.penstock", "enough": 0.01},
    iterations=[
        {"step": 0, "active_share": 1.0, "active": None, "change": 0.5},
        {"step": 1, "active_share": 1.0, "active": None, "change": 0.05},
        {"step": 2, "active_share": 1.0, "active": None, "change": 0.0},
    ],
)
REACHED = Result.table(
    "level",
    range(10),
    np.array([0, 1, 1, 2, 2, 2, 3, -1, -1, -1], np.int32),
    stats={"algorithm": "bfs", "num_vertices": 10},
    iterations=[
        {"step": 0, "active": 1, "levels": 1},
        {"step": 1, "active": 2, "levels": 2},
        {"step": 2, "active": 1, "levels": 1},
    ],
)
NAMED = np.array(["a", "a", "c"], object)


def table(values, name="score", **more):
    return Result.table(name, np.arange(len(values)), np.asarray(values), **more)
