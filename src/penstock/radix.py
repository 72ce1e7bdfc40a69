"""Radix sort on the CPU."""

from __future__ import annotations

import numpy as np

from penstock.jit import kernel


@kernel
def sort_pairs(keys, values, keys2, values2, bits):  # type: ignore[no-untyped-def]
    """Stable sort of unsigned keys with their values by the lowest ``bits``; the second pair of
    arrays is room for it. Returns 1 if the result is there.
    """
    digit = 11
    passes = (bits + digit - 1) // digit
    mask = np.uint64((1 << digit) - 1)
    a, va, b, vb = keys, values, keys2, values2
    counts = np.zeros(1 << digit, np.int64)
    for p in range(passes):
        shift = np.uint64(p * digit)
        counts[:] = 0
        for i in range(len(a)):
            counts[np.int64((a[i] >> shift) & mask)] += 1
        total = 0
        for d in range(len(counts)):
            here = counts[d]
            counts[d] = total
            total += here
        for i in range(len(a)):
            d = np.int64((a[i] >> shift) & mask)
            b[counts[d]] = a[i]
            vb[counts[d]] = va[i]
            counts[d] += 1
        a, va, b, vb = b, vb, a, va
    return passes & 1
