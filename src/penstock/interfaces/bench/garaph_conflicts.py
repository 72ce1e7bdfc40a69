"""How often threads of a GPU would wait for each other when they add to shared memory: counted, on
the CPU, from the degrees alone.

The edges of a shard are sorted by destination, and thread ``tid`` of a block takes edge ``tid``,
``tid + block size``, and so on: the 32 threads of a warp add 32 consecutive edges at once. That of
destination i goes to address ``(i - first) * R + tid % R``. Additions of one warp to one address
happen one after another, so a warp is done after as many *rounds* as the most of its threads share
an address. Conflicts between different warps, or of different addresses in one bank of the memory,
are not counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.jit import kernel
from penstock.types import I64

#: Threads that run in step.
WARP = 32


class Rounds(NamedTuple):
    """What was counted, for each shard."""

    #: How many groups of 32 edges there are: as many rounds as without a single conflict.
    warps: I64
    rounds: I64


def count_rounds(offsets: I64, begins: I64, replicas: I64) -> Rounds:
    """Count for each shard k of the vertices from ``begins[k]`` to ``begins[k + 1]``, with
    ``replicas[k]`` accumulators a vertex. The edges of vertex v are ``offsets[v]`` to
    ``offsets[v + 1]``.
    """
    rounds = np.zeros(len(replicas), np.int64)
    _count_rounds(offsets, begins, replicas, rounds)
    edges = np.diff(offsets[begins])
    return Rounds(-(-edges // WARP), rounds)


@kernel
def _count_rounds(offsets, begins, replicas, rounds):  # type: ignore[no-untyped-def]
    for shard in range(len(replicas)):
        vertex = begins[shard]
        copies = replicas[shard]
        edge = offsets[vertex]
        last = offsets[begins[shard + 1]]
        while edge < last:
            end = min(edge + WARP, last)
            longest = 0
            while edge < end:
                while offsets[vertex + 1] <= edge:
                    vertex += 1
                # These threads are consecutive, so R of them have R addresses.
                same = min(offsets[vertex + 1], end) - edge
                longest = max(longest, (same + copies - 1) // copies)
                edge += same
            rounds[shard] += longest
