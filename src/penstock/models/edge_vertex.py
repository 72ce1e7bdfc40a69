"""The Edge-Vertex model: edges send messages, a combiner joins them, vertices compute.

A superstep: every vertex that has not halted sends a message along each of its out-edges
(*edge compute*); the messages to a vertex are combined; the vertex computes its new value and votes
to halt or to go on (*vertex compute*). It ends when all have halted. The message buffer is the
runtime's: an edge whose source has halted carries the message of the source's value still, so a
combined message is that of all in-edges. After Andotra and others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import DTypeLike

from penstock.engine.result import Result
from penstock.engine.run import run
from penstock.models.values import accumulator_of, identity_of, start_of, with_record
from penstock.program import Function, Program, SumName
from penstock.store.graph import Graph
from penstock.store.reading import read_locked


def unchanged(new, old):  # type: ignore[no-untyped-def]
    """Vote to halt if the value is what it was."""
    return new == old


@read_locked
def edge_vertex(
    graph: Graph,
    edge_compute: Function,
    combine: SumName | Function,
    vertex_compute: Function,
    *,
    initial: Any,
    vote_to_halt: Function | None = unchanged,
    identity: Any = None,
    dtype: DTypeLike | None = None,
    start: Iterable[Any] | None = None,
    incremental: bool = False,
    max_iter: int = 100,
    params: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    **options: Any,
) -> Result:
    """Run supersteps of edge compute, combine and vertex compute until all vertices have halted.

    Parameters
    ----------
    graph
        Messages go along out-edges; an undirected edge carries them both ways.
    edge_compute
        ``edge_compute(value, weight[, src[, p]])``: the message, from the source's value and the
        edge's weight (1 without weights). ``src`` is the source (``src.out_degree``,
        ``src.index``, ``src.<field>``), ``p`` has the parameters and ``p.num_vertices``.
    combine
        "add", "min", "max", or a function ``(a, b)``, associative and commutative.
    vertex_compute
        ``vertex_compute(value, message[, vertex[, p]])``: the new value. With the same message
        again it must give the same value again.
    initial
        The values to begin with: a number, an array in ascending order of the user's ids, or a
        function of the vertex, such as ``lambda vertex: vertex.index``.
    vote_to_halt
        ``vote_to_halt(new, old)``: whether the vertex halts until a message comes. By default it
        does if its value is what it was. A vertex whose combined message is the identity has got
        none, and keeps its value. None: nobody halts, and every vertex computes in every superstep,
        with or without messages.
    identity
        What combining begins with; known for "add", "min" and "max".
    dtype
        Of the values. None: that of the array given, else float64 (float32 is faster).
    start
        Ids of the vertices that send in the first superstep; None: all.
    incremental
        True if the messages of vertices that have not halted suffice, as for minima that include
        the old value: others are not looked at again.
    max_iter
        Supersteps at most; ``stats["converged"]`` says whether all have halted.
    params
        Numbers that the functions read as ``p.<name>``.
    fields
        Arrays in ascending order of the user's ids, read as ``src.<name>`` and ``vertex.<name>``.
    options
        What :func:`penstock.run` takes: mode, strategy, until, memory, threads, hosts, ...

    Examples
    --------
    Shortest paths from vertex 0.

    >>> import penstock as ps
    >>> graph = ps.from_edges([0, 0, 1, 2], [1, 2, 2, 3], [4.0, 9.0, 3.0, 1.0])
    >>> ps.edge_vertex(
    ...     graph,
    ...     lambda value, weight: value + weight,
    ...     "min",
    ...     lambda value, message: min(value, message),
    ...     initial=[0.0, float("inf"), float("inf"), float("inf")],
    ...     start=[0],
    ... ).values
    array([0., 4., 7., 8.])
    """
    begin = start_of(graph, "initial", initial, dtype, params, fields)
    nothing = identity_of("combine", combine, identity, begin.dtype)
    edge = with_record(edge_compute, "edge_compute", ("value", "weight", "src", "p"))
    vertex = with_record(vertex_compute, "vertex_compute", ("value", "message", "vertex", "p"))
    program = Program(
        state={"value": begin.dtype},
        init=begin.init,
        gather=_gather(edge, weighted=graph.weighted),
        sum=combine,
        identity=nothing,
        apply=_compute(vertex) if vote_to_halt is None else _compute_if_told(vertex, nothing),
        activate=None if vote_to_halt is None else _activate(vote_to_halt),
        accumulator=accumulator_of(begin.dtype),
        fixed=begin.fixed,
        incremental=incremental,
        name="edge_vertex",
    )
    return run(
        graph,
        program,
        params=begin.params,
        fields=begin.fields,
        start=start,
        max_iter=max_iter,
        **options,
    )


def _gather(edge_compute: Function, *, weighted: bool) -> Function:
    def with_weight(src, edge, dst, p):  # type: ignore[no-untyped-def]
        return edge_compute(src.value, edge.weight, src, p)

    def without(src, edge, dst, p):  # type: ignore[no-untyped-def]
        return edge_compute(src.value, 1, src, p)

    return with_weight if weighted else without


def _compute(vertex_compute: Function) -> Function:
    def apply(old, a, p):  # type: ignore[no-untyped-def]
        return vertex_compute(old.value, a, old, p)

    return apply


def _compute_if_told(vertex_compute: Function, nothing: Any) -> Function:
    def apply(old, a, p):  # type: ignore[no-untyped-def]
        return old.value if a == nothing else vertex_compute(old.value, a, old, p)

    return apply


def _activate(vote_to_halt: Function) -> Function:
    def activate(new, old):  # type: ignore[no-untyped-def]
        return not vote_to_halt(new.value, old.value)

    return activate
