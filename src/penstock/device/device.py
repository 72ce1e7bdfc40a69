"""What the engine asks of a device that runs a vertex program.

Host threads serve a device, one for each of its streams: a thread reads a page, hands it over and
waits for what comes back, while others read, copy or compute. All arrays here are the host's; a
device with memory of its own keeps copies, and it alone knows where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from penstock.device.spec import Device
from penstock.stream.lists import Piece
from penstock.types import U8, U32, Array

Arrays = tuple[Array, ...]
Params = tuple[Any, ...]
#: What a kernel returns: how many vertices are active, and the totals.
Row = tuple[float, ...]


class Change(NamedTuple):
    """Vertices ``begin`` to ``end`` have new values, which ``writer`` made (None: the host)."""

    begin: int
    end: int
    writer: ProgramDevice | None


class ProgramDevice(Protocol):
    """A program on a device."""

    spec: Device

    @property
    def held_bytes(self) -> int:
        """Bytes of the values that it holds to gather from."""

    def hold(self, low: int, gathered: Arrays, changes: Sequence[Change] | None) -> None:
        """The values that lists are gathered from, those of vertices from ``low`` on: all of them
        are new to the device, or only some have changed since it was last told. Called by one
        thread at a time, between iterations, or between pages if values change in place.
        """

    def has(self, piece: Piece) -> bool:
        """Whether it still has the lists of this piece: then its block need not be read."""

    def pull(
        self, stream: int, piece: Piece, base: int, local: Arrays, new: Arrays, active: U8,
        params: Params,
    ) -> Row:  # fmt: skip
        """Gather over whole lists, apply; local and new arrays begin with vertex ``base``, active
        flags with vertex 0.
        """

    def accumulate(
        self, stream: int, piece: Piece, base: int, at: int, local: Arrays, sums: Arrays,
        params: Params,
    ) -> None:  # fmt: skip
        """Gather over lists or parts of them, each after what is in its accumulators, which begin
        with vertex ``at``.
        """

    def close(self) -> None:
        """Give back all that it holds."""


class PushingDevice(ProgramDevice, Protocol):
    """A device with memory of its own can also take values along out-lists, into accumulators that
    stay there until the iteration ends.
    """

    @property
    def can_push(self) -> bool:
        """Whether it has a way to sum up what the program pushes."""

    def begin_push(self, low: int, high: int, of_dst: Arrays) -> None:
        """The accumulators are those of vertices ``low`` to ``high``; ``of_dst`` are the fields
        that ``gather`` reads of these vertices.
        """

    def push(self, stream: int, piece: Piece, gathered: Arrays, params: Params) -> None:
        """Along the lists of ``piece.vertices``; ``gathered`` begins with vertex 0. Neighbour ids
        count from ``low``.
        """

    def touched_pages(self) -> U8:
        """For each page of out-lists, whether one of its vertices was reached (nextPIDSet)."""

    def take_sums(
        self, begin: int, end: int, others: Sequence[PushingDevice]
    ) -> tuple[U32, Arrays]:
        """The vertices from ``begin`` to ``end`` that were reached, and their accumulators, summed
        with those of other devices in their order; all are back at their identities then.
        """
