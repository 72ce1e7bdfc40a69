"""Core numbers: by peeling in memory, by lowering estimates on a stream.

Peeling takes away, for k = 1, 2, ..., vertices with no more than k neighbours left, until all that
are left have more; degrees are counted down in place and end as core numbers. One thread does it,
in one compiled loop, until vertices wait whose edges are worth several threads; those are then
peeled together, with atomic counts. Vertices are numbered by degree, so the last one left ends the
part of a sorted list that still matters.

On a stream, ``estimates`` begin at the degrees, and an estimate is lowered to the largest k such
that k neighbours have estimates of at least k, until none can be lowered: those are the core
numbers. ``support[v]`` is how many neighbours have estimates of at least v's own (or less: then it
is looked at once too often); only vertices whose support is below their estimate are looked at.
Groups of lists are gathered from low degrees to high ones, and settled among themselves before the
next ones come. A vertex sets its estimate and then counts its support; one that sinks sets its
estimate and then takes support from neighbours. Whichever of two neighbours comes second sees the
other, so no support is ever too high.

Repeating: estimates never sink below core numbers, and a support may be too small, so a step on a
stream may be repeated on the arrays as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.checkpoint_file import within
from penstock.engine.engine import Engine
from penstock.engine.recovery import Recovery
from penstock.engine.sharing import NO_LIMIT, shared_from
from penstock.engine.whole_lists import WholeLists, all_sides
from penstock.jit import atomic_add, compare_and_swap, helper, kernel
from penstock.store.mapped import iter_parts
from penstock.types import I64, U8, U32, VID

I32 = NDArray[np.int32]

#: What the way to run is called that has all lists in memory.
PEELING = "peeling"
#: Bytes of state for each vertex on a stream: estimates and support ...
STREAM_BYTES = 8
#: ... and lists that are gathered, the more the better. With the most of these there is also room
#: for what is needed in memory: degrees, vertices left, a queue, what is found at a time.
LEAST_GATHERED, MOST_GATHERED = 2, 16
#: So many edges of vertices that wait to be peeled are worth several threads.
MANY = 1 << 19
#: Estimates are counted in so many places.
PLACES = 1 << 12
#: So few vertices are settled faster by one thread, which follows chains of them.
FEW = 1 << 12
#: Entries of the state of a peeling: the level, vertices left, the queue's begin and end, the last
#: vertex left, edges that were looked at.
LEVEL, LEFT, HEAD, TAIL, LAST, EDGES = range(6)


def core_numbers(engine: Engine) -> I32:
    """The core number of each vertex."""
    cores: I32 = engine.array("cores", np.int32)
    engine.options.progress.start("steps", None, "steps")
    with Recovery(engine, {"algorithm": "core_number"}) as recovery:
        if engine.way == PEELING:
            recovery.resume({})  # the estimates of a stream are of no use
            _peel_all(engine, cores)
        else:
            _lower_all(engine, cores, recovery)
    return cores


def _set_degrees(engine: Engine, cores: I32) -> None:
    cores.fill(0)
    for direction in engine.directions:
        for begin, degrees in iter_parts(engine.graph.degrees(direction)):
            np.add(
                cores[begin : begin + len(degrees)],
                degrees,
                out=cores[begin : begin + len(degrees)],
                casting="unsafe",
            )


def _peel_all(engine: Engine, cores: I32) -> None:
    graph, directions = engine.graph, engine.directions
    _set_degrees(engine, cores)
    in_order = graph.neighbour_order == "id"
    if graph.description.self_loops:
        for direction in directions:
            engine.scan(_leave_out_loops, cores, in_order, direction=direction)
    left: U32 = engine.array("left", VID)
    queue: U32 = engine.array("queue", VID)
    state: I64 = np.zeros(6, np.int64)
    lists = all_sides(engine)
    state[LEFT] = _begin(cores, left)
    many = shared_from(engine, MANY)
    with engine.step(mode="peel"):
        while _peel(*lists, len(directions), in_order, cores, left, queue, many, state):
            frontier = queue[state[HEAD] : state[TAIL]]
            level, last = np.int32(state[LEVEL]), np.uint32(state[LAST])
            found = [
                engine.traverse(
                    frontier, _peel_some, cores, level, last, in_order, direction=direction
                )
                for direction in directions
            ]
            ends = np.cumsum([0, *map(len, found)])
            for part, begin in zip(found, ends[:-1], strict=True):
                queue[begin : begin + len(part)] = part
            state[HEAD], state[TAIL] = 0, ends[-1]
        engine.count_edges(int(state[EDGES]))
    engine.free("left")
    engine.free("queue")


def _lower_all(engine: Engine, cores: I32, recovery: Recovery) -> None:
    support: I32 = engine.array("support", np.int32, 0)
    whole_lists = WholeLists(engine)
    groups = len(whole_lists.sizes)
    saved_arrays = {"estimates": cores, "support": support}
    rules = {"estimates": within(0, engine.counts.max_degree)}
    saved = recovery.resume(saved_arrays, rules)
    step, position = (0, groups)
    if saved is None:
        _set_degrees(engine, cores)
    else:
        step, position = saved[0], saved[1].whole("position", 0, groups)
    while True:
        flags: U8 = np.zeros(groups, np.uint8)
        engine.map_ranges(_mark_groups, whole_lists.cuts, cores, support, flags)
        waiting = np.flatnonzero(flags)[::-1]
        if len(waiting) == 0:
            break
        below = waiting[waiting < position]
        if len(below) == 0:
            position = groups
            continue
        chosen = below[: max(1, whole_lists.fitting(below))]
        position = int(chosen[-1])
        with engine.step(active=len(chosen)):
            _settle_groups(whole_lists, chosen[::-1], cores, support)
        step += 1
        recovery.after(step, saved_arrays, {"position": position})
    whole_lists.close()
    engine.free("support")


def _settle_groups(whole_lists: WholeLists, groups: Any, cores: I32, support: I32) -> None:
    """Lower estimates of the vertices in some groups until none of them can be lowered."""
    whole = whole_lists.gather(groups.tolist())
    looked = FEW
    while looked:
        share = None if looked >= FEW else NO_LIMIT
        looked = sum(whole_lists.run(whole, _settle, cores, support, share=share))


@kernel
def _leave_out_loops(block, begin, end, degrees, in_order):  # type: ignore[no-untyped-def]
    """Take loops off the degrees; they are side by side in a sorted list."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, stop = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        if in_order:
            last = stop
            while edge < last:
                middle = (edge + last) >> one
                if neighbours[middle] < v:
                    edge = middle + one
                else:
                    last = middle
        loops = 0
        while edge < stop:
            if neighbours[edge] == v:
                loops += 1
            elif in_order:
                break
            edge += one
        if loops > 0:
            atomic_add(degrees, v, np.int32(-loops))


