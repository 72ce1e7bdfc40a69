"""Trusses against NetworkX and by their verifiers, in memory and in rounds, over every list."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAY_NAMES, WAYS, build, edges, kept, small_graph

import penstock as ps
from penstock.algorithms import _triangles, _truss, _truss_edges, find
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.planning import open_engine
from penstock.engine.windows import Window
from penstock.errors import OptionError

k_truss, truss_number = find("k_truss"), find("truss_number")
SHARED = Path(__file__).parents[3] / "shared" / "data" / "graphs"


def pairs_of(table) -> list[tuple[object, object]]:
    return list(zip(table.src.tolist(), table.dst.tolist(), strict=True))


def plain(pairs) -> nx.Graph:
    """Without loops and duplicates."""
    graph = nx.Graph(pairs)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def expected_trussness(graph: nx.Graph) -> dict[tuple[int, int], int]:
    found, k = {}, 2
    while graph.number_of_edges():
        found |= {(min(edge), max(edge)): k for edge in graph.edges}
        k += 1
        graph = nx.k_truss(graph, k)
    return found


def trussness(result) -> dict[tuple[int, int], int]:
    return dict(zip(pairs_of(result.edges), result.edges.trussness.tolist(), strict=True))


def cliques(*sizes: int) -> list[tuple[int, int]]:
    """Cliques in a row, each of which shares a vertex with the next."""
    pairs, first = [], 0
    for size in sizes:
        pairs += [(first + a, first + b) for a in range(size) for b in range(a)]
        first += size - 1
    return pairs


@contextmanager
def always_in(threads: int):
    """An engine; nothing is too small for its threads, or to be tidied."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_truss, "MANY", 2)
        patch.setattr(_truss, "FEW", 2)
        options = RunOptions.of(threads=threads, memory="1GB")
        with open_engine(ps.from_edges([0], [1]), options, Needs(("out",), 1.0)) as engine:
            yield engine


def small_rooms(monkeypatch, room: int) -> None:
    """Let runs have no more room for edges."""
    monkeypatch.setattr(_triangles, "_whole_bytes", lambda *args: room)
    monkeypatch.setattr(_truss_edges, "_more_room", lambda counts: 0)


# Against NetworkX


@settings(max_examples=20)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from(["degree", "none"]), st.booleans())
def test_equals_networkx(shape, directed, load, order, keep):
    n, pairs = shape
    graph = small_graph(shape, directed=directed, vertex_order=order, **kept(keep=keep))
    other = plain(pairs)
    found, expected = truss_number(graph, load=load), expected_trussness(other)
    assert trussness(found) == expected
    largest = [max((t for edge, t in expected.items() if v in edge), default=0) for v in range(n)]
    assert found.values.tolist() == largest
    truss_number.verify(graph, found)
    for k in (None, -1, 2, 3, 4):
        some = k_truss(graph, k, load=load)
        which = max(expected.values(), default=0) if k is None else k
        truss = nx.k_truss(other, which)
        assert some.stats["k"] == which
        assert pairs_of(some.edges) == sorted(tuple(sorted(edge)) for edge in truss.edges)
        assert some.ids.tolist() == sorted(truss)
        assert some.values.tolist() == [truss.degree(v) for v in sorted(truss)]
        k_truss.verify(graph, some)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "other",
    [
        nx.karate_club_graph(),
        nx.Graph(cliques(3, 9, 4, 9, 2, 12)),
        nx.gnm_random_graph(80, 900, seed=2),
        nx.powerlaw_cluster_graph(400, 6, 0.7, seed=3),
    ],
    ids=["karate", "cliques", "random", "clustered"],
)
def test_peeling_in_small_steps(other, threads, monkeypatch):
    monkeypatch.setattr(_truss, "MANY", 2)
    monkeypatch.setattr(_truss, "FEW", 2)
    src, dst = np.array(other.edges).T
    graph = ps.from_edges(src, dst, directed=False)
    found = truss_number(graph, threads=threads)
    expected = expected_trussness(nx.Graph(zip(src.tolist(), dst.tolist(), strict=True)))
    assert trussness(found) == expected
    assert found.stats["largest"] == max(expected.values()) > 3
    truss_number.verify(graph, found)


