"""CPU threads as a device: the host's memory is its own, so nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.device.device import Arrays, Change, Params, Row
from penstock.device.spec import Device
from penstock.stream.lists import Piece
from penstock.types import U8


class HostDevice:
    """A program on some of the CPU's threads, with compiled kernels or the reference's."""

    def __init__(self, spec: Device, kernels: Any) -> None:
        self.spec = spec
        self._kernels = kernels
        self._low = 0
        self._gathered: Arrays = ()

    @property
    def held_bytes(self) -> int:
        """See :class:`~penstock.device.device.ProgramDevice`, also below."""
        return sum(array.nbytes for array in self._gathered)

    def hold(self, low: int, gathered: Arrays, changes: Sequence[Change] | None) -> None:
        """The arrays are those that others write to: changes need no telling."""
        self._low, self._gathered = low, gathered

    def has(self, piece: Piece) -> bool:
        """Blocks are the host's."""
        return False

    def pull(
        self, stream: int, piece: Piece, base: int, local: Arrays, new: Arrays, active: U8,
        params: Params,
    ) -> Row:  # fmt: skip
        """Gather over whole lists, apply."""
        found: Row = self._kernels.pull(
            piece.block, piece.begin, piece.end, base, self._low, self._gathered, local, new,
            active, params,
        )  # fmt: skip
        return found

    def accumulate(
        self, stream: int, piece: Piece, base: int, at: int, local: Arrays, sums: Arrays,
        params: Params,
    ) -> None:  # fmt: skip
        """Gather over lists or parts of them, going on with accumulators."""
        self._kernels.accumulate(
            piece.block, piece.begin, piece.end, base, at, self._low, self._gathered, local, sums,
            params,
        )  # fmt: skip

    def close(self) -> None:
        """Let go of the arrays."""
        self._gathered = ()
