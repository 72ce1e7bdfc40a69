"""Messages arrive whole, once and in order; an endpoint that is gone is noticed."""

from __future__ import annotations

import socket
import threading
from itertools import combinations
from queue import SimpleQueue

import numpy as np
import pytest

from penstock.distributed.transport import PeerLost, SocketTransport, ThreadTransport
from penstock.distributed.visitors import (
    HEAD_BYTES,
    VISITOR,
    Head,
    Kind,
    message,
    pack,
    read_head,
    unpack,
    visitors_message,
    visitors_of,
)


def thread_endpoints(size):
    inboxes = [SimpleQueue() for _ in range(size)]
    return [ThreadTransport(k, inboxes) for k in range(size)]


def socket_endpoints(size):
    ends = [{} for _ in range(size)]
    for a, b in combinations(range(size), 2):
        ends[a][b], ends[b][a] = socket.socketpair()
    return [SocketTransport(k, ends[k]) for k in range(size)]


def tcp_endpoints(size):
    """The same over the network stack, as between machines."""
    ends = [{} for _ in range(size)]
    with socket.create_server(("127.0.0.1", 0)) as server:
        for a, b in combinations(range(size), 2):
            ends[a][b] = socket.create_connection(server.getsockname())
            ends[b][a] = server.accept()[0]
    return [SocketTransport(k, ends[k]) for k in range(size)]


@pytest.fixture(params=[thread_endpoints, socket_endpoints, tcp_endpoints])
def endpoints(request):
    made = request.param(3)
    yield made
    for each in made:
        each.close()


def test_everyone_reaches_everyone(endpoints):
    for a in endpoints:
        assert a.size == 3
        for b in endpoints:
            if a is not b:
                a.send(b.rank, b"%d to %d" % (a.rank, b.rank))
    for b in endpoints:
        found = sorted(bytes(b.receive(5).data) for _ in range(2))
        assert found == [b"%d to %d" % (a, b.rank) for a in range(3) if a != b.rank]
        assert b.receive(0) is None
        assert b.receive(0.01) is None


def test_order_and_size(endpoints):
    a, b, _ = endpoints
    sizes = [0, 1, 7, 3_000_000, 5, 0, 70_000]
    thread = threading.Thread(
        target=lambda: [a.send(1, bytes([k]) * size) for k, size in enumerate(sizes)]
    )
    thread.start()
    for k, size in enumerate(sizes):
        got = b.receive(10)
        assert got.sender == 0
        assert bytes(got.data) == bytes([k]) * size
    thread.join()


def test_two_that_flood_each_other_do_not_block(endpoints):
    """Neither receives before all is sent, which is far more than sockets hold."""
    a, b, _ = endpoints
    block = bytes(1 << 20)
    threads = [
        threading.Thread(target=lambda x=x, y=y: [x.send(y.rank, block) for _ in range(20)])
        for x, y in ((a, b), (b, a))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    for x in (a, b):
        assert sum(len(x.receive(5).data) for _ in range(20)) == 20 << 20


def test_what_was_sent_before_the_end_arrives(endpoints):
    a, b, _ = endpoints
    a.send(1, b"last words")
    a.close()
    assert bytes(b.receive(5).data) == b"last words"
    with pytest.raises(PeerLost) as lost:
        b.receive(5)
    assert lost.value.rank == 0


def test_half_a_message_is_none():
    left, right = socket.socketpair()
    b = SocketTransport(1, {0: right})
    left.sendall((100).to_bytes(8, "little") + b"half")
    left.close()
    with pytest.raises(PeerLost):
        b.receive(5)
    b.close()


def test_sending_to_nobody_is_noticed():
    a, b = socket_endpoints(2)
    b.close()
    with pytest.raises(PeerLost) as lost:
        [a.send(1, bytes(1 << 16)) for _ in range(100)]
    assert lost.value.rank == 1
    a.close()


def test_heads_and_visitors():
    rows = np.zeros(5, VISITOR)
    rows["target"] = np.arange(5) + (1 << 62)
    rows["operation"] = 3
    data = visitors_message(9, rows)
    assert read_head(data) == Head(Kind.VISITORS, 9, 0)
    assert len(data) == HEAD_BYTES + 5 * 24
    assert (visitors_of(data) == rows).all()
    assert read_head(message(Kind.TOKEN, 1, -7)) == Head(Kind.TOKEN, 1, -7)


def test_values_and_arrays():
    values = {
        "a": 1,
        "b": "x\ny",
        "c": np.arange(3, dtype=np.uint8),
        "d": np.arange(4.0),
        "e": True,
    }
    found = unpack(message(Kind.DONE, 1, 0, *pack(values | {"f": np.empty(0, np.int32)})))
    assert list(found["c"]) == [0, 1, 2]
    assert list(found["d"]) == [0, 1, 2, 3]
    assert found["f"].dtype == np.int32
    assert not len(found["f"])
    assert (found["a"], found["b"], found["e"]) == (1, "x\ny", True)
