"""Lists turned round, against a plain sort of the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.parallel import Workers
from penstock.store import transpose


@st.composite
def lists(draw):
    """Lists that stand in any order, with room between them."""
    n = draw(st.integers(1, 30))
    rows = draw(st.lists(st.lists(st.integers(0, n - 1), max_size=9), min_size=n, max_size=n))
    starts, ends, pool = np.zeros(n, np.uint64), np.zeros(n, np.uint64), []
    for v in draw(st.permutations(range(n))):
        pool += [n - 1] * draw(st.integers(0, 2))
        starts[v] = len(pool)
        pool += rows[v]
        ends[v] = len(pool)
    return rows, transpose.Sources(starts, ends, np.array(pool, np.uint32))


@given(lists(), st.integers(1, 3))
def test_lists_of_targets(given_lists, threads):
    rows, sources = given_lists
    n = len(rows)
    values = np.arange(len(sources.neighbours), dtype=np.uint16)
    workers = Workers(threads)
    try:
        degrees = transpose.count_targets(sources, workers)
        offsets = np.append(0, np.cumsum(degrees)).astype(np.uint64)
        cursors, made = offsets[:-1].copy(), np.empty(int(offsets[-1]), np.uint32)
        moved = np.empty(len(made), np.uint16)
        columns = [transpose.Values.of(values, moved)]
        transpose.fill_lists(sources, cursors, degrees, made, columns, workers)
    finally:
        workers.close()
    expected = [[(u, k) for u in range(n) for k, w in enumerate(rows[u]) if w == v]
                for v in range(n)]  # fmt: skip
    for v in range(n):
        some = slice(int(offsets[v]), int(offsets[v + 1]))
        assert made[some].tolist() == [u for u, _ in expected[v]]
        places = [int(sources.starts[u]) + k for u, k in expected[v]]
        assert moved[some].tolist() == values[places].tolist()
    np.testing.assert_array_equal(cursors, offsets[1:])


@pytest.mark.parametrize("parts", [0, 1, 2, 5, 100])
def test_parts_cover_everything_once(parts):
    weights = np.random.default_rng(1).integers(0, 9, 50)
    cuts = transpose.cut_evenly(weights, parts)
    assert [v for begin, end in cuts for v in range(begin, end)] == list(range(50))
    assert len(cuts) <= max(parts, 1)
    assert all(begin < end for begin, end in cuts)
