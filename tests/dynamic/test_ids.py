"""Ids and their vertex numbers, in memory and with a folder for scratch files, against a list."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.dynamic import ids as ids_module
from penstock.dynamic.id_order import extend_order, order_ids
from penstock.dynamic.ids import IntIds, StringIds
from penstock.dynamic.scratch import ScratchArray, scratch_array
from penstock.errors import AccessError, DiskSpaceError
from penstock.parallel import Workers
from penstock.types import NO_VERTEX

LAST = (1 << 63) - 1


@pytest.fixture(params=["memory", "folder"])
def folder(request, tmp_path):
    return None if request.param == "memory" else tmp_path


@pytest.fixture(scope="module")
def workers():
    made = Workers(2)
    yield made
    made.close()


any_id = st.one_of(
    st.integers(0, 60),
    st.sampled_from([0, 1, LAST, LAST - 1, 1 << 32]),
    st.builds(lambda k, shift: k << shift, st.integers(0, 200), st.integers(0, 55)),
    st.integers(0, LAST),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.lists(any_id, max_size=50)] * 2), max_size=6), st.booleans())
def test_numbers_in_order_of_appearance(workers, tmp_path_factory, batches, scratch):
    ids = IntIds(workers, tmp_path_factory.getbasetemp() if scratch else None)
    known: dict[int, int] = {}
    for columns in batches:
        arrays = [np.array(column, np.uint64) for column in columns]
        ids.check_room(*arrays)
        found = ids.number(*arrays)
        # Columns are gone through in blocks, so the first has its numbers before the second.
        for column, numbers in zip(columns, found, strict=True):
            expected = [known.setdefault(each, len(known)) for each in column]
            assert numbers.tolist() == expected
        assert ids.num_vertices == len(known)
        assert ids.by_vid().tolist() == list(known)
        asked = np.array([*known, 5, LAST - 5], np.uint64)
        assert ids.find(asked).tolist() == [known.get(int(each), NO_VERTEX) for each in asked]
        check_order(ids, list(known))


def check_order(ids, by_vid):
    ascending, order = ids.in_order()
    assert ascending.tolist() == sorted(by_vid)
    numbers = range(len(by_vid)) if order is None else order.tolist()
    assert [by_vid[v] for v in numbers] == sorted(by_vid)


def test_many_ids_in_blocks(folder, workers, monkeypatch):
    monkeypatch.setattr(ids_module, "BLOCK_IDS", 1000)
    monkeypatch.setattr(ids_module, "RANGE_IDS", 100)
    rng = np.random.default_rng(7)
    ids, known = IntIds(workers, folder), {}
    for _ in range(4):
        src, dst = rng.integers(0, 1 << 40, (2, 5500), np.uint64) >> np.uint64(26)
        found = ids.number(src, dst)
        for begin in range(0, 5500, 1000):
            for column in (src, dst):
                for each in column[begin : begin + 1000].tolist():
                    known.setdefault(each, len(known))
        assert found[0].tolist() == [known[each] for each in src.tolist()]
        assert found[1].tolist() == [known[each] for each in dst.tolist()]
        assert ids.by_vid().tolist() == list(known)
    check_order(ids, list(known))


KINDS = {
    "range": (np.arange(500) + 1000, "none"),
    "range by degree": (np.arange(500) + 7, "degree"),
    "sparse": (np.arange(500) * 977 + 3, "none"),
    "sparse by degree": (np.arange(500) * 977 + 3, "degree"),
    "large": (LAST - np.arange(500) * (1 << 40), "degree"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stored", [False, True])
def test_ids_of_a_base(kind, stored, folder, workers, tmp_path, monkeypatch):
    for module in (ids_module, sys.modules["penstock.store.mapped"]):
        monkeypatch.setattr(module, "PART", 64)
    monkeypatch.setattr(ids_module, "BLOCK_IDS", 100)
    names, order = KINDS[kind]
    rng = np.random.default_rng(1)
    src = np.concatenate([names, rng.choice(names[:40], 3000)])
    dst = np.concatenate([names[::-1], rng.choice(names, 3000)])
    if stored:
        graph = ps.build((src, dst), tmp_path / "g", vertex_order=order)
    else:
        graph = ps.from_edges(src, dst, vertex_order=order)
    assert (graph.description.first_id is not None) == kind.startswith("range")
    assert (graph.vid_of_rank is None) == (order == "none")
    ids = IntIds(workers, folder)
    ids.load(graph)
    by_vid = graph.ids_by_vid().tolist()
    assert ids.by_vid().tolist() == by_vid
    assert ids.find(np.array(by_vid, np.uint64)).tolist() == list(range(500))
    check_order(ids, by_vid)
    assert ids.number(np.array([5 << 50, by_vid[3]], np.uint64))[0].tolist() == [500, 3]


def test_what_is_in_memory(workers, tmp_path):
    keys = np.random.default_rng(2).integers(0, LAST, 100_000, np.uint64)
    held, mapped = IntIds(workers), IntIds(workers, tmp_path)
    for ids in (held, mapped):
        ids.number(keys)
    assert held.nbytes() == mapped.nbytes() + 800_000
    assert 10 < mapped.nbytes() / 100_000 < 13.3
    for ids in (held, mapped):
        ids.in_order()
    assert held.nbytes() == mapped.nbytes() + 800_000 + 1_200_000
    assert held.kept is held.kept
    assert mapped.kept is not mapped.kept


orders = st.lists(any_id, unique=True, min_size=1, max_size=80)


@settings(max_examples=60, deadline=None)
@given(orders, st.integers(1, 79), st.sampled_from(["as given", "ascending", "new are last"]))
def test_order_is_extended(tmp_path_factory, names, cut, how):
    if how == "ascending":
        names = sorted(names)
    elif how == "new are last":
        names = names[:cut] + sorted(max(names) + 1 + k for k in range(5) if max(names) < 1 << 60)
    ids = np.array(names, np.int64)
    have = min(cut, len(ids))
    for empty in (np.empty, partial(scratch_array, tmp_path_factory.getbasetemp())):
        found = order_ids(ids[:have], empty)
        whole = found if have == len(ids) else extend_order(found, ids, empty)
        assert whole[0].tolist() == sorted(names)
        assert (whole[1] is None) == (names == sorted(names))
        if whole[1] is not None:
            assert ids[whole[1]].tolist() == sorted(names)


def test_order_of_strings_is_extended():
    ids, names = StringIds(), [f"{k * 7919 % 1000:03}" for k in range(300)]
    for end in (200, 210, 300):
        ids.number(np.array(names[:end], object))
        check_order(ids, names[:end])


# Scratch files


def test_a_scratch_array_grows_and_leaves_nothing(tmp_path):
    made = ScratchArray(tmp_path, np.uint64)
    made.reserve(10, 0)
    before = made.array
    before[:10] = range(10)
    made.reserve(100_000, 10)
    assert len(made.array) >= 100_000
    assert made.array[:10].tolist() == list(range(10))
    made.array[3] = 99
    assert before[3] == 99
    held = made.array
    made.allocate(10 * len(held))
    assert made.array is held
    assert made.missing_bytes(len(held)) == 0
    assert made.missing_bytes(len(held) + 1) >= 8 * len(held)
    assert list(tmp_path.iterdir()) == []
    assert len(scratch_array(tmp_path, 0, np.uint32)) == 0


def test_room_on_the_disk_is_taken_before_it_is_written_to(tmp_path, monkeypatch):
    made = ScratchArray(tmp_path, np.uint64)

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(DiskSpaceError, match="the disk is full"):
        made.reserve(10, 0)
    with pytest.raises(AccessError, match="nowhere"):
        ScratchArray(tmp_path / "nowhere", np.uint64)


def test_a_batch_whose_ids_have_no_room_on_the_disk_is_not_logged(tmp_path):
    program = """
        import resource, sys
        import numpy as np
        import penstock as ps
        from penstock.errors import DiskSpaceError
        d = ps.DynamicGraph(sys.argv[1], threads=1)
        d.add_edges([1], [2])
        many = np.arange(1_000_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, resource.RLIM_INFINITY))
        try:
            d.add_vertices(many)
        except DiskSpaceError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        print(d.num_vertices, d.add_edges([2], [3]), d.add_vertices(many))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "g")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    error, counts = done.stdout.splitlines()
    assert "larger than the system allows" in error
    assert counts == "2 1 999997"


