"""Which rank reads which stripe: pure functions of who sees what, and of how long ranks take; the
same on every rank.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set

from penstock.errors import InputNotFoundError
from penstock.store.part import stripe_list

#: Turns after which ranks take pages in the same order again, if they see all pages and have
#: different shares.
TURNS = 32
#: Stripes pass to other ranks if the longest time is expected to be at most this part of what it
#: was.
GAIN = 0.9


def assign(
    seen: Sequence[Set[int]],
    num_stripes: int,
    *,
    hosts: Sequence[str] = (),
    dealt_to: Sequence[Sequence[str]] = (),
) -> tuple[int, ...]:
    """The ranks that pages are dealt out to in turn: page j belongs to rank ``dealt[j % len]``.

    Ranks that all see every stripe take pages in turn, whatever the number of stripes. Else each
    stripe has one owner, among the ranks that see it, and no other choice of owners is more even:
    the largest share is as small as it can be, and so is the sum of squares.

    Parameters
    ----------
    seen
        Of each rank, the stripes whose page files it can read.
    num_stripes
        How many stripes the graph has.
    hosts, dealt_to
        For messages: the host of each rank, and where each stripe was dealt to.

    Raises
    ------
    InputNotFoundError
        No rank sees some of the stripes.

    >>> assign([{0, 1}, {0, 1}], 2)
    (0, 1)
    >>> assign([{0, 1, 2, 3}, {2, 3}], 4)
    (0, 0, 1, 1)
    """
    if all(len(each) >= num_stripes for each in seen):
        return tuple(range(len(seen)))
    seers = [
        [rank for rank in range(len(seen)) if stripe in seen[rank]] for stripe in range(num_stripes)
    ]
    lost = [stripe for stripe in range(num_stripes) if not seers[stripe]]
    if lost:
        raise InputNotFoundError(_lost_text(lost, num_stripes, hosts, dealt_to))
    owned: list[set[int]] = [set() for _ in seen]
    for stripe in range(num_stripes):
        _place(stripe, seers, owned)
    owner = {stripe: rank for rank, stripes in enumerate(owned) for stripe in stripes}
    return tuple(owner[stripe] for stripe in range(num_stripes))


def _place(stripe: int, seers: list[list[int]], owned: list[set[int]]) -> None:
    """Give a stripe to a rank, such that the shares are as even as possible: the smallest share
    that can grow does, if other ranks pass stripes on to each other.
    """
    #: How a rank was reached: the stripe that it would take, and from which rank (None: from none).
    came: dict[int, tuple[int, int | None]] = dict.fromkeys(seers[stripe], (stripe, None))
    waiting = deque(seers[stripe])
    least = min(map(len, owned))
    best = min(seers[stripe], key=lambda rank: (len(owned[rank]), rank))
    while waiting and len(owned[best]) > least:
        rank = waiting.popleft()
        for own in sorted(owned[rank]):
            for other in seers[own]:
                if other not in came:
                    came[other] = own, rank
                    waiting.append(other)
                    if len(owned[other]) < len(owned[best]):
                        best = other
    taker: int | None = best
    while taker is not None:
        taken, giver = came[taker]
        owned[taker].add(taken)
        if giver is not None:
            owned[giver].remove(taken)
        taker = giver


def balance(
    dealt: Sequence[int], seers: Sequence[Set[int]], seconds: Sequence[float]
) -> tuple[int, ...]:
    """The assignment that follows another one, if ranks have taken so many seconds for their
    shares: stripes pass from ranks that take long to those that are expected to end first, as long
    as that shortens the longest time. The same one if little is gained.

    Parameters
    ----------
    dealt
        The assignment so far, as :func:`assign` returns it.
    seers
        Of each stripe, the ranks that see it; none if every rank sees all pages.
    seconds
        Of each rank, how long it has worked on its share.

    >>> balance((0, 1, 0, 1), [{0, 1}] * 4, [3.0, 1.0])
    (1, 1, 0, 1)
    """
    ranks = range(len(seconds))
    owners = list(dealt if seers else tuple(ranks) * TURNS)
    sees = list(seers) or [set(ranks)] * len(owners)
    counts = [owners.count(rank) for rank in ranks]
    if not counts[max(ranks, key=seconds.__getitem__)]:
        return tuple(dealt)  # what makes it slow is not its share
    known = [taken / count for taken, count in zip(seconds, counts, strict=True) if count]
    typical = sorted(known)[(len(known) - 1) // 2]
    # A rank without a stripe is no faster than others, and slow if it takes long all the same.
    cost = [
        taken / count if count else max(taken, typical)
        for taken, count in zip(seconds, counts, strict=True)
    ]

    def time_of(rank: int, more: int = 0) -> float:
        return cost[rank] * (counts[rank] + more)

    longest = max(map(time_of, ranks))
    while True:
        giver = max(ranks, key=time_of)
        moves = [
            (time_of(taker, 1), taker, stripe)
            for stripe, owner in enumerate(owners)
            if owner == giver
            for taker in sees[stripe] - {giver}
        ]
        if not moves or min(moves)[0] >= time_of(giver):
            return tuple(owners if time_of(giver) <= GAIN * longest else dealt)
        _, taker, stripe = min(moves)
        owners[stripe] = taker
        counts[giver] -= 1
        counts[taker] += 1


def _lost_text(
    lost: list[int], num_stripes: int, hosts: Sequence[str], dealt_to: Sequence[Sequence[str]]
) -> str:
    what = f"stripe{'s' * (len(lost) > 1)} {stripe_list(lost)} of {num_stripes}"
    there = f" ({', '.join(dict.fromkeys(hosts))})" if hosts else ""
    text = f"hosts: {what}: none of the hosts that are there{there} can read "
    text += "them" if len(lost) > 1 else "it"
    if dealt_to:
        missing = dict.fromkeys(place for stripe in lost for place in dealt_to[stripe])
        text += f"; dealt to {', '.join(missing)}"
    return text + (
        "; restore the host or its disk, or deal the graph again, with copies (penstock deal "
        "--copies 2), so that it survives the loss of a host"
    )