@kernel
def _begin(cores, left):  # type: ignore[no-untyped-def]
    """The vertices that have neighbours; how many."""
    count = np.uint64(0)
    for v in range(np.uint64(len(cores))):
        if cores[v] > 0:
            left[count] = v
            count += np.uint64(1)
    return count


@helper
def _next_level(cores, left, queue, state):  # type: ignore[no-untyped-def]
    """Those of the smallest degree are queued, the others stay; whether there were any."""
    level, count = np.int32(0x7FFFFFFF), np.uint64(state[LEFT])
    before, one = np.int32(state[LEVEL]), np.uint64(1)
    for i in range(count):
        degree = cores[left[i]]
        if degree > before:
            level = min(level, degree)
    kept, tail = np.uint64(0), np.uint64(0)
    for i in range(count):
        v = left[i]
        degree = cores[v]
        if degree > level:
            left[kept] = v
            kept += one
        elif degree == level:
            queue[tail] = v
            tail += one
    state[LEVEL], state[LEFT], state[HEAD], state[TAIL] = level, kept, 0, tail
    state[LAST] = left[kept - one] if kept > 0 else 0
    return tail > 0


@kernel
def _peel(  # type: ignore[no-untyped-def]
    offsets, neighbours, in_offsets, in_neighbours, sides, in_order, cores, left, queue, many, state
):
    """Peel until all is done, or the lists of those that wait have ``many`` edges (True)."""
    one, edges = np.uint64(1), np.uint64(0)
    while state[HEAD] < state[TAIL] or _next_level(cores, left, queue, state):
        head, tail = np.uint64(state[HEAD]), np.uint64(state[TAIL])
        level, last = np.int32(state[LEVEL]), np.uint32(state[LAST])
        most = np.uint64(many // level)
        while head < tail and tail - head <= most:
            round_ends = tail
            for side in range(sides):
                ends, listed = (offsets, neighbours) if side == 0 else (in_offsets, in_neighbours)
                for i in range(head, round_ends):
                    v = np.uint64(queue[i])
                    edge, stop = np.uint64(ends[v]), np.uint64(ends[v + one])
                    edges -= edge
                    while edge < stop:
                        u = listed[edge]
                        if in_order and u > last:
                            break
                        degree = cores[u]
                        if degree > level:
                            cores[u] = degree - np.int32(1)
                            if degree - np.int32(1) == level:
                                queue[tail] = u
                                tail += one
                        edge += one
                    edges += edge
            head = round_ends
        state[HEAD], state[TAIL] = head, tail
        if head < tail:
            break
    state[EDGES] += np.int64(edges)
    return state[HEAD] < state[TAIL]


@kernel
def _peel_some(block, vertices, found, cores, level, last, in_order):  # type: ignore[no-untyped-def]
    """The same for some vertices, beside other threads; who sinks to the level is found."""
    offsets, neighbours = block.offsets, block.neighbours
    one, count = np.uint64(1), np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        edge, stop = np.uint64(offsets[v]), np.uint64(offsets[v + one])
        while edge < stop:
            u = np.uint64(neighbours[edge])
            if in_order and u > last:
                break
            if cores[u] > level:
                before = atomic_add(cores, u, np.int32(-1))
                if before == level + np.int32(1):
                    found[count] = u
                    count += one
                elif before <= level:  # another thread was faster
                    atomic_add(cores, u, np.int32(1))
            edge += one
    return count


@kernel
def _mark_groups(begin, end, cuts, cores, support, flags):  # type: ignore[no-untyped-def]
    """Mark the groups of a range that have vertices to look at."""
    group = np.searchsorted(cuts, begin, side="right") - 1
    v = begin
    while v < end:
        if support[v] < cores[v]:
            flags[group] = 1
            v = cuts[group + 1]
        else:
            v += 1
        while v < end and v >= cuts[group + 1]:
            group += 1


@helper
def _supported(neighbours, begin, end, v, cores, places):  # type: ignore[no-untyped-def]
    """The largest k, at most v's estimate, such that k neighbours have estimates of at least k."""
    low, high = np.int64(0), np.int64(cores[v])
    one, most = np.uint64(1), np.int64(len(places) - 1)
    while high - low > most:
        middle = (low + high + 1) // 2
        count, edge = 0, begin
        while edge < end:
            count += np.int64(cores[neighbours[edge]] >= middle and neighbours[edge] != v)
            edge += one
        if count >= middle:
            low = middle
        else:
            high = middle - 1
    places[: high - low + 1] = 0
    edge = begin
    while edge < end:
        u = neighbours[edge]
        if u != v:
            places[max(min(np.int64(cores[u]), high) - low, 0)] += 1
        edge += one
    k, count = high, np.int64(places[high - low])
    while k > low and count < k:
        k -= 1
        count += np.int64(places[k - low])
    return k


@kernel
def _settle(begin, end, vertices, offsets, neighbours, cores, support):  # type: ignore[no-untyped-def]
    """Lower the estimates of vertices, from the last to the first, that have too little support,
    and then of those among them that lose it on the way; how many there were.
    """
    places = np.zeros(PLACES, np.int64)
    room, one = np.uint64(end - begin), np.uint64(1)
    queue = np.empty(room, np.uint32)  # in a circle; none is in it twice
    waiting, head, looked = np.uint64(0), np.uint64(0), 0
    for i in range(room):
        at = np.uint64(end) - one - i
        if support[vertices[at]] < cores[vertices[at]]:
            queue[waiting] = at
            waiting += one
    mine = vertices[begin:end]
    low, high = mine[0], mine[-1]
    while waiting > 0:
        at = np.uint64(queue[head])
        head = (head + one) % room
        waiting -= one
        v = np.uint64(vertices[at])
        first, stop = np.uint64(offsets[at]), np.uint64(offsets[at + one])
        before = cores[v]
        k = np.int32(_supported(neighbours, first, stop, v, cores, places))
        support[v] = 0
        compare_and_swap(cores, v, before, k)  # nothing is moved across it
        count, edge = np.int32(0), first
        while edge < stop:
            u = neighbours[edge]
            edge += one
            estimate = cores[u]
            if estimate < k or u == v:
                continue
            count += np.int32(1)
            if estimate == k or estimate > before:
                continue
            if atomic_add(support, u, np.int32(-1)) == estimate and low <= u and u <= high:
                place = np.searchsorted(mine, u)
                if mine[place] == u:
                    queue[(head + waiting) % room] = np.uint64(begin) + np.uint64(place)
                    waiting += one
        if atomic_add(support, v, count) + count < k:
            queue[(head + waiting) % room] = at
            waiting += one
        looked += 1
    return looked
