"""Checks of the numbers that callers pass: one place for each rule."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import numpy as np

from penstock.errors import OptionError

_FLOATS = (float, float | None)
_INTEGERS = (int, int | None)


def named_kind(annotation: Any) -> str | None:
    """What a parameter names, if it is vertices: "vertex", "vertices" or "vertex values".

    >>> from penstock.engine.algorithm import Vertex, Vertices
    >>> named_kind(Vertex), named_kind(Vertices | None), named_kind(float | None)
    ('vertex', 'vertices', None)
    """
    if get_origin(annotation) in (Union, UnionType):
        return next(filter(None, map(named_kind, get_args(annotation))), None)
    if get_origin(annotation) is Annotated:
        return str(annotation.__metadata__[0])
    return None


def checked_numbers(
    parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters that are given; raises if one that is annotated as a number is none, is NaN,
    or is not whole where it has to be. Each algorithm checks the limits of its own.
    """
    checked = dict(given)
    for name, value in given.items():
        annotation = parameters[name].annotation
        may_be_none = annotation in (_FLOATS[1], _INTEGERS[1])
        if value is None and may_be_none:
            continue
        if annotation in _FLOATS:
            check_number(name, value, may_be_none=may_be_none)
        elif annotation in _INTEGERS:
            check_whole(name, value, may_be_none=may_be_none)
            checked[name] = int(value)
    return checked


def check_number(name: str, value: Any, *, may_be_none: bool = False) -> None:
    """Raise unless it is a number; NaN and truth values are none."""
    if not _is_number(value):
        raise OptionError(f"{name}: expected a number{' or None' * may_be_none}, got {value!r}")


def check_whole(name: str, value: Any, *, may_be_none: bool = False) -> None:
    """Raise unless it is a whole number, of any type (10.0 is one)."""
    if not _is_number(value) or not math.isfinite(value) or int(value) != value:
        also = " or None" * may_be_none
        raise OptionError(f"{name}: expected a whole number{also}, got {value!r}")


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, numbers.Real | np.number) and not isinstance(value, bool)
    return is_number and not math.isnan(value)


def check_max_iter(max_iter: Any) -> None:
    """Raise unless it is a number of iterations."""
    check_whole("max_iter", max_iter)
    if max_iter < 0:
        raise OptionError(f"max_iter: expected 0 or more, got {max_iter!r}")


def check_tol(tol: Any) -> None:
    """Raise unless it is a tolerance: a finite number of 0 or more."""
    check_number("tol", tol)
    if not 0 <= tol < math.inf:
        raise OptionError(f"tol: expected a finite number of 0 or more, got {tol!r}")
