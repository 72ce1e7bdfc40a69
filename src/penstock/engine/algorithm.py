"""What an algorithm is to the world outside: a function of a graph, with options and a result.

An algorithm's file decorates its function with :func:`algorithm`. The function takes a
:class:`Task` and its own parameters; users call it with a graph, the parameters, and the options
that every algorithm has.
"""

from __future__ import annotations

import inspect
import resource
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from penstock.engine.engine import Engine
from penstock.engine.execute import Outcome, execute
from penstock.engine.options import OPTION_NAMES, RunOptions
from penstock.engine.parameters import checked_numbers
from penstock.engine.programs import Settings
from penstock.engine.result import Result
from penstock.engine.vertices import in_id_order, vid_of, vids_of
from penstock.errors import OptionError
from penstock.metrics import clock
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.store.source import Changing, holding_still, reading
from penstock.trace import write_trace
from penstock.types import U32, Array, Direction

#: What an algorithm's parameter is, for the command line: the id of a vertex; ids of vertices, or
#: one; a number for each of some vertices.
Vertex = Annotated[Any, "vertex"]
Vertices = Annotated[Any, "vertices"]
VertexValues = Annotated[Any, "vertex values"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What an algorithm needs and does on a graph, known before it runs."""

    #: Bytes of state for each vertex, all in memory.
    vertex_bytes: int
    #: The lists it looks at.
    directions: tuple[Direction, ...]
    #: Expected passes over the lists; of a traversal, the pages that it reads over all pages.
    passes: float
    columns: tuple[str, ...] = ()
    #: Bytes of state besides.
    more_bytes: int = 0
    #: Bytes for each vertex that are read through neighbour ids.
    gathered_bytes: int = 4
    #: How many times longer an edge takes than one of a PageRank step.
    work: float = 1.0
    #: The same with the lists in memory, if it then leaves out most of them.
    resident_passes: float | None = None
    #: Whether it can do with the first edges of each list in memory, and other lists read one by
    #: one; and how many first edges, if that is asked for.
    tiered: bool = False
    head_edges: int | None = None
    #: Expected passes then, with the one that loads them.
    tiered_passes: float | None = None
    #: Whether its kernels take lists in memory wherever they stand (by the ``ends`` of blocks).
    in_place: bool = False

    def needs(self, num_vertices: int) -> dict[str, Any]:
        """What an engine is asked for."""
        return {
            "directions": self.directions,
            "columns": self.columns,
            "state_bytes": self.vertex_bytes * num_vertices + self.more_bytes,
            "tiered": self.tiered,
            "head_edges": self.head_edges,
            "in_place": self.in_place,
        }


@dataclass(slots=True)
class Task:
    """One call of an algorithm: the graph, the options, and what was counted."""

    graph: Graph
    options: RunOptions
    engine: Engine | None = None
    began: float = field(default_factory=clock)

    def vid(self, vertex: object, name: str = "source") -> int:
        """The number inside of a vertex that the user names."""
        return vid_of(self.graph, vertex, name)

    def vids(self, vertices: Any, name: str = "vertices") -> U32:
        """The numbers inside of vertices that the user names, one or several: ascending, each
        once.
        """
        return vids_of(self.graph, vertices, name)

    def open(self, cost: Cost) -> Engine:
        """An engine for loops over the verbs."""
        self.engine = Engine(self.graph, self.options, **cost.needs(self.graph.num_vertices))
        return self.engine

    def execute(self, program: Program, settings: Settings) -> Outcome:
        """Run a vertex program."""
        outcome = execute(self.graph, program, settings, self.options)
        self.engine = outcome.engine
        return outcome

    def stats(self, **more: Any) -> dict[str, Any]:
        """What was counted, for the result."""
        engine = self.engine
        assert engine is not None
        total = engine.metrics.total()
        if self.options.trace is not None:
            write_trace(self.options.trace, engine.metrics, overwrite=self.options.overwrite)
        return {
            "seconds": clock() - self.began,
            "iterations": len(engine.metrics.rows),
            "edges_traversed": total.edges_traversed,
            "bytes_read": total.bytes_read,
            "pages_read": total.pages_read,
            "reads": total.reads,
            "cache_hits": total.cache_hits,
            "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "io_seconds": total.io_seconds,
            "decode_seconds": total.decode_seconds,
            "kernel_seconds": total.kernel_seconds,
            "load_seconds": engine.load_seconds,
            "threads": engine.threads,
            "streams": engine.plan.streams,
            "resident": engine.plan.resident,
            "head_edges": engine.plan.head_edges,
            "ranges": engine.plan.ranges,
            "planned_memory": engine.plan.memory_bytes,
            "graph": None if self.graph.path is None else str(self.graph.path),
            "num_vertices": self.graph.num_vertices,
            "trace": self.options.trace,
            **engine.facts,
            **more,
        }

    def result(self, name: str, values: Any, *, more: Mapping[str, Any], **columns: Any) -> Result:
        """A result with a value for each vertex, from arrays by vid."""
        assert self.engine is not None
        return Result.from_vids(
            self.graph,
            name,
            values,
            stats=self.stats(**more),
            iterations=self.engine.metrics.rows,
            threads=self.engine.threads,
            keep=self._has_room_for_order(),
            **columns,
        )

    def _has_room_for_order(self) -> bool:
        """Whether the order of the ids may be in memory both ways, for later results too."""
        assert self.engine is not None
        return self.engine.is_resident() and self.engine.budget.left >= 8 * self.graph.num_vertices

    def some(
        self, name: str, vids: U32, values: Array, *, more: Mapping[str, Any], **columns: Any
    ) -> Result:
        """A result with a value for each of some vertices (ascending numbers), in ascending order
        of ids; ``columns`` and ``edges`` as for :meth:`result`.
        """
        assert self.engine is not None
        others = columns.pop("columns", {})
        ids, arrays = in_id_order(
            self.graph, vids, [values, *others.values()], keep=self._has_room_for_order()
        )
        return Result.table(
            name,
            ids,
            arrays[0],
            columns=dict(zip(others, arrays[1:], strict=True)),
            stats=self.stats(**more),
            iterations=self.engine.metrics.rows,
            **columns,
        )


class Algorithm:
    """A function of a graph that users call; made by :func:`algorithm`."""

    def __init__(
        self,
        function: Callable[..., Result],
        cost: Callable[..., Cost],
        verify: Callable[[Graph, Result], None],
        *,
        finds_edges: bool = False,
        on_devices: bool = False,
    ) -> None:
        self.name = function.__name__
        self._function = function
        self._cost = cost
        self.verify = holding_still(verify)
        #: Whether its results have ``edges``.
        self.finds_edges = finds_edges
        #: Whether it runs on other devices than one CPU, too.
        self.on_devices = on_devices
        self.__doc__ = function.__doc__
        self.__name__ = self.__qualname__ = self.name
        self.__module__ = function.__module__
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        #: The algorithm's own parameters.
        self.parameters = {parameter.name: parameter for parameter in own}
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter("graph", plain, annotation=Graph),
                *(parameter.replace(kind=plain) for parameter in own),
                *(
                    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
                    for name in OPTION_NAMES
                ),
            ],
            return_annotation=Result,
        )

    def __call__(self, graph: Graph | Changing, *args: Any, **kwargs: Any) -> Result:
        """Run it; see the function's own help."""
        bound = self.__signature__.bind(graph, *args, **kwargs)
        given = dict(bound.arguments)
        given.pop("graph")
        own = {name: given.pop(name) for name in self.parameters if name in given}
        began = clock()
        with reading(graph) as still:
            result = self.call(Task(still, RunOptions.of(**given), began=began), own)
            if still is not graph:
                result.complete()
        result.stats |= {"algorithm": self.name, "parameters": self._complete(own)}
        return result

    def call(self, task: Task, own: Mapping[str, Any]) -> Result:
        """Run it as a task, with parameters of its own."""
        if not (self.on_devices or task.options.on_plain_cpu):
            names = ", ".join(device.name for device in task.options.devices)
            raise OptionError(
                f"devices: {self.name} runs on one CPU only, got {names}; leave out devices (the "
                "guide to devices lists the algorithms that run on others)"
            )
        return self._function(task, **checked_numbers(self.parameters, own))

    def cost(self, graph: Graph | Changing, **own: Any) -> Cost:
        """What it will need on a graph with these parameters."""
        with reading(graph) as still:
            return self._cost(still, **self._complete(checked_numbers(self.parameters, own)))

    def _complete(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters: those given, and the defaults of the others."""
        return {
            name: own.get(name, parameter.default) for name, parameter in self.parameters.items()
        }

    def __repr__(self) -> str:
        return f"<algorithm {self.name}{self.__signature__}>"


def algorithm(
    *,
    cost: Callable[..., Cost],
    verify: Callable[[Graph, Result], None],
    finds_edges: bool = False,
    on_devices: bool = False,
) -> Callable[[Callable[..., Result]], Algorithm]:
    """Make an algorithm of a function ``(task, **parameters)``."""

    def wrap(function: Callable[..., Result]) -> Algorithm:
        return Algorithm(function, cost, verify, finds_edges=finds_edges, on_devices=on_devices)

    return wrap
