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

from penstock.kernel_cache import keep_by_digest

Function = Callable[..., Any]


def _compiled(function: Function, **options: Any) -> Function:
    compiled: Function = numba.njit(nogil=True, error_model="numpy", **options)(function)
    keep_by_digest(compiled)
    return compiled


def kernel(function: Function) -> Function:
    """Compile a function over arrays; it runs without the interpreter lock, cached on disk."""
    return _compiled(function)


def helper(function: Function) -> Function:
    """Compile a function that kernels call."""
    return _compiled(function, inline="never")


# Numba counts references to arrays wherever they are passed on, with atomic operations: many small
# functions would spend more time on that than on their work. Those below do without.


def no_refcount(function: Function) -> Function:
    """Compile a kernel, or a helper of one, that neither makes nor returns arrays."""
    return _compiled(function, _nrt=False)


def always_inline(function: Function) -> Function:
    """Compile a helper of such kernels into each place that calls it."""
    return _compiled(function, _nrt=False, forceinline=True)


def _atomic(signed: str, unsigned: str) -> Any:
    """An intrinsic ``update(array, index, value)`` for a one-dimensional integer array: the
    operation of LLVM's ``atomicrmw``, by whether the integers are signed. It gives the old value.
    """

    @intrinsic
    def update(typingctx, array, index, value):  # type: ignore[no-untyped-def]
        if not (isinstance(array, nbtypes.Array) and array.ndim == 1):
            return None
        if not isinstance(array.dtype, nbtypes.Integer):
            return None
        signature = array.dtype(array, nbtypes.intp, array.dtype)
        operation = signed if array.dtype.signed else unsigned

        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            view = context.make_array(sig.args[0])(context, builder, args[0])
            pointer = builder.gep(view.data, [args[1]])
            assert isinstance(pointer.type, ir.PointerType)
            return builder.atomic_rmw(operation, pointer, args[2], "monotonic")

        return signature, codegen

    return update


#: ``array[index] += value``, atomically.
atomic_add = _atomic("add", "add")
#: ``array[index] = min(array[index], value)``, atomically.
atomic_min = _atomic("min", "umin")
#: ``array[index] |= value``, atomically.
atomic_or = _atomic("or", "or")


@intrinsic
def _compare_and_swap(typingctx, array, index, expected, value):  # type: ignore[no-untyped-def]
    """``array[index] = value`` if it is bit for bit ``expected``, atomically; gives the old, which
    says whether it was. For a one-dimensional array of integers or floats. Nothing before it is
    seen to happen after it, or the other way round.
    """
    if not (isinstance(array, nbtypes.Array) and array.ndim == 1):
        return None
    signature = array.dtype(array, nbtypes.intp, array.dtype, array.dtype)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        view = context.make_array(sig.args[0])(context, builder, args[0])
        element = context.get_value_type(sig.return_type)
        word = ir.IntType(sig.return_type.bitwidth)
        pointer = builder.bitcast(builder.gep(view.data, [args[1]]), word.as_pointer())
        bits = [builder.bitcast(args[k], word) for k in (2, 3)]
        seen = builder.cmpxchg(pointer, *bits, "seq_cst", "seq_cst")
        return builder.bitcast(builder.extract_value(seen, 0), element)

    return signature, codegen


compare_and_swap: Any = _compare_and_swap


@intrinsic
def _count_ones(typingctx, word):  # type: ignore[no-untyped-def]
    """How many bits of an integer are set."""
    if not isinstance(word, nbtypes.Integer):
        return None

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return word(word), codegen


count_ones: Any = _count_ones


@intrinsic
def _bit_length(typingctx, word):  # type: ignore[no-untyped-def]
    """How many bits an unsigned integer takes; 0 takes none."""
    if not isinstance(word, nbtypes.Integer) or word.signed:
        return None

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        zeros = builder.ctlz(args[0], ir.IntType(1)(0))
        return builder.sub(zeros.type(word.bitwidth), zeros)

    return word(word), codegen


bit_length: Any = _bit_length


@intrinsic
def _multiply_wide(typingctx, first, second):  # type: ignore[no-untyped-def]
    """The product of two uint64: its high 64 bits, and its low ones."""
    if first != nbtypes.uint64 or second != nbtypes.uint64:
        return None

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        word, wide = ir.IntType(64), ir.IntType(128)
        product = builder.mul(*(builder.zext(each, wide) for each in args))
        halves = (builder.lshr(product, wide(64)), product)
        found = [builder.trunc(half, word) for half in halves]
        return context.make_tuple(builder, sig.return_type, found)

    return nbtypes.UniTuple(nbtypes.uint64, 2)(first, second), codegen


multiply_wide: Any = _multiply_wide


@intrinsic
def _prefetch(typingctx, array, index):  # type: ignore[no-untyped-def]
    """Begin to bring ``array[index]`` into the cache. It looks at no bound."""
    signature = nbtypes.void(array, nbtypes.intp)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        view = context.make_array(sig.args[0])(context, builder, args[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        pointer = builder.bitcast(builder.gep(view.data, [args[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # For reading, to all levels, of data.
        builder.call(prefetch, [pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return signature, codegen


prefetch: Any = _prefetch


def _matcher(count: int) -> Any:
    """An intrinsic ``match(array, index, value)``: which of ``count`` integers from an index on are
    equal to a value, as bits. It compares them all at once, and looks at no bound.
    """

    @intrinsic
    def match(typingctx, array, index, value):  # type: ignore[no-untyped-def]
        if not (isinstance(array, nbtypes.Array) and isinstance(array.dtype, nbtypes.Integer)):
            return None
        signature = nbtypes.uint32(array, nbtypes.intp, array.dtype)

        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            view = context.make_array(sig.args[0])(context, builder, args[0])
            vector = ir.VectorType(ir.IntType(sig.args[2].bitwidth), count)
            pointer = builder.bitcast(builder.gep(view.data, [args[1]]), vector.as_pointer())
            loaded = builder.load(pointer)
            loaded.align = sig.args[2].bitwidth // 8
            first = builder.insert_element(vector(ir.Undefined), args[2], ir.IntType(32)(0))
            zeros = ir.VectorType(ir.IntType(32), count)(None)
            equal = builder.icmp_unsigned(
                "==", loaded, builder.shuffle_vector(first, vector(ir.Undefined), zeros)
            )
            return builder.zext(builder.bitcast(equal, ir.IntType(count)), ir.IntType(32))

        return signature, codegen

    return match


match8 = _matcher(8)
match16 = _matcher(16)


@intrinsic
def _trailing_zeros(typingctx, word):  # type: ignore[no-untyped-def]
    """The place of the lowest bit of an integer that is set; one must be."""
    if not isinstance(word, nbtypes.Integer):
        return None

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.IntType(1)(1))

    return word(word), codegen


trailing_zeros: Any = _trailing_zeros


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
load64 = _loader(64)
