"""The kernels of the Robin Hood table; :mod:`penstock.dynamic.robin_hood` says what there is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.jit import always_inline, bit_length, load64, multiply_wide, no_refcount, prefetch
from penstock.types import NO_VERTEX, U8, U64

#: Entries over slots, at most: this many eighths.
MOST_LOAD = 7
#: The largest management byte that an insertion writes; growing may add 95 to it.
MOST_MARK = 152
#: Keys that are worked on together, so that their slots are fetched at the same time.
AHEAD = 32

_U = np.uint64
_ONE = _U(1)
#: The first management bytes from a home on, if all entries have this home; and what the next
#: eight have more. No byte exceeds 255, because no search goes on after 247.
_FIRST_MARKS, _MORE_MARKS = _U(0x0807060504030201), _U(0x0808080808080808)
_LOW_BITS = _U(0x7F7F7F7F7F7F7F7F)


class Shape(NamedTuple):
    """How many slots there are, and the two odd multipliers of the hash."""

    parts: np.uint64
    bits: np.uint64
    first: np.uint64
    second: np.uint64

    @property
    def slots(self) -> int:
        """Homes there are."""
        return int(self.parts) << int(self.bits)

    @property
    def most(self) -> int:
        """Entries there may be."""
        return MOST_LOAD * self.slots // 8

    def next(self) -> Shape:
        """The next larger one."""
        if self.parts < _U(7):
            return self._replace(parts=self.parts + _ONE)
        return self._replace(parts=_U(4), bits=self.bits + _ONE)


class Slots(NamedTuple):
    """The slots of a table: management bytes and words."""

    marks: U8
    words: U64


@always_inline
def _hash(key, shape):  # type: ignore[no-untyped-def]
    """All bits of a key in the highest bits of the result: ids that step by anything are common.
    The result is in the upper 63 bits of a word. A bijection, because the multipliers are odd, and
    a shift by half of the bits undoes itself.
    """
    mixed = (key << _ONE) * shape.first
    mixed ^= (mixed >> _U(32)) & ~_ONE
    return mixed * shape.second


@always_inline
def _key(mixed, inverses):  # type: ignore[no-untyped-def]
    """The key of a hash, by the inverses of the multipliers."""
    mixed *= inverses[1]
    mixed ^= (mixed >> _U(32)) & ~_ONE
    return (mixed * inverses[0]) >> _ONE


@always_inline
def _values(shape):  # type: ignore[no-untyped-def]
    """The bits of a word that are its value."""
    return (_ONE << (shape.bits + _U(3))) - _ONE


@always_inline
def home_of(mixed, shape):  # type: ignore[no-untyped-def]
    """The home of a hash, and its tag where words have it."""
    home, rest = multiply_wide(mixed, shape.parts << shape.bits)
    return home, rest & ~_values(shape)


@always_inline
def hash_of(home, word, shape):  # type: ignore[no-untyped-def]
    """The hash of an entry, the only one whose home and tag are these: home and tag over slots,
    rounded up. The home counts parts, of which some make whole numbers.
    """
    whole = _quotient(home, shape.parts)
    over, width = home - whole * shape.parts, _U(63) - shape.bits
    rest = (over << width) | ((word >> (shape.bits + _U(3))) << _U(2))
    return ((whole << width) + _quotient(rest + shape.parts - _ONE, shape.parts)) << _ONE


@always_inline
def _quotient(number, parts):  # type: ignore[no-untyped-def]
    """``number // parts``: dividing by a constant is quicker."""
    if parts == _U(4):
        return number // _U(4)
    if parts == _U(5):
        return number // _U(5)
    if parts == _U(6):
        return number // _U(6)
    return number // _U(7)


@always_inline
def _equal_bytes(first, second):  # type: ignore[no-untyped-def]
    """128 in each byte that two words have in common, 0 in all others."""
    differing = first ^ second
    return ~(((differing & _LOW_BITS) + _LOW_BITS) | differing | _LOW_BITS)


@always_inline
def _first_byte(word):  # type: ignore[no-untyped-def]
    """Which byte is the first that is 128, if all others are 0; 0 if none is."""
    return bit_length((word & (~word + _ONE)) >> _U(7)) >> _U(3)


@always_inline
def _search(at, tag, table, values):  # type: ignore[no-untyped-def]
    """The value of the entry with this home and tag, or NO_VERTEX; eight slots at a time."""
    marks, words = table
    wanted = _FIRST_MARKS
    while True:
        near = load64(marks, at)
        same = _equal_bytes(near, wanted)
        while same != 0:
            word = words[at + _first_byte(same)]
            if word ^ tag <= values:
                return word & values
            same &= same - _ONE
        if near >> _U(56) < wanted >> _U(56):
            return _U(NO_VERTEX)
        at += _U(8)
        wanted += _MORE_MARKS


