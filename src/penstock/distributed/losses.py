"""Ranks that are lost, as errors: another attempt may do without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.errors import WorkerError


class Loss(NamedTuple):
    """A rank that is gone, and why."""

    rank: int
    #: Where it was; empty or 0 if that is not known.
    host: str
    pid: int
    reason: str


class RankLostError(WorkerError):
    """Workers are gone, frozen or cannot be reached; what they ran is not the cause."""

    def __init__(self, text: str, lost: Sequence[Loss] = ()) -> None:
        super().__init__(text)
        self.lost = tuple(lost)

    def rows(self) -> list[dict[str, Any]]:
        """The losses, for statistics."""
        return [each._asdict() for each in self.lost]
