"""Lists with parallel edges: indexes, counts, and work in proportion to the rows of a batch."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lists_making import COLUMNS, Model, check

from penstock.dynamic.list_sizes import INDEX_SIZES
from penstock.dynamic.lists import DegreeAwareLists

HUB = 3


def rows_of(pairs):
    src, dst = np.array(pairs, np.uint32).reshape(-1, 2).T.copy()
    return src, dst


def index_slots(made, v):
    """Slots of the index of a list, 0 if it has none."""
    return int(INDEX_SIZES[made._vertex["indexes"][v]])


def make_hub(length, *, threshold=16, columns=()):
    """A list of distinct neighbours, and a model of it."""
    made = DegreeAwareLists(columns, multigraph=True, threshold=threshold, threads=2)
    made.grow(10)
    src, dst = np.full(length, HUB, np.uint32), np.arange(length, dtype=np.uint32)
    values = [np.arange(length).astype(column.dtype) for column in columns]
    made.apply(src, dst, None, values)
    model = Model(multigraph=True)
    model.apply(src, dst, np.ones(length), values)
    return made, model


vertex = st.integers(0, 7)
few = st.lists(st.tuples(vertex, vertex, st.booleans(), st.integers(0, 99)), max_size=6)
many = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 3).map(bool), st.just(1)),
    max_size=150,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(few, many), min_size=1, max_size=7),
    st.integers(1, 4),
    st.sampled_from(list(COLUMNS)),
)
def test_any_batches_of_parallel_edges(batches, threshold, kind):
    columns = COLUMNS[kind]
    made = DegreeAwareLists(columns, multigraph=True, threshold=threshold, threads=1)
    made.grow(8)
    model = Model(multigraph=True)
    for rows in batches:
        src, dst, adds, number = np.array(rows, np.int64).reshape(-1, 4).T
        batch = (src.astype(np.uint32), dst.astype(np.uint32), adds.astype(np.uint8))
        values = [number.astype(column.dtype) for column in columns]
        assert made.apply_counted(*batch, values).tolist() == model.apply(*batch, values)
        check(made, model, 8)
        places = made.find(*batch[:2])
        pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
        assert (places >= 0).tolist() == [pair in model.edges for pair in pairs]
        assert np.array_equal(made.neighbours[places[places >= 0]], dst[places >= 0])
        counts = [len(model.edges.get(pair, [])) for pair in pairs]
        assert made.count(*batch[:2]).tolist() == counts
        # Finding may have made indexes.
        check(made, model, 8)
    made.close()


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_few_rows_for_long_lists_against_the_model(columns):
    """Hundreds of parallel edges of some pairs come and go, through an index that stays."""
    made, model = make_hub(2000, columns=columns)
    rng = np.random.default_rng(2)
    for turn in range(60):
        count = int(rng.integers(1, 40))
        dst = rng.choice([5, 6, 1999, *rng.integers(0, 3000, 5)], count).astype(np.uint32)
        adds = (rng.random(count) < 0.9).astype(np.uint8)
        values = [rng.integers(0, 100, count).astype(column.dtype) for column in columns]
        batch = (np.full(count, HUB, np.uint32), dst, adds, values)
        assert made.apply_counted(*batch).tolist() == model.apply(*batch)
        assert turn == 0 or index_slots(made, HUB)
    check(made, model, 10)
    made.close()


@pytest.mark.parametrize("parallel", [300, 20_000])
def test_an_index_is_no_larger_for_parallel_edges_of_one_pair(parallel):
    made, model = make_hub(1000, columns=COLUMNS["one"])
    src, dst = np.full(parallel, HUB, np.uint32), np.full(parallel, 7, np.uint32)
    values = [np.arange(parallel, dtype=np.float32)]
    made.apply(src[: parallel // 2], dst[: parallel // 2], None, [values[0][: parallel // 2]])
    assert made.find(src[:1], dst[:1])[0] >= 0
    assert index_slots(made, HUB), "few rows ask for a long list"
    # The other half is added through the index.
    made.apply(src[parallel // 2 :], dst[parallel // 2 :], None, [values[0][parallel // 2 :]])
    model.apply(src, dst, np.ones(parallel), values)
    check(made, model, 10)
    assert index_slots(made, HUB) <= 3 * made.num_edges
    assert made.probe_distances().worst_average < 13
    gone = made.apply_counted(src[:2], dst[:2], np.zeros(2, np.uint8))
    assert gone.tolist() == [parallel + 1, 0]
    model.apply(src[:2], dst[:2], [0, 0], [values[0][:2]])
    check(made, model, 10)
    made.close()


def test_parallel_edges_of_many_pairs_are_spread_over_the_index():
    """Neighbours that follow each other, with as many parallel edges each."""
    made = DegreeAwareLists(multigraph=True, threshold=1, threads=1)
    made.grow(400)
    src, dst = rows_of([(HUB, v) for v in range(200) for _ in range(200)])
    made.apply(src, dst)
    made.find(src[:1], dst[:1])
    assert made.probe_distances().entries == len(src)
    assert index_slots(made, HUB) <= 3 * len(src)
    assert made.probe_distances().worst_average < 13
    made.close()


def test_only_what_searches_a_list_makes_its_index():
    made, _ = make_hub(3000)
    one = rows_of([(HUB, 3000)])
    made.apply(*one)
    made.apply(*one, np.ones(1, np.uint8))
    assert not index_slots(made, HUB), "adding a parallel edge needs no search"
    made.apply(*one, np.zeros(1, np.uint8))
    assert index_slots(made, HUB)
    made.close()


def test_batches_of_few_rows_leave_the_index_where_it_is():
    """So no batch has gone over the list: it is only searched through the index."""
    made, model = make_hub(50_000)
    made.find(*rows_of([(HUB, 0)]))
    index_at, slots = int(made._vertex["index_at"][HUB]), index_slots(made, HUB)
    assert slots
    adds = np.array([0, 0, 1], np.uint8)
    for k in range(300):
        batch = (*rows_of([(HUB, 7 * k), (HUB, 7 * k + 1), (HUB, 60_000)]), adds)
        assert made.apply_counted(*batch).tolist() == model.apply(*batch, []) == [1, 1, 1]
    assert (int(made._vertex["index_at"][HUB]), index_slots(made, HUB)) == (index_at, slots)
    assert made.apply_counted(*rows_of([(HUB, 60_000)]), np.zeros(1, np.uint8)).tolist() == [300]
    model.apply(*rows_of([(HUB, 60_000)]), [0], [])
    check(made, model, 10)
    made.close()


@pytest.mark.parametrize("multigraph", [False, True], ids=["unique", "multi"])
def test_deleting_one_edge_takes_no_longer_from_a_longer_list(multigraph):
    """Lists of 20 thousand and of 2 million entries: 100 times the work, if it went over them."""
    best = []
    for length in (20_000, 2_000_000):
        made = DegreeAwareLists(multigraph=multigraph, threads=1)
        made.grow(length)
        made.load_rows(np.zeros(length, np.uint32), np.arange(length, dtype=np.uint32))
        zero, off = np.zeros(1, np.uint32), np.zeros(1, np.uint8)
        made.apply(zero, zero, off)  # makes the index

        def took(target, made=made, zero=zero, off=off):
            begin = time.perf_counter()
            gone = made.apply_counted(zero, np.array([target], np.uint32), off)
            assert gone.tolist() == [1]
            return time.perf_counter() - begin

        best.append(min(took(k) for k in range(1, 101)))
        made.close()
    assert best[1] < 20 * best[0]


def test_totals_are_the_sums_of_counts():
    rng = np.random.default_rng(9)
    columns = COLUMNS["one"]
    both = [DegreeAwareLists(columns, multigraph=True, threshold=4, threads=2) for _ in "ab"]
    for each in both:
        each.grow(100)
    for _ in range(12):
        count = int(rng.integers(1, 3000))
        src, dst = rng.integers(0, 100, (2, count)).astype(np.uint32)
        adds = (rng.random(count) < 0.7).astype(np.uint8) if rng.random() < 0.7 else None
        values = [rng.random(count).astype(np.float32)]
        counts = both[0].apply_counted(src, dst, adds, values)
        adding = np.ones(count, bool) if adds is None else adds != 0
        totals = (counts[adding].sum(), counts[~adding].sum())
        assert both[1].change(src, dst, adds, values) == totals
        found, other = (each.gather(np.arange(100, dtype=np.uint32)) for each in both)
        assert np.array_equal(found.neighbours, other.neighbours)
        assert np.array_equal(found.columns[0], other.columns[0])
    for each in both:
        each.close()
