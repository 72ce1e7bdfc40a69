"""What an algorithm is to the world outside: a function of a graph, with options and a result.

An algorithm's file decorates its function with :func:`algorithm`. The function takes a
:class:`Task` and its own parameters; users call it with a graph, the parameters, and the options
that every algorithm has.
"""

from __future__ import annotations

import inspect
import resource
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from penstock.engine.counts import Counts, Selected, counts_of
from penstock.engine.engine import Engine
from penstock.engine.execute import Outcome, execute
from penstock.engine.needs import Needs
from penstock.engine.options import OPTION_NAMES, RunOptions
from penstock.engine.over_hosts import Call, Part, folder_of, run_over_hosts
from penstock.engine.parameters import checked_numbers, named_kind
from penstock.engine.peers import ALONE
from penstock.engine.plan import Plan
from penstock.engine.planning import open_engine, plan_run, prepare_run
from penstock.engine.programs import Settings
from penstock.engine.result import Result
from penstock.engine.vertices import by_vid, in_id_order, vid_of, vids_of
from penstock.errors import OptionError
from penstock.metrics import clock
from penstock.store.graph import Graph
from penstock.store.reading import Changing, read_locked, reading
from penstock.trace import write_trace
from penstock.types import U32, Array, Direction

#: What an algorithm's parameter is, for the command line: the id of a vertex; ids of vertices, or
#: one; a number for each of some vertices.
Vertex = Annotated[Any, "vertex"]
Vertices = Annotated[Any, "vertices"]
VertexValues = Annotated[Any, "vertex values"]


_NOTHING_MORE: Mapping[str, Any] = MappingProxyType({})


@dataclass(slots=True)
class Task:
    """One call of an algorithm: the graph, the options, what it needs, and what was counted."""

    graph: Graph
    options: RunOptions
    #: Ways to run, best first.
    requirements: Sequence[Needs] = ()
    engine: Engine | None = None
    began: float = field(default_factory=clock)
    #: The vertices that parameters name, by the name of the parameter.
    selected: dict[str, U32] = field(default_factory=dict)
    #: In a run over several hosts, what this rank has found for its own vertices.
    part: Part | None = None
    #: And what makes further columns of it.
    later: dict[str, Callable[[], Array]] = field(default_factory=dict)

    def vid(self, vertex: object, name: str = "source") -> int:
        """The number inside of a vertex that the user names."""
        return vid_of(self.graph, vertex, name)

    def vids(self, vertices: Any, name: str = "vertices") -> U32:
        """The numbers inside of vertices that the user names, one or several: ascending, each
        once.
        """
        found = self.selected.get(name)
        return vids_of(self.graph, vertices, name) if found is None else found

    def open(self) -> Engine:
        """The engine of the run: for loops over the verbs."""
        self.engine = self.open_part(*self.requirements)
        return self.engine

    def open_part(self, *requirements: Needs) -> Engine:
        """An engine for a part of the run that has needs of its own."""
        return open_engine(self.graph, self.options, *requirements)

    def execute(self, settings: Settings) -> Outcome:
        """Run the vertex program that the requirements are of."""
        plan = prepare_run(self.graph, self.requirements, self.options)
        outcome = execute(self.graph, plan, settings, self.options)
        self.engine = outcome.engine
        return outcome

    def stats(self, **more: Any) -> dict[str, Any]:
        """What was counted, for the result."""
        engine = self.engine
        assert engine is not None
        total = engine.metrics.total()
        if self.options.trace is not None and self.options.peers is ALONE:
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

    def result(
        self, name: str, values: Any, *, more: Mapping[str, Any] = _NOTHING_MORE, **columns: Any
    ) -> Result:
        """A result with a value for each vertex, from arrays by vid. Over several hosts arrays may
        also be of own vertices alone, and only these are in the result, by number.
        """
        assert self.engine is not None
        if self.options.peers.size > 1:
            return self._part_result(name, values, more, **columns)
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

    def _part_result(
        self,
        name: str,
        values: Any,
        more: Mapping[str, Any],
        *,
        columns: Mapping[str, Any] = _NOTHING_MORE,
        vid_columns: Mapping[str, Any] = _NOTHING_MORE,
        values_are_vids: bool = False,
    ) -> Result:
        assert self.engine is not None
        own, n = self.engine.own_vertices, self.graph.num_vertices

        def of_own(given: Any) -> Array:
            array: Array = given() if callable(given) else given
            return own.take(array) if len(array) == n else array

        more_columns = {**columns, **vid_columns}
        self.later = {
            each: partial(of_own, column)
            for each, column in more_columns.items()
            if callable(column)
        }
        found = {
            each: of_own(column)
            for each, column in {name: values, **more_columns}.items()
            if each not in self.later
        }
        named = (*([name] if values_are_vids else []), *vid_columns)
        self.part = Part(name, own.begins, own.ends, found, named, tuple(self.later))
        # The rows are in the part; what was counted is here.
        none: Array = np.empty(0, np.uint32)
        return Result.table(
            name, none, none, id_name="vid", stats=self.stats(**more),
            iterations=self.engine.metrics.rows,
        )  # fmt: skip

    def _has_room_for_order(self) -> bool:
        """Whether the order of the ids may be in memory both ways, for later results too."""
        assert self.engine is not None
        return self.engine.is_resident() and self.engine.budget.left >= 8 * self.graph.num_vertices

    def partial_result(
        self, name: str, vids: U32, values: Array, *, more: Mapping[str, Any] = _NOTHING_MORE,
        **columns: Any,
    ) -> Result:  # fmt: skip
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


