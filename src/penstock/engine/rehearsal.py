"""The plan of a run, from the algorithm itself: it is called with a task that stops where the work
would begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from numpy.typing import DTypeLike

from penstock.engine.algorithm import Algorithm, Cost, Task
from penstock.engine.division import ONE, Shares
from penstock.engine.engine import Engine
from penstock.engine.execute import prepare
from penstock.engine.options import RunOptions
from penstock.engine.plan import SPARE_BYTES, Plan
from penstock.engine.programs import Settings
from penstock.engine.team import shares_of
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.types import Direction

#: The plan of a run that has nothing to do.
NOTHING = Plan(1, True, False, 0, "memory", 1, SPARE_BYTES)


@dataclass(frozen=True, slots=True)
class Planned:
    """How a run would go, what its engine is asked for, and the plan if memory had no end."""

    plan: Plan
    needs: Mapping[str, Any]
    unbounded: Plan
    #: How the devices of a program divide it.
    shares: Shares = ONE


class _BeginsError(Exception):
    """The run would begin now."""


class _RehearsedEngine(Engine):
    """An engine that has a plan and does no work."""

    def __enter__(self) -> NoReturn:
        raise _BeginsError

    def lists(self, direction: Direction) -> NoReturn:
        """Would read pages."""
        raise _BeginsError

    def array(self, name: str, dtype: DTypeLike, fill: object = None) -> NoReturn:
        """Would take memory."""
        raise _BeginsError


@dataclass(slots=True)
class _Rehearsal(Task):
    """A task that ends when the run would begin. An algorithm may open several engines, to choose
    one by its plan: the last one counts.
    """

    planned: Planned = Planned(NOTHING, {"directions": (), "state_bytes": 0}, NOTHING)

    def open(self, cost: Cost) -> Engine:
        """Plan for loops over the verbs."""
        return self._plan(**cost.needs(self.graph.num_vertices))

    def execute(self, program: Program, settings: Settings) -> NoReturn:
        """Plan for a vertex program."""
        shape, needs = prepare(self.graph, program, settings, self.options)
        if settings.prepare is not None:
            with suppress(_BeginsError):
                settings.prepare(settings)
        self._plan(**needs)
        shares = shares_of(self.graph.num_vertices, shape, self.options)
        self.planned = replace(self.planned, shares=shares)
        raise _BeginsError

    def _plan(self, **needs: Any) -> Engine:
        unbounded = replace(self.options, memory=1 << 62, load=True)
        most = _RehearsedEngine(self.graph, unbounded, **needs).plan
        self.engine = _RehearsedEngine(self.graph, self.options, **needs)
        self.planned = Planned(self.engine.plan, needs, most)
        return self.engine


def plan_run(
    graph: Graph, algorithm: Algorithm, parameters: Mapping[str, Any], options: RunOptions
) -> Planned:
    """The plan of a run: nothing is read but indexes."""
    task = _Rehearsal(graph, replace(options, checkpoint=None, trace=None))
    with suppress(_BeginsError):
        algorithm.call(task, parameters)
    return task.planned
