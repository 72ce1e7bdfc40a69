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
join           sum accumulators of the same vertices, made by different devices
push           gather along out-lists of given vertices into the accumulators of their neighbours
=============  ====================================================================================

``base`` is the vertex that local arrays begin with, ``at`` that of the accumulators; gathered
arrays begin with vertex ``low`` and neighbour ids count from there.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.device.shape import Shape
from penstock.device.spelling import (
    applied,
    call,
    identities,
    identity,
    number,
    parts,
    plus,
    record,
    set_state,
    take,
    tuple_of,
)

HEAD = '''"""Kernels of a vertex program; written by Penstock, named by their content."""
import numpy as np
from numba import njit

from penstock.jit import atomic_add, compare_and_swap, prefetch

kernel = njit(nogil=True, cache=True, error_model="numpy")
function = njit(nogil=True, error_model="numpy")
ONE = np.uint64(1)
FOUR = np.uint64(4)
AHEAD = np.uint64(16)

'''


def module_text(shape: Shape) -> str:
    """The whole module."""
    before: dict[str, None] = {}
    functions: list[str] = []
    for written in shape.written.values():
        before |= dict.fromkeys(written.before)
        functions.append(f"@function\n{written.text}")
    pieces = [
        HEAD,
        identities(shape),
        *before,
        *functions,
        *(_init(shape), _pull(shape, some=False), _pull(shape, some=True)),
        *(_accumulate(shape), _finish(shape, some=False), _finish(shape, some=True)),
        *(_merge(shape), _join(shape), _push(shape)),
    ]
    return "\n\n".join(piece.strip("\n") for piece in pieces) + "\n"


def _unpack(names: Iterable[str], mark: str, source: str) -> list[str]:
    return [f"{mark}_{name} = {source}[{k}]" for k, name in enumerate(names)]


def _params(shape: Shape) -> list[str]:
    return [f"p_{name} = params[{k}]" for k, name in enumerate(shape.params)]


def _block(shape: Shape) -> list[str]:
    return [
        "first = np.uint64(block.first)",
        "offsets = block.offsets",
        "ends = block.ends",
        "scattered = len(ends) == len(offsets)",
        "neighbours = block.neighbours",
        *(f"c_{name} = block.columns[{k}]" for name, k in shape.edge_fields.items()),
    ]


def _edge(shape: Shape, k: str) -> list[str]:
    return [
        f"edge_{name} = {number(dtype, f'c_{name}[{k}]')}"
        for name, dtype in shape.edge_dtypes.items()
    ]


def _gather(shape: Shape, k: str) -> list[str]:
    """Lines that make ``x`` from edge ``k`` when values are pulled from neighbour ``u``."""
    written = shape.written["gather"]
    lines = [f"u = np.uint64(neighbours[{k}])"]
    lines += record(shape, "src", shape.gathered, "g_{}[u]")
    if "vid" in written.fields("src"):
        lines.append("src_vid = np.int64(u + low)")
    return [*lines, *_edge(shape, k), *take(shape, "x", call(written))]


def _loop(shape: Shape) -> list[str]:
    """Sum ``gather`` over the list of vertex ``v`` into ``a``, in four strands."""
    zero = identity(shape)
    lines = ["k = np.uint64(offsets[v - first])", "stop = np.uint64(ends[v - first])"]
    lines += [f"s{j} = {zero}" for j in range(4)]
    lines.append("while k + FOUR <= stop:")
    for j in range(4):
        index = "k" if j == 0 else f"k + np.uint64({j})"
        inner = [*_gather(shape, index), *plus(shape, f"s{j}", "x")]
        lines += [f"    {line}" for line in inner]
    lines += ["    k += FOUR", "while k < stop:"]
    lines += [f"    {line}" for line in [*_gather(shape, "k"), *plus(shape, "s0", "x"), "k += ONE"]]
    lines += [
        *plus(shape, "s0", "s1"),
        *plus(shape, "s2", "s3"),
        *plus(shape, "s0", "s2"),
    ]
    return [*lines, "a = s0"]


def _fetch() -> list[str]:
    """Begin to bring a list further on into the cache; of lists that stand one after another the
    processor does that by itself.
    """
    ahead = "if scattered and v + AHEAD < np.uint64(end):"
    return [ahead, "    prefetch(neighbours, offsets[v - first + AHEAD])"]


def _of_dst(shape: Shape) -> list[str]:
    lines = record(shape, "dst", shape.of_dst, "l_{}[i]")
    if "vid" in shape.written["gather"].fields("dst"):
        lines.append("dst_vid = np.int64(v)")
    return lines


