"""From a program and a graph to values: what :func:`penstock.run` and the algorithms call."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.device.shape import Shape, shape_of
from penstock.engine.division import Shares
from penstock.engine.engine import Engine
from penstock.engine.given import Numbers
from penstock.engine.options import RunOptions
from penstock.engine.programs import ProgramRun, Settings
from penstock.engine.ranges import MOST_RANGES as MOST_CUTS
from penstock.engine.ranges import cut_bytes, wanted_ranges
from penstock.engine.scratch import InMemory, ScratchColumn
from penstock.engine.team import Team, shares_of
from penstock.errors import OptionError
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.types import Array, Direction

#: Buffers of a GPU's stream in the host's memory, besides those that a page takes decoded.
PINNED_BYTES = 12 << 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program left."""

    #: Each field by vertex number, in memory or in a file as the plan had it.
    columns: dict[str, InMemory | ScratchColumn]
    iterations: int
    converged: bool
    totals: dict[str, float]
    engine: Engine

    @property
    def values(self) -> dict[str, Array]:
        """Each field as an array; of a file it is mapped, not read."""
        return {name: column.whole() for name, column in self.columns.items()}


def program_needs(
    graph: Graph, shape: Shape, settings: Settings, options: RunOptions | None = None
) -> dict[str, Any]:
    """What the engine must know about a program's memory: its arguments of that name."""
    program, n = shape.program, graph.num_vertices
    fixed = program.fixed_dtypes
    state = sum(dtype.itemsize for dtype in program.state_dtypes.values())
    given = sum(dtype.itemsize for dtype in fixed.values())
    arrays, kept = _given_bytes(program, settings)
    read_only = given + 4 * len(shape.vertex_fields)
    sums = sum(dtype.itemsize for dtype in program.accumulators)
    in_place = settings.mode == "async"
    held = state * (1 if in_place else 2) + read_only
    pushes = settings.strategy == "push" or (program.incremental and settings.strategy == "auto")
    flags = 0 if program.activate is None else 1
    held += flags * 2 + (sums + 1 if pushes or not _has_in(graph) else 0)
    widths = program.state_dtypes | fixed
    gathered = sum(widths[name].itemsize if name in widths else 4 for name in shape.gathered)
    may_travel = not in_place and settings.strategy in ("auto", "pull") and _has_in(graph)
    shares = None if options is None else shares_of(n, shape, options)
    ranges = _cuts(graph, gathered, options, shares) if may_travel else 1
    # Accumulators of all vertices, from one range to the next; those of the cache are optional.
    divided = shares is not None and shares.ranges > 1 and settings.strategy != "push"
    held += sums if divided else 0
    beside = _device_bytes(graph, sums, options, shares)
    between = sums * n if ranges > 1 and not divided else 0
    columns = {c.name: c.dtype.itemsize for c in graph.catalog.columns}
    edge_bytes = 4 + sum(columns[name] for name in shape.columns)
    return {
        "directions": _directions(graph, program, settings),
        "columns": shape.columns,
        "state_bytes": held * n + beside + kept,
        "gathered_bytes": gathered * n if may_travel else None,
        "always_bytes": (flags + arrays) * n + beside + kept,
        "cut_ranges": ranges,
        "cut_bytes": cut_bytes(graph, ranges, edge_bytes) + between,
        "in_place": not any(d.has_own_memory for d in (() if options is None else options.devices)),
    }


def _given_bytes(program: Program, settings: Settings) -> tuple[int, int]:
    """What given fields hold wherever the values are: bytes a vertex of those that are arrays (or
    will be, when the run begins), and bytes of the others.
    """
    arrays = held = 0
    for name, dtype in program.fixed_dtypes.items():
        numbers = settings.fixed.get(name)
        if isinstance(numbers, Numbers):
            held += numbers.held_bytes
        else:
            arrays += dtype.itemsize
    return arrays, held


def _device_bytes(
    graph: Graph, sums: int, options: RunOptions | None, shares: Shares | None
) -> int:
    """What devices take of the host's memory: in Strategy S, accumulators of pieces that others are
    not through with, at worst of all; for each stream of a GPU, buffers for a page and its values.
    """
    if options is None or shares is None:
        return 0
    waiting = (len(options.devices) - 1) * sums if shares.division == "S" else 0
    gpus = [device for device in options.devices if device.has_own_memory]
    pinned = 4 * graph.catalog.page_bytes + PINNED_BYTES
    return waiting * graph.num_vertices + sum(device.threads or 1 for device in gpus) * pinned


