"""What stands inside each CUDA kernel; :mod:`penstock.device.cuda.text` says what they are for.

Loops over what threads share go in strides. Where threads of a block join their sums, all of them
come to the same ``syncthreads``, with work or without.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.device.signature import ProgramSignature
from penstock.device.spelling import (
    applied,
    call,
    cast,
    identity,
    number,
    parts,
    plus,
    record,
    take,
    tuple_of,
)

#: What shuffles take as it is; whole numbers of other kinds go as int64.
_SHUFFLED = ("int32", "int64", "float32", "float64")


def indented(lines: Iterable[str]) -> list[str]:
    """Lines one step further in."""
    return [f"    {line}" for line in lines]


def _each(variable: str, start: str, stop: str, step: str, body: list[str]) -> list[str]:
    """A loop; the compiler would divide, to know the length of a ``range`` with a step."""
    lines = [f"{variable} = {start}", f"while {variable} < {stop}:"]
    return [*lines, *indented([*body, f"{variable} += {step}"])]


def _grid(variable: str, stop: str, body: list[str]) -> list[str]:
    """A loop over numbers from 0, shared among all threads."""
    return _each(variable, "cuda.grid(1)", stop, "cuda.gridsize(1)", body)


def _places(signature: ProgramSignature, mark: str, index: str) -> list[str]:
    return [f"{mark}{k}[{index}]" for k in range(len(signature.program.accumulators))]


def _read(signature: ProgramSignature, mark: str, index: str) -> str:
    """The accumulator at an index."""
    return tuple_of(_places(signature, mark, index))


def _write(signature: ProgramSignature, mark: str, index: str, value: str) -> list[str]:
    pairs = zip(_places(signature, mark, index), parts(signature, value), strict=True)
    return [f"{place} = {part}" for place, part in pairs]


def _edge(signature: ProgramSignature) -> list[str]:
    return [
        f"edge_{name} = {number(signature.edge_dtypes[name], f'column{place}[k]')}"
        for name, place in signature.edge_fields.items()
    ]


def _vid(signature: ProgramSignature, end: str, value: str) -> list[str]:
    """The id of an edge's end, if ``gather`` asks for it."""
    return [f"{end}_vid = {value}"] if "vid" in signature.written["gather"].fields(end) else []


def _dst(signature: ProgramSignature, index: str = "i") -> list[str]:
    """Lines that load what ``gather`` reads of the vertex that gathers."""
    lines = record(signature, "dst", signature.of_dst, f"l_{{}}[{index}]")
    return [*lines, *_vid(signature, "dst", f"first + {index}")]


def _src(signature: ProgramSignature) -> list[str]:
    """Lines that load what ``gather`` reads of edge ``k`` and of its other end."""
    lines = [
        "u = np.int64(neighbours[k])",
        *record(signature, "src", signature.gathered, "g_{}[u]"),
    ]
    return [*lines, *_vid(signature, "src", "u + low"), *_edge(signature)]


def _contribution(signature: ProgramSignature) -> list[str]:
    """The line, or lines, that make ``x`` of them."""
    return take(signature, "x", call(signature.written["gather"]))


def _sum_list(signature: ProgramSignature, begin: str, step: str) -> list[str]:
    """Sum over the list of vertex ``i`` into ``a``: edges ``begin``, ``begin + step``, ..."""
    body = [*_src(signature), *_contribution(signature), *plus(signature, "a", "x")]
    lines = ["stop = np.int64(offsets[i + 1])"]
    return [*lines, *_each("k", f"np.int64(offsets[i]){begin}", "stop", step, body)]


def _cells(signature: ProgramSignature) -> list[str]:
    """Shared memory for an accumulator of each thread."""
    dtypes = enumerate(signature.program.accumulators)
    lines = [f"cells{k} = cuda.shared.array(BLOCK, types.{dtype.name})" for k, dtype in dtypes]
    return [*lines, "t = cuda.threadIdx.x"]


def _tree(signature: ProgramSignature, lane: str, width: str) -> list[str]:
    """Join ``a`` of ``width`` threads: the one in lane 0 has the sum. Whole blocks come here."""
    step = [
        f"if {lane} < stride:",
        f"    x = {_read(signature, 'cells', 't + stride')}",
        *indented([*plus(signature, "a", "x"), *_write(signature, "cells", "t", "a")]),
        "cuda.syncthreads()",
        "stride >>= 1",
    ]
    lines = [*_write(signature, "cells", "t", "a"), "cuda.syncthreads()", f"stride = {width} // 2"]
    return [*lines, "while stride > 0:", *indented(step)]


def gather_threads(signature: ProgramSignature) -> list[str]:
    """A thread for each of the chosen vertices."""
    body = ["i = np.int64(chosen[c])", *_dst(signature), f"a = {identity(signature)}"]
    body += [*_sum_list(signature, "", "1"), *_write(signature, "s", "i", "a")]
    return _grid("c", "len(chosen)", body)


