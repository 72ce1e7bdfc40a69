"""How an iteration goes: pull, notify-pull or push. Pure functions, after Garaph."""

from __future__ import annotations

from typing import Literal

Strategy = Literal["pull", "notify-pull", "push"]


def choose(
    active_edges: int,
    num_edges: int,
    *,
    resident: bool,
    ratio: float,
    can_pull: bool,
    can_notify: bool,
    can_push: bool,
) -> Strategy:
    """The strategy of the next iteration.

    f, the share of vertices with an active in-neighbour, is estimated as the out-edges of active
    vertices over all edges. Notifying pays if f <= 1/2 in memory, and if f <= 1/(2k) from storage
    that reads k times faster in sequence than at random. Pushing looks only at the out-edges of
    active vertices, once, where notify-pull looks at them and at all in-edges of their neighbours.
    """
    if not can_pull:
        return "push"
    f = active_edges / num_edges if num_edges else 0.0
    if f > (0.5 if resident else 1 / (2 * max(ratio, 1.0))):
        return "pull"
    if can_push:
        return "push"
    return "notify-pull" if can_notify else "pull"
