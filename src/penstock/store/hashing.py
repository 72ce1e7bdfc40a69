"""A hash of single numbers, for kernels that compare sets of them."""

from __future__ import annotations

import numpy as np

from penstock.jit import helper


@helper
def mix(x):  # type: ignore[no-untyped-def]
    """The finaliser of SplitMix64: every bit of the input moves every bit of the output."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
