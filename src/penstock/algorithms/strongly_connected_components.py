"""Strongly connected components: vertices that reach each other.

Returns, for each vertex, the smallest of the user's ids in its strong component.

Method: a vertex without in- or out-edges is alone. From a vertex of many edges on both sides, marks
spread forward, then backward among those: whoever has both is in the *core*, a part of the largest
component in most graphs. This stops when a round brings little; the core need not be complete. What
remains, with the core as one vertex, is copied into memory, where depth-first search finds its
components. If there is no room for that, the search goes over the resident lists as they are; on a
stream, rounds of colouring follow: the smallest number spreads forward as a colour, and whatever of
a colour leads back to its origin is a component.

In memory with both directions, the core is complete: two searches, which go top-down or bottom-up.
Else only the lists of one direction are read (in-lists have the same components): forward, marked
vertices mark their neighbours, and backward, vertices look for a marked one.

Trade-off: depth-first search takes one thread, but what is left for it is little on most graphs,
and long chains cost no passes. Colouring may take many passes where large parts outside of the core
are deep.

Encoding: a byte of marks for each vertex; see the constants. Repeating: marks only say more as they
spread, and a round of colouring begins anew: a step may be repeated on the marks as they are.

Fleischer, Hendrickson, Pinar: "On identifying strongly connected components in parallel", 2000.
Slota, Rajamanickam, Madduri: "BFS and coloring-based parallel algorithms for strongly connected
components and related problems", IPDPS 2014. Orzan: "On distributed verification and verified
distribution", 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.algorithms import _scc_kernels as kernels
from penstock.algorithms._forest import lower
from penstock.algorithms._scc_spread import spread
from penstock.algorithms._strong_check import verify
from penstock.algorithms.connected_components import (
    component_needs,
    label_components,
    smallest_ids,
)
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.checkpoint_file import within
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.frontier import QUEUE_BYTES, SET_BYTES
from penstock.engine.needs import Needs, Room
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.engine.whole_lists import all_lists
from penstock.store.mapped import PART, read_range
from penstock.types import NO_VERTEX, U8, U32, VID, Direction

#: It has edges in and out, and its component is not known.
ACTIVE = np.uint8(1)
#: The core reaches it; it reaches the core.
FORWARD, BACKWARD = np.uint8(2), np.uint8(4)
CORE = np.uint8(FORWARD | BACKWARD)
#: Its neighbours have been marked; of colours, it has a new one.
DONE = np.uint8(8)
#: An edge leads to it from the core.
BESIDE = np.uint8(16)
#: An edge leads to it.
ENTERED = np.uint8(32)

#: A round that marks less than one vertex of so many is the last, and so is this one.
LITTLE = 256
MOST_ROUNDS = 6
#: Bytes for what is copied into memory, for each vertex of the graph: if they can be had, and else.
AMPLE_BYTES, SCANT_BYTES = 48, 20
LEAST_BYTES = 1 << 20
#: Bytes for what is copied: for each vertex of the graph (its place), for each one that is copied
#: (eight numbers and a flag on the way), and for each edge.
PLACE_BYTES, VERTEX_BYTES, EDGE_BYTES = 4, 33, 8
#: Ways to run: with the lists of both directions, or of one, in memory; or on a stream.
BOTH, ONE, STREAM = "both directions", "one direction", "stream"


@dataclass(slots=True)
class _Search:
    """The state of a run."""

    engine: Engine
    marks: U8
    labels: U32
    #: The lists that are read, or read first.
    main: Direction
    pivot: int
    #: Bytes for what is copied into memory.
    room: int

    def settle_pivot(self) -> None:
        """Begin elsewhere if nothing leads to the pivot, as was not known from degrees."""
        if not self.marks[self.pivot] & ACTIVE:
            self.pivot = int(np.argmax(self.marks & ACTIVE))

    def chosen(self, mask: np.uint8, wanted: np.uint8) -> U32:
        """The vertices whose marks, as far as the mask says, are those wanted."""
        return self.engine.select(kernels.choose, self.marks, mask, wanted)

    def traverse(self, vertices: U32, *args: Any, most: int | None = None) -> U32:
        """A kernel over the main lists of vertices."""
        return self.engine.traverse(vertices, *args, direction=self.main, most=most)


def _begin(engine: Engine, room: int) -> _Search:
    """Who is active, as far as degrees tell, and where to begin."""
    graph = engine.graph
    marks: U8 = engine.array("marks", np.uint8, 0)
    labels: U32 = engine.array("labels", VID)
    pivot, most = -1, 0
    for begin in range(0, engine.num_vertices, PART):
        end = min(begin + PART, engine.num_vertices)
        degrees = [
            read_range(graph.degrees(each), begin, end).astype(np.float64)
            for each in graph.directions
        ]
        weight = degrees[0] * degrees[-1]
        marks[begin:end] = ACTIVE * (weight > 0)
        labels[begin:end] = np.arange(begin, end, dtype=VID)
        top = int(np.argmax(weight))
        if weight[top] > most:
            pivot, most = begin + top, weight[top]
    return _Search(engine, marks, labels, graph.directions[0], pivot, room)


def label_strong_components(engine: Engine, room: int) -> U32:
    """A vertex of each vertex's strong component."""
    search = _begin(engine, room)
    phases = [("forward", _forward), ("backward", _backward), ("rest", _rest)]
    if len(engine.graph.directions) == 1:
        phases.insert(0, ("entered", _entered))
    # If there is no room for the rest, which cannot be if the lists are in memory:
    phases += [("all forward", _all_forward), ("all backward", _all_backward), ("rest", _rest)]
    again = [("colours", _colours), ("rest", _rest)]
    engine.options.progress.start("phases", None, "phases")
    arrays = {"marks": search.marks, "labels": search.labels}
    with Recovery(engine, {"algorithm": "strongly_connected_components"}) as recovery:
        saved = recovery.resume(arrays, {"labels": within(0, engine.num_vertices - 1)})
        step = 0 if saved is None else saved[0]
        complete = search.pivot < 0
        while not complete:
            late = step - len(phases)
            name, phase = phases[step] if late < 0 else again[late % 2]
            search.settle_pivot()
            with engine.step(mode=name, active=int(np.count_nonzero(search.marks))):
                complete = phase(search)
            step += 1
            recovery.after(step, arrays, {})
    return search.labels


