"""Numbers in as few bytes as they need: how ids and sort keys wait on disk."""

from __future__ import annotations

import numpy as np

from penstock.jit import kernel
from penstock.types import U8, U64


def width_of(largest: int) -> int:
    """Bytes that a number needs, at least one."""
    return max(1, (int(largest).bit_length() + 7) // 8)


@kernel
def _pack(values, width, out):  # type: ignore[no-untyped-def]
    at = 0
    for i in range(len(values)):
        value = values[i]
        for _ in range(width):
            out[at] = np.uint8(value & np.uint64(0xFF))
            value >>= np.uint64(8)
            at += 1


@kernel
def _unpack(data, width, base, out):  # type: ignore[no-untyped-def]
    at = 0
    for i in range(len(out)):
        value = np.uint64(0)
        for k in range(width):
            value |= np.uint64(data[at + k]) << np.uint64(8 * k)
        out[i] = value + base
        at += width


def pack(values: U64, width: int) -> U8:
    """The low ``width`` bytes of each number, one after another."""
    out: U8 = np.empty(len(values) * width, np.uint8)
    _pack(values, width, out)
    return out


def unpack(data: U8, width: int, base: int = 0, out: U64 | None = None) -> U64:
    """The numbers back, plus ``base``."""
    if out is None:
        out = np.empty(len(data) // width, np.uint64)
    _unpack(data, width, np.uint64(base), out)
    return out
