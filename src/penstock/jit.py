"""How kernels are compiled: one place for the compiler's options.

``NUMBA_BOUNDSCHECK=1`` turns the same kernels into bounds-checked ones; the tests have a lane for
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import types as nbtypes
from numba.extending import intrinsic

Function = Callable[..., Any]


def kernel(function: Function) -> Function:
    """Compile a function over arrays; it runs without the interpreter lock, cached on disk."""
    compiled: Function = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return compiled


def inlined(function: Function) -> Function:
    """Compile a helper that kernels of the same file call (the cache cannot see other files)."""
    compiled: Function = numba.njit(nogil=True, cache=True, error_model="numpy", inline="never")(
        function
    )
    return compiled


@intrinsic
def _atomic_add(typingctx, array, index, value):  # type: ignore[no-untyped-def]
    """``array[index] += value`` for a one-dimensional integer array, atomically; gives the old."""
    if not (isinstance(array, nbtypes.Array) and array.ndim == 1):
        return None
    signature = array.dtype(array, nbtypes.intp, array.dtype)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        view = context.make_array(sig.args[0])(context, builder, args[0])
        pointer = builder.gep(view.data, [args[1]])
        assert isinstance(pointer.type, ir.PointerType)
        return builder.atomic_rmw("add", pointer, args[2], "monotonic")

    return signature, codegen


atomic_add: Any = _atomic_add


def _loader(bits: int) -> Any:
    """An intrinsic ``load(page, at)``: the number that begins at byte ``at`` of an array of bytes,
    at any alignment. It looks at no bound.
    """

    @intrinsic
    def load(typingctx, array, index):  # type: ignore[no-untyped-def]
        signature = nbtypes.Integer.from_bitwidth(bits, signed=False)(array, nbtypes.intp)

        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            view = context.make_array(sig.args[0])(context, builder, args[0])
            pointer = builder.gep(view.data, [args[1]])
            pointer = builder.bitcast(pointer, ir.IntType(bits).as_pointer())
            loaded = builder.load(pointer)
            loaded.align = 1
            return loaded

        return signature, codegen

    return load


load16 = _loader(16)
load32 = _loader(32)
