"""Labels that go from node to node, and the draws that decide between them.

Draws are those of Python's ``random.Random``: of a Mersenne twister whose state (624 words and
where the next one is) is given as an array. An empty array stands for another generator: whoever
called the kernel draws.

Matsumoto, Nishimura: "Mersenne twister", ACM TOMACS 8(1), 1998.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import helper, kernel

_WORDS, _MIDDLE = 624, 397


@helper
def _twist(state):  # type: ignore[no-untyped-def]
    """All words of the state anew."""
    for k in range(_WORDS):
        following = state[(k + 1) % _WORDS]
        mixed = (state[k] & np.uint32(0x80000000)) | (following & np.uint32(0x7FFFFFFF))
        word = state[(k + _MIDDLE) % _WORDS] ^ (mixed >> np.uint32(1))
        if mixed & np.uint32(1):
            word ^= np.uint32(0x9908B0DF)
        state[k] = word
    state[_WORDS] = 0


@helper
def _word(state):  # type: ignore[no-untyped-def]
    """The next 32 random bits."""
    if state[_WORDS] >= _WORDS:
        _twist(state)
    word = state[np.int64(state[_WORDS])]
    state[_WORDS] += np.uint32(1)
    word ^= word >> np.uint32(11)
    word ^= (word << np.uint32(7)) & np.uint32(0x9D2C5680)
    word ^= (word << np.uint32(15)) & np.uint32(0xEFC60000)
    return np.uint32(word ^ (word >> np.uint32(18)))


@helper
def _below(state, limit):  # type: ignore[no-untyped-def]
    """A number below a limit: as many bits as the limit has, again until they are below it."""
    spare = 32
    while limit >> (32 - spare):
        spare -= 1
    while True:
        found = np.int64(_word(state)) >> spare
        if found < limit:
            return found


@kernel
def shuffle(state, places):  # type: ignore[no-untyped-def]
    """Put places into a random order."""
    for last in range(len(places) - 1, 0, -1):
        other = _below(state, last + 1)
        places[last], places[other] = places[other], places[last]


@helper
def _best_labels(  # type: ignore[no-untyped-def]
    place, offsets, neighbours, weights, labels, sums, best
):
    """Fills ``best`` with the labels that weigh most around a place, in the order in which they are
    met, and returns how many there are. ``sums`` is NaN for each label, before and after.
    """
    begin, end = np.int64(offsets[place]), np.int64(offsets[place + 1])
    count = 0
    for entry in range(begin, end):
        label = labels[np.int64(neighbours[entry])]
        if np.isnan(sums[label]):
            sums[label] = 0.0
            best[count] = label
            count += 1
        sums[label] += weights[entry] if len(weights) else 1.0
    most = -np.inf
    for k in range(count):
        most = max(most, sums[best[k]])
    kept = 0
    for k in range(count):
        label = best[k]
        if sums[label] == most:
            best[kept] = label
            kept += 1
        sums[label] = np.nan
    return kept


@kernel
def spread(  # type: ignore[no-untyped-def]
    order, at, offsets, neighbours, weights, labels, sums, best, state
):
    """Go over the places of ``order`` from ``at`` on; each that has none of the best labels around
    it takes one of them. Returns where it stopped, how many labels there are to draw from there (0
    at the end), and whether some place took one.
    """
    changed = False
    for turn in range(at, len(order)):
        place = order[turn]
        count = _best_labels(place, offsets, neighbours, weights, labels, sums, best)
        content = count == 0
        for k in range(count):
            content = content or best[k] == labels[place]
        if content:
            continue
        changed = True
        if len(state) == 0:
            return turn, count, changed
        labels[place] = best[_below(state, count)]
    return len(order), 0, changed


@kernel
def spread_by_queue(  # type: ignore[no-untyped-def]
    ring, ends, queued, offsets, neighbours, weights, told_offsets, told, labels, sums, best, state,
    drawn,
):  # fmt: skip
    """Each place of a queue takes one of the best labels around it; if that is another one than it
    had, those of the second lists with other labels queue up again. The queue is ``ends[1]`` places
    of a ring, from ``ends[0]`` on. Returns how many labels there are to draw from, for which it has
    to be called again with the one drawn; 0 at the end.
    """
    if drawn >= 0:
        _adopt(ends[2], drawn, ring, ends, queued, told_offsets, told, labels)
    while ends[1] > 0:
        place = ring[ends[0]]
        ends[0] = (ends[0] + 1) % len(ring)
        ends[1] -= 1
        queued[place] = False
        count = _best_labels(place, offsets, neighbours, weights, labels, sums, best)
        if count == 0:
            continue
        if len(state) == 0:
            ends[2] = place
            return count
        label = best[_below(state, count)]
        _adopt(place, label, ring, ends, queued, told_offsets, told, labels)
    return 0


@helper
def _adopt(place, label, ring, ends, queued, offsets, told, labels):  # type: ignore[no-untyped-def]
    if labels[place] == label:
        return
    labels[place] = label
    for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
        other = np.int64(told[entry])
        if labels[other] != label and not queued[other]:
            queued[other] = True
            ring[(ends[0] + ends[1]) % len(ring)] = other
            ends[1] += 1


@kernel
def settle(order, offsets, neighbours, labels, sums, best):  # type: ignore[no-untyped-def]
    """Until each place has one of the best labels around it: those that have none take the largest
    of them, in the order given.
    """
    nothing = np.empty(0, np.float64)
    settled = False
    while not settled:
        settled = True
        for place in order:
            count = _best_labels(place, offsets, neighbours, nothing, labels, sums, best)
            content, largest = count == 0, np.int64(-1)
            for k in range(count):
                content = content or best[k] == labels[place]
                largest = max(largest, best[k])
            if not content:
                labels[place] = largest
                settled = False
