"""The cache of compiled kernels: keyed by everything that was compiled into a kernel.

Numba compares a cached kernel with the file that the kernel is in. Functions and constants of other
files that were compiled into it may have changed as well. So the key of a kernel has a digest of
the code of all compiled functions that it can call, and of the constants that these use.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pickle import PickleError
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

_log = logging.getLogger(__name__)


class KernelCache(FunctionCache):
    """Numba's cache, with :func:`digest_of` in the key instead of the kernel's own code alone."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """A kernel that was compiled before, or None. What another version left, and this one
        cannot read, is thrown away.
        """
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (ImportError, AttributeError, PickleError, EOFError):
            self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel. If its files cannot be written, only this process uses it, and
        the next one compiles it again.
        """
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            # The index may already name a file that an older version of the kernel has left.
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)
            _warn_once(self._cache_path, str(error))

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        # Numba's own key has the functions in a closure pickled, which differs in each process, and
        # types, whose classes would all be imported to read the index.
        given = tuple(map(_spelled_type, sig))
        return given, codegen.magic_tuple(), digest_of(self._py_func)


@cache
def _warn_once(folder: str, reason: str) -> None:
    _log.warning(
        "%s: compiled kernels cannot be kept here (%s), so that each process compiles them; "
        "make room there, or set NUMBA_CACHE_DIR to another folder", folder, reason,
    )  # fmt: skip


def keep_by_digest(dispatcher: Any) -> None:
    """Give what Numba compiled such a cache, unless compiling is disabled."""
    if isinstance(dispatcher, Dispatcher):
        dispatcher.__dict__["_cache"] = KernelCache(dispatcher.py_func)  # type: ignore[no-untyped-call]


@cache
def digest_of(function: Callable[..., Any]) -> str:
    """A digest of a function's code, of all compiled functions that it can call, and of the
    constants that they use; the same in every process.
    """
    found = hashlib.sha256()
    pending, known = [function], {id(function)}
    while pending:
        current = pending.pop()
        for each in _parts(current.__code__):
            found.update(each)
        for name, value in _values(current):
            called = _function_of(value)
            if called is None:
                found.update(f"{name} {_spelled(value)};".encode())
            elif id(called) not in known:
                known.add(id(called))
                pending.append(called)
    return found.hexdigest()


def _parts(code: CodeType) -> Iterator[bytes]:
    """What a code object does, without where it stands."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        else:
            yield repr(constant).encode()


def _values(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The names that a function uses from outside, and what they are, in a fixed order."""
    code, cells = function.__code__, getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars, cells, strict=True):
        yield name, cell.cell_contents
    names = _names(code)
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            # Numba resolves attributes of modules when it compiles.
            inside = ((each, getattr(value, each, None)) for each in names)
            yield from ((f"{name}.{each}", part) for each, part in inside if part is not None)
        elif value is not None:
            yield name, value


def _names(code: CodeType) -> list[str]:
    nested = (each for each in code.co_consts if isinstance(each, CodeType))
    return sorted({*code.co_names, *(name for each in nested for name in _names(each))})


def _function_of(value: object) -> FunctionType | None:
    """The Python function that a value was compiled from, if it was."""
    if isinstance(value, Dispatcher):
        return value.py_func  # type: ignore[no-any-return]
    if isinstance(value, _Intrinsic):
        return value._defn  # type: ignore[no-any-return]
    return None


def _spelled_type(kind: Any) -> str:
    """A type of an argument; of a named tuple also which class it is and what its fields are."""
    is_tuple, is_named = (
        isinstance(kind, each) for each in (types.BaseTuple, types.BaseNamedTuple)
    )
    if not is_tuple:
        return str(kind)
    inside = ", ".join(map(_spelled_type, kind))
    if not is_named:
        return f"({inside})"
    made_by = kind.instance_class
    return f"{made_by.__module__}.{made_by.__qualname__}{made_by._fields}({inside})"


def _spelled(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, int | float | str | bytes | np.generic | tuple):
        return f"{type(value).__name__} {value!r}"
    return type(value).__qualname__
