"""Streamed and resident lists deliver every edge exactly once, in pages' order."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stream_making import Opened, all_edges, build, edges_of, some_edges, two_folders

from penstock.errors import OptionError
from penstock.store.page import LARGE
from penstock.stream import lists as lists_module
from penstock.stream import resident as resident_module
from penstock.stream.policy import POLICIES

KINDS = ["banded", "slotted", "striped", "memory", "undirected", "out only"]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("lists")
    far = two_folders(root)
    arrays = some_edges()
    # Vertices of no edges fill pages of their own.
    common = {"num_vertices": 14_000}
    return {
        "banded": build(root / "banded", arrays, **common),
        "slotted": build(root / "slotted", arrays, layout="slotted", **common),
        "striped": build(root / "striped", arrays, stripes=far, vertex_order="none", **common),
        "memory": build(None, arrays, **common),
        "undirected": build(root / "undirected", arrays, directed=False, **common),
        "out only": build(root / "out", arrays[:2], directions="out", duplicates="keep", **common),
    }


def columns_of(graph: Any) -> tuple[str, ...]:
    return tuple(column.name for column in graph.catalog.columns)


def flat(results: list[list[Any]]) -> list[Any]:
    return [edge for part in results for edge in part]


def test_these_graphs_have_runs_and_empty_pages(graphs: dict[str, Any]) -> None:
    for kind, graph in graphs.items():
        table = graph.page_table("out")
        assert table["run"].max() >= 1, kind
        assert (table["num_edges"] == 0).any(), kind
        assert (table["kind"] == LARGE).sum() >= 2, kind
        assert len(table) > 10, kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ordered", [False, True])
def test_scan_delivers_each_edge_once_in_order(
    graphs: dict[str, Any], kind: str, ordered: Any
) -> None:
    graph = graphs[kind]
    columns = columns_of(graph)
    for direction in graph.directions:
        expected = all_edges(graph, direction, columns)
        with Opened(graph, direction, columns=columns) as opened:
            for _ in range(2):  # the second time some pages are cached
                assert flat(opened.lists.scan(edges_of, ordered=ordered)) == expected
            resident = opened.resident()
            assert flat(resident.scan(edges_of, ordered=ordered)) == expected
            # Whatever the policy: what is cached is visited first.
            assert ordered or opened.metrics.total().cache_hits > 0


@pytest.mark.parametrize("kind", ["banded", "memory"])
def test_some_pages_only(graphs: dict[str, Any], kind: str) -> None:
    graph = graphs[kind]
    table = graph.page_table("out")
    first_edges = [*table["first_edge"].tolist(), int(table["num_edges"].sum())]
    expected = all_edges(graph)
    with Opened(graph) as opened:
        resident = opened.resident()
        for a, b in [(0, 1), (0, len(table)), (2, 7), (5, 5), (len(table) - 3, len(table))]:
            wanted = expected[first_edges[a] : first_edges[b]]
            for ordered in (False, True):
                for lists in (opened.lists, resident):
                    found = lists.scan(edges_of, ordered=ordered, pages=range(a, b))
                    assert flat(found) == wanted


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(KINDS),
    st.sets(st.integers(0, 13_999), max_size=40) | st.just(set(range(14_000))),
    st.sampled_from(["lru", "keep"]),
)
def test_visit_delivers_the_lists_of_the_vertices_once(
    graphs: dict[str, Any], kind: str, chosen: set[int], policy: str
) -> None:
    graph = graphs[kind]
    vertices = np.array(sorted(chosen), np.uint32)
    expected = [edge for edge in all_edges(graph) if edge[0] in chosen]
    with Opened(graph, policy=policy) as opened:
        assert flat(opened.lists.visit(vertices, edges_of)) == expected
        resident = opened.resident()
        assert sorted(flat(resident.visit(vertices, edges_of))) == sorted(expected)
        backwards = flat(resident.visit(vertices[::-1].copy(), edges_of))
        assert sorted(backwards) == sorted(expected)


def test_visit_reads_only_pages_with_lists_of_the_vertices(graphs: dict[str, Any]) -> None:
    graph = graphs["banded"]
    table = graph.page_table("out")
    page = int(np.flatnonzero((table["kind"] != LARGE) & (table["num_edges"] > 0))[2])
    inside = np.arange(3, dtype=np.uint32) + np.uint32(table["first_vid"][page])
    with Opened(graph, cache=0) as opened:
        opened.lists.visit(inside, edges_of)
        assert opened.metrics.total().pages_read == 1
        alone = np.array([graph.num_vertices - 1], np.uint32)
        assert opened.lists.visit(alone, edges_of) == []
        assert opened.lists.visit(alone[:0], edges_of) == []
        assert opened.metrics.total().pages_read == 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("capacity", [0, 1, 3, 100])
def test_cached_pages_are_not_read_again(
    graphs: dict[str, Any], policy: str, capacity: int
) -> None:
    graph = graphs["striped"]
    pages = int((graph.page_table("out")["num_edges"] > 0).sum())
    expected = all_edges(graph)
    with Opened(graph, cache=capacity, policy=policy, streams=4) as opened:
        for _ in range(3):
            assert flat(opened.lists.scan(edges_of)) == expected
            assert len(opened.cache) <= capacity
        total = opened.metrics.total()
        assert total.pages_read + total.cache_hits == 3 * pages
        assert total.bytes_read == total.pages_read * graph.catalog.page_bytes
        if capacity >= pages:
            assert total.pages_read == pages
        if capacity == 0:
            assert total.cache_hits == 0


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=120),
    st.booleans(), st.integers(1, 40), st.integers(1, 40),
)  # fmt: skip
def test_any_small_multigraph(
    pairs: list[tuple[int, int]], directed: Any, piece_edges: int, piece_vertices: int
) -> None:
    src, dst = (np.array([pair[k] for pair in pairs], np.int64) for k in (0, 1))
    weights = np.arange(len(src), dtype=np.float32)
    graph = build(None, (src, dst, weights), directed=directed, duplicates="keep", num_vertices=70)
    names = columns_of(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resident_module, "PIECE_EDGES", piece_edges)
        patch.setattr(lists_module, "PIECE_VERTICES", piece_vertices)
        for direction in graph.directions:
            expected = all_edges(graph, direction, names)
            with Opened(graph, direction, columns=names) as opened:
                resident = opened.resident()
                for lists in (opened.lists, resident):
                    assert flat(lists.scan(edges_of)) == expected
                vertices = np.unique(src.astype(np.uint32) % 70)
                chosen = set(vertices.tolist())
                some = sorted(edge for edge in expected if edge[0] in chosen)
                for lists in (opened.lists, resident):
                    assert sorted(flat(lists.visit(vertices, edges_of))) == some


def test_pieces_cover_all_vertices_and_are_the_same_for_any_number_of_threads(
    graphs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_module, "PIECE_EDGES", 700)
    monkeypatch.setattr(lists_module, "PIECE_VERTICES", 900)
    graph = graphs["undirected"]

    def spans(lists: Any) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = lists.scan(lambda stream, p: (p.begin, p.end))
        return found

    seen = set()
    for streams in (1, 2, 5):
        with Opened(graph, streams=streams) as opened:
            for lists in (opened.lists, opened.resident()):
                covered = sorted({v for a, b in spans(lists) for v in range(a, b)})
                assert covered == list(range(graph.num_vertices))
                assert all(b - a <= 900 for a, b in spans(lists))
            seen.add(str(spans(opened.resident())))
            seen.add(str(spans(opened.lists)))
    assert len(seen) == 2


def test_parts_by_page_do_not_depend_on_where_the_lists_are(
    graphs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists_module, "PIECE_VERTICES", 900)
    graph = graphs["banded"]
    firsts = graph.page_table("out")["first_vid"].astype(np.int64)

    def parts(lists: Any) -> list[tuple[int, int]]:
        def work(stream: int, piece: Any) -> list[tuple[int, int]]:
            return [(p.begin, p.end) for p in lists_module.by_page(piece, firsts)]

        return flat(lists.scan(work))

    with Opened(graph) as opened:
        assert parts(opened.lists) == parts(opened.resident())


@pytest.mark.parametrize("ordered", [False, True])
def test_an_error_in_the_work_ends_the_scan(graphs: dict[str, Any], ordered: Any) -> None:
    before = set(threading.enumerate())
    with Opened(graphs["banded"], streams=4) as opened:
        visited = []

        def work(stream: int, piece: Any) -> None:
            visited.append(piece.page)
            if piece.page == 5:
                raise KeyError("five")

        for _ in range(2):
            with pytest.raises(KeyError, match="five"):
                opened.lists.scan(work, ordered=ordered)
        if ordered:
            assert visited == [*range(6), *range(6)]
        # Every page that was in use has been released: a scan goes through afterwards.
        assert flat(opened.lists.scan(edges_of)) == all_edges(graphs["banded"])
    assert set(threading.enumerate()) == before


def test_a_column_that_is_not_there(graphs: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="no column 'price'"):
        Opened(graphs["banded"], columns=("price",))


@pytest.mark.parametrize("given", [([], []), ([0], [0]), ([3], [3])])
def test_almost_nothing(given: Any) -> None:
    for n in (0, 1, 5) if not given[0] else (None,):
        graph = build(None, tuple(np.array(each, np.int64) for each in given), num_vertices=n)
        with Opened(graph) as opened:
            expected = all_edges(graph)
            assert flat(opened.lists.scan(edges_of)) == expected
            assert flat(opened.lists.scan(edges_of, ordered=True)) == expected
            resident = opened.resident()
            assert flat(resident.scan(edges_of)) == expected
            everyone = np.arange(graph.num_vertices, dtype=np.uint32)
            assert flat(opened.lists.visit(everyone, edges_of)) == expected
            assert flat(resident.visit(everyone, edges_of)) == expected
