"""Which rank is to blame: when one is gone, those that miss it end as well, and the runner may hear
of them first.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.distributed.transport import Message, PeerLost, Transport
from penstock.distributed.visitors import HEAD_BYTES, Kind, read_head

#: Seconds to wait for what there still is to hear.
LAST_WORDS = 2.0


class FailureCause(NamedTuple):
    """The rank to blame, and what it said; nothing, if it ended without a word."""

    rank: int
    words: str | None = None


def report_of(received: Message) -> FailureCause | None:
    """Whom a rank that failed blames, itself or another; None if this is no such message."""
    head = read_head(received.data)
    if head.kind != Kind.FAILED:
        return None
    words = bytes(received.data[HEAD_BYTES:]).decode()
    return FailureCause(head.number, words if head.number == received.sender else None)


def find_cause(transport: Transport, suspect: int, heard: dict[int, FailureCause]) -> FailureCause:
    """Follow who blames whom, from a rank that is gone or blames another. ``heard`` is what is
    known of ranks already; what there still is to hear is taken from the runner's endpoint. A rank
    says what it has to say before it is gone.
    """
    while True:
        while suspect not in heard:
            try:
                received = transport.receive(LAST_WORDS)
            except PeerLost as lost:
                heard.setdefault(lost.rank, FailureCause(lost.rank))
                continue
            if received is None:
                return FailureCause(suspect)
            report = report_of(received)
            if report is not None:
                heard.setdefault(received.sender, report)
        verdict = heard.pop(suspect)
        if verdict.rank == suspect:
            return verdict
        suspect = verdict.rank
