"""Knowing that all ranks are idle and no message is under way, without stopping anyone.

Dijkstra's version of Safra's algorithm (EWD 998). Each rank counts the messages it has sent minus
those it has received, and is *tainted* once it has received one. A token goes round the ring of the
ranks; a rank keeps it until it is idle, adds its count, marks the token if it is tainted itself,
and is clean again when it passes the token on. When the token is back at rank 0, that is idle, the
work is over if neither the token nor rank 0 is tainted and all counts add up to 0. If not, rank 0
sends it round again.

Nothing here sends or waits: the caller tells what happens, and is told what to send. It relies on
nothing but that no message is lost or doubled; the order of messages does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Token(NamedTuple):
    """What goes round: messages sent but not received, as far as counted; whether a rank that it
    came past had received something.
    """

    missing: int
    tainted: bool


@dataclass
class Quiescence:
    """One rank's part. ``over`` becomes true on rank 0, which has to tell the others."""

    rank: int
    size: int
    over: bool = False

    def __post_init__(self) -> None:
        self._count = 0
        self._tainted = False
        # Rank 0 begins with a token that failed, as it were, and so sends it round.
        self._token: Token | None = Token(0, tainted=True) if self.rank == 0 else None

    @property
    def next_rank(self) -> int:
        """Who gets the token from here."""
        return (self.rank + 1) % self.size

    def sent(self) -> None:
        """A message went to another rank."""
        self._count += 1

    def received(self) -> None:
        """A message came from another rank."""
        self._count -= 1
        self._tainted = True

    def take(self, token: Token) -> None:
        """The token has come here."""
        assert self._token is None, "there is one token"
        self._token = token

    def idle(self) -> Token | None:
        """This rank has nothing to do. Returns the token if it is to be passed on now."""
        token = self._token
        if token is None or self.over:
            return None
        if self.rank != 0:
            passed = Token(token.missing + self._count, token.tainted or self._tainted)
        elif self.size == 1 or self._all_idle(token):
            self.over = True
            return None
        else:
            passed = Token(0, tainted=False)
        self._token = None
        self._tainted = False
        return passed

    def _all_idle(self, token: Token) -> bool:
        return not token.tainted and not self._tainted and token.missing + self._count == 0
