"""What each rank of a run sees of a graph, and the assignment that follows from it."""

from __future__ import annotations

import socket
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from penstock.distributed.assignment import assign
from penstock.engine.peers import Peers
from penstock.errors import FormatError, InputNotFoundError
from penstock.store.catalog import FILE_NAME
from penstock.store.paged import PagedGraph
from penstock.store.part import stripes_there
from penstock.types import Array

_HOST_BYTES = 64


class Agreement(NamedTuple):
    """Which rank reads which stripe."""

    #: The rank of each stripe; none if all ranks see all stripes, and take pages in turn.
    dealt: tuple[int, ...]
    #: Of each stripe, the ranks that see it; none if all ranks see all stripes.
    seers: tuple[frozenset[int], ...]


def agree(peers: Peers, graph: PagedGraph | None) -> Agreement:
    """Which rank reads which stripe: the same on every rank. ``graph``: as it is here; None: it is
    not here at all.
    """
    number = 0 if graph is None else graph.catalog.num_stripes
    here: Array = np.zeros(number, np.uint8)
    if graph is not None:
        here[[k for k in range(number) if k not in graph.missing]] = 1
    said = peers.allgather(here, host_name())
    hosts = [bytes(name).rstrip(b"\0").decode() for _, name in said]
    if not any(len(flags) for flags, _ in said):
        raise InputNotFoundError(
            f"hosts: no host has the graph ({', '.join(dict.fromkeys(hosts))}); start a worker "
            "where it is, or deal or copy it to the hosts"
        )
    parts = {len(flags): rank for rank, (flags, _) in enumerate(said) if not flags.all()}
    if len(parts) > 1:
        counts = ", ".join(f"{count} on {hosts[rank]}" for count, rank in sorted(parts.items()))
        raise FormatError(
            f"hosts: the parts of the graph have different numbers of stripes ({counts}); they are "
            "from two dealings: deal the graph again"
        )
    stripes = max(parts, default=max(len(flags) for flags, _ in said))
    seen = [
        set(range(stripes) if len(flags) and flags.all() else np.flatnonzero(flags).tolist())
        for flags, _ in said
    ]
    if all(len(each) >= stripes for each in seen):
        return Agreement((), ())
    part = None if graph is None or graph.catalog.num_stripes != stripes else graph.part
    dealt = assign(seen, stripes, hosts=hosts, dealt_to=() if part is None else part.dealt_to())
    seers = [
        frozenset(rank for rank, each in enumerate(seen) if stripe in each)
        for stripe in range(stripes)
    ]
    return Agreement(dealt, tuple(seers))


def host_name() -> Array:
    """The name of this machine, as an array."""
    text = socket.gethostname().encode()[:_HOST_BYTES]
    return np.frombuffer(text.ljust(_HOST_BYTES, b"\0"), np.uint8)


def stamp_of(graph: PagedGraph) -> Hashable:
    """What changes if a graph directory is replaced, or stripes of it come and go."""
    assert graph.path is not None
    try:
        found = (graph.path / FILE_NAME).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, stripes_there(graph.path, graph.catalog)
