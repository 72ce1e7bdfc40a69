"""The frontier of a run: of the kind that its lists are."""

from __future__ import annotations

from typing import Any

from penstock.engine.engine import Engine
from penstock.engine.expansion import Expansion
from penstock.engine.frontier import Frontier
from penstock.engine.frontier_resident import ResidentFrontier
from penstock.engine.frontier_streamed import StreamedFrontier
from penstock.engine.frontier_tiered import TieredFrontier
from penstock.types import Direction


def open_frontier(
    engine: Engine,
    expansion: Expansion,
    state: Any,
    *,
    directions: tuple[Direction, ...] = ("out",),
    dual: bool = False,
) -> Frontier:
    """A frontier without vertices. ``directions``: the lists that edges are followed in, of a
    directed graph both if their direction is not to matter; then nothing is pulled. ``dual``: where
    the first edges of lists are in memory, top-down reads all lists none the less.
    """
    if engine.is_resident():
        return ResidentFrontier(engine, expansion, state, directions)
    if engine.is_tiered():
        return TieredFrontier(engine, expansion, state, directions, dual=dual)
    return StreamedFrontier(engine, expansion, state, directions)
