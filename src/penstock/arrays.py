"""Small things that NumPy does less well."""

from __future__ import annotations

import numpy as np

from penstock.types import Array


def distinct(values: Array) -> Array:
    """The values in ascending order, each once. NumPy's ``unique`` hashes integers, which takes
    forty to a hundred times as long as sorting them does.

    >>> distinct(np.array([3, 1, 3, 2]))
    array([1, 2, 3])
    """
    if (values[1:] > values[:-1]).all():
        return values
    found = np.sort(values)
    keep = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=keep[1:])
    return found[keep]
