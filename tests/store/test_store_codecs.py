"""Page layouts and the packer: what goes in comes out, wherever pages end and parts are cut."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from store_making import TAG, first_vids_of, pack

from penstock.errors import AddressingError, CorruptionError
from penstock.ingest.options import BuildOptions
from penstock.ingest.repack import choose_addressing, repack
from penstock.progress import Silent
from penstock.store.banded import choose_bands
from penstock.store.catalog import DirectionStats
from penstock.store.layout import Column, PageSpec, make_layout
from penstock.store.page import HEADER_BYTES, LARGE, SMALL, TAIL_BYTES, PageHeader, check_page
from penstock.store.slotted import ADDRESSINGS, check_addressable, edge_bytes, place
from penstock.types import COLUMN_DTYPES, Adjacency

THOROUGH = settings(max_examples=120, deadline=None)
BANDS = [(2,), (3,), (4,), (2, 3), (2, 3, 4)]


@st.composite
def cases(draw, layouts=("banded", "slotted")):
    """A page spec and lists for it, with the first vertices of the pages (slotted)."""
    layout = draw(st.sampled_from(layouts))
    degrees = draw(
        st.lists(st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 60)), max_size=40)
    )
    n, edges = len(degrees), sum(degrees)
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    bands, p, q, limit = (), 0, 0, n
    if layout == "banded":
        bands = draw(st.sampled_from(BANDS))
        limit = 1 << (8 * bands[-1])
    else:
        p, q = draw(st.sampled_from(ADDRESSINGS))
    # Small numbers and large ones, so that every band is used.
    scale = rng.integers(1, limit, max(1, edges), endpoint=True) if limit > 1 else [1] * (edges + 1)
    neighbours = (rng.integers(0, 1 << 62, edges) % np.asarray(scale[:edges])).astype(np.uint32)
    if len(bands) > 1 or draw(st.booleans()):
        owners = np.repeat(np.arange(n), degrees)
        neighbours = neighbours[np.lexsort((neighbours, owners))]
    columns = {}
    for i, dtype in enumerate(draw(st.lists(st.sampled_from(COLUMN_DTYPES), max_size=3))):
        bits = rng.integers(0, 256, (edges, np.dtype(dtype).itemsize), np.uint8)
        values = bits.view(dtype).ravel() if edges else np.empty(0, dtype)
        if values.dtype.kind == "f":
            values = np.where(rng.random(edges) < 0.5, np.nan, values).astype(dtype)
        columns[f"c{i}"] = values
    spec = PageSpec(
        layout, 8 * draw(st.integers(18, 80)), n,
        tuple(Column(k, v.dtype) for k, v in columns.items()), bands, p, q,
    )  # fmt: skip
    lists = Adjacency(0, np.array(degrees, np.uint32), neighbours, columns)
    firsts = first_vids_of(lists.degrees, spec) if layout == "slotted" else None
    return spec, lists, firsts


@st.composite
def cuts(draw, degrees):
    """Places to cut lists at: (vertex, edges of it before the cut, whether it is named again)."""
    found = []
    for _ in range(draw(st.integers(0, 6))):
        if len(degrees):
            v = draw(st.integers(0, len(degrees) - 1))
            k = draw(st.integers(0, int(degrees[v])))
            found.append((v, k, k < degrees[v] or draw(st.booleans())))
    return sorted(found)


def cut(lists: Adjacency, places: list) -> list[Adjacency]:
    """The same lists in parts."""
    ends = np.concatenate([[0], np.cumsum(lists.degrees, dtype=np.int64)])
    parts = []
    v, e = 0, 0
    for vertex, k, again in places:
        stop = int(ends[vertex]) + k
        if vertex < v:
            continue
        degrees = lists.degrees[v : vertex + 1].copy()
        degrees[0] = ends[v + 1] - e
        degrees[-1] -= ends[vertex + 1] - stop
        columns = {name: values[e:stop] for name, values in lists.columns.items()}
        parts.append(Adjacency(v, degrees, lists.neighbours[e:stop], columns))
        v, e = (vertex, stop) if again else (vertex + 1, stop)
    degrees = lists.degrees[v:].copy()
    if len(degrees):
        degrees[0] = ends[v + 1] - e
    columns = {name: values[e:] for name, values in lists.columns.items()}
    return [*parts, Adjacency(v, degrees, lists.neighbours[e:], columns)]


def same(a: Adjacency, b: Adjacency) -> None:
    np.testing.assert_array_equal(a.degrees, b.degrees)
    np.testing.assert_array_equal(a.neighbours, b.neighbours)
    for name, values in a.columns.items():
        np.testing.assert_array_equal(values, b.columns[name])


@THOROUGH
@given(cases())
def test_round_trip(case):
    spec, lists, firsts = case
    pages, table, stats, degrees = pack(spec, [lists], first_vids=firsts)
    layout = make_layout(spec, firsts)
    np.testing.assert_array_equal(degrees, lists.degrees)
    used = vertex = edge = 0
    whole = np.zeros(len(lists.degrees), np.int64)
    for i, page in enumerate(pages):
        check_page(page, "page")
        header = PageHeader.read(page, "page")
        header.check_place("page", layout=layout.code, direction="out", tag=TAG, page_id=i)
        for name in ("first_vid", "first_edge", "num_vertices", "num_edges", "run", "kind"):
            assert getattr(header, name) == table[name][i]
        part, bytes_used = layout.audit(page, header)
        used += bytes_used
        assert part.first_vid == (vertex if header.run == 0 else vertex - 1)
        assert header.first_edge == edge
        whole[part.first_vid : part.first_vid + len(part.degrees)] += part.degrees
        stop = edge + len(part.neighbours)
        columns = {name: values[edge:stop] for name, values in lists.columns.items()}
        same(part, replace(lists, degrees=part.degrees, neighbours=lists.neighbours[edge:stop],
                           columns=columns))  # fmt: skip
        same(layout.decode(page, header), part)
        vertex, edge = part.first_vid + len(part.degrees), stop
    assert (vertex, edge) == (len(lists.degrees), len(lists.neighbours))
    np.testing.assert_array_equal(whole, lists.degrees)
    assert stats.num_pages == len(pages) == stats.small_pages + stats.large_pages
    assert (stats.num_edges, stats.used_bytes) == (edge, used)
    assert stats.max_degree == max(lists.degrees, default=0)
    bins = [int(d).bit_length() for d in lists.degrees]
    assert stats.degree_histogram == tuple(np.bincount(bins, minlength=1))
    assert stats.empty_vertices == bins.count(0)


@THOROUGH
@given(st.data())
def test_pages_do_not_depend_on_how_lists_are_cut(data):
    spec, lists, firsts = data.draw(cases())
    parts = cut(lists, data.draw(cuts(lists.degrees)))
    pages, table, stats, degrees = pack(spec, [lists], first_vids=firsts)
    pages2, table2, stats2, degrees2 = pack(spec, parts, first_vids=firsts)
    assert [page.tobytes() for page in pages] == [page.tobytes() for page in pages2]
    np.testing.assert_array_equal(table, table2)
    np.testing.assert_array_equal(degrees, degrees2)
    assert stats == stats2


def test_an_edge_at_a_time():
    degrees = np.array([0, 3, 0, 70, 1, 0, 0], np.uint32)
    lists = Adjacency(0, degrees, np.arange(74, dtype=np.uint32) % 7, {})
    places = [(v, k, k < d) for v, d in enumerate(degrees) for k in range(d + 1)]
    for layout in ("banded", "slotted"):
        bands, p = ((2,), 0) if layout == "banded" else ((), 2)
        spec = PageSpec(layout, 144, 7, (), bands, p, p)
        firsts = None if bands else first_vids_of(degrees, spec)
        pages, table, _, _ = pack(spec, [lists], first_vids=firsts)
        assert (table["kind"] == LARGE).sum() > 2
        again, _, _, _ = pack(spec, cut(lists, places), first_vids=firsts)
        assert [page.tobytes() for page in pages] == [page.tobytes() for page in again]


def test_vertices_that_no_part_names_have_empty_lists():
    spec = PageSpec("banded", 144, 300, (), (2,))
    part = Adjacency(0, np.array([2], np.uint32), np.array([1, 2], np.uint32), {})
    _, table, stats, degrees = pack(spec, [part])
    assert int(table["num_vertices"].sum()) == 300
    assert degrees.tolist() == [2] + [0] * 299
    assert stats.empty_vertices == 299
    assert pack(spec, [])[3].tolist() == [0] * 300


def test_parts_must_follow_each_other():
    spec = PageSpec("banded", 144, 9, (), (2,))
    part = Adjacency(3, np.array([0], np.uint32), np.empty(0, np.uint32), {})
    with pytest.raises(ValueError, match="vertex 3"):
        pack(spec, [part])


def encoded_bytes(spec: PageSpec, layout, kind: int, part: Adjacency, size: int) -> int:
    """What encode says it used; it must not write outside, nor beyond what it says."""
    guard = 64
    room = np.full(size + 2 * guard, 0xAA, np.uint8)
    page = room[guard : guard + size]
    page[:] = 0
    used = layout.encode(page, kind, part)
    assert (room[:guard] == 0xAA).all()
    assert (room[guard + size :] == 0xAA).all()
    assert not page[:HEADER_BYTES].any()
    slots = 10 * len(part.degrees) if spec.layout == "slotted" else 0
    assert not page[used - slots : size - slots].any()
    return used


def section(lists: Adjacency, v: int, v_end: int, e: int, e_end: int) -> Adjacency:
    columns = {name: values[e:e_end] for name, values in lists.columns.items()}
    return Adjacency(v, lists.degrees[v:v_end], lists.neighbours[e:e_end], columns)


@THOROUGH
@given(cases(), st.integers(0, 40))
def test_a_page_is_as_full_as_fit_says(case, start):
    """Encode keeps to what fit promises, and one vertex or edge more would not have fitted."""
    spec, lists, firsts = case
    assume(start < len(lists.degrees))
    # An edge without values counts as if it had them.
    for name, values in lists.columns.items():
        lists.columns[name] = np.nan_to_num(values)
    layout = make_layout(spec, firsts)
    roomy = make_layout(replace(spec, page_bytes=1 << 16), firsts)
    most = spec.page_bytes - (TAIL_BYTES if spec.layout == "banded" else 0)
    v, e = start, int(lists.degrees[:start].sum())
    v_end, e_end = layout.fit(lists.degrees, lists.neighbours, v, e)
    assert e_end == lists.degrees[:v_end].sum()
    for shown in range(v_end + 1, len(lists.degrees)):
        part = lists.degrees[:shown], lists.neighbours[: lists.degrees[:shown].sum()]
        assert layout.fit(*part, v, e) == (v_end, e_end)
    if v_end > v:
        part = section(lists, v, v_end, e, e_end)
        assert encoded_bytes(spec, layout, SMALL, part, spec.page_bytes) <= most
    if v_end < len(lists.degrees):
        part = section(lists, v, v_end + 1, e, e_end + int(lists.degrees[v_end]))
        assert encoded_bytes(spec, roomy, SMALL, part, 1 << 16) > most
    if v_end == v:
        stop = layout.fit_large(lists.neighbours, e)
        for end, fits in ((stop, True), (stop + 1, False)):
            if e < end <= len(lists.neighbours):
                part = replace(
                    section(lists, v, v + 1, e, end), degrees=np.array([end - e], np.uint32)
                )
                used = encoded_bytes(spec, roomy, LARGE, part, 1 << 16)
                assert (used <= most) == fits


@THOROUGH
@given(cases(), st.data())
def test_damaged_bodies_are_refused_or_decoded_but_never_worse(case, data):
    """Decoding looks at nothing outside the page, whatever the page says."""
    spec, lists, firsts = case
    pages, _, _, _ = pack(spec, [lists], first_vids=firsts)
    assume(pages)
    layout = make_layout(spec, firsts)
    page = data.draw(st.sampled_from(pages))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.one_of(st.integers(40, 100), st.integers(14, len(page) - 1)))
        page[at] = data.draw(st.sampled_from([0, 1, 2, 3, 4, 127, 128, 255]))
    try:
        header = PageHeader.read(page, "page")
        part, used = layout.audit(page, header)
    except CorruptionError:
        return
    assert used <= len(page)
    assert part.degrees.sum() == len(part.neighbours) == header.num_edges


@THOROUGH
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_bands_hold_every_vertex(n, ascending):
    bands = choose_bands(n, ascending=ascending)
    assert bands in BANDS
    assert max(n - 1, 0) < 1 << (8 * bands[-1])
    assert len(bands) == 1 or (ascending and max(n - 1, 0) >= 1 << (8 * bands[-2]))


@THOROUGH
@given(cases(("slotted",)), st.data())
def test_placement_is_what_the_packer_does(case, data):
    spec, lists, firsts = case
    pieces = np.split(lists.degrees, sorted(data.draw(st.lists(st.integers(0, 40), max_size=4))))
    first, runs = place(iter(pieces), spec)
    _, table, _, _ = pack(spec, [lists], first_vids=firsts)
    np.testing.assert_array_equal(table["first_vid"], first)
    np.testing.assert_array_equal(table["run"], runs)


class Untouched:
    """A target that nothing may be written to."""

    num_stripes = 1

    def __getattr__(self, name: str) -> None:
        raise AssertionError(f"{name} was called")


def graph_with(degrees: np.ndarray, columns: tuple[Column, ...] = ()) -> SimpleNamespace:
    """As much of a graph as choosing physical ids looks at."""
    edges = int(degrees.sum(dtype=np.int64))
    stats = DirectionStats(1, edges, 1, 0, 0, int(degrees.max()), 0, ())
    catalog = SimpleNamespace(
        num_vertices=len(degrees), columns=columns, directions={"out": stats},
        ids=SimpleNamespace(file=None), order_file=None,
    )  # fmt: skip
    return SimpleNamespace(catalog=catalog, degrees=lambda _: degrees)


def test_physical_ids_are_the_narrowest_that_name_every_page():
    page = BuildOptions(page_bytes=1 << 16, layout="slotted")
    full = ((1 << 16) - 64 - 14) // 4
    for n, expected in ((1000, (2, 2)), (1 << 16, (2, 2)), ((1 << 16) + 1, (3, 3))):
        degrees = np.full(n, full, np.uint32)
        spec, firsts = choose_addressing(graph_with(degrees), page)
        assert (spec.p, spec.q) == expected
        assert len(firsts["out"]) == len(place(iter([degrees]), spec)[0])
    spec, _ = choose_addressing(graph_with(degrees), replace(page, physical_ids=(4, 2)))
    assert (spec.p, spec.q) == (4, 2)
    # Far more slots than two bytes can name: they go to more pages.
    empty = graph_with(np.zeros(100_000, np.uint32))
    _, firsts = choose_addressing(empty, replace(page, page_bytes=1 << 21))
    assert firsts["out"].tolist() == [0, 65536]


def test_a_graph_that_cannot_be_addressed_is_refused_before_anything_is_written():
    options = BuildOptions(page_bytes=1 << 16, layout="slotted", physical_ids=(2, 2))
    degrees = np.full((1 << 16) + 1, 16000, np.uint32)
    with pytest.raises(AddressingError, match=r"65,536 pages.*65,537 pages of 65,536 bytes"):
        repack(graph_with(degrees), Untouched(), options, Silent())
    wide = tuple(Column(f"c{i}", np.dtype("<f8")) for i in range(8192))
    options = BuildOptions(page_bytes=1 << 20, layout="slotted")
    with pytest.raises(AddressingError, match="65,536 bytes of columns"):
        repack(graph_with(degrees[:10], wide), Untouched(), options, Silent())
    with pytest.raises(AddressingError, match="does not fit a page"):
        repack(
            graph_with(degrees[:10], wide[:8191]), Untouched(),
            replace(options, page_bytes=1 << 16), Silent(),
        )  # fmt: skip


@pytest.mark.parametrize(("p", "q"), ADDRESSINGS)
def test_limits_of_physical_ids(p, q):
    spec = PageSpec("slotted", 1 << 16, 10, (), (), p, q)
    assert edge_bytes(spec) == p + q
    check_addressable(1 << (8 * p), spec)
    with pytest.raises(AddressingError):
        check_addressable((1 << (8 * p)) + 1, spec)
