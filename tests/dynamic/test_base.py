"""Lists and edges of an immutable store against its pages, decoded one after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merge_making import PAGE, lists_of, many_pieces, some_edges, split, store

from penstock.dynamic.base import BaseLists
from penstock.errors import CorruptionError

SHAPES = {
    "plain": {},
    "undirected": {"directed": False},
    "parallel": {"duplicates": "keep"},
    "weighted": {},
    "weighted, parallel": {"duplicates": "keep", "directed": False},
    "slotted": {"layout": "slotted"},
    "slotted, weighted": {"layout": "slotted"},
    "as in the input": {"neighbour_order": "input", "duplicates": "keep"},
}


@pytest.fixture(scope="module", params=SHAPES)
def graph(request, tmp_path_factory):
    arrays = some_edges(weighted="weighted" in request.param)
    path = tmp_path_factory.mktemp("base") / "g.penstock"
    return store(arrays, path, num_vertices=3000, **SHAPES[request.param])


@pytest.fixture(scope="module", params=["out", "in"])
def side(request, graph):
    base = BaseLists(graph, request.param, threads=2)
    yield base, lists_of(graph, request.param)
    base.close()


def longest(expected):
    """The two vertices with the longest lists, which have pages of their own."""
    return sorted(range(len(expected)), key=lambda v: -len(expected[v]))[:2]


def test_there_are_lists_in_several_pages(side):
    base, expected = side
    assert max(map(len, expected)) > PAGE // 3
    assert base.num_groups < len(base.graph.page_table(base.direction))


def test_degrees(side):
    base, expected = side
    assert base.degrees().tolist() == [len(entries) for entries in expected]
    assert base.num_edges == sum(map(len, expected))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3010), max_size=60), st.booleans())
def test_gather(side, wanted, divided):
    base, expected = side
    hub, other = longest(expected)
    vertices = np.array([hub, *wanted, other, hub], np.uint32)
    if divided:
        with many_pieces():
            found = base.gather(vertices)
    else:
        found = base.gather(vertices)
    assert split(found) == [expected[v] if v < 3000 else [] for v in vertices.tolist()]


def test_gather_everything(side):
    base, expected = side
    with many_pieces():
        assert split(base.gather(np.arange(3000, dtype=np.uint32))) == expected


def test_gather_nothing(side):
    found = side[0].gather(np.empty(0, np.uint32))
    assert found.offsets.tolist() == [0]
    assert len(found.neighbours) == 0


def rows_of(expected, seed, *, ordered):
    """Edges that are there, that are not, and of vertices that do not exist."""
    rng = np.random.default_rng(seed)
    there = [(u, row[0]) for u, entries in enumerate(expected) for row in entries]
    some = [there[k] for k in rng.integers(0, len(there), 400)]
    other = zip(
        rng.integers(0, 3005, 400).tolist(), rng.integers(0, 3005, 400).tolist(), strict=True
    )
    hubs = [(v, w) for v in longest(expected) for w in rng.integers(0, 3000, 150).tolist()]
    pairs = [*some, *other, *hubs, (2999, 0xFFFFFFFE), (5, 5), (9, 9)]
    if ordered:
        pairs.sort()
    return np.array(pairs, np.uint32).T.copy()


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_find_and_count(side, ordered, divided):
    base, expected = side
    src, dst = rows_of(expected, 1, ordered=ordered)
    begin = np.cumsum([0, *map(len, expected)])
    positions, counts = [], []
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        entries = [row[0] for row in expected[u]] if u < 3000 else []
        positions.append(begin[u] + entries.index(v) if v in entries else -1)
        counts.append(entries.count(v))
    if divided:
        with many_pieces():
            found, counted = base.find(src, dst), base.count(src, dst)
    else:
        found, counted = base.find(src, dst), base.count(src, dst)
    assert found.tolist() == positions
    assert counted.tolist() == counts
    assert max(counts) > 0
    assert min(positions) == -1


def test_values(side):
    base, expected = side
    every = [row[1:] for entries in expected for row in entries]
    positions = np.random.default_rng(2).integers(0, len(every), 500)
    found = base.values(positions)
    assert len(found) == len(base.columns)
    if base.columns:
        assert [tuple(row) for row in zip(*(c.tolist() for c in found), strict=True)] == [
            every[k] for k in positions.tolist()
        ]


def test_columns_of_edges(side):
    base, expected = side
    hub = longest(expected)[0]
    src = np.array([hub, hub], np.uint32)
    dst = np.array([expected[hub][3][0], expected[hub][-1][0]], np.uint32)
    first = [next(row for row in expected[hub] if row[0] == v) for v in dst.tolist()]
    found = base.values(base.find(src, dst))
    assert len(found) == len(base.columns)
    for k, values in enumerate(found, 1):
        assert values.tolist() == [row[k] for row in first]


def test_a_graph_in_memory(tmp_path):
    arrays = some_edges(weighted=True)
    here, there = store(arrays, None), store(arrays, tmp_path / "g")
    everyone = np.arange(here.num_vertices, dtype=np.uint32)
    assert split(BaseLists(here, "in").gather(everyone)) == lists_of(there, "in")


def test_two_stripes(tmp_path):
    (tmp_path / "other").mkdir()
    graph = store(some_edges(), tmp_path / "g", stripes=[tmp_path / "other"])
    assert graph.catalog.num_stripes == 2
    base, expected = BaseLists(graph, "out"), lists_of(graph)
    assert split(base.gather(np.arange(graph.num_vertices, dtype=np.uint32))) == expected


@pytest.mark.parametrize("order", ["id", "input"])
def test_parallel_edges_in_several_pages(order, tmp_path):
    src = np.full(6000, 3)
    dst = np.concatenate([np.full(1000, 1), np.full(4500, 2), np.full(500, 4)])
    graph = store((src, dst), tmp_path / "g", duplicates="keep", vertex_order="none",
                  neighbour_order=order, num_vertices=5)  # fmt: skip
    base = BaseLists(graph, "out")
    assert (graph.page_table("out")["run"] > 1).any()
    asked = np.array([0, 1, 2, 3, 4], np.uint32)
    hub = np.full(5, 3, np.uint32)
    assert base.find(hub, asked).tolist() == [-1, 0, 1000, -1, 5500]
    assert base.count(hub, asked).tolist() == [0, 1000, 4500, 0, 500]


@pytest.mark.parametrize("size", [0, 4])
def test_without_edges(size, tmp_path):
    none = np.empty(0, np.int64)
    graph = store((none, none), tmp_path / "g", num_vertices=size)
    base = BaseLists(graph, "out")
    asked = np.arange(size + 2, dtype=np.uint32)
    assert split(base.gather(asked)) == [[]] * len(asked)
    assert base.find(asked, asked).tolist() == [-1] * len(asked)


def page_file(path):
    return path / "stripe.0" / "out.pages"


def test_a_page_is_checked_before_it_is_used(tmp_path):
    path = tmp_path / "g"
    graph = store(some_edges(), path, num_vertices=3000)
    vertex = int(graph.page_table("out")["first_vid"][-1])
    with page_file(path).open("r+b") as file:
        file.seek(-PAGE + 300, 2)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    base = BaseLists(graph, "out")
    assert len(base.gather(np.array([0], np.uint32)).neighbours) > 0
    with pytest.raises(CorruptionError, match="checksum"):
        base.gather(np.array([vertex], np.uint32))
    with pytest.raises(CorruptionError, match="checksum"):
        base.find(np.array([vertex], np.uint32), np.array([3], np.uint32))
    with pytest.raises(CorruptionError, match="checksum"):
        base.read_group(base.num_groups - 1)


def test_a_file_that_was_cut_off(tmp_path):
    path = tmp_path / "g"
    graph = store(some_edges(), path)
    with page_file(path).open("r+b") as file:
        file.truncate(3 * PAGE + 17)
    with pytest.raises(CorruptionError, match="expected"):
        BaseLists(graph, "out")
