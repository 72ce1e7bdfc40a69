"""Degree-aware lists, against a dictionary of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lists_making import COLUMNS, Model, check, make_batch

from penstock.dynamic import list_sizes, lists
from penstock.dynamic.list_runs import MOST_RUN
from penstock.dynamic.lists import DegreeAwareLists


@pytest.mark.parametrize("multigraph", [False, True], ids=["unique", "multi"])
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("threshold", [2, 24])
def test_batches_of_adds_and_deletes(multigraph, columns, threshold):
    rng = np.random.default_rng(threshold)
    n = 150
    made = DegreeAwareLists(columns, multigraph=multigraph, threshold=threshold, threads=2)
    made.grow(n)
    model = Model(multigraph)
    for _ in range(25):
        batch = make_batch(
            rng, n, rng.integers(1, 1500), columns, rng.choice([0, 0.1, 0.5, 0.9, 1])
        )
        assert made.apply_counted(*batch).tolist() == model.apply(*batch)
        check(made, model, n)
        places = made.find(*batch[:2])
        pairs = zip(*(each.tolist() for each in batch[:2]), strict=True)
        assert (places >= 0).tolist() == [pair in model.edges for pair in pairs]
        assert np.array_equal(made.count(*batch[:2]) > 0, places >= 0)
        there = places >= 0
        assert np.array_equal(made.neighbours[places[there]], batch[1][there])
    made.close()


@pytest.mark.parametrize("multigraph", [False, True], ids=["unique", "multi"])
def test_more_rows_of_one_source_than_a_pass_is_for(multigraph):
    rng = np.random.default_rng(11)
    columns = COLUMNS["one"]
    made = DegreeAwareLists(columns, multigraph=multigraph, threads=2)
    made.grow(5)
    model = Model(multigraph)
    for _ in range(3):
        rows = 2 * MOST_RUN + 100
        batch = make_batch(rng, 20_000, rows, columns, 0.7)
        batch = (np.where(batch[0] < 10_000, 0, 3).astype(np.uint32), *batch[1:])
        assert made.apply_counted(*batch).tolist() == model.apply(*batch)
        assert made.change(*batch) == totals(model.apply(*batch), batch[2])
    check(made, model, 5)
    made.close()


def totals(counts, adds):
    """How many edges came and went."""
    came, went = (sum(c for c, a in zip(counts, adds, strict=True) if a == k) for k in (1, 0))
    return came, went


@settings(max_examples=60)
@given(st.data())
def test_any_shape_of_batches(data):
    n = data.draw(st.integers(1, 12))
    multigraph = data.draw(st.booleans())
    made = DegreeAwareLists(
        multigraph=multigraph, threshold=data.draw(st.integers(1, 6)), threads=1
    )
    made.grow(n)
    model = Model(multigraph)
    vertex = st.integers(0, n - 1)
    for _ in range(data.draw(st.integers(1, 6))):
        rows = data.draw(st.lists(st.tuples(vertex, vertex, st.booleans()), max_size=60))
        src, dst, adds = (
            np.array([row[k] for row in rows], kind)
            for k, kind in enumerate((np.uint32, np.uint32, np.uint8))
        )
        assert made.apply_counted(src, dst, adds).tolist() == model.apply(src, dst, adds, [])
        check(made, model, n)
    made.close()


def test_an_index_comes_above_the_threshold_and_goes_well_below_it():
    made = DegreeAwareLists(threshold=16, threads=1)
    made.grow(100)
    src, dst = np.zeros(60, np.uint32), np.arange(60, dtype=np.uint32)
    index = made._vertex["indexes"]
    made.apply(src[:17], dst[:17])
    assert index[0] == 0
    made.find(src[:1], dst[:1])
    assert index[0] != 0
    made.apply(src, dst)
    off = np.zeros(60, np.uint8)
    made.apply(src[:51], dst[:51], off[:51])
    assert made.num_edges == 9
    assert index[0] != 0, "nine are more than half of sixteen"
    made.apply(src[51:54], dst[51:54], off[51:54])
    assert index[0] == 0
    made.apply(src[:11], dst[:11])
    assert index[0] == 0, "seventeen are needed again"
    made.close()


def test_probe_distances_stay_short_while_lists_grow():
    rng = np.random.default_rng(3)
    made = DegreeAwareLists(threshold=1, threads=2)
    made.grow(1 << 16)
    for _ in range(6):
        src = (rng.integers(0, 40, 1 << 17) ** 2 % 977).astype(np.uint32)
        dst = rng.integers(0, 1 << 16, 1 << 17).astype(np.uint32)
        for half in (slice(None, 40), slice(40, None)):
            # Few rows that ask for long lists make them have indexes, which then grow with them.
            made.apply(src[half], dst[half])
    found = made.probe_distances()
    assert 0.9 * made.num_edges < found.entries <= made.num_edges
    assert 0 < found.average < 6
    assert found.worst_average < 13
    made.close()


@pytest.mark.parametrize("multigraph", [False, True], ids=["unique", "multi"])
def test_indexes_are_laid_out_again_when_they_are_mostly_free_chunks(monkeypatch, multigraph):
    monkeypatch.setattr(lists, "ROOM", 0)
    rng = np.random.default_rng(5)
    made = DegreeAwareLists(COLUMNS["one"], threads=2, threshold=1, multigraph=multigraph)
    made._tidy_at[:] = 0
    n = 100
    made.grow(n)
    model = Model(multigraph)
    relaid = 0
    for _ in range(60):
        batch = make_batch(rng, n, rng.choice([50, 4000]), COLUMNS["one"], rng.choice([0.3, 0.9]))
        before = made._pools[1]
        assert made.apply_counted(*batch).tolist() == model.apply(*batch)
        relaid += made._pools[1] is not before
        made.find(*batch[:2])
    assert relaid > 2
    check(made, model, n)
    made.close()


def test_pools_are_laid_out_anew_when_they_are_mostly_free_chunks(monkeypatch):
    monkeypatch.setattr(lists, "ROOM", 0)
    rng = np.random.default_rng(4)
    made = DegreeAwareLists(COLUMNS["one"], threads=2)
    made._tidy_at[:] = 0
    n = 500
    made.grow(n)
    model = Model(multigraph=False)
    for _ in range(12):
        batch = make_batch(rng, n, 4000, COLUMNS["one"], 0.97)
        made.apply(*batch)
        model.apply(*batch)
        live = list_sizes.SIZES[made._vertex["sizes"][:n]].sum()
        assert made._tops[0] <= lists.MOST_WASTE * live + 2 * list_sizes.EXTENT * list_sizes.PARTS
    check(made, model, n)
    made.close()


@pytest.mark.parametrize("multigraph", [False, True], ids=["unique", "multi"])
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_loading_many_rows_is_adding_them(multigraph, columns):
    rng = np.random.default_rng(5)
    n = 300
    batch = make_batch(rng, n, 5000, columns, 1.0)
    made = DegreeAwareLists(columns, multigraph=multigraph, threads=2)
    made.grow(n)
    model = Model(multigraph)
    src, dst, _, values = batch
    assert made.load_rows(src, dst, values).tolist() == model.apply(*batch)
    check(made, model, n)
    again = make_batch(rng, n, 3000, columns, 0.4)
    assert made.apply_counted(*again).tolist() == model.apply(*again)
    check(made, model, n)
    made.close()


def test_the_number_of_threads_does_not_show():
    rng = np.random.default_rng(7)
    batches = [make_batch(rng, 2000, 20_000, [], 0.8) for _ in range(5)]
    found = []
    for threads in (1, 2, 3):
        made = DegreeAwareLists(threads=threads)
        made.grow(2000)
        for src, dst, adds, _ in batches:
            made.apply(src, dst, adds)
        found.append(made.gather(np.arange(2000, dtype=np.uint32)))
        made.close()
    for other in found[1:]:
        assert np.array_equal(found[0].offsets, other.offsets)
        assert np.array_equal(found[0].neighbours, other.neighbours)


def test_a_list_too_long_for_hashes_in_its_index():
    """From 2**24 entries on a slot is all place."""
    count = (1 << 24) + 5
    made = DegreeAwareLists(threads=1)
    made.grow(count)
    made.load_rows(np.zeros(count, np.uint32), np.arange(count, dtype=np.uint32))
    asked = np.array([0, count - 1, count, count // 2], np.uint32)
    places = made.find(np.zeros(4, np.uint32), asked)
    assert made._vertex["indexes"][0] >= list_sizes.WIDE_CLASS
    assert (places - int(made.starts[0])).tolist()[:2] == [0, count - 1]
    assert places[2] == -1
    assert made.apply(np.zeros(2, np.uint32), asked[[2, 3]], np.array([1, 0], np.uint8)).all()
    assert (made.find(np.zeros(4, np.uint32), asked) >= 0).tolist() == [True, True, True, False]
    made.close()


def test_mapped_files_can_hold_the_lists(tmp_path):
    rng = np.random.default_rng(8)
    made = DegreeAwareLists(COLUMNS["one"], threads=2, folder=tmp_path)
    made.grow(100)
    model = Model(multigraph=False)
    for _ in range(4):
        batch = make_batch(rng, 100, 3000, COLUMNS["one"], 0.8)
        made.apply(*batch)
        model.apply(*batch)
    check(made, model, 100)
    assert list(tmp_path.iterdir()) == [], "scratch files leave nothing behind"
    made.close()


def exactly(length: int, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ``many`` lists of a length."""
    src = np.repeat(np.arange(many, dtype=np.uint32), length)
    return src, np.tile(np.arange(length, dtype=np.uint32) + 1_000_000, many)


