"""Graphs that change, held as they are for as long as they are looked at."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from penstock.errors import OptionError
from penstock.store.graph import Graph

Function = TypeVar("Function", bound=Callable[..., Any])


@runtime_checkable
class Changing(Protocol):
    """A graph that changes: whoever wants to look at it holds it still meanwhile."""

    def reading(self) -> AbstractContextManager[Graph]:
        """The graph as it is, which stays so until the context is left."""


def reading(graph: Graph | Changing) -> AbstractContextManager[Graph]:
    """A graph that algorithms can run on: itself, unless it changes."""
    if isinstance(graph, Graph):
        return nullcontext(graph)
    if isinstance(graph, Changing):
        return graph.reading()
    raise OptionError(
        f"graph: expected a graph, got {type(graph).__name__}; open one with ps.open(path) or make "
        "one with ps.from_edges(src, dst)"
    )


def read_locked(function: Function) -> Function:
    """A function of a graph that takes one that changes, too: it holds it still meanwhile."""

    @wraps(function)
    def held(graph: Graph | Changing, *args: Any, **kwargs: Any) -> Any:
        with reading(graph) as still:
            return function(still, *args, **kwargs)

    return cast("Function", held)
