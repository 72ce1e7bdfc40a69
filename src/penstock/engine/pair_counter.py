"""What counts pairs of lists in place of kernels, where the devices of a run are made for it."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.engine.engine import Engine
from penstock.errors import OptionError
from penstock.types import I64


class PairCounter(Protocol):
    """Stands for the kernel of a call of :class:`~penstock.engine.pairs.Pairs`, and keeps what it
    counts to itself until it is asked to hand it over.
    """

    #: Bytes that an inner window may take.
    inner_bytes: int

    def check(self, longest: int) -> None:
        """Raise an error if there is no room for a list of this length."""

    def __call__(self, *args: Any) -> None:
        """Count what a call gives: see :data:`~penstock.engine.pairs.Call`. The last argument is
        the inner :class:`Window`.
        """

    def hand_over(self, counts: I64, times: int) -> None:
        """Add what was counted, ``times`` over, to the counts of the vertices."""

    def close(self) -> None:
        """Give everything back."""


def pair_counter(engine: Engine) -> PairCounter | None:
    """What counts common neighbours for the devices of a run; None: kernels do."""
    options = engine.options
    if options.on_plain_cpu:
        return None
    if [device.kind for device in options.devices] != ["cuda"]:
        names = ", ".join(device.name for device in options.devices)
        raise OptionError(f"devices: triangles are counted on one CPU or one GPU, got {names}")
    from penstock.device.cuda.triangles import TriangleCounter

    return TriangleCounter(options.devices[0], engine.num_vertices, engine.threads)
