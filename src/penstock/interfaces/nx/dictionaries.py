"""NetworkX's dictionaries of dictionaries, read into arrays.

Compiled code reads them through the interpreter's C interface, holding its lock: four to ten times
as fast as a loop in Python. It reads dictionaries only, and of values only numbers; whatever else a
graph is made of (views, classes of users, other types of weights) is read in Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import networkx as nx
import numba
import numpy as np
from numba import types

from penstock.algorithms._in_order.lists import Lists, Parallel, offsets_of
from penstock.interfaces.nx.graph import Weight
from penstock.jit import load64, prefetch
from penstock.types import I64, U32, Array, Direction

_PLAIN = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
#: Where an object has the address of its type, in interpreters with a lock.
_TYPE_AT = 8
_COMPILED = ctypes.c_ssize_t.from_address(id(1.5) + _TYPE_AT).value == id(float)


def read_lists(graph: nx.Graph, names: Any, direction: Direction = "out") -> Lists:
    """The lists of all nodes, whose names are given by place."""
    adjacency = graph._adj if direction == "out" else graph._pred
    plain = isinstance(names, range)
    places = {} if plain else {name: k for k, name in enumerate(names)}
    if type(graph) in _PLAIN and _all_dicts(adjacency) and _are_simple(names):
        sizes = np.fromiter(map(len, adjacency.values()), np.int64, len(adjacency))
        offsets = offsets_of(sizes)
        neighbours: U32 = np.empty(int(offsets[-1]), np.uint32)
        kinds = id(int), id(int if plain else str)
        known = 0 if plain else id(places)
        room = _room(adjacency, len(neighbours))
        if _checked(_read_places(id(adjacency), *room, known, kinds, len(names), neighbours)):
            return Lists(offsets, neighbours)
    places = {name: k for k, name in enumerate(names)}
    # What users see of a graph, which need not be what it stores.
    shown = graph if direction == "out" else graph.pred
    rows = [[places[other] for other in shown[name]] for name in names]
    offsets = offsets_of(np.array([len(row) for row in rows], np.int64))
    return Lists(offsets, np.fromiter(chain.from_iterable(rows), np.uint32, int(offsets[-1])))


class Weights(NamedTuple):
    """The weight of each entry of the lists."""

    weights: Array
    #: Whether all of them are whole numbers.
    whole: bool
    #: Which entries are edges that the weight does not hide.
    there: Array


def read_weights(graph: nx.Graph, weight: Weight, parallel: Parallel, entries: int) -> Weights:
    """The weights of all edges, of which the lists have so many."""
    simple = type(graph) in (nx.Graph, nx.DiGraph)
    if isinstance(weight, str) and simple and _all_dicts(graph._adj):
        weights: Array = np.empty(entries, np.float64)
        kinds = (id(float), id(int), id(bool))
        room = _room(graph._adj, entries)
        answer = _checked(_read_numbers(id(graph._adj), *room, id(weight), kinds, weights))
        if answer:
            return Weights(weights, answer == _WHOLE, np.ones(entries, np.bool_))
    values = list(_weights_in_python(graph, weight, parallel))
    if len(values) != entries:
        raise _changed()
    whole = all(isinstance(value, int | np.integer) for value in values if value is not None)
    there = np.array([value is not None for value in values], np.bool_)
    return Weights(np.array([_number(value) for value in values], np.float64), whole, there)


def _number(value: Any) -> float:
    if isinstance(value, str | bytes):  # of which float() would make numbers
        raise TypeError(f"the weight of an edge is {value!r}, which is no number")
    return 0.0 if value is None else float(value)


def _changed() -> RuntimeError:
    return RuntimeError("the NetworkX graph was changed while it was read, or since")


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
    """Whether compiled code can read them."""
    return _COMPILED and type(adjacency) is dict and set(map(type, adjacency.values())) <= {dict}


def _are_simple(names: Any) -> bool:
    """Whether names can be looked up without running Python code, which could change the graph."""
    return isinstance(names, range) or set(map(type, names)) <= {int, str}


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the interpreter, by its name, for compiled code."""
    return types.ExternalFunction(name, result(*arguments))


_address = types.intp
_next_item = _function("PyDict_Next", types.int32, _address, *[types.voidptr] * 3)
_size = _function("PyDict_Size", _address, _address)
_get_item = _function("PyDict_GetItem", _address, _address, _address)
_as_long = _function("PyLong_AsLong", types.int64, _address)
_as_double = _function("PyFloat_AsDouble", types.float64, _address)
_error = _function("PyErr_Occurred", _address)
_clear_error = _function("PyErr_Clear", types.void)


#: Where a dictionary has the address of its table. It is only used to ask for that table early, so
#: in an interpreter that has it elsewhere nothing breaks.
_TABLE_AT = 32
#: How many objects ahead the cache is asked for one.
_AHEAD = 16
#: Which part of an item of a dictionary.
_NAMES, _VALUES = 1, 2


