"""The text of a program's kernels for CUDA.

Kernels that gather leave accumulators ``s0``, ``s1``, ... in global memory; ``apply`` makes new
values of them. They know a *load*, a page or a part of one: vertex ``i`` of ``count`` has the id
``first + i`` and the list ``neighbours[offsets[i] : offsets[i + 1]]``.

====================  =============================================================================
gather_shards         a block for each shard: edges of consecutive threads into replicated
                      accumulators in shared memory, by atomics (Garaph)
gather_threads        a thread for each of the ``chosen`` vertices
gather_warps          32 threads for each, joined by a tree in shared memory
gather_warps_shuffle  the same, joined by shuffles: the simulator has none
gather_blocks         a block for each
gather_list           the whole grid for the list of vertex 0: one accumulator for each block
fold                  one block joins these
send                  a thread for each edge: messages in groups of 32 lists, side by side
combine               a thread for each vertex sums its messages (Edge-Vertex)
apply                 a thread for each vertex: new values, active flags, totals
push                  along out-lists of ``chosen`` vertices, ``width`` threads each, by atomics
merge_sums            sums accumulators of another device into those that are here
reset                 accumulators back to where they begin
====================  =============================================================================

``g_``, ``l_``, ``n_`` are gathered, local and new fields; ``f_`` and ``d_`` are the fields of both
ends when values are pushed. Message j of lane t of group q is at ``bases[q] + 32 * j + t``.

A kernel takes those arguments that its lines mention. The user's functions stand inside each kernel
that calls them: the compiler inlines what is inside. Blocks have ``BLOCK`` threads, a power of two
from 32 on. Indices are signed.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock.device.cuda import bodies
from penstock.device.signature import ProgramSignature
from penstock.device.spelling import identities
from penstock.program import STEP_VALUES

#: What the simulator cannot run.
COMPILE_ONLY = ("gather_warps_shuffle",)
#: Dtypes that atomic operations exist for.
ATOMIC = ("int32", "int64", "uint32", "uint64", "float32", "float64")

_HEAD = '''"""Kernels of a vertex program for CUDA; written by Penstock, named by their content."""
import numpy as np
from numba import cuda, types

BLOCK = {block}
'''
_UINT8, _UINT32 = np.dtype(np.uint8), np.dtype(np.uint32)


class Argument(NamedTuple):
    """What a kernel is given: an array, or a number."""

    dtype: np.dtype[Any]
    is_array: bool = True


@dataclass(frozen=True, slots=True)
class KernelText:
    """One kernel."""

    arguments: tuple[str, ...]
    text: str
    #: Bytes of shared memory that it has besides those given at the launch.
    shared_bytes: int = 0


def has_atomic_sum(signature: ProgramSignature) -> bool:
    """Whether sums can be made by atomic operations; other sums need a list in one hand."""
    program = signature.program
    single = len(program.accumulators) == 1 and isinstance(program.sum, str)
    return single and program.accumulators[0].name in ATOMIC


def module_text(signature: ProgramSignature, block: int) -> str:
    """The whole module."""
    outside: dict[str, None] = {}
    for written in signature.written.values():
        outside |= dict.fromkeys(each for each in written.before if not _is_function(each))
    kernels = [each.text for each in kernel_texts(signature, block).values()]
    pieces = [_HEAD.format(block=block) + identities(signature), "".join(outside), *kernels]
    return "\n\n\n".join(piece.strip("\n") for piece in pieces if piece) + "\n"


def kernel_texts(signature: ProgramSignature, block: int) -> dict[str, KernelText]:
    """The kernels by name."""
    found = {
        "gather_threads": bodies.gather_threads(signature),
        "gather_warps": bodies.gather_teams(signature, "32"),
        "gather_warps_shuffle": bodies.gather_shuffled(signature),
        "gather_blocks": bodies.gather_teams(signature, "BLOCK"),
        "gather_list": bodies.gather_list(signature),
        "fold": bodies.fold(signature),
        "send": bodies.send(signature),
        "combine": bodies.combine(signature),
        "apply": bodies.apply(signature),
        "merge_sums": bodies.merge_sums(signature),
        "reset": bodies.reset(signature),
    }
    if has_atomic_sum(signature):
        found |= {"gather_shards": bodies.gather_shards(signature), "push": bodies.push(signature)}
    known = tuple(arguments(signature))
    return {name: _kernel(signature, name, body, known, block) for name, body in found.items()}


def arguments(
    signature: ProgramSignature, params: Mapping[str, Any] | None = None
) -> dict[str, Argument]:
    """All that a kernel can ask for, in the order in which it does.

    ``params`` gives values of the program's parameters: whole numbers are int64, others float64;
    one that is not given is taken for float64.
    """
    dtypes, sums = signature.dtypes, signature.program.accumulators
    found = {name: Argument(np.dtype(np.int64), False) for name in _NUMBERS}
    found |= {name: Argument(_UINT32) for name in ("offsets", "neighbours")}
    columns = {place: signature.edge_dtypes[name] for name, place in signature.edge_fields.items()}
    found |= {f"column{place}": Argument(columns[place]) for place in sorted(columns)}
    fields = {
        "g": signature.gathered,
        "f": signature.gathered,
        "d": signature.of_dst,
        "l": signature.local,
    }
    for mark, names in fields.items():
        found |= {f"{mark}_{name}": Argument(dtypes[name]) for name in names}
    found |= {name: Argument(_UINT32) for name in _INDICES}
    found |= {"replicas": Argument(np.dtype(np.int32)), "targets": Argument(np.dtype(np.uint16))}
    values: dict[str, Any] = {
        **dict.fromkeys(signature.params, 0.0),
        **dict.fromkeys(STEP_VALUES, 0),
    }
    values |= params or {}
    for name in signature.params:
        whole = isinstance(values[name], bool | int | np.bool | np.integer)
        found[f"p_{name}"] = Argument(np.dtype(np.int64 if whole else np.float64), False)
    for mark in "som":
        found |= {f"{mark}{k}": Argument(dtype) for k, dtype in enumerate(sums)}
    found |= {f"n_{name}": Argument(dtypes[name]) for name in signature.new}
    found["totals"] = Argument(np.dtype(np.float64))
    return found | {name: Argument(_UINT8) for name in _FLAGS}


_NUMBERS = ("first", "low", "count", "width")
_INDICES = ("chosen", "shards", "owners", "slots", "order", "bases", "page_firsts")
_FLAGS = ("active", "touched", "other_touched", "next_pages")


def _is_function(text: str) -> bool:
    return text.startswith("@function\n")


def _kernel(
    signature: ProgramSignature, name: str, body: list[str], known: tuple[str, ...], block: int
) -> KernelText:
    """A kernel with these lines: its arguments are what they mention, and so are the functions."""
    words = set(re.findall(r"\w+", "\n".join(body)))
    given = tuple(each for each in known if each in words)
    head = textwrap.fill(f"def {name}({', '.join(given)}):", 99, subsequent_indent=" " * 8)
    functions: list[str] = []
    for written in signature.written.values():
        if written.name in words:
            helpers = [each.removeprefix("@function\n") for each in written.before
                       if _is_function(each)]  # fmt: skip
            functions += [*helpers, written.text]
    inner = [line for text in functions for line in [*text.strip("\n").split("\n"), ""]]
    lines = [head, *(line.rstrip() for line in bodies.indented([*inner, *body]))]
    return KernelText(given, "\n".join(lines) + "\n", _shared_bytes(signature, words, block))


def _shared_bytes(signature: ProgramSignature, words: set[str], block: int) -> int:
    if "cells" in words:
        return 8 * block * (1 + len(signature.program.totals)) if "totals" in words else 0
    sizes = [dtype.itemsize for dtype in signature.program.accumulators]
    return sum(size for k, size in enumerate(sizes) if f"cells{k}" in words) * block