@settings(max_examples=15)
@given(st.integers(3, 40), st.floats(0.1, 0.9), st.integers(0, 99), st.sampled_from([1, 3]))
def test_a_window_is_peeled(n, density, seed, threads):
    near = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    near |= near.T
    owners, neighbours = np.nonzero(np.tril(near))
    offsets = np.searchsorted(owners, np.arange(n + 1))
    triangles = (near.astype(int) @ near)[owners, neighbours]
    expected = expected_trussness(nx.Graph(np.argwhere(np.triu(near)).tolist()))
    with always_in(threads) as engine:

        def run(*args, **more):
            window = Window(
                0, n, offsets.astype(np.uint32), neighbours.astype(np.uint32),
                triangles.astype(np.uint32),
            )  # fmt: skip
            return _truss.peel(engine, window, *args, **more).tolist()

        every = [expected[pair] for pair in zip(neighbours.tolist(), owners.tolist(), strict=True)]
        assert run() == every
        assert run(None, known=5) == [max(each, 5) for each in every]
        for k in (1, 3, 4, max(every, default=2), 50):
            inside = max(k, 2)
            found = run(k)
            assert [number == inside for number in found] == [each >= inside for each in every]
            assert max(found, default=0) <= inside


# Every way


KINDS = {
    **COMMON_KINDS,
    "both ways as given": {"vertex_order": "none", "neighbour_order": "input"},
    "kept": {"directed": False, "duplicates": "keep", "vertex_order": "none"},
}


@pytest.fixture(scope="module")
def hard() -> tuple[np.ndarray, np.ndarray, dict[tuple[int, int], int]]:
    """Lists longer than a page, and a dense part; and the trussness of all edges."""
    src, dst = edges()
    dense = np.array(nx.gnm_random_graph(60, 700, seed=4).edges).T * 97
    src, dst = np.concatenate((src, dense[0])), np.concatenate((dst, dense[1]))
    pairs = zip(src.tolist(), dst.tolist(), strict=True)
    return src, dst, expected_trussness(plain(pairs))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, hard, tmp_path, monkeypatch):
    src, dst, expected = hard
    graph = build(tmp_path / "g", (np.tile(src, 2), np.tile(dst, 2)), num_vertices=7000, **kind)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    for way in WAYS:
        found = truss_number(graph, **way)
        assert found.stats["rounds"] == 0
        assert trussness(found) == expected
    truss_number.verify(graph, found)
    largest = max(expected.values())
    small_rooms(monkeypatch, 450_000)
    monkeypatch.setattr(_truss_edges, "PART", 1000)
    for way in WAYS:
        again = truss_number(graph, **way)
        assert again.stats["rounds"] > 1
        assert trussness(again) == expected
        np.testing.assert_array_equal(again.values, found.values)
    for k in (4, largest, None):
        inside = sorted(pair for pair, t in expected.items() if t >= (k or largest))
        some = k_truss(graph, k, load=False)
        assert some.stats["rounds"] > 0
        assert pairs_of(some.edges) == inside
        k_truss.verify(graph, some)


def test_a_truss_that_never_fits(tmp_path, monkeypatch):
    pairs = cliques(*[24] * 12)
    graph = ps.from_edges(*np.array(pairs).T, directed=False)
    small_rooms(monkeypatch, 20_000)
    found = k_truss(graph, 20)
    assert found.stats["edges"] == len(pairs) == len(found.edges)
    k_truss.verify(graph, found)
    assert found.stats["rounds"] == 0
    assert [row["mode"] for row in found.iterations] == ["round"]
    every = truss_number(graph)
    assert every.stats["rounds"] == 1
    assert every.edges.trussness.tolist() == [24] * len(pairs)


@pytest.mark.parametrize("room", [450_000, 1 << 30])
@pytest.mark.parametrize("guess", [2, 7, 8, 40])
def test_the_largest_truss_is_guessed_first(guess, room, hard, monkeypatch):
    src, dst, expected = hard
    graph = ps.from_edges(src, dst, directed=False)
    largest = max(expected.values())
    assert largest == 7
    monkeypatch.setattr(_truss_edges, "SMALL", 10)
    small_rooms(monkeypatch, room)
    monkeypatch.setattr(_truss_edges._Left, "few", lambda left: guess)
    found = k_truss(graph)
    assert found.stats["k"] == largest
    assert pairs_of(found.edges) == sorted(pair for pair, t in expected.items() if t == largest)


