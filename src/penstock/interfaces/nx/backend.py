"""What NetworkX calls: ``backend.pagerank(graph, ...)``, conversion, and whether to be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

import networkx as nx

from penstock.interfaces.nx.graph import NetworkXGraph
from penstock.interfaces.nx.info import FUNCTIONS
from penstock.interfaces.nx.listed import ListedGraph

#: NetworkX's own functions are done with a smaller graph before ours have begun.
SMALL_EDGES = 2_000

Question = Callable[..., "bool | str"]
Function = TypeVar("Function", bound=Callable[..., Any])


def asks(
    can_run: Question | None = None, should_run: Question | None = None
) -> Callable[[Function], Function]:
    """A function of the backend that cannot, or should not, run with all arguments: questions with
    its own signature, which say yes (True) or why not.
    """

    def mark(function: Function) -> Function:
        function.can_run = can_run  # type: ignore[attr-defined]
        function.should_run = should_run  # type: ignore[attr-defined]
        return function

    return mark


class Backend:
    """The backend: its attributes are functions of NetworkX by their names."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in FUNCTIONS:
            raise AttributeError(f"penstock has no {name!r} of NetworkX", name=name, obj=self)
        module = import_module(f"penstock.interfaces.nx.{FUNCTIONS[name][0]}")
        function: Callable[..., Any] = getattr(module, name)
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *FUNCTIONS]

    @staticmethod
    def convert_from_nx(graph: nx.Graph, **_attributes: Any) -> ListedGraph:
        """A graph of NetworkX for the functions of the backend; attributes are read when a function
        asks for them.
        """
        return ListedGraph.of(graph)

    @staticmethod
    def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
        """A graph of the backend for NetworkX's own functions; other results as they are."""
        return result.to_networkx() if isinstance(result, NetworkXGraph) else result

    def can_run(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
        """Whether a function takes these arguments: True, or why not."""
        return _answer(getattr(getattr(self, name), "can_run", None), args, kwargs)

    def should_run(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
        """Whether a function is worth calling if nobody asked for it: True, or why not."""
        for graph in (*args, *kwargs.values()):
            if isinstance(graph, nx.Graph) and graph.number_of_edges() < SMALL_EDGES:
                return (
                    f"the graph has {graph.number_of_edges():,} edges; below {SMALL_EDGES:,} "
                    "NetworkX itself is faster"
                )
        return _answer(getattr(getattr(self, name), "should_run", None), args, kwargs)


def _answer(
    question: Question | None, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool | str:
    return True if question is None else question(*args, **kwargs)


backend = Backend()
