"""Algorithms as vertex programs, for devices that run nothing else: GPUs, several devices at once,
the reference device.

On one CPU these algorithms have better methods, in files of their own; the results are the same.
Each is a gather, a sum and an apply, and looks only at what changed (``incremental``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penstock.engine.algorithm import Task
from penstock.engine.counts import Counts, Selected
from penstock.engine.execute import Outcome, program_requirements
from penstock.engine.needs import Needs
from penstock.engine.programs import Settings
from penstock.engine.vertices import some_vertices
from penstock.errors import OptionError
from penstock.program import Program
from penstock.types import I64, NO_VERTEX, U32, Array

#: Of a level and a parent in one number: no level.
_NONE = (1 << 63) - 1
_FAR = 1 << 31


def refuse_options(name: str, **given: Any) -> None:
    """Raise if one is given that only the method for one CPU has."""
    for option, value in given.items():
        if value not in (None, False):
            raise OptionError(f"{option}: {name} has it on one CPU only; leave it out, or devices")


def _iterations(task: Task) -> int:
    """More than any path has edges."""
    return task.graph.num_vertices + 1


# Breadth-first search


def _level_at_first(vertex):  # type: ignore[no-untyped-def]
    return (0, vertex.vid) if vertex.begins else (-1, NO_VERTEX)


def _offer_level(src, edge, dst, p):  # type: ignore[no-untyped-def]
    """The next level and who offers it, in one number: the smallest is the nearest, and of those
    as near the one with the smallest number.
    """
    if src.level < 0 or src.level >= p.limit:
        return _NONE
    return ((np.int64(src.level) + 1) << 32) | src.vid


def _take_level(old, a):  # type: ignore[no-untyped-def]
    if old.level >= 0 or a == _NONE:
        return old.level, old.parent
    return a >> 32, a & 0xFFFFFFFF


LEVELS = Program(
    state={"level": np.int32, "parent": np.uint32},
    init=_level_at_first,
    gather=_offer_level,
    sum="min",
    identity=_NONE,
    apply=_take_level,
    activate=lambda new, old: new.level != old.level,
    accumulator=np.int64,
    fixed={"begins": np.uint8},
    incremental=True,
    name="bfs",
)


def search_needs(counts: Counts, sources: Selected) -> list[Needs]:
    """What :func:`search` needs."""
    return _needs(counts, LEVELS, {"limit": _FAR}, {"begins": _begins_bytes(sources)})


def search(task: Task, sources: U32, limit: int | None) -> tuple[Array, U32]:
    """Levels and parents, as :func:`penstock.bfs` has them."""
    params = {"limit": _FAR if limit is None else limit}
    outcome = _from_sources(task, sources, params)
    return outcome.values["level"], outcome.values["parent"]


def _begins_bytes(sources: Selected) -> int:
    """Of the numbers that mark sources: a vertex number and a byte each."""
    return (4 + 1) * sources.count


def _needs(
    counts: Counts, program: Program, params: dict[str, Any], given: dict[str, int]
) -> list[Needs]:
    """What a program needs that looks only at what changed, and of which all values are looked at
    afterwards.
    """
    found = program_requirements(counts, program, passes=2.0, params=params, given=given)
    return [replace(needs, takes_rows=False) for needs in found]


def _from_sources(task: Task, sources: U32, params: dict[str, Any]) -> Outcome:
    ones: Array = np.ones(len(sources), np.uint8)
    begins = some_vertices(task.graph.num_vertices, sources, ones, 0)
    settings = Settings(params, _iterations(task), start=sources, fixed={"begins": begins})
    return task.execute(settings)


# Shortest paths


def _distance_at_first(vertex):  # type: ignore[no-untyped-def]
    return 0.0 if vertex.begins else np.inf


def _offer_distance(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.distance + edge.weight


def _take_distance(old, a, p):  # type: ignore[no-untyped-def]
    return a if a < old.distance and a <= p.cutoff else old.distance


DISTANCES = Program(
    state={"distance": np.float64},
    init=_distance_at_first,
    gather=_offer_distance,
    sum="min",
    identity=np.inf,
    apply=_take_distance,
    activate=lambda new, old: new.distance < old.distance,
    accumulator=np.float64,
    fixed={"begins": np.uint8},
    incremental=True,
    name="sssp",
)


def distance_needs(counts: Counts, sources: Selected) -> list[Needs]:
    """What :func:`distances_from` needs."""
    return _needs(counts, DISTANCES, {"cutoff": np.inf}, {"begins": _begins_bytes(sources)})


def distances_from(task: Task, sources: U32, cutoff: float) -> Array:
    """The distance of each vertex from the nearest source, in a graph with weights of 0 or more."""
    outcome = _from_sources(task, sources, {"cutoff": cutoff})
    return outcome.values["distance"]


# Connected components

LABELS = Program(
    state={"label": np.uint32},
    init=lambda vertex: vertex.vid,
    gather=lambda src, edge, dst: src.label,
    sum="min",
    identity=int(NO_VERTEX),
    apply=lambda old, a: min(old.label, a),
    activate=lambda new, old: new.label < old.label,
    accumulator=np.uint32,
    incremental=True,
    name="connected_components",
)


def label_needs(counts: Counts) -> list[Needs]:
    """What :func:`label_by_program` needs."""
    if counts.directed:
        raise OptionError(
            "devices: connected_components of a directed graph looks both ways along its edges, "
            "which needs one CPU; leave out devices, or build the graph with directed=False"
        )
    return _needs(counts, LABELS, {}, {})


def label_by_program(task: Task) -> U32:
    """The smallest vertex number of each component of an undirected graph."""
    return task.execute(Settings({}, _iterations(task))).values["label"]


# Degrees

DEGREES = Program(
    state={"degree": np.int64},
    init=lambda vertex: 0,
    gather=lambda src, edge, dst: 1,
    sum="add",
    identity=0,
    apply=lambda old, a: a,
    accumulator=np.int64,
    name="degree_distribution",
)


def degree_needs(counts: Counts) -> list[Needs]:
    """What :func:`count_degrees` needs."""
    return program_requirements(counts, DEGREES, passes=1.0)


def count_degrees(task: Task) -> I64:
    """How many edges lead to each vertex, counted edge by edge."""
    settings = Settings({}, 1 if task.graph.num_vertices else 0)
    return task.execute(settings).values["degree"]
