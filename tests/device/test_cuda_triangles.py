"""Counting triangles on a GPU, in the simulator: small graphs, small blocks."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import cuda_compiling
import networkx as nx
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from penstock.config import parse_bytes
from penstock.device.cuda import triangles as cuda_triangles
from penstock.device.cuda.triangles import TriangleCounter
from penstock.device.spec import Device
from penstock.errors import BudgetError

pytestmark = pytest.mark.usefixtures("simulator")


class Lists(NamedTuple):
    """A window."""

    first: int
    last: int
    offsets: np.ndarray
    neighbours: np.ndarray


def lists_of(graph, first, last, *, later=False):
    """Earlier neighbours of some vertices, or all of them."""
    found = [
        sorted(u for u in graph[v] if later or u < v) if v in graph else []
        for v in range(first, last)
    ]
    offsets = np.cumsum([0, *map(len, found)]).astype(np.uint32)
    return Lists(first, last, offsets, np.array([u for each in found for u in each], np.uint32))


def counter_of(graph, memory=None, streams=2):
    device = Device("cuda", memory=memory, block=32)
    return TriangleCounter(device, graph.number_of_nodes(), streams)


def call(counter, outer, inner, begins=0):
    claims = np.zeros(2, np.int64)
    values = np.empty(0, np.uint32)
    arrays = np.uint64(outer.first), outer.offsets, outer.neighbours, values
    counter(claims, *arrays, begins, inner)
    counter(claims, *arrays, begins, inner)  # another thread finds nothing left to do


def assert_counts(counter, graph):
    n = graph.number_of_nodes()
    counts = np.full(n, 100)
    counter.hand_over(counts, 2)
    expected = nx.triangles(graph)
    np.testing.assert_array_equal(counts, [100 + 2 * expected[v] for v in range(n)])
    assert counter.total * 3 == sum(expected.values())
    counter.close()
    assert counter.memory.held == []


def random_graph(n, p, seed):
    return nx.gnp_random_graph(n, p, seed)


@settings(max_examples=10, phases=[Phase.generate])  # shrinking takes minutes here
@given(st.integers(1, 24), st.floats(0, 1), st.integers(0, 9))
def test_one_window_with_itself(n, p, seed):
    graph = random_graph(n, p, seed)
    counter = counter_of(graph)
    inner = lists_of(graph, 0, n)
    call(counter, inner, inner)
    assert_counts(counter, graph)


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("cuts", [[0, 24], [0, 8, 24], [0, 5, 6, 15, 24]])
def test_pairs_of_windows(cuts, later):
    """Outer lists are copied, and may have later neighbours."""
    graph = random_graph(24, 0.5, 1)
    counter = counter_of(graph)
    for begin, end in pairwise(cuts):
        inner = lists_of(graph, begin, end)
        call(counter, lists_of(graph, begin, 24, later=later), inner)
    assert_counts(counter, graph)


def test_lists_before_a_place_are_left_out():
    graph = nx.complete_graph(6)
    counter = counter_of(graph)
    inner = lists_of(graph, 0, 6)
    call(counter, inner, inner, begins=5)
    counts = np.zeros(6, np.int64)
    counter.hand_over(counts)
    np.testing.assert_array_equal(counts, [4, 4, 4, 4, 4, 10])
    assert counter.total == 10
    call(counter, lists_of(graph, 2, 6), inner, begins=3)
    counter.hand_over(counts)
    np.testing.assert_array_equal(counts, [8, 8, 8, 8, 8, 20])
    assert counter.total == 20


def test_little_memory_makes_small_chunks(monkeypatch):
    sent = []
    send = cuda_triangles._Lane.send

    def sending(lane, offsets, entries):
        sent.append(len(offsets) - 1)
        return send(lane, offsets, entries)

    monkeypatch.setattr(cuda_triangles._Lane, "send", sending)
    graph = random_graph(40, 0.3, 2)
    counter = counter_of(graph, memory=7000)
    call(counter, lists_of(graph, 0, 40), lists_of(graph, 0, 40))
    assert len(sent) > 1
    assert sum(sent) == 40
    assert counter.memory.budget.used <= 7000
    assert_counts(counter, graph)


def test_the_inner_window_is_copied_once():
    graph = random_graph(20, 0.5, 3)
    counter = counter_of(graph)
    inner = lists_of(graph, 0, 20)
    call(counter, lists_of(graph, 0, 10), inner)
    there = counter._there
    call(counter, lists_of(graph, 10, 20), inner)
    assert counter._there is there
    del there
    assert_counts(counter, graph)


@pytest.mark.parametrize(
    ("memory", "streams", "what"),
    [
        (1000, 2, "counts of 200 vertices and 2 streams"),
        (4100, 1, "a window of 2.4 kB"),
        (7000, 2, "the 199 neighbours of vertex 0"),
    ],
)
def test_no_room(memory, streams, what, monkeypatch):
    """With the memory that the message asks for it works, or something else is too large."""
    star = nx.star_graph(199)
    windows = lists_of(star, 0, 200, later=True), lists_of(star, 0, 200)

    def run(memory):
        counter = counter_of(star, memory, streams)
        monkeypatch.setattr(counter, "_kernel", NoKernel())
        call(counter, *windows)

    message = r"devices: cuda:0@.*: .* no room for (.*); requires at least (.*)"
    seen = []
    for _ in range(3):
        try:
            run(memory)
        except BudgetError as error:
            found = re.search(message, str(error))
            seen.append(found[1])
            memory = parse_bytes(found[2], "memory")
    assert seen[0] == what
    assert len(set(seen)) == len(seen) < 3


class NoKernel:
    """A kernel that does nothing, at once."""

    def __getitem__(self, launch):
        return lambda *args: None


def test_kernels_compile_for_gpus():
    found = cuda_compiling.compiled_kernels("penstock.device.cuda.triangles", 64)
    assert found == ["count_triangles"]
