"""GIM-V: generalised iterated multiplication of a matrix with a vector.

``v'[i] = assign(v[i], combine_all({combine2(m[i, j], v[j])}))``, over and over; ``m[i, j]`` is the
edge from ``j`` to ``i``. After Kang, Tsourakakis and Faloutsos (PEGASUS), 2009, and Shirahata, Sato
and Matsuoka, 2014. Their two stages, a join and a grouping, are one pass over the edges here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from numpy.typing import DTypeLike

from penstock.engine.parameters import check_tol
from penstock.engine.result import Result
from penstock.engine.run import run
from penstock.errors import OptionError
from penstock.models.values import accumulator_of, identity_of, start_of, with_record
from penstock.program import Function, Program, SumName
from penstock.store.graph import Graph
from penstock.store.reading import read_locked

Matrix = Literal["weight", "ones", "column_normalized"]


@read_locked
def gimv(
    graph: Graph,
    combine2: Function,
    combine_all: SumName | Function,
    assign: Function,
    *,
    vector: Any,
    matrix: Matrix | None = None,
    identity: Any = None,
    dtype: DTypeLike | None = None,
    change: Function | None = None,
    tol: float | None = 0.0,
    until: Callable[[float], bool] | None = None,
    max_iter: int = 100,
    params: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    **options: Any,
) -> Result:
    """Iterate ``v[i] = assign(v[i], combine_all({combine2(m[i, j], v[j])}))``.

    Parameters
    ----------
    graph
        The matrix: an edge from ``j`` to ``i`` is ``m[i, j]``; an undirected edge is two entries.
    combine2
        ``combine2(m, v[, src[, p]])``: from a matrix entry and the vector's entry at the source.
        ``src`` is the source (``src.out_degree``, ``src.index``, ``src.<field>``), ``p`` has the
        parameters and ``p.num_vertices``.
    combine_all
        "add", "min", "max", or a function ``(a, b)``, associative and commutative.
    assign
        ``assign(v, a[, vertex[, p]])``: the new entry, from the old one and what was combined.
    vector
        The vector to begin with: a number, an array in ascending order of the user's ids, or a
        function of the vertex, such as ``lambda vertex: vertex.index``.
    matrix
        What ``m`` is: the edge's "weight", "ones", or "column_normalized": 1 / out-degree of the
        source. None: the weight if there is one, else 1.
    identity
        What combining begins with; known for "add", "min" and "max".
    dtype
        Of the vector. None: that of the array given, else float64 (float32 is faster).
    change
        ``change(new, old)``: how much an entry has changed; added up over all vertices. None: the
        absolute difference.
    tol
        Stop when that sum is at most ``tol``, whatever the number of vertices. The default, 0, is
        for values that settle exactly, such as labels; give one for values that approach a limit.
        None: run exactly ``max_iter`` iterations.
    until
        A test of your own instead: called with the sum, stops when it returns True.
    max_iter
        Iterations at most; ``stats["converged"]`` says whether the test was met.
    params
        Numbers that the functions read as ``p.<name>``.
    fields
        Arrays in ascending order of the user's ids, read as ``src.<name>`` and ``vertex.<name>``.
    options
        What :func:`penstock.run` takes: mode, strategy, memory, threads, hosts, ...

    Examples
    --------
    Connected components: every vertex takes the smallest number among its own and its neighbours'.

    >>> import penstock as ps
    >>> graph = ps.from_edges([0, 1, 3], [1, 2, 4], directed=False)
    >>> ps.gimv(
    ...     graph,
    ...     lambda m, v: v,
    ...     "min",
    ...     lambda v, a: min(v, a),
    ...     vector=lambda vertex: vertex.index,
    ...     dtype="int64",
    ... ).values
    array([0, 0, 0, 3, 3])
    """
    if tol is not None:
        check_tol(tol)
    start = start_of(graph, "vector", vector, dtype, params, fields)
    program = Program(
        state={"value": start.dtype},
        init=start.init,
        gather=_gather(graph, with_record(combine2, "combine2", ("m", "v", "src", "p")), matrix),
        sum=combine_all,
        identity=identity_of("combine_all", combine_all, identity, start.dtype),
        apply=_apply(with_record(assign, "assign", ("v", "a", "vertex", "p"))),
        accumulator=accumulator_of(start.dtype),
        fixed=start.fixed,
        totals={"change": _total(change or _difference)},
        name="gimv",
    )
    return run(
        graph,
        program,
        params=start.params,
        fields=start.fields,
        max_iter=max_iter,
        until=_test(tol, until),
        **options,
    )


def _gather(graph: Graph, combine2: Function, matrix: Matrix | None) -> Function:
    def weight(src, edge, dst, p):  # type: ignore[no-untyped-def]
        return combine2(edge.weight, src.value, src, p)

    def ones(src, edge, dst, p):  # type: ignore[no-untyped-def]
        return combine2(1.0, src.value, src, p)

    def column_normalized(src, edge, dst, p):  # type: ignore[no-untyped-def]
        return combine2(1.0 / src.out_degree, src.value, src, p)

    chosen = matrix or ("weight" if graph.weighted else "ones")
    kinds = {"weight": weight, "ones": ones, "column_normalized": column_normalized}
    if chosen not in kinds:
        raise OptionError(f"matrix: expected one of {', '.join(kinds)}; got {matrix!r}")
    if chosen == "weight" and not graph.weighted:
        raise OptionError(
            "matrix: the graph has no weights; build it with weights=, or choose 'ones'"
        )
    return kinds[chosen]


def _apply(assign: Function) -> Function:
    def apply(old, a, p):  # type: ignore[no-untyped-def]
        return assign(old.value, a, old, p)

    return apply


def _difference(new, old):  # type: ignore[no-untyped-def]
    # Neither inf - inf, nor less than nothing of what has no sign.
    if new == old:
        return 0.0
    return 1.0 * (new - old) if new > old else 1.0 * (old - new)


def _total(change: Function) -> Function:
    def total(new, old):  # type: ignore[no-untyped-def]
        return change(new.value, old.value)

    return total


def _test(
    tol: float | None, until: Callable[[float], bool] | None
) -> Callable[[Mapping[str, float]], bool] | None:
    if until is not None:
        return lambda totals: bool(until(totals["change"]))
    return None if tol is None else (lambda totals: totals["change"] <= tol)
