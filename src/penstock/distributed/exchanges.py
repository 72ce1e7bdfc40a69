"""What has arrived from other ranks, by exchange; and whether the exchange that a rank waits for is
complete. It has no thread and no connection; its owner calls it from one thread.
"""

from __future__ import annotations

from penstock.distributed.frames import FrameError
from penstock.engine.peers import Arrays, PeerLost


class Exchanges:
    """Messages of this exchange and of the next: a rank can be ahead of another by one, since it
    needs the end of an exchange from all of them.
    """

    def __init__(self, rank: int, size: int) -> None:
        self._others = [other for other in range(size) if other != rank]
        self._size = size
        self._number = 0
        self._messages: list[list[list[Arrays]]] = [self._nothing(), self._nothing()]
        self._missing: list[set[int]] = [set(self._others), set(self._others)]
        self._gone: dict[int, str] = {}
        self._failed: PeerLost | None = None

    def _nothing(self) -> list[list[Arrays]]:
        return [[] for _ in range(self._size)]

    def put(self, rank: int, number: int, messages: list[Arrays], *, end: bool) -> None:
        """Add messages of a rank; ``end``: they are its last in the exchange."""
        ahead = number - self._number
        if ahead not in (0, 1) or rank not in self._missing[ahead]:
            raise FrameError(f"rank {rank} sends for exchange {number}; this is {self._number}")
        self._messages[ahead][rank].extend(messages)
        if end:
            self._missing[ahead].discard(rank)

    def lose(self, rank: int, reason: str, *, failed: bool) -> None:
        """Nothing more will arrive from a rank. If it failed, the exchange fails even if
        the rank had ended its part.
        """
        self._gone.setdefault(rank, reason)
        if failed and self._failed is None:
            self._failed = PeerLost(rank, reason)

    def lost(self) -> PeerLost | None:
        """The loss because of which the current exchange cannot be completed; None if it can."""
        if self._failed is not None:
            return self._failed
        for rank in self._missing[0]:
            if rank in self._gone:
                return PeerLost(rank, self._gone[rank])
        return None

    def is_lost(self, rank: int) -> bool:
        """Whether nothing more is expected from a rank."""
        return rank in self._gone

    @property
    def complete(self) -> bool:
        """Whether all ranks have ended the current exchange."""
        return not self._missing[0]

    def take(self) -> list[list[Arrays]]:
        """Remove and return the messages of the current exchange, which is complete."""
        found = self._messages[0]
        self._messages = [self._messages[1], self._nothing()]
        self._missing = [self._missing[1], set(self._others)]
        self._number += 1
        return found
