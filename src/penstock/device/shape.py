"""What a program reads and writes: its functions written out, and the fields each kernel needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.device.source import Written, write_out
from penstock.program import STEP_VALUES, VERTEX_FIELDS, Program


@dataclass(frozen=True)
class Shape:
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
    #: Parameters, totals and values of the step.
    params: tuple[str, ...]

    @property
    def new(self) -> tuple[str, ...]:
        """Fields that ``apply`` and ``init`` write."""
        return tuple(self.program.state)

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


def shape_of(program: Program, columns: Iterable[str], params: Iterable[str]) -> Shape:
    """Read a program's functions; ``columns`` and ``params`` are those that they may use."""
    readable = [*program.fixed, *VERTEX_FIELDS]
    fields = [*program.state, *readable]
    known = {
        "vertex": readable,
        **dict.fromkeys(("src", "dst", "old", "new"), fields),
        "edge": list(columns),
        "p": [*params, *program.totals, *STEP_VALUES],
    }
    written = {}
    for role, function in program.functions.items():
        name = role.replace(":", "_")
        written[role] = write_out(function, role, f"user_{name}", known)
    gather = written["gather"]
    state = set(program.state)
    after = [each for role, each in written.items() if role not in ("init", "gather")]
    unchanged = [f for each in after for f in each.fields("new") if f not in state]
    of_dst = _arrays(gather.fields("dst"))
    local = [*of_dst, *(f for each in after for f in each.fields("old")), *unchanged]
    used = [f for each in written.values() for f in each.fields("p")]
    return Shape(
        program,
        written,
        gathered=_arrays(gather.fields("src")),
        local=_arrays(local),
        of_dst=of_dst,
        columns=tuple(dict.fromkeys(gather.fields("edge"))),
        params=tuple(dict.fromkeys(used)),
    )