#: What compiled code answers.
_CHANGED, _NOT_SIMPLE, _READ, _WHOLE = -1, 0, 1, 2


def _room(adjacency: dict[Any, dict[Any, Any]], entries: int) -> tuple[I64, I64]:
    """Arrays for the addresses of the inner dictionaries, and of what is in them."""
    return np.empty(len(adjacency), np.int64), np.empty(entries, np.int64)


def _checked(answer: int) -> int:
    if answer == _CHANGED:
        raise _changed()
    return answer


# An address is good as long as the lock is held and no Python code runs: what lists addresses and
# what goes to them is one call.
#
# Dictionaries, their tables, names and values are anywhere in memory, and waiting for them is most
# of the work: each is asked for before it is needed.


@numba.njit(cache=True)
def _list_items(adjacency, rows, part, out):  # type: ignore[no-untyped-def]
    """The addresses of the names or values in the inner dictionaries, whose own go to ``rows``.
    False if they are not as many as there is room for.
    """
    item = np.zeros(3, np.intp)
    origin = np.zeros(1, np.uint8)
    base = np.intp(origin.ctypes.data)
    for row in range(len(rows)):
        if not _next_item(adjacency, item[0:].ctypes, item[1:].ctypes, item[2:].ctypes):
            return False
        rows[row] = item[2]
    at = 0
    for row in range(len(rows)):
        if row + 2 * _AHEAD < len(rows):
            prefetch(origin, rows[row + 2 * _AHEAD] - base)
            table = np.intp(load64(origin, rows[row + _AHEAD] + _TABLE_AT - base))
            prefetch(origin, table - base)
        item[0] = 0
        while _next_item(rows[row], item[0:].ctypes, item[1:].ctypes, item[2:].ctypes):
            if at == len(out):
                return False
            out[at] = item[part]
            at += 1
    return at == len(out)


@numba.njit(cache=True)
def _read_places(  # type: ignore[no-untyped-def]
    adjacency, rows, found, places, kinds, n, out
):
    """See :func:`_find_places`."""
    if not _list_items(adjacency, rows, _NAMES, found):
        return _CHANGED
    return _READ if _find_places(found, places, kinds, n, out) else _NOT_SIMPLE


@numba.njit(cache=True)
def _find_places(names, places, kinds, n, out):  # type: ignore[no-untyped-def]
    """The places of names that are at these addresses; ``places`` is the dictionary of them, or 0
    if names are places. False if there is a name that has none, or is of no type of ``kinds``.
    """
    origin = np.zeros(1, np.uint8)
    base = np.intp(origin.ctypes.data)
    for entry in range(len(names)):
        if entry + _AHEAD < len(names):
            prefetch(origin, names[entry + _AHEAD] - base)
        name = names[entry]
        kind = np.intp(load64(origin, name + _TYPE_AT - base))
        if kind != kinds[0] and kind != kinds[1]:
            return False
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
def _read_numbers(  # type: ignore[no-untyped-def]
    adjacency, rows, found, attribute, kinds, out
):
    """See :func:`_find_numbers`."""
    if not _list_items(adjacency, rows, _VALUES, found):
        return _CHANGED
    return _find_numbers(found, attribute, kinds, out)


@numba.njit(cache=True)
def _find_numbers(edges, attribute, kinds, out):  # type: ignore[no-untyped-def]
    """The numbers that edges, whose dictionaries are at these addresses, have as an attribute, 1
    where they have none. Not simple are those of no type of ``kinds``, of which the first is that
    of numbers that are not whole: others may run Python code when they are made into numbers.
    """
    origin = np.zeros(1, np.uint8)
    base = np.intp(origin.ctypes.data)
    answer = _WHOLE
    for entry in range(len(edges)):
        if entry + 2 * _AHEAD < len(edges):
            prefetch(origin, edges[entry + 2 * _AHEAD] - base)
            table = np.intp(load64(origin, edges[entry + _AHEAD] + _TABLE_AT - base))
            prefetch(origin, table - base)
        size, value = _size(edges[entry]), 0
        if size < 0:  # it is no dictionary
            _clear_error()
            return _NOT_SIMPLE
        if size > 0:
            value = _get_item(edges[entry], attribute)
        number = 1.0
        if value != 0:
            kind = np.intp(load64(origin, value + _TYPE_AT - base))
            if kind != kinds[0] and kind != kinds[1] and kind != kinds[2]:
                return _NOT_SIMPLE
            number = _as_double(value)
            if number == -1.0 and _error() != 0:
                _clear_error()
                return _NOT_SIMPLE
            if kind == kinds[0]:
                answer = _READ
        out[entry] = number
    return answer
