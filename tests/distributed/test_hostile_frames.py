"""Frames that strangers and broken ranks send: the connection is closed, and the run goes on."""

from __future__ import annotations

import json
import logging
import random
import resource
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs penstock[cluster]")

from penstock.distributed import dask_listeners, frames
from penstock.distributed.dask_peers import CommPeers
from penstock.distributed.greeting import Greeting, process_facts
from penstock.engine.peers import PeerLost

FRAMES = 3000
LOGGER = "penstock.distributed"


def some_frames():
    """Frames as ranks send them."""
    greeting = Greeting("word", 1, 1, 2, {"a": "b"}).frame()
    arrays = (np.arange(50), np.zeros((3, 4), np.float32))
    messages = b"".join(map(bytes, frames.message_frame(0, [arrays, ()], end=True)))
    large = b"".join(bytes(b) for each in frames.large_frames(0, arrays, 100) for b in each)
    return [greeting, messages, large, frames.plain_frame("goodbye", reason="x")]


def framed(head, body=0):
    return struct.pack("<4sIQ", b"PSF1", len(head), body) + head


def bad_heads(rng):
    """Heads that are JSON, or nearly."""
    value = rng.choice(
        [
            "NaN",
            "-1",
            "1e400",
            "null",
            "true",
            "[]",
            "{}",
            '"\\ud800"',
            "9" * 5000,
            '"' + "x" * 900 + '"',
        ]
    )
    name = rng.choice(["secret", "epoch", "rank", "size", "facts", "kind", "number", "bytes"])
    return rng.choice([
        b"[" * rng.randrange(1, 60000),
        b'{"kind":' * rng.randrange(1, 7000),
        f'{{"kind":"greeting","secret":"word","epoch":1,"rank":1,"size":2,"facts":{{}},"{name}":{value}}}'.encode(),
        f'{{"kind":"large","{name}":{value},"arrays":[["u1",[9]]]}}'.encode(),
        f'{{"kind":"messages","number":0,"end":{value},"arrays":{value}}}'.encode(),
    ])  # fmt: skip


def mutated(rng, good):
    """Bytes that are not what a rank sends."""
    kind = rng.randrange(6)
    data = bytearray(rng.choice(good))
    if kind == 0:
        for _ in range(rng.randrange(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        data[4:16] = struct.pack(
            "<IQ", rng.choice([0, 5, 1 << 20, 0xFFFFFFFF]), 1 << rng.randrange(64)
        )
    elif kind == 3:
        data = bytearray(framed(bad_heads(rng), rng.choice([0, 0, 16, 1 << 40])))
    elif kind == 4:
        data = data * rng.randrange(2, 5)
    else:
        data = bytearray(rng.randbytes(rng.randrange(200)))
    return bytes(data)


@pytest.fixture
def running():
    """Two ranks that go on exchanging until they are told to end."""
    ranks = [CommPeers(k, 2, secret="word", epoch=1) for k in range(2)]
    addresses = [peers.address for peers in ranks]
    end, counts, sums = threading.Event(), [0, 0], set()

    def work(peers):
        try:
            peers.connect(addresses, seconds=20.0)
            while True:
                counts[peers.rank] += 1
                sums.add(int(peers.allreduce(np.array([1]))[0]))
                if peers.allreduce(np.array([int(end.is_set())]))[0]:
                    return True
                time.sleep(0.001)
        except Exception as error:
            return error
        finally:
            peers.close()

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(work, peers) for peers in ranks]
        while not all(counts):
            time.sleep(0.01)
        yield ranks[0], counts
        end.set()
        assert [each.result() for each in found] == [True, True]
    assert sums == {2}


def place_of(peers):
    host, port = peers.address.removeprefix("tcp://").rsplit(":", 1)
    return host, int(port)


def is_closed(connection):
    """Whether the other side closes, whatever it says first."""
    connection.settimeout(15)
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def test_mutated_frames_end_in_closed_connections(running, caplog):
    peers, counts = running
    rng, good = random.Random(11), some_frames()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before = list(counts)
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        for _ in range(FRAMES):
            with socket.create_connection(place_of(peers), timeout=15) as connection:
                try:
                    connection.sendall(mutated(rng, good))
                    connection.shutdown(socket.SHUT_WR)
                except OSError:
                    continue
                assert is_closed(connection)
    assert len(caplog.records) > FRAMES // 2
    assert max(len(record.getMessage()) for record in caplog.records) < 1000
    assert all(now > then for now, then in zip(counts, before, strict=True))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert grown < 200 << 10  # in KiB; a frame may claim 1 << 63 bytes


def test_those_who_wait_make_room_for_those_who_come(running):
    peers, _ = running
    most = peers._guests._most
    connections = [socket.create_connection(place_of(peers), timeout=15) for _ in range(most + 20)]
    deadline = time.monotonic() + 10
    while len(peers._guests) < most and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(is_closed(connection) for connection in connections[:20])
    assert len(peers._guests) <= most
    for connection in connections:
        connection.close()


def test_slow_strangers_have_a_deadline(monkeypatch, running):
    peers, _ = running
    monkeypatch.setattr("penstock.distributed.dask_peers.GREETING_SECONDS", 0.5)
    begun = time.monotonic()
    with socket.create_connection(place_of(peers), timeout=15) as connection:
        for byte in frames.plain_frame("greeting", secret="word")[:8]:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)
        assert is_closed(connection)
    assert time.monotonic() - begun < dask_listeners.GREETING_SECONDS


def test_encryption_that_does_not_begin_has_a_deadline(monkeypatch, caplog):
    pytest.importorskip("cryptography", reason="needs penstock[cluster]")
    from penstock.distributed.certificates import make_job_tls
    from penstock.distributed.dask_security import make_security

    monkeypatch.setattr(dask_listeners, "GREETING_SECONDS", 0.3)
    security = make_security(make_job_tls())
    peers = CommPeers(0, 2, secret="word", epoch=1, security=security)
    try:
        host, port = peers.address.removeprefix("tls://").rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=15) as connection:
            assert is_closed(connection)
        assert len(peers._guests) == 0
    finally:
        peers.close()
    assert any("nothing arrived in time" in record.getMessage() for record in caplog.records)


# A rank that has shown the secret, and is broken


def known(size):
    return Greeting("word", 1, 1, size, process_facts()).frame()


@pytest.mark.parametrize(
    "frame",
    [
        framed(json.dumps({"kind": "large", "number": 0, "bytes": 1 << 60, "arrays": []}).encode()),
        framed(b'{"kind":"large","number":0,"bytes":16,"arrays":[["u1",[99]]]}'),
        framed(b'{"kind":"messages","number":0,"end":true,"arrays":[[["u1",[0,9223372036854775808]]]]}'),
        framed(b'{"kind":"messages","number":7,"end":true,"arrays":[]}'),
        framed(b'{"kind":"messages","number":0,"end":true,"arrays":[[["O",[1]]]]}'),
        framed(b'{"kind":"nothing"}'),
        framed(b"{" * 50000),
        framed(b"x", 1 << 62),
    ],
    ids=range(8),
)  # fmt: skip
def test_a_broken_rank_is_lost(frame):
    """Its connection ends, and the run with an error that names it; no claim is believed."""
    peers = CommPeers(0, 2, secret="word", epoch=1)
    with socket.create_connection(place_of(peers), timeout=15) as connection:
        connection.sendall(known(2))
        assert b"answer" in connection.recv(1 << 16)
        connection.sendall(frame)
        assert is_closed(connection)
    with pytest.raises(PeerLost, match=r"rank 1 is lost: its connection was closed"):
        peers.drain()
    peers.close()