def gather_teams(signature: ProgramSignature, width: str) -> list[str]:
    """``width`` threads for each. ``start`` is the same for the whole block, since all its threads
    must meet in the tree.
    """
    teams = f"BLOCK // {width}"
    inside = ["i = np.int64(chosen[c])", *_dst(signature), *_sum_list(signature, " + lane", width)]
    body = [f"c = start + t // {width}", f"a = {identity(signature)}", "if c < len(chosen):"]
    body += [*indented(inside), *_tree(signature, "lane", width)]
    body += ["if lane == 0 and c < len(chosen):"]
    body += indented(_write(signature, "s", "np.int64(chosen[c])", "a"))
    start, step = (f"cuda.{which}.x * ({teams})" for which in ("blockIdx", "gridDim"))
    lines = [*_cells(signature), f"lane = t % {width}"]
    return [*lines, *_each("start", start, "len(chosen)", step, body)]


def gather_shuffled(signature: ProgramSignature) -> list[str]:
    """32 threads for each, which hand their sums to each other."""
    body = ["i = np.int64(chosen[c])", *_dst(signature), f"a = {identity(signature)}"]
    body += [*_sum_list(signature, " + lane", "32"), "stride = 16", "while stride > 0:"]
    body += indented([f"x = {_shuffled(signature)}", *plus(signature, "a", "x"), "stride >>= 1"])
    body += ["if lane == 0:", *indented(_write(signature, "s", "i", "a"))]
    lines = ["lane = cuda.threadIdx.x % 32"]
    step = "cuda.gridsize(1) // 32"
    return [*lines, *_each("c", "cuda.grid(1) // 32", "len(chosen)", step, body)]


def _shuffled(signature: ProgramSignature) -> str:
    """The accumulator ``a`` of the thread ``stride`` lanes further on."""
    found = []
    for dtype, part in zip(signature.program.accumulators, parts(signature, "a"), strict=True):
        sent = part if dtype.name in _SHUFFLED else f"np.int64({part})"
        text = f"cuda.shfl_down_sync(0xFFFFFFFF, {sent}, stride)"
        found.append(text if sent == part else cast(dtype, text))
    return tuple_of(found)


def gather_list(signature: ProgramSignature) -> list[str]:
    """The whole grid for the list of vertex 0: a sum for each block."""
    lines = [*_cells(signature), "i = 0", *_dst(signature), f"a = {identity(signature)}"]
    lines += _sum_list(signature, " + cuda.grid(1)", "cuda.gridsize(1)")
    lines += [*_tree(signature, "t", "BLOCK"), "if t == 0:"]
    return [*lines, *indented(_write(signature, "s", "cuda.blockIdx.x", "a"))]


def fold(signature: ProgramSignature) -> list[str]:
    """One block joins the sums of blocks."""
    body = [f"x = {_read(signature, 's', 'k')}", *plus(signature, "a", "x")]
    lines = [
        *_cells(signature),
        f"a = {identity(signature)}",
        *_each("k", "t", "count", "BLOCK", body),
    ]
    lines += [*_tree(signature, "t", "BLOCK"), "if t == 0:"]
    return [*lines, *indented(_write(signature, "s", "0", "a"))]


def gather_shards(signature: ProgramSignature) -> list[str]:
    """A block for each shard. The copy of vertex j that a thread adds to is
    ``cells[j * copies + t % copies]``.
    """
    dtype, name = signature.program.accumulators[0], signature.program.sum
    edges = ["j = np.int64(targets[k])", *_dst(signature, "begin + j"), *_src(signature)]
    edges += _contribution(signature)
    edges.append(f"cuda.atomic.{name}(cells, j * copies + t % copies, x)")
    merge = ["c = (k // stride) * copies + k % stride", "a = cells[c]", "x = cells[c + stride]"]
    merge += [*plus(signature, "a", "x"), "cells[c] = a"]
    level = _each("k", "t", "size * stride", "BLOCK", merge)
    stop = "np.int64(offsets[begin + size])"
    return [
        f"cells = cuda.shared.array(0, types.{dtype.name})",
        "t = cuda.threadIdx.x",
        "begin = np.int64(shards[cuda.blockIdx.x])",
        "size = np.int64(shards[cuda.blockIdx.x + 1]) - begin",
        "copies = np.int64(replicas[cuda.blockIdx.x])",
        *_each("k", "t", "size * copies", "BLOCK", ["cells[k] = IDENTITY0"]),
        "cuda.syncthreads()",
        f"stop = {stop}",
        *_each("k", "np.int64(offsets[begin]) + t", "stop", "BLOCK", edges),
        "cuda.syncthreads()",
        "stride = copies >> 1",
        "while stride > 0:",
        *indented([*level, "cuda.syncthreads()", "stride >>= 1"]),
        *_each("k", "t", "size", "BLOCK", ["s0[begin + k] = cells[k * copies]"]),
    ]


