"""Who takes which page: dealers for the streams of several devices."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from penstock.engine.division import takes_another
from penstock.metrics import clock
from penstock.parallel import Take
from penstock.stream.lists import Piece

#: How much of a stream's mean time is the last piece's.
_NEW_SHARE = 0.25

Has = Callable[[int, Piece], bool]


class StaticScheduler:
    """Strategy P: piece j goes to device j mod N. Strategy S: each piece goes to every device."""

    def __init__(self, owners: Sequence[int], has: Has, *, to_all: bool) -> None:
        self._owners = owners
        self._devices = max(owners) + 1
        self._to_all = to_all
        self.copies = self._devices if to_all else 1
        self.has = has

    def deal(self, numbers: Sequence[int]) -> Take:
        """See :class:`~penstock.stream.lists.Dealer`."""
        queues: list[deque[int]] = [deque() for _ in range(self._devices)]
        for place, number in enumerate(numbers):
            queues[(place if self._to_all else number) % self._devices].append(place)

        def take(stream: int) -> int | None:
            queue = queues[self._owners[stream]]
            return queue.popleft() if queue else None

        return take


class DynamicScheduler:
    """A piece to whichever stream is free, unless the others would be done with all of them before
    it is with this one.
    """

    copies = 1

    def __init__(self, streams: int, has: Has) -> None:
        self.has = has
        #: Seconds from piece to piece on each stream.
        self.seconds: list[float | None] = [None] * streams
        #: Those that take part.
        self.streams = range(streams)
        self._pieces = 0

    def deal(self, numbers: Sequence[int]) -> Take:
        """See :class:`~penstock.stream.lists.Dealer`."""
        self._pieces = max(self._pieces, len(numbers))
        began: list[float | None] = [None] * len(self.seconds)
        taken = 0
        there = set(self.streams)

        def take(stream: int) -> int | None:
            nonlocal taken
            now, before = clock(), began[stream]
            if before is not None:
                self._learn(stream, now - before)
            began[stream] = None
            if taken == len(numbers):
                return None
            # Who has declined does not come back: the last one takes all.
            there.discard(stream)
            others = [self.seconds[k] for k in there]
            if not takes_another(self.seconds[stream], others, len(numbers) - taken):
                return None
            there.add(stream)
            began[stream] = now
            taken += 1
            return taken - 1

        return take

    def _learn(self, stream: int, seconds: float) -> None:
        known = self.seconds[stream]
        share = 1.0 if known is None else _NEW_SHARE
        self.seconds[stream] = (known or 0.0) * (1 - share) + seconds * share

    def pull_seconds(self, streams: range) -> float | None:
        """What some streams would need for all pieces; None if none of them had one yet."""
        known = [each for k in streams if (each := self.seconds[k]) is not None]
        if not known:
            return None
        a_second = sum(1 / max(each, 1e-9) for each in known) * len(streams) / len(known)
        return self._pieces / a_second
