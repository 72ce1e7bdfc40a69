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

from penstock.device.signature import ProgramSignature
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


def module_text(signature: ProgramSignature) -> str:
    """The whole module."""
    before: dict[str, None] = {}
    functions: list[str] = []
    for written in signature.written.values():
        before |= dict.fromkeys(written.before)
        functions.append(f"@function\n{written.text}")
    pieces = [
        HEAD,
        identities(signature),
        *before,
        *functions,
        *(_init(signature), _pull(signature, some=False), _pull(signature, some=True)),
        *(_accumulate(signature), _finish(signature, some=False), _finish(signature, some=True)),
        *(_merge(signature), _join(signature), _push(signature)),
    ]
    return "\n\n".join(piece.strip("\n") for piece in pieces) + "\n"


def _unpack(names: Iterable[str], mark: str, source: str) -> list[str]:
    return [f"{mark}_{name} = {source}[{k}]" for k, name in enumerate(names)]


def _params(signature: ProgramSignature) -> list[str]:
    return [f"p_{name} = params[{k}]" for k, name in enumerate(signature.params)]


def _block(signature: ProgramSignature) -> list[str]:
    return [
        "first = np.uint64(block.first)",
        "offsets = block.offsets",
        "ends = block.ends",
        "scattered = len(ends) == len(offsets)",
        "neighbours = block.neighbours",
        *(f"c_{name} = block.columns[{k}]" for name, k in signature.edge_fields.items()),
    ]


def _edge(signature: ProgramSignature, k: str) -> list[str]:
    return [
        f"edge_{name} = {number(dtype, f'c_{name}[{k}]')}"
        for name, dtype in signature.edge_dtypes.items()
    ]


def _gather(signature: ProgramSignature, k: str) -> list[str]:
    """Lines that make ``x`` from edge ``k`` when values are pulled from neighbour ``u``."""
    written = signature.written["gather"]
    lines = [f"u = np.uint64(neighbours[{k}])"]
    lines += record(signature, "src", signature.gathered, "g_{}[u]")
    if "vid" in written.fields("src"):
        lines.append("src_vid = np.int64(u + low)")
    return [*lines, *_edge(signature, k), *take(signature, "x", call(written))]


def _loop(signature: ProgramSignature) -> list[str]:
    """Sum ``gather`` over the list of vertex ``v`` into ``a``, in four strands."""
    zero = identity(signature)
    lines = ["k = np.uint64(offsets[v - first])", "stop = np.uint64(ends[v - first])"]
    lines += [f"s{j} = {zero}" for j in range(4)]
    lines.append("while k + FOUR <= stop:")
    for j in range(4):
        index = "k" if j == 0 else f"k + np.uint64({j})"
        inner = [*_gather(signature, index), *plus(signature, f"s{j}", "x")]
        lines += [f"    {line}" for line in inner]
    lines += ["    k += FOUR", "while k < stop:"]
    lines += [
        f"    {line}"
        for line in [*_gather(signature, "k"), *plus(signature, "s0", "x"), "k += ONE"]
    ]
    lines += [
        *plus(signature, "s0", "s1"),
        *plus(signature, "s2", "s3"),
        *plus(signature, "s0", "s2"),
    ]
    return [*lines, "a = s0"]


def _fetch() -> list[str]:
    """Begin to bring a list further on into the cache; of lists that stand one after another the
    processor does that by itself.
    """
    ahead = "if scattered and v + AHEAD < np.uint64(end):"
    return [ahead, "    prefetch(neighbours, offsets[v - first + AHEAD])"]


def _of_dst(signature: ProgramSignature) -> list[str]:
    lines = record(signature, "dst", signature.of_dst, "l_{}[i]")
    if "vid" in signature.written["gather"].fields("dst"):
        lines.append("dst_vid = np.int64(v)")
    return lines


def _apply(signature: ProgramSignature) -> list[str]:
    """From ``a`` to the new values, whether the vertex is active, and the totals."""
    program, written = signature.program, signature.written
    lines = applied(signature, "np.int64(v)")
    if program.activate is not None:
        lines += [f"if {call(written['activate'])}:", "    active[v] = 1", "    count += 1"]
        lines += ["else:", "    active[v] = 0"]
    return [*lines, *(f"t_{name} += {call(written[f'total:{name}'])}" for name in program.totals)]


def _start(signature: ProgramSignature) -> list[str]:
    return ["count = 0", *(f"t_{name} = 0.0" for name in signature.program.totals)]


def _return(signature: ProgramSignature) -> str:
    totals = "".join(f" float(t_{name})," for name in signature.program.totals)
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


def _init(signature: ProgramSignature) -> str:
    written = signature.written["init"]
    lines = [*_unpack(signature.of_init, "l", "local"), *_unpack(signature.new, "n", "new")]
    loop = ["i = v - np.uint64(base)", *record(signature, "vertex", signature.of_init, "l_{}[i]")]
    loop += ["vertex_vid = np.int64(v)", *set_state(signature, call(written))]
    head = "def init(begin, end, base, local, new, params):"
    return _text(head, [*lines, *_params(signature)], loop, _RANGE)


