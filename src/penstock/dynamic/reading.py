"""Answers to questions about a graph that changes, in the user's ids."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from penstock.dynamic.batches import EdgeBatch, check_edges, check_values
from penstock.dynamic.folder_catalog import LiveSchema
from penstock.dynamic.merge import MergedSide
from penstock.dynamic.state import State
from penstock.errors import IdError, InputError, OptionError
from penstock.types import NO_VERTEX, U32, Array, Direction


def _side(state: State, direction: str) -> MergedSide:
    if direction not in get_args(Direction):
        raise OptionError(f"direction: expected 'out' or 'in', got {direction!r}")
    if not state.schema.directed:
        return state.sides["out"]
    if direction == "out":
        return state.sides["out"]
    if state.schema.reverse is False:
        raise OptionError(
            "direction: this graph keeps no edges into vertices (reverse=False): open or make it "
            "without that"
        )
    return state.build_reverse()


def _vids(state: State, ids: Any, name: str) -> U32:
    """The numbers of vertices that must be there."""
    wanted = state.ids.check(ids, name)
    found = state.ids.find(wanted)
    missing = found == NO_VERTEX
    if missing.any():
        first = wanted[missing].tolist()[0]
        raise IdError(f"{name}: {first!r} is not a vertex of the graph")
    return found


def _pairs(state: State, src: Any, dst: Any) -> tuple[U32, U32, Any]:
    """Pairs as vertex numbers, and which of them have two vertices that are there."""
    batch = check_edges(state.ids, src, dst, None, None, ())
    found = state.ids.find(batch.src), state.ids.find(batch.dst)
    return *found, (found[0] != NO_VERTEX) & (found[1] != NO_VERTEX)


def has_edges(state: State, src: Any, dst: Any) -> Array:
    """Whether each pair is an edge."""
    sources, targets, known = _pairs(state, src, dst)
    if known.any():
        known[known] = state.sides["out"].has(sources[known], targets[known])
    return known  # type: ignore[no-any-return]


def degree(state: State, vertices: Any, direction: str) -> Any:
    """The length of one list, or of several."""
    alone = isinstance(vertices, str) or np.ndim(vertices) == 0
    vids = _vids(state, [vertices] if alone else vertices, "vertices")
    found = _side(state, direction).degrees_of(vids)
    return int(found[0]) if alone else found


def edges(state: State, vertex: Any, direction: str) -> tuple[Array, dict[str, Array]]:
    """The list of a vertex, and its columns by name."""
    found = _side(state, direction).gather(_vids(state, [vertex], "vertex"))
    names = (column.name for column in state.schema.columns)
    return state.ids.by_vid()[found.neighbours], dict(zip(names, found.columns, strict=True))


def _column(schema: LiveSchema, name: str) -> int:
    names = [column.name for column in schema.columns]
    if name not in names:
        raise OptionError(
            f"edges have no property {name!r} (they have: {', '.join(names) or 'none'})"
        )
    return names.index(name)


def edge_property(state: State, name: str, src: Any, dst: Any) -> Array:
    """A column of edges that must be there."""
    index = _column(state.schema, name)
    sources, targets, known = _pairs(state, src, dst)
    if known.all():
        known, columns = state.sides["out"].values(sources, targets)
        if known.all():
            return columns[index]
    row = int(np.argmin(known))
    raise InputError(f"row {row}: there is no edge from {src[row]!r} to {dst[row]!r}")


def with_values(state: State, name: str, src: Any, dst: Any, values: Any) -> EdgeBatch:
    """A batch that gives a column of the edges that are there new values."""
    index = _column(state.schema, name)
    if state.schema.multigraph:
        raise OptionError("a multigraph's edges cannot be told apart: delete them, and add others")
    batch = check_edges(state.ids, src, dst, None, None, ())
    new = check_values(values, state.schema.columns[index], len(batch), "edge")
    sources, targets, known = _pairs(state, src, dst)
    rows = np.flatnonzero(known)
    found, columns = state.sides["out"].values(sources[rows], targets[rows])
    rows = rows[found]
    changed = [each[found] for each in columns]
    changed[index] = new[rows]
    return EdgeBatch(batch.src[rows], batch.dst[rows], None, tuple(changed))


def vertex_column(schema: LiveSchema, name: str) -> int:
    """Which vertex column has a name."""
    names = [column.name for column in schema.vertex_columns]
    if name not in names:
        raise OptionError(
            f"vertices have no property {name!r} (they have: {', '.join(names) or 'none'}); name "
            "it in vertex_properties= when the graph is made"
        )
    return names.index(name)


def vertex_property(state: State, name: str, ids: Any) -> Array:
    """A vertex column of some vertices, or of all in ascending order of ids."""
    values = state.columns[vertex_column(state.schema, name)].grow(state.num_vertices)
    if ids is not None:
        return values[_vids(state, ids, "ids")]
    order = state.ids.in_order()[1]
    return values.copy() if order is None else values[order]
