"""Programs that between them use everything that a program can."""

from __future__ import annotations

import numpy as np

from penstock.program import Program

RATE = 0.25


def smaller(a, b):
    return a if a < b else b


# A sum of whole numbers, that may be pushed by several threads at once


def _paths_gather(src, edge, dst):
    return src.paths % 1000


def _paths_apply(old, a):
    return (a + old.index) % 1000


def _moved(new, old, p):
    return (new.paths - old.paths) / (p.num_vertices + new.index + p.odd)


COUNTS = Program(
    state={"paths": np.uint16},
    init=lambda vertex: vertex.out_degree + 1,
    gather=_paths_gather,
    sum="add",
    identity=0,
    apply=_paths_apply,
    accumulator=np.int32,
    totals={"odd": lambda new, old: new.paths % 2, "moved": _moved},
    name="counts",
)

# The smallest number that reaches a vertex

LABELS = Program(
    state={"label": np.uint32},
    init=lambda vertex: vertex.index,
    gather=lambda src, edge, dst: src.label,
    sum="min",
    identity=2**32 - 1,
    apply=lambda old, a: min(old.label, a),
    activate=lambda new, old: new.label != old.label,
    accumulator=np.uint32,
    incremental=True,
    name="labels",
)

# The widest way: a maximum of floats, along edge columns

WIDTHS = Program(
    state={"width": np.float32},
    init=lambda vertex, p: 100.0 if vertex.index == p.source else 0.0,
    gather=lambda src, edge, dst: min(src.width, edge.weight),
    sum="max",
    identity=-np.inf,
    apply=lambda old, a: max(old.width, a),
    activate=lambda new, old: new.width > old.width,
    accumulator=np.float32,
    incremental=True,
    name="widths",
)


# Everything at once: two fields, a tuple summed by a function, fixed fields, both ends' numbers


def _both(a, b):
    return a[0] + b[0], smaller(a[1], b[1])


def _mixed_gather(src, edge, dst, p):
    near = abs(src.vid - dst.vid) < p.reach
    value = src.heat * RATE * edge.weight / max(src.out_degree, 1)
    if near:
        value += dst.heat * src.kind
    return value, src.best - dst.in_degree


def _mixed_apply(old, a, p):
    heat, best = a
    total = 0.0
    for _ in range(3):
        total += heat
    return np.tanh(total / 3 + old.heat * p.decay + 1e-3 * p.iteration), smaller(old.best, best)


MIXED = Program(
    state={"heat": np.float64, "best": np.int32},
    init=lambda vertex, p: (1.0 / (1 + vertex.vid % 7), vertex.index % 50),
    gather=_mixed_gather,
    sum=_both,
    identity=(0.0, 10**6),
    apply=_mixed_apply,
    activate=lambda new, old: new.index % 3 > 0 or new.heat != old.heat,
    accumulator=(np.float64, np.int64),
    fixed={"kind": np.uint8},
    name="mixed",
)


def assert_same(ours, theirs, name, rtol=0.0):
    """Two results of the program of that name have the same totals, and the same values, floats
    within ``rtol``.
    """
    for field in globals()[name].state:
        one, two = getattr(ours, field), getattr(theirs, field)
        assert one.dtype == two.dtype
        if one.dtype.kind == "f" and rtol:
            np.testing.assert_allclose(one, two, rtol=rtol)
        else:
            np.testing.assert_array_equal(one, two)
    assert ours.stats["iterations"] == theirs.stats["iterations"]
    assert ours.stats["totals"] == theirs.stats["totals"]


def plain_program(**changed):
    """A program that sums what comes, with some of its parts changed."""
    whole = {
        "state": {"x": np.float64},
        "init": lambda vertex: 1.0,
        "gather": lambda src, edge, dst: src.x,
        "sum": "add",
        "identity": 0.0,
        "apply": lambda old, a: a,
        "name": "plain",
    }
    return Program(**{**whole, **changed})
