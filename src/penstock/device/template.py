"""The text of a program's kernels for the CPU.

Each kernel is a loop around the user's functions. Sums run in four strands that are joined at the
end: gathers then wait for memory together. The order is fixed by the list, so results are the same
whoever computes them. Indices are unsigned: Numba need not ask whether they count from the end.

=============  ====================================================================================
init           values to begin with
pull           gather over whole lists, apply
pull_some      the same for given vertices
accumulate     gather over lists or parts of them into accumulators
finish         apply what was accumulated
finish_some    the same for given vertices
merge          sum neighbouring accumulators: those of a vertex whose list was in several blocks
push           gather along out-lists of given vertices into the accumulators of their neighbours
=============  ====================================================================================

``base`` is the vertex that local arrays begin with, ``at`` that of the accumulators; gathered
arrays begin with vertex ``low`` and neighbour ids count from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.device.outside import constant
from penstock.device.shape import Shape
from penstock.device.source import Written

HEAD = '''"""Kernels of a vertex program; written by Penstock, named by their content."""
import numpy as np
from numba import njit

from penstock.jit import atomic_add, compare_and_swap

kernel = njit(nogil=True, cache=True, error_model="numpy")
function = njit(nogil=True, error_model="numpy")
ONE = np.uint64(1)
FOUR = np.uint64(4)

'''


def module_text(shape: Shape) -> str:
    """The whole module."""
    before: dict[str, None] = {}
    functions: list[str] = []
    for written in shape.written.values():
        before |= dict.fromkeys(written.before)
        functions.append(f"@function\n{written.text}")
    parts = [
        HEAD,
        _identities(shape),
        *before,
        *functions,
        *(_init(shape), _pull(shape, some=False), _pull(shape, some=True)),
        *(_accumulate(shape), _finish(shape, some=False), _finish(shape, some=True)),
        *(_merge(shape), _push(shape)),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _cast(dtype: np.dtype[Any], text: str) -> str:
    return f"np.{'bool_' if dtype.kind == 'b' else dtype.name}({text})"


def _number(dtype: np.dtype[Any], text: str) -> str:
    """A value as functions see it: small unsigned ones are signed, so that differences are."""
    return f"np.int64({text})" if is_widened(dtype) else text


def is_widened(dtype: np.dtype[Any]) -> bool:
    """Whether functions see int64 instead."""
    return dtype.kind == "u" and dtype.itemsize < 8


def _tuple(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _parts(shape: Shape, name: str) -> list[str]:
    """The parts of an accumulator."""
    count = len(shape.program.accumulators)
    return [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]


def _take(shape: Shape, name: str, value: str) -> list[str]:
    """Lines that set an accumulator to what a function returned; tuples must have its length."""
    dtypes = shape.program.accumulators
    if len(dtypes) == 1:
        return [f"{name} = {_cast(dtypes[0], value)}"]
    parts = [f"y{k}" for k in range(len(dtypes))]
    casts = [_cast(dtype, part) for dtype, part in zip(dtypes, parts, strict=True)]
    return [f"{', '.join(parts)} = {value}", f"{name} = {_tuple(casts)}"]


def _seen(shape: Shape, name: str) -> str:
    """An accumulator as functions see it."""
    pairs = zip(shape.program.accumulators, _parts(shape, name), strict=True)
    return _tuple([_number(dtype, part) for dtype, part in pairs])


def _sum(shape: Shape, left: str, right: str) -> list[str]:
    """Lines that sum ``right`` into ``left``."""
    given = shape.program.sum
    if not isinstance(given, str):
        value = f"user_sum({_seen(shape, left)}, {_seen(shape, right)})"
    else:
        value = f"{left} + {right}" if given == "add" else f"{given}({left}, {right})"
    return _take(shape, left, value)


def _identities(shape: Shape) -> str:
    """Constants IDENTITY0, IDENTITY1, ...: what each part of a sum begins with."""
    pairs = zip(shape.program.accumulators, shape.program.identities, strict=True)
    return "\n".join(
        f"IDENTITY{k} = {constant(dtype.type(value))}" for k, (dtype, value) in enumerate(pairs)
    )


def _call(written: Written, accumulator: str = "") -> str:
    """A call of a user's function: fields are in variables of their names."""
    given = [accumulator if each.kind == "own" else each.name for each in written.inputs]
    return f"{written.name}({', '.join(given)})"


def _unpack(names: Iterable[str], mark: str, source: str) -> list[str]:
    return [f"{mark}_{name} = {source}[{k}]" for k, name in enumerate(names)]


def _params(shape: Shape) -> list[str]:
    return [f"p_{name} = params[{k}]" for k, name in enumerate(shape.params)]


def _block(shape: Shape) -> list[str]:
    return [
        "first = np.uint64(block.first)",
        "offsets = block.offsets",
        "neighbours = block.neighbours",
        *(f"c_{name} = block.columns[{k}]" for name, k in shape.edge_fields.items()),
    ]