def test_a_small_budget(tmp_path):
    graph = ps.generate(
        "rmat", tmp_path / "g", scale=15, edge_factor=20, directed=False, page_size="64KiB"
    )
    whole = truss_number(graph)
    assert whole.stats["resident"]
    assert whole.stats["rounds"] == 0
    small = truss_number(graph, memory="17MB")
    assert not small.stats["resident"]
    assert small.stats["planned_memory"] <= 17_000_000
    assert 0 < small.stats["rounds"] < whole.stats["largest"]
    np.testing.assert_array_equal(small.values, whole.values)
    np.testing.assert_array_equal(small.edges.trussness, whole.edges.trussness)
    top = k_truss(graph, memory="17MB")
    assert top.stats["k"] == whole.stats["largest"]
    assert top.stats["edges"] == np.count_nonzero(whole.edges.trussness == top.stats["k"])
    assert top.stats["rounds"] < small.stats["rounds"]


# Odd graphs


def test_ids_of_the_user():
    graph = ps.from_edges(["b", "d", "e", "d"], ["d", "e", "b", "a"])
    found = truss_number(graph)
    assert found.ids.tolist() == ["a", "b", "d", "e"]
    assert found.values.tolist() == [2, 3, 3, 3]
    assert trussness(found) == {("a", "d"): 2, ("b", "d"): 3, ("b", "e"): 3, ("d", "e"): 3}
    truss_number.verify(graph, found)
    some = k_truss(graph)
    assert some.ids.tolist() == ["b", "d", "e"]
    k_truss.verify(graph, some)


@pytest.mark.parametrize("directed", [True, False])
def test_next_to_nothing(directed):
    loop = ps.from_edges([0], [0], directed=directed, num_vertices=2)
    nothing = [ps.from_edges([], [], directed=directed, num_vertices=n) for n in (0, 1, 2)]
    for graph in (loop, *nothing):
        found = truss_number(graph)
        assert found.values.tolist() == [0] * graph.num_vertices
        assert len(found.edges) == found.stats["largest"] == 0
        truss_number.verify(graph, found)
        for k in (None, 2, 3):
            some = k_truss(graph, k)
            assert len(some) == len(some.edges) == some.stats["edges"] == 0
            k_truss.verify(graph, some)


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_duplicates_reverses_and_loops_do_no_harm(way, directed):
    src, dst = np.tile([0, 1, 2, 2, 1, 3], 50), np.tile([1, 2, 0, 2, 0, 0], 50)
    graph = ps.from_edges(src, dst, duplicates="keep", directed=directed, num_vertices=5)
    found = truss_number(graph, **way)
    assert found.values.tolist() == [3, 3, 3, 2, 0]
    assert trussness(found) == {(0, 1): 3, (0, 2): 3, (0, 3): 2, (1, 2): 3}


@pytest.mark.parametrize("k", [2.5, "3", True])
def test_a_k_that_is_no_number(k):
    graph = ps.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(OptionError, match=f"k: expected a whole number or None, got {k!r}"):
        k_truss(graph, k)


@pytest.mark.parametrize("k", [5, 2**31 + 3, 2**32 + 3, 10**20])
@pytest.mark.parametrize("load", [True, False], ids=["in memory", "streamed"])
def test_a_k_that_is_too_large(k, load):
    graph = ps.from_edges(*np.array(cliques(4)).T, directed=False)
    found = ps.k_truss(graph, k, load=load)
    assert len(found.ids) == len(found.edges.src) == 0


def test_a_list_that_takes_most_of_the_room(tmp_path, monkeypatch):
    # The lists are divided in halves when edges are dropped, and one of them has nearly all.
    spokes = np.arange(3000)
    src = np.concatenate([np.full(3000, 3000), [0, 1]])
    graph = build(
        tmp_path / "g", (src, np.append(spokes, [1, 2])), directed=False, vertex_order="none"
    )
    small_rooms(monkeypatch, 110_000)
    found = ps.k_truss(graph, 3, load=False)
    assert found.stats["rounds"] > 0
    assert found.ids.tolist() == [0, 1, 2, 3000]


# Graphs of others


@pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/data beside the project")
@pytest.mark.parametrize(
    ("name", "largest"), [("facebook_combined.txt", 97), ("email-Enron.txt", 22)]
)
def test_real_graphs(name, largest):
    src, dst = np.loadtxt(SHARED / name, np.int64, skiprows=1).T
    graph = ps.from_edges(src, dst, directed=False)
    found = truss_number(graph, threads=3)
    truss_number.verify(graph, found)
    some = k_truss(graph)
    assert some.stats["k"] == found.stats["largest"] == largest
    inside = found.edges.trussness == largest
    assert pairs_of(some.edges) == [
        pair for pair, one in zip(pairs_of(found.edges), inside, strict=True) if one
    ]
