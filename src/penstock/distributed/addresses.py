"""Addresses of schedulers and ranks: which can be reached from other machines, and which are
allowed.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress

from penstock.errors import OptionError

_SCHEMES = ("tcp", "tls")


def host_of(address: str) -> str:
    """The host of an address with a scheme, a port, both or neither.

    >>> host_of("tls://[::1]:8786"), host_of("tcp://h1:8786"), host_of("10.0.0.1")
    ('::1', 'h1', '10.0.0.1')
    """
    rest = address.rpartition("://")[2]
    if rest.startswith("["):
        return rest[1:].partition("]")[0]
    return rest if rest.count(":") > 1 else rest.partition(":")[0]


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine can reach a host.

    >>> [is_loopback(host) for host in ("127.0.0.9", "::1", "localhost", "localhost.example.org")]
    [True, True, True, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(address: str, *, insecure: bool) -> None:
    """Raise unless an address can be reached only from this machine, or only with a certificate."""
    scheme = address.partition("://")[0] if "://" in address else "tcp"
    if scheme == "inproc" or insecure:
        return
    if scheme not in _SCHEMES:
        raise OptionError(f"hosts: {address} begins with neither tcp:// nor tls://")
    if scheme == "tcp" and not is_loopback(host_of(address)):
        raise OptionError(
            f"hosts: {address} is not encrypted: a Dask scheduler runs the code of anyone who "
            "reaches it, and so do its workers. Use tls:// with certificates (`penstock "
            "certificates` makes them), or insecure=True (--insecure) if no one else can reach "
            "that network"
        )


def check_place(address: str) -> None:
    """Raise unless an address has a scheme, a host and a port."""
    scheme, mark, rest = address.partition("://")
    port = rest.rpartition(":")[2]
    if not mark or scheme not in _SCHEMES or not host_of(address) or not port.isdecimal():
        raise OptionError(
            f"hosts: {address!r} was given; an address is tls://HOST:PORT or tcp://HOST:PORT"
        )


def address_towards(host: str) -> str:
    """The address of this machine on the route to another. Nothing is sent."""
    with suppress(OSError):
        for family, kind, _, _, place in socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM):
            with suppress(OSError), socket.socket(family, kind) as probe:
                probe.connect(place)
                found: str = probe.getsockname()[0]
                return found
    raise OptionError(f"hosts: {host} has no address that this machine has a route to")
