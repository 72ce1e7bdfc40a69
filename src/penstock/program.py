"""What a vertex program is: a few plain functions and the types of a vertex's values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from penstock.errors import ProgramError

Function = Callable[..., Any]
SumName = Literal["add", "min", "max"]

#: What every vertex has besides the program's own fields; read-only.
#: ``index`` is the position of the user's id among all ids, ascending; ``vid`` the number inside.
VERTEX_FIELDS: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {name: np.dtype(np.uint32) for name in ("out_degree", "in_degree", "index", "vid")}
)
#: Values of a step that every program can read from ``p``.
STEP_VALUES = ("num_vertices", "iteration")

_SUMS = ("add", "min", "max")
#: What the fields of a vertex can be; accumulators too, but for bool.
_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
    "float64",
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A vertex program: ``new = apply(old, sum of gather over in-edges)``, over and over.

    The functions are plain Python over numbers; they are compiled. ``src``, ``dst``, ``old``,
    ``new`` and ``vertex`` stand for a vertex: ``src.rank`` is its field ``rank``. ``edge.weight``
    is the weight of an edge, other columns have their own names. The optional last argument ``p``
    gives parameters, totals of the step before, ``p.num_vertices`` and ``p.iteration``. Numbers,
    ``math``, ``numpy`` and plain functions can be used from outside; numbers become part of the
    compiled code, so what changes from run to run is better a parameter. Small unsigned integers
    are int64 inside the functions.

    Parameters
    ----------
    state
        The fields that a vertex has, with their dtypes. ``apply`` and ``init`` return their new
        values: a number if there is one field, else a tuple in this order.
    init
        ``init(vertex[, p])``: the values to begin with.
    gather
        ``gather(src, edge, dst[, p])``: what an edge contributes, a number (or a tuple).
    sum
        "add", "min", "max" or a function ``sum(a, b)``, associative and commutative. Tuples need a
        function.
    identity
        What ``sum`` begins with: a vertex without edges gets it. A tuple if gather gives tuples.
    apply
        ``apply(old, a[, p])``: the new values.
    activate
        ``activate(new, old[, p])``: whether the vertex has changed such that those who gather from
        it must look again. None: all vertices take part in every iteration.
    accumulator
        The dtype of what is summed; a tuple of dtypes if gather gives tuples.
    fixed
        Read-only fields whose values the user gives, with their dtypes.
    totals
        By name, ``total(new, old[, p])``: a number that is added up over all vertices. The next
        iteration reads it as ``p.<name>``.
    incremental
        True if summing over active neighbours only gives the same new values, as it does for
        minima that include the old value. Then values may be pushed along out-edges.
    name
        What to call it in messages and checkpoints.
    """

    state: Mapping[str, DTypeLike]
    init: Function
    gather: Function
    sum: SumName | Function
    identity: Any
    apply: Function
    activate: Function | None = None
    accumulator: Any = np.float64
    fixed: Mapping[str, DTypeLike] = field(default_factory=dict)
    totals: Mapping[str, Function] = field(default_factory=dict)
    incremental: bool = False
    name: str = "program"

    def __post_init__(self) -> None:
        if not self.state:
            raise ProgramError(f"{self.name}: a program needs at least one state field")
        names = [*self.state, *self.fixed]
        for name in (*names, *self.totals):
            if not name.isidentifier() or name.startswith("_") or name in STEP_VALUES:
                raise ProgramError(f"{self.name}: {name!r} cannot be the name of a field")
        clash = [name for name in names if name in VERTEX_FIELDS or names.count(name) > 1]
        if clash:
            raise ProgramError(
                f"{self.name}: the field name {clash[0]!r} is taken; "
                f"every vertex has {', '.join(VERTEX_FIELDS)}"
            )
        if not callable(self.sum) and self.sum not in _SUMS:
            raise ProgramError(
                f"{self.name}: sum: expected {', '.join(_SUMS)} or a function, got {self.sum!r}"
            )
        for name, dtype in (*self.state.items(), *self.fixed.items()):
            self._check_dtype(f"field {name!r}", dtype, _DTYPES)
        given = self.accumulator if isinstance(self.accumulator, tuple) else (self.accumulator,)
        for dtype in given:
            self._check_dtype("accumulator", dtype, _DTYPES[1:])
        self._check_identity()

    def _check_dtype(self, what: str, dtype: DTypeLike, allowed: tuple[str, ...]) -> None:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = str(dtype)
        if name not in allowed:
            raise ProgramError(
                f"{self.name}: {what}: expected one of {', '.join(allowed)}; got {name}"
            )

    def _check_identity(self) -> None:
        values, dtypes = self.identities, self.accumulators
        if len(values) != len(dtypes):
            raise ProgramError(
                f"{self.name}: identity has {len(values)} values, accumulator {len(dtypes)} dtypes"
            )
        if len(dtypes) > 1 and not callable(self.sum):
            raise ProgramError(
                f"{self.name}: sum: {self.sum!r} is for single numbers; "
                "tuples need a function sum(a, b)"
            )
        for value, dtype in zip(values, dtypes, strict=True):
            if not _holds(dtype, value):
                raise ProgramError(f"{self.name}: identity: {value!r} is no {dtype.name}")

    @property
    def state_dtypes(self) -> dict[str, np.dtype[Any]]:
        """The dtype of each field."""
        return {name: np.dtype(dtype) for name, dtype in self.state.items()}

    @property
    def fixed_dtypes(self) -> dict[str, np.dtype[Any]]:
        """The dtype of each fixed field."""
        return {name: np.dtype(dtype) for name, dtype in self.fixed.items()}

    @property
    def accumulators(self) -> tuple[np.dtype[Any], ...]:
        """The dtypes of what is summed."""
        given = self.accumulator
        parts = given if isinstance(given, tuple) else (given,)
        return tuple(np.dtype(part) for part in parts)

    @property
    def identities(self) -> tuple[Any, ...]:
        """What each part of the sum begins with."""
        return self.identity if isinstance(self.identity, tuple) else (self.identity,)

    @property
    def functions(self) -> dict[str, Function]:
        """The user's functions by role; totals as ``total:<name>``."""
        found = {"init": self.init, "gather": self.gather, "apply": self.apply}
        if callable(self.sum):
            found["sum"] = self.sum
        if self.activate is not None:
            found["activate"] = self.activate
        return found | {f"total:{name}": total for name, total in self.totals.items()}

    @property
    def order_matters(self) -> bool:
        """Whether the sum of the same numbers depends on their order (in the last bits)."""
        if not isinstance(self.sum, str):
            return True
        return self.sum == "add" and any(dtype.kind == "f" for dtype in self.accumulators)


def _holds(dtype: np.dtype[Any], value: Any) -> bool:
    """Whether a dtype has this number."""
    if not isinstance(value, bool | int | float | np.bool | np.integer | np.floating):
        return False
    if dtype.kind == "f":
        return True
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max) and int(value) == value
