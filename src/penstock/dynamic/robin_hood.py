"""A Robin Hood hash table that numbers 63-bit keys: 9 bytes a slot, exact, and grown in place.

A bijection of the 63-bit numbers makes a *hash* of each key. There are ``S = parts << bits`` slots,
with 4 to 7 parts. The *home* of a hash is ``hash * S >> 63``, and its *tag* the next ``61 - bits``
bits of that product. Entries are in the order of their hashes, each at home or after it (open
addressing, linear probing). A slot has a management byte, 0 if it is unused, else the distance of
its entry from home plus one, and a word: the tag above ``bits + 3`` bits of value. A search ends at
a slot whose entry is nearer to its home than the searched key would be, or has a larger tag.

**Exact.** The management byte says where the home is. Of one home, the products differ by multiples
of ``S``, which is at least ``4 << bits``; a tag leaves out the last ``bits + 2`` bits of a product.
So tags differ, and ascend with the hashes. Values are 0, 1, 2, ... in the order of insertion, fewer
than ``7 << bits``: they fit.

**Grown in place**, by a quarter or less, in one pass, because entries stay in order:

- They are moved to the end of the larger table first, by ``D`` slots, as many as are new, and then
  taken from there in order. A home moves by ``D`` slots at most, and with the homes the places: a
  place is not written before the entry there was taken.
- Rounding brings two homes nearer to each other by one slot at most when the table grows, so no
  distance grows by more than one. There are fewer than 95 sizes; entries are inserted up to a
  distance of 151. So distances stay below 247.

If an entry would be further from home though the table is not even half full, keys were chosen to
collide: all are hashed again with random multipliers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from penstock.dynamic import robin_hood_kernels as kernels
from penstock.dynamic.region import Region
from penstock.dynamic.robin_hood_kernels import AHEAD, Shape, Slots
from penstock.types import U32, U64, Array

#: Slots behind the last home.
SPARE_SLOTS = 256

_U = np.uint64
_SMALLEST = Shape(_U(4), _U(8), _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9))


@dataclass(frozen=True, slots=True)
class ProbeDistances:
    """How far the entries of a table, or of many, are from their homes."""

    entries: int
    average: float
    most: int
    #: The largest average of one table, if these are many.
    worst_average: float

    @classmethod
    def of(cls, histogram: Array) -> ProbeDistances:
        """From how many entries there are at each distance."""
        entries = int(histogram.sum())
        total = int((histogram * np.arange(len(histogram))).sum())
        average = total / entries if entries else 0.0
        used = np.flatnonzero(histogram)
        return cls(entries, average, int(used[-1]) if len(used) else 0, average)


class RobinHoodTable:
    """Keys 0 .. 2**63 - 1 and their numbers in the order of insertion; grows by itself. Not for
    several threads at once, except :meth:`find`, which changes nothing.
    """

    def __init__(self) -> None:
        self._shape = _SMALLEST
        self._entries = 0
        self._marks, self._words = _new_slots(self._shape)

    def __len__(self) -> int:
        return self._entries

    @property
    def capacity(self) -> int:
        """Slots there are."""
        return self._shape.slots

    @property
    def nbytes(self) -> int:
        """Bytes of its slots."""
        return 9 * (self.capacity + SPARE_SLOTS)

    @property
    def _slots(self) -> Slots:
        length = self.capacity + SPARE_SLOTS
        return Slots(self._marks.array[:length], self._words.array[:length])

    def find(self, keys: U64, out: U32, begin: int = 0, end: int | None = None) -> int:
        """The numbers of some of the keys into ``out``, NO_VERTEX for those that are not there;
        returns how many are not.
        """
        stop = len(keys) if end is None else end
        buffers = tuple(np.empty((3, AHEAD), np.uint64))
        return int(kernels.find(begin, stop, keys, self._slots, self._shape, buffers, out))

    def insert(self, keys: U64, out: U32) -> U64:
        """Give the keys whose entry of ``out`` is NO_VERTEX their numbers there; those that are not
        in the table get the next ones. Returns the new keys in that order.
        """
        new: U64 = np.empty(len(keys), np.uint64)
        buffers = tuple(np.empty((3, AHEAD), np.uint64))
        at, before = 0, self._entries
        while at < len(keys):
            room = new[self._entries - before :]
            shape, most = self._shape, _U(self._shape.most)
            have, table = _U(self._entries), self._slots
            found = kernels.insert(at, keys, table, shape, have, most, buffers, room, out)
            at, self._entries = map(int, found)
            if at == len(keys):
                break
            del table  # memory that is in use cannot be moved
            if 2 * self._entries < self.capacity:
                self._reseed()
            else:
                self._grow(shape.next())
        return new[: self._entries - before]

    def reserve(self, entries: int) -> None:
        """Have room for a number of entries, if they are not chosen to collide."""
        self._grow(self._shape_for(entries))

    def missing_bytes(self, entries: int) -> int:
        """Address space that would be needed besides for a number of entries."""
        length = self._shape_for(entries).slots + SPARE_SLOTS
        return self._marks.missing_bytes(length) + self._words.missing_bytes(length)

    def _shape_for(self, entries: int) -> Shape:
        shape = self._shape
        while shape.most < entries:
            shape = shape.next()
        return shape

    def _grow(self, shape: Shape) -> None:
        if shape.slots == self.capacity:
            return
        length, used = shape.slots + SPARE_SLOTS, self.capacity + SPARE_SLOTS
        self._marks.reserve(length, used)
        self._words.reserve(length, used)
        old, self._shape = self._shape, shape
        table, moved = self._slots, length - used
        for end in range(used, 0, -moved):
            begin = max(end - moved, 0)
            for array in table:
                array[begin + moved : end + moved] = array[begin:end]
        kernels.spread(old, shape, table)

    def _reseed(self) -> None:
        """Hash everything again, by random multipliers."""
        old, shape = self._slots, self._shape
        inverses = tuple(_U(pow(int(each), -1, 1 << 64)) for each in shape[2:])
        placed = False
        while not placed:
            regions = _new_slots(shape)
            new = shape._replace(first=_multiplier(), second=_multiplier())
            table = Slots(*(region.array for region in regions))
            placed = kernels.rehash(old, shape, inverses, table, new)
        self._shape, (self._marks, self._words) = new, regions

    def probe_distances(self) -> ProbeDistances:
        """How far entries are from home."""
        counts = np.zeros(SPARE_SLOTS, np.int64)
        for begin in range(0, self.capacity + SPARE_SLOTS, 1 << 20):
            counts += np.bincount(self._slots.marks[begin : begin + (1 << 20)], minlength=256)
        return ProbeDistances.of(counts[1:])


def _new_slots(shape: Shape) -> tuple[Region, Region]:
    """Memory for management bytes and words."""
    marks, words = Region(np.uint8), Region(np.uint64)
    for region in (marks, words):
        region.reserve(shape.slots + SPARE_SLOTS, 0)
    return marks, words


def _multiplier() -> np.uint64:
    return _U(int.from_bytes(os.urandom(8), "little") | 1)
