"""Large results, fetched from the ranks piece by piece.

What a Dask task returns goes through the scheduler, and is in memory there, on the worker and on
the client, as a whole. So a part of a result that is larger than a piece stays on its rank, which
then sends a few rows at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from penstock.config import format_bytes, memory_budget
from penstock.distributed.hosts import Hosts
from penstock.engine.over_hosts import Part
from penstock.engine.ownership import Vertices
from penstock.engine.peers import Peers
from penstock.errors import OptionError, WorkerError
from penstock.types import Array

#: Bytes of a rank's part that are fetched at once.
PIECE_BYTES = 64 << 20
#: The fewest bytes that a result has for each vertex.
_LEAST_BYTES = 4
#: Parts that have not been fetched yet, by run and rank.
_KEPT: dict[tuple[str, int], Part] = {}


def check_room(num_vertices: int, room: int | None = None) -> None:
    """Raise if a result does not fit the memory of this process, before ranks begin."""
    room = memory_budget(None) if room is None else room
    if _LEAST_BYTES * num_vertices > room:
        raise OptionError(
            f"out: a result has {num_vertices:,} rows, at least "
            f"{format_bytes(_LEAST_BYTES * num_vertices)}, and {format_bytes(room)} of memory are "
            "free here; give out=FOLDER (--out FOLDER), where each rank writes its own part"
        )


# A rank's side


def forget_parts(rank: int, token: str) -> None:
    """Remove the parts that were not fetched: those of this rank, and those of other runs than that
    of ``token``, in which this process may have had another number.
    """
    for key in [key for key in list(_KEPT) if key[1] == rank or key[0] != token]:
        _KEPT.pop(key, None)


def keep_large(token: str, rank: int, part: Part, piece_bytes: int | None = None) -> Part:
    """The part as it is sent with the answer: of a large one the rows stay here."""
    size = sum(array.nbytes for array in part.columns.values())
    if size <= (PIECE_BYTES if piece_bytes is None else piece_bytes):
        return part
    _KEPT[token, rank] = part
    return replace(part, columns={name: array[:0] for name, array in part.columns.items()})


def send_piece(peers: Peers, token: str, begin: int, end: int) -> dict[str, Array] | None:
    """Some rows of this rank's part, if it was kept; after the last of them it is forgotten."""
    part = _KEPT.get((token, peers.rank))
    if part is None:
        return None
    if end >= Vertices(part.begins, part.ends).count:
        _KEPT.pop((token, peers.rank))
    return {name: array[begin:end] for name, array in part.columns.items()}


# The caller's side


def fetch_columns(
    hosts: Hosts, token: str, parts: Sequence[Part], num_vertices: int,
    piece_bytes: int | None = None,
) -> dict[str, Array]:  # fmt: skip
    """The columns of all vertices, by number, from what ranks have sent or kept."""
    columns: dict[str, Array] = {
        name: np.empty(num_vertices, array.dtype) for name, array in parts[0].columns.items()
    }
    everywhere = [Vertices(part.begins, part.ends) for part in parts]
    for part, vertices in zip(parts, everywhere, strict=True):
        _put(columns, part.columns, vertices, 0)
    # Those whose rows are still on the ranks.
    left = {
        rank: vertices
        for rank, vertices in enumerate(everywhere)
        if len(next(iter(parts[rank].columns.values()))) < vertices.count
    }
    row_bytes = sum(array.itemsize for array in columns.values())
    rows = max((PIECE_BYTES if piece_bytes is None else piece_bytes) // row_bytes, 1)
    most = max((vertices.count for vertices in left.values()), default=0)
    for begin in range(0, most, rows):
        pieces = hosts.run(send_piece, token, begin, begin + rows)
        for rank, vertices in left.items():
            if begin >= vertices.count:
                continue
            if pieces[rank] is None:
                raise WorkerError(
                    f"rank {rank} no longer has its part of the result: its process was "
                    "restarted; run again, with out=FOLDER if it is large"
                )
            _put(columns, pieces[rank], vertices, begin)
    return columns


def _put(
    columns: Mapping[str, Array], piece: Mapping[str, Array], vertices: Vertices, begin: int
) -> None:
    for name, values in piece.items():
        put_from(vertices, columns[name], values, begin)


def put_from(vertices: Vertices, target: Array, values: Array, begin: int) -> None:
    """Write the entries at positions from ``begin`` on into an array by vertex number."""
    end = begin + len(values)
    k = max(int(np.searchsorted(vertices.starts, begin, side="right")) - 1, 0)
    while k < len(vertices.starts) and (start := int(vertices.starts[k])) < end:
        first = int(vertices.begins[k])
        low, high = max(begin, start), min(end, start + int(vertices.ends[k]) - first)
        target[first + low - start : first + high - start] = values[low - begin : high - begin]
        k += 1
