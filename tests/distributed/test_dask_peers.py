"""Ranks over Dask's connections: the suite, who is let in, and what strangers send."""

from __future__ import annotations

import json
import logging
import pickle
import random
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs penstock[cluster]")

from penstock.distributed import frames
from penstock.distributed.dask_peers import CommPeers
from penstock.engine.peers import PeerLost
from penstock.errors import WorkerError
from penstock.testing.peers import PeersTests


def opened(size, **options):
    options = {"secret": "word", "epoch": 1, "patience": 20.0, **options}
    return [CommPeers(rank, size, **options) for rank in range(size)]


def run_all(ranks, function, *, seconds=30.0):
    """Connect ranks and call a function on each; what each returned or raised."""
    addresses = [peers.address for peers in ranks]

    def work(peers):
        reason = None
        try:
            peers.connect(addresses, seconds=seconds)
            return function(peers)
        except Exception as error:
            reason = repr(error)
            return error
        finally:
            peers.close(reason)

    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(work, ranks))


class TestCommPeers(PeersTests):
    patience = 1.0

    def run(self, size, function):
        return run_all(opened(size, patience=self.patience), function)

    def vanish(self, peers):
        """All sockets of a killed process are closed, and nothing is said."""

        def close():
            peers._listener.stop()
            for link in peers._hub.links.values():
                link.comm.abort()
            for reader in peers._hub.readers.values():
                reader.stream.close()

        peers._loop.call_soon_threadsafe(close)

    def freeze(self, peers, seconds):
        peers._loop.call_soon_threadsafe(time.sleep, seconds)
        time.sleep(seconds)


class TestSmallFrames(PeersTests):
    """Most messages in pieces."""

    large_bytes = 1_000_000
    frame_bytes = 1000

    def run(self, size, function):
        return run_all(opened(size, frame_bytes=self.frame_bytes), function)


@pytest.fixture(autouse=True)
def nothing_left():
    """No thread outlives its rank."""
    yield
    left = [each.name for each in threading.enumerate() if each.name.startswith("penstock-peers")]
    assert not left


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"secret": "other"}, "it does not have the secret of this job"),
        ({"epoch": 2}, "its epoch is"),
        ({"facts": {"the tag of the graph": "b"}}, "the tag of the graph differs"),
    ],
)
def test_stranger_is_refused(options, reason):
    first = CommPeers(0, 2, secret="word", epoch=1, facts={"the tag of the graph": "a"})
    given = {"secret": "word", "epoch": 1, "facts": {"the tag of the graph": "a"}, **options}
    found = run_all([first, CommPeers(1, 2, **given)], lambda peers: None, seconds=3.0)
    assert any(isinstance(each, WorkerError) and reason in str(each) for each in found)
    assert all(isinstance(each, WorkerError | PeerLost) for each in found)


def test_refusal_names_both_values():
    ranks = [CommPeers(k, 2, secret="s", epoch=1, facts={"the tag": f"t{k}"}) for k in range(2)]
    found = run_all(ranks, lambda peers: None, seconds=3.0)
    text = " ".join(map(str, found))
    assert "t0" in text
    assert "t1" in text


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def hostile(path):
    rng = random.Random(1)
    bomb = pickle.dumps(Bomb(path))
    head = json.dumps({"kind": "greeting", "secret": "word"}).encode()
    from distributed.protocol import dumps, to_serialize
    from distributed.protocol.serialize import ToPickle
    from distributed.protocol.utils import pack_frames

    dask = [pack_frames(dumps(each(Bomb(path)))) for each in (ToPickle, to_serialize)]
    return {
        "nothing": b"",
        "random": rng.randbytes(5000),
        "truncated": frames.plain_frame("greeting", secret="word")[:-3],
        "huge head": struct.pack("<4sIQ", b"PSF1", 0xFFFFFFFF, 0),
        "huge body": struct.pack("<4sIQ", b"PSF1", len(head), 1 << 60) + head,
        "Dask's huge frame": struct.pack("<QQ", 1 << 60, 1),
        "pickle": bomb,
        "pickle as head": struct.pack("<4sIQ", b"PSF1", len(bomb), 0) + bomb,
        **{
            f"Dask's pickle {k}": struct.pack("<Q", len(each)) + each for k, each in enumerate(dask)
        },
        "list": frames.plain_frame("x").replace(b'{"kind":"x"}', b"[1,2,3,4,5]."),
        "deep": struct.pack("<4sIQ", b"PSF1", 60000, 0) + b"[" * 60000,
    }


