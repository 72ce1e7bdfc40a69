"""Trees of vertices, to join what belongs together: each vertex leads to one above it, a root to
itself.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import compare_and_swap, helper


@helper
def root_of(trees, v):  # type: ignore[no-untyped-def]
    """The root of a vertex's tree; on the way, vertices are hung one level higher."""
    while trees[v] != v:
        trees[v] = trees[trees[v]]
        v = trees[v]
    return v


@helper
def link(labels, a, b):  # type: ignore[no-untyped-def]
    """Join the trees of two labels; on the way, vertices are hung one level higher.

    Only roots are hung by compare-and-swap and only others by plain stores, each under an ancestor:
    threads cannot undo what others did.
    """
    while a != b:
        high, low = np.uint64(max(a, b)), np.uint64(min(a, b))
        above = labels[high]
        if above == low:
            return
        if above == high:
            above = compare_and_swap(labels, high, np.uint32(high), np.uint32(low))
            if above == high:
                return
        a, b = labels[np.uint64(above)], labels[low]
        if a != above:
            labels[high] = a
