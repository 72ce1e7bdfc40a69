"""Short kernels over bytes and edges: counting lines, adjacency lists as text, one-sided edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.jit import kernel
from penstock.types import I64, U8, U64, Array

#: Why a list cannot be read. 0: it can.
NOT_INTEGER, OUT_OF_RANGE, NO_WEIGHT, TOO_FEW, TOO_MANY = 1, 2, 3, 4, 5

#: Places in the state of ``scan_lists``: lines that are over, fields of the line so far, whether
#: it is a comment, a neighbour whose weight is still to come, rows, the code.
LINES, FIELDS, COMMENT, NEIGHBOUR, ROWS, CODE = 0, 1, 2, 3, 4, 5

_NEWLINE, _RETURN, _SPACE, _TABULATOR, _PERCENT = 10, 13, 32, 9, 37


@kernel
def count_lines(data: U8) -> int:
    """How many newlines there are."""
    count = 0
    for i in range(len(data)):
        count += data[i] == _NEWLINE
    return count


@kernel
def after_lines(data: U8, lines: int) -> Any:
    """Where the first ``lines`` lines end, and how many lines end there."""
    count = 0
    for i in range(len(data)):
        if count == lines:
            return i, count
        count += data[i] == _NEWLINE
    return len(data), count


@kernel
def scan_lists(
    data: U8, at: int, shape: tuple[int, int, int], state: I64, ids: U64, weights: Array
) -> int:
    """Read lines "[skipped fields] neighbour [weight] neighbour [weight] ..." of vertices 1 .. n.

    ``shape`` is n, the number of fields to skip, and 1 if there are weights. ``data`` must not
    end within a field. Stops where the rows are full or something is wrong (``state[CODE]``);
    returns where to go on.
    """
    num_vertices, skipped, weighted = shape
    end = len(data)
    while at < end:
        byte = data[at]
        if byte == _NEWLINE:
            if state[COMMENT] == 0:
                if state[NEIGHBOUR] != 0:
                    state[CODE] = NO_WEIGHT
                    return at
                if state[FIELDS] < skipped and state[LINES] < num_vertices:
                    state[CODE] = TOO_FEW
                    return at
                state[LINES] += 1
            state[COMMENT], state[FIELDS] = 0, 0
            at += 1
            continue
        if state[COMMENT] == 1 or byte in (_SPACE, _TABULATOR, _RETURN):
            at += 1
            continue
        if byte == _PERCENT and state[FIELDS] == 0:
            state[COMMENT] = 1
            continue
        number, after = 0, at
        while after < end and 48 <= data[after] <= 57 and after - at < 18:
            number = number * 10 + int(data[after]) - 48
            after += 1
        is_neighbour = weighted == 0 or state[NEIGHBOUR] == 0
        is_neighbour = is_neighbour and state[FIELDS] >= skipped
        if after == at or (after < end and data[after] > _SPACE):
            state[CODE] = NOT_INTEGER
        elif state[LINES] >= num_vertices:
            state[CODE] = TOO_MANY
        elif is_neighbour and not 1 <= number <= num_vertices:
            state[CODE] = OUT_OF_RANGE
        row = state[ROWS]
        if state[CODE] != 0 or row == ids.shape[1]:
            return at
        if state[FIELDS] >= skipped:
            if is_neighbour:
                state[NEIGHBOUR] = number
            if not is_neighbour or weighted == 0:
                ids[0, row] = np.uint64(state[LINES] + 1)
                ids[1, row] = np.uint64(state[NEIGHBOUR])
                if weighted == 1:
                    weights[row] = number
                state[NEIGHBOUR] = 0
                state[ROWS] = row + 1
        state[FIELDS] += 1
        at = after
    return at


@kernel
def keep_upper(ids: U64, weights: Array, totals: U64) -> int:
    """Of edges that are listed from both ends, keep those with source <= target, in front.

    ``totals`` collects how many went up and were loops, and a sum that is 0 in the end (but for
    one chance in 2**64) if the same edges were listed from both ends. Returns how many were kept.
    """
    kept = 0
    for i in range(ids.shape[1]):
        a, b = ids[0, i], ids[1, i]
        mixed = min(a, b) * np.uint64(0x9E3779B97F4A7C15) ^ max(a, b)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
        if a > b:
            totals[2] -= mixed
            continue
        if a < b:
            totals[0] += np.uint64(1)
            totals[2] += mixed
        else:
            totals[1] += np.uint64(1)
        ids[0, kept], ids[1, kept] = a, b
        if len(weights) > 0:
            weights[kept] = weights[i]
        kept += 1
    return kept