def _entered(search: _Search) -> bool:
    """Where no in-degrees are stored: only vertices that an edge leads to are active."""
    active = search.chosen(ACTIVE, ACTIVE)
    search.traverse(
        active, kernels.push, search.marks, ACTIVE, ACTIVE, ENTERED, np.uint8(0), most=0
    )
    search.marks *= (search.marks & ENTERED) == ENTERED
    search.marks &= ACTIVE
    return False


def _forward(search: _Search, rounds: int = MOST_ROUNDS, little: int = LITTLE) -> bool:
    """Mark what the pivot reaches, on a stream as far as it takes few rounds."""
    marks = search.marks
    few = len(marks) // little
    marks[search.pivot] |= CORE
    if search.engine.way == BOTH:
        spread(search.engine, marks, search.main, ACTIVE, FORWARD)
        return False
    for k in range(rounds):
        mask = ACTIVE if k == 0 else ACTIVE | FORWARD | DONE
        chosen = search.chosen(mask, mask & ~DONE)
        found = search.traverse(
            chosen, kernels.push, marks, FORWARD, ACTIVE, FORWARD, DONE, most=few
        )
        if len(found) <= few:
            break
    return False


def _backward(search: _Search, rounds: int = MOST_ROUNDS, little: int = LITTLE) -> bool:
    """Mark what reaches the pivot, among vertices that it reaches."""
    if search.engine.way == BOTH:
        other = search.engine.graph.directions[1]
        spread(search.engine, search.marks, other, ACTIVE | FORWARD, BACKWARD)
        return False
    for _ in range(rounds):
        chosen = search.chosen(ACTIVE | CORE, ACTIVE | FORWARD)
        found = search.traverse(chosen, kernels.pull, search.marks, BACKWARD, BACKWARD)
        if len(found) <= len(search.marks) // little:
            break
    return False


def _all_forward(search: _Search) -> bool:
    endless = len(search.marks)
    return _forward(search, endless, endless + 1)


def _all_backward(search: _Search) -> bool:
    """After this the core is a whole component."""
    endless = len(search.marks)
    _backward(search, endless, endless + 1)
    core = search.marks & CORE == CORE
    search.labels[core] = search.pivot
    search.marks[core] = 0
    search.marks &= ACTIVE
    return False


def _rest(search: _Search) -> bool:
    """The components of what is active, with the core as one vertex, by a search in memory; whether
    there was room for it.
    """
    rest = search.chosen(ACTIVE, ACTIVE)
    rest = rest[search.marks[rest] & CORE != CORE]
    copied = _copy(search, rest)
    if copied is None:
        return search.engine.way != STREAM and _search_lists(search)
    offsets, neighbours = copied
    core = len(rest)
    numbers: U32 = np.zeros(core + 1, np.uint32)
    kernels.components(offsets, neighbours, numbers)
    names: U32 = np.empty(core + 1, VID)
    kernels.name(numbers, names)
    of_core = search.marks & CORE == CORE
    search.labels[of_core] = search.pivot
    # The core comes last, so that it names a component only if it is alone in it.
    search.labels[rest] = rest[names[:core]]
    if names[core] < core:
        search.labels[of_core] = rest[names[core]]
    return True


