"""Pieces of text that the kernels of all devices have in common.

Fields are in variables of their names (``src_rank``, ``edge_weight``), an accumulator is a number
or a tuple of them, and what a function returns is rounded to the dtype that keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.device.outside import constant
from penstock.device.shape import Shape
from penstock.device.source import Written


def cast(dtype: np.dtype[Any], text: str) -> str:
    """A value rounded to a dtype."""
    return f"np.{'bool_' if dtype.kind == 'b' else dtype.name}({text})"


def number(dtype: np.dtype[Any], text: str) -> str:
    """A value as functions see it: small unsigned ones are signed, so that differences are."""
    return f"np.int64({text})" if is_widened(dtype) else text


def is_widened(dtype: np.dtype[Any]) -> bool:
    """Whether functions see int64 instead."""
    return dtype.kind == "u" and dtype.itemsize < 8


def tuple_of(parts: list[str]) -> str:
    """Several values as a tuple, one as it is."""
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def parts(shape: Shape, name: str) -> list[str]:
    """The parts of an accumulator."""
    count = len(shape.program.accumulators)
    return [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]


def take(shape: Shape, name: str, value: str) -> list[str]:
    """Lines that set an accumulator to what a function returned; tuples must have its length."""
    dtypes = shape.program.accumulators
    if len(dtypes) == 1:
        return [f"{name} = {cast(dtypes[0], value)}"]
    each = [f"y{k}" for k in range(len(dtypes))]
    casts = [cast(dtype, part) for dtype, part in zip(dtypes, each, strict=True)]
    return [f"{', '.join(each)} = {value}", f"{name} = {tuple_of(casts)}"]


def seen(shape: Shape, name: str) -> str:
    """An accumulator as functions see it."""
    pairs = zip(shape.program.accumulators, parts(shape, name), strict=True)
    return tuple_of([number(dtype, part) for dtype, part in pairs])


def plus(shape: Shape, left: str, right: str) -> list[str]:
    """Lines that sum ``right`` into ``left``."""
    given = shape.program.sum
    if not isinstance(given, str):
        value = f"user_sum({seen(shape, left)}, {seen(shape, right)})"
    else:
        value = f"{left} + {right}" if given == "add" else f"{given}({left}, {right})"
    return take(shape, left, value)


def identities(shape: Shape) -> str:
    """Constants IDENTITY0, IDENTITY1, ...: what each part of a sum begins with."""
    pairs = zip(shape.program.accumulators, shape.program.identities, strict=True)
    return "\n".join(
        f"IDENTITY{k} = {constant(dtype.type(value))}" for k, (dtype, value) in enumerate(pairs)
    )


def identity(shape: Shape) -> str:
    """What a sum begins with."""
    return tuple_of([f"IDENTITY{k}" for k in range(len(shape.program.accumulators))])


def call(written: Written, accumulator: str = "") -> str:
    """A call of a user's function: fields are in variables of their names."""
    given = [accumulator if each.kind == "own" else each.name for each in written.inputs]
    return f"{written.name}({', '.join(given)})"


def record(shape: Shape, kind: str, names: Iterable[str], place: str) -> list[str]:
    """Lines that load fields of a vertex; ``place`` is ``array_{}[index]``."""
    return [f"{kind}_{name} = {number(shape.dtypes[name], place.format(name))}" for name in names]


def set_state(shape: Shape, value: str) -> list[str]:
    """Lines that store what ``init`` or ``apply`` returned, and call it ``new_...``."""
    dtypes = shape.program.state_dtypes
    lines = [f"{', '.join(f'r_{name}' for name in dtypes)} = {value}"]
    for name, dtype in dtypes.items():
        lines += [f"z_{name} = {cast(dtype, f'r_{name}')}", f"n_{name}[i] = z_{name}"]
        lines.append(f"new_{name} = {number(dtype, f'z_{name}')}")
    return lines


def applied(shape: Shape, vid: str) -> list[str]:
    """Lines from the accumulator ``a`` of vertex ``vid``, at index i, to its new values."""
    program, written = shape.program, shape.written
    lines = [*record(shape, "old", shape.local, "l_{}[i]"), f"old_vid = {vid}"]
    lines += set_state(shape, call(written["apply"], seen(shape, "a")))
    unchanged = {f for w in written.values() for f in w.fields("new")} - set(program.state)
    return [*lines, *(f"new_{f} = old_{f}" for f in sorted(unchanged))]
