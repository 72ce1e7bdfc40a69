"""NetworkX's dictionaries of dictionaries, read into arrays.

Compiled code reads them through the interpreter's C interface, holding its lock: four to ten times
as fast as a loop in Python. It reads dictionaries only, and of values only numbers; whatever else a
graph is made of (views, classes of users, other types of weights) is read in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import networkx as nx
import numba
import numpy as np
from numba import types

from penstock.interfaces.nx.graph import Lists, Parallel, Weight
from penstock.interfaces.nx.kernels import offsets_of
from penstock.jit import load64, prefetch
from penstock.types import I64, U32, Array, Direction

_PLAIN = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


def read_lists(graph: nx.Graph, names: Any, direction: Direction = "out") -> Lists:
    """The lists of all nodes, whose names are given by place."""
    adjacency = graph._adj if direction == "out" else graph._pred
    places = {} if isinstance(names, range) else {name: k for k, name in enumerate(names)}
    if type(graph) in _PLAIN and _all_dicts(adjacency):
        sizes = np.fromiter(map(len, adjacency.values()), np.int64, len(adjacency))
        offsets = offsets_of(sizes)
        neighbours: U32 = np.empty(int(offsets[-1]), np.uint32)
        known = 0 if isinstance(names, range) else id(places)
        found = _addresses(adjacency, _NAMES, len(neighbours))
        if _find_places(found, known, len(names), neighbours):
            return Lists(offsets, neighbours)
    places = {name: k for k, name in enumerate(names)}
    # What users see of a graph, which need not be what it stores.
    shown = graph if direction == "out" else graph.pred
    rows = [[places[other] for other in shown[name]] for name in names]
    offsets = offsets_of(np.array([len(row) for row in rows], np.int64))
    return Lists(offsets, np.fromiter(chain.from_iterable(rows), np.uint32, int(offsets[-1])))


def read_weights(
    graph: nx.Graph, weight: Weight, parallel: Parallel, entries: int
) -> tuple[Array, bool]:
    """The weight of each entry of the lists, NaN for edges that are hidden; and whether all of them
    are whole numbers.
    """
    simple = type(graph) in (nx.Graph, nx.DiGraph)
    if isinstance(weight, str) and simple and _all_dicts(graph._adj):
        weights: Array = np.empty(entries, np.float64)
        answer = _read_numbers(_addresses(graph._adj, _VALUES, entries), id(weight), weights)
        if answer >= 0:
            return weights, answer == 1
    values = list(_weights_in_python(graph, weight, parallel))
    whole = all(isinstance(value, int | np.integer) for value in values if value is not None)
    return np.array([np.nan if value is None else float(value) for value in values]), whole


def _weights_in_python(graph: nx.Graph, weight: Weight, parallel: Parallel) -> Iterator[Any]:
    several = graph.is_multigraph()
    together = min if parallel == "min" else sum
    for node in graph:
        for other, data in graph[node].items():
            if callable(weight):
                yield weight(node, other, data)
            elif several:
                yield together(each.get(weight, 1) for each in data.values())
            else:
                yield data.get(weight, 1)


def _all_dicts(adjacency: Any) -> bool:
    return type(adjacency) is dict and set(map(type, adjacency.values())) <= {dict}


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the interpreter, by its name, for compiled code."""
    return types.ExternalFunction(name, result(*arguments))


_address = types.intp
_next_item = _function("PyDict_Next", types.int32, _address, *[types.voidptr] * 3)
_size = _function("PyDict_Size", _address, _address)
_get_item = _function("PyDict_GetItem", _address, _address, _address)
_as_long = _function("PyLong_AsLong", types.int64, _address)
_as_double = _function("PyFloat_AsDouble", types.float64, _address)
_is_index = _function("PyIndex_Check", types.int32, _address)
_error = _function("PyErr_Occurred", _address)
_clear_error = _function("PyErr_Clear", types.void)


#: Where a dictionary has the address of its table. It is only used to ask for that table early, so
#: in an interpreter that has it elsewhere nothing breaks.
_TABLE_AT = 32
#: How many objects ahead the cache is asked for one.
_AHEAD = 16
#: Which part of an item of a dictionary.
_NAMES, _VALUES = 1, 2


def _addresses(adjacency: dict[Any, dict[Any, Any]], part: int, entries: int) -> I64:
    """Where the names of all neighbours are, or the values that belong to them."""
    rows: I64 = np.empty(len(adjacency), np.int64)
    found: I64 = np.empty(entries, np.int64)
    _list_items(id(adjacency), rows, part, found)
    return found


# Dictionaries, their tables, names and values are anywhere in memory, and waiting for them is most
# of the work: each is asked for before it is needed.


@numba.njit(cache=True)
def _list_items(adjacency, rows, part, out):  # type: ignore[no-untyped-def]
    """The addresses of the names or values in the inner dictionaries, whose own go to ``rows``."""
    item = np.zeros(3, np.intp)
    origin = np.zeros(1, np.uint8)
    base = np.intp(origin.ctypes.data)
    for row in range(len(rows)):
        _next_item(adjacency, item[0:].ctypes, item[1:].ctypes, item[2:].ctypes)
        rows[row] = item[2]
    at = 0
    for row in range(len(rows)):
        if row + 2 * _AHEAD < len(rows):
            prefetch(origin, rows[row + 2 * _AHEAD] - base)
            table = np.intp(load64(origin, rows[row + _AHEAD] + _TABLE_AT - base))
            prefetch(origin, table - base)
        item[0] = 0
        while _next_item(rows[row], item[0:].ctypes, item[1:].ctypes, item[2:].ctypes):
            out[at] = item[part]
            at += 1


@numba.njit(cache=True)
def _find_places(names, places, n, out):  # type: ignore[no-untyped-def]
    """The places of names that are at these addresses; ``places`` is the dictionary of them, or 0
    if names are places. False if there is a name that has none.
    """
    origin = np.zeros(1, np.uint8)
    base = np.intp(origin.ctypes.data)
    for entry in range(len(names)):
        if entry + _AHEAD < len(names):
            prefetch(origin, names[entry + _AHEAD] - base)
        name = names[entry]
        if places != 0:
            name = _get_item(places, name)
            if name == 0:
                return False
        place = _as_long(name)
        if place < 0 or place >= n:
            _clear_error()
            return False
        out[entry] = place
    return True


@numba.njit(cache=True)
def _read_numbers(edges, attribute, out):  # type: ignore[no-untyped-def]
    """The numbers that edges, whose dictionaries are at these addresses, have as an attribute, 1
    where they have none. Returns 1 if all are whole, 0 if not, -1 if some are no numbers.
    """
    origin = np.zeros(1, np.uint8)
    base = np.intp(origin.ctypes.data)
    whole = 1
    for entry in range(len(edges)):
        if entry + 2 * _AHEAD < len(edges):
            prefetch(origin, edges[entry + 2 * _AHEAD] - base)
            table = np.intp(load64(origin, edges[entry + _AHEAD] + _TABLE_AT - base))
            prefetch(origin, table - base)
        size, value = _size(edges[entry]), 0
        if size < 0:  # it is no dictionary
            _clear_error()
            return -1
        if size > 0:
            value = _get_item(edges[entry], attribute)
        number = 1.0
        if value != 0:
            number = _as_double(value)
            if number == -1.0 and _error() != 0:
                _clear_error()
                return -1
            if whole and not _is_index(value):
                whole = 0
        out[entry] = number
    return whole
