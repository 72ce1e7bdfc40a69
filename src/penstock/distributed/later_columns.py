"""Columns of a result that are made when they are asked for, by the ranks that made the rest.

What a rank needs for them stays in its memory until its next call. A rank that does not have it any
more, because it was restarted or has had another call, makes the call again, and so do all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from penstock.engine.algorithm import Task
from penstock.engine.over_hosts import Part
from penstock.engine.peers import Peers
from penstock.progress import Silent

#: Tasks that have columns to make, by run and rank.
_TASKS: dict[tuple[str, int], Task] = {}


def forget_tasks(rank: int, token: str) -> None:
    """A new call begins."""
    for key in [key for key in list(_TASKS) if key[1] == rank or key[0] != token]:
        _TASKS.pop(key, None)


def keep_task(token: str, rank: int, task: Task) -> None:
    """Keep what the columns are made of, if there are any."""
    if task.later:
        _TASKS[token, rank] = task


def complete(task: Task) -> Part:
    """The part of a rank with all columns."""
    assert task.part is not None
    made = {name: make() for name, make in task.later.items()}
    return replace(task.part, columns={**task.part.columns, **made}, later=())


def make_column(peers: Peers, token: str, name: str, call_again: Callable[[], object]) -> Part:
    """A column of this rank's part."""
    kept = _TASKS.get((token, peers.rank))
    said = peers.allgather(np.array([kept is not None]))
    if kept is None or not all(bool(known[0]) for (known,) in said):
        call_again()
        kept = _TASKS[token, peers.rank]
    assert kept.part is not None
    kept.options = replace(kept.options, peers=peers, progress=Silent(), trace=None)
    return replace(kept.part, columns={name: kept.later[name]()}, later=())