def send(signature: ProgramSignature) -> list[str]:
    """A thread for each edge writes what it contributes."""
    dst = _dst(signature)
    body = ["i = np.int64(owners[k])", *dst] if dst else []
    body += [*_src(signature), *_contribution(signature), "place = np.int64(slots[k])"]
    return _grid("k", "len(neighbours)", [*body, *_write(signature, "m", "place", "x")])


def combine(signature: ProgramSignature) -> list[str]:
    """A thread for each vertex sums what was sent to it."""
    sums = [f"x = {_read(signature, 'm', 'k')}", *plus(signature, "a", "x")]
    body = [
        "i = np.int64(order[c])",
        f"a = {identity(signature)}",
        "begin = np.int64(bases[c // 32]) + c % 32",
        "stop = begin + 32 * (np.int64(offsets[i + 1]) - np.int64(offsets[i]))",
        *_each("k", "begin", "stop", "32", sums),
        *_write(signature, "s", "i", "a"),
    ]
    return _grid("c", "len(order)", body)


def apply(signature: ProgramSignature) -> list[str]:
    """A thread for each vertex: new values, active flags, totals."""
    program, written = signature.program, signature.written
    counted = program.activate is not None
    body = [f"a = {_read(signature, 's', 'i')}", *applied(signature, "first + i")]
    if counted:
        body += [f"if {call(written['activate'])}:", "    active[i] = 1", "    found += 1"]
        body += ["else:", "    active[i] = 0"]
    body += [f"t_{name} += {call(written[f'total:{name}'])}" for name in program.totals]
    values = ["found", *(f"t_{name}" for name in program.totals)]
    lines = ["found = 0", *(f"{value} = 0.0" for value in values[1:]), *_grid("i", "count", body)]
    return [*lines, *_add_totals(values)] if counted or program.totals else lines


def _add_totals(values: list[str]) -> list[str]:
    """Add a block's numbers to ``totals``: a tree, then one atomic operation for each."""
    rows = len(values)
    return [
        f"cells = cuda.shared.array(({rows}, BLOCK), types.float64)",
        "t = cuda.threadIdx.x",
        *(f"cells[{row}, t] = {value}" for row, value in enumerate(values)),
        "cuda.syncthreads()",
        "stride = BLOCK // 2",
        "while stride > 0:",
        "    if t < stride:",
        f"        for row in range({rows}):",
        "            cells[row, t] += cells[row, t + stride]",
        "    cuda.syncthreads()",
        "    stride >>= 1",
        *_each("row", "t", str(rows), "BLOCK", ["cuda.atomic.add(totals, row, cells[row, 0])"]),
    ]


def push(signature: ProgramSignature) -> list[str]:
    """Along out-lists. The page of a vertex is the last that begins with it or before it."""
    edges = ["u = np.int64(neighbours[k])", *record(signature, "dst", signature.of_dst, "d_{}[u]")]
    edges += [*_vid(signature, "dst", "u + low"), *_edge(signature), *_contribution(signature)]
    edges += [f"cuda.atomic.{signature.program.sum}(s0, u, x)", "if touched[u] == 0:"]
    edges += indented(
        [
            "touched[u] = 1",
            "page = 0",
            "end = len(page_firsts)",
            "while end - page > 1:",
            "    middle = (page + end) >> 1",
            "    if np.int64(page_firsts[middle]) <= u + low:",
            "        page = middle",
            "    else:",
            "        end = middle",
            "next_pages[page] = 1",
        ]
    )
    body = ["i = np.int64(chosen[c])", *record(signature, "src", signature.gathered, "f_{}[i]")]
    body += [*_vid(signature, "src", "first + i"), "stop = np.int64(offsets[i + 1])"]
    body += _each("k", "np.int64(offsets[i]) + lane", "stop", "width", edges)
    lines = ["lane = cuda.grid(1) % width"]
    step = "cuda.gridsize(1) // width"
    return [*lines, *_each("c", "cuda.grid(1) // width", "len(chosen)", step, body)]


def merge_sums(signature: ProgramSignature) -> list[str]:
    """Sums of another device into those that are here."""
    inside = [f"a = {_read(signature, 's', 'i')}", f"x = {_read(signature, 'o', 'i')}"]
    inside += [*plus(signature, "a", "x"), *_write(signature, "s", "i", "a"), "touched[i] = 1"]
    return _grid("i", "count", ["if other_touched[i] != 0:", *indented(inside)])


def reset(signature: ProgramSignature) -> list[str]:
    """Sums back to where they begin."""
    constants = [f"s{k}[i] = IDENTITY{k}" for k in range(len(signature.program.accumulators))]
    return _grid("i", "count", [*constants, "touched[i] = 0"])
