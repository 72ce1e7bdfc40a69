"""Which pages, in which order: compared with the obvious way to say it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_making import tables

from penstock.store.catalog import DirectionStats
from penstock.store.check_index import table_problems
from penstock.store.page import LARGE
from penstock.stream.order import batches_of, pages_of, slices_of, visiting_order

with_vertices = tables().flatmap(
    lambda made: st.tuples(
        st.just(made[0]),
        st.sets(st.integers(0, max(made[1] - 1, 0))) if made[1] else st.just(set()),
    )
)


def as_array(vertices: set[int]) -> Any:
    return np.array(sorted(vertices), np.uint32)


@settings(deadline=None)
@given(with_vertices)
def test_pages_of_are_those_with_lists_of_the_vertices(made: Any) -> None:
    table, vertices = made
    expected = [
        page
        for page, row in enumerate(table)
        if row["num_edges"]
        and any(row["first_vid"] <= v < row["first_vid"] + row["num_vertices"] for v in vertices)
    ]
    assert pages_of(table, as_array(vertices)).tolist() == expected


@settings(deadline=None)
@given(with_vertices)
def test_slices_are_the_vertices_of_each_page(made: Any) -> None:
    table, vertices = made
    pages = pages_of(table, as_array(vertices)).tolist()
    for page, found in zip(pages, slices_of(table, pages, as_array(vertices)), strict=True):
        row = table[page]
        inside = range(int(row["first_vid"]), int(row["first_vid"] + row["num_vertices"]))
        assert found.tolist() == sorted(v for v in vertices if v in inside)


@settings(deadline=None)
@given(tables(), st.sets(st.integers(0, 40)))
def test_cached_pages_first_then_small_then_large(made: Any, cached: set[int]) -> None:
    table, _ = made
    order = visiting_order(table, np.arange(len(table)), cached)
    assert order == sorted(
        range(len(table)), key=lambda page: (page not in cached, table[page]["kind"] == LARGE, page)
    )


@settings(deadline=None)
@given(tables(), st.integers(1, 9))
def test_batches_hold_every_page_once_and_cut_no_run(made: Any, size: int) -> None:
    table, _ = made
    batches = batches_of(table, size)
    assert [page for batch in batches for page in batch] == list(range(len(table)))
    for batch in batches[:-1]:
        assert len(batch) >= size
    for batch in batches:
        assert table[batch.start]["run"] == 0
        shorter = [p for p in batch[size:] if table[p]["run"] == 0]
        assert shorter == []  # no longer than a run makes it
    if batches:
        again = batches_of(table, size + 1, batches[0].stop)
        assert [p for batch in again for p in batch] == list(range(batches[0].stop, len(table)))


def _stats(table: Any) -> DirectionStats:
    large = int((table["kind"] == 2).sum())
    edges = int(table["num_edges"].sum())
    return DirectionStats(len(table), edges, len(table) - large, large, 0, 0, 0, ())


@settings(deadline=None)
@given(tables())
def test_a_right_table_passes(made: Any) -> None:
    table, n = made
    assert table_problems(table, _stats(table), n) == []


@settings(deadline=None, max_examples=200)
@given(
    tables().filter(lambda made: len(made[0]) > 0), st.data(),
    st.sampled_from(["first_vid", "first_edge", "num_vertices", "num_edges", "run"]),
    st.integers(1, 3),
)  # fmt: skip
def test_a_changed_table_is_noticed(made: Any, data: Any, name: str, by: int) -> None:
    table, n = made
    stats = _stats(table)
    row = data.draw(st.integers(0, len(table) - 1))
    table[name][row] += by
    assert table_problems(table, stats, n)
