"""Single lists out of banded pages: what a plain reader finds, from as few blocks as can be."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_making import pack
from test_decode_into import BANDS, random_lists

from penstock.store.banded_lists import (
    ARENA_TAIL,
    BLOCK_BYTES,
    FRONT,
    cut_lists,
    front_bytes,
    gather_batch,
    page_places,
    plan_batch,
    read_requests,
)
from penstock.store.layout import DECODE_ROOM, PageSpec

THOROUGH = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PAGE = 8192


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lists")


class Store:
    """Packed lists in files, their fronts in memory."""

    def __init__(self, folder: Path, degrees: Any, bands: Any, rng: Any, stripes: int) -> None:
        self.lists = random_lists(rng, degrees, bands, [])
        spec = PageSpec("banded", PAGE, len(degrees), (), bands)
        pages, table, _, found = pack(spec, [self.lists])
        self.bands = np.array(bands, np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(found)]).astype(np.uint64)
        sizes = front_bytes(table, found, len(bands))
        self.places = page_places(table, sizes)
        self.fronts = np.zeros(int(sizes.sum()) + 8, np.uint8)
        for page, data in enumerate(pages):
            at, size = self.places[page, FRONT], min(sizes[page], PAGE)
            self.fronts[at : at + size] = data[:size]
        self.paths = [folder / f"stripe{k}" for k in range(stripes)]
        for k, path in enumerate(self.paths):
            path.write_bytes(b"".join(p.tobytes() for p in pages[k::stripes]))

    def read(self, vertices: Any, room: int, most: int) -> tuple[dict[int, list[int]], int]:
        """The lists of some vertices, batch by batch; and how many bytes were read."""
        bands, found, total = len(self.bands), {}, 0  # type: ignore[var-annotated]
        requests = np.zeros((most * bands, 4), np.int64)
        segments = np.zeros((most, bands, 3), np.int64)
        arena = np.full(room + ARENA_TAIL, 0xEE, np.uint8)
        offsets = np.zeros(most + 1, np.uint32)
        neighbours = np.zeros(room // 2 + DECODE_ROOM, np.uint32)
        files = [os.open(path, os.O_RDONLY) for path in self.paths]
        start = done = 0
        while start < len(vertices):
            begin = start
            start, done, lists, count = plan_batch(
                vertices, start, done, self.places, self.fronts, self.bands, PAGE, room, 1 << 14,
                requests, segments,
            )  # fmt: skip
            assert lists > 0
            sizes = requests[:count, 2] - requests[:count, 1]
            assert sizes.sum() <= room
            assert not (requests[:count, 1] % BLOCK_BYTES).any()
            total += int(sizes.sum())
            failed = read_requests(np.array(files), PAGE, arena.ctypes.data, requests, count)
            assert failed == -1
            gather_batch(arena, lists, requests, segments, self.bands, offsets, neighbours)
            for k, v in enumerate(vertices[begin : begin + lists].tolist()):
                found.setdefault(v, []).extend(neighbours[offsets[k] : offsets[k + 1]].tolist())
        for file in files:
            os.close(file)
        return found, total


@THOROUGH
@given(st.data())
def test_lists_are_those_of_the_page(folder: Path, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    most = data.draw(st.sampled_from([1, 3, 9, 40, 300, 3000]))
    degrees = rng.integers(0, most, data.draw(st.integers(1, 600)), endpoint=True)
    degrees[rng.random(len(degrees)) < data.draw(st.sampled_from([0, 0.5, 0.95]))] = 0
    degrees = degrees[: max(1, int((np.cumsum(degrees) < 30_000).sum()))]
    bands = data.draw(st.sampled_from(BANDS))
    store = Store(folder, degrees, bands, rng, data.draw(st.sampled_from([1, 3])))
    share = data.draw(st.sampled_from([0.01, 0.3, 1.0]))
    chosen = np.flatnonzero(rng.random(len(degrees)) < share).astype(np.uint32)
    room = data.draw(st.sampled_from([8, 16, 64])) * BLOCK_BYTES
    found, _ = store.read(chosen, room, data.draw(st.sampled_from([1, 7, 500])))
    ends = np.cumsum(degrees)
    for v in chosen.tolist():
        expected = store.lists.neighbours[ends[v] - degrees[v] : ends[v]].tolist()
        assert found.get(v, []) == expected
    assert set(found) <= set(chosen.tolist())


def test_few_lists_take_few_blocks(folder: Path) -> None:
    """A short list is read with one block for each of its bands; near ones are read together."""
    rng = np.random.default_rng(1)
    degrees = np.full(20_000, 12)
    store = Store(folder, degrees, (2, 3), rng, 1)
    pages = sum(path.stat().st_size for path in store.paths) // PAGE
    assert pages > 50
    _, one = store.read(np.array([7000], np.uint32), 1 << 16, 100)
    assert one <= 2 * 2 * BLOCK_BYTES
    _, everything = store.read(np.arange(20_000, dtype=np.uint32), 1 << 16, 5000)
    assert everything < 1.6 * pages * PAGE  # a block may belong to two batches or bands


def test_a_file_that_ends_too_early_is_noticed(folder: Path) -> None:
    rng = np.random.default_rng(1)
    store = Store(folder, np.full(5000, 12), (2, 3), rng, 1)
    os.truncate(store.paths[0], 3 * PAGE)
    requests = np.array([[0, 0, 4096, 0], [5, 0, 4096, 4096]], np.int64)
    arena = np.zeros(1 << 14, np.uint8)
    with store.paths[0].open("rb") as file:
        files = np.array([file.fileno()])
        assert read_requests(files, PAGE, arena.ctypes.data, requests, 2) == 1
        assert read_requests(files, PAGE, arena.ctypes.data, requests, 1) == -1
    with store.paths[0].open("rb") as file:
        assert arena[:4096].tobytes() == file.read(4096)


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 100), st.integers(1, 20),
    st.data(),
)  # fmt: skip
@settings(deadline=None)
def test_pieces_of_work_have_few_edges_and_lists(
    degrees: Any, edges: int, lists: int, data: st.DataObject
) -> None:
    head, rest_end = np.minimum(degrees, 3), data.draw(st.integers(0, len(degrees)))
    rest = np.concatenate([[0], np.cumsum(np.array(degrees) - head)[:rest_end]]).astype(np.uint32)
    degrees = head + np.where(np.arange(len(degrees)) < rest_end, np.array(degrees) - head, 0)
    heads = np.concatenate([[0], np.cumsum(head)]).astype(np.uint32)
    vertices = np.arange(0, len(degrees), 2, dtype=np.uint32)
    cuts = cut_lists(vertices, heads, rest, edges, lists).tolist()
    assert (cuts[0], cuts[-1]) == (0, len(vertices))
    for a, b in pairwise(cuts):
        assert 0 < b - a <= lists
        assert sum(degrees[v] for v in vertices[a : b - 1].tolist()) < edges
