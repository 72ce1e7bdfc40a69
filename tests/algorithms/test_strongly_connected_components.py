"""Strong components against NetworkX and SciPy, by their own verifier, and over every kind of
list.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from traversal_making import SMALL, WAY_NAMES, WAYS, build, edges, small_graph, stopping_after

import penstock as ps
from penstock.algorithms import strongly_connected_components as module
from penstock.algorithms._scc_kernels import components
from penstock.algorithms.strongly_connected_components import verify
from penstock.errors import VerificationError

KINDS = {
    "directed": {},
    "out-lists only": {"directions": "out"},
    "in-lists only": {"directions": "in"},
    "as given": {"vertex_order": "none", "neighbour_order": "input", "duplicates": "keep"},
    "undirected": {"directed": False},
}


def tangled(seed: int = 11) -> tuple[np.ndarray, np.ndarray]:
    """The hard graph, with many components besides the largest: cycles of all lengths that lead to
    each other and to and from the core, and a deep one.
    """
    rng = np.random.default_rng(seed)
    src, dst = edges()
    parts = [(src, dst)]
    begin = 7000
    for length in (*rng.integers(1, 9, 200), 400):
        ring = np.arange(begin, begin + length)
        parts.append((ring, np.roll(ring, 1)))
        begin += length
    a, b = np.sort(rng.integers(7000, begin, (2, 600)), axis=0)
    parts += [(a, b), (np.arange(7000, 7100), np.full(100, 7)), (np.full(9, 12), a[-9:])]
    src, dst = (np.concatenate(each) for each in zip(*parts, strict=True))
    return src, dst


def expected(graph: ps.Graph) -> np.ndarray:
    src, dst = graph.to_edges()[:2]
    n = graph.num_vertices
    matrix = coo_array((np.ones(len(src), bool), (src, dst)), (n, n)).tocsr()
    count, labels = connected_components(matrix, graph.directed, "strong")
    first = np.full(count, n)
    np.minimum.at(first, labels, np.arange(n))
    return first[labels]


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans())
def test_equals_networkx(shape, directed, load):
    n, pairs = shape
    graph = small_graph(shape, directed=directed)
    other = nx.DiGraph()
    other.add_nodes_from(range(n))
    other.add_edges_from(pairs)
    if not directed:
        other.add_edges_from((v, u) for u, v in pairs)
    smallest = {v: min(each) for each in nx.strongly_connected_components(other) for v in each}
    found = ps.strongly_connected_components(graph, load=load)
    assert found.values.tolist() == [smallest[v] for v in range(n)]
    verify(graph, found)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path):
    graph = build(tmp_path / "g", tangled(), num_vertices=10_000, **kind)
    answer = expected(graph)
    if graph.directed:
        # The core, the deep ring, many small ones, and many alone.
        _, sizes = np.unique(answer, return_counts=True)
        assert np.sort(sizes)[-2] >= 400
        assert np.count_nonzero((sizes > 1) & (sizes < 9)) > 100
        assert np.count_nonzero(sizes == 1) > 2000
    for way in WAYS:
        found = ps.strongly_connected_components(graph, **way)
        np.testing.assert_array_equal(found.values, answer)
    verify(graph, found)


@pytest.mark.parametrize("kind", list(KINDS.values())[:4], ids=list(KINDS)[:4])
def test_where_there_is_no_room_for_the_rest(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_BYTES", 0)
    monkeypatch.setattr(module, "AMPLE_BYTES", 8)
    monkeypatch.setattr(module, "SCANT_BYTES", 8)
    graph = build(tmp_path / "g", tangled(), num_vertices=10_000, **kind)
    for way in WAYS[1:]:
        found = ps.strongly_connected_components(graph, **way)
        np.testing.assert_array_equal(found.values, expected(graph))
        modes = [row["mode"] for row in found.iterations]
        # Depth-first search over the lists where they are; colours where they are not.
        assert modes[-1] == "rest"
        assert ("colours" in modes) == (not way["load"])


@pytest.mark.parametrize("load", [True, False])
def test_long_rings_and_paths_take_no_more_passes(load):
    n = 20_000
    order = np.random.default_rng(2).permutation(n)
    for path in (np.arange(n), np.arange(n)[::-1], order):
        ring = ps.from_edges(path, np.roll(path, 1), vertex_order="none")
        found = ps.strongly_connected_components(ring, load=load)
        assert not found.values.any()
        assert found.stats["edges_traversed"] < 20 * n
        line = ps.from_edges(path[1:], path[:-1], vertex_order="none")
        found = ps.strongly_connected_components(line, load=load)
        np.testing.assert_array_equal(found.values, np.arange(n))
        assert found.stats["edges_traversed"] < 20 * n


@pytest.mark.parametrize("directions", ["out", "in"])
def test_the_largest_vertex_may_be_outside(directions, tmp_path, monkeypatch):
    # There is no room for the rest unless most of it is found to be the core.
    monkeypatch.setattr(module, "LEAST_BYTES", 0)
    src, dst = np.random.default_rng(5).integers(0, 2000, (2, 40_000))
    everyone, star = np.arange(2000), np.full(2000, 2000)
    more = (star, everyone) if directions == "out" else (everyone, star)
    graph = build(
        tmp_path / "g", (np.append(src, more[0]), np.append(dst, more[1])), directions=directions
    )
    found = ps.strongly_connected_components(graph, **WAYS[2])
    assert found.values.tolist() == [0] * 2000 + [2000]
    assert [row["mode"] for row in found.iterations] == ["entered", "forward", "backward", "rest"]


def test_a_stream_reads_one_direction_a_few_times(tmp_path):
    src, dst = np.random.default_rng(3).integers(0, 3000, (2, 60_000))
    graph = build(tmp_path / "g", (src, dst))
    pages = len(graph.page_table("out"))
    # One thread: with more, what a page finds may come too late for the next one.
    found = ps.strongly_connected_components(graph, load=False, cache_pages=0, threads=1, streams=1)
    assert found.stats["pages_read"] <= 5 * pages


def test_a_budget_that_the_topology_does_not_fit(tmp_path):
    rng = np.random.default_rng(6)
    m, n = 4_000_000, 30_000
    src, dst = rng.integers(0, n, (2, m))
    # A hundred that nothing leads to, and a ring that leads to the core.
    dst[dst >= n - 100] = 0
    src[:50], dst[:50] = np.arange(n, n + 50), np.roll(np.arange(n, n + 50), 1)
    src[50] = n
    graph = ps.build((src, dst), tmp_path / "g", page_size=65536, duplicates="keep")
    small = ps.strongly_connected_components(graph, memory="17MB")
    whole = ps.strongly_connected_components(graph)
    assert (small.stats["resident"], whole.stats["resident"]) == (False, True)
    np.testing.assert_array_equal(small.values, whole.values)
    assert sorted(np.unique(whole.values, return_counts=True)[1])[-2:] == [50, n - 100]


@pytest.mark.parametrize("load", [True, False])
def test_a_budget_that_leaves_little_room_for_the_rest(load, tmp_path, monkeypatch):
    rooms = []
    original = module.label_strong_components
    monkeypatch.setattr(
        module, "label_strong_components",
        lambda engine, room: rooms.append(room) or original(engine, room),
    )  # fmt: skip
    n = 300_000
    src, dst = np.random.default_rng(9).integers(0, n, (2, 2 * n))
    graph = ps.build((src, dst), tmp_path / "g", page_size=65536, num_vertices=n)
    found = ps.strongly_connected_components(graph, memory="17MB", load=load)
    (room,) = rooms
    assert module.SCANT_BYTES * n <= room - module.LEAST_BYTES < module.AMPLE_BYTES * n
    np.testing.assert_array_equal(found.values, expected(graph))


def test_labels_are_ids_of_the_user():
    graph = ps.from_edges([30, 10, 20, 70, 70], [20, 30, 10, 60, 70])
    found = ps.strongly_connected_components(graph)
    assert found.ids.tolist() == [10, 20, 30, 60, 70]
    assert found.values.tolist() == [10, 10, 10, 60, 70]
    named = ps.from_edges(["b", "d", "c"], ["c", "a", "b"])
    found = ps.strongly_connected_components(named)
    assert found.values.tolist() == ["a", "b", "b", "d"]
    verify(named, found)


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_multi_edges_and_loops_do_no_harm(way):
    src, dst = np.tile([0, 1, 1, 2, 2, 4], 50), np.tile([1, 1, 0, 3, 2, 2], 50)
    graph = ps.from_edges(src, dst, duplicates="keep", num_vertices=6)
    found = ps.strongly_connected_components(graph, **way)
    assert found.values.tolist() == [0, 0, 2, 3, 4, 5]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("then", [WAYS[1], WAYS[2]], ids=["in memory", "streamed"])
def test_it_goes_on_where_it_stopped(step, then, tmp_path, monkeypatch):
    # Without room there are more steps to stop at.
    monkeypatch.setattr(module, "LEAST_BYTES", 0)
    monkeypatch.setattr(module, "AMPLE_BYTES", 8)
    monkeypatch.setattr(module, "SCANT_BYTES", 8)
    graph = build(tmp_path / "g", tangled())
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.strongly_connected_components(
            graph, checkpoint=tmp_path / "c", checkpoint_every=1, **WAYS[3]
        )
    rest = ps.strongly_connected_components(graph, checkpoint=tmp_path / "c", resume=True, **then)
    whole = ps.strongly_connected_components(graph)
    np.testing.assert_array_equal(rest.values, whole.values)
    first = rest.iterations[0]["mode"]
    modes = ["forward", "backward", "rest", "all forward", "all backward", "rest", "colours"]
    assert first == [*modes, "rest", "colours"][step]


WRONG = [
    (2, 2, "does not reach"),
    (3, 0, "not reached from"),
    (1, 1, "not reached"),
    (0, 1, "not the smallest"),
    (5, 3, "does not reach|not reached"),
    (4, 9, "not the smallest"),
    (3, -1, "not the smallest"),
]


@pytest.mark.parametrize(("place", "value", "message"), WRONG, ids=str)
def test_the_verifier_notices(place, value, message):
    # 0 -> 1 -> 2 -> 0, 2 -> 3 -> 4 -> 3 and 4 -> 5.
    graph = ps.from_edges([0, 1, 2, 2, 3, 4, 4], [1, 2, 0, 3, 4, 3, 5])
    found = ps.strongly_connected_components(graph)
    verify(graph, found)
    assert found.values[place] != value
    found.values[place] = value
    with pytest.raises(
        VerificationError, match=f"^strongly_connected_components: .*({message}|circle)"
    ):
        verify(graph, found)


def test_the_verifier_notices_components_that_were_cut_or_joined(monkeypatch):
    graph = ps.from_edges([0, 1, 2, 3, 1], [1, 0, 3, 2, 2])
    for few in (0, 100):
        monkeypatch.setattr("penstock.algorithms._strong_check.FEW_EDGES", few)
        found = ps.strongly_connected_components(graph)
        verify(graph, found)
        found.values[:] = [0, 1, 2, 2]
        with pytest.raises(VerificationError, match="circle of 3 components at most"):
            verify(graph, found)
        found.values[:] = 0
        with pytest.raises(VerificationError, match="does not reach 0 within"):
            verify(graph, found)


@settings(max_examples=40)
@given(SMALL)
def test_depth_first_search(shape):
    n, pairs = shape
    src, dst = np.array(sorted(pairs), int).reshape(-1, 2).T
    offsets = np.searchsorted(src, np.arange(n + 1)).astype(np.uint32)
    numbers = np.zeros(n, np.uint32)
    components(offsets, dst.astype(np.uint32), numbers)
    other = nx.DiGraph()
    other.add_nodes_from(range(n))
    other.add_edges_from(pairs)
    found = {frozenset(np.flatnonzero(numbers == each).tolist()) for each in numbers}
    assert found == set(map(frozenset, nx.strongly_connected_components(other)))
