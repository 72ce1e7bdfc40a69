"""Orders to color nodes in, and the colors themselves, over lists by place."""

from __future__ import annotations

import heapq

import numpy as np

from penstock.jit import helper, kernel


@kernel
def color_in_order(order, offsets, neighbours):  # type: ignore[no-untyped-def]
    """The color of each place of ``order``: the smallest that none of its neighbours has; -1 at
    places that are not in it.
    """
    n = len(offsets) - 1
    colors = np.full(n, -1, np.int64)
    seen_by = np.full(n + 1, -1, np.int64)
    for turn in range(len(order)):
        place = order[turn]
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            color = colors[np.int64(neighbours[entry])]
            if color >= 0:
                seen_by[color] = turn
        color = 0
        while seen_by[color] == turn:
            color += 1
        colors[place] = color
    return colors


@kernel
def components(offsets, neighbours):  # type: ignore[no-untyped-def]
    """All places breadth first, component after component, and where each of them begins."""
    n = len(offsets) - 1
    order, starts = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    seen = np.zeros(n, np.bool_)
    end, found = 0, 0
    for place in range(n):
        if seen[place]:
            continue
        starts[found] = end
        found += 1
        end = _breadth_first(place, offsets, neighbours, seen, order, end)
    starts[found] = n
    return order, starts[: found + 1]


@kernel
def traversal(sources, depth_first, offsets, neighbours):  # type: ignore[no-untyped-def]
    """All places in the order in which they are found from a source in each component."""
    n = len(offsets) - 1
    order = np.empty(n, np.int64)
    seen = np.zeros(n, np.bool_)
    path, next_entry = np.empty(n, np.int64), np.empty(n, np.int64)
    end = 0
    for source in sources:
        if depth_first:
            end = _depth_first(source, offsets, neighbours, seen, order, end, path, next_entry)
        else:
            end = _breadth_first(source, offsets, neighbours, seen, order, end)
    return order


@helper
def _breadth_first(source, offsets, neighbours, seen, order, end):  # type: ignore[no-untyped-def]
    seen[source] = True
    order[end] = source
    at, end = end, end + 1
    while at < end:
        place = order[at]
        at += 1
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            if not seen[other]:
                seen[other] = True
                order[end] = other
                end += 1
    return end


@helper
def _depth_first(  # type: ignore[no-untyped-def]
    source, offsets, neighbours, seen, order, end, path, next_entry
):
    seen[source] = True
    order[end] = source
    end += 1
    path[0], next_entry[0] = source, np.int64(offsets[source])
    depth = 0
    while depth >= 0:
        place, entry = path[depth], next_entry[depth]
        if entry == np.int64(offsets[place + 1]):
            depth -= 1
            continue
        next_entry[depth] = entry + 1
        other = np.int64(neighbours[entry])
        if not seen[other]:
            seen[other] = True
            order[end] = other
            end += 1
            depth += 1
            path[depth], next_entry[depth] = other, np.int64(offsets[other])
    return end


@kernel
def smallest_last(offsets, neighbours):  # type: ignore[no-untyped-def]
    """The places so that each has the fewest neighbours among those before it and itself. Lists
    are the same from both ends. Of equal ones the first, or the one that last lost a neighbour, is
    last.
    """
    n = len(offsets) - 1
    degrees = np.zeros(n, np.int64)
    for place in range(n):
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            degrees[place] += np.int64(neighbours[entry]) != place
    # Places of a degree are a ring through an anchor, n + degree.
    anchors = n + (degrees.max() if n else 0) + 1
    following, before = np.arange(anchors), np.arange(anchors)
    for place in range(n - 1, -1, -1):
        _enter(place, n + degrees[place], following, before)
    order = np.empty(n, np.int64)
    fewest = 0
    for rank in range(n - 1, -1, -1):
        while following[n + fewest] == n + fewest:
            fewest += 1
        place = following[n + fewest]
        _leave(place, following, before)
        degrees[place] = -1
        order[rank] = place
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            if degrees[other] > 0:
                _leave(other, following, before)
                degrees[other] -= 1
                _enter(other, n + degrees[other], following, before)
                fewest = min(fewest, degrees[other])
    return order


@helper
def _enter(place, anchor, following, before):  # type: ignore[no-untyped-def]
    following[place], before[place] = following[anchor], anchor
    before[following[anchor]] = place
    following[anchor] = place


@helper
def _leave(place, following, before):  # type: ignore[no-untyped-def]
    following[before[place]] = following[place]
    before[following[place]] = before[place]


