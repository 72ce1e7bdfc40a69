"""A network of bad temper: all messages are late, those of different senders overtake others."""

from __future__ import annotations

import random
from collections import deque

from penstock.distributed.crew import ThreadCrew


class DelayingTransport:
    """Holds what has come, and hands it out as it likes; in order for each sender."""

    def __init__(self, inner, seed):
        self._inner = inner
        self._dice = random.Random(seed * 1000 + inner.rank)
        self._held = [deque() for _ in range(inner.size)]
        self.rank = inner.rank
        self.size = inner.size
        self.send = inner.send
        self.close = inner.close

    def receive(self, timeout):
        while (got := self._inner.receive(0)) is not None:
            self._held[got.sender].append(got)
        some = [queue for queue in self._held if queue]
        if not some:
            got = self._inner.receive(timeout)
            if got is None or timeout == 0:
                return got
            # Wait for others that may come, and so perhaps be handed out before it.
            self._held[got.sender].append(got)
            return self.receive(timeout)
        if timeout == 0 and self._dice.random() < 0.6:
            return None
        return self._dice.choice(some).popleft()


class DelayingCrew(ThreadCrew):
    """Threads over it."""

    def __init__(self, ranks, seed):
        self._seed = seed
        super().__init__(ranks)

    def endpoint(self, rank):
        return DelayingTransport(super().endpoint(rank), self._seed)
