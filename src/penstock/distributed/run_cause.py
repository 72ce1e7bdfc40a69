"""Why a run failed: usually one rank is the cause, and the others ended because of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.distributed.dask_rank import Outcome, Place
from penstock.distributed.losses import Loss, RankLostError


def find_cause(
    outcomes: Mapping[int, Outcome], places: Mapping[int, Place]
) -> BaseException | None:
    """The error to raise for how the ranks ended; None if all succeeded. The error of a rank takes
    precedence over ranks that are gone, and these over ranks that others have lost.
    """
    failed = [each for each in outcomes.values() if each.error is not None]
    if failed:
        first = min(failed, key=lambda each: each.when)
        assert first.error is not None
        first.error.add_note(f"raised on {places[first.rank]}")
        return first.error
    gone = {each.rank: each.gone for each in outcomes.values() if each.gone is not None}
    missed = missed_by_others(outcomes)
    silent = {
        rank: missed[rank][0] if rank in missed else "it did not end with the others"
        for rank in places
        if rank not in outcomes
    }
    lost = gone or silent or {rank: missed[rank][0] for rank in fewest(missed)}
    if not lost:
        lost = {each.rank: each.lost[1] for each in outcomes.values() if each.lost is not None}
    if not lost:
        return None
    text = "; ".join(f"{places[rank]} is lost: {reason}" for rank, reason in lost.items())
    return RankLostError(text, [loss_of(places[rank], reason) for rank, reason in lost.items()])


def loss_of(place: Place, reason: str) -> Loss:
    """The loss of a rank, as it is reported to the caller."""
    return Loss(place.rank, place.host, place.pid, reason)


def missed_by_others(outcomes: Mapping[int, Outcome]) -> dict[int, list[Any]]:
    """The ranks that others have lost: for each, the reason, then the others."""
    found: dict[int, list[Any]] = {}
    for each in outcomes.values():
        if each.lost is not None and each.lost[0] != each.rank:
            found.setdefault(each.lost[0], [each.lost[1]]).append(each.rank)
    return found


def fewest(missed: Mapping[int, list[Any]]) -> list[int]:
    """About the fewest ranks to leave out so that no other rank is missing one: those that most
    others have lost.

    >>> fewest({2: ["silent", 0, 1], 0: ["silent", 2]})
    [2]
    """
    pairs = {(rank, by) for rank, (_, *others) in missed.items() for by in others}
    found = []
    while pairs:
        ends = [rank for pair in pairs for rank in pair]
        most = max(sorted(set(ends)), key=lambda rank: (ends.count(rank), rank in missed))
        found.append(most)
        pairs = {pair for pair in pairs if most not in pair}
    return [rank for rank in found if rank in missed]
