"""How kernels are compiled: one place for the compiler's options.

``NUMBA_BOUNDSCHECK=1`` turns the same kernels into bounds-checked ones; the tests have a lane for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import types as nbtypes
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function over arrays; it runs without the interpreter lock and is cached on disk."""
    compiled: F = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return compiled


def inlined(function: F) -> F:
    """Compile a helper that kernels of the same file call (the cache cannot see other files)."""
    compiled: F = numba.njit(nogil=True, cache=True, error_model="numpy", inline="never")(function)
    return compiled


@intrinsic
def atomic_add(typingctx, array, index, value):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """``array[index] += value`` for a one-dimensional integer array, atomically; returns the old."""
    if not (isinstance(array, nbtypes.Array) and array.ndim == 1):
        return None
    signature = array.dtype(array, nbtypes.intp, array.dtype)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        view = context.make_array(sig.args[0])(context, builder, args[0])
        pointer = builder.gep(view.data, [args[1]])
        assert isinstance(pointer.type, ir.PointerType)
        return builder.atomic_rmw("add", pointer, args[2], "monotonic")

    return signature, codegen
