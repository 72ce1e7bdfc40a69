"""Core numbers: the largest k of each vertex such that it is in the k-core, the largest part of
the graph in which all vertices have at least k neighbours.

Returns int32, the same whatever the number of threads: core numbers are unique.

Method: in memory, vertices of few neighbours are peeled off, level by level. On a stream this would
read the pages once a level; there, estimates that begin at the degrees are lowered until each
vertex has enough neighbours to support its own, from low degrees to high ones, and only pages of
vertices whose support has gone are read again. See ``_cores`` for both, how state is encoded, and
how a step is repeated.

Trade-off: lists that are gathered are looked at until they agree among themselves, so more room for
them means fewer pages to read. A list has to fit memory.

Dasari, Desh, Zubair: "ParK: an efficient algorithm for k-core decomposition on multicore
processors", Big Data 2014. Montresor, De Pellegrini, Miorandi: "Distributed k-core decomposition",
PODC 2011. Wen, Qin, Zhang, Lin, Yu: "I/O efficient core graph decomposition at web scale", ICDE
2016.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.algorithms._cores import (
    I32,
    LEAST_GATHERED,
    MOST_GATHERED,
    PEELING,
    STREAM_BYTES,
    core_numbers,
)
from penstock.algorithms._cores_check import check_cores
from penstock.algorithms._vids import by_vid
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.needs import Needs, Room
from penstock.engine.result import Result
from penstock.engine.whole_lists import least_bytes
from penstock.store.graph import Graph


def verify(graph: Graph, result: Result) -> None:
    """See :func:`check_cores`."""
    cores = by_vid(graph, result.values).astype(np.int64)
    check_cores(graph, "core_number", cores, np.ones(len(cores), bool))


def core_needs(counts: Counts, then_bytes: int = 0) -> list[Needs]:
    """What core numbers need; and what the run needs then, when they are all that is left in
    memory.
    """
    n, longest = counts.num_vertices, least_bytes(counts)
    cores = np.dtype(np.int32).itemsize
    # Peeling in memory takes the room that lists of a stream are gathered in at best.
    state = STREAM_BYTES + MOST_GATHERED
    memory = Needs(
        counts.both_ways, 1.0, vertex_bytes=state,
        more_bytes=max(longest, then_bytes - (state - cores) * n), forms=("memory",), work=3.0,
        way=PEELING,
    )  # fmt: skip
    # A stream reads 3.3 times all pages of an R-MAT graph, 4.8 times if it is directed, if there is
    # as much room as it likes.
    least = max(LEAST_GATHERED * n, longest, then_bytes - (STREAM_BYTES - cores) * n)
    stream = replace(
        memory, passes=5.0 if counts.directed else 4.0, vertex_bytes=STREAM_BYTES, more_bytes=0,
        room=Room(least, max(MOST_GATHERED * n, least)), forms=("stream",), way="lowering",
    )  # fmt: skip
    return [memory, stream]


def _requirements(counts: Counts) -> list[Needs]:
    return core_needs(counts)


@algorithm(requirements=_requirements, verify=verify)
def core_number(task: Task) -> Result:
    """Core number of each vertex: the largest k of a k-core that it is in.

    A k-core is the largest part of a graph in which every vertex has at least k neighbours.

    Parameters
    ----------
    graph
        Directed or not; of a directed graph both directions must be stored.

    Semantics
    ---------
    direction
        Directions are ignored, as in NetworkX: predecessors and successors are neighbours, and two
        vertices with an edge each way count each other twice.
    duplicates
        Edges that were kept several times count as often.
    loops
        Left out (NetworkX refuses graphs that have some).
    isolates
        0.
    values
        int32, from 0 to the largest degree.
    passes
        About 4 on R-MAT graphs, 5 if they are directed; up to twice as many where memory is short.

    Examples
    --------
    >>> import penstock as ps
    >>> graph = ps.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> ps.core_number(graph).values.tolist()
    [2, 2, 2, 1]
    """
    with task.open() as engine:
        cores: I32 = core_numbers(engine)
    return task.result("core_number", cores, more={"largest": int(cores.max(initial=0))})