def test_hostile_bytes_end_in_a_closed_connection(tmp_path, caplog):
    """The run goes on meanwhile; no code is run."""
    path = tmp_path / "made"
    ranks = opened(2)
    closed = []

    def attack(peers):
        host, port = peers.address.removeprefix("tcp://").split(":")
        for name, data in hostile(str(path)).items():
            with socket.create_connection((host, int(port)), timeout=20) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                try:
                    closed.append((name, connection.recv(1)))
                except ConnectionError:
                    closed.append((name, b""))

    def work(peers):
        if peers.rank == 0:
            attack(peers)
        return [int(peers.allreduce(np.array([k]))[0]) for k in range(3)]

    with caplog.at_level(logging.WARNING, logger="penstock.distributed.dask_peers"):
        assert run_all(ranks, work) == [[0, 2, 4]] * 2
    assert {data for _, data in closed} == {b""}
    assert len(closed) == len(hostile(str(path)))
    assert not path.exists()
    assert any("closes" in record.message for record in caplog.records)


def test_silent_rank_is_lost():
    """A rank that neither ends nor says anything."""
    ranks = opened(2, patience=0.6)

    def work(peers):
        if peers.rank == 1:  # its loop stands still, as a frozen process does
            peers._loop.call_soon_threadsafe(time.sleep, 2.5)
            time.sleep(2.0)
            return None
        begun = time.monotonic()
        with pytest.raises(PeerLost, match="nothing was heard"):
            peers.drain()
        return time.monotonic() - begun

    assert run_all(ranks, work)[0] < 2.0


def test_rank_that_is_not_started_ends():
    (peers,) = opened(1, patience=0.4)
    peers.expire_in(0.1)
    deadline = time.monotonic() + 10
    while not peers.closed and time.monotonic() < deadline:
        time.sleep(0.05)
    assert peers.closed
    with pytest.raises(PeerLost):
        peers.drain()


def test_missing_rank_is_named():
    first, second = opened(2)
    second.close()
    with pytest.raises(PeerLost, match="rank 1"):
        first.connect([first.address, second.address], seconds=0.5)
    first.close()


def test_a_frozen_rank_is_lost_while_ranks_connect():
    """The system takes connections for it, and nothing answers."""
    ranks = opened(2, patience=1.0)
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        address = f"tcp://127.0.0.1:{frozen.getsockname()[1]}"
        with pytest.raises(PeerLost, match=r"rank 1 .*does not answer at .* 1 seconds"):
            ranks[0].connect([ranks[0].address, address], seconds=60.0)
    assert time.monotonic() - begun < 30
    for peers in ranks:
        peers.close()


def test_a_run_is_aborted_while_ranks_connect():
    """Another rank answers, and does not begin."""
    ranks = opened(2)
    timer = threading.Timer(0.3, ranks[0].abort, ["the run was cancelled"])
    timer.start()
    with pytest.raises(PeerLost, match="the run was cancelled"):
        ranks[0].connect([peers.address for peers in ranks], seconds=600.0)
    timer.join()
    for peers in ranks:
        peers.close("it was aborted")


def test_objects_are_not_sent():
    def send(peers):
        peers.post(1 - peers.rank, np.array([object()]))
        peers.drain()

    def work(peers):
        with pytest.raises(TypeError, match="Python objects"):
            send(peers)
        return True

    assert run_all(opened(2), work)[0] is True


def test_traffic_is_counted():
    def work(peers):
        peers.allgather(np.zeros(1000))
        return peers.traffic()

    for rank, traffic in enumerate(run_all(opened(2), work)):
        assert traffic.sent_bytes[1 - rank] > 8000
        assert traffic.received_bytes[1 - rank] > 8000
        assert traffic.sent_bytes[rank] == 0
        assert traffic.waiting_seconds > 0


@pytest.mark.parametrize(
    "described", [["O", [1]], [[["a", "O"]], [1]], ["u1", [-1]], ["u1", [9]], 5]
)
def test_descriptions_of_arrays_are_checked(described):
    with pytest.raises(frames.FrameError):
        frames.read_arrays([described], np.zeros(8, np.uint8))