def _cuts(graph: Graph, gathered: int, options: RunOptions | None, shares: Shares | None) -> int:
    """Into how many ranges lists are best cut, once, if there is memory to keep them so: as many as
    the devices divide the values into, or as fit a processor's cache; GPUs take lists as they are.
    """
    if options is not None and any(device.has_own_memory for device in options.devices):
        return 1
    if shares is not None and shares.ranges > 1:
        return shares.ranges if shares.ranges <= MOST_CUTS else 1
    return wanted_ranges(graph, gathered)


def _has_in(graph: Graph) -> bool:
    return not graph.directed or "in" in graph.directions


def _directions(graph: Graph, program: Program, settings: Settings) -> tuple[Direction, ...]:
    """The lists that a run will look at."""
    asked = settings.strategy
    if asked == "push" or not _has_in(graph):
        if asked in ("pull", "notify-pull"):
            graph.stored("in")
        return ("out",)
    if program.activate is None or asked == "pull" or (asked == "auto" and not _has_out(graph)):
        return ("in",)
    return ("in", "out")


def _has_out(graph: Graph) -> bool:
    return "out" in graph.directions


def make_kernels(shape: Shape, device: str) -> Any:
    """The kernels of a program on a device."""
    if device == "reference":
        from penstock.device.reference import ReferenceKernels

        return ReferenceKernels(shape)
    from penstock.device.cpu import CpuKernels

    return CpuKernels(shape)


def prepare(
    graph: Graph, program: Program, settings: Settings, options: RunOptions | None = None
) -> tuple[Shape, dict[str, Any]]:
    """Check what was asked for; what the program reads and writes, and what its engine needs."""
    if settings.mode not in ("sync", "async"):
        raise OptionError(f"mode: expected sync or async, got {settings.mode!r}")
    if settings.strategy not in ("auto", "pull", "notify-pull", "push"):
        raise OptionError(
            f"strategy: expected auto, pull, notify-pull or push; got {settings.strategy!r}"
        )
    if settings.mode == "async" and settings.strategy == "push":
        raise OptionError("strategy: asynchronous runs pull; push needs mode='sync'")
    if settings.strategy == "notify-pull" and program.activate is None:
        raise OptionError("strategy: notify-pull needs a program with activate")
    columns = {column.name: column.dtype for column in graph.catalog.columns}
    shape = shape_of(program, columns, settings.params, graph.catalog.weight)
    return shape, program_needs(graph, shape, settings, options)


def execute(graph: Graph, program: Program, settings: Settings, options: RunOptions) -> Outcome:
    """Run a program to its end."""
    shape, needs = prepare(graph, program, settings, options)
    in_place = settings.mode == "async"
    shares = shares_of(graph.num_vertices, shape, options)
    if in_place and shares.ranges > 1:
        raise OptionError(
            "mode: an asynchronous run gathers from values as they change, so each device needs "
            "all of them; use mode='sync', or leave out division S and limits of memory"
        )
    with Engine(graph, options, **needs) as engine:  # or a refusal, before anything is read
        if settings.prepare is not None:
            engine.metrics.per_stream[0].add(settings.prepare(settings))
        kernels = make_kernels(shape, options.devices[0].kind)
        with Team(engine, shape, kernels, shares, in_place=in_place) as team:
            run = ProgramRun(engine, shape, kernels, settings, team)
            run.run(identity_of(shape, settings))
            if not options.on_plain_cpu:
                engine.facts |= team.facts()
    columns = {name: run.state.column(name) for name in program.state}
    return Outcome(columns, run.iterations, run.converged, run.totals, engine)


def identity_of(shape: Shape, settings: Settings) -> dict[str, Any]:
    """What a checkpoint must agree on to be continued."""
    text = "\n".join(w.text + "".join(w.before) for w in shape.written.values())
    facts: Mapping[str, Any] = {
        "sum": shape.program.sum if isinstance(shape.program.sum, str) else "",
        "identity": str(shape.program.identities),
        "state": str(shape.program.state_dtypes),
    }
    digest = hashlib.sha256((text + str(facts)).encode()).hexdigest()[:16]
    params = {
        f"parameter {name}": value.item() if isinstance(value, np.generic) else value
        for name, value in settings.params.items()
    }
    return {
        "program": f"{shape.program.name} ({digest})",
        "mode": settings.mode,
        **params,
    }
