"""Two-hop neighbourhoods against plain Python and SciPy, over every kind of list."""

from __future__ import annotations

import re
import tracemalloc

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import (
    COMMON_KINDS,
    SMALL,
    WAY_NAMES,
    WAYS,
    build,
    edges,
    kept,
    small_graph,
    stopping_after,
)

import penstock as ps
from penstock.algorithms import _two_hop, find
from penstock.algorithms.two_hop import verify
from penstock.engine.topology import LISTS
from penstock.errors import BudgetError, FormatError, IdError, OptionError, VerificationError

two_hop = find("two_hop")
N = 5400


def sizes_of(n, src, dst, directed):
    """The sizes, from sets of neighbours that are the bits of large numbers."""
    near = [0] * n
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        near[u] |= 1 << v
        if not directed:
            near[v] |= 1 << u
    sizes = []
    for v, mine in enumerate(near):
        found, rest = mine, mine
        while rest:
            found |= near[(rest & -rest).bit_length() - 1]
            rest &= rest - 1
        sizes.append((found & ~(1 << v)).bit_count())
    return sizes


def paths_of(n, src, dst, directed, keep, sources):
    """How many paths of two edges lead to each vertex, from a matrix of the edges."""
    matrix = sp.coo_matrix((np.ones(len(src), int), (src, dst)), (n, n)).tolil()
    matrix.setdiag(0)
    matrix = matrix.tocsr()
    if not directed:
        matrix = matrix + matrix.T
    if not keep:
        matrix = (matrix > 0).astype(int)
    begin = np.zeros(n, int)
    begin[sources] = 1
    return begin @ matrix @ matrix


def values(found):
    return dict(zip(found.ids.tolist(), found.values.tolist(), strict=True))


def modes(found):
    return [row["mode"] for row in found.iterations]


def room_of(monkeypatch, size):
    """Let runs have no more room for parts of lists and rows."""
    monkeypatch.setattr(_two_hop, "_whole_bytes", lambda *args, **kwargs: size)


def ranges_of(monkeypatch, width):
    """Let ranges have no more targets."""
    monkeypatch.setattr(_two_hop, "range_limits", lambda *args, **kwargs: (width, 1 << 60))


