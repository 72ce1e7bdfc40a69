"""The loop of one rank, with a test in the place of the other."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from penstock.distributed.outbox import Outbox, room_for
from penstock.distributed.transport import ThreadTransport
from penstock.distributed.visitor_queue import WINDOW, Stopped, VisitorQueue
from penstock.distributed.visitors import (
    VISITOR,
    Kind,
    message,
    read_head,
    visitors_message,
    visitors_of,
)

COMMAND = 3


class Counting:
    """Sends visitors one by one to rank 0, and remembers what came."""

    def __init__(self, outbox, left):
        self._outbox = outbox
        self._left = left
        self.batches = []

    @property
    def busy(self):
        return self._left > 0

    def room_needed(self):
        return 1

    def work(self):
        self._left -= 1
        self._outbox.rows[0, self._outbox.filled[0]]["target"] = self._left
        self._outbox.filled[0] += 1
        return True

    def receive(self, visitors):
        self.batches.append(visitors["target"].tolist())


class Rank:
    """Rank 1 of 2 at work in a thread; rank 0 is ``peer``."""

    def __init__(self, left):
        inboxes = [SimpleQueue() for _ in range(3)]
        self.peer = ThreadTransport(0, inboxes)
        outbox = Outbox(2)
        self.program = Counting(outbox, left)
        self.queue = VisitorQueue(ThreadTransport(1, inboxes), outbox, COMMAND)
        self.stopped = False
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self.queue.run(self.program)
        except Stopped:
            self.stopped = True

    def tell(self, kind, number=0, command=COMMAND):
        self.peer.send(1, message(kind, command, number))

    def hear(self):
        """The next message: its head, and what visitors there are."""
        data = self.peer.receive(10).data
        head = read_head(data)
        found = visitors_of(data)["target"].tolist() if head.kind == Kind.VISITORS else []
        return head.kind, head.number, found

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.tell(Kind.QUIET)
        self.thread.join(10)
        assert not self.thread.is_alive()


def test_it_holds_back_and_keeps_the_token_until_it_is_idle():
    with Rank(left=WINDOW + 2) as rank:
        rank.tell(Kind.TOKEN, 0)
        for k in range(WINDOW):
            assert rank.hear() == (Kind.VISITORS, 0, [WINDOW + 1 - k])
        assert rank.peer.receive(0.1) is None
        # Of another command: nobody cares.
        rank.tell(Kind.APPLIED, 1, COMMAND - 1)
        assert rank.peer.receive(0.1) is None
        rank.tell(Kind.APPLIED, 1)
        assert rank.hear() == (Kind.VISITORS, 0, [1])
        rank.tell(Kind.APPLIED, 2)
        assert rank.hear() == (Kind.VISITORS, 0, [0])
        assert rank.hear() == (Kind.TOKEN, 2 * (WINDOW + 2), [])
    assert rank.queue.traffic.messages == WINDOW + 2


def test_what_has_come_is_applied_together_and_told():
    rank = Rank(left=0)
    rows = Outbox(2).rows[0, :3]
    for k in range(4):
        rows["target"] = k
        rank.peer.send(1, visitors_message(COMMAND, rows))
    with rank:
        assert rank.hear() == (Kind.APPLIED, 4, [])
        rank.tell(Kind.TOKEN, 0)
        assert rank.hear() == (Kind.TOKEN, 2 * -4 + 1, [])
    assert rank.program.batches == [[0] * 3 + [1] * 3 + [2] * 3 + [3] * 3]


def test_it_stops_in_the_middle():
    with Rank(left=WINDOW + 1) as rank:
        rank.tell(Kind.STOP)
        rank.thread.join(10)
        assert rank.stopped


@pytest.mark.parametrize("ranks", [1, 2, 64, 4096])
def test_rooms(ranks):
    assert VISITOR.itemsize == 24
    assert ranks * room_for(ranks) <= max(1 << 20, ranks << 14)