def _pull(signature: ProgramSignature, *, some: bool) -> str:
    which, over, loop = _over(some=some)
    lines = [*_block(signature), *_unpack(signature.gathered, "g", "gathered")]
    lines += [*_unpack(signature.local, "l", "local"), *_unpack(signature.new, "n", "new")]
    lines += ["low = np.uint64(low)", *_params(signature), *_start(signature)]
    name = "pull_some" if some else "pull"
    head = f"def {name}(block, {which}, base, low, gathered, local, new, active, params):"
    fetch = [] if some else _fetch()
    loop += [*fetch, *_of_dst(signature), *_loop(signature), *_apply(signature)]
    return _text(head, lines, loop, over) + _return(signature)


def _accumulate(signature: ProgramSignature) -> str:
    lines = [*_block(signature), *_unpack(signature.gathered, "g", "gathered")]
    lines += [*_unpack(signature.local, "l", "local"), "low = np.uint64(low)", *_params(signature)]
    loop = ["i = v - np.uint64(base)", *_fetch(), *_of_dst(signature), *_loop(signature)]
    loop += ["j = v - np.uint64(at)", *_add_to(signature, "j", "a")]
    head = "def accumulate(block, begin, end, base, at, low, gathered, local, sums, params):"
    return _text(head, lines, loop, _RANGE)


def _add_to(signature: ProgramSignature, index: str, value: str) -> list[str]:
    """Sum a value into the accumulators of a vertex."""
    count = len(signature.program.accumulators)
    places = [f"sums[{k}][{index}]" for k in range(count)]
    lines = [f"had = {tuple_of(places)}", *plus(signature, "had", value)]
    return [
        *lines,
        *(f"{p} = {part}" for p, part in zip(places, parts(signature, "had"), strict=True)),
    ]


def _finish(signature: ProgramSignature, *, some: bool) -> str:
    which, over, loop = _over(some=some)
    lines = [*_unpack(signature.local, "l", "local"), *_unpack(signature.new, "n", "new")]
    lines += [*_params(signature), *_start(signature)]
    count = len(signature.program.accumulators)
    loop += ["j = v - np.uint64(at)", f"a = {tuple_of([f'sums[{k}][j]' for k in range(count)])}"]
    name = "finish_some" if some else "finish"
    head = f"def {name}({which}, base, at, local, sums, new, active, params):"
    return _text(head, lines, [*loop, *_apply(signature)], over) + _return(signature)


def _merge(signature: ProgramSignature) -> str:
    """The accumulators from ``first`` to ``stop``, into the first of them."""
    count = len(signature.program.accumulators)
    loop = [f"a = {tuple_of([f'sums[{k}][j]' for k in range(count)])}"]
    loop += _add_to(signature, "first", "a")
    return _text("def merge(sums, first, stop):", [], loop, "for j in range(first + 1, stop):")


def _join(signature: ProgramSignature) -> str:
    """The accumulators ``others``, one after another, into those from place ``first`` on."""
    count = len(signature.program.accumulators)
    loop = ["i = first + j", f"a = {tuple_of([f'others[{k}][j]' for k in range(count)])}"]
    loop += _add_to(signature, "i", "a")
    return _text("def join(sums, first, others):", [], loop, "for j in range(len(others[0])):")


def _push(signature: ProgramSignature) -> str:
    """Here ``src`` is the vertex whose list it is, and ``dst`` is met through its id."""
    written = signature.written["gather"]
    lines = [*_block(signature), *_unpack(signature.gathered, "g", "gathered")]
    lines += [*_unpack(signature.of_dst, "d", "of_dst"), *_params(signature), "emitted = 0"]
    loop = ["v = np.uint64(w)", *record(signature, "src", signature.gathered, "g_{}[v]")]
    loop += ["src_vid = np.int64(v)", "k = np.uint64(offsets[v - first])"]
    loop += ["stop = np.uint64(ends[v - first])", "while k < stop:"]
    inner = ["u = np.uint64(neighbours[k])", *record(signature, "dst", signature.of_dst, "d_{}[u]")]
    inner += ["dst_vid = np.int64(u)", *_edge(signature, "k"), *take(signature, "x", call(written))]
    inner += _add_atomic(signature)
    inner += ["if touched[u] == 0:", "    touched[u] = 1", "    found[emitted] = np.uint32(u)"]
    inner += ["    emitted += 1", "k += ONE"]
    loop += [f"    {line}" for line in inner]
    head = "def push(block, vertices, found, gathered, of_dst, sums, touched, params):"
    return _text(head, lines, loop, _SOME) + "    return emitted\n"


def _add_atomic(signature: ProgramSignature) -> list[str]:
    """Sum ``x`` into the accumulators of vertex ``u``, which others may do at the same time; where
    the order of a sum matters, the engine sees to it that nobody does.
    """
    program = signature.program
    if program.order_matters or len(program.accumulators) > 1:
        return _add_to(signature, "u", "x")
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
