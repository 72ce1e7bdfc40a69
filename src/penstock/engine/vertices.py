"""What the user says about vertices, by the numbers that vertices have inside."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.arrays import distinct
from penstock.engine.given import DenseNumbers, Numbers, SparseNumbers
from penstock.engine.result_columns import ids_of, ranks_of_ids
from penstock.errors import IdError, OptionError
from penstock.store.graph import Graph
from penstock.store.mapped import iter_parts
from penstock.types import U32, VID, Array

#: So many ids are looked up one by one, without reading all that there are.
FEW = 64


def vid_of(graph: Graph, vertex: object, name: str = "source") -> int:
    """The number of a vertex."""
    rank = ids_of(graph).rank(vertex)
    if rank is None:
        raise IdError(f"{name}: there is no vertex {vertex!r} in the graph{_example(graph)}")
    order = graph.vid_of_rank
    return rank if order is None else int(order[rank])


def vids_of(graph: Graph, vertices: Any, name: str) -> U32:
    """The numbers of some vertices (or of one), ascending, each once."""
    return distinct(_look_up(graph, _as_list(vertices), name))


def by_vid(graph: Graph, values: Any, name: str, missing: float, dtype: DTypeLike) -> Numbers:
    """Numbers for some vertices, by vertex number: from a mapping of ids (the others get
    ``missing``), from one number for all, or from an array in ascending order of ids.
    """
    n, kind = graph.num_vertices, np.dtype(dtype)
    if isinstance(values, Mapping):
        vids = _look_up(graph, list(values), name)
        return some_vertices(n, vids, np.array(list(values.values()), kind), missing)
    given = np.asarray(values)
    if given.dtype.kind not in "biuf":
        raise OptionError(f"{name}: expected numbers, got {given.dtype}")
    if given.ndim == 0:
        return some_vertices(n, np.empty(0, VID), np.empty(0, kind), given)
    if given.shape != (n,):
        raise OptionError(
            f"{name}: has shape {given.shape}, expected ({n},): a value for each vertex, in "
            "ascending order of ids; or a mapping from ids to values"
        )
    return DenseNumbers(given, kind, graph.vid_of_rank)


def some_vertices(num_vertices: int, vids: U32, numbers: Array, missing: Any) -> SparseNumbers:
    """Numbers for some vertices (each once, in any order); the others have ``missing``."""
    order = np.argsort(vids)
    other: Array = np.full(1, missing, numbers.dtype)
    return SparseNumbers(num_vertices, vids[order], numbers[order], other)


def in_id_order(
    graph: Graph, vids: U32, arrays: Sequence[Array], *, keep: bool = False
) -> tuple[Array, list[Array]]:
    """The ids of some vertices (ascending numbers), ascending, and arrays with an entry for each of
    them in the same order. ``keep``: there is memory for the ranks of all ids, for the next one who
    asks about a few. Without, ids and arrays are made a part at a time.
    """
    ids, order = ids_of(graph), graph.vid_of_rank
    if order is None:
        return ids.take(vids), list(arrays)
    ranks = ranks_of_ids(graph, keep=keep)
    if ranks is not None:
        mine = ranks[vids]
        places = np.argsort(mine)
        return ids.take(mine[places]), [array[places] for array in arrays]
    # To mark them and go through all ids is cheaper than to turn the order round.
    marks = np.zeros(graph.num_vertices, np.bool_)
    marks[vids] = True
    named: Array = np.empty(len(vids), ids.dtype)
    sorted_arrays = [np.empty_like(array) for array in arrays]
    at = 0
    for begin, part in iter_parts(order):
        found = np.flatnonzero(marks[part])
        places = np.searchsorted(vids, part[found])
        end = at + len(found)
        named[at:end] = ids.take(begin + found)
        for new, old in zip(sorted_arrays, arrays, strict=True):
            new[at:end] = old[places]
        at = end
    return named, sorted_arrays


def _as_list(vertices: Any) -> Any:
    if isinstance(vertices, str):
        return [vertices]
    try:
        return [operator.index(vertices)]
    except TypeError:
        pass
    if isinstance(vertices, np.ndarray):
        return vertices
    return list(vertices) if isinstance(vertices, Iterable) else [vertices]


def _look_up(graph: Graph, vertices: Any, name: str) -> U32:
    """The number of each vertex, in the order given."""
    given = None if len(vertices) <= FEW else _like_ids(graph, vertices)
    if given is None:
        return np.array([vid_of(graph, each, name) for each in vertices], VID)
    first, last = graph.description.first_id, graph.num_vertices - 1
    if first is not None:
        ranks = np.clip(given - first, 0, last)
        wrong = np.flatnonzero(ranks + first != given)
    else:
        ranks = np.minimum(np.searchsorted(graph.ids, given), last)
        wrong = np.flatnonzero(graph.ids[ranks] != given)
    if len(wrong):
        vid_of(graph, given.tolist()[wrong[0]], name)  # says what is wrong
    order = graph.vid_of_rank
    found: U32 = (ranks if order is None else order[ranks]).astype(VID)
    return found


def _like_ids(graph: Graph, vertices: Any) -> Array | None:
    """Ids as an array of the type that those of the graph have, if they all fit it."""
    dtype = ids_of(graph).dtype
    if graph.num_vertices == 0:
        return None
    if dtype.kind == "O":
        given = np.asarray(vertices, object)
        return given if all(isinstance(each, str) for each in given) else None
    given = np.asarray(vertices)
    limits = np.iinfo(dtype)
    if given.dtype.kind not in "iu" or given.min() < limits.min or given.max() > limits.max:
        return None
    return given.astype(dtype)


def _example(graph: Graph) -> str:
    if graph.num_vertices == 0:
        return "; it has no vertices"
    few = ids_of(graph).take(np.array([0, graph.num_vertices - 1]))
    return f" (its ids go from {few[0]!s} to {few[1]!s})"