#: What an algorithm needs with some parameters, on a graph of which counts are known: ways to run,
#: best first. It raises an OptionError for parameters that cannot be. Parameters that name vertices
#: are given as :class:`~penstock.engine.counts.Selected`.
Requirements = Callable[..., Sequence[Needs]]


class Algorithm:
    """A function of a graph that users call; made by :func:`algorithm`."""

    def __init__(
        self,
        function: Callable[..., Result],
        requirements: Requirements,
        verify: Callable[[Graph, Result], None],
        *,
        finds_edges: bool = False,
        on_devices: Requirements | None = None,
        on_hosts: Requirements | None = None,
    ) -> None:
        self.name = function.__name__
        self._function = function
        self._requirements = requirements
        self._on_devices = on_devices
        self._on_hosts = on_hosts
        self.verify = read_locked(verify)
        #: Whether its results have ``edges``.
        self.finds_edges = finds_edges
        self.__doc__ = function.__doc__
        self.__name__ = self.__qualname__ = self.name
        self.__module__ = function.__module__
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        #: The algorithm's own parameters.
        self.parameters = {parameter.name: parameter for parameter in own}
        kinds = {parameter.name: named_kind(parameter.annotation) for parameter in own}
        #: Those that name vertices, and what they name: "vertex", "vertices" or "vertex values".
        self.kinds = {name: kind for name, kind in kinds.items() if kind is not None}
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter("graph", plain, annotation=Graph),
                *(parameter.replace(kind=plain) for parameter in own),
                *(
                    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
                    for name in (*OPTION_NAMES, "hosts", "out")
                ),
            ],
            return_annotation=Result,
        )

    @property
    def on_devices(self) -> bool:
        """Whether it runs on other devices than one CPU, too."""
        return self._on_devices is not None

    @property
    def on_hosts(self) -> bool:
        """Whether it runs over several hosts, too."""
        return self._on_hosts is not None

    def __call__(self, graph: Graph | Changing, *args: Any, **kwargs: Any) -> Result:
        """Run it; see the function's own help."""
        bound = self.__signature__.bind(graph, *args, **kwargs)
        given = dict(bound.arguments)
        given.pop("graph")
        own = {name: given.pop(name) for name in self.parameters if name in given}
        began = clock()
        hosts = given.pop("hosts", None)
        out = folder_of(given.pop("out", None), hosts)
        if hosts is not None:
            with reading(graph) as still:
                found = run_over_hosts(hosts, Call(still, self.name, own, given, out))
            found.stats |= {"algorithm": self.name, "parameters": self._complete(own)}
            return found
        with reading(graph) as still:
            result = self.call(Task(still, RunOptions.of(**given), began=began), own)
            if still is not graph:
                result.complete()
        result.stats |= {"algorithm": self.name, "parameters": self._complete(own)}
        return result

    def call(self, task: Task, own: Mapping[str, Any]) -> Result:
        """Run it as a task, with parameters of its own."""
        task.requirements = self._required(task, own)
        return self._function(task, **checked_numbers(self.parameters, own))

    def requirements(self, graph: Counts | Graph | Changing, **own: Any) -> Sequence[Needs]:
        """What it needs with these parameters, best first: on a graph, or on one of which only the
        counts are known; then vertices are given as :class:`~penstock.engine.counts.Selected`.
        """
        if isinstance(graph, Counts):
            return self._requirements(
                graph, **self._complete(checked_numbers(self.parameters, own))
            )
        with reading(graph) as still:
            return self._required(Task(still, RunOptions.of()), own)

    def plan(self, graph: Graph | Changing, options: RunOptions, own: Mapping[str, Any]) -> Plan:
        """How a run would go; raises what it would raise before it begins."""
        with reading(graph) as still:
            for name, kind in self.kinds.items():
                if kind == "vertex values" and own.get(name) is not None:
                    by_vid(still, own[name], name, 0.0, np.float64)
            return plan_run(still, self._required(Task(still, options), own), options)

    def _required(self, task: Task, own: Mapping[str, Any]) -> Sequence[Needs]:
        """What a task needs; the vertices that parameters name are looked up for it."""
        options, requirements = task.options, self._requirements
        if options.over_hosts:
            if self._on_hosts is None:
                raise OptionError(
                    f"hosts: {self.name} runs on one host only; leave out hosts (the guide to "
                    "several machines lists the algorithms that run over them)"
                )
            requirements = self._on_hosts
        elif not options.on_plain_cpu:
            if self._on_devices is None:
                names = ", ".join(device.name for device in options.devices)
                raise OptionError(
                    f"devices: {self.name} runs on one CPU only, got {names}; leave out devices "
                    "(the guide to devices lists the algorithms that run on others)"
                )
            requirements = self._on_devices
        complete = self._complete(checked_numbers(self.parameters, own))
        for name, kind in self.kinds.items():
            if kind != "vertex values" and complete[name] is not None:
                task.selected[name] = vids_of(task.graph, complete[name], name)
                complete[name] = _select(task.graph, task.selected[name])
        return requirements(counts_of(task.graph), **complete)

    def _complete(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters: those given, and the defaults of the others."""
        return {
            name: own.get(name, parameter.default) for name, parameter in self.parameters.items()
        }

    def __repr__(self) -> str:
        return f"<algorithm {self.name}{self.__signature__}>"


def _select(graph: Graph, vids: U32) -> Selected:
    def edges(direction: Direction) -> int:
        return int(graph.degrees(direction)[vids].sum(dtype=np.int64))

    return Selected(len(vids), edges)


def algorithm(
    *,
    requirements: Requirements,
    verify: Callable[[Graph, Result], None],
    finds_edges: bool = False,
    on_devices: Requirements | None = None,
    on_hosts: Requirements | None = None,
) -> Callable[[Callable[..., Result]], Algorithm]:
    """Make an algorithm of a function ``(task, **parameters)``. ``on_devices``: what it needs if
    other devices than one CPU run it; None: they cannot. ``on_hosts``: the same for several hosts.
    """

    def wrap(function: Callable[..., Result]) -> Algorithm:
        return Algorithm(
            function, requirements, verify, finds_edges=finds_edges, on_devices=on_devices,
            on_hosts=on_hosts,
        )  # fmt: skip

    return wrap