def _copy(search: _Search, rest: U32) -> tuple[U32, U32] | None:
    """The lists of the rest, by places in it; the core is one more vertex at the end. None if there
    is no room for them.
    """
    engine, marks = search.engine, search.marks
    room = search.room - PLACE_BYTES * engine.num_vertices - VERTEX_BYTES * len(rest)
    room = min(room // EDGE_BYTES, NO_VERTEX)
    if room < 0:
        return None
    places: U32 = np.empty(engine.num_vertices, np.uint32)
    places[rest] = np.arange(len(rest), dtype=np.uint32)
    counts: U32 = np.zeros(len(rest) + 1, np.uint32)
    args = (marks, CORE, ACTIVE, places, counts)
    neighbours = search.traverse(rest, kernels.take_edges, *args, most=room)
    if len(neighbours) > room:
        return None
    if engine.way == BOTH:
        other = engine.graph.directions[1]
        engine.traverse(rest, kernels.pull, marks, CORE, BESIDE, direction=other, most=0)
    else:
        core = search.chosen(CORE, CORE)
        search.traverse(core, kernels.push, marks, CORE, ACTIVE, BESIDE, np.uint8(0), most=0)
    beside = np.flatnonzero(marks[rest] & BESIDE).astype(np.uint32)
    counts[-1] = len(beside)
    offsets: U32 = np.zeros(len(counts) + 1, np.uint32)
    np.cumsum(counts, out=offsets[1:], dtype=np.uint32)
    return offsets, np.concatenate([neighbours, beside])


def _search_lists(search: _Search) -> bool:
    """Depth-first search over the resident lists as they are."""
    lists = all_lists(search.engine, search.main)
    numbers: U32 = np.zeros(len(search.marks), np.uint32)
    numbers[search.marks & ACTIVE == 0] = NO_VERTEX
    kernels.components(*lists, numbers)
    kernels.name(numbers, search.labels)
    return True


def _colours(search: _Search) -> bool:
    """Components by colours, at least one of each colour; the others stay active."""
    engine, marks = search.engine, search.marks
    active = frontier = search.chosen(ACTIVE, ACTIVE)
    colours: U32 = engine.array("colours", VID, NO_VERTEX)
    colours[active] = active
    while len(frontier):
        marks &= ACTIVE
        search.traverse(frontier, kernels.push_colours, marks, ACTIVE, DONE, colours, most=0)
        frontier = search.chosen(DONE, DONE)
    marks[active[colours[active] == active]] |= BACKWARD
    found = active
    while len(found):
        chosen = search.chosen(ACTIVE | BACKWARD, ACTIVE)
        found = search.traverse(chosen, kernels.pull_back, marks, BACKWARD, colours)
    engine.map_ranges(kernels.settle_colours, marks, BACKWARD, colours, search.labels)
    engine.free("colours")
    return False


def _requirements(counts: Counts) -> list[Needs]:
    if not counts.directed:
        return component_needs(counts)
    n = counts.num_vertices
    ample, scant = AMPLE_BYTES * n + LEAST_BYTES, SCANT_BYTES * n + LEAST_BYTES
    memory = Needs(
        counts.directions, 0.3, vertex_bytes=5 + SET_BYTES + QUEUE_BYTES, room=Room(ample, ample),
        forms=("memory",), way=BOTH, gathered_bytes=1, work=1.5,
    )  # fmt: skip
    # A stream reads the lists of one direction: forward and backward a little more than once each,
    # for the rest once, and once more if in-degrees are not stored.
    passes = 4.5 if len(counts.directions) == 1 else 3.5
    one = replace(
        memory, directions=counts.directions[:1], passes=passes, vertex_bytes=5,
        room=Room(scant, ample), way=ONE,
    )  # fmt: skip
    stream = replace(one, forms=("stream",), way=STREAM)
    return [memory, one, stream] if len(counts.directions) == 2 else [one, stream]


@algorithm(requirements=_requirements, verify=verify)
def strongly_connected_components(task: Task) -> Result:
    """Strongly connected components: vertices that reach each other along directed edges.

    The values are the smallest id of each vertex's strong component.

    Parameters
    ----------
    graph
        Directed, or not: then strong components are connected components. The lists of one
        direction are enough; both are faster in memory.

    Semantics
    ---------
    direction
        A path follows edges from source to target; an undirected edge leads both ways.
    duplicates
        Make no difference.
    loops
        Make no difference.
    isolates
        A vertex without edges is a component by itself.
    values
        Ids: one of each component stands for it.
    ties
        The smallest id of a component stands for it.
    passes
        About 4 over the lists of one direction on R-MAT graphs; more where the largest component
        and what is outside of it are both large and deep. Of an undirected graph 1.

    Examples
    --------
    >>> import penstock as ps
    >>> g = ps.from_edges([1, 2, 3, 3, 4], [2, 3, 1, 4, 5])
    >>> ps.strongly_connected_components(g).values.tolist()
    [1, 1, 1, 4, 5]
    """
    graph = task.graph
    with task.open() as engine:
        if graph.directed:
            labels = label_strong_components(engine, engine.room)
        else:
            labels = label_components(engine)

    def named() -> U32:
        lower(labels, np.empty_like(labels))
        return smallest_ids(graph, labels)

    return task.result("component", named, more={}, values_are_vids=True)