def _record(shape: Shape, kind: str, names: Iterable[str], place: str) -> list[str]:
    """Lines that load fields of a vertex; ``place`` is ``array_{}[index]``."""
    return [f"{kind}_{name} = {_number(shape.dtypes[name], place.format(name))}" for name in names]


def _edge(shape: Shape, k: str) -> list[str]:
    return [
        f"edge_{name} = {_number(dtype, f'c_{name}[{k}]')}"
        for name, dtype in shape.edge_dtypes.items()
    ]


def _gather(shape: Shape, k: str) -> list[str]:
    """Lines that make ``x`` from edge ``k`` when values are pulled from neighbour ``u``."""
    written = shape.written["gather"]
    lines = [f"u = np.uint64(neighbours[{k}])"]
    lines += _record(shape, "src", shape.gathered, "g_{}[u]")
    if "vid" in written.fields("src"):
        lines.append("src_vid = np.int64(u + low)")
    return [*lines, *_edge(shape, k), *_take(shape, "x", _call(written))]


def _loop(shape: Shape) -> list[str]:
    """Sum ``gather`` over the list of vertex ``v`` into ``a``, in four strands."""
    zero = _tuple([f"IDENTITY{k}" for k in range(len(shape.program.accumulators))])
    lines = ["k = np.uint64(offsets[v - first])", "stop = np.uint64(offsets[v - first + ONE])"]
    lines += [f"s{j} = {zero}" for j in range(4)]
    lines.append("while k + FOUR <= stop:")
    for j in range(4):
        index = "k" if j == 0 else f"k + np.uint64({j})"
        inner = [*_gather(shape, index), *_sum(shape, f"s{j}", "x")]
        lines += [f"    {line}" for line in inner]
    lines += ["    k += FOUR", "while k < stop:"]
    lines += [f"    {line}" for line in [*_gather(shape, "k"), *_sum(shape, "s0", "x"), "k += ONE"]]
    lines += [*_sum(shape, "s0", "s1"), *_sum(shape, "s2", "s3"), *_sum(shape, "s0", "s2")]
    return [*lines, "a = s0"]


def _of_dst(shape: Shape) -> list[str]:
    lines = _record(shape, "dst", shape.of_dst, "l_{}[i]")
    if "vid" in shape.written["gather"].fields("dst"):
        lines.append("dst_vid = np.int64(v)")
    return lines


def _set_state(shape: Shape, value: str) -> list[str]:
    """Lines that store what ``init`` or ``apply`` returned, and call it ``new_...``."""
    dtypes = shape.program.state_dtypes
    lines = [f"{', '.join(f'r_{name}' for name in dtypes)} = {value}"]
    for name, dtype in dtypes.items():
        lines += [f"z_{name} = {_cast(dtype, f'r_{name}')}", f"n_{name}[i] = z_{name}"]
        lines.append(f"new_{name} = {_number(dtype, f'z_{name}')}")
    return lines


def _apply(shape: Shape) -> list[str]:
    """From ``a`` to the new values, whether the vertex is active, and the totals."""
    program, written = shape.program, shape.written
    lines = [*_record(shape, "old", shape.local, "l_{}[i]"), "old_vid = np.int64(v)"]
    lines += _set_state(shape, _call(written["apply"], _seen(shape, "a")))
    unchanged = {f for w in written.values() for f in w.fields("new")} - set(program.state)
    lines += [f"new_{f} = old_{f}" for f in sorted(unchanged)]
    if program.activate is not None:
        lines += [f"if {_call(written['activate'])}:", "    active[v] = 1", "    count += 1"]
        lines += ["else:", "    active[v] = 0"]
    return [*lines, *(f"t_{name} += {_call(written[f'total:{name}'])}" for name in program.totals)]


def _start(shape: Shape) -> list[str]:
    return ["count = 0", *(f"t_{name} = 0.0" for name in shape.program.totals)]


def _return(shape: Shape) -> str:
    totals = "".join(f" float(t_{name})," for name in shape.program.totals)
    return f"    return (count,{totals})\n"


def _text(head: str, lines: Iterable[str], loop: Iterable[str], over: str) -> str:
    text = [f"@kernel\n{head}", *(f"    {line}" for line in lines)]
    return "\n".join([*text, f"    {over}", *(f"        {line}" for line in loop)]) + "\n"


_RANGE = "for v in range(np.uint64(begin), np.uint64(end)):"
_SOME = "for w in vertices:"


def _over(*, some: bool) -> tuple[str, str, list[str]]:
    """Arguments, loop and first lines of a kernel over a range or over given vertices."""
    if some:
        return "vertices", _SOME, ["v = np.uint64(w)", "i = v - np.uint64(base)"]
    return "begin, end", _RANGE, ["i = v - np.uint64(base)"]


def _init(shape: Shape) -> str:
    written = shape.written["init"]
    lines = [*_unpack(shape.of_init, "l", "local"), *_unpack(shape.new, "n", "new")]
    loop = ["i = v - np.uint64(base)", *_record(shape, "vertex", shape.of_init, "l_{}[i]")]
    loop += ["vertex_vid = np.int64(v)", *_set_state(shape, _call(written))]
    head = "def init(begin, end, base, local, new, params):"
    return _text(head, [*lines, *_params(shape)], loop, _RANGE)