@no_refcount
def find(begin, end, keys, table, shape, buffers, out):  # type: ignore[no-untyped-def]
    """The value of each key, NO_VERTEX if it is not there; returns how many are not.

    Keys are taken ``AHEAD`` at a time. Their slots are fetched; then the first eight management
    bytes of each are looked at together, and of the entries that have its home the first and the
    last: without a branch, because none could be foretold. What is left is searched for.
    """
    (marks, words), (rows, homes, tags) = table, buffers
    values = _values(shape)
    missing = 0
    for first in range(_U(begin), _U(end), _U(AHEAD)):
        count = min(_U(AHEAD), _U(end) - first)
        for i in range(count):
            homes[i], tags[i] = home_of(_hash(keys[first + i], shape), shape)
            prefetch(marks, homes[i])
            prefetch(words, homes[i])
            prefetch(words, homes[i] + _U(4))
        left = _U(0)
        for i in range(count):
            at, tag = homes[i], tags[i]
            near = load64(marks, at)
            same = _equal_bytes(near, _FIRST_MARKS)
            # Without the tag, the word of the key is its value, and every other one is larger.
            value = words[at + _first_byte(same)] ^ tag
            value = min(value, words[at + (bit_length(same >> _U(7)) >> _U(3))] ^ tag)
            found = _U(value <= values) & _U(same != 0)
            more = same & (same - _ONE)
            ends = _U(near >> _U(56) < _U(8)) & _U(more & (more - _ONE) == 0)
            out[first + i] = np.uint32(value | (_U(NO_VERTEX) * (_ONE - found)))
            missing += np.int64(_ONE - found)
            rows[left] = i
            left += (found | ends) ^ _ONE
        for k in range(left):
            i = rows[k]
            value = _search(homes[i], tags[i], table, values)
            out[first + i] = np.uint32(value)
            missing -= value != _U(NO_VERTEX)
    return missing


@always_inline
def _place_of(home, wanted, table, values):  # type: ignore[no-untyped-def]
    """Where an entry with this home and tag is, or should be, and its distance plus one."""
    marks, words = table
    at, distance = home, _ONE
    while _U(marks[at]) > distance or (_U(marks[at]) == distance and words[at] | values < wanted):
        at += _ONE
        distance += _ONE
    return at, distance


@always_inline
def _put(at, distance, word, table):  # type: ignore[no-untyped-def]
    """Put in an entry whose key is not there, at its place. Nothing and False if it, or one that
    gives way, would be too far from home.
    """
    marks, words = table
    limit, end = _U(MOST_MARK), at
    fits = distance <= limit
    while marks[end] != 0 and fits:
        fits = _U(marks[end]) < limit
        end += _ONE
    if fits:
        while end > at:
            marks[end] = marks[end - _ONE] + np.uint8(1)
            words[end] = words[end - _ONE]
            end -= _ONE
        marks[at] = distance
        words[at] = word
    return fits


@no_refcount
def insert(begin, keys, table, shape, entries, most, buffers, new_keys, out):  # type: ignore[no-untyped-def]
    """Give each key that has no value (``out`` is NO_VERTEX) the next one, equal keys the same; new
    keys are listed. Stops at a key for which there are too many ``entries``, or which is too far
    from home. Returns which that is, and the entries there are then.
    """
    (marks, words), (rows, homes, tags) = table, buffers
    values = _values(shape)
    i, end, first = _U(begin), _U(len(keys)), entries
    while i < end:
        count = _U(0)
        while i < end and count < _U(AHEAD):
            if out[i] == np.uint32(NO_VERTEX):
                rows[count] = i
                homes[count], tags[count] = home_of(_hash(keys[i], shape), shape)
                prefetch(marks, homes[count])
                prefetch(words, homes[count])
                count += _ONE
            i += _ONE
        for k in range(count):
            row, tag = rows[k], tags[k]
            at, distance = _place_of(homes[k], tag, table, values)
            if _U(marks[at]) == distance and words[at] ^ tag <= values:
                out[row] = np.uint32(words[at] & values)
                continue
            if entries == most or not _put(at, distance, tag | entries, table):
                return row, entries
            out[row] = np.uint32(entries)
            new_keys[entries - first] = keys[row]
            entries += _ONE
    return end, entries


@no_refcount
def spread(old, new, table):  # type: ignore[no-untyped-def]
    """Take the entries of a shape from the end of a larger one, and put them where they belong."""
    marks, words = table
    length = _U(len(marks))
    moved = (new.parts << new.bits) - (old.parts << old.bits)
    values = _values(old)
    free = _U(0)
    for at in range(moved, length):
        if marks[at] == 0:
            continue
        mixed = hash_of(at - moved + _ONE - _U(marks[at]), words[at], old)
        value = words[at] & values
        home, tag = home_of(mixed, new)
        while free < home:
            marks[free] = 0
            free += _ONE
        marks[free] = free - home + _ONE
        words[free] = tag | value
        free += _ONE
    marks[free:] = 0


@no_refcount
def rehash(old, shape, inverses, table, new):  # type: ignore[no-untyped-def]
    """Put all entries into an empty table of another shape; False if one is too far from home.
    ``inverses``: those of the old multipliers.
    """
    marks, words = old
    values = _values(shape)
    for i in range(_U(len(marks))):
        if marks[i] == 0:
            continue
        mixed = hash_of(i + _ONE - _U(marks[i]), words[i], shape)
        home, tag = home_of(_hash(_key(mixed, inverses), new), new)
        # Of the same number of bits as before.
        at, distance = _place_of(home, tag, table, values)
        if not _put(at, distance, tag | (words[i] & values), table):
            return False
    return True
