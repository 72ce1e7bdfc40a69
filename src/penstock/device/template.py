"""The text of a program's kernels for the CPU.

Each kernel is a loop around the user's functions. A list is summed from left to right, beginning
with the identity or with what its earlier parts came to, so that the result is the same wherever it
is cut. Each addition waits for the one before: of a long list, the next one is summed at the same
time. Indices are unsigned: Numba need not ask whether they count from the end.

=============  ====================================================================================
init           values to begin with
pull           gather over whole lists, apply
pull_some      the same for given vertices
accumulate     gather over lists or parts of them, going on with accumulators
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
from typing import NamedTuple

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
TWO = np.uint64(2)
LONG = np.uint64(32)
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
        *(_init(signature), _edge_value(signature)),
        *(_pull(signature, some=False), _pull(signature, some=True), _accumulate(signature)),
        *(_finish(signature, some=False), _finish(signature, some=True), _merge(signature)),
        _push(signature),
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


def _edge_value(signature: ProgramSignature) -> str:
    """A function that makes what is summed from edge ``k`` when values are pulled."""
    written = signature.written["gather"]
    lines = ["u = np.uint64(neighbours[k])"]
    lines += record(signature, "src", signature.gathered, "g_{}[u]")
    if "vid" in written.fields("src"):
        lines.append("src_vid = np.int64(u + low)")
    lines += [*_edge(signature, "k"), *take(signature, "x", call(written)), "return x"]
    head = f"def edge_value(k, {', '.join(_edge_inputs(signature, ''))}):"
    return "\n".join([f"@function\n{head}", *(f"    {line}" for line in lines)])


def _edge_inputs(signature: ProgramSignature, mark: str) -> list[str]:
    """What ``edge_value`` needs besides the edge; ``mark`` is that of the fields of ``dst``."""
    given = [each for each in signature.written["gather"].inputs if each.kind in ("dst", "p")]
    return [
        *("neighbours", "low"),
        *(f"g_{name}" for name in signature.gathered),
        *(f"c_{name}" for name in signature.edge_fields),
        *(f"{mark if each.kind == 'dst' else ''}{each.name}" for each in given),
    ]


def _add_edge(signature: ProgramSignature, k: str, into: str, mark: str = "") -> list[str]:
    """Sum what edge ``k`` gives into an accumulator."""
    value = f"edge_value({k}, {', '.join(_edge_inputs(signature, mark))})"
    return [f"x = {value}", *plus(signature, into, "x")]


def _loop(signature: ProgramSignature, start: str) -> list[str]:
    """Sum ``gather`` over the list of vertex ``v`` into ``a``, from left to right."""
    return [
        *("k = np.uint64(offsets[v - first])", "stop = np.uint64(ends[v - first])"),
        *(f"a = {start}", *_rest(signature)),
    ]


def _rest(signature: ProgramSignature) -> list[str]:
    inside = [*_add_edge(signature, "k", "a"), "k += ONE"]
    return ["while k < stop:", *(f"    {line}" for line in inside)]


def _paired_loop(signature: ProgramSignature, over: _Over) -> list[str]:
    """The same, beginning with the identity. If the list is long, as much of the next one (that of
    ``w``, into ``b``) is summed in turn with it; then it is *begun* when it comes.
    """
    both = [
        *_add_edge(signature, "k", "a"),
        *_add_edge(signature, "k + ONE", "a"),
        *_add_edge(signature, "h", "b", "next_"),
        *_add_edge(signature, "h + ONE", "b", "next_"),
        *("k += TWO", "h += TWO"),
    ]
    ahead = [
        *(over.next, "begun = True", f"b = {identity(signature)}"),
        *("h = np.uint64(offsets[w - first])", "halt = np.uint64(ends[w - first])"),
        *_of_dst(signature, "w", "next_"),
        *("half = k + TWO * (min(stop - k, halt - h) // TWO)", "while k < half:"),
        *(f"    {line}" for line in both),
    ]
    return [
        *("stop = np.uint64(ends[v - first])", "if begun:", "    k = h", "    a = b", "else:"),
        *("    k = np.uint64(offsets[v - first])", f"    a = {identity(signature)}"),
        *("begun = False", f"if k + LONG <= stop and {over.has_next}:"),
        *(f"    {line}" for line in ahead),
        *_rest(signature),
    ]


def _fetch() -> list[str]:
    """Begin to bring a list further on into the cache; of lists that stand one after another the
    processor does that by itself.
    """
    ahead = "if scattered and v + AHEAD < np.uint64(end):"
    return [ahead, "    prefetch(neighbours, offsets[v - first + AHEAD])"]


def _of_dst(signature: ProgramSignature, vertex: str, mark: str = "") -> list[str]:
    """Lines that load the fields that ``gather`` reads of the vertex whose list it is."""
    place = f"l_{{}}[{vertex} - np.uint64(base)]"
    lines = record(signature, f"{mark}dst", signature.of_dst, place)
    if "vid" in signature.written["gather"].fields("dst"):
        lines.append(f"{mark}dst_vid = np.int64({vertex})")
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


class _Over(NamedTuple):
    """How a kernel goes over vertices: its arguments, the loop, the vertex of a turn; whether
    another one follows, and how to get at it.
    """

    arguments: str
    loop: str
    vertex: list[str]
    has_next: str
    next: str


_RANGE = _Over(
    "begin, end", "for v in range(np.uint64(begin), np.uint64(end)):", [],
    "v + ONE < np.uint64(end)", "w = v + ONE",
)  # fmt: skip
_SOME = _Over(
    "vertices", "for q in range(np.uint64(len(vertices))):", ["v = np.uint64(vertices[q])"],
    "q + ONE < np.uint64(len(vertices))", "w = np.uint64(vertices[q + ONE])",
)  # fmt: skip
_INDEX = "i = v - np.uint64(base)"


def _init(signature: ProgramSignature) -> str:
    written = signature.written["init"]
    lines = [*_unpack(signature.of_init, "l", "local"), *_unpack(signature.new, "n", "new")]
    loop = [_INDEX, *record(signature, "vertex", signature.of_init, "l_{}[i]")]
    loop += ["vertex_vid = np.int64(v)", *set_state(signature, call(written))]
    head = "def init(begin, end, base, local, new, params):"
    return _text(head, [*lines, *_params(signature)], loop, _RANGE.loop)


def _pull(signature: ProgramSignature, *, some: bool) -> str:
    over = _SOME if some else _RANGE
    lines = [*_block(signature), *_unpack(signature.gathered, "g", "gathered")]
    lines += [*_unpack(signature.local, "l", "local"), *_unpack(signature.new, "n", "new")]
    lines += ["low = np.uint64(low)", *_params(signature), *_start(signature)]
    lines += ["begun = False", "h = np.uint64(0)", f"b = {identity(signature)}"]
    name = "pull_some" if some else "pull"
    head = f"def {name}(block, {over.arguments}, base, low, gathered, local, new, active, params):"
    loop = [*over.vertex, _INDEX, *([] if some else _fetch()), *_of_dst(signature, "v")]
    loop += [*_paired_loop(signature, over), *_apply(signature)]
    return _text(head, lines, loop, over.loop) + _return(signature)


def _accumulate(signature: ProgramSignature) -> str:
    lines = [*_block(signature), *_unpack(signature.gathered, "g", "gathered")]
    lines += [*_unpack(signature.local, "l", "local"), "low = np.uint64(low)", *_params(signature)]
    places = _places(signature, "j")
    loop = ["j = v - np.uint64(at)", *_fetch(), *_of_dst(signature, "v")]
    loop += _loop(signature, tuple_of(places))
    pairs = zip(places, parts(signature, "a"), strict=True)
    loop += [f"{place} = {part}" for place, part in pairs]
    head = "def accumulate(block, begin, end, base, at, low, gathered, local, sums, params):"
    return _text(head, lines, loop, _RANGE.loop)


def _places(signature: ProgramSignature, index: str) -> list[str]:
    """The accumulators of a vertex."""
    return [f"sums[{k}][{index}]" for k in range(len(signature.program.accumulators))]


def _add_to(signature: ProgramSignature, index: str, value: str) -> list[str]:
    """Sum a value into the accumulators of a vertex."""
    places = _places(signature, index)
    lines = [f"had = {tuple_of(places)}", *plus(signature, "had", value)]
    return [
        *lines,
        *(f"{p} = {part}" for p, part in zip(places, parts(signature, "had"), strict=True)),
    ]


def _finish(signature: ProgramSignature, *, some: bool) -> str:
    over = _SOME if some else _RANGE
    lines = [*_unpack(signature.local, "l", "local"), *_unpack(signature.new, "n", "new")]
    lines += [*_params(signature), *_start(signature)]
    loop = [*over.vertex, _INDEX, "j = v - np.uint64(at)"]
    loop += [f"a = {tuple_of(_places(signature, 'j'))}", *_apply(signature)]
    name = "finish_some" if some else "finish"
    head = f"def {name}({over.arguments}, base, at, local, sums, new, active, params):"
    return _text(head, lines, loop, over.loop) + _return(signature)


def _merge(signature: ProgramSignature) -> str:
    """The accumulators from ``first`` to ``stop``, into the first of them."""
    loop = [f"a = {tuple_of(_places(signature, 'j'))}", *_add_to(signature, "first", "a")]
    return _text("def merge(sums, first, stop):", [], loop, "for j in range(first + 1, stop):")


def _push(signature: ProgramSignature) -> str:
    """Here ``src`` is the vertex whose list it is, and ``dst`` is met through its id."""
    written = signature.written["gather"]
    lines = [*_block(signature), *_unpack(signature.gathered, "g", "gathered")]
    lines += [*_unpack(signature.of_dst, "d", "of_dst"), *_params(signature), "emitted = 0"]
    loop = [*_SOME.vertex, *record(signature, "src", signature.gathered, "g_{}[v]")]
    loop += ["src_vid = np.int64(v)", "k = np.uint64(offsets[v - first])"]
    loop += ["stop = np.uint64(ends[v - first])", "while k < stop:"]
    inner = ["u = np.uint64(neighbours[k])", *record(signature, "dst", signature.of_dst, "d_{}[u]")]
    inner += ["dst_vid = np.int64(u)", *_edge(signature, "k"), *take(signature, "x", call(written))]
    inner += _add_atomic(signature)
    inner += ["if touched[u] == 0:", "    touched[u] = 1", "    found[emitted] = np.uint32(u)"]
    inner += ["    emitted += 1", "k += ONE"]
    loop += [f"    {line}" for line in inner]
    head = "def push(block, vertices, found, gathered, of_dst, sums, touched, params):"
    return _text(head, lines, loop, _SOME.loop) + "    return emitted\n"


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
