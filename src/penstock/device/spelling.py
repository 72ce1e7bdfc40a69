"""Pieces of text that the kernels of all devices have in common.

Fields are in variables of their names (``src_rank``, ``edge_weight``), an accumulator is a number
or a tuple of them, and what a function returns is rounded to the dtype that keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.device.outside import constant
from penstock.device.signature import ProgramSignature
from penstock.device.written import Written


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


def parts(signature: ProgramSignature, name: str) -> list[str]:
    """The parts of an accumulator."""
    count = len(signature.program.accumulators)
    return [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]


def take(signature: ProgramSignature, name: str, value: str) -> list[str]:
    """Lines that set an accumulator to what a function returned; tuples must have its length."""
    dtypes = signature.program.accumulators
    if len(dtypes) == 1:
        return [f"{name} = {cast(dtypes[0], value)}"]
    each = [f"y{k}" for k in range(len(dtypes))]
    casts = [cast(dtype, part) for dtype, part in zip(dtypes, each, strict=True)]
    return [f"{', '.join(each)} = {value}", f"{name} = {tuple_of(casts)}"]


def seen(signature: ProgramSignature, name: str) -> str:
    """An accumulator as functions see it."""
    pairs = zip(signature.program.accumulators, parts(signature, name), strict=True)
    return tuple_of([number(dtype, part) for dtype, part in pairs])


def plus(signature: ProgramSignature, left: str, right: str) -> list[str]:
    """Lines that sum ``right`` into ``left``."""
    given = signature.program.sum
    if not isinstance(given, str):
        value = f"user_sum({seen(signature, left)}, {seen(signature, right)})"
    else:
        value = f"{left} + {right}" if given == "add" else f"{given}({left}, {right})"
    return take(signature, left, value)


def identities(signature: ProgramSignature) -> str:
    """Constants IDENTITY0, IDENTITY1, ...: what each part of a sum begins with."""
    pairs = zip(signature.program.accumulators, signature.program.identities, strict=True)
    return "\n".join(
        f"IDENTITY{k} = {constant(dtype.type(value))}" for k, (dtype, value) in enumerate(pairs)
    )


def identity(signature: ProgramSignature) -> str:
    """What a sum begins with."""
    return tuple_of([f"IDENTITY{k}" for k in range(len(signature.program.accumulators))])


def call(written: Written, accumulator: str = "") -> str:
    """A call of a user's function: fields are in variables of their names."""
    given = [accumulator if each.kind == "own" else each.name for each in written.inputs]
    return f"{written.name}({', '.join(given)})"


def record(signature: ProgramSignature, kind: str, names: Iterable[str], place: str) -> list[str]:
    """Lines that load fields of a vertex; ``place`` is ``array_{}[index]``."""
    return [
        f"{kind}_{name} = {number(signature.dtypes[name], place.format(name))}" for name in names
    ]


def set_state(signature: ProgramSignature, value: str) -> list[str]:
    """Lines that store what ``init`` or ``apply`` returned, and call it ``new_...``."""
    dtypes = signature.program.state_dtypes
    lines = [f"{', '.join(f'r_{name}' for name in dtypes)} = {value}"]
    for name, dtype in dtypes.items():
        lines += [f"z_{name} = {cast(dtype, f'r_{name}')}", f"n_{name}[i] = z_{name}"]
        lines.append(f"new_{name} = {number(dtype, f'z_{name}')}")
    return lines


def applied(signature: ProgramSignature, vid: str) -> list[str]:
    """Lines from the accumulator ``a`` of vertex ``vid``, at index i, to its new values."""
    program, written = signature.program, signature.written
    lines = [*record(signature, "old", signature.local, "l_{}[i]"), f"old_vid = {vid}"]
    lines += set_state(signature, call(written["apply"], seen(signature, "a")))
    unchanged = {f for w in written.values() for f in w.fields("new")} - set(program.state)
    return [*lines, *(f"new_{f} = old_{f}" for f in sorted(unchanged))]
