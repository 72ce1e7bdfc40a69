"""How an iteration goes: pull, notify-pull or push. Pure functions, after Garaph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Strategy = Literal["pull", "notify-pull", "push"]

#: To push along an edge takes so many times as long as to pull (3.0 to 3.5 on kron22): it is an
#: atomic operation at a random place, and notes whom it reached.
PUSH_WORK = 3.0


def choose(
    active_edges: int,
    num_edges: int,
    touched: float,
    *,
    resident: bool,
    ratio: float,
    can_pull: bool,
    can_notify: bool,
    can_push: bool,
) -> Strategy:
    """The strategy of the next iteration.

    Pull looks at every edge. Notify-pull looks at the out-edges of active vertices, a share f, and
    then at all in-edges of those that they lead to, a share ``touched``; push at the former only,
    with an atomic operation for each. Storage reads k times faster in sequence than at random. So
    notifying pays if f + touched <= 1 in memory, and 1/k from storage; with touched = f, which
    Garaph takes for granted, that is its rule, f <= 1/2 and f <= 1/(2k).
    """
    if not can_pull:
        return "push"
    f = active_edges / num_edges if num_edges else 0.0
    penalty = 1.0 if resident else max(ratio, 1.0)
    if can_push and cost("push", f, touched, penalty) <= 1:
        return "push"
    if can_notify and cost("notify-pull", f, touched, penalty) <= 1:
        return "notify-pull"
    return "pull"


def cost(strategy: Strategy, f: float, touched: float, penalty: float) -> float:
    """What an iteration takes, if one that pulls takes 1."""
    if strategy == "pull":
        return 1.0
    return (PUSH_WORK * f if strategy == "push" else f + touched) * penalty


def touched_share(f: float, degree_histogram: Sequence[int]) -> float:
    """The share of edges that lead to vertices with an active in-neighbour, if each in-neighbour
    is active with probability f: a vertex of degree d has one with probability 1 - (1 - f)^d.

    The histogram counts vertices of degree 0, 1, 2 to 3, 4 to 7, ...
    """
    edges = touched = 0.0
    for k, count in enumerate(degree_histogram[1:]):
        degree = 1.5 * 2**k if k else 1.0
        edges += count * degree
        touched += count * degree * (1 - (1 - f) ** degree)
    return touched / edges if edges else 0.0