@pytest.mark.parametrize("multigraph", [False, True], ids=["unique", "multi"])
@pytest.mark.parametrize("threshold", [1, 4, 512])
@pytest.mark.parametrize(
    "lengths", [[4, 5, 7, 9, 13], [1024, 1025, 1537], [8192, 8193, 12289], [6144, 12288, 16384]]
)
def test_pools_end_where_they_were_expected_to_at_most(threshold, lengths, multigraph):
    """Full lists that all move with one row each, grow row by row, and shrink."""
    made = DegreeAwareLists(threshold=threshold, threads=2, multigraph=multigraph)
    many = max(40_000 // lengths[-1], 3) * 7
    made.grow(many)

    def change(src, dst, adds=None):
        most = made._most_places(len(src))
        before = made._tops.copy()
        made.apply(src.astype(np.uint32), dst.astype(np.uint32), adds)
        # Relaying afterwards only makes it less.
        assert all(made._tops[k] <= max(most[k], before[k]) for k in (0, 1))
        assert made._pool.size >= made._tops[0]
        assert made._pools[1].words.array.size >= made._tops[1]

    everyone = np.arange(many)
    for length in lengths:
        change(*exactly(length, many))
        for extra in range(2):
            change(everyone, np.full(many, 5_000_000 + extra))
        # One row for a third of the lists: long ones get an index, if it searches them.
        third = everyone[::3]
        change(third, np.full(len(third), 6_000_000))
        change(third, np.full(len(third), 7_000_000), np.zeros(len(third), np.uint8))
    src, dst = exactly(max(lengths), many)
    change(src, dst, np.zeros(len(src), np.uint8))
    assert made.num_edges == (many * 2 + len(third)) * (len(lengths) if multigraph else 1)
