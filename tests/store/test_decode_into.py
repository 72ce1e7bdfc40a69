"""Decoding into given arrays: the lists of a plain reader, and nothing written elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reader_from_spec import read_banded, read_slotted
from store_making import TAG, first_vids_of, pack

from penstock.errors import CorruptionError
from penstock.store.layout import DECODE_ROOM, Column, PageSpec, make_layout
from penstock.store.page import LARGE, SMALL, TAIL_BYTES, PageHeader
from penstock.store.slotted import ADDRESSINGS
from penstock.types import COLUMN_DTYPES, Adjacency

THOROUGH = settings(max_examples=100, deadline=None)
BANDS = [(2,), (3,), (4,), (2, 3), (2, 3, 4)]
GUARD = 40
UNTOUCHED = 0xA5A5A5A5


def random_ids(rng, count: int, bands: tuple[int, ...]) -> np.ndarray:
    """Ids of every width the bands have."""
    limits = np.array([1 << (8 * width) for width in bands])
    return rng.integers(0, rng.choice(limits, count)).astype(np.uint32)


def random_lists(rng, degrees: np.ndarray, bands, dtypes) -> Adjacency:
    edges = int(degrees.sum())
    ids = random_ids(rng, edges, bands)
    ids = ids[np.lexsort((ids, np.repeat(np.arange(len(degrees)), degrees)))]
    columns = {}
    for i, dtype in enumerate(dtypes):
        values = rng.integers(0, 100, edges).astype(dtype)
        if values.dtype.kind == "f":
            values[rng.random(edges) < 0.3] = np.nan
        columns[f"c{i}"] = values
    return Adjacency(0, degrees.astype(np.uint32), ids, columns)


@st.composite
def packed(draw, layouts=("banded", "slotted")):
    """A page spec and pages of random lists: many short ones, some long, a few over many pages."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    most = draw(st.sampled_from([1, 3, 9, 40, 300, 3000]))
    degrees = rng.integers(0, most, draw(st.integers(1, 150)), endpoint=True)
    degrees[rng.random(len(degrees)) < draw(st.sampled_from([0, 0.5, 0.95]))] = 0
    degrees = degrees[: max(1, int((np.cumsum(degrees) < 6000).sum()))]
    n = len(degrees)
    dtypes = draw(st.lists(st.sampled_from(COLUMN_DTYPES), max_size=2))
    bands, p, q = (), 0, 0
    if draw(st.sampled_from(layouts)) == "banded":
        bands = draw(st.sampled_from(BANDS))
        lists = random_lists(rng, degrees, bands, dtypes)
    else:
        p, q = draw(st.sampled_from(ADDRESSINGS))
        lists = random_lists(rng, degrees, (2,), dtypes)
        lists = replace(lists, neighbours=lists.neighbours % np.uint32(n))
    columns = tuple(Column(k, v.dtype) for k, v in lists.columns.items())
    size = 8 * draw(st.one_of(st.integers(18, 80), st.integers(80, 4096)))
    spec = PageSpec("banded" if bands else "slotted", size, n, columns, bands, p, q)
    firsts = None if bands else first_vids_of(lists.degrees, spec)
    return spec, pack(spec, [lists], first_vids=firsts)[0], firsts


def guarded(size: int) -> tuple[np.ndarray, np.ndarray]:
    """An array of this size, and the longer one whose middle it is."""
    whole = np.full(size + 2 * GUARD, UNTOUCHED, np.uint32)
    return whole[GUARD : GUARD + size], whole


def check_guards(*arrays: np.ndarray) -> None:
    for whole in arrays:
        assert (whole[:GUARD] == UNTOUCHED).all()
        assert (whole[-GUARD:] == UNTOUCHED).all()


def decode_into(layout, page, header):
    """Offsets, neighbours and columns; the arrays are no larger than they must be."""
    offsets, around_offsets = guarded(header.num_vertices + 1)
    neighbours, around_neighbours = guarded(header.num_edges + DECODE_ROOM)
    try:
        columns = layout.decode_into(page, header, offsets, neighbours)
    finally:
        check_guards(around_offsets, around_neighbours)
    return offsets, neighbours[: header.num_edges], columns


def reference(spec, page, header, firsts):
    columns = [(column.name, column.dtype) for column in spec.columns]
    if spec.layout == "banded":
        return read_banded(page, header.num_vertices, header.num_edges, spec.bands, columns)
    return read_slotted(page, header.num_vertices, spec.p, spec.q, columns, firsts)