@kernel
def independent_sets(  # type: ignore[no-untyped-def]
    offsets, neighbours, both_offsets, both_neighbours, loop_counts
):
    """All places, one maximal independent set of those that are left after another. Into a set come
    places of the smallest degree among those that still can, the first of equal ones; degrees are
    of the second lists.
    """
    n = len(offsets) - 1
    order = np.empty(n, np.int64)
    left, candidate = np.ones(n, np.bool_), np.empty(n, np.bool_)
    degrees = np.empty(n, np.int64)
    found = 0
    while found < n:
        candidate[:] = left
        heap = [np.int64(0) for _ in range(0)]
        for place in range(n):
            if not left[place]:
                continue
            degrees[place] = 0
            for entry in range(np.int64(both_offsets[place]), np.int64(both_offsets[place + 1])):
                other = np.int64(both_neighbours[entry])
                if left[other]:
                    degrees[place] += loop_counts if other == place else 1
            heap.append(degrees[place] * n + place)
        heapq.heapify(heap)
        while len(heap):
            key = heapq.heappop(heap)
            place = key % n
            if not candidate[place] or degrees[place] != key // n:
                continue
            order[found] = place
            found += 1
            left[place] = False
            _retire(place, both_offsets, both_neighbours, candidate, degrees, heap)
            for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
                other = np.int64(neighbours[entry])
                if candidate[other]:
                    _retire(other, both_offsets, both_neighbours, candidate, degrees, heap)
    return order


@helper
def _retire(place, offsets, neighbours, candidate, degrees, heap):  # type: ignore[no-untyped-def]
    """A place is no candidate any more, and does not count in the degrees of others."""
    candidate[place] = False
    for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
        other = np.int64(neighbours[entry])
        if candidate[other]:
            degrees[other] -= 1
            heapq.heappush(heap, degrees[other] * len(candidate) + other)


@kernel
def saturation(by_degree, offsets, neighbours):  # type: ignore[no-untyped-def]
    """The order in which places are colored if the next is always that with the most colors around
    it, of equal ones the first in ``by_degree``.
    """
    n = len(by_degree)
    ranks = np.empty(n, np.int64)
    ranks[by_degree] = np.arange(n)
    order = np.empty(n, np.int64)
    colors = np.full(n, -1, np.int64)
    counts = np.zeros(n, np.int64)
    # One bit for each color that is around a place.
    around = np.zeros((n, 1), np.uint64)
    heap = [np.int64(rank) for rank in range(n)]
    found = 0
    while found < n:
        key = heapq.heappop(heap)
        place = by_degree[key % n]
        # Keys are rank - n * count; every count but the last is out of date.
        if colors[place] >= 0 or key != ranks[place] - n * counts[place]:
            continue
        order[found] = place
        found += 1
        color = _first_free(place, colors, offsets, neighbours)
        colors[place] = color
        word, bit = color >> 6, np.uint64(1) << np.uint64(color & 63)
        if word == around.shape[1]:
            wider = np.zeros((n, 2 * word), np.uint64)
            wider[:, :word] = around
            around = wider
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            if colors[other] < 0 and not around[other, word] & bit:
                around[other, word] |= bit
                counts[other] += 1
                heapq.heappush(heap, ranks[other] - n * counts[other])
    return order, colors


@helper
def _first_free(place, colors, offsets, neighbours):  # type: ignore[no-untyped-def]
    """The smallest color that no neighbour has."""
    begin, end = np.int64(offsets[place]), np.int64(offsets[place + 1])
    taken = np.zeros(end - begin + 1, np.bool_)
    for entry in range(begin, end):
        color = colors[np.int64(neighbours[entry])]
        if 0 <= color < len(taken):
            taken[color] = True
    color = 0
    while taken[color]:
        color += 1
    return color


@kernel
def color_with_interchange(order, offsets, neighbours):  # type: ignore[no-untyped-def]
    """The color of each place of ``order``. Where a new one would be needed, two colors change
    places in a part of the graph if that frees one of them. Lists are the same from both ends.
    """
    n = len(offsets) - 1
    colors = np.full(n, -1, np.int64)
    near, reached = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    frontier = np.empty(n, np.int64)
    largest, search = 0, 0
    for place in order:
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            near[np.int64(neighbours[entry])] = place
        color = _first_free(place, colors, offsets, neighbours)
        joined = color > largest
        first = -1
        while joined and first < largest:
            first += 1
            second = first
            while joined and second < largest:
                second += 1
                search += 1
                count = _reach(
                    place, first, second, search, offsets, neighbours, colors, near, reached,
                    frontier,
                )  # fmt: skip
                joined = count < 0
        if color > largest and not joined:
            for k in range(count):
                other = frontier[k]
                colors[other] = second if colors[other] == first else first
            color = first
        colors[place] = color
        largest = max(largest, color)
    return colors


@helper
def _reach(  # type: ignore[no-untyped-def]
    place, first, second, search, offsets, neighbours, colors, near, reached, frontier
):
    """How many places of two colors are reached from the neighbours that have the first one; -1 if
    there is a neighbour with the second one among them.
    """
    end = 0
    for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
        other = np.int64(neighbours[entry])
        if colors[other] == first and reached[other] != search:
            reached[other] = search
            frontier[end] = other
            end += 1
    at = 0
    while at < end:
        found = frontier[at]
        at += 1
        opposite = second if colors[found] == first else first
        for entry in range(np.int64(offsets[found]), np.int64(offsets[found + 1])):
            other = np.int64(neighbours[entry])
            if colors[other] != opposite or reached[other] == search:
                continue
            if opposite == second and near[other] == place:
                return -1
            reached[other] = search
            frontier[end] = other
            end += 1
    return end
