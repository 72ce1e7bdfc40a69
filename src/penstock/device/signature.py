"""What a program reads and writes: its functions written out, and the fields each kernel needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.device.source import write_out
from penstock.device.written import Written, WrittenFunction
from penstock.errors import OptionError
from penstock.program import STEP_VALUES, VERTEX_FIELDS, Program


@dataclass(frozen=True)
class ProgramSignature:
    """A program and what its kernels are given.

    Kernels take fields in tuples of arrays, in these orders.
    """

    program: Program
    written: dict[str, Written]
    #: Fields read through neighbour ids when values are pulled.
    gathered: tuple[str, ...]
    #: Fields read in page order: of the vertex that gathers, and before ``apply``.
    local: tuple[str, ...]
    #: Fields of the vertex that gathers, needed by ``gather`` itself.
    of_dst: tuple[str, ...]
    #: Edge columns.
    columns: tuple[str, ...]
    #: What ``gather`` calls them: names and places in ``columns``.
    edge_fields: dict[str, int]
    #: The dtype of each field of an edge.
    edge_dtypes: dict[str, np.dtype[Any]]
    #: Parameters, totals and values of the step.
    params: tuple[str, ...]

    @property
    def new(self) -> tuple[str, ...]:
        """Fields that ``apply`` and ``init`` write."""
        return tuple(self.program.state)

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """The dtype of each field of a vertex."""
        return {**self.program.state_dtypes, **self.program.fixed_dtypes, **VERTEX_FIELDS}

    @property
    def vertex_fields(self) -> tuple[str, ...]:
        """The built-in vertex fields that are read as arrays."""
        used = {*self.gathered, *self.local, *self.of_init}
        return tuple(name for name in VERTEX_FIELDS if name in used)

    @property
    def of_init(self) -> tuple[str, ...]:
        """Fields that ``init`` reads as arrays."""
        return _arrays(self.written["init"].fields("vertex"))


def _arrays(names: Iterable[str]) -> tuple[str, ...]:
    """Without repeats, and without ``vid``, which is known without an array."""
    return tuple(dict.fromkeys(name for name in names if name != "vid"))


def signature_of(
    program: Program,
    columns: Mapping[str, np.dtype[Any]],
    params: Mapping[str, Any],
    weight: str | None = None,
) -> ProgramSignature:
    """Read a program's functions; ``columns`` and ``params`` are those that they may use.

    ``weight`` is the column that is also called ``edge.weight``.
    """
    _check_params(program, params)
    called = {name: name for name in columns}
    if weight is not None:
        called.setdefault("weight", weight)
    readable = [*program.fixed, *VERTEX_FIELDS]
    fields = [*program.state, *readable]
    known = {
        "vertex": readable,
        **dict.fromkeys(("src", "dst", "old", "new"), fields),
        "edge": list(called),
        "p": [*params, *(name for name in program.totals if name not in params), *STEP_VALUES],
    }
    written = {
        role: write_out(function, role, _name(program, role), known)
        for role, function in program.functions.items()
    }
    gather = written["gather"]
    state = set(program.state)
    after = [each for role, each in written.items() if role not in ("init", "gather")]
    unchanged = [f for each in after for f in each.fields("new") if f not in state]
    of_dst = _arrays(gather.fields("dst"))
    local = [*of_dst, *(f for each in after for f in each.fields("old")), *unchanged]
    used = [f for each in written.values() for f in each.fields("p")]
    edge_columns = list(dict.fromkeys(called[name] for name in gather.fields("edge")))
    return ProgramSignature(
        program,
        written,
        gathered=_arrays(gather.fields("src")),
        local=_arrays(local),
        of_dst=of_dst,
        columns=tuple(edge_columns),
        edge_fields={name: edge_columns.index(called[name]) for name in gather.fields("edge")},
        edge_dtypes={name: columns[called[name]] for name in gather.fields("edge")},
        params=tuple(dict.fromkeys(used)),
    )


def as_text(signature: ProgramSignature) -> Program:
    """A program as the text of its functions, so that it can be sent to other processes."""
    text = {role: WrittenFunction(written) for role, written in signature.written.items()}
    program = signature.program
    return replace(
        program,
        init=text["init"],
        gather=text["gather"],
        sum=text.get("sum", program.sum),
        apply=text["apply"],
        activate=text.get("activate"),
        totals={name: text[f"total:{name}"] for name in program.totals},
    )


def _name(program: Program, role: str) -> str:
    """A function's name in the text; totals are numbered, so that no two names can be alike."""
    kind, _, total = role.partition(":")
    return f"user_{kind}{list(program.totals).index(total)}" if total else f"user_{kind}"


def _check_params(program: Program, params: Mapping[str, Any]) -> None:
    for name, value in params.items():
        if name in STEP_VALUES:
            raise OptionError(
                f"params: {program.name}: every program has p.{name} already; choose another name"
            )
        if not isinstance(value, bool | int | float | np.bool | np.integer | np.floating):
            raise OptionError(
                f"params: {program.name}: expected a number for {name!r}, got "
                f"{type(value).__name__}; give arrays as fields"
            )
