"""Lists of the vertices that changed, against a dictionary; two that share their numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.dynamic.lists import BY_VERTEX, DegreeAwareLists
from penstock.dynamic.sparse_lists import ChangedVertices, SparseLists
from penstock.dynamic.view_lists import Side, freeze
from penstock.store.layout import Column

N = 50_000
WEIGHT = Column("weight", np.dtype("float64"))
vertex = st.one_of(st.integers(0, 8), st.integers(0, N - 1))
rows = st.lists(st.tuples(vertex, st.integers(0, 20), st.booleans()), max_size=40)
batches = st.lists(st.tuples(st.booleans(), rows), max_size=8)


class Pair:
    """Two lists over the same vertices, as a side has them, and dictionaries."""

    def __init__(self, *, multigraph=False):
        columns = [WEIGHT] if not multigraph else []
        added = DegreeAwareLists(columns, multigraph=multigraph, threads=2)
        self.added = SparseLists(added)
        self.removed = SparseLists(DegreeAwareLists(threads=2), self.added.changed)
        self.added.grow(N)
        self.multigraph = multigraph
        self.models = {True: {}, False: {}}
        self.given = 0

    def close(self):
        self.added.close()
        self.removed.close()

    def lists(self, which):
        return self.added if which else self.removed

    def apply(self, which, drawn):
        """A batch; what it says of each row must be what the dictionary says."""
        src, dst, adds = (np.array([row[k] for row in drawn]) for k in range(3))
        valued = which and not self.multigraph
        self.given += 1
        columns = [np.full(len(drawn), float(self.given))] if valued else []
        out = self.lists(which).apply(
            src.astype(np.uint32), dst.astype(np.uint32), adds.astype(np.uint8), columns
        )
        model, parallel = self.models[which], which and self.multigraph
        expected = []
        for u, v, add in drawn:
            there = model.setdefault(u, {}).get(v, 0)
            if add:
                expected.append(parallel or not there)
                model[u][v] = there + 1 if parallel else 1
            else:
                expected.append(there > 0)
                model[u].pop(v, None)
        assert out.tolist() == expected

    def entries(self, which, u):
        return sorted(v for v, k in self.models[which].get(u, {}).items() for _ in range(k))

    def check(self, which):
        lists, model = self.lists(which), self.models[which]
        assert lists.num_vertices == N
        assert lists.num_edges == sum(sum(row.values()) for row in model.values())
        asked = np.array([*model, 0, N - 1, 77, 0], np.uint32)
        wanted = [self.entries(which, u) for u in asked.tolist()]
        assert lists.lengths_of(asked).tolist() == [len(entries) for entries in wanted]
        found = lists.gather(asked)
        ends = found.offsets.tolist()
        assert [sorted(found.neighbours[a:b].tolist()) for a, b in pairwise(ends)] == wanted
        targets = np.arange(len(asked), dtype=np.uint32) % 20
        places = lists.find(asked, targets)
        for u, v, place in zip(asked.tolist(), targets.tolist(), places.tolist(), strict=True):
            assert (place >= 0) == (v in model.get(u, {}))
            if place >= 0:
                assert lists.neighbours[place] == v
        check_bounds(lists, [self.entries(which, u) for u in range(20)], 0)
        check_bounds(lists, [self.entries(which, u) for u in range(N - 9, N)], N - 9)


def check_bounds(lists, wanted, first):
    starts, ends = lists.bounds(first, first + len(wanted))
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    assert [sorted(lists.neighbours[a:b].tolist()) for a, b in spans] == wanted


@settings(max_examples=50, deadline=None)
@given(batches, st.booleans())
def test_batches_against_dictionaries(drawn, multigraph):
    pair = Pair(multigraph=multigraph)
    for which, some in drawn:
        pair.apply(which, some)
        pair.check(True)
        pair.check(False)
    pair.close()


@settings(max_examples=40, deadline=None)
@given(batches)
def test_only_what_changed_has_a_number(drawn):
    """In the order of the rows that add, whichever the list."""
    pair, expected = Pair(), []
    for which, some in drawn:
        pair.apply(which, some)
        expected += [u for u, _, add in some if add]
    changed = pair.added.changed
    assert changed.vertices.tolist() == list(dict.fromkeys(expected))
    assert changed.numbers[changed.vertices].tolist() == list(range(1, changed.count))
    assert np.count_nonzero(changed.numbers) == changed.count - 1
    pair.close()


@settings(max_examples=30, deadline=None)
@given(batches, batches)
def test_a_copy_stays(before, after):
    pair = Pair()
    for which, some in before:
        pair.apply(which, some)
    base = object()
    side = Side(np.zeros(N, np.uint32), pair.added, base, pair.removed)
    frozen = freeze(side)
    wanted = {
        which: {u: pair.entries(which, u) for u in [*range(20), *pair.models[which]]}
        for which in (True, False)
    }
    later = [*after, (True, [(u, 3, True) for u in range(30)])]
    for which, some in later:
        pair.apply(which, some)
    pair.added.grow(40 * N)  # the numbers move
    pair.apply(True, [(1, 19, True)])
    for which, lists in ((True, frozen.added), (False, frozen.removed)):
        check_bounds(lists, [wanted[which][u] for u in range(20)], 0)
        for u, entries in wanted[which].items():
            check_bounds(lists, [entries], u)
    assert len(frozen.added.columns) == 1
    pair.close()


def test_rows_that_delete_nothing_cost_nothing():
    pair = Pair()
    pair.apply(True, [(5, 1, False), (6, 2, False)])
    pair.apply(False, [(9, 1, False)])
    assert pair.added.changed.count == 1
    assert pair.added.changed.nbytes == 0
    assert pair.added.nbytes == pair.removed.nbytes == 0
    pair.apply(True, [(5, 1, False), (5, 1, True), (5, 1, False), (6, 1, False)])
    assert pair.added.changed.vertices.tolist() == [5]
    assert pair.added.num_edges == 0
    pair.close()


def test_memory_goes_with_the_vertices_that_changed():
    pair = Pair()
    rng = np.random.default_rng(1)
    src = rng.permutation(N)[:1000].astype(np.uint32)
    pair.added.apply(src, src, None, [src.astype(float)])
    changed = pair.added.changed
    assert changed.fixed_bytes == 4 * N
    assert changed.nbytes == 4 * N + 4 * 1000
    by_vertex = sum(np.dtype(each).itemsize for each in BY_VERTEX.values())
    chunks = pair.added.lists.chunk_bytes
    assert pair.added.nbytes == chunks + by_vertex * 1001
    assert pair.removed.nbytes == 0
    pair.close()


def test_numbers_of_many_vertices():
    changed = ChangedVertices()
    changed.grow(1 << 20)
    rng = np.random.default_rng(3)
    known = {}
    for _ in range(5):
        vertices = rng.integers(0, 1 << 20, 30_000).astype(np.uint32)
        found = changed.assign(vertices)
        expected = [known.setdefault(v, len(known) + 1) for v in vertices.tolist()]
        assert found.tolist() == expected
    everyone = np.arange(1 << 20, dtype=np.uint32)
    assert changed.numbers_of(everyone).tolist() == [known.get(v, 0) for v in range(1 << 20)]
    assert len(changed.assign(everyone[:0])) == len(changed.numbers_of(everyone[:0])) == 0


@pytest.mark.parametrize("rows", [1, 1000])
def test_address_space_is_known_before(rows):
    pair = Pair()
    assert pair.added.missing_bytes(rows, rows) >= pair.added.lists.missing_bytes(rows, rows)
    pair.added.grow(N + 2 * rows)
    assert pair.added.changed.missing_bytes(0, 0) == 0
    pair.close()