def check_page(spec, layout, page, header, firsts=None) -> None:
    """A page decodes to what the plain reader finds in it."""
    before = page.copy()
    offsets, neighbours, columns = decode_into(layout, page, header)
    owner, vids, values = reference(spec, page, header, firsts)
    degrees = np.bincount(owner, minlength=header.num_vertices)
    np.testing.assert_array_equal(offsets, np.concatenate([[0], np.cumsum(degrees)]))
    np.testing.assert_array_equal(neighbours, vids)
    assert list(columns) == list(values)
    for name, column in values.items():
        assert columns[name].dtype == column.dtype
        np.testing.assert_array_equal(columns[name], column)
    np.testing.assert_array_equal(page, before)
    part = layout.decode(page, header)
    assert part.degrees.dtype == part.neighbours.dtype == np.uint32
    np.testing.assert_array_equal(part.degrees, degrees)
    np.testing.assert_array_equal(part.neighbours, vids)


@THOROUGH
@given(packed())
def test_lists_are_those_of_a_plain_reader(case):
    spec, pages, firsts = case
    layout = make_layout(spec, firsts)
    for page in pages[:4] + pages[-4:]:
        check_page(spec, layout, page, PageHeader.read(page, "page"), firsts)


def tight_page(bands, lists: Adjacency, kind: int = SMALL):
    """A page that ends where it must end at the earliest, and what is needed to decode it."""
    columns = tuple(Column(k, v.dtype) for k, v in lists.columns.items())
    spec = PageSpec("banded", 1 << 22, len(lists.degrees), columns, bands)
    roomy = np.zeros(spec.page_bytes, np.uint8)
    size = make_layout(spec).encode(roomy, kind, lists) + TAIL_BYTES
    spec = replace(spec, page_bytes=size)
    layout = make_layout(spec)
    page = roomy[:size].copy()
    header = PageHeader(
        layout.code, kind, 0, TAG, 0, 0, 0, len(lists.degrees), len(lists.neighbours)
    )
    header.seal(page)
    return spec, layout, page, header


@pytest.mark.parametrize("bands", BANDS)
@pytest.mark.parametrize("kind", [SMALL, LARGE])
def test_lists_of_every_length_up_to_the_end_of_a_page(bands, kind):
    rng = np.random.default_rng(3)
    for length in range(50):
        for before in ([], [0], [20], [1] * 5) if kind == SMALL else ([],):
            for after in ([], [0, 0], [1], [2, 3]) if kind == SMALL else ([],):
                degrees = np.array([*before, length, *after])
                lists = random_lists(rng, degrees, bands, [])
                check_page(*tight_page(bands, lists, kind))


@pytest.mark.parametrize("bands", BANDS)
@pytest.mark.parametrize("most", [1, 255, 256, 65535, 65536, 100_000])
def test_counts_of_every_width(bands, most):
    rng = np.random.default_rng(most)
    degrees = np.array([3, 0, most * len(bands), 1, 0, 17, 8])
    lists = random_lists(rng, degrees, bands, [])
    for b, width in enumerate(bands):
        # The longest list has as many ids in each band.
        part = lists.neighbours[3 + b * most : 3 + (b + 1) * most]
        low = 1 << (8 * bands[b - 1]) if b else 0
        part[:] = np.sort(rng.integers(low, 1 << (8 * width), most))
    spec, layout, page, header = tight_page(bands, lists)
    widths = [int(page[68 + 8 * b]) for b in range(len(bands))]
    assert min(widths) == (1 if most < 256 else 2 if most < 65536 else 4)
    check_page(spec, layout, page, header)


@pytest.mark.parametrize("used", [(2,), (3,), (4,), (2, 4), (3, 4)])
def test_bands_without_ids(used):
    rng = np.random.default_rng(4)
    degrees = rng.integers(0, 30, 40)
    lists = random_lists(rng, degrees, used[:1], [])
    lists.neighbours[:] |= np.uint32(1 << (8 * used[0] - 1))
    if len(used) > 1:
        ends = np.cumsum(degrees)[degrees > 0]
        lists.neighbours[ends - 1] = 1 << 31
    spec, layout, page, header = tight_page((2, 3, 4), lists)
    filled = [width for b, width in enumerate((2, 3, 4)) if page[64 + 8 * b : 68 + 8 * b].any()]
    assert tuple(filled) == used
    check_page(spec, layout, page, header)


def weighted_page():
    rng = np.random.default_rng(5)
    lists = random_lists(rng, np.array([3, 0, 40, 2]), (2, 3), ["float32", "uint8"])
    return lists, *tight_page((2, 3), lists)


def test_banded_columns_are_views_and_those_of_decode_are_not():
    lists, _, layout, page, header = weighted_page()
    _, _, columns = decode_into(layout, page, header)
    alone = layout.decode(page, header)
    for name, values in lists.columns.items():
        assert np.shares_memory(columns[name], page)
        assert not np.shares_memory(alone.columns[name], page)
        np.testing.assert_array_equal(columns[name], values)
        np.testing.assert_array_equal(alone.columns[name], values)


def test_pages_that_cannot_be_written_to_decode():
    lists, _, layout, page, header = weighted_page()
    page.flags.writeable = False
    offsets, neighbours, _ = decode_into(layout, page, header)
    np.testing.assert_array_equal(np.diff(offsets), lists.degrees)
    np.testing.assert_array_equal(neighbours, lists.neighbours)


