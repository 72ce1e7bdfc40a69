"""Shapes of programs for the tests of CUDA kernels."""

from __future__ import annotations

import math

import device_programs as programs
import numpy as np

from penstock.device.signature import ProgramSignature, signature_of
from penstock.program import Program

PARAMS = {"source": 1, "reach": 3, "decay": 0.5}
COLUMNS = {"w": np.dtype(np.uint8), "length": np.dtype(np.float32)}

# A sum of floats by atomics, and a total without activate

FLOWS = Program(
    state={"flow": np.float32, "open": np.bool},
    init=lambda vertex: (1.0, vertex.index % 2 == 0),
    gather=lambda src, edge, dst: src.flow * edge.length if src.open else 0.0,
    sum="add",
    identity=0.0,
    apply=lambda old, a, p: (math.sqrt(abs(a)) + p.decay, not old.open),
    accumulator=np.float32,
    totals={"all": lambda new, old: new.flow},
    name="flows",
)

# Numbers that no atomic operation knows

BITS = Program(
    state={"bits": np.uint8},
    init=lambda vertex: 1 << vertex.index % 8,
    gather=lambda src, edge, dst: src.bits if edge.w > 2 else 0,
    sum=lambda a, b: a | b,
    identity=0,
    apply=lambda old, a: old.bits | a,
    activate=lambda new, old: new.bits != old.bits,
    accumulator=np.uint8,
    incremental=True,
    name="bits",
)

# One number, signed and unsigned, of 64 bits

FARTHEST = Program(
    state={"far": np.uint64},
    init=lambda vertex: vertex.vid,
    gather=lambda src, edge, dst: src.far,
    sum="max",
    identity=0,
    apply=lambda old, a: max(old.far, a),
    accumulator=np.uint64,
    name="farthest",
)
SHORT = Program(
    state={"near": np.int16},
    init=lambda vertex: vertex.index % 100,
    gather=lambda src, edge, dst, p: src.near + dst.out_degree * p.iteration,
    sum="min",
    identity=1000,
    apply=lambda old, a: a,
    accumulator=np.int16,
    name="short",
)

PROGRAMS = {
    program.name: program
    for program in (
        programs.COUNTS, programs.LABELS, programs.WIDTHS, programs.MIXED, FLOWS, BITS, FARTHEST,
        SHORT,
    )
}  # fmt: skip


def signature(program: str | Program, params=PARAMS) -> ProgramSignature:
    found = PROGRAMS[program] if isinstance(program, str) else program
    return signature_of(found, COLUMNS, params, "w")


def shapes(names=tuple(PROGRAMS)) -> list[tuple[str, ProgramSignature, dict]]:
    """As :mod:`penstock.device.cuda.check` takes them."""
    return [(name, signature(name), PARAMS) for name in names]
