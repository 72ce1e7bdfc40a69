"""Communities by label propagation (CDLP of LDBC Graphalytics).

Returns, for each vertex, one of the user's ids as the label of its community.

Method: synchronous rounds. At first every vertex has its own id as label; in a round it takes the
label that is most frequent among its neighbours, the smallest of equally frequent ones. Labels are
ranks of ids inside, so that they take four bytes and compare as ids do. Labels are counted in a
short list or a hash table; see ``_labels``.

Lists are needed whole, and those of both directions at once: on a stream, the lists of consecutive
vertices are copied into memory until there is no more room, counted, and thrown away. A round reads
every page once (one at a border between two such ranges may be read twice).

Trade-off: room for the longest list, and storage idles while labels are counted.

Repeating: a round reads old labels and writes new ones elsewhere.

Iosup et al.: "LDBC Graphalytics: a benchmark for large-scale graph analysis on parallel and
distributed platforms", VLDB 2016. Raghavan, Albert, Kumara: "Near linear time algorithm to detect
community structures in large-scale networks", Phys. Rev. E 2007.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from penstock.algorithms import _labels as kernels
from penstock.algorithms._labels_check import verify
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.checkpoint_file import within
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.parameters import check_max_iter
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.store.mapped import PART, iter_parts, read_range
from penstock.stream.lists import Piece
from penstock.stream.resident import ResidentLists
from penstock.types import U32, VID, Array, Direction

#: Edges that are copied into memory at a time: an eighth of all, but not fewer nor more than this.
LEAST_ROOM, MOST_ROOM = 1 << 17, 1 << 22
#: Edges that a thread counts at a time, if no list is longer.
SHARE = 1 << 15
#: Bytes of a hash table for each label that there may be, at most.
TABLE_BYTES = 32
#: Threads that may work on lists longer than a share at once, and on others, as memory counts.
LONG_AT_ONCE, SHARES = 2, 8


class _Lists(NamedTuple):
    """Lists of consecutive vertices in memory."""

    offsets: Array
    neighbours: U32


def propagate(engine: Engine, max_iter: int) -> U32:
    """The label of each vertex, as a rank of ids."""
    graph = engine.graph
    labels: U32 = engine.array("labels", VID)
    new: U32 = engine.array("new labels", VID)
    engine.map_ranges(kernels.number, labels)
    if graph.vid_of_rank is not None:
        for begin, part in iter_parts(graph.vid_of_rank):
            labels[part] = np.arange(begin, begin + len(part), dtype=VID)
    cuts = [0, engine.num_vertices] if engine.is_resident() else _cuts(engine)
    engine.options.progress.start("rounds", max_iter, "rounds")
    identity = {"algorithm": "label_propagation", "max_iter": max_iter}
    with Recovery(engine, identity) as recovery:
        n = engine.num_vertices
        saved = recovery.resume({"labels": labels}, {"labels": within(0, n - 1)})
        step, changed = (0, n) if saved is None else (saved[0], saved[1].whole("left", 0, n))
        while step < max_iter and changed:
            with engine.step(active=changed):
                changed = _round(engine, cuts, labels, new)
            labels, new = new, labels
            step += 1
            recovery.after(step, {"labels": labels}, {"left": changed})
    engine.facts["converged"] = changed == 0
    return labels


def _cuts(engine: Engine) -> list[int]:
    """Ranges of vertices whose lists there is room for."""
    graph = engine.graph
    cuts, room = [0], _room(engine.counts)
    state = np.zeros(5, np.int64)
    starts = graph.page_table("out")["first_vid"]
    for begin in range(0, graph.num_vertices, PART):
        end = min(begin + PART, graph.num_vertices)
        degrees = sum(
            read_range(graph.degrees(each), begin, end).astype(np.int64)
            for each in engine.counts.both_ways
        )
        cuts += kernels.fill(degrees, begin, starts, room, state).tolist()
    return [*cuts, graph.num_vertices]


def _room(counts: Counts) -> int:
    """Edges that are copied into memory at a time, if no list is longer."""
    edges = sum(each.num_edges for each in counts.lists.values())
    return min(max(edges // 8, LEAST_ROOM), MOST_ROOM)


def _round(engine: Engine, cuts: list[int], labels: U32, new: U32) -> int:
    """New labels from old ones; how many differ."""
    changed = 0
    starts = [0, 0]
    for begin, end in pairwise(cuts):
        lists = []
        for k, direction in enumerate(engine.counts.both_ways):
            lists.append(_load(engine, direction, begin, end, starts[k]))
            starts[k] += len(lists[k].neighbours)
        changed += _vote(engine, begin, lists, labels, new)
    return changed


def _load(engine: Engine, direction: Direction, begin: int, end: int, start: int) -> _Lists:
    """The lists of vertices in memory; their edges begin at place ``start`` among all edges."""
    lists = engine.lists(direction)
    if isinstance(lists, ResidentLists):
        return _Lists(lists.block.offsets, lists.block.neighbours)
    offsets: U32 = np.zeros(end - begin + 1, np.uint32)
    degrees = read_range(engine.graph.degrees(direction), begin, end)
    np.cumsum(degrees, out=offsets[1:], dtype=np.uint32)
    neighbours: U32 = np.empty(int(offsets[-1]), np.uint32)
    table = lists.table

    def copy(stream: int, piece: Piece) -> None:
        block, low, high = piece.block, max(piece.begin, begin), min(piece.end, end)
        if low < high:
            a, b = (int(block.offsets[v - block.first]) for v in (low, high))
            place = int(table[piece.page]["first_edge"]) - start
            neighbours[place + a : place + b] = block.neighbours[a:b]

    ends = table["first_vid"] + table["num_vertices"]
    low = int(np.searchsorted(ends, begin, side="right"))
    high = int(np.searchsorted(table["first_vid"], end))
    lists.scan(copy, pages=range(low, high))
    return _Lists(offsets, neighbours)


def _vote(engine: Engine, base: int, lists: list[_Lists], labels: U32, new: U32) -> int:
    """New labels of the vertices whose lists these are; how many differ."""
    offsets, neighbours = lists[0]
    others, other_neighbours = np.broadcast_to(offsets[:1], len(offsets)), neighbours
    if len(lists) == 2:
        others, other_neighbours = lists[1]
    cuts = kernels.cut(offsets, others, SHARE).tolist()
    one_of_few = threading.Semaphore(LONG_AT_ONCE)

    def work(stream: int, piece: tuple[int, int]) -> int:
        begin, end = piece
        edges = sum(int(each[end]) - int(each[begin]) for each in (offsets, others))
        engine.metrics.per_stream[stream].edges_traversed += edges
        # Their tables are large.
        turn = one_of_few if edges > 2 * SHARE else nullcontext()
        with turn, engine.metrics.timed("kernel", stream):
            changed: int = kernels.vote(
                begin, end, base, offsets, neighbours, others, other_neighbours, labels, new
            )
        return changed

    return sum(engine.workers.run(work, list(pairwise(cuts))))


def _requirements(counts: Counts, max_iter: int) -> list[Needs]:
    check_max_iter(max_iter)
    longest = sum(counts.of(each).max_degree for each in counts.both_ways)
    room = 4 * max(_room(counts), longest + kernels.VERTEX_ROOM)
    tables = TABLE_BYTES * (LONG_AT_ONCE * longest + SHARES * min(2 * SHARE, longest))
    # Pages at the border between two ranges are read twice, if those of "out" do not end there.
    passes = max_iter * (1.2 if counts.directed else 1.0)
    return [Needs(counts.both_ways, passes, vertex_bytes=8, more_bytes=room + tables, work=2.5)]


@algorithm(requirements=_requirements, verify=verify)
def label_propagation(task: Task, max_iter: int = 10) -> Result:
    """Communities by label propagation, as LDBC Graphalytics defines it (CDLP).

    The values are ids: vertices of a community have the same. At first every vertex has its own; in
    each iteration all vertices at once take the label that most of their neighbours have.
    ``stats["converged"]`` tells whether the last iteration changed nothing.

    Parameters
    ----------
    graph
        Directed, with the lists of both directions, or not.
    max_iter
        Iterations, unless one changes nothing: then more would not either.

    Semantics
    ---------
    direction
        In- and out-neighbours both count; one that is both counts twice.
    duplicates
        Each counts.
    loops
        A vertex counts as its own neighbour: once, or twice (in and out) if the graph is directed.
    isolates
        A vertex without edges keeps its own id.
    values
        Ids, each the label of some vertices; not necessarily of the vertex with that id.
    ties
        Of equally frequent labels the smallest id is taken.
    passes
        1 an iteration, over the lists of both directions if the graph is directed.

    Examples
    --------
    >>> import penstock as ps
    >>> g = ps.from_edges([0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 5, 3], directed=False)
    >>> ps.label_propagation(g, max_iter=5).values.tolist()
    [0, 0, 0, 2, 2, 2]
    """
    graph = task.graph
    with task.open() as engine:
        ranks = propagate(engine, max_iter)
    order = graph.vid_of_rank

    def vids() -> U32:
        found: U32 = ranks if order is None else np.asarray(order)[ranks]
        return found

    return task.result("label", vids, more={}, values_are_vids=True)
