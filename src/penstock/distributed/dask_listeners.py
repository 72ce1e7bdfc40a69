"""Listeners of ranks: Dask's, without Dask's greeting, and with limits for unknown connections.

A connection is a *guest* until it has sent a valid greeting. There are few guests at a time, and
each has a few seconds, so that strangers can use up neither memory nor time. If there are too many,
the oldest is closed: a rank sends its greeting at once.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from distributed.comm.tcp import TCPListener, TLSListener

#: Seconds for the greeting of a guest, and before it as many for TLS.
GREETING_SECONDS = 10.0
#: The most guests at a time, besides two for each rank.
_GUESTS = 32
_log = logging.getLogger(__name__)


class Guests:
    """The connections of a rank that have not sent a valid greeting."""

    def __init__(self, ranks: int) -> None:
        self._most = 2 * ranks + _GUESTS
        self._streams: dict[Any, None] = {}

    def admit(self, stream: Any) -> None:
        """Add a new connection."""
        while len(self._streams) >= self._most:
            oldest = next(iter(self._streams))
            del self._streams[oldest]
            oldest.close()
        self._streams[stream] = None

    def leave(self, stream: Any) -> None:
        """Remove a connection that has sent its greeting, or has ended."""
        self._streams.pop(stream, None)

    def __len__(self) -> int:
        return len(self._streams)

    def close(self) -> None:
        """Close all of them."""
        for stream in list(self._streams):
            stream.close()
        self._streams.clear()


class PlainListener(TCPListener):  # type: ignore[misc]
    """Without encryption."""

    def __init__(self, address: str, handler: Any, guests: Guests, **arguments: Any) -> None:
        super().__init__(address, handler, **arguments)
        self._guests = guests

    async def _prepare_stream(self, stream: Any, address: str) -> Any:
        self._guests.admit(stream)
        return stream

    async def on_connection(self, comm: Any, handshake_overrides: Any = None) -> None:
        """Nothing: Dask's greeting would unpickle what a stranger sends."""


class EncryptedListener(TLSListener):  # type: ignore[misc]
    """With encryption; both sides have to show a certificate."""

    def __init__(self, address: str, handler: Any, guests: Guests, **arguments: Any) -> None:
        super().__init__(address, handler, **arguments)
        self._guests = guests

    async def _prepare_stream(self, stream: Any, address: str) -> Any:
        self._guests.admit(stream)
        try:
            async with asyncio.timeout(GREETING_SECONDS):
                await stream.wait_for_handshake()
        except (OSError, TimeoutError) as error:
            self._guests.leave(stream)
            stream.close()
            text = str(error).splitlines()[0] if str(error) else "nothing arrived in time"
            _log.warning("refuses a connection from %s: %s", address, text)
            return None
        return stream

    async def on_connection(self, comm: Any, handshake_overrides: Any = None) -> None:
        """As for :class:`PlainListener`."""


def make_listener(host: str, handler: Any, guests: Guests, security: Any) -> Any:
    """A listener on any free port of a host."""
    place = f"[{host}]:0" if ":" in host else f"{host}:0"
    if security is None:
        return PlainListener(place, handler, guests)
    return EncryptedListener(place, handler, guests, **security.get_listen_args("worker"))
