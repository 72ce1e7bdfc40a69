"""Running a vertex program: iterations of pull, notify-pull or push until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from penstock.arrays import sequential_sum
from penstock.device.signature import ProgramSignature
from penstock.engine.checkpoint_file import Facts
from penstock.engine.device_group import DeviceGroup
from penstock.engine.dispatch import Strategy, choose, cost, touched_share
from penstock.engine.dispatcher import Dispatcher
from penstock.engine.engine import Engine
from penstock.engine.profile import profile_for
from penstock.engine.recovery import Recovery
from penstock.engine.state import Given, State
from penstock.engine.sweeps import Sweeps
from penstock.errors import OptionError
from penstock.metrics import Counters, clock
from penstock.program import Program
from penstock.store.page import checksum
from penstock.stream.order import batches_of
from penstock.types import U8, U32, Array

if TYPE_CHECKING:
    from penstock.engine.shared_state import SharedState

Mode = Literal["sync", "async"]
Until = Callable[[Mapping[str, float]], bool]


@dataclass(slots=True)
class Settings:
    """How a program is to be run."""

    params: dict[str, Any]
    max_iter: int
    mode: Mode = "sync"
    strategy: Strategy | Literal["auto"] = "auto"
    #: Stop after an iteration for whose totals this holds.
    until: Until | None = None
    #: Vertices that are active at first; None: all.
    start: U32 | None = None
    fixed: dict[str, Given] = field(default_factory=dict)
    #: How many times faster the storage reads in sequence than at random; None: as measured.
    ratio: float | None = None
    #: Called when the run begins, to fill in parameters and fixed fields that are made of the graph
    #: (the parameters must be named before); gives what it counted.
    prepare: Callable[[Settings], Counters] | None = None


@dataclass(frozen=True, slots=True)
class _Choice:
    """How an iteration goes."""

    strategy: Strategy
    #: The active vertices, if they matter, and the share of the edges that they have.
    frontier: U32
    f: float
    #: What it costs, if to pull costs 1.
    cost: float = 1.0
    #: Whether only those devices work that need not pull.
    host_alone: bool = False


class ProgramRun:
    """One run of one program. :attr:`state` holds the values afterwards."""

    def __init__(
        self,
        engine: Engine,
        signature: ProgramSignature,
        kernels: Any,
        settings: Settings,
        team: DeviceGroup,
    ) -> None:
        self._engine = engine
        self._team = team
        self._dispatcher = Dispatcher(team, engine.options.dispatch) if team.is_mixed else None
        self._signature = signature
        self._kernels = kernels
        self._settings = settings
        self.program = signature.program
        self.state: State
        if engine.peers.size > 1:
            _check_over_hosts(engine, signature.program, settings)
            self.state = _state_over_hosts(engine)(engine, signature, settings.fixed)
        else:
            self.state = State(engine, signature, settings.fixed, in_place=settings.mode == "async")
        graph = engine.graph
        self._can_pull = not graph.directed or "in" in graph.directions
        both = not graph.directed or {"in", "out"} <= set(graph.directions)
        # Over rows of hosts all lists are gathered, row by row.
        self._can_notify = both and team.host_streams > 0 and engine.plan.grid is None
        self._can_push = "out" in graph.directions and self.state.in_memory and team.can_push
        # Over hosts the accumulators of a vertex would be on all of them.
        self._can_push = self._can_push and engine.peers.size == 1
        self.active: Array = np.zeros(0, np.uint8)
        if self.program.activate is not None:
            self.active = engine.array("active", np.uint8, 1)
        #: Totals of the last iteration; before the first, what the parameters say, or 0.
        self.totals = {name: float(settings.params.get(name, 0)) for name in self.program.totals}
        self.iterations = 0
        self.converged = False
        #: Of an iteration that is done in parts: the next page, and what kernels returned so far.
        self._page = 0
        self._partial: list[Any] = []
        if settings.strategy == "notify-pull" and self.program.totals:
            raise OptionError(
                "strategy: notify-pull looks at some of the vertices, and the program's totals "
                f"({', '.join(self.program.totals)}) are sums over all of them; use pull or auto"
            )
        if settings.strategy == "notify-pull" and team.all_push:
            raise OptionError(
                "strategy: notify-pull looks at some of the vertices, which a GPU does not; use "
                "auto, pull or push, or a CPU beside it"
            )
        self.sweeps = Sweeps(engine, signature, kernels, self.state, self.active, team)

    # The loop

    def run(self, identity: Mapping[str, Any]) -> None:
        """Iterate until nothing is active, ``until`` holds, or ``max_iter`` is reached."""
        settings, engine = self._settings, self._engine
        engine.options.progress.start("iterations", settings.max_iter, "iterations")
        with Recovery(engine, {**identity, **self._identity()}) as recovery:
            saved = recovery.resume(self._saved_arrays())
            if saved is None:
                self._initialise()
            else:
                self.iterations, extra = saved
                pages = max(each.num_pages for each in engine.graph.description.lists.values())
                self.totals, self._partial = extra["totals"], extra["partial"]
                self._page = extra.whole("page", 0, pages)
                self._check_facts(extra)
                if self.iterations and not self._page:
                    # ``until`` may be another than that of the run that was saved.
                    self.converged = self._is_done(active=bool(self.active.any()))
                if not self.state.in_memory:
                    self.state.reload()
            while not self.converged and self.iterations < settings.max_iter:
                self._iterate(recovery)
                recovery.after(self.iterations, self._saved_arrays(), self._extra())
        nan = self.state.count_nan()
        if nan:
            engine.facts["nan"] = nan

    def _check_facts(self, extra: Facts) -> None:
        """Raise if a checkpoint says what no run of this program can have saved."""
        totals, partial = extra["totals"], extra["partial"]
        if not isinstance(totals, dict) or set(totals) != set(self.program.totals):
            raise extra.wrong("its totals are not those of this program")
        rows = [list(totals.values()), *(partial if isinstance(partial, list) else [None])]
        for row in rows:
            if not isinstance(row, list) or not all(isinstance(x, int | float) for x in row):
                raise extra.wrong("its totals are no numbers")

    def _identity(self) -> dict[str, Any]:
        """What else a checkpoint must agree on: the values that the user gave for vertices."""
        digests = {
            f"field {name}": f"{self.state.digest(name):016x}" for name in self.program.fixed
        }
        if self._settings.start is not None:
            digests["start"] = f"{checksum(as_bytes(self._settings.start)):016x}"
        return {"accumulator": str(self.program.accumulators), **digests}

    def _extra(self) -> dict[str, Any]:
        return {
            "totals": self.totals, "page": self._page, "partial": self._partial,
        }  # fmt: skip

    def _saved_arrays(self) -> dict[str, Any]:
        arrays = dict(self.state.old)
        if self.program.activate is not None:
            arrays["active'"] = self.active
        return arrays

    def _iterate(self, recovery: Recovery) -> None:
        began = clock()
        choice = self._choose()
        strategy, frontier = choice.strategy, choice.frontier
        if self._page:
            strategy = "pull"  # as it began
        facts = {"devices": "host" if choice.host_alone else "all"} if self._dispatcher else {}
        self._team.host_alone(alone=choice.host_alone)
        with self._engine.step(strategy=strategy, active_share=round(choice.f, 6), **facts) as row:
            params = self._params()
            if strategy == "pull":
                rows = self._pull(params, recovery)
            elif strategy == "notify-pull":
                rows = self.sweeps.notify_pull(frontier, params)
            else:
                rows = self.sweeps.push(frontier, params)
            sums = _column_sums(rows)
            self.totals = {
                name: float(value)
                for name, value in zip(self.program.totals, sums[1:], strict=False)
            } or self.totals
            row["active"] = int(sums[0]) if sums and self.program.activate else None
            row |= self.totals
        if self._dispatcher is not None and choice.host_alone:
            self._dispatcher.took(strategy, choice.cost, clock() - began)
        self._team.host_alone(alone=False)
        self.iterations += 1
        self.converged = self._is_done(active=bool(sums and sums[0]))

    def _is_done(self, *, active: bool) -> bool:
        """Whether an iteration has left nothing to do; ``active``: some vertices are."""
        if self.program.activate is not None and not active:
            return True
        return self._settings.until is not None and bool(self._settings.until(self.totals))

    def _pull(self, params: tuple[Any, ...], recovery: Recovery) -> list[Any]:
        """All pages; an asynchronous run may stop and go on after some of them."""
        every = recovery.every_pages if self._settings.mode == "async" else None
        if every is None and self._page == 0:
            return self.sweeps.pull(params)
        table = self._engine.lists("in").table
        for pages in batches_of(table, every or len(table), self._page):
            rows = [*self._partial, *self.sweeps.pull(params, pages)]
            self._partial = [_column_sums(rows)] if rows else []
            self._page = pages.stop
            if pages.stop < len(table):
                arrays = self._saved_arrays()
                recovery.after(self.iterations, arrays, self._extra(), pages=len(pages))
        rows, self._partial, self._page = self._partial, [], 0
        return rows

    def _choose(self) -> _Choice:
        """How the next iteration goes."""
        choice = self._choose_strategy()
        if self._dispatcher is None:
            return choice
        asked, strategy = self._settings.strategy, choice.strategy
        alone = strategy != "pull"
        if asked == "auto" and self._can_pull:
            alone = self._dispatcher.host_alone(
                strategy, choice.cost, choice.f, self._penalty() if alone else 1.0
            )
            strategy = strategy if alone else "pull"
        return replace(choice, strategy=strategy, host_alone=alone)

    def _choose_strategy(self) -> _Choice:
        graph, asked = self._engine.graph, self._settings.strategy
        everything: U32 = np.empty(0, np.uint32)
        if self.program.activate is None or not self.state.in_memory:
            strategy: Strategy = "pull" if self._can_pull else "push"
            return _Choice(strategy if asked == "auto" else asked, everything, 1.0)
        frontier = np.flatnonzero(self.active).astype(np.uint32)
        f = len(frontier) / max(graph.num_vertices, 1)
        edges = graph.list_stats(graph.directions[0]).num_edges
        active_edges = edges
        if "out" in graph.directions and len(frontier) < graph.num_vertices:
            active_edges = int(graph.degrees("out")[frontier].sum(dtype=np.int64))
            f = active_edges / max(edges, 1)
        if len(frontier) == graph.num_vertices and asked != "push" and self._can_pull:
            # Including those without in-edges, which are never notified.
            return _Choice("pull", frontier, 1.0)
        if asked != "auto":
            return _Choice(asked, frontier, f)
        incremental = self.program.incremental and not self.program.order_matters
        totals = len(self.program.totals) > 0  # over all vertices, not over some
        into = graph.list_stats("in") if self._can_pull else None
        touched = 1.0 if into is None else touched_share(f, into.degree_histogram)
        chosen = choose(
            active_edges, edges, touched,
            resident=self._engine.plan.resident, ratio=self._ratio(),
            can_pull=self._can_pull, can_notify=self._can_notify and not totals,
            can_push=self._can_push and incremental and not totals,
        )  # fmt: skip
        return _Choice(chosen, frontier, f, cost(chosen, f, touched, self._penalty()))

    def _penalty(self) -> float:
        """How many times longer it takes to read at random, where that happens."""
        return 1.0 if self._engine.plan.resident else max(self._ratio(), 1.0)

    def _ratio(self) -> float:
        """How many times faster the storage reads in sequence than at random."""
        engine, settings = self._engine, self._settings
        if settings.ratio is None:
            disk = None
            if not engine.plan.resident:
                disk = profile_for(engine.graph, engine.threads, engine.options.memory).disk
            ratio: Array = np.array([1.0 if disk is None else disk.ratio])
            # One for all ranks, or they would not go the same way.
            settings.ratio = max(float(each[0]) for (each,) in engine.peers.allgather(ratio))
        return settings.ratio

    def _params(self) -> tuple[Any, ...]:
        values = {
            **self._settings.params, **self.totals,
            "num_vertices": self._engine.num_vertices, "iteration": self.iterations,
        }  # fmt: skip
        return tuple(values[name] for name in self._signature.params)

    def _initialise(self) -> None:
        params, signature, state = self._params(), self._signature, self.state

        def one(stream: int, span: tuple[int, int]) -> None:
            base, local = state.local(signature.of_init, *span)
            new = state.new_arrays(*span)
            self._kernels.init(*span, base, local, new, params)
            state.store(*span, new)

        state.begin_pass(over_lists=False)
        self._engine.workers.run(one, state.spans())
        state.publish([], self.active)
        if self._settings.start is not None and self.program.activate is not None:
            self.active[:] = 0
            self.active[self._settings.start] = 1


def _state_over_hosts(engine: Engine) -> type[SharedState]:
    from penstock.engine.grid_state import GridState
    from penstock.engine.shared_state import SharedState

    return SharedState if engine.plan.grid is None else GridState


def _check_over_hosts(engine: Engine, program: Program, settings: Settings) -> None:
    """Raise for what a run over several hosts cannot do."""
    if settings.mode == "async":
        raise OptionError(
            "mode: a run over hosts is synchronous, because a page's new values reach other hosts "
            "after the iteration only; use mode='sync', or leave out hosts"
        )
    if settings.strategy == "push":
        raise OptionError(
            "strategy: a run over hosts pulls or notifies, got 'push'; leave out strategy, or hosts"
        )
    graph = engine.graph
    if graph.directed and "in" not in graph.directions:
        raise OptionError(
            f"hosts: {program.name} gathers along in-lists over hosts, and the graph was built "
            "without them; rebuild it with both directions, or leave out hosts"
        )


def _column_sums(rows: list[Any]) -> list[Any]:
    """What kernels returned, added up in order: the active vertices, and each total."""
    return [sequential_sum(column) for column in zip(*rows, strict=True)]


def as_bytes(array: Array) -> U8:
    """An array's bytes."""
    return np.ascontiguousarray(array).view(np.uint8)
