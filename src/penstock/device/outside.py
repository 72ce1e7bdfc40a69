"""What a program's functions take from their surroundings, as text that says the same."""

from __future__ import annotations

import builtins
import math
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

#: Modules whose members the compiler knows.
MODULES: tuple[ModuleType, ...] = (math, np)


def definition(value: Any, name: str) -> str | None:
    """A line of text that gives ``name`` this value; None if there is none."""
    if any(value is module for module in MODULES):
        return f"import {value.__name__} as {name}\n"
    number = constant(value)
    if number is not None:
        return f"{name} = {number}\n"
    called = getattr(value, "__name__", "")
    for home in (*MODULES, builtins):
        if isinstance(called, str) and getattr(home, called, None) is value:
            return f"from {home.__name__} import {called} as {name}\n"
    return None


def unusable(called: str, value: Any) -> str:
    """Why there is none."""
    if isinstance(value, ModuleType):
        return f"module {value.__name__} cannot be used as a value"
    if isinstance(value, FunctionType) or hasattr(value, "py_func"):
        return f"{called!r} is a function; it can be called here, not used as a value"
    return (
        f"{called!r} is a {type(value).__name__}; only numbers, math, numpy and plain functions "
        "can be used from outside: give other values as fields or parameters"
    )


def constant(value: Any) -> str | None:
    """A number as it is spelled in the text; None if it is no number."""
    if isinstance(value, np.generic):
        if value.dtype.kind not in "biuf" or value.dtype.name in ("float16", "longdouble"):
            return None
        inner = constant(value.item())
        scalar = "bool_" if value.dtype.kind == "b" else value.dtype.name
        return None if inner is None else f"np.{scalar}({inner})"
    if isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{float(value)}")'
    return None
