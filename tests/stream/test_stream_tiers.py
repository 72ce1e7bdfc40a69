"""Lists in tiers: heads in memory are the beginnings of lists, and visits deliver whole lists."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stream_making import PAGE, Opened, all_edges, build, some_edges, two_folders

from penstock.errors import CorruptionError
from penstock.metrics import Metrics
from penstock.parallel import Workers
from penstock.store.graph import Graph
from penstock.stream import arena as arena_module
from penstock.stream import tiers
from penstock.stream.arena import Arena, arena_bytes, buffer_bytes
from penstock.stream.block import BY_PLACE
from penstock.stream.lists import Piece
from penstock.stream.tiers import (
    NO_LIMIT,
    TieredLists,
    can_tier,
    choose_reading,
    head_sums,
    tier_bytes,
)

FOLDER = [HealthCheck.function_scoped_fixture]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph]:
    root = tmp_path_factory.mktemp("tiers")
    far = two_folders(root)
    arrays = some_edges()
    rng = np.random.default_rng(2)
    wide = (rng.integers(0, 200_000, 60_000), rng.integers(0, 200_000, 60_000))
    common = {"num_vertices": 14_000}
    return {
        "weighted": build(root / "weighted", arrays, **common),
        "striped": build(root / "striped", arrays, stripes=far, vertex_order="none", **common),
        "undirected": build(root / "undirected", arrays, directed=False, **common),
        "kept": build(root / "kept", arrays[:2], directions="out", duplicates="keep", **common),
        "two bands": build(root / "wide", wide, directed=False),
    }


KINDS = ["weighted", "striped", "undirected", "kept", "two bands"]


class Tiered:
    """Lists in tiers, with all that they need."""

    def __init__(self, graph: Graph, k: int, *, memory: int = 1 << 22, streams: int = 3) -> None:
        self.workers = Workers(streams)
        self.metrics = Metrics(arena_module.DEEP_STREAMS)
        bands = len(graph.catalog.page_spec().bands)
        self.arena = Arena(memory, bands)
        self.lists = TieredLists(
            graph, "out", self.workers, self.metrics, arena=self.arena, head_edges=k
        )

    def __enter__(self) -> Tiered:
        return self

    def __exit__(self, *error: object) -> None:
        self.workers.close()
        self.lists.close()

    def visit(self, vertices: Any) -> dict[int, list[int]]:
        """Lists by vertex, each part in its place."""
        parts: list[tuple[int, list[int]]] = []

        def work(stream: int, piece: Piece) -> None:
            block = piece.block
            assert piece.vertices is not None
            for i, v in enumerate(piece.vertices.tolist()):
                k = i if block.first == BY_PLACE else v - block.first
                ids = block.neighbours[block.offsets[k] : block.offsets[k + 1]].tolist()
                parts.append((v, ids))

        self.lists.visit(np.asarray(vertices, np.uint32), work)
        found: dict[int, list[int]] = {}
        for v, ids in sorted(parts):  # neighbours ascend, and so do parts
            found.setdefault(v, []).extend(ids)
        return found


@cache
def lists_of(graph: Graph) -> dict[int, list[int]]:
    """The lists of a graph that stays; not to be changed."""
    lists: dict[int, list[int]] = {v: [] for v in range(graph.num_vertices)}
    for v, u, _ in all_edges(graph):
        lists[v].append(u)
    return lists


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, 500, NO_LIMIT])
def test_heads_are_the_first_edges(graphs: dict[str, Graph], kind: str, k: int) -> None:
    graph = graphs[kind]
    lists = lists_of(graph)
    with Tiered(graph, k) as opened:
        tier = opened.lists.tier
        heads = tier.heads
        assert tier.lists_end < len(heads.offsets) <= max(tier.lists_end + 64, 1)
        for v, ids in list(lists.items())[: len(heads.offsets) - 1]:
            mine = heads.neighbours[heads.offsets[v] : heads.offsets[v + 1]]
            assert mine.tolist() == ids[:k]
        lengths = np.array([len(ids) for ids in lists.values()])
        rests = np.maximum(lengths - k, 0)
        assert np.array_equal(np.diff(tier.rest), rests[: len(tier.rest) - 1])
        assert not rests[len(tier.rest) - 1 :].any()
        assert len(tier.rest) == 1 or rests[len(tier.rest) - 2] > 0
        assert not lengths[tier.lists_end :].any()
        assert lengths[tier.lists_end - 1] > 0
        assert tier.num_edges == lengths.sum()
        sums = head_sums(np.asarray(graph.degrees("out")))
        assert len(heads.neighbours) == sums[min(k, len(sums) - 1)]
        assert sums[-1] == lengths.sum()
        arrays = (
            heads.offsets, heads.neighbours, tier.rest, tier.fronts, tier.places, tier.block_sums,
        )  # fmt: skip
        fixed, more = tier_bytes(graph, "out", np.asarray(graph.degrees("out")))
        assert sum(array.nbytes for array in arrays) <= fixed + more[min(k, len(more) - 1)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("share", "memory"), [(0.002, 1), (0.1, 1 << 26), (1.0, 1)])
def test_visits_deliver_whole_lists(
    graphs: dict[str, Graph], kind: str, share: float, memory: int, monkeypatch: Any
) -> None:
    """Long reads and short ones, small arenas and large."""
    graph = graphs[kind]
    lists = lists_of(graph)
    rng = np.random.default_rng(4)
    chosen = np.flatnonzero(rng.random(graph.num_vertices) < share)
    chosen = np.unique(np.concatenate([chosen, [0, 1]]))  # lists of many pages
    with Tiered(graph, 2, memory=memory) as opened:
        monkeypatch.setattr(tiers, "DENSE", 0)  # no whole pages
        for long, many in ((0, 1 << 40), (1 << 40, 0), (1 << 40, 1 << 40)):
            monkeypatch.setattr(tiers, "LONG_EDGES", long)
            monkeypatch.setattr(tiers, "MANY_LISTS", many)
            before = opened.metrics.total()
            found = opened.visit(chosen)
            assert found == {v: lists[v] for v in chosen.tolist()}
            read = opened.metrics.total().minus(before)
            assert read.reads > 0
            assert read.bytes_read >= 4096
            assert read.pages_read == 0


@settings(max_examples=30, deadline=None, suppress_health_check=FOLDER)
@given(data=st.data())
def test_any_vertices_in_any_pieces(graphs: dict[str, Graph], data: st.DataObject) -> None:
    graph = graphs[data.draw(st.sampled_from(KINDS))]
    lists = lists_of(graph)
    some = st.lists(st.integers(0, graph.num_vertices - 1) | st.integers(0, 3), max_size=50)
    chosen = sorted(set(data.draw(some)))
    with pytest.MonkeyPatch.context() as patch, Tiered(graph, 1, memory=1) as opened:
        patch.setattr(tiers, "PIECE_EDGES", data.draw(st.sampled_from([1, 100, 10**6])))
        patch.setattr(tiers, "ROUNDS", data.draw(st.sampled_from([1, 7])))
        patch.setattr(tiers, "FEW_LISTS", data.draw(st.sampled_from([0, 100])))
        assert opened.visit(chosen) == {v: lists[v] for v in chosen}


@pytest.mark.parametrize("kind", KINDS)
def test_many_lists_come_by_whole_pages(graphs: dict[str, Graph], kind: str) -> None:
    graph = graphs[kind]
    lists = lists_of(graph)
    chosen = np.arange(0, graph.num_vertices, 3)
    with Tiered(graph, 2) as opened:
        before = opened.metrics.total()
        found = opened.visit(chosen)
        assert {v: ids for v, ids in found.items() if ids} == {
            v: lists[v] for v in chosen.tolist() if lists[v]
        }
        read = opened.metrics.total().minus(before)
        assert read.reads == 0
        assert 0 < read.pages_read <= len(graph.page_table("out"))


def test_few_lists_take_few_bytes(graphs: dict[str, Graph]) -> None:
    with Tiered(graphs["two bands"], 1) as opened:
        opened.visit([150, 151])
        total = opened.metrics.total()
        read = total.bytes_read - total.pages_read * PAGE
        assert 0 < read <= 4 * PAGE


def test_a_scan_goes_over_pages(graphs: dict[str, Graph]) -> None:
    graph = graphs["undirected"]
    with Tiered(graph, 1) as opened, Opened(graph) as plain:

        def count(stream: int, piece: Piece) -> int:
            return len(piece.block.neighbours)

        assert opened.lists.scan(count) == plain.lists.scan(count)


def test_how_lists_are_read() -> None:
    """A few on their own, more than a dozen a page in long runs, nearly all by pages."""
    assert choose_reading(10, 1000, 10**6, 100) == "deep"
    assert choose_reading(10, 10**6, 10**6, 100) == "long lists"
    assert choose_reading(2000, 10**4, 10**6, 100) == "long runs"
    assert choose_reading(200_000, 10**6, 10**6, 100) == "pages"
    assert choose_reading(0, 0, 0, 0) == "deep"


def test_buffers_are_what_was_said() -> None:
    for memory in (1, 1 << 25, 1 << 40):
        for bands in (1, 2, 3):
            assert Arena(memory, bands).nbytes <= buffer_bytes(memory)
    assert arena_bytes(1 << 40) == arena_module.MOST_ARENA


def test_what_cannot_be_in_tiers(tmp_path: Path) -> None:
    arrays = some_edges(300, 900)
    assert not can_tier(build(None, arrays), "out")
    assert not can_tier(build(tmp_path / "s", arrays, layout="slotted"), "out")
    assert not can_tier(build(tmp_path / "i", arrays, neighbour_order="input"), "out")
    assert can_tier(build(tmp_path / "b", arrays), "in")


@pytest.mark.parametrize("kind", ["short", "long"])
def test_a_file_cut_off_after_loading(tmp_path: Path, kind: str) -> None:
    graph = build(tmp_path / "g", some_edges(), directed=False)
    file = tmp_path / "g" / "stripe.0" / "out.pages"
    with Tiered(graph, 1) as opened:
        os.truncate(file, PAGE * 2)
        chosen = [0] if kind == "long" else range(1000, 1100)
        with pytest.raises(CorruptionError, match=r"page \d+: the file ends .* too early"):
            opened.visit(chosen)


def test_a_file_changed_after_loading(tmp_path: Path) -> None:
    """Ids that are no vertices are noticed before any kernel uses them."""
    graph = build(tmp_path / "g", some_edges(), directed=False)
    file = tmp_path / "g" / "stripe.0" / "out.pages"
    with Tiered(graph, 1) as opened:
        file.write_bytes(b"\xff" * file.stat().st_size)
        with pytest.raises(CorruptionError, match="its lists are not what they were"):
            opened.visit(range(500, 600))


def test_a_page_damaged_before_loading(tmp_path: Path) -> None:
    graph = build(tmp_path / "g", some_edges(), directed=False)
    file = tmp_path / "g" / "stripe.0" / "out.pages"
    data = bytearray(file.read_bytes())
    data[PAGE + 100] ^= 1
    file.write_bytes(data)
    with pytest.raises(CorruptionError, match="page 1: checksum"):
        Tiered(graph, 1)
