"""The order of users' ids as numbers that kernels can compare."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.dynamic.maintained.protocol import ByVertex
from penstock.types import U32, U64, Array


class IdOrder:
    """``keys`` by vertex number are in the same order as the users' ids: the ids themselves, if
    they are numbers, else their places among all ids in order.

    Vertices are only ever added. A batch that adds some costs their number if ids are numbers; if
    they are strings, the new ones are sorted into the others, which moves every key: about 12 bytes
    of memory traffic for each vertex there is.
    """

    def __init__(self, ids_by_vid: Callable[[], Array]) -> None:
        self._ids_by_vid = ids_by_vid
        self._keys = ByVertex(np.uint64)
        #: The ids by vertex number, as of the last ``grow``.
        self.ids: Array = np.empty(0, np.uint64)
        self._names: Array = np.empty(0, object)
        self._vertices: U32 = np.empty(0, np.uint32)

    @property
    def keys(self) -> U64:
        """One for each vertex."""
        return self._keys.now

    def grow(self, num_vertices: int) -> None:
        """Have keys for all vertices."""
        old = len(self.keys)
        if num_vertices == old:
            return
        self.ids = self._ids_by_vid()[:num_vertices]
        keys = self._keys.grow(num_vertices)
        if self.ids.dtype.kind in "iu":
            keys[old:] = self.ids[old:]
            return
        names = np.asarray(self.ids[old:], object)
        order = np.argsort(names)
        at = np.searchsorted(self._names, names[order])
        self._names = np.insert(self._names, at, names[order])
        self._vertices = np.insert(self._vertices, at, (order + old).astype(np.uint32))
        keys[self._vertices] = np.arange(num_vertices, dtype=np.uint64)
