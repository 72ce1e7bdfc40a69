"""Colours of vertices such that neighbours differ, kept while edges come and go.

The smaller id has priority. A new vertex has colour 0; ``color()`` on a graph that has no colours
yet gives it those of ``first_coloring``. What a batch of edges changes is one of two rules:

- ``"repair"``: the lower end of a new edge between equal colours takes the smallest colour that
  none of its neighbours has. Deleting changes nothing. See ``color_repair``. Section 4.8.2 of
  Iwabuchi's thesis, and the rule of ``maintain("color")``: the same batches give the same colours.
- ``"greedy"``: each vertex has the smallest colour that no neighbour with a smaller id has, always.
  See ``greedy_coloring``.

Either way colours depend on the batches alone, not on ranks or the order of messages.

Sallinen, Iwabuchi, Poudel, Gokhale, Ripeanu, Pearce: "Graph colouring as a challenge problem for
dynamic graph processing on distributed systems", SC 2016.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from penstock.distributed.shard import Shard, grown
from penstock.types import U32, Array

Rule = Literal["repair", "greedy"]

#: The colour of a ghost that was not heard of.
NO_COLOR = 0xFFFFFFFF


class Colors(ABC):
    """The colours that a rank knows: of its own vertices, and what it last heard of ghosts."""

    rule: Rule

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._known: U32 = np.empty(0, np.uint32)
        self._size = 0

    def grow(self) -> None:
        """Vertices that are new in the shard have the first colour; ghosts have none yet."""
        begin, end = self._size, self._shard.size
        if begin == end:
            return
        self._known = grown(self._known, end, NO_COLOR)
        own = self._shard.owners[begin:] == self._shard.rank
        self._known[begin:end][own] = 0
        self._size = end

    def known(self) -> U32:
        """The colour of each number."""
        return self._known[: self._size]

    @abstractmethod
    def hear(self, visitors: Array, numbers: U32, others: U32) -> None:
        """Visitors came, from ``others`` to ``numbers``, and their links are made."""

    def result(self) -> dict[str, Any]:
        """Ids and colours of this rank's own vertices."""
        own = self._shard.own()
        return {"ids": self._shard.ids[own], "values": self.known()[own]}
