"""Degree distribution: how many vertices have how many edges.

Returns a table: the degrees that occur, ascending, and the number of vertices of each. Read from
the index of degrees, a part at a time; the topology is not touched. An undirected self-loop counts
once, as it is stored.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.algorithms._vertex_programs import count_degrees, degree_needs
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.errors import OptionError, VerificationError
from penstock.store.graph import Graph
from penstock.store.mapped import PART, read_range
from penstock.types import Array, Direction

Kind = Literal["out", "in", "both"]


def _requirements(counts: Counts, direction: Kind) -> list[Needs]:
    _directions(counts, direction)
    return [Needs((), 0.0, gathered_bytes=0)]


def _on_devices(counts: Counts, direction: Kind) -> list[Needs]:
    _directions(counts, direction)
    if counts.directed and direction != "in":
        raise OptionError(
            f"direction: devices count the edges that lead to a vertex, direction='in'; got "
            f"{direction!r}: leave out devices"
        )
    return degree_needs(counts)


def _directions(graph: Graph | Counts, direction: str) -> tuple[Direction, ...]:
    if direction not in ("out", "in", "both"):
        raise OptionError(f"direction: expected out, in or both; got {direction!r}")
    if direction == "both" and graph.directed:
        return ("out", "in")
    return ("in",) if direction == "in" else ("out",)


def verify(graph: Graph, result: Result) -> None:
    """Count the ends of all edges, read from the pages."""
    direction = result.stats["parameters"]["direction"]
    degrees: Array = np.zeros(graph.num_vertices, np.int64)
    for src, dst, _ in graph.iter_edges():
        if direction != "in" or not graph.directed:
            np.add.at(degrees, src, 1)
        if direction != "out" or not graph.directed:
            keep = slice(None) if graph.directed else src != dst
            np.add.at(degrees, dst[keep], 1)
    found, counts = np.unique(degrees, return_counts=True)
    if not (np.array_equal(found, result.ids) and np.array_equal(counts, result.values)):
        raise VerificationError("degree_distribution: the edges have other degrees than the table")


@algorithm(
    requirements=_requirements, verify=verify, on_devices=_on_devices, on_hosts=_requirements
)
def degree_distribution(task: Task, direction: Kind = "out") -> Result:
    """How many vertices have each degree.

    Parameters
    ----------
    graph
        The graph.
    direction
        "out", "in" or "both" (their sum) for directed graphs; no difference for undirected ones.

    Semantics
    ---------
    direction
        Out-degrees, in-degrees or their sum, as asked for; an undirected edge counts at both ends.
    duplicates
        Each that was kept counts.
    loops
        A directed loop counts once as an out-edge and once as an in-edge, an undirected one once.
    isolates
        Are counted under degree 0.
    values
        Numbers of vertices; the ids are the degrees that occur, ascending.
    passes
        0: only the index of degrees is read.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.degree_distribution(ps.from_edges([0, 0, 1], [1, 2, 2]))
    >>> dict(zip(found.ids.tolist(), found.values.tolist()))
    {0: 1, 1: 1, 2: 1}
    """
    graph = task.graph
    if task.options.runs_loops:  # every host has the degrees
        columns: list[Array] = [graph.degrees(each) for each in _directions(graph, direction)]
        task.open()
    else:
        columns = [count_degrees(task)]
    total: Array = np.zeros(1, np.int64)
    for begin in range(0, graph.num_vertices, PART):
        end = min(begin + PART, graph.num_vertices)
        degrees = sum(read_range(column, begin, end).astype(np.int64) for column in columns)
        counts = np.bincount(degrees)
        if len(counts) > len(total):
            counts, total = total, counts
        total[: len(counts)] += counts
    found = np.flatnonzero(total)
    return Result.table(
        "vertices", found, total[found], id_name="degree", stats=task.stats(), iterations=[]
    )