def _pull(shape: Shape, *, some: bool) -> str:
    which, over, loop = _over(some=some)
    lines = [*_block(shape), *_unpack(shape.gathered, "g", "gathered")]
    lines += [*_unpack(shape.local, "l", "local"), *_unpack(shape.new, "n", "new")]
    lines += ["low = np.uint64(low)", *_params(shape), *_start(shape)]
    name = "pull_some" if some else "pull"
    head = f"def {name}(block, {which}, base, low, gathered, local, new, active, params):"
    loop += [*_of_dst(shape), *_loop(shape), *_apply(shape)]
    return _text(head, lines, loop, over) + _return(shape)


def _accumulate(shape: Shape) -> str:
    lines = [*_block(shape), *_unpack(shape.gathered, "g", "gathered")]
    lines += [*_unpack(shape.local, "l", "local"), "low = np.uint64(low)", *_params(shape)]
    loop = ["i = v - np.uint64(base)", *_of_dst(shape), *_loop(shape)]
    loop += ["j = v - np.uint64(at)", *_add_to(shape, "j", "a")]
    head = "def accumulate(block, begin, end, base, at, low, gathered, local, sums, params):"
    return _text(head, lines, loop, _RANGE)


def _add_to(shape: Shape, index: str, value: str) -> list[str]:
    """Sum a value into the accumulators of a vertex."""
    count = len(shape.program.accumulators)
    places = [f"sums[{k}][{index}]" for k in range(count)]
    lines = [f"had = {_tuple(places)}", *_sum(shape, "had", value)]
    return [
        *lines,
        *(f"{p} = {part}" for p, part in zip(places, _parts(shape, "had"), strict=True)),
    ]


def _finish(shape: Shape, *, some: bool) -> str:
    which, over, loop = _over(some=some)
    lines = [*_unpack(shape.local, "l", "local"), *_unpack(shape.new, "n", "new")]
    lines += [*_params(shape), *_start(shape)]
    count = len(shape.program.accumulators)
    loop += ["j = v - np.uint64(at)", f"a = {_tuple([f'sums[{k}][j]' for k in range(count)])}"]
    name = "finish_some" if some else "finish"
    head = f"def {name}({which}, base, at, local, sums, new, active, params):"
    return _text(head, lines, [*loop, *_apply(shape)], over) + _return(shape)


def _merge(shape: Shape) -> str:
    """The accumulators from ``first`` to ``stop``, into the first of them."""
    count = len(shape.program.accumulators)
    loop = [f"a = {_tuple([f'sums[{k}][j]' for k in range(count)])}"]
    loop += _add_to(shape, "first", "a")
    return _text("def merge(sums, first, stop):", [], loop, "for j in range(first + 1, stop):")


def _push(shape: Shape) -> str:
    """Here ``src`` is the vertex whose list it is, and ``dst`` is met through its id."""
    written = shape.written["gather"]
    lines = [*_block(shape), *_unpack(shape.gathered, "g", "gathered")]
    lines += [*_unpack(shape.of_dst, "d", "of_dst"), *_params(shape), "emitted = 0"]
    loop = ["v = np.uint64(w)", *_record(shape, "src", shape.gathered, "g_{}[v]")]
    loop += ["src_vid = np.int64(v)", "k = np.uint64(offsets[v - first])"]
    loop += ["stop = np.uint64(offsets[v - first + ONE])", "while k < stop:"]
    inner = ["u = np.uint64(neighbours[k])", *_record(shape, "dst", shape.of_dst, "d_{}[u]")]
    inner += ["dst_vid = np.int64(u)", *_edge(shape, "k"), *_take(shape, "x", _call(written))]
    inner += _add_atomic(shape)
    inner += ["if touched[u] == 0:", "    touched[u] = 1", "    found[emitted] = np.uint32(u)"]
    inner += ["    emitted += 1", "k += ONE"]
    loop += [f"    {line}" for line in inner]
    head = "def push(block, vertices, found, gathered, of_dst, sums, touched, params):"
    return _text(head, lines, loop, _SOME) + "    return emitted\n"


def _add_atomic(shape: Shape) -> list[str]:
    """Sum ``x`` into the accumulators of vertex ``u``, which others may do at the same time; where
    the order of a sum matters, the engine sees to it that nobody does.
    """
    program = shape.program
    if program.order_matters or len(program.accumulators) > 1:
        return _add_to(shape, "u", "x")
    if program.sum == "add":
        return ["atomic_add(sums[0], np.int64(u), x)"]
    smaller = "<" if program.sum == "min" else ">"
    return [
        "had = sums[0][u]",
        f"while x {smaller} had:",
        "    seen = compare_and_swap(sums[0], np.int64(u), had, x)",
        "    if seen == had:",
        "        break",
        "    had = seen",
    ]
