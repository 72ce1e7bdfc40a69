"""From a program and a graph to values: what :func:`penstock.run` and the algorithms call."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from penstock.device.signature import ProgramSignature, signature_of
from penstock.engine.counts import Counts
from penstock.engine.device_group import DeviceGroup
from penstock.engine.dispatch import Strategy
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs, ProgramNeeds
from penstock.engine.options import RunOptions
from penstock.engine.plan import Plan
from penstock.engine.programs import Mode, ProgramRun, Settings
from penstock.engine.scratch import InMemory, ScratchColumn
from penstock.errors import OptionError
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.store.mapped import PART
from penstock.types import Array, Direction


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program left."""

    #: Each field by vertex number, in memory or in a file as the plan had it.
    columns: dict[str, InMemory | ScratchColumn]
    iterations: int
    converged: bool
    totals: dict[str, float]
    engine: Engine

    def parts(self, name: str) -> Iterator[tuple[int, int, int]]:
        """The values that are here, of a field, in parts: where each begins in its column, and the
        vertices from which, and up to which, it has. Over hosts, those of own vertices.
        """
        column, own = self.columns[name], self.engine.own_vertices
        whole = column.length == self.engine.num_vertices
        for begin, end in own.ranges(PART):
            yield begin if whole else own.position(begin), begin, end

    @property
    def values(self) -> dict[str, Array]:
        """Each field as an array; of a file it is mapped, not read."""
        return {name: column.whole() for name, column in self.columns.items()}


def program_requirements(
    counts: Counts,
    program: Program,
    *,
    passes: float,
    params: Mapping[str, Any] = MappingProxyType({}),
    given: Mapping[str, int] = MappingProxyType({}),
    mode: Mode = "sync",
    strategy: Strategy | Literal["auto"] = "auto",
    work: float = 1.0,
    parts: tuple[Needs, ...] = (),
) -> list[Needs]:
    """What a vertex program needs; raises if it cannot be run so.

    ``params``: its parameters, of which the names count. ``given``: the fixed fields whose numbers
    are known before the run, and the bytes that these hold (see :func:`given_bytes`); others are
    arrays that are made when it begins.
    """
    _check(program, mode, strategy)
    signature = signature_of(program, counts.columns, params, counts.weight)
    fixed = program.fixed_dtypes
    state = sum(dtype.itemsize for dtype in program.state_dtypes.values())
    read_only = sum(dtype.itemsize for dtype in fixed.values()) + 4 * len(signature.vertex_fields)
    arrays = sum(dtype.itemsize for name, dtype in fixed.items() if name not in given)
    held_bytes = sum(given.get(name, 0) for name in fixed)
    sums = sum(dtype.itemsize for dtype in program.accumulators)
    pushes = strategy == "push" or (program.incremental and strategy == "auto")
    flags = 0 if program.activate is None else 1
    held = state * (1 if mode == "async" else 2) + read_only + flags * 2
    widths = program.state_dtypes | fixed
    gathered = sum(widths[name].itemsize if name in widths else 4 for name in signature.gathered)

    def way(*, has_in: bool) -> Needs:
        may_travel = mode == "sync" and strategy in ("auto", "pull") and has_in
        needs = ProgramNeeds(
            signature, sums, flags + arrays, held_bytes, may_travel, mode == "async",
            strategy == "push",
        )  # fmt: skip
        return Needs(
            _directions(counts, program, strategy, has_in=has_in), passes, signature.columns,
            held + (sums + 1 if pushes or not has_in else 0),
            more_bytes=held_bytes, takes_gaps=True, program=needs, parts=parts,
            gathered_bytes=gathered, takes_rows=may_travel, work=work,
        )  # fmt: skip

    if "in" in counts.unbuilt and strategy == "auto" and mode == "sync":
        # In-lists that are not there yet may be too large to make.
        return [way(has_in=True), way(has_in=False)]
    return [way(has_in=counts.has("in"))]


def _check(program: Program, mode: str, strategy: str) -> None:
    if mode not in ("sync", "async"):
        raise OptionError(f"mode: expected sync or async, got {mode!r}")
    if strategy not in ("auto", "pull", "notify-pull", "push"):
        raise OptionError(f"strategy: expected auto, pull, notify-pull or push; got {strategy!r}")
    if mode == "async" and strategy == "push":
        raise OptionError("strategy: asynchronous runs pull; push needs mode='sync'")
    if strategy == "notify-pull" and program.activate is None:
        raise OptionError("strategy: notify-pull needs a program with activate")


def _directions(
    counts: Counts, program: Program, strategy: str, *, has_in: bool
) -> tuple[Direction, ...]:
    """The lists that a run will look at."""
    if strategy == "push" or not has_in:
        if strategy in ("pull", "notify-pull"):
            counts.stored("in")
        return ("out",)
    has_out = counts.has("out")
    if program.activate is None or strategy == "pull" or (strategy == "auto" and not has_out):
        return ("in",)
    return ("in", "out")


def make_kernels(signature: ProgramSignature, device: str) -> Any:
    """The kernels of a program on a device."""
    if device == "reference":
        from penstock.device.reference import ReferenceKernels

        return ReferenceKernels(signature)
    from penstock.device.cpu import CpuKernels

    return CpuKernels(signature)


def execute(graph: Graph, plan: Plan, settings: Settings, options: RunOptions) -> Outcome:
    """Run the program that a plan was made for to its end."""
    assert plan.needs.program is not None
    signature = plan.needs.program.signature
    in_place = settings.mode == "async"
    with Engine(graph, plan, options) as engine:
        if settings.prepare is not None:
            engine.metrics.per_stream[0].add(settings.prepare(settings))
        kernels = make_kernels(signature, options.devices[0].kind)
        with DeviceGroup(engine, signature, kernels, plan.shares, in_place=in_place) as team:
            run = ProgramRun(engine, signature, kernels, settings, team)
            run.run(identity_of(signature, settings))
            if not options.on_plain_cpu:
                engine.facts |= team.facts()
            if options.peers.size > 1:
                engine.facts["host_rows"] = 1 if plan.grid is None else plan.grid.rows
    columns = {name: run.state.column(name) for name in signature.program.state}
    return Outcome(columns, run.iterations, run.converged, run.totals, engine)


def identity_of(signature: ProgramSignature, settings: Settings) -> dict[str, Any]:
    """What a checkpoint must agree on to be continued."""
    text = "\n".join(w.text + "".join(w.before) for w in signature.written.values())
    facts: Mapping[str, Any] = {
        "sum": signature.program.sum if isinstance(signature.program.sum, str) else "",
        "identity": str(signature.program.identities),
        "state": str(signature.program.state_dtypes),
    }
    digest = hashlib.sha256((text + str(facts)).encode()).hexdigest()[:16]
    params = {
        f"parameter {name}": value.item() if isinstance(value, np.generic) else value
        for name, value in settings.params.items()
    }
    return {
        "program": f"{signature.program.name} ({digest})",
        "mode": settings.mode,
        **params,
    }
