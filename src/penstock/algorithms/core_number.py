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

from contextlib import suppress
from dataclasses import replace

import numpy as np

from penstock.algorithms._cores import (
    GATHERED_BYTES,
    I32,
    STREAM_BYTES,
    core_numbers,
)
from penstock.algorithms._cores_check import check_cores
from penstock.algorithms._vids import by_vid
from penstock.algorithms._whole_lists import least_words
from penstock.engine.algorithm import Cost, Task, algorithm
from penstock.engine.engine import Engine
from penstock.engine.result import Result
from penstock.errors import BudgetError
from penstock.store.graph import Graph
from penstock.types import Direction


def verify(graph: Graph, result: Result) -> None:
    """See :func:`check_cores`."""
    cores = by_vid(graph, result.values).astype(np.int64)
    check_cores(graph, "core_number", cores, np.ones(len(cores), bool))


def directions_of(graph: Graph) -> tuple[Direction, ...]:
    """The lists that make up all neighbours."""
    return ("out", "in") if graph.directed else ("out",)


def cost_of(graph: Graph, gathered_bytes: int = GATHERED_BYTES[0], *, then_bytes: int = 0) -> Cost:
    """What core numbers need, with so many bytes for each vertex to gather lists of a stream in;
    and what whoever wants them needs then, when they are all that is left in memory.
    """
    cores, held = np.dtype(np.int32).itemsize, STREAM_BYTES + gathered_bytes
    then_bytes -= (held - cores) * graph.num_vertices
    # A stream reads 3.3 times all pages of an R-MAT graph, 4.8 times if it is directed, if there is
    # as much room as it likes.
    return Cost(
        held, directions_of(graph), 5.0 if graph.directed else 4.0,
        more_bytes=max(4 * least_words(graph), then_bytes), work=3.0, resident_passes=1.0,
    )  # fmt: skip


def open_for_cores(task: Task, then_bytes: int = 0) -> tuple[Engine, int]:
    """An engine for core numbers (see :func:`cost_of`), and the words that it has for lists on a
    stream.
    """
    graph, (*others, least) = task.graph, GATHERED_BYTES
    for gathered_bytes in others:
        with suppress(BudgetError):
            engine = task.open(cost_of(graph, gathered_bytes, then_bytes=then_bytes))
            return engine, words_of(graph, gathered_bytes)
        # What comes next has no room for peeling.
        task.options = replace(task.options, load=False)
    return task.open(cost_of(graph, least, then_bytes=then_bytes)), words_of(graph, least)


def _cost(graph: Graph) -> Cost:
    return cost_of(graph)


def words_of(graph: Graph, gathered_bytes: int) -> int:
    """Words for lists on a stream."""
    return gathered_bytes * graph.num_vertices // 4


@algorithm(cost=_cost, verify=verify)
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
    engine, words = open_for_cores(task)
    with engine:
        cores: I32 = core_numbers(engine, words)
    return task.result("core_number", cores, more={"largest": int(cores.max(initial=0))})