@THOROUGH
@given(packed(("banded",)), st.data())
def test_damaged_counts_are_refused(case, data):
    """Whichever count is made larger or smaller, also if another makes up for it elsewhere."""
    spec, pages, _ = case
    page = data.draw(st.sampled_from(pages))
    header = PageHeader.read(page, "page")
    assume(header.kind == SMALL)
    layout = make_layout(spec)
    at = 64 + 8 * len(spec.bands)
    at += (4 * -(-header.num_vertices // 64) * len(spec.bands) + 7) // 8 * 8
    places = []
    for b in range(len(spec.bands)):
        width = int(page[68 + 8 * b])
        places += [(b, at + width * v) for v in range(header.num_vertices) if width]
        at += (width * header.num_vertices + 7) // 8 * 8
    assume(places)
    band, place = data.draw(st.sampled_from(places))
    page[place] ^= 1
    others = [other for b, other in places if b != band and page[other] & 1 == page[place] & 1]
    if others and data.draw(st.booleans()):
        page[data.draw(st.sampled_from(others))] ^= 1
    with pytest.raises(CorruptionError, match="band counts contradict"):
        decode_into(layout, page, header)


@pytest.mark.parametrize("at", [64, 66, 67, 72, 75, 68, 76])
def test_damaged_totals_and_widths_are_refused(at):
    _, _, layout, page, header = weighted_page()
    for value in (5, 255):
        damaged = page.copy()
        damaged[at] = value
        with pytest.raises(CorruptionError, match="band counts contradict"):
            decode_into(layout, damaged, header)


@THOROUGH
@given(packed(("slotted",)), st.data())
def test_damaged_records_are_refused(case, data):
    spec, pages, firsts = case
    page = data.draw(st.sampled_from(pages))
    header = PageHeader.read(page, "page")
    slot = len(page) - 10 * data.draw(st.integers(1, header.num_vertices))
    record = int.from_bytes(page[slot + 6 : slot + 10].tobytes(), "little")
    page[data.draw(st.sampled_from([slot, slot + 6, record, record + 3]))] ^= 1
    with pytest.raises(CorruptionError, match="does not lead to a record"):
        decode_into(make_layout(spec, firsts), page, header)


@settings(max_examples=200, deadline=None)
@given(packed(), st.data())
def test_whatever_a_page_says_nothing_is_written_elsewhere(case, data):
    spec, pages, firsts = case
    page = data.draw(st.sampled_from(pages))
    header = PageHeader.read(page, "page")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.one_of(st.integers(64, 130), st.integers(64, len(page) - 1)))
        page[at] = data.draw(st.sampled_from([0, 1, 2, 3, 4, 127, 128, 255]))
    try:
        offsets, _, _ = decode_into(make_layout(spec, firsts), page, header)
    except CorruptionError:
        return
    assert offsets[0] == 0
    assert offsets[-1] == header.num_edges
    assert (offsets[1:] >= offsets[:-1]).all()


@pytest.mark.parametrize("layout_name", ["banded", "slotted"])
def test_pages_that_hold_more_than_the_arrays_are_refused(layout_name):
    banded = layout_name == "banded"
    spec = PageSpec(layout_name, 4096, 20, (), (2,) if banded else (), 0 if banded else 2, 2)
    lists = random_lists(np.random.default_rng(6), np.full(20, 5), (2,), [])
    lists = replace(lists, neighbours=lists.neighbours % np.uint32(20))
    firsts = None if banded else first_vids_of(lists.degrees, spec)
    page = pack(spec, [lists], first_vids=firsts)[0][0]
    header = PageHeader.read(page, "page")
    layout = make_layout(spec, firsts)
    for vertices, edges in ((20, 100 + DECODE_ROOM), (21, 99 + DECODE_ROOM), (0, 0)):
        offsets, around_offsets = guarded(vertices)
        neighbours, around_neighbours = guarded(edges)
        with pytest.raises(CorruptionError, match="20 vertices and 100 edges, more than"):
            layout.decode_into(page, header, offsets, neighbours)
        assert (around_offsets == UNTOUCHED).all()
        assert (around_neighbours == UNTOUCHED).all()


def test_larger_arrays_keep_what_was_in_them():
    _, _, layout, page, header = weighted_page()
    offsets, around_offsets = guarded(header.num_vertices + 10)
    neighbours, around_neighbours = guarded(header.num_edges + DECODE_ROOM + 100)
    layout.decode_into(page, header, offsets, neighbours)
    check_guards(around_offsets, around_neighbours)
    assert (offsets[header.num_vertices + 1 :] == UNTOUCHED).all()
    assert (neighbours[header.num_edges + DECODE_ROOM :] == UNTOUCHED).all()
