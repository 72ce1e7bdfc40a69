"""Windows of earlier neighbours and pairs of them: what is decided, and every list with its own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import PAGE, build, edges, options
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.algorithms import _triangles
from penstock.algorithms._triangle_kernels import OF_EDGES
from penstock.engine import windows as windows_module
from penstock.engine.counts import counts_of
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.pairs import Pairs, nested_loop_pages, outer_ranges, share_room
from penstock.engine.planning import open_engine
from penstock.engine.windows import KeptLists, PageLists
from penstock.errors import BudgetError
from penstock.store.graph import Graph

WAYS = [{"load": True}, {"load": False}, {"load": False, "streams": 1, "cache_pages": 0}]
KINDS: dict[str, dict[str, Any]] = {
    "directed": {},
    "undirected": {"directed": False},
    "kept": {"directed": False, "duplicates": "keep", "vertex_order": "none"},
    "as given": {"vertex_order": "none", "neighbour_order": "input", "duplicates": "keep"},
}


# Decisions


@given(
    st.integers(1, 200).flatmap(
        lambda n: st.tuples(
            st.just(n), st.integers(0, 5), st.sets(st.tuples(st.integers(0, n), st.integers(0, n)))
        )
    ),
    st.data(),
)
def test_outer_ranges_are_the_strips_that_meet_the_inner_window(shape, data):
    n, shift, pairs = shape
    strips = (n >> shift) + 1
    meets = np.zeros((strips, strips), np.uint8)
    for v, u in pairs:
        meets[v >> shift, u >> shift] = 1
    first = data.draw(st.integers(0, n - 1))
    last = data.draw(st.integers(first + 1, n))
    ranges = outer_ranges(meets, shift, first, last, n)
    chosen = [v for begin, end in ranges for v in range(begin, end)]
    inner = {u >> shift for u in range(first, last)}
    assert chosen == [v for v in range(last, n) if any(meets[v >> shift, strip] for strip in inner)]
    assert all(a[1] < b[0] for a, b in pairwise(ranges))


@given(st.integers(0, 10**9), st.integers(0, 10**6))
def test_the_room_is_shared(room, longest):
    rooms = share_room(room, longest)
    assert rooms.inner + rooms.outer == room
    assert rooms.outer >= min(longest, room)


def test_block_nested_loops():
    assert nested_loop_pages(68, 35 << 20, 1 << 20) == 68 + 2 * 68
    assert nested_loop_pages(68, 36 << 20, 1 << 20) == 68 + 2 * 68
    assert nested_loop_pages(70, 36 << 20, 1 << 20) == 70 + 2 * 70
    assert nested_loop_pages(10, 100 << 20, 1 << 20) == 20
    assert nested_loop_pages(10, 0, 1 << 20) == 10 + 10 * 10


# Windows


def earlier(graph: Graph) -> dict[int, list[int]]:
    """The earlier neighbours of each vertex, the plain way."""
    lists: dict[int, set[int]] = {}
    for src, dst, _ in graph.iter_edges():
        for a, b in zip(src.tolist(), dst.tolist(), strict=True):
            if a != b:
                lists.setdefault(max(a, b), set()).add(min(a, b))
    return {v: sorted(us) for v, us in lists.items()}


def spelled(windows: Any) -> tuple[dict[int, list[int]], int]:
    """The lists of windows, which follow each other, and how many windows there are."""
    found, count, last = {}, 0, 0
    for window in windows:
        assert window.first == last
        last, count = window.last, count + 1
        assert window.offsets[0] == 0
        assert window.offsets[-1] == len(window.neighbours)
        for v in range(window.first, window.last):
            ends = window.offsets[v - window.first : v - window.first + 2]
            if ends[0] < ends[1]:
                found[v] = window.neighbours[ends[0] : ends[1]].tolist()
    return found, count


def engine_of(graph: Graph, **way: Any) -> Engine:
    return open_engine(graph, options(**way), Needs(counts_of(graph).both_ways, 1.0))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_windows_have_every_edge_once(kind, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", **kind)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    expected = earlier(graph)
    for way in WAYS:
        for fit in (True, False):
            with engine_of(graph, **way) as engine:
                lists = PageLists(engine, fit=fit)
                lists.measure()
                lists.settle(60_000, 4)
                assert lists.total == sum(map(len, expected.values()))
                found, count = spelled(lists.windows(60_000, 4))
                assert count > 2
                assert found == expected
                places = np.cumsum([0, *(len(expected.get(v, ())) for v in range(7000))])
                assert [lists.place(v) for v in (0, 1, 777, 7000)] == places[
                    [0, 1, 777, 7000]
                ].tolist()
    monkeypatch.setattr(windows_module, "MANY_ENTRIES", 0)  # as if there were more
    with engine_of(graph) as engine:
        lists = PageLists(engine, fit=True)
        lists.measure()
        assert lists.load(0, 7000).offsets.dtype == np.uint64
        assert spelled(lists.windows(10**9, 4)) == (expected, 1)


def test_a_list_that_fits_no_window():
    star = ps.from_edges(np.full(500, 500), np.arange(500), directed=False, vertex_order="none")
    with engine_of(star) as engine:
        lists = PageLists(engine, fit=True)
        lists.measure()
        with pytest.raises(BudgetError, match=r"longest of which takes .* requires at least"):
            list(lists.windows(2000, 4))


@pytest.mark.parametrize("fit", [True, False], ids=["in memory", "on disk"])
def test_lists_that_were_kept(fit, tmp_path):
    graph = build(tmp_path / "g", directed=False)
    with engine_of(graph, load=False) as engine:
        lists = PageLists(engine, fit=True)
        lists.measure()
        kept = KeptLists(engine, lists.total, fit=fit)
        for window in lists.windows(60_000, 4):
            kept.add(window, window.neighbours % 3 == 1)
        kept.finish()
        expected = {v: [u for u in us if u % 3 == 1] for v, us in earlier(graph).items()}
        expected = {v: us for v, us in expected.items() if us}
        assert kept.total == sum(map(len, expected.values()))
        assert spelled(kept.windows(30_000, 4))[0] == expected
        for v, us in expected.items():
            assert all(kept.meets[v >> kept.shift, u >> kept.shift] for u in us)


# Pairs

#: So that lists are looked at once.
ALONE = {"threads": 1, "streams": 1}


def seen_pairs(pairs: Pairs) -> set[tuple[int, int]]:
    """The edges (v, u) for which the lists of both were in memory at once."""
    seen: set[tuple[int, int]] = set()

    def look(claims, first, offsets, neighbours, values, begins, inner) -> None:
        for i in range(len(offsets) - 1):
            for u in neighbours[offsets[i] : offsets[i + 1]].tolist():
                v = int(first) + i
                if inner.first <= u < inner.last and u < v:
                    assert (v, u) not in seen
                    seen.add((v, u))

    pairs.run(0, lambda inner: iter([(look, 0, (inner,))]), lambda inner: None)
    return seen


@pytest.mark.parametrize("room", [10**9, 60_000, 25_000])
@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_every_list_meets_those_of_its_entries_once(way, room, tmp_path):
    graph = build(tmp_path / "g", directed=False)
    with engine_of(graph, **way, **ALONE) as engine:
        lists = PageLists(engine, fit=False)
        lists.measure()
        pairs = Pairs(lists, room, 4)
        assert pairs.whole == (room == 10**9)
        seen = seen_pairs(pairs)
    assert seen == {(v, u) for v, us in earlier(graph).items() for u in us}


def test_pairs_that_share_no_edge_are_left_out(tmp_path: Path):
    # A ring: each vertex has the next ones as neighbours, so that only windows side by side meet.
    v = np.repeat(np.arange(20_000), 3)
    given = (v, (v + np.tile([1, 2, 3], 20_000)) % 20_000, None)
    graph = build(tmp_path / "g", given=given, directed=False, vertex_order="none")
    with engine_of(graph, load=False, cache_pages=0, **ALONE) as engine:
        lists = PageLists(engine, fit=False)
        lists.measure()
        pages = int(np.count_nonzero(graph.page_table("out")["num_edges"]))
        before = engine.metrics.total().pages_read
        seen = seen_pairs(Pairs(lists, 30_000, 4))
        read = engine.metrics.total().pages_read - before
    assert seen == {(v, u) for v, us in earlier(graph).items() for u in us}
    assert len(seen) == 60_000
    assert read < 3 * pages < nested_loop_pages(pages, 30_000, PAGE) / 3


# Values of edges


def count_edges(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, room: int | None, **way: Any
) -> dict[tuple[int, int], int]:
    if room is not None:
        monkeypatch.setattr(_triangles, "_whole_bytes", lambda *args: room)
    wanted = _triangles.Wanted(OF_EDGES, degrees=True)
    needs = _triangles.counting_needs(counts_of(graph), wanted)
    with open_engine(graph, options(**way), needs) as engine:
        counting = _triangles.Counting(engine, wanted)
        pairs = counting.run({"algorithm": "test"})
        found = {}
        for window in pairs.windows():
            vertices = np.repeat(
                np.arange(window.first, window.last), np.diff(window.offsets.astype(np.int64))
            )
            keys = zip(window.neighbours.tolist(), vertices.tolist(), strict=True)
            found |= dict(zip(keys, window.values.tolist(), strict=True))
    ends = np.array(list(found), np.int64).reshape(-1, 2).ravel()
    assert np.array_equal(np.bincount(ends, minlength=graph.num_vertices), counting.degrees)
    return found


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_common_neighbours_of_every_edge(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    src, dst, _ = edges(400, 6000, hubs=1)
    far = rng.integers(0, 3000, (2, 2000))
    given = (np.concatenate([src, far[0]]), np.concatenate([dst, far[1]]), None)
    graph = build(tmp_path / "g", given=given, **kind)
    near: dict[int, set[int]] = {}
    for v, us in earlier(graph).items():
        for u in us:
            near.setdefault(u, set()).add(v)
            near.setdefault(v, set()).add(u)
    expected = {(u, v): len(near[u] & near[v]) for v, us in earlier(graph).items() for u in us}
    for way in WAYS:
        for room in (None, 40_000):
            with monkeypatch.context() as patch:
                assert count_edges(graph, patch, room, **way) == expected


def test_one_window_whose_values_are_on_disk(monkeypatch):
    # Loops count as room for edges, but are in no list: so the lists that seem not to fit do.
    near = np.array([(a, b) for a in range(15) for b in range(a)])
    loops = np.repeat(np.arange(15, 2900), 2).reshape(-1, 2)
    src, dst = np.concatenate([near, loops]).T
    graph = ps.from_edges(src, dst, directed=False, num_vertices=2900)
    room = windows_module.lists_bytes(counts_of(graph), 8) - 2000
    found = count_edges(graph, monkeypatch, room)
    assert len(found) == 15 * 14 // 2
    assert set(found.values()) == {13}


def test_common_neighbours_of_a_graph_without_edges(monkeypatch):
    for n in (0, 1, 5):
        graph = ps.from_edges([], [], directed=False, num_vertices=n)
        assert count_edges(graph, monkeypatch, None) == {}