@pytest.mark.parametrize("path", [None, "g"])
def test_threads_that_add_new_ids_at_once(path, tmp_path):
    """One checks the room for its ids while others get numbers."""
    with ps.DynamicGraph(None if path is None else tmp_path / path, sync="never") as graph:
        rng = np.random.default_rng(5)
        parts = rng.integers(0, 1 << 50, (8, 12, 2000))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda part: [graph.add_vertices(ids) for ids in part], parts))
        assert graph.num_vertices == len(np.unique(parts))
        by_vid = graph._state.ids.by_vid()
        assert graph._state.ids.find(by_vid.astype(np.uint64)).tolist() == list(range(len(by_vid)))
        assert graph.ids.tolist() == np.unique(parts).tolist()


def test_a_reader_without_the_right_to_write_keeps_ids_in_memory(tmp_path, monkeypatch):
    with ps.DynamicGraph(tmp_path / "g") as graph:
        graph.add_edges([1, 2], [2, 3])
        assert graph._state.ids._folder == tmp_path / "g"
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    with ps.DynamicGraph(tmp_path / "g", read_only=True) as graph:
        assert graph._state.ids._folder is None
        assert sorted(graph) == [(1, 2), (2, 3)]


def test_the_directory_of_a_graph_has_no_scratch_files(tmp_path):
    with ps.DynamicGraph(tmp_path / "g") as graph:
        graph.add_edges([9, 2, 5], [2, 3, 9])
        assert graph.ids.tolist() == [2, 3, 5, 9]
        graph.compact()
        graph.add_edges([1], [4])
        assert graph.ids.tolist() == [1, 2, 3, 4, 5, 9]
        assert sorted(each.name for each in (tmp_path / "g").iterdir()) == [
            "base.1", "live.json", "lock", "log.1"
        ]  # fmt: skip
