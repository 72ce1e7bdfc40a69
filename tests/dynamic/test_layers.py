"""Sides that stand on frozen ones: against pairs in a dictionary, whenever they are frozen and
whenever a store takes the place of what was frozen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merge_making import PAGE, Live, Model, N, lists_of, many_pieces, rows, some_edges, split, store

from penstock.dynamic.base import BaseLists
from penstock.dynamic.layers import FrozenSide
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.merge import MergedSide
from penstock.dynamic.merge_compact import CompactOptions, write_store
from penstock.store.layout import Column
from penstock.store.memory import MemoryTarget

WEIGHT = (Column("weight", np.dtype("<f8")),)
KINDS = {
    "plain": {},
    "weighted": {},
    "as in the input": {"neighbour_order": "input"},
    "parallel": {"duplicates": "keep"},
    "parallel, weighted": {"duplicates": "keep"},
    "memory": None,
    "memory, weighted": None,
    "memory, parallel, weighted": None,
}


@dataclass
class Nothing:
    """Stands for a base where there is none."""

    columns: tuple[Column, ...]


@pytest.fixture(scope="module", params=KINDS)
def started(request, tmp_path_factory):
    """A base or none, its lists, and the model of a graph that goes on from it."""
    weighted, parallel = ("weighted" in request.param), ("parallel" in request.param)
    if KINDS[request.param] is None:
        lists = [[] for _ in range(N)]
        base = Nothing(WEIGHT if weighted else ())
    else:
        path = tmp_path_factory.mktemp("layers") / "g.penstock"
        arrays = some_edges(weighted=weighted)
        graph = store(arrays, path, num_vertices=N, **KINDS[request.param])
        base, lists = BaseLists(graph, "out", threads=2), lists_of(graph)
    yield base, lists, Model([*lists, [], [], [], []], multigraph=parallel)
    if isinstance(base, BaseLists):
        base.close()


@dataclass
class Ids:
    """As many ids as there are vertices."""

    num_vertices: int
    kind = "int"

    def by_vid(self):
        return np.arange(self.num_vertices)


class Layered(Live):
    """A side that is frozen now and then; each time it has another vertex afterwards."""

    def __init__(self, started):
        super().__init__(started, N)
        self.there = self.there or [(1, 2)]
        self.depth = 0

    def freeze(self):
        added = DegreeAwareLists(self.columns, multigraph=self.model.multigraph, threads=2)
        self.side = MergedSide(FrozenSide(self.side, 2), added)
        self.depth += 1
        self.n = min(self.n + 1, N + 4)
        self.side.grow(self.n)

    def swap(self):
        """Write all that is frozen as a store, and stand on that."""
        frozen = self.side.base
        options = CompactOptions(True, self.columns, page_bytes=PAGE, threads=1)
        target = MemoryTarget()
        ids = Ids(frozen.num_vertices)
        graph = target.graph(write_store(target, {"out": frozen}, ids, options))
        base = BaseLists(graph, "out", threads=2)
        assert (base.num_vertices, base.num_edges) == (frozen.num_vertices, frozen.num_edges)
        self.side.stand_on(base)
        self.depth = 0

    def close(self):
        self.side.added.close()
        if self.side.removed is not None:
            self.side.removed.close()


steps = st.lists(st.tuples(rows, st.sampled_from(["", "freeze", "freeze", "swap"])), max_size=6)


@settings(max_examples=15, deadline=None)
@given(steps, st.integers(1, 3), st.booleans())
def test_batches_freezes_and_swaps_against_the_model(started, steps, repeats, counted):
    live = Layered(started)
    for drawn, then in steps:
        batch = live.batch(drawn, repeats=repeats)
        expected = live.expect(*batch)
        if counted:
            assert live.side.apply_counted(*batch).tolist() == expected
        else:
            assert live.side.apply(*batch).tolist() == [int(count > 0) for count in expected]
        live.check()
        if then == "freeze" and live.depth < 2:
            live.freeze()
        elif then == "swap" and live.depth:
            live.swap()
        live.check()
    live.close()


def test_many_rows_through_two_layers(started):
    """All lists, after batches that touch every layer, and after a store took their place."""
    live = Layered(started)
    rng = np.random.default_rng(7)
    with many_pieces():
        for step in range(4):
            drawn = [
                (("edge", int(k)), bool(k & 1), int(k % 90)) for k in rng.integers(0, 1 << 30, 900)
            ]
            drawn += [
                ((int(u), int(v)), bool((u ^ v) & 3), int(u % 90))
                for u, v in rng.integers(0, N + 4, (1500, 2)) % [300, N]
            ]
            batch = live.batch(drawn)
            assert live.side.apply_counted(*batch).tolist() == live.expect(*batch)
            live.check()
            (live.freeze, live.freeze, live.swap, live.check)[step]()
            everyone = split(live.side.gather(np.arange(live.n, dtype=np.uint32)))
            assert [sorted(entries) for entries in everyone] == [
                live.model.entries(v) for v in range(live.n)
            ]
    live.close()


def test_what_is_frozen_takes_memory_until_a_store_takes_its_place(started):
    live = Layered(started)
    src, dst = np.random.default_rng(1).integers(0, N, (2, 20_000)).astype(np.uint32)
    columns = [np.ones(len(src), column.dtype) for column in live.columns]
    live.side.apply(src, dst, None, columns)
    changed, total = live.side.changed_bytes, live.side.nbytes
    live.freeze()
    assert live.side.changed_bytes >= changed
    assert live.side.nbytes >= total
    live.swap()
    assert live.side.changed_bytes < changed // 100
    live.close()
