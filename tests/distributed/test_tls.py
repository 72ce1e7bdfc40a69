"""Certificates: what the command makes, which files are taken, and who is let in."""

from __future__ import annotations

import io
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs penstock[cluster]")
pytest.importorskip("cryptography", reason="needs penstock[cluster]")

from penstock.distributed.certificates import make_job_tls, write_certificates
from penstock.distributed.dask_peers import CommPeers
from penstock.distributed.dask_security import make_security
from penstock.distributed.tls import choose_tls, receive_tls, tls_from_folder
from penstock.errors import PenstockError, WorkerError


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates") / "tls"
    write_certificates(folder, ["h1", "10.0.0.2"])
    return folder


def contexts(folder):
    """What a host would listen with, and what it would connect with."""
    security = make_security(tls_from_folder(folder))
    return (
        security.get_listen_args("worker")["ssl_context"],
        security.get_connection_args("worker")["ssl_context"],
    )


def shake_hands(server, client):
    """Whether both sides take each other."""
    ends = socket.socketpair()

    def serve():
        try:
            with server.wrap_socket(ends[0], server_side=True) as stream:
                return stream.recv(5) == b"hello"
        except OSError:
            return False

    def ask():
        try:
            with client.wrap_socket(ends[1]) as stream:
                stream.sendall(b"hello")
                return True
        except OSError:
            return False

    for end in ends:
        end.settimeout(10)
    with ThreadPoolExecutor(2) as pool:
        served, asked = pool.submit(serve), pool.submit(ask)
        return served.result() and asked.result()


def test_hosts_of_one_authority_trust_each_other(made):
    assert shake_hands(contexts(made)[0], contexts(made / "h1")[1])
    assert shake_hands(contexts(made / "h1")[0], contexts(made / "10.0.0.2")[1])


def test_strangers_are_refused(made, tmp_path):
    write_certificates(tmp_path / "other", [])
    assert not shake_hands(contexts(made)[0], contexts(tmp_path / "other")[1])
    assert not shake_hands(contexts(tmp_path / "other")[0], contexts(made)[1])
    bare = ssl.create_default_context(cafile=made / "ca.pem")
    bare.check_hostname = False
    assert not shake_hands(contexts(made)[0], bare)


def test_keys_are_private(made):
    for folder in (made, made / "h1"):
        assert (folder / "key.pem").stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o077 == 0
    assert (made / "ca-key.pem").stat().st_mode & 0o777 == 0o600


def test_hosts_are_added(made):
    before = (made / "key.pem").read_bytes()
    write_certificates(made, ["h3"])
    assert shake_hands(contexts(made)[0], contexts(made / "h3")[1])
    assert (made / "key.pem").read_bytes() == before
    with pytest.raises(PenstockError, match="has a certificate already"):
        write_certificates(made, ["h1"])


def test_a_folder_without_the_authority_s_key(made):
    with pytest.raises(PenstockError, match=r"has ca\.pem and not ca-key\.pem"):
        write_certificates(made / "h1", ["h4"])


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_names_that_are_no_hosts(tmp_path, name):
    with pytest.raises(PenstockError, match="is not the name of a host"):
        write_certificates(tmp_path / "t", [name])
    assert not (tmp_path / "t").exists()


def test_a_key_that_others_can_read_is_refused(tmp_path):
    write_certificates(tmp_path / "t", [])
    (tmp_path / "t" / "key.pem").chmod(0o640)
    with pytest.raises(PenstockError, match="can be read by others"):
        tls_from_folder(tmp_path / "t")


def test_files_that_are_not_what_they_should_be(tmp_path):
    with pytest.raises(PenstockError, match="is not a folder"):
        tls_from_folder(tmp_path / "none")
    write_certificates(tmp_path / "t", [])
    (tmp_path / "t" / "cert.pem").write_text("something else")
    with pytest.raises(PenstockError, match="has no certificate in the PEM format"):
        tls_from_folder(tmp_path / "t")
    (tmp_path / "t" / "cert.pem").unlink()
    with pytest.raises(PenstockError, match=r"cert\.pem does not exist"):
        tls_from_folder(tmp_path / "t")


def test_single_files(made):
    files = {"ca": made / "ca.pem", "cert": made / "cert.pem", "key": made / "key.pem"}
    assert choose_tls(files, None) == tls_from_folder(made)
    with pytest.raises(PenstockError, match="--tls-key missing"):
        choose_tls({**files, "key": None}, None)
    with pytest.raises(PenstockError, match="give one or the other"):
        choose_tls(files, made)


def test_over_standard_input():
    tls = make_job_tls()
    source = io.BytesIO(tls.as_text().encode() + b"and more\n")
    assert receive_tls(source) == tls
    assert source.read() == b"and more\n"
    assert "PRIVATE" not in repr(tls)
    with pytest.raises(PenstockError, match="standard input"):
        receive_tls(io.BytesIO(b"nothing of the kind\n"))


# Ranks


def meet(tls_of_ranks, **options):
    """Ranks that connect; what each returns or raises."""
    ranks = [
        CommPeers(k, 2, secret="s", epoch=1, security=make_security(tls), **options)
        for k, tls in enumerate(tls_of_ranks)
    ]
    addresses = [peers.address for peers in ranks]

    def work(peers):
        try:
            peers.connect(addresses, seconds=4.0)
            return int(peers.allreduce(np.array([1]))[0])
        except Exception as error:
            return error
        finally:
            peers.close()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, ranks))


def test_ranks_with_certificates(made):
    tls = [tls_from_folder(made), tls_from_folder(made / "h1")]
    assert meet(tls) == [2, 2]


def test_a_rank_of_another_authority_is_refused(made):
    found = meet([tls_from_folder(made), make_job_tls()])
    assert all(isinstance(each, Exception) for each in found)
    assert any(isinstance(each, WorkerError) and "certificate" in str(each) for each in found)


def test_ranks_do_not_listen_beyond_this_machine_without_certificates():
    with pytest.raises(PenstockError, match="not encrypted"):
        CommPeers(0, 2, secret="s", epoch=1, host="0.0.0.0")
