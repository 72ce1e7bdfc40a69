"""A Robin Hood hash table from 64-bit keys to 32-bit values, over arrays that may be mapped.

Open addressing, linear probing. Each slot has one management byte: 0 if it was never used, else the
probe distance plus one in 7 bits, and the highest bit if what was there is deleted (a tombstone
keeps its distance). An entry takes the place of one that is nearer to its home, so distances vary
little. A search ends at an unused slot or at one whose entry is nearer to its home than the
searched key would be.

The table doubles at a load of 0.9 or when a distance would not fit its 7 bits, and is hashed anew
when a quarter of its slots are tombstones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock.jit import helper, kernel, prefetch
from penstock.types import NO_VERTEX, U8, U32, U64, Array

#: Entries over slots, at most.
MOST_LOAD = 0.9
#: The longest probe distance that a management byte can tell.
MOST_DISTANCE = 126
#: Slots of a new table.
FIRST_SLOTS = 1 << 10
#: Keys that a look-up is ahead of itself by, in fetching their slots.
AHEAD = 12

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TOMB = np.uint8(0x80)
_DISTANCE = np.uint8(0x7F)
#: The types of marks, keys and values.
_KINDS = (np.uint8, np.uint64, np.uint32)


class Slots(NamedTuple):
    """The slots of a table: management bytes, keys and values."""

    marks: U8
    keys: U64
    values: U32


@helper
def _mixed(key):  # type: ignore[no-untyped-def]
    """All bits of a key in each bit of the result: ids that step by a power of two are common."""
    mixed = (key ^ (key >> np.uint64(32))) * _GOLDEN
    return mixed ^ (mixed >> np.uint64(29))


@kernel
def _find(begin, end, keys, table, out):  # type: ignore[no-untyped-def]
    """The value of each key, NO_VERTEX if it is not there; returns how many are not."""
    marks, slots, values = table
    mask = np.uint64(len(marks) - 1)
    one, shift = np.uint64(1), np.uint64(20)
    missing = 0
    for i in range(np.uint64(begin), np.uint64(end)):
        later = min(i + np.uint64(AHEAD), np.uint64(end) - one)
        ahead = (_mixed(keys[later]) >> shift) & mask
        prefetch(marks, ahead)
        prefetch(slots, ahead)
        key = keys[i]
        at = (_mixed(key) >> shift) & mask
        distance = np.uint8(1)
        found = np.uint32(NO_VERTEX)
        while True:
            mark = marks[at]
            # Of the longest distances only the first 7 bits are told: no entry is further.
            if (mark & _DISTANCE) < distance:
                missing += 1
                break
            if slots[at] == key and mark < _TOMB:
                found = values[at]
                break
            at = (at + one) & mask
            distance += np.uint8(1)
        out[i] = found
    return missing


@kernel
def _rehash(old, table, state):  # type: ignore[no-untyped-def]
    """Put all entries into another table; False if one of them is too far from home."""
    marks, slots, values = old
    mask = np.uint64(len(table.marks) - 1)
    for at in range(np.uint64(len(marks))):
        mark = marks[at]
        if mark == 0 or mark >= _TOMB:
            continue
        home = (_mixed(slots[at]) >> np.uint64(20)) & mask
        key, value = slots[at], values[at]
        if _carry(key, value, home, np.uint8(1), table, state) < 0:
            return False
    return True


@kernel
def _insert(keys, wanted, most, table, first, new_keys, out, state):  # type: ignore[no-untyped-def]
    """Give each key that has no value (``out`` is NO_VERTEX) the next one from ``first`` on, equal
    keys the same; new keys are listed. ``state``: entries, tombstones. Stops, returning where, when
    the table must grow; an entry that had to leave is then in ``state[2:4]`` with ``state[4]`` = 1.
    """
    marks, slots, values = table
    mask = np.uint64(len(marks) - 1)
    one = np.uint64(1)
    count = 0
    for i in range(wanted, len(keys)):
        if out[i] != np.uint32(NO_VERTEX):
            continue
        if state[0] >= most:
            state[5] = count
            return i
        key = keys[i]
        at = (_mixed(key) >> np.uint64(20)) & mask
        distance = np.uint8(1)
        found = False
        while True:
            mark = marks[at]
            if (mark & _DISTANCE) < distance:
                break
            if slots[at] == key and mark < _TOMB:
                out[i] = values[at]
                found = True
                break
            at = (at + one) & mask
            distance += np.uint8(1)
        if found:
            continue
        value = np.uint32(first + count)
        placed = _carry(key, value, at, distance, table, state)
        out[i] = value
        new_keys[count] = key
        count += 1
        if placed < 0:
            state[5] = count
            return i + 1
        state[0] += 1
        state[1] -= placed
    state[5] = count
    return len(keys)


@helper
def _carry(key, value, at, distance, table, state):  # type: ignore[no-untyped-def]
    """Put in an entry whose key is not there, from where a search for it ended. Returns 1 if a
    tombstone made room, 0 if an unused slot did, -1 if the table must grow first: then one entry,
    perhaps another, is kept aside in ``state``.
    """
    marks, slots, values = table
    mask = np.uint64(len(marks) - 1)
    one = np.uint64(1)
    while True:
        if distance > np.uint8(MOST_DISTANCE):
            state[2] = np.int64(key)
            state[3] = np.int64(value)
            state[4] = 1
            return -1
        mark = marks[at]
        here = mark & _DISTANCE
        if mark == 0 or (mark >= _TOMB and here <= distance):
            marks[at] = distance
            slots[at] = key
            values[at] = value
            return 1 if mark >= _TOMB else 0
        if here < distance:
            marks[at] = distance
            slots[at], key = key, slots[at]
            values[at], value = value, values[at]
            distance = here
        at = (at + one) & mask
        distance += np.uint8(1)


@kernel
def _delete(keys, table, out):  # type: ignore[no-untyped-def]
    """Leave tombstones where keys were; returns how many were there."""
    marks, slots, _ = table
    mask = np.uint64(len(marks) - 1)
    one = np.uint64(1)
    count = 0
    for i in range(len(keys)):
        at = (_mixed(keys[i]) >> np.uint64(20)) & mask
        distance = np.uint8(1)
        out[i] = 0
        while (marks[at] & _DISTANCE) >= distance:
            if slots[at] == keys[i] and marks[at] < _TOMB:
                marks[at] |= _TOMB
                out[i] = 1
                count += 1
                break
            at = (at + one) & mask
            distance += np.uint8(1)
    return count


@kernel
def _distances(marks, histogram):  # type: ignore[no-untyped-def]
    for at in range(len(marks)):
        if marks[at] != 0 and marks[at] < _TOMB:
            histogram[marks[at] - 1] += 1


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
    """64-bit keys to 32-bit values; grows by itself. Not for several threads at once, except
    :meth:`find`, which changes nothing.
    """

    def __init__(self, zeros: Callable[[int, Any], Array] = np.zeros) -> None:
        #: Makes an array of zeros, perhaps a mapped one.
        self._zeros = zeros
        self._take(FIRST_SLOTS)
        self.tombstones = 0
        self._entries = 0

    def _take(self, slots: int) -> None:
        self._slots = Slots._make(self._zeros(slots, kind) for kind in _KINDS)

    def __len__(self) -> int:
        return self._entries

    @property
    def capacity(self) -> int:
        """Slots there are."""
        return len(self._slots.marks)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(each.nbytes for each in self._slots)

    def find(self, keys: U64, out: U32, begin: int = 0, end: int | None = None) -> int:
        """The values of some of the keys into ``out``, NO_VERTEX for those that are not there;
        returns how many are not.
        """
        stop = len(keys) if end is None else end
        return int(_find(begin, stop, keys, self._slots, out))

    def insert(self, keys: U64, out: U32, first: int) -> U64:
        """Give the keys whose entry of ``out`` is NO_VERTEX their values there; those that are not
        in the table get the next values from ``first`` on. Returns the new keys in that order.
        """
        new: list[U64] = []
        room: U64 = np.empty(len(keys), np.uint64)
        at = count = 0
        while at < len(keys):
            state = np.array([self._entries, self.tombstones, 0, 0, 0, 0], np.int64)
            most = int(MOST_LOAD * self.capacity)
            at = int(_insert(keys, at, most, self._slots, first + count, room, out, state))
            self._entries, self.tombstones = int(state[0]), int(state[1])
            added = int(state[5])
            new.append(room[:added].copy())
            count += added
            if at < len(keys) or state[4]:
                left = (state[2:3].view(np.uint64), state[3:4]) if state[4] else None
                self._rebuild(2 * self.capacity, left)
        return np.concatenate(new) if new else room[:0]

    def delete(self, keys: U64) -> Array:
        """Take keys out; says of each whether it was there."""
        out: Array = np.empty(len(keys), np.uint8)
        gone = int(_delete(keys, self._slots, out))
        self._entries -= gone
        self.tombstones += gone
        if 4 * self.tombstones > self.capacity:
            self._rebuild(self.capacity, None)
        return out

    def _rebuild(self, slots: int, left: tuple[Array, Array] | None) -> None:
        """Hash everything anew, into so many slots or more."""
        old = self._slots
        while True:
            self._take(slots)
            if _rehash(old, self._slots, np.zeros(6, np.int64)):
                break
            slots *= 2
        self.tombstones = 0
        if left is not None:
            # The one that had no place; with so much room it has one now.
            one: U32 = np.full(1, NO_VERTEX, np.uint32)
            self.insert(left[0].copy(), one, int(left[1][0]))

    def probe_distances(self) -> ProbeDistances:
        """How far entries are from home."""
        histogram = np.zeros(MOST_DISTANCE + 1, np.int64)
        _distances(self._slots.marks, histogram)
        return ProbeDistances.of(histogram)
