"""Certificates for the hosts of a cluster, and the authority that they are from."""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.distributed.tls import CA_FILE, CERTIFICATE_FILE, KEY_FILE, Tls
from penstock.errors import OptionError, TargetExistsError

CA_KEY_FILE = "ca-key.pem"
#: Certificates are valid from a little before they are made: the clocks of hosts differ.
_EARLY = datetime.timedelta(hours=1)


class Authority:
    """Issues certificates.

    Parameters
    ----------
    days
        How long it and what it makes are valid.
    texts
        The certificate and the key of an existing authority; None makes a new one.
    """

    def __init__(self, days: float, texts: tuple[str, str] | None = None) -> None:
        x509 = _library("x509")
        self._lifetime = datetime.timedelta(days=days)
        if texts is not None:
            serialization = _library("hazmat.primitives.serialization")
            self._certificate = x509.load_pem_x509_certificate(texts[0].encode())
            self._key = serialization.load_pem_private_key(texts[1].encode(), None)
            return
        self._key = _new_key()
        name = _name("penstock certificate authority")
        self._certificate = self._sign(
            self._builder(name, name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
            )
        )

    @property
    def certificate(self) -> str:
        """In PEM."""
        return _certificate_text(self._certificate)

    @property
    def key(self) -> str:
        """In PEM."""
        return _key_text(self._key)

    def issue(self, names: Sequence[str]) -> Tls:
        """A certificate and a key for a process on a host that has these names."""
        x509, oids = _library("x509"), _library("x509.oid")
        key = _new_key()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        both = [oids.ExtendedKeyUsageOID.SERVER_AUTH, oids.ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = self._builder(_name(names[0]), self._certificate.subject, key)
        for extension, critical in (
            (x509.SubjectAlternativeName([_general_name(name) for name in names]), False),
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_usage(digital_signature=True), True),
            (x509.ExtendedKeyUsage(both), False),
            (issuer, False),
        ):
            builder = builder.add_extension(extension, critical=critical)
        signed = self._sign(builder)
        return Tls(self.certificate, _certificate_text(signed), _key_text(key))

    def _builder(self, subject: Any, issuer: Any, key: Any) -> Any:
        x509 = _library("x509")
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _EARLY)
            .not_valid_after(now + self._lifetime)
        )

    def _sign(self, builder: Any) -> Any:
        return builder.sign(self._key, _library("hazmat.primitives.hashes").SHA256())


def write_certificates(
    folder: Path, hosts: Sequence[str], *, days: float = 365, overwrite: bool = False
) -> list[Path]:
    """Make the certificates of a cluster: in ``folder`` for this machine, and for each of the hosts
    in a folder inside of it. If ``folder`` has an authority, that is used. Returns the folders.
    """
    if days <= 0:
        raise OptionError(f"days: expected more than 0, got {days}")
    for host in hosts:
        if host in (".", "..") or "/" in host or "\0" in host or not host:
            raise OptionError(f"for: {host!r} is not the name of a host")
    targets = [folder / host for host in dict.fromkeys(hosts)]
    there = [each for each in targets if (each / KEY_FILE).exists()]
    if there and not overwrite:
        raise TargetExistsError(
            f"{there[0]}: has a certificate already; leave the host out, or pass overwrite=True "
            "(--overwrite)"
        )
    _make_folder(folder)
    authority = _authority_in(folder, days)
    if not (folder / KEY_FILE).exists() or (overwrite and not hosts):
        _write_tls(folder, authority.issue([os.uname().nodename, "localhost", "127.0.0.1"]))
    for target in targets:
        _make_folder(target)
        _write_tls(target, authority.issue([target.name]))
    return [folder, *targets]


def make_job_tls() -> Tls:
    """Certificates for one job, all of whose processes belong to one user. The key of the authority
    is not kept, so that no others can be issued.
    """
    return Authority(days=30).issue(["penstock-job"])


def _authority_in(folder: Path, days: float) -> Authority:
    certificate, key = folder / CA_FILE, folder / CA_KEY_FILE
    if key.exists():
        return Authority(days, (certificate.read_text(), key.read_text()))
    if certificate.exists():
        raise OptionError(
            f"{folder}: has {CA_FILE} and not {CA_KEY_FILE}, the key of the authority; make new "
            "certificates where that key is, or in another folder"
        )
    authority = Authority(days)
    _write(key, authority.key, 0o600)
    _write(certificate, authority.certificate, 0o644)
    return authority


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _write_tls(folder: Path, tls: Tls) -> None:
    _write(folder / KEY_FILE, tls.key, 0o600)
    _write(folder / CERTIFICATE_FILE, tls.certificate, 0o644)
    _write(folder / CA_FILE, tls.ca, 0o644)


def _write(path: Path, text: str, mode: int) -> None:
    """Create a file with its mode."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with open(descriptor, "w") as file:
        file.write(text)


def _library(name: str) -> Any:
    try:
        return import_module(f"cryptography.{name}")
    except ImportError as error:
        raise OptionError(
            f"tls: cryptography is needed to make certificates and is not installed ({error}); "
            "install it with `pip install 'penstock[cluster]'`"
        ) from None


def _new_key() -> Any:
    curves = _library("hazmat.primitives.asymmetric.ec")
    return curves.generate_private_key(curves.SECP256R1())


def _name(common: str) -> Any:
    x509 = _library("x509")
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common[:64])])


def _general_name(name: str) -> Any:
    x509 = _library("x509")
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(**used: bool) -> Any:
    names = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
        "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return _library("x509").KeyUsage(**{name: used.get(name, False) for name in names})


def _certificate_text(certificate: Any) -> str:
    serialization = _library("hazmat.primitives.serialization")
    text: bytes = certificate.public_bytes(serialization.Encoding.PEM)
    return text.decode()


def _key_text(key: Any) -> str:
    serialization = _library("hazmat.primitives.serialization")
    text: bytes = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return text.decode()
