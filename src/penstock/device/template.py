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

from penstock.device.shape import Shape
from penstock.device.source import Written

HEAD = '''"""Kernels of the vertex program {name!r}; written by Penstock, named by its content."""
import numpy as np
from numba import njit

from penstock.jit import atomic_add, compare_and_swap

compiled = njit(nogil=True, cache=True, error_model="numpy")
ONE = np.uint64(1)
FOUR = np.uint64(4)

'''


def module_text(shape: Shape) -> str:
    """The whole module."""
    before: dict[str, None] = {}
    functions: list[str] = []
    for written in shape.written.values():
        before |= dict.fromkeys(written.before)
        functions.append(f"@compiled\n{written.text}")
    parts = [
        HEAD.format(name=shape.program.name),
        *before,
        *functions,
        *(_init(shape), _pull(shape, some=False), _pull(shape, some=True)),
        *(_accumulate(shape), _finish(shape, some=False), _finish(shape, some=True)),
        *(_merge(shape), _push(shape)),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _names(count: int, mark: str) -> str:
    return ", ".join(f"{mark}{k}" for k in range(count))


def _sum(shape: Shape, left: str, right: str) -> str:
    given = shape.program.sum
    if not isinstance(given, str):
        return f"user_sum({left}, {right})"
    return {"add": f"{left} + {right}", "min": f"min({left}, {right})"}.get(
        given, f"max({left}, {right})"
    )


def _identity(shape: Shape) -> str:
    parts = [
        f"np.{dtype.name}({_number(value)})"
        for dtype, value in zip(shape.program.accumulators, shape.program.identities, strict=True)
    ]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _number(value: object) -> str:
    text = repr(getattr(value, "item", lambda: value)())
    return f'float("{text}")' if text.lstrip("-") in ("inf", "nan") else text


def _call(written: Written, **given: str) -> str:
    """A call of a user's function; plain values by name, fields from variables of their names."""
    return f"user_{written.role.replace(':', '_')}(" + ", ".join(
        given.get(name, name) for name in written.inputs
    ) + ")"  # fmt: skip


def _unpack(names: Iterable[str], mark: str, source: str) -> list[str]:
    return [f"{mark}_{name} = {source}[{k}]" for k, name in enumerate(names)]


def _params(shape: Shape) -> list[str]:
    return [f"p_{name} = params[{k}]" for k, name in enumerate(shape.params)]


def _block(shape: Shape) -> list[str]:
    return [
        "first = np.uint64(block.first)",
        "offsets = block.offsets",
        "neighbours = block.neighbours",
        *(f"c_{name} = block.columns[{k}]" for k, name in enumerate(shape.columns)),
    ]


def _gather(shape: Shape, k: str, place: str = "g") -> list[str]:
    """Lines that make ``x`` from edge ``k`` when values are pulled from neighbour ``u``."""
    written = shape.written["gather"]
    lines = [f"u = np.uint64(neighbours[{k}])"]
    lines += [f"src_{f} = {place}_{f}[u]" for f in written.fields("src") if f != "vid"]
    if "vid" in written.fields("src"):
        lines.append("src_vid = np.uint32(u + low)")
    lines += [f"edge_{f} = c_{f}[{k}]" for f in written.fields("edge")]
    return [*lines, f"x = {_call(written)}"]


def _loop(shape: Shape) -> list[str]:
    """Sum ``gather`` over the list of vertex ``v`` into ``a``, in four strands."""
    zero = _identity(shape)
    lines = ["k = np.uint64(offsets[v - first])", "stop = np.uint64(offsets[v - first + ONE])"]
    lines += [f"s{j} = {zero}" for j in range(4)]
    lines.append("while k + FOUR <= stop:")
    for j in range(4):
        index = "k" if j == 0 else f"k + np.uint64({j})"
        lines += [f"    {line}" for line in _gather(shape, index)]
        lines.append(f"    s{j} = {_sum(shape, f's{j}', 'x')}")
    lines += ["    k += FOUR", "while k < stop:"]
    lines += [f"    {line}" for line in _gather(shape, "k")]
    lines += [f"    s0 = {_sum(shape, 's0', 'x')}", "    k += ONE"]
    lines += [f"s0 = {_sum(shape, 's0', 's1')}", f"s2 = {_sum(shape, 's2', 's3')}"]
    return [*lines, f"a = {_sum(shape, 's0', 's2')}"]


def _of_dst(shape: Shape) -> list[str]:
    lines = [f"dst_{f} = l_{f}[i]" for f in shape.of_dst]
    if "vid" in shape.written["gather"].fields("dst"):
        lines.append("dst_vid = np.uint32(v)")
    return lines


def _apply(shape: Shape) -> list[str]:
    """From ``a`` to the new values, whether the vertex is active, and the totals."""
    program, written = shape.program, shape.written
    lines = [f"old_{f} = l_{f}[i]" for f in shape.local]
    lines += [
        "old_vid = np.uint32(v)",
        f"r = {_call(written['apply'], **_plain(written['apply']))}",
    ]
    for k, (name, dtype) in enumerate(program.state_dtypes.items()):
        value = "r" if len(program.state) == 1 else f"r[{k}]"
        lines += [f"new_{name} = np.{dtype.name}({value})", f"n_{name}[i] = new_{name}"]
    unchanged = {f for w in written.values() for f in w.fields("new")} - set(program.state)
    lines += [f"new_{f} = old_{f}" for f in sorted(unchanged)]
    if program.activate is not None:
        lines += [f"if {_call(written['activate'])}:", "    active[v] = 1", "    count += 1"]
        lines += ["else:", "    active[v] = 0"]
    return [*lines, *(f"t_{name} += {_call(written[f'total:{name}'])}" for name in program.totals)]


def _plain(written: Written) -> dict[str, str]:
    """The accumulator's name in ``apply``, whatever the user calls it, is ``a`` here."""
    marks = ("old_", "p_")
    return {name: "a" for name in written.inputs if not name.startswith(marks)}


def _start(shape: Shape) -> list[str]:
    return ["count = 0", *(f"t_{name} = 0.0" for name in shape.program.totals)]


def _return(shape: Shape) -> str:
    totals = "".join(f" float(t_{name})," for name in shape.program.totals)
    return f"    return (count,{totals})\n"


def _text(head: str, lines: Iterable[str], loop: Iterable[str], over: str) -> str:
    text = [f"@compiled\n{head}", *(f"    {line}" for line in lines)]
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
    loop = ["i = v - np.uint64(base)", *(f"vertex_{f} = l_{f}[i]" for f in shape.of_init)]
    loop += ["vertex_vid = np.uint32(v)", f"r = {_call(written)}"]
    for k, name in enumerate(shape.new):
        loop.append(f"n_{name}[i] = {'r' if len(shape.new) == 1 else f'r[{k}]'}")
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
    if count == 1:
        place = f"sums[0][{index}]"
        return [f"{place} = {_sum(shape, place, value)}"]
    had = ", ".join(f"sums[{k}][{index}]" for k in range(count))
    lines = [f"y = {_sum(shape, f'({had})', value)}"]
    return [*lines, *(f"sums[{k}][{index}] = y[{k}]" for k in range(count))]


def _finish(shape: Shape, *, some: bool) -> str:
    which, over, loop = _over(some=some)
    lines = [*_unpack(shape.local, "l", "local"), *_unpack(shape.new, "n", "new")]
    lines += [*_params(shape), *_start(shape)]
    count = len(shape.program.accumulators)
    sums = [f"sums[{k}][j]" for k in range(count)]
    value = sums[0] if count == 1 else f"({', '.join(sums)})"
    loop += ["j = v - np.uint64(at)", f"a = {value}"]
    name = "finish_some" if some else "finish"
    head = f"def {name}({which}, base, at, local, sums, new, active, params):"
    return _text(head, lines, [*loop, *_apply(shape)], over) + _return(shape)


def _merge(shape: Shape) -> str:
    """The accumulators from ``first`` to ``stop``, into the first of them."""
    count = len(shape.program.accumulators)
    parts = [f"sums[{k}][j]" for k in range(count)]
    value = parts[0] if count == 1 else f"({', '.join(parts)})"
    loop = [f"a = {value}", *_add_to(shape, "first", "a")]
    return _text("def merge(sums, first, stop):", [], loop, "for j in range(first + 1, stop):")


def _push(shape: Shape) -> str:
    """Here ``src`` is the vertex whose list it is, and ``dst`` is met through its id."""
    written = shape.written["gather"]
    lines = [*_block(shape), *_unpack(shape.gathered, "g", "gathered")]
    lines += [*_unpack(shape.of_dst, "d", "of_dst"), *_params(shape), "emitted = 0"]
    loop = ["v = np.uint64(w)", *(f"src_{f} = g_{f}[v]" for f in shape.gathered)]
    loop += ["src_vid = np.uint32(v)", "k = np.uint64(offsets[v - first])"]
    loop += ["stop = np.uint64(offsets[v - first + ONE])", "while k < stop:"]
    inner = ["u = np.uint64(neighbours[k])", *(f"dst_{f} = d_{f}[u]" for f in shape.of_dst)]
    inner += ["dst_vid = np.uint32(u)", *(f"edge_{f} = c_{f}[k]" for f in shape.columns)]
    inner += [f"x = {_call(written)}", *_add_atomic(shape)]
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
    value = f"np.{program.accumulators[0].name}(x)"
    if program.sum == "add":
        return [f"atomic_add(sums[0], np.int64(u), {value})"]
    smaller = "<" if program.sum == "min" else ">"
    return [
        f"z = {value}",
        "had = sums[0][u]",
        f"while z {smaller} had:",
        "    seen = compare_and_swap(sums[0], np.int64(u), had, z)",
        "    if seen == had:",
        "        break",
        "    had = seen",
    ]
