"""What the models have in common: values to begin with, and functions over plain numbers.

A model's user writes ``f(x, y)`` over numbers; a program's functions take records. The wrappers
made of one call the other, which the compiler then writes into the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.device.source import parameters_of
from penstock.errors import OptionError, ProgramError
from penstock.program import Function, SumName
from penstock.store.graph import Graph


@dataclass(frozen=True, slots=True)
class Start:
    """The values to begin with: their dtype, ``init``, and what it reads."""

    dtype: np.dtype[Any]
    init: Function
    params: dict[str, Any]
    fields: dict[str, Any]

    @property
    def fixed(self) -> dict[str, np.dtype[Any]]:
        """The dtypes of the fields."""
        return {name: np.asarray(values).dtype for name, values in self.fields.items()}


def _from_number(vertex, p):  # type: ignore[no-untyped-def]
    return p.initial


def _from_array(vertex):  # type: ignore[no-untyped-def]
    return vertex.initial


def start_of(
    graph: Graph,
    name: str,
    given: Any,
    dtype: DTypeLike | None,
    params: Mapping[str, Any] | None,
    fields: Mapping[str, Any] | None,
) -> Start:
    """From a number, an array in ascending order of ids, or a function of the vertex."""
    own_params, own_fields = dict(params or {}), dict(fields or {})
    taken = next((kind for kind in (own_params, own_fields) if "initial" in kind), None)
    if taken is not None:
        raise OptionError("params, fields: the name 'initial' is taken; choose another")
    if callable(given):
        return Start(np.dtype(dtype or np.float64), given, own_params, own_fields)
    values = np.asarray(given)
    if values.dtype.kind not in "biuf" or values.shape not in ((), (graph.num_vertices,)):
        raise OptionError(
            f"{name}: expected a number, a function of the vertex, or an array of "
            f"{graph.num_vertices} numbers; got {_described(given)}"
        )
    if values.ndim == 0:
        chosen = np.dtype(dtype or np.float64)
        return Start(chosen, _from_number, {**own_params, "initial": values.item()}, own_fields)
    return Start(
        np.dtype(dtype or values.dtype), _from_array, own_params, {**own_fields, "initial": values}
    )


def _described(given: Any) -> str:
    shape = getattr(given, "shape", None)
    return type(given).__name__ if shape is None else f"an array of shape {shape}"


def with_record(function: Any, role: str, names: tuple[str, ...]) -> Function:
    """A function of two numbers, a record and ``p``, of which the user's may leave out the end."""
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, FunctionType):
        raise ProgramError(f"{role}: expected a Python function, got {function!r}")
    given = parameters_of(plain, role)
    if not 2 <= len(given) <= len(names):
        code = plain.__code__
        raise ProgramError(
            f"{code.co_filename}:{code.co_firstlineno}: {role}: expected a function "
            f"({names[0]}, {names[1]}[, {names[2]}[, p]]), got ({', '.join(given)})"
        )
    if len(given) == 2:
        return lambda x, y, record, p: plain(x, y)
    return (lambda x, y, record, p: plain(x, y, record)) if len(given) == 3 else plain


def accumulator_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What numbers of a dtype are summed in."""
    if dtype.kind == "f":
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if dtype == np.uint64 else np.int64)


def identity_of(name: str, how: SumName | Function, identity: Any, dtype: np.dtype[Any]) -> Any:
    """What a sum begins with: as given, or what leaves every number of the dtype as it is."""
    if identity is not None:
        return identity
    if how == "add":
        return 0
    if how in ("min", "max") and dtype.kind == "f":
        return np.inf if how == "min" else -np.inf
    if how in ("min", "max") and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if how == "min" else limits.min
    raise OptionError(
        f"identity: {name} is a function of its own; give the value that it begins with"
    )
