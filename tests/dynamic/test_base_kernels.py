"""Lists found and copied inside single pages, with ids of two, three and four bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.dynamic.base_kernels import (
    PageFacts,
    Pairs,
    Wanted,
    columns_begin,
    find_banded,
    gather_banded,
)
from penstock.store.banded import BandedLayout, choose_bands
from penstock.store.layout import Column, PageSpec
from penstock.store.page import LARGE, SMALL
from penstock.types import Adjacency

SIZES = {1: 60_000, 2: 1 << 23, 3: 1 << 31}
FIRST, FIRST_EDGE = 40, 1_000_000


def page_of(lists, num_bands, kind):
    """A page with these lists of vertices from FIRST on, and a column that counts its edges."""
    bands = choose_bands(SIZES[num_bands], ascending=True)
    assert len(bands) == num_bands
    column = Column("k", np.dtype("<u2"))
    spec = PageSpec("banded", 1 << 18, SIZES[num_bands], (column,), bands)
    page = np.zeros(spec.page_bytes, np.uint8)
    degrees = np.array([len(entries) for entries in lists], np.uint32)
    neighbours = np.array([v for entries in lists for v in entries], np.uint32)
    values = np.arange(len(neighbours), dtype=np.uint16)
    part = Adjacency(FIRST, degrees, neighbours, {"k": values})
    BandedLayout(spec).encode(page, kind, part)
    return page, np.array(bands, np.uint64)


def some_lists(num_bands, counts, seed):
    """Ascending lists with repeats, whose ids are of every width about as often."""
    rng = np.random.default_rng(seed)
    top = np.log2(SIZES[num_bands])
    lists = []
    for count in counts:
        ids = np.minimum(2 ** rng.uniform(0, top, count), SIZES[num_bands] - 1).astype(np.int64)
        lists.append(sorted([*ids.tolist(), *ids[: count // 4].tolist()]))
    return lists


counts = st.lists(
    st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 400)), min_size=1, max_size=200
)


@pytest.mark.parametrize("num_bands", [1, 2, 3])
@pytest.mark.parametrize("kind", [SMALL, LARGE])
@settings(max_examples=25, deadline=None)
@given(counts=counts, seed=st.integers(0, 99))
def test_find_count_and_gather(num_bands, kind, counts, seed):
    lists = some_lists(num_bands, counts if kind == SMALL else [sum(counts) + 1], seed)
    page, bands = page_of(lists, num_bands, kind)
    rng = np.random.default_rng(seed)
    rows = [(i, v) for i, entries in enumerate(lists) for v in entries]
    begin = np.cumsum([0, *map(len, lists)])
    asked = [rows[k] for k in rng.integers(0, len(rows), 60)] if rows else []
    asked += [(i, v + 1) for i, v in asked]
    asked += [(int(i), 0xFFFFFFFF) for i in rng.integers(0, len(lists), 5)]
    asked.sort()
    src = np.array([FIRST + i for i, _ in asked], np.uint32)
    dst = np.array([v for _, v in asked], np.uint32)
    where = (page, PageFacts(kind == SMALL, FIRST, len(lists), FIRST_EDGE, len(rows)), bands)
    found = np.full(len(asked), -1, np.int64)
    find_banded(*where, Pairs(src, dst), 0, len(asked), False, found)
    counted = np.zeros(len(asked), np.int64)
    find_banded(*where, Pairs(src, dst), 0, len(asked), True, counted)
    assert found.tolist() == [
        FIRST_EDGE + begin[i] + lists[i].index(v) if v in lists[i] else -1 for i, v in asked
    ]
    assert counted.tolist() == [lists[i].count(v) for i, v in asked]

    keys = np.sort(rng.integers(0, len(lists), 40)).astype(np.uint32)
    sizes = np.array([len(lists[k]) for k in keys.tolist()])
    targets = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint32)
    starts, lengths = np.empty(40, np.int64), np.empty(40, np.int64)
    wanted = Wanted(keys + np.uint32(FIRST), targets, starts, lengths)
    largest = gather_banded(page, kind == SMALL, FIRST, len(lists), bands, wanted, out)
    assert out.tolist() == [v for k in keys.tolist() for v in lists[k]]
    assert lengths.tolist() == sizes.tolist()
    assert starts.tolist() == begin[keys].tolist()
    assert largest == max(out.tolist(), default=0)

    at = columns_begin(page, kind == SMALL, len(lists), bands)
    column = page[at : at + 2 * len(rows)].view(np.uint16)
    assert column.tolist() == list(range(len(rows)))


def test_what_was_found_before_is_left_alone():
    page, bands = page_of([[3, 5, 5]], 1, LARGE)
    src, dst = np.array([FIRST, FIRST], np.uint32), np.array([5, 3], np.uint32)
    found = np.array([17, -1])
    facts = PageFacts(False, FIRST, 1, FIRST_EDGE, 3)
    find_banded(page, facts, bands, Pairs(src, dst), 0, 2, False, found)
    assert found.tolist() == [17, FIRST_EDGE]