def _apply(shape: Shape) -> list[str]:
    """From ``a`` to the new values, whether the vertex is active, and the totals."""
    program, written = shape.program, shape.written
    lines = applied(shape, "np.int64(v)")
    if program.activate is not None:
        lines += [f"if {call(written['activate'])}:", "    active[v] = 1", "    count += 1"]
        lines += ["else:", "    active[v] = 0"]
    return [*lines, *(f"t_{name} += {call(written[f'total:{name}'])}" for name in program.totals)]


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
    loop = ["i = v - np.uint64(base)", *record(shape, "vertex", shape.of_init, "l_{}[i]")]
    loop += ["vertex_vid = np.int64(v)", *set_state(shape, call(written))]
    head = "def init(begin, end, base, local, new, params):"
    return _text(head, [*lines, *_params(shape)], loop, _RANGE)


def _pull(shape: Shape, *, some: bool) -> str:
    which, over, loop = _over(some=some)
    lines = [*_block(shape), *_unpack(shape.gathered, "g", "gathered")]
    lines += [*_unpack(shape.local, "l", "local"), *_unpack(shape.new, "n", "new")]
    lines += ["low = np.uint64(low)", *_params(shape), *_start(shape)]
    name = "pull_some" if some else "pull"
    head = f"def {name}(block, {which}, base, low, gathered, local, new, active, params):"
    fetch = [] if some else _fetch()
    loop += [*fetch, *_of_dst(shape), *_loop(shape), *_apply(shape)]
    return _text(head, lines, loop, over) + _return(shape)


def _accumulate(shape: Shape) -> str:
    lines = [*_block(shape), *_unpack(shape.gathered, "g", "gathered")]
    lines += [*_unpack(shape.local, "l", "local"), "low = np.uint64(low)", *_params(shape)]
    loop = ["i = v - np.uint64(base)", *_fetch(), *_of_dst(shape), *_loop(shape)]
    loop += ["j = v - np.uint64(at)", *_add_to(shape, "j", "a")]
    head = "def accumulate(block, begin, end, base, at, low, gathered, local, sums, params):"
    return _text(head, lines, loop, _RANGE)


def _add_to(shape: Shape, index: str, value: str) -> list[str]:
    """Sum a value into the accumulators of a vertex."""
    count = len(shape.program.accumulators)
    places = [f"sums[{k}][{index}]" for k in range(count)]
    lines = [f"had = {tuple_of(places)}", *plus(shape, "had", value)]
    return [
        *lines,
        *(f"{p} = {part}" for p, part in zip(places, parts(shape, "had"), strict=True)),
    ]


def _finish(shape: Shape, *, some: bool) -> str:
    which, over, loop = _over(some=some)
    lines = [*_unpack(shape.local, "l", "local"), *_unpack(shape.new, "n", "new")]
    lines += [*_params(shape), *_start(shape)]
    count = len(shape.program.accumulators)
    loop += ["j = v - np.uint64(at)", f"a = {tuple_of([f'sums[{k}][j]' for k in range(count)])}"]
    name = "finish_some" if some else "finish"
    head = f"def {name}({which}, base, at, local, sums, new, active, params):"
    return _text(head, lines, [*loop, *_apply(shape)], over) + _return(shape)


def _merge(shape: Shape) -> str:
    """The accumulators from ``first`` to ``stop``, into the first of them."""
    count = len(shape.program.accumulators)
    loop = [f"a = {tuple_of([f'sums[{k}][j]' for k in range(count)])}"]
    loop += _add_to(shape, "first", "a")
    return _text("def merge(sums, first, stop):", [], loop, "for j in range(first + 1, stop):")


def _join(shape: Shape) -> str:
    """The accumulators ``others``, one after another, into those from place ``first`` on."""
    count = len(shape.program.accumulators)
    loop = ["i = first + j", f"a = {tuple_of([f'others[{k}][j]' for k in range(count)])}"]
    loop += _add_to(shape, "i", "a")
    return _text("def join(sums, first, others):", [], loop, "for j in range(len(others[0])):")


def _push(shape: Shape) -> str:
    """Here ``src`` is the vertex whose list it is, and ``dst`` is met through its id."""
    written = shape.written["gather"]
    lines = [*_block(shape), *_unpack(shape.gathered, "g", "gathered")]
    lines += [*_unpack(shape.of_dst, "d", "of_dst"), *_params(shape), "emitted = 0"]
    loop = ["v = np.uint64(w)", *record(shape, "src", shape.gathered, "g_{}[v]")]
    loop += ["src_vid = np.int64(v)", "k = np.uint64(offsets[v - first])"]
    loop += ["stop = np.uint64(ends[v - first])", "while k < stop:"]
    inner = ["u = np.uint64(neighbours[k])", *record(shape, "dst", shape.of_dst, "d_{}[u]")]
    inner += ["dst_vid = np.int64(u)", *_edge(shape, "k"), *take(shape, "x", call(written))]
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
