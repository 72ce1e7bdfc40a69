"""A run in which a slow rank passes pages on to the others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.distributed.assignment import balance
from penstock.distributed.sight import Agreement
from penstock.engine.algorithm import Task
from penstock.engine.options import RunOptions
from penstock.engine.pace import Redeal
from penstock.engine.result import Result
from penstock.errors import BudgetError
from penstock.store.paged import PagedGraph

#: How often the owners of pages change in a run.
MOST_TIMES = 3


def call_balanced(
    call: Callable[[Task], Result], graph: PagedGraph, options: RunOptions, agreed: Agreement
) -> tuple[Task, Result]:
    """Make a call on this rank. If a rank is slow when an epoch ends, the call goes on from that
    epoch, with other owners of the pages. The same decisions are made on all ranks.
    """
    options = before = _with_owners(options, agreed, agreed.dealt)
    changes: list[dict[str, Any]] = []
    while True:
        task = Task(graph, options)
        try:
            result = call(task)
        except Redeal as change:
            assert options.epochs is not None
            before = replace(options, epochs=replace(options.epochs, resume=True))
            options = _with_owners(before, agreed, change.dealt)
            changes.append(_row(change, options.peers.size))
            _note(options, changes[-1])
            if len(changes) == MOST_TIMES:
                options = replace(options, balance=None)
        except BudgetError:
            if options is before:
                raise
            # A rank has no room for more pages.
            options = before = replace(before, balance=None)
            changes.pop()
        else:
            if changes:
                result.stats["redealt"] = changes
            return task, result


def _with_owners(options: RunOptions, agreed: Agreement, dealt: tuple[int, ...]) -> RunOptions:
    # With rows asked for, pages go by the places in the rows.
    fixed = options.division.startswith("S")
    chosen = None if fixed else partial(balance, dealt, agreed.seers or _all(dealt, options))
    return replace(options, dealt=dealt, balance=chosen)


def _all(dealt: tuple[int, ...], options: RunOptions) -> tuple[frozenset[int], ...]:
    """Every rank sees all pages."""
    return (frozenset(range(options.peers.size)),) * len(dealt)


def _row(change: Redeal, size: int) -> dict[str, Any]:
    shares = [change.dealt.count(rank) / len(change.dealt) for rank in range(size)]
    return {
        "after_step": change.step, "slow_rank": change.slow.rank,
        "busy_seconds": list(change.slow.seconds), "shares": shares,
    }  # fmt: skip


def _note(options: RunOptions, row: dict[str, Any]) -> None:
    if options.peers.rank == 0:
        rank = row["slow_rank"]
        with suppress(OSError):
            options.progress.note(
                f"rank {rank} is slow; after step {row['after_step']:,} it has "
                f"{row['shares'][rank]:.0%} of the pages"
            )
