"""How many rounds of waiting, as the stores' kernels do it, last how long."""

from __future__ import annotations

from functools import cache
from time import thread_time

import numpy as np

from penstock.interfaces.bench.dynamic_store_kernels import wait

_MANY = 20_000_000


@cache
def _round_nanoseconds() -> float:
    """By the time of this thread alone, and the best of several: others on the machine only make
    it longer.
    """
    wait(np.int64(1), 1)
    times = []
    for _ in range(5):
        begin = thread_time()
        wait(np.int64(88172645463325252), _MANY)
        times.append(thread_time() - begin)
    return min(times) * 1e9 / _MANY


def rounds_of(nanoseconds: float) -> int:
    """As many rounds as last so long."""
    return round(nanoseconds / _round_nanoseconds())
