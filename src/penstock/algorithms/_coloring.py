"""Greedy colouring: vertices in an order take the smallest colour that no neighbour has yet.

One thread colours, in one compiled loop: a vertex has to wait for all neighbours before it, which
makes long chains of the dense part of a graph, and what is to be done for an edge is one look at a
colour. On a stream, the next vertices of the order are a *window*: their lists are read, by all
threads, and what is known of them then is kept, a bit for each colour that a neighbour from an
earlier window has, and the neighbours before it in the same window. They are coloured from that. So
the pages are read once for each window. If the order is that of the pages, and a page has all there
is to know of its vertices, the lists are coloured as they come: the pages are read once in all.

``colours[v]`` is -1 until v has a colour, and -2 - i for vertex i of the window; who has a colour
comes before.

How many edges a window has inside is guessed; if there is no room for some of them, it ends before
the first vertex that has one of those.

Repeating: a window may be repeated once its vertices are -1 again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.engine.checkpoint_file import within
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Room
from penstock.engine.ordered import best_end, scan_in_order
from penstock.engine.recovery import Recovery
from penstock.engine.whole_lists import all_sides, degrees_of
from penstock.jit import atomic_add, compare_and_swap, helper, kernel
from penstock.types import I64, U32, VID

I32 = NDArray[np.int32]

#: What the way to run is called that has all lists in memory.
IN_MEMORY = "in memory"
#: Bytes of state for each vertex: colours (degrees, on the way to an order), an order ...
STATE_BYTES = 8
#: ... and what is known of the vertices of a window, the more the better.
LEAST_WINDOW, MOST_WINDOW = 2, 16
#: Words for each vertex of a window, besides bits and neighbours: its number, where its bits and
#: its neighbours begin, and some on the way.
VERTEX_WORDS = 8
#: Parts of lists that a window has room for, besides one for each vertex.
SOME_PARTS = 256
#: Instead of where its neighbours begin: there are none; there was no room for some.
NONE, LOST = 0xFFFFFFFF, 0xFFFFFFFE
#: Vertices that are coloured in a step, in memory.
STEP_VERTICES = 1 << 22


def window_room(counts: Counts) -> Room:
    """The bytes that a window may take, at least those of a vertex."""
    least = max(4 * (counts.max_degree // 32 + 2 * (SOME_PARTS + VERTEX_WORDS)), 1 << 14)
    least = max(least, LEAST_WINDOW * counts.num_vertices)
    return Room(least, min(max(MOST_WINDOW * counts.num_vertices, least), 4 * LOST))


def color_greedily(engine: Engine, order: U32 | None, identity: dict[str, object]) -> I32:
    """The colour of each vertex."""
    n = engine.num_vertices
    colours: I32 = engine.array("colours", np.int32, -1)
    if order is not None:
        engine.hold("order", order.nbytes)
    streamed = engine.way != IN_MEMORY
    in_order = order is None and engine.graph.neighbour_order == "id"
    as_they_come = streamed and in_order and len(engine.directions) == 1
    windows = None
    if streamed and not as_they_come:
        windows = _Windows(engine, order, engine.take_room("window") // 4, colours)
    taken: U32 = np.zeros(engine.counts.max_degree + 2 if windows is None else 0, np.uint32)
    engine.options.progress.start("vertices", None, "windows")
    with Recovery(engine, {"algorithm": "color", **identity}) as recovery:
        rules = {"colours": within(-1, engine.counts.max_degree)}
        saved = recovery.resume({"colours": colours}, rules)
        step, begin = (0, 0) if saved is None else (saved[0], saved[1].whole("position", 0, n))
        while begin < n:
            with engine.step() as row:
                if as_they_come:
                    # Vertex after vertex, while what comes next is read.
                    direction = engine.directions[0]
                    args = (colours, taken)
                    scan_in_order(engine, _color_lists, *args, direction=direction, first=begin)
                    end = n
                elif windows is None:
                    end = _color_resident(engine, order, begin, colours, taken)
                else:
                    end = windows.color(begin)
                row["active"] = end - begin
            begin, step = end, step + 1
            recovery.after(step, {"colours": colours}, {"position": begin})
    return colours


def _color_resident(engine: Engine, order: U32 | None, begin: int, colours: I32, taken: U32) -> int:
    """Colour some vertices over lists in memory; where they end in the order."""
    graph, n = engine.graph, engine.num_vertices
    end = min(begin + STEP_VERTICES, n)
    vertices = np.arange(begin, end, dtype=VID) if order is None else order[begin:end]
    in_order = order is None and graph.neighbour_order == "id"
    sides = len(engine.directions)
    args = (*all_sides(engine), sides, in_order, begin, colours, taken)
    engine.count_edges(engine.call(_color, vertices, *args))
    return end


@dataclass(slots=True)
class _Windows:
    """Windows of an order, one after the other."""

    engine: Engine
    order: U32 | None
    words: int
    colours: I32
    #: Edges inside windows, over as many as there would be if all ends met at random.
    density: float = 1.0
    #: How many those would be in this window.
    expected: float = 1.0

    #: Whether the neighbours that come before a vertex are at the beginning of its list.
    in_order: bool = False

    def __post_init__(self) -> None:
        neighbour_order = self.engine.graph.neighbour_order
        self.in_order = self.order is None and neighbour_order == "id"

    def color(self, begin: int) -> int:
        """Colour the next window; where it ends in the order."""
        window, vertices, bits = self._choose(begin)
        known: U32 = np.zeros(self.words - VERTEX_WORDS * len(window), np.uint32)
        heads: U32 = np.full(len(window), NONE, np.uint32)
        cursor: I64 = np.array([bits[-1]], np.int64)
        for direction in self.engine.graph.directions:
            self.engine.traverse(
                vertices,
                _learn,
                self.colours,
                self.in_order,
                bits,
                known,
                heads,
                cursor,
                direction=direction,
            )
        # What there was no room for is counted, too.
        self.density = max(1.25 * int(cursor[0] - bits[-1]) / self.expected, 0.1)
        args = (self.colours, bits, known, heads)
        return begin + int(self.engine.call(_color_window, window, *args))

    def _choose(self, begin: int) -> tuple[U32, U32, I64]:
        """The vertices of the next window, in order and ascending; where the bits of each begin."""
        engine, graph, colours = self.engine, self.engine.graph, self.colours
        end = min(begin + max(self.words // VERTEX_WORDS, 1), engine.num_vertices)
        window = np.arange(begin, end, dtype=VID) if self.order is None else self.order[begin:end]
        colours[window] = np.arange(-2, -2 - len(window), -1, dtype=np.int32)
        vertices = window if self.order is None else np.sort(window)
        places = -2 - colours[vertices]
        degrees: U32 = np.zeros(len(window), np.uint32)
        for direction in graph.directions:
            degrees[places] += degrees_of(graph, direction, vertices)
        bits: I64 = np.zeros(len(window) + 1, np.int64)
        meeting = 0.25 / max(graph.num_edges, 1)
        fits = int(_fit(degrees, bits, meeting * self.density, len(graph.directions), self.words))
        if self.order is None:
            fits = best_end(engine, begin, begin + fits) - begin
        self.expected = meeting * float(degrees[:fits].sum(dtype=np.int64)) ** 2 + 1
        colours[window[fits:]] = -1
        return window[:fits], vertices[places < fits], bits[: fits + 1]


@kernel
def _color(  # type: ignore[no-untyped-def]
    vertices, offsets, neighbours, in_offsets, in_neighbours, sides, in_order, number,
    colours, taken,
):  # fmt: skip
    """Colour vertices one after the other; how many edges were looked at. ``taken`` holds for each
    colour the number of the last vertex that could not have it; the first one here is ``number``.
    """
    one, edges = np.uint64(1), np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v, place = vertices[i], np.uint64(vertices[i])
        mine = np.uint32(np.uint64(number) + i + one)
        edge, end = np.uint64(offsets[place]), np.uint64(offsets[place + one])
        edges -= edge
        while edge < end:
            u = neighbours[edge]
            if in_order and u > v:
                break
            if colours[u] >= 0:
                taken[colours[u]] = mine
            edge += one
        edges += edge
        if sides == 2:
            edge, end = np.uint64(in_offsets[place]), np.uint64(in_offsets[place + one])
            edges -= edge
            while edge < end:
                u = in_neighbours[edge]
                if in_order and u > v:
                    break
                if colours[u] >= 0:
                    taken[colours[u]] = mine
                edge += one
            edges += edge
        colour = np.uint64(0)
        while taken[colour] == mine:
            colour += one
        colours[v] = np.int32(colour)
    return np.int64(edges)


@kernel
def _color_lists(block, begin, end, colours, taken):  # type: ignore[no-untyped-def]
    """Colour vertices whose smaller neighbours have colours. A part of a list does so with what it
    and the parts before it have; the last one is right.
    """
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    for v in range(np.uint64(begin), np.uint64(end)):
        mine = np.uint32(v + one)
        edge, stop = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        while edge < stop and np.uint64(neighbours[edge]) < v:
            taken[colours[neighbours[edge]]] = mine
            edge += one
        colour = np.uint64(0)
        while taken[colour] == mine:
            colour += one
        colours[v] = np.int32(colour)


@kernel
def _fit(degrees, bits, meeting, sides, words):  # type: ignore[no-untyped-def]
    """How many vertices, of these degrees, a window has room for, and where their bits begin. Of
    the pairs of their ends, a share are expected to be ``meeting`` in an edge.
    """
    ends = 0.0
    for i in range(len(degrees)):
        ends += degrees[i]
        bits[i + 1] = bits[i] + np.int64(degrees[i] // np.uint32(32)) + 1
        inside = np.int64(min(ends, ends * ends * meeting))
        # Each list, and each part of one in a page, has two words of its own.
        inside += 2 * (sides * (i + 1) + SOME_PARTS)
        if i > 0 and bits[i + 1] + inside + VERTEX_WORDS * (i + 1) > words:
            return i
    return len(degrees)


@helper
def _set_bit(known, at, bit):  # type: ignore[no-untyped-def]
    """Set a bit beside other threads, which may be at other parts of the same list."""
    mask = np.uint32(1) << np.uint32(bit)
    before = known[at]
    while before & mask == 0:
        seen = compare_and_swap(known, at, before, np.uint32(before | mask))
        if seen == before:
            return
        before = seen


@kernel
def _learn(block, vertices, found, colours, in_order, bits, known, heads, cursor):  # type: ignore[no-untyped-def]
    """Keep of the lists of vertices in the window what their colours depend on: which colours
    neighbours have, and who is before them in the window. The latter are behind the bits, as chains
    of parts: the next one, the length, the neighbours.
    """
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        mine = colours[v]
        place = np.uint64(-2 - mine)
        low = np.uint64(bits[place])
        most = (np.uint64(bits[place + one]) - low) << np.uint64(5)
        count = np.uint64(0)
        edge, end = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        while edge < end:
            u = neighbours[edge]
            if in_order and u > v:
                break
            colour = colours[u]
            if colour >= 0:
                if np.uint64(colour) < most:
                    _set_bit(known, low + (np.uint64(colour) >> np.uint64(5)), colour & 31)
            elif colour < -1 and colour > mine:
                found[count] = u
                count += one
            edge += one
        if count == 0:
            continue
        start = np.uint64(atomic_add(cursor, 0, np.int64(count) + 2))
        fits = start + count + np.uint64(2) <= np.uint64(len(known))
        if fits:
            known[start + one] = count
            for k in range(count):
                known[start + np.uint64(2) + k] = found[k]
        behind = heads[place]
        while behind != LOST:
            if fits:
                known[start] = behind
            seen = compare_and_swap(heads, place, behind, np.uint32(start if fits else LOST))
            if seen == behind:
                break
            behind = seen
    return 0


@kernel
def _color_window(window, colours, bits, known, heads):  # type: ignore[no-untyped-def]
    """Colour vertices of the window from what is known of them, up to the first of which that is
    not enough; how many.
    """
    one, done = np.uint64(1), np.uint64(0)
    while done < np.uint64(len(window)) and heads[done] != LOST:
        low, end = np.uint64(bits[done]), np.uint64(bits[done + one])
        part = heads[done]
        while part != NONE:
            begin = np.uint64(part) + np.uint64(2)
            for k in range(begin, begin + np.uint64(known[np.uint64(part) + one])):
                colour = np.uint64(colours[known[k]])
                at = low + (colour >> np.uint64(5))
                if at < end:
                    known[at] |= np.uint32(1) << np.uint32(colour & np.uint64(31))
            part = known[part]
        at = low
        while known[at] == 0xFFFFFFFF:
            at += one
        colour = (at - low) << np.uint64(5)
        while (known[at] >> np.uint32(colour & np.uint64(31))) & np.uint32(1):
            colour += one
        colours[window[done]] = np.int32(colour)
        done += one
    for k in range(done, np.uint64(len(window))):
        colours[window[k]] = -1
    return done