def watch(monkeypatch, look=lambda sizes, middles: None):
    """A list that has the middles of the last range counted."""
    last, original = [], _two_hop.Sizes._count

    def count(self, middles):
        last[:] = [middles]
        look(self, middles)
        original(self, middles)

    monkeypatch.setattr(_two_hop.Sizes, "_count", count)
    return last


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from(["degree", "none"]), st.booleans())
def test_equals_plain_python(shape, directed, load, order, keep):
    n, pairs = shape
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    graph = small_graph(shape, directed=directed, vertex_order=order, **kept(keep=keep))
    found = two_hop(graph, load=load)
    expected = sizes_of(n, src, dst, directed)
    assert found.values.tolist() == expected
    assert (found.stats["total"], found.stats["largest"]) == (sum(expected), max(expected))
    verify(graph, found)
    sources = [0, n // 2]
    rows = two_hop(graph, sources, load=load)
    assert values(rows) == values(ps.k_hop(graph, sources, 2))
    expected = paths_of(n, src, dst, directed, keep, sources)
    assert rows.paths.tolist() == expected[rows.ids].tolist()
    assert rows.paths.sum() == expected.sum(), "a path leads where there is no row"
    assert (rows.values.dtype, rows.paths.dtype) == (np.int32, np.int64)
    verify(graph, rows)


def test_equals_networkx():
    other = nx.gnp_random_graph(60, 0.1, seed=2)
    graph = ps.from_edges(*np.array(other.edges).T, directed=False, num_vertices=60)
    found = two_hop(graph, 5)
    lengths = dict(nx.all_pairs_shortest_path_length(other, cutoff=2))
    assert values(found) == lengths[5]
    for v, count in zip(found.ids.tolist(), found.paths.tolist(), strict=True):
        expected = other.degree(5) if v == 5 else len(list(nx.common_neighbors(other, 5, v)))
        assert count == expected
    assert two_hop(graph).values.tolist() == [len(lengths[v]) - 1 for v in range(60)]


KINDS = {
    **COMMON_KINDS,
    "directed, as given": {"vertex_order": "none", "neighbour_order": "input"},
    "kept": {"directed": False, "duplicates": "keep", "vertex_order": "none"},
    "out-lists": {"directions": "out"},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path, monkeypatch):
    src, dst = edges(5000, 8000)
    graph = build(tmp_path / "g", (np.tile(src, 2), np.tile(dst, 2)), num_vertices=N, **kind)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    expected = sizes_of(N, src, dst, graph.directed)
    before = ["measure"] if "directions" in kind else []
    as_given = kind.get("neighbour_order") == "input"
    for way in WAYS:
        found = two_hop(graph, **way)
        assert found.values.tolist() == expected
        if not way["load"] or as_given:
            assert modes(found) == [*before, "keep", "count"]
        else:
            assert set(modes(found)) == {*before, "count"}
    verify(graph, found)
    room_of(monkeypatch, 60_000)
    ranges_of(monkeypatch, 900)
    for way in WAYS:
        found = two_hop(graph, **way)
        assert modes(found).count("count") >= 5
        assert found.values.tolist() == expected
    sources = [7, 12, 5100, 5390]
    twice = (np.tile(src, 2), np.tile(dst, 2))
    paths = paths_of(N, *twice, graph.directed, "duplicates" in kind, sources)
    near = values(ps.k_hop(graph, sources, 2))
    for way in WAYS:
        rows = two_hop(graph, sources, **way)
        assert values(rows) == near
        assert rows.paths.tolist() == paths[rows.ids].tolist()
    verify(graph, rows)


@pytest.mark.parametrize("row_words", [1 / 1000, 8, 1000], ids=["no rows", "some rows", "all rows"])
@pytest.mark.parametrize("load", [True, False])
def test_rows_and_single_entries(row_words, load, monkeypatch):
    src, dst = np.random.default_rng(6).zipf(1.5, (2, 4000)) % 700
    graph = ps.from_edges(src, dst, directed=False, num_vertices=700)
    expected = sizes_of(700, src, dst, False)
    monkeypatch.setattr(_two_hop, "ROW_WORDS", row_words)
    for width in (33, 256, 1000):
        ranges_of(monkeypatch, width)
        assert two_hop(graph, load=load).values.tolist() == expected


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_narrow_ranges(way, monkeypatch):
    graph = ps.from_edges(*PATH, directed=False)
    for width in (1, 2, 3, 4):
        ranges_of(monkeypatch, width)
        found = two_hop(graph, **way)
        assert modes(found).count("count") == -(-5 // width)
        assert found.values.tolist() == [3, 4, 3, 2, 2]


def test_everything_is_near():
    # More than 16 rows, after which the neighbourhood is full; and each vertex is in its own.
    src, dst = np.nonzero(~np.eye(100, dtype=bool))
    graph = ps.from_edges(src, dst, num_vertices=200)
    assert two_hop(graph).values.tolist() == [99] * 100 + [0] * 100


def test_rows_have_to_share_little_room(monkeypatch):
    src, dst = np.random.default_rng(6).zipf(1.3, (2, 20_000)) % 3000
    graph = ps.from_edges(src, dst, directed=False, num_vertices=3000)
    ranges_of(monkeypatch, 3000)
    seen = watch(monkeypatch)
    whole = two_hop(graph)
    most = len(seen.pop().rows)
    room_of(monkeypatch, most)
    np.testing.assert_array_equal(two_hop(graph).values, whole.values)
    assert 0 < 4 * len(seen.pop().rows) <= most + 1000


def test_a_range_takes_two_passes(tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(5000, 8000), directed=False)
    pages = np.count_nonzero(graph.page_table("out")["num_edges"])
    assert two_hop(graph, load=False, cache_pages=0).stats["pages_read"] == 2 * pages
    ranges_of(monkeypatch, 2000)
    found = two_hop(graph, load=False, cache_pages=0)
    assert found.stats["pages_read"] == 2 * pages * modes(found).count("count") > 2 * pages


def test_only_pages_around_are_read(tmp_path):
    graph = build(tmp_path / "g", edges(), vertex_order="none", num_vertices=6300)
    found = two_hop(graph, 6100)
    assert (found.ids.tolist(), found.paths.tolist()) == ([6100, 6101, 6102], [0, 0, 1])
    assert 0 < found.stats["pages_read"] <= 2 < len(graph.page_table("out")) / 2
    assert not graph.kept.keys(LISTS)


def test_ranges_fit_the_cache_if_lists_are_long():
    n, mean, limits = 10_000_000, _two_hop.PART_ENTRIES, _two_hop.range_limits
    for in_place in (True, False):
        assert limits(n, 0.0, 0, in_place=in_place) == (n, 0)
        assert limits(n, 50.0 * mean, 50, in_place=in_place) == (n, 50)
        assert limits(10, 5.0, 5, in_place=in_place) == (_two_hop.CACHED, 5)
    assert limits(n, 50.0 * mean * 2, 50, in_place=True) == (n // 2, 25)
    assert limits(n, 50.0 * mean * 2, 50, in_place=False) == (n // 2, 50)
    assert limits(n, 50.0 * mean * 9999, 50, in_place=True) == (_two_hop.CACHED, 13)


def test_ids_of_the_user():
    graph = ps.from_edges(["b", "d", "e", "d"], ["d", "e", "b", "a"])
    found = two_hop(graph)
    assert values(found) == {"a": 0, "b": 3, "d": 3, "e": 2}
    verify(graph, found)
    found = two_hop(graph, "b")
    assert values(found) == {"a": 2, "b": 0, "d": 1, "e": 2}
    assert found.paths.tolist() == [1, 0, 0, 1]
    assert found.to_arrow().column_names == ["id", "distance", "paths"]
    verify(graph, found)


@pytest.mark.parametrize("directed", [True, False])
def test_next_to_nothing(directed):
    for n in (0, 1, 2):
        graph = ps.from_edges([], [], directed=directed, num_vertices=n)
        found = two_hop(graph, load=n == 1)
        assert found.values.tolist() == [0] * n
        assert (found.stats["total"], found.stats["largest"]) == (0, 0)
        verify(graph, found)
    loop = ps.from_edges([0], [0], directed=directed, num_vertices=2)
    assert two_hop(loop).values.tolist() == [0, 0]
    for v in (0, 1):
        found = two_hop(loop, v)
        assert (values(found), found.paths.tolist()) == ({v: 0}, [0])


@pytest.mark.parametrize("then", [WAYS[1], WAYS[2]], ids=["in memory", "streamed"])
def test_it_goes_on_where_it_stopped(then, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(5000, 8000), directed=False)
    whole = two_hop(graph)
    ranges_of(monkeypatch, 700)
    saving = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt), stopping_after(3):
        two_hop(graph, **saving)
    ranges_of(monkeypatch, 500)  # they need not be the same
    with pytest.raises(OptionError, match="was made for"):
        two_hop(graph, 7, resume=True, **saving)
    every = modes(two_hop(graph, **then)).count("count")
    rest = two_hop(graph, resume=True, **saving, **then)
    assert 0 < modes(rest).count("count") < every - 3
    np.testing.assert_array_equal(rest.values, whole.values)
    assert rest.stats["total"] == whole.stats["total"]


def test_paths_go_on_where_they_stopped(tmp_path):
    graph = build(tmp_path / "g", edges(5000, 8000), directed=False)
    whole = two_hop(graph, [7, 40])
    saving = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt), stopping_after(1):
        two_hop(graph, [7, 40], **saving)
    rest = two_hop(graph, [7, 40], resume=True, **saving)
    assert len(rest.iterations) == 1
    assert rest.to_arrow().equals(whole.to_arrow())


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """A graph whose lists take 1 MB in memory, in 143 pages."""
    src, dst = np.random.default_rng(4).zipf(1.2, (2, 400_000)) % 4000
    return build(tmp_path_factory.mktemp("dense") / "g", (src, dst), directed=False)


@pytest.mark.parametrize("v", [None, [1, 2, 3]], ids=["sizes", "rows"])
def test_the_smallest_budget(v, dense, monkeypatch):
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    dense.kept.clear()
    whole = two_hop(dense, v)
    memory, refused = "1MB", 0
    while refused < 10:
        try:
            found = two_hop(dense, v, memory=memory, threads=2)
            break
        except BudgetError as refusal:
            enough = re.search(r"requires at least (.*)", str(refusal)).group(1)
            memory, refused = enough.replace(" ", ""), refused + 1
    assert 1 <= refused <= 3
    assert not found.stats["resident"]
    assert found.to_arrow().equals(whole.to_arrow())
    assert v or modes(found).count("count") > 3
    verify(dense, found)


def test_edges_to_one_vertex_that_have_no_room(monkeypatch):
    spokes = np.arange(5000)
    graph = ps.from_edges(np.full(5000, 5000), spokes, directed=False, vertex_order="none")
    room_of(monkeypatch, 1000)
    for load in (True, False):
        found = two_hop(graph, load=load, threads=1)
        assert set(found.values.tolist()) == {5000}


@pytest.mark.parametrize("budget", ["3.4MB", "3.8MB", "6MB", "30MB"])
@pytest.mark.parametrize("load", [True, False])
def test_memory_is_what_was_planned(budget, load, dense, monkeypatch):
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    two_hop(dense, load=load)  # kernels are compiled
    dense.kept.clear()
    held = [0]

    def look(sizes, middles):
        parts = middles.entries.nbytes if sizes.lists is None else 0
        held[0] = max(held[0], parts + middles.rows.nbytes + sizes.sets * 4 * middles.words)
        assert held[0] <= sizes.room

    watch(monkeypatch, look)
    tracemalloc.start()
    try:
        found = two_hop(dense, memory=budget, load=load)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        dense.kept.clear()
    assert 0 < held[0] < peak <= found.stats["planned_memory"]


def test_what_cannot_be(tmp_path):
    graph = ps.from_edges([0], [1])
    with pytest.raises(IdError, match="v: there is no vertex 2"):
        two_hop(graph, [0, 2])
    with pytest.raises(OptionError, match="v: expected a vertex or several"):
        two_hop(graph, [])
    only = build(tmp_path / "i", (np.array([0]), np.array([1])), directions="in")
    for v in (None, 0):
        with pytest.raises(FormatError, match="without its out-lists"):
            two_hop(only, v)


# 0 - 1 - 2 - 3, and 0 - 4.
PATH = ([0, 1, 2, 0], [1, 2, 3, 4])


@pytest.mark.parametrize("changes", [{0: 1}, {3: -1}, {0: 1, 2: -1}], ids=str)
def test_the_verifier_notices_a_wrong_size(changes):
    graph = ps.from_edges(*PATH, directed=False)
    found = two_hop(graph)
    verify(graph, found)
    for place, step in changes.items():
        found.values[place] += step
    for fact, value in (("total", found.values.sum()), ("largest", found.values.max())):
        found.stats[fact] = -1
        with pytest.raises(VerificationError, match="add up to"):
            verify(graph, found)
        found.stats[fact] = value
    with pytest.raises(VerificationError, match=r"two_hop: . has .* within two edges, expected"):
        verify(graph, found)


@pytest.mark.parametrize("column", ["values", "paths"])
@pytest.mark.parametrize("place", range(4))
def test_the_verifier_notices_a_wrong_row(column, place):
    graph = ps.from_edges(*PATH, directed=False)
    found = two_hop(graph, 0)
    verify(graph, found)
    getattr(found, column)[place] += 1
    with pytest.raises(VerificationError, match="two_hop"):
        verify(graph, found)
