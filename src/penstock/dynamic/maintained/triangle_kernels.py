"""Kernels of the maintained triangle counts."""

from __future__ import annotations

import numpy as np

from penstock.jit import helper, kernel

#: What is known of an edge between the vertex that is marked and another: nothing (0); that it was
#: there before and after the batch; or, if the batch changed it, ``FIRST_CHANGE + 2 * number +
#: removed``.
STAYED, FIRST_CHANGE = np.uint32(1), np.uint32(2)


@kernel
def count_edges(others, offsets, neighbours, more_offsets, more_neighbours, counts):  # type: ignore[no-untyped-def]
    """How often ``others[i]`` stands in the lists at place i."""
    for i in range(len(others)):
        found = 0
        for k in range(offsets[i], offsets[i + 1]):
            found += neighbours[k] == others[i]
        for k in range(more_offsets[i], more_offsets[i + 1]):
            found += more_neighbours[k] == others[i]
        counts[i] = found


@helper
def _holds(state, number, removed):  # type: ignore[no-untyped-def]
    """Whether an edge is there when the change of this number is counted: those of its kind are
    made one after another, to the edges that stay.
    """
    if state <= STAYED:
        return state == STAYED
    change = state - FIRST_CHANGE
    return change & np.uint32(1) == removed and change >> np.uint32(1) < number


@helper
def _mark(begin, end, neighbours, value, states):  # type: ignore[no-untyped-def]
    for k in range(begin, end):
        states[np.uint64(neighbours[k])] = value


@helper
def _count_common(  # type: ignore[no-untyped-def]
    u, v, begin, end, neighbours, number, removed, step, stamp, states, seen, counts
):  # fmt: skip
    """Count the triangles of u and v with the neighbours of v that are not seen yet."""
    total = 0
    for k in range(begin, end):
        w = np.uint64(neighbours[k])
        if states[w] == 0 or seen[w] == stamp or w in (u, v):
            continue
        seen[w] = stamp
        if _holds(states[w], number, removed):
            counts[w] += step
            total += step
    return total


@kernel
def count_changes(  # type: ignore[no-untyped-def]
    marked, at, others, numbers, offsets, neighbours, more_offsets, more_neighbours,
    lists, list_neighbours, more_lists, more_list_neighbours,
    changes_of, change_others, change_codes, base, codes, states, seen, counts,
):  # fmt: skip
    """Count the triangles that come and go with some changed edges: those between vertex
    ``marked[i]``, whose lists are at place i of the first lists, and ``others[at[i]:at[i + 1]]``,
    whose lists are at their places in the second. A triangle with several changed edges of a kind
    is counted at the last.

    ``numbers`` are those of the edges, and ``codes`` by number their states. ``change_others`` and
    ``change_codes`` have the changed edges of each vertex; row j of ``changes_of`` says where those
    of the marked end of edge j begin and end, and where those of the other end.

    Returns triangles gained, less those lost. ``states`` is zeros before and after, ``seen`` has
    no number above ``base``.
    """
    total = 0
    for i in range(len(marked)):
        u = np.uint64(marked[i])
        first = numbers[at[i]]
        _mark(offsets[i], offsets[i + 1], neighbours, STAYED, states)
        _mark(more_offsets[i], more_offsets[i + 1], more_neighbours, STAYED, states)
        mine, mine_end = changes_of[first, 0], changes_of[first, 1]
        for k in range(mine, mine_end):
            states[np.uint64(change_others[k])] = change_codes[k]
        for p in range(at[i], at[i + 1]):
            v, number = np.uint64(others[p]), np.uint32(numbers[p])
            removed = codes[number] & np.uint32(1)
            step = -1 if removed else 1
            stamp = np.uint32(base + p + 1)
            found = 0
            for k in range(changes_of[number, 2], changes_of[number, 3]):
                w = np.uint64(change_others[k])
                seen[w] = stamp
                if _holds(change_codes[k], number, removed) and _holds(states[w], number, removed):
                    counts[w] += step
                    found += step
            found += _count_common(
                u, v, lists[p], lists[p + 1], list_neighbours, number, removed, step, stamp,
                states, seen, counts,
            )  # fmt: skip
            found += _count_common(
                u, v, more_lists[p], more_lists[p + 1], more_list_neighbours, number, removed, step,
                stamp, states, seen, counts,
            )  # fmt: skip
            counts[u] += found
            counts[v] += found
            total += found
        _mark(offsets[i], offsets[i + 1], neighbours, np.uint32(0), states)
        _mark(more_offsets[i], more_offsets[i + 1], more_neighbours, np.uint32(0), states)
        _mark(mine, mine_end, change_others, np.uint32(0), states)
    return total


@helper
def _keep_later(v, begin, end, neighbours, stamp, degrees, seen, kept, filled):  # type: ignore[no-untyped-def]
    for k in range(begin, end):
        w = np.uint64(neighbours[k])
        is_later = degrees[w] > degrees[v] or (degrees[w] == degrees[v] and w > v)
        if is_later and seen[w] != stamp:
            seen[w] = stamp
            kept[filled] = w
            filled += 1
    return filled


@kernel
def keep_later(  # type: ignore[no-untyped-def]
    vertices, offsets, neighbours, more_offsets, more_neighbours, degrees, seen, kept, sizes
):  # fmt: skip
    """Of each list only what comes after its vertex by degree and number, each neighbour once.
    Returns how much; ``sizes`` says of how much for each. ``seen`` has no number of these vertices.
    """
    filled = 0
    for i in range(len(vertices)):
        v = np.uint64(vertices[i])
        stamp, before = np.uint32(v + np.uint64(1)), filled
        filled = _keep_later(
            v, offsets[i], offsets[i + 1], neighbours, stamp, degrees, seen, kept, filled
        )
        filled = _keep_later(
            v, more_offsets[i], more_offsets[i + 1], more_neighbours, stamp, degrees, seen, kept,
            filled,
        )  # fmt: skip
        sizes[i] = filled - before
    return filled


@kernel
def count_all(begin, end, offsets, later, marks, counts):  # type: ignore[no-untyped-def]
    """Count the triangles whose first corner is in a range of vertices, given the later neighbours
    of all: the other two are later neighbours of it, and one is of the other. ``marks`` is zeros
    before and after.
    """
    for v in range(begin, end):
        for k in range(offsets[v], offsets[v + 1]):
            marks[np.uint64(later[k])] = 1
        for k in range(offsets[v], offsets[v + 1]):
            u = np.uint64(later[k])
            found = 0
            for j in range(offsets[u], offsets[u + np.uint64(1)]):
                w = np.uint64(later[j])
                if marks[w]:
                    counts[w] += 1
                    found += 1
            counts[u] += found
            counts[v] += found
        for k in range(offsets[v], offsets[v + 1]):
            marks[np.uint64(later[k])] = 0
