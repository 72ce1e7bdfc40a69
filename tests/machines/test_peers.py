"""The suite for transports, encrypted and across machines."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("distributed", reason="needs penstock[cluster]")

from machines import certificates, network, rank_server
from machines.network import Network
from penstock.distributed.dask_peers import CommPeers
from penstock.testing.peers import PeersTests

needs_certificates = pytest.mark.skipif(bool(certificates.missing()), reason=certificates.missing())
needs_machines = pytest.mark.skipif(bool(network.missing()), reason=network.missing())


@needs_certificates
class TestEncrypted(PeersTests):
    """Ranks of one process."""

    large_bytes = 30_000_000
    patience = 1.0

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def certificate(cls, tmp_path_factory):
        made = certificates.make_certificate(tmp_path_factory.mktemp("certificate"))
        cls.security = made.security()

    @pytest.fixture(autouse=True)
    def nothing_left(self):
        yield
        names = [each.name for each in threading.enumerate()]
        assert not [name for name in names if name.startswith("penstock-peers")]

    def run(self, size, function):
        given = {"secret": "word", "epoch": 1, "security": self.security}
        ranks = [CommPeers(k, size, patience=self.patience, **given) for k in range(size)]
        addresses = [peers.address for peers in ranks]
        assert all(address.startswith("tls://") for address in addresses)

        def work(peers):
            reason = None
            try:
                peers.connect(addresses)
                return function(peers)
            except Exception as error:
                reason = repr(error)
                return error
            finally:
                peers.close(reason)

        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(work, ranks))

    def vanish(self, peers):
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


@needs_machines
class TestAcrossMachines(PeersTests):
    """Ranks that are processes on machines of their own."""

    large_bytes = 30_000_000
    patience = 2.0
    shares_memory = False
    encrypted = False
    vanish = staticmethod(rank_server.vanish)
    freeze = staticmethod(rank_server.freeze)

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def servers(cls):
        with Network(4) as made:
            certificate = None
            if cls.encrypted:
                certificate = certificates.make_certificate(made.folder)
            cls.ranks = rank_server.Servers(made.machines, certificate, cls.patience)
            yield
            cls.ranks.close()

    def run(self, size, function):
        return self.ranks.run(size, function)


@needs_certificates
class TestEncryptedAcrossMachines(TestAcrossMachines):
    encrypted = True
