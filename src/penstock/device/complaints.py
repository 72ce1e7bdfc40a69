"""What the compiler has against a program, said about the user's function and line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from penstock import errors
from penstock.device.signature import ProgramSignature
from penstock.device.spelling import is_widened
from penstock.device.written import Input, Written
from penstock.errors import ProgramError

#: How long what the compiler says may be.
_LONGEST = 240
_NOISE = ("Failed in", "During:", "File ", "There are", "- Of which", "Overload", "<source", "^")
_OURS = str(Path(errors.__file__).parent) + os.sep
_RECORDS = "src|dst|old|new|vertex|edge|p"


def explain(
    signature: ProgramSignature,
    text: str,
    module: ModuleType,
    error: Exception,
    elsewhere: str | None = None,
) -> ProgramError:
    """The compiler's complaint about kernels with this text.

    If it is another device's compiler that complains, ``elsewhere`` is what it was given, and the
    CPU's is asked first: it knows what a single function returns.
    """
    from numba import typeof
    from numba.core.errors import NumbaError

    for role, written in signature.written.items():
        dispatcher = getattr(module, written.name)
        types = tuple(typeof(_sample(signature, each)) for each in written.inputs)  # type: ignore[no-untyped-call]
        try:
            dispatcher.compile(types)
        except NumbaError as failed:
            place = _line(written, text, failed) or _place(_users(written))
            return ProgramError(f"{place}: {_first_lines(failed)}")
        returned = dispatcher.overloads[types].signature.return_type
        wrong = _unfit(signature, role, returned)
        if wrong is not None:
            return ProgramError(f"{_place(_users(written))}: {wrong}")
    if elsewhere is not None:
        places = (_line(written, elsewhere, error) for written in signature.written.values())
        place = next((each for each in places if each is not None), signature.program.name)
        return ProgramError(f"{place}: this device's compiler says: {_first_lines(error)}")
    return ProgramError(
        f"{signature.program.name}: its functions do not fit together: {_first_lines(error)}"
    )


def _sample(signature: ProgramSignature, given: Input) -> Any:
    """A value of the type that a function is given."""
    if given.kind == "own":
        zeros = tuple(_zero(dtype) for dtype in signature.program.accumulators)
        return zeros if len(zeros) > 1 else zeros[0]
    if given.kind == "p":
        return 1.0
    dtypes = signature.edge_dtypes if given.kind == "edge" else signature.dtypes
    return _zero(dtypes[given.field])


def _zero(dtype: np.dtype[Any]) -> Any:
    return np.int64(0) if is_widened(dtype) else dtype.type(0)


def _unfit(signature: ProgramSignature, role: str, returned: Any) -> str | None:
    """What is wrong with the type that a function returns."""
    from numba.core import types

    program = signature.program
    if role in ("init", "apply"):
        wanted, what = len(program.state), f"the state ({', '.join(program.state)})"
    elif role in ("gather", "sum"):
        wanted, what = len(program.accumulators), "the accumulator (see accumulator and identity)"
    else:
        wanted, what = 1, "one number"
    several = isinstance(returned, types.UniTuple | types.Tuple)
    parts = list(returned.types) if several else [returned]
    if len(parts) != wanted or several != (wanted > 1):
        return f"it returns {_count(parts)}, where {what} has {wanted}"
    for part in parts:
        if not isinstance(part, types.Number | types.Boolean):
            return f"it returns {part}, where a number is wanted"
    return None


def _count(parts: list[Any]) -> str:
    return "one value" if len(parts) == 1 else f"{len(parts)} values"


def _line(written: Written, text: str, error: Exception) -> str | None:
    """The line of the user's function, or of a helper, that a complaint is about."""
    numbers = [int(n) for n in re.findall(r"line (\d+)", str(error))]
    lines = text.split("\n")
    for each in (*written.helpers, written):
        head = each.text.split("\n")[0]
        start = lines.index(head) if head in lines else len(lines)
        inside = [n - 1 - start for n in numbers if 0 < n - 1 - start < len(each.lines)]
        if inside:
            return _place(each, inside[-1])
    return None


def _place(written: Written, line: int = 0) -> str:
    return f"{written.file}:{written.lines[line]}: {written.label}"


def _users(written: Written) -> Written:
    """A function, or what the user gave if it is only our wrapper around that."""
    if not written.file.startswith(_OURS):
        return written
    return next((each for each in written.helpers if not each.file.startswith(_OURS)), written)


def _first_lines(error: Exception) -> str:
    """What a compiler's message says, without its stack, and with the user's names."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.split("\n")]
    kept = " ".join([line for line in lines if line and not line.startswith(_NOISE)][:3])
    kept = re.sub(rf"\b({_RECORDS})_(\w+)", r"\1.\2", re.sub(r"\bown_(\w+)", r"\1", kept))
    return kept if len(kept) <= _LONGEST else kept[: _LONGEST - 4] + " ..."
