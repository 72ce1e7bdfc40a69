"""Certificates and keys for connections between hosts: reading them, and passing them on.

Keys are in files that only their owner can read, in memory, or arrive on standard input. They are
never on a command line, which every user of a machine can read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from penstock.errors import AccessError, FormatError, InputNotFoundError, OptionError

CA_FILE, CERTIFICATE_FILE, KEY_FILE = "ca.pem", "cert.pem", "key.pem"
#: The largest file that is read.
_MOST_BYTES = 1 << 20
_BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----\n.+?\n-----END \1-----\n", re.DOTALL)
_END_OF_KEY = re.compile(rb"-----END [A-Z ]*PRIVATE KEY-----\s*")


@dataclass(frozen=True, slots=True)
class Tls:
    """What a process shows to others and requires of them, in PEM."""

    #: Of the authority whose certificates are accepted.
    ca: str = field(repr=False)
    certificate: str = field(repr=False)
    key: str = field(repr=False)

    def as_text(self) -> str:
        """All three, as :func:`receive_tls` reads them."""
        return "".join(text.rstrip("\n") + "\n" for text in (self.ca, self.certificate, self.key))


def tls_from_folder(folder: str | os.PathLike[str]) -> Tls:
    """From a folder with ``ca.pem``, ``cert.pem`` and ``key.pem``."""
    place = Path(folder)
    if not place.is_dir():
        raise InputNotFoundError(
            f"tls: {place} is not a folder; `penstock certificates {place}` makes one with "
            f"{CA_FILE}, {CERTIFICATE_FILE} and {KEY_FILE}"
        )
    return tls_from_files(place / CA_FILE, place / CERTIFICATE_FILE, place / KEY_FILE)


def tls_from_files(ca: Path, certificate: Path, key: Path) -> Tls:
    """From three files; the key must be readable by its owner only."""
    return Tls(_read(ca), _read(certificate), _read(key, secret=True))


def _read(path: Path, *, secret: bool = False) -> str:
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if secret and found.st_uid not in (os.getuid(), 0):
                raise AccessError(f"tls: {path} belongs to another user; a key must be your own")
            if secret and stat.S_IMODE(found.st_mode) & 0o077:
                raise AccessError(
                    f"tls: {path} can be read by others (its mode is "
                    f"{stat.S_IMODE(found.st_mode):04o}); run `chmod 600 {path}`"
                )
            text = file.read(_MOST_BYTES).decode("ascii")
    except FileNotFoundError:
        raise InputNotFoundError(f"tls: {path} does not exist") from None
    except AccessError:
        raise
    except PermissionError as error:
        raise AccessError(f"tls: {path}: {error.strerror}") from None
    except OSError as error:
        raise FormatError(f"tls: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(f"tls: {path} is not in the PEM format") from None
    wanted = "PRIVATE KEY-----" if secret else "-----BEGIN CERTIFICATE-----"
    if wanted not in text:
        kind = "private key" if secret else "certificate"
        raise FormatError(f"tls: {path} has no {kind} in the PEM format")
    return text


def receive_tls(source: BinaryIO) -> Tls:
    """From a stream with the certificate of the authority, one's own, and the key, in this order.
    Nothing after the key is read.
    """
    data = b""
    while len(data) < _MOST_BYTES:
        line = source.readline(_MOST_BYTES)
        data += line
        if not line or _END_OF_KEY.fullmatch(line):
            break
    blocks = [match.group(0) for match in _BLOCK.finditer(data.decode("ascii", "replace"))]
    if len(blocks) < 3 or "PRIVATE KEY" not in blocks[-1].partition("\n")[0]:
        raise FormatError(
            "tls: standard input must begin with two certificates and a key in the PEM format"
        )
    return Tls(blocks[0], "".join(blocks[1:-1]), blocks[-1])


def choose_tls(given: Mapping[str, Path | None], folder: Path | None) -> Tls | None:
    """From a folder, or from the files ``ca``, ``cert`` and ``key``; None if nothing is given."""
    files = {name: path for name, path in given.items() if path is not None}
    if folder is not None:
        if files:
            raise OptionError(
                f"tls: a folder and tls-{next(iter(files))} were given; give one or the other"
            )
        return tls_from_folder(folder)
    if not files:
        return None
    missing = [f"--tls-{name}" for name, path in given.items() if path is None]
    if missing:
        raise OptionError(f"tls: {', '.join(missing)} missing; all three files are needed")
    return tls_from_files(files["ca"], files["cert"], files["key"])
