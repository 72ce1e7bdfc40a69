"""Compiled kernels give what the reference device gives, whatever the graph and the way."""

from __future__ import annotations

import device_programs as programs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

WAYS = [
    {"strategy": "pull"},
    {"strategy": "push"},
    {"strategy": "notify-pull"},
    {"strategy": "auto"},
    {"strategy": "pull", "mode": "async"},
    {"strategy": "pull", "load": False},
    {"strategy": "push", "load": False},
    {"strategy": "notify-pull", "load": False},
]
CASES = [
    ("COUNTS", [0, 1, 4, 5, 6]),
    ("LABELS", range(len(WAYS))),
    ("WIDTHS", [0, 1, 2, 3, 6, 7]),
    ("MIXED", [0, 2, 4, 5, 7]),
]
RUNS = [(name, way) for name, ways in CASES for way in ways]


def run(graph, name, way, device):
    program = getattr(programs, name)
    first = graph.ids[0] if graph.num_vertices else 0
    params = {"source": int(first), "reach": 3, "decay": 0.5}
    return ps.run(
        graph,
        program,
        params=params,
        fields={"kind": np.arange(graph.num_vertices) % 5} if program.fixed else None,
        max_iter=4,
        threads=1 if WAYS[way].get("mode") else 2,
        devices=device,
        **WAYS[way],
    )


def assert_same(graph, name, way, reference=run):
    ours, theirs = run(graph, name, way, "cpu"), reference(graph, name, way, "reference")
    programs.assert_same(ours, theirs, name, rtol=1e-9)


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 12))
    pairs = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=60))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(pairs), max_size=len(pairs)))
    src, dst = (np.array([pair[k] for pair in pairs], np.int64) for k in (0, 1))
    directed = draw(st.booleans())
    return ps.from_edges(src, dst, np.array(weights, np.uint8), directed=directed, num_vertices=n)


@pytest.mark.parametrize(("name", "way"), RUNS)
@settings(max_examples=10, deadline=None)
@given(graph=graphs())
def test_small_graphs(graph, name, way):
    assert_same(graph, name, way)


@pytest.fixture(scope="module")
def reference():
    """Runs of the reference, once for lists in memory and those of the disk: it is slow."""
    found = {}

    def once(graph, name, way, device):
        rest = {key: value for key, value in WAYS[way].items() if key != "load"}
        key = name, *rest.items()
        if key not in found:
            found[key] = run(graph, name, way, device)
        return found[key]

    return once


@pytest.mark.parametrize(("name", "way"), RUNS)
def test_many_pages(paged, reference, name, way):
    assert len(paged.page_table("in")) > 4
    assert_same(paged, name, way, reference)


def test_names_of_the_users_that_the_kernels_use_too():
    """Fields, parameters, totals and variables called as things are in the kernels' own text."""

    def gather(a, k, v, x):
        i = a.u
        count = a.g_u + i
        return count * x.params + v.s0

    def apply(l_u, old_u, new):
        p_params = old_u
        r = l_u.n_u + p_params
        return r % 1000, l_u.u + 1, l_u.g_u, l_u.s0 + new.t_total + new.total

    program = ps.Program(
        state=dict.fromkeys(("n_u", "u", "g_u", "s0"), np.float64),
        init=lambda own_vertex: (1.0, own_vertex.index, 2.0, own_vertex.vid % 2),
        gather=gather,
        sum=lambda user_sum, b: user_sum + b,
        identity=0.0,
        apply=apply,
        activate=lambda old, new: old.u > new.u,
        totals={"total": lambda new, old: new.u, "t_total": lambda new, old: old.g_u},
        name='quotes """ and \\ and \n lines',
    )
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    ours, theirs = (
        ps.run(graph, program, params={"params": 2}, max_iter=3, devices=device)
        for device in ("cpu", "reference")
    )
    for name in program.state:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_an_accumulator_rounds_every_contribution_alike():
    """In one pass over a list, or in several: as the dtype says."""
    program = ps.Program(
        state={"x": np.int64},
        init=lambda vertex: 0,
        gather=lambda src, edge, dst: 0.75,
        sum="add",
        identity=0,
        apply=lambda old, a: a,
        accumulator=np.int64,
    )
    graph = ps.from_edges(np.arange(9), np.full(9, 9))
    assert ps.run(graph, program, max_iter=1).values.tolist() == [0] * 10
    assert ps.run(graph, program, max_iter=1, strategy="push").values.tolist() == [0] * 10
