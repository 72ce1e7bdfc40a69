"""Weights of edges: how much those of each vertex weigh together, and edges with their weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.arrays import sequential_sum
from penstock.engine.algorithm import Task
from penstock.engine.counts import Counts, counts_of
from penstock.engine.joining import join_sums, scan_everywhere
from penstock.engine.needs import ListForm, Needs
from penstock.errors import InputError, OptionError
from penstock.jit import kernel
from penstock.metrics import Counters
from penstock.store.graph import Graph
from penstock.types import U32, Array, Direction

F64 = NDArray[np.float64]


def weight_column(counts: Counts, name: str) -> str:
    """The column of weights; raises if there is none."""
    if counts.weight is None:
        raise OptionError(
            f"{name}: weight: the edges have no weights; build the graph with weights=, or leave "
            "this option out"
        )
    return counts.weight


def weight_needs(counts: Counts, direction: Direction, width: int, held: int = 0) -> Needs:
    """What :func:`weight_sums` needs, with sums of so many bytes; ``held``: bytes that the caller
    has in memory at the same time.
    """
    # Lists that are not looked at again are not worth loading.
    forms: tuple[ListForm, ...] = ("stream",) if counts.directed else ("memory", "stream")
    columns = (weight_column(counts, ""),)
    return Needs((direction,), 1.0, columns, vertex_bytes=width, more_bytes=held, forms=forms)


@dataclass(frozen=True, slots=True)
class WeightSums:
    """What the lists weigh, by vertex number; all together; and the heaviest."""

    values: Array
    total: float
    largest: float
    counted: Counters


def weight_sums(
    task: Task,
    direction: Direction,
    dtype: np.dtype[np.floating] | None,
    *,
    held: int = 0,
    factor: float = 1.0,
    refuse: str | None = None,
) -> WeightSums:
    """The sum of the weights (their absolute values) in each list, times a factor.

    ``dtype`` None: they are not kept, only their total and the largest are found.

    What is above 0 stays above 0. Sums are float64 before they are put away. ``held`` are bytes
    that the caller has in memory at the same time. ``refuse`` is the name of an algorithm that
    cannot have weights below 0, or endless ones: it raises if there are any.
    """
    graph = task.graph
    aside = Task(graph, replace(task.options, checkpoint=None, trace=None, division="auto"))
    width = 0 if dtype is None else dtype.itemsize
    with aside.open_part(weight_needs(counts_of(graph), direction, width, held)) as engine:
        values: Array = np.empty(0, np.float32)
        if dtype is not None:
            values = engine.array("sums of weights", dtype, 0)
        least = float(np.finfo(values.dtype).tiny)
        rows = scan_everywhere(engine, _add_up, values, factor, least, direction=direction)
        join_sums(engine, values)
    parts: dict[int, float] = {}
    for vertex, total, *_ in rows:
        if vertex >= 0:
            parts[int(vertex)] = parts.get(int(vertex), 0.0) + total
    with np.errstate(over="ignore"):  # as in kernels
        for vertex, total in parts.items() if len(values) else ():
            values[vertex] = max(total * factor, least) if total > 0 else 0
    if refuse is not None and any(row[3] for row in rows):
        _refuse(graph, refuse)
    total = sequential_sum(row[1] for row in rows)
    largest = max([*parts.values(), *(row[2] for row in rows)], default=0.0)
    return WeightSums(values, total, largest, engine.metrics.total())


def weighed_edges(graph: Graph, column: str | None) -> Iterator[tuple[U32, U32, F64]]:
    """Every edge with its weight, 1 without a column; an undirected one once each way (a loop
    once).
    """
    for src, dst, columns in graph.iter_edges():
        weights = np.ones(len(src)) if column is None else columns[column].astype(np.float64)
        yield src, dst, weights
        if not graph.directed:
            other = src != dst
            yield dst[other], src[other], weights[other]


def _refuse(graph: Graph, name: str) -> None:
    column = weight_column(counts_of(graph), name)
    for src, dst, columns in graph.iter_edges():
        weights = columns[column]
        wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
        if len(wrong):
            ids, k = graph.ids_by_vid(), wrong[0]
            raise InputError(
                f"{name}: edge {ids[src[k]]} - {ids[dst[k]]} has {column} {weights[k]}; weights "
                "must be numbers of 0 or more: rebuild the graph with others"
            )


@kernel
def _add_up(block, begin, end, sums, factor, least):  # type: ignore[no-untyped-def]
    """Sum lists into their places (none are there if ``sums`` is empty). A block with one vertex
    may be a part of its list: it has no place, but its vertex is returned (else -1). Also returned
    are the sum of all, the largest of the other lists, and the number of weights that are below 0
    or endless.
    """
    offsets, weights = block.offsets, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    alone = len(offsets) == 2
    together, largest, bad = 0.0, 0.0, 0
    for v in range(np.uint64(begin), np.uint64(end)):
        total = 0.0
        for k in range(np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])):
            weight = np.float64(weights[k])
            if not 0.0 <= weight < np.inf:
                bad += 1
            total += abs(weight)
        together += total
        if not alone:
            if len(sums) > 0:
                sums[v] = max(total * factor, least) if total > 0.0 else 0.0
            largest = max(largest, total)
    return (np.int64(begin) if alone else np.int64(-1)), together, largest, bad
