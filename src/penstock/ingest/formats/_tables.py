"""What the row scanner is told and what it fills; apart from it, since this needs no compiler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.types import I64, U64, Array

LEAST_POWER, GREATEST_POWER = -342, 308


class Rules(NamedTuple):
    """How the rows of a file are laid out, for the kernels."""

    #: A byte, or 0 for runs of blanks.
    separator: int
    #: What a column with the role TAG must hold: one byte.
    tag: int
    #: Whether ids are names; otherwise they are integers from ``low`` to ``high``.
    names: bool
    #: That many value columns, from the first, may have no gaps.
    num_weights: int
    #: Whether to go on after a bad line.
    skip_bad: bool
    #: Whether a field in quotes can occur, and so a line end that ends no record.
    quotes: bool
    low: np.uint64
    high: np.uint64


class Out(NamedTuple):
    """What ``scan_rows`` fills. Names are a start (as uint64) and a length."""

    ids: U64
    lengths: I64
    values: Array
    #: Rows so far, entries of ``open``, bad lines, comments.
    state: I64
    #: Numbers for the caller to settle: value column, row, start, stop.
    open: I64
    #: The first bad lines: where they begin, the code, the column.
    bad: I64


def powers_of_ten() -> U64:
    """The leading 128 bits of 10**q, high word first, for every q that doubles can need."""
    rows = []
    for q in range(LEAST_POWER, GREATEST_POWER + 1):
        if q >= 0:
            bits = 5**q << 128
        else:
            # Up to 5**27 the divisor fits one word and the last bit is rounded up, not cut off.
            length = (5**-q).bit_length()
            extra = 127 + length if q >= -27 else 128 + 2 * length
            bits = (1 << extra) // 5**-q + 1
        bits >>= bits.bit_length() - 128
        rows.append((bits >> 64, bits & 0xFFFFFFFFFFFFFFFF))
    return np.array(rows, np.uint64)
