"""Random draws as Python's generators make them, by compiled code where it knows how."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.algorithms._in_order.propagation import shuffle
from penstock.types import U32, Array


@contextmanager
def state_of(generator: Any) -> Iterator[U32]:
    """The state of a generator, which kernels draw from, and which goes back to it in the end. Of
    generators other than Python's own it is empty.
    """
    if type(generator) is not random.Random:
        yield np.empty(0, np.uint32)
        return
    version, words, gauss = generator.getstate()
    state: U32 = np.array(words, np.uint32)
    try:
        yield state
    finally:
        generator.setstate((version, tuple(state.tolist()), gauss))


def shuffled(count: int, generator: Any, state: U32) -> Array:
    """The places 0 .. count-1 in the order that the generator's ``shuffle`` gives to a list."""
    if len(state):
        places: Array = np.arange(count)
        shuffle(state, places)
        return places
    plain = list(range(count))
    generator.shuffle(plain)
    return np.array(plain, np.int64)
