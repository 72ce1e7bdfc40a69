"""What a run checks before it uses a store for the first time: damage, and what a stranger made."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_making import change_catalog, change_index, change_page, flip, problems

import penstock as ps
from penstock.errors import CorruptionError, FormatError
from penstock.interfaces.export import export
from penstock.store.catalog import IdSpec
from penstock.store.check_index import order_problems
from penstock.store.first_use import ListCheck
from penstock.store.page import SMALL, PageHeader

INDEX = ("out.degrees.npy", "in.degrees.npy", "vid_of_rank.npy", "ids.npy", "out.pages.npy")

RUNS = {
    "pagerank": lambda graph: ps.pagerank(graph, tol=0, max_iter=2).values,
    "pagerank streamed": lambda graph: ps.pagerank(graph, tol=0, max_iter=2, load=False).values,
    "core_number": lambda graph: ps.core_number(graph).values,
    "bfs": lambda graph: ps.bfs(graph, source=graph.ids[0]).parents,
    "triangles": lambda graph: ps.triangles(graph).values,
    "to_edges": lambda graph: graph.to_edges(),
}
#: What each run needs not look at.
UNUSED = {"to_edges": {"in.degrees.npy"}, "bfs": {"in.degrees.npy"}}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", INDEX)
def test_a_flipped_bit_of_an_index_file_is_found_by_runs(store, name, run):
    folder = store()
    size = (folder / name).stat().st_size
    flip(folder / name, size - 5, 4)
    if name in UNUSED.get(run, ()):
        RUNS[run](ps.open(folder))
        return
    with pytest.raises(CorruptionError, match=f"{name}: checksum is"):
        RUNS[run](ps.open(folder))


def test_a_flipped_bit_of_string_ids_is_found_before_they_are_mapped(tmp_path):
    ps.build((["a", "b"], ["b", "c"]), tmp_path / "g")
    flip(tmp_path / "g" / "ids.arrow", 300, 1)
    graph = ps.open(tmp_path / "g")
    for use in (
        lambda: graph.ids,
        lambda: export(graph, tmp_path / "e.csv"),
        lambda: ps.pagerank(graph).to_arrow(),
    ):
        with pytest.raises(CorruptionError, match=r"ids\.arrow: checksum is"):
            use()


def test_files_are_checked_once(store, monkeypatch):
    graph = ps.open(store())
    first = ps.pagerank(graph, tol=0, max_iter=2).values
    flip(graph.path / "out.degrees.npy", 400, 0)
    monkeypatch.setattr("penstock.store.first_use.check_file", None)
    assert np.array_equal(ps.pagerank(graph, tol=0, max_iter=2).values, first)


def test_info_reads_the_catalog_alone(store):
    folder = store()
    for name in INDEX:
        flip(folder / name, 130, 1)
    command = [sys.executable, "-m", "penstock", "info", str(folder)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def set_ids(*values: int):
    def change(page):
        vertices, edges = page[48:52].view("<u4")[0], page[52:56].view("<u4")[0]
        width = page[68]
        at = 64 + 8 + (4 * -(-int(vertices) // 64) + 7) // 8 * 8
        at += (int(vertices) * int(width) + 7) // 8 * 8
        assert edges >= len(values)
        page[at : at + 2 * len(values)].view("<u2")[:] = values

    return change


@pytest.mark.parametrize("run", [name for name in RUNS if name != "core_number"])
@pytest.mark.parametrize(
    ("values", "words"),
    [((60000,), "has vertex 60,000, there are 150"), ((150,), "has vertex 150, there are 150"),
     ((9, 3), "not in the order"), ((9, 9), "not in the order")],
)  # fmt: skip
def test_lists_that_a_stranger_made_are_refused(store, run, values, words):
    folder = store()
    for direction in ("out", "in"):
        path = folder / "stripe.0" / f"{direction}.pages"
        change_page(path, 0, 4096, set_ids(*values))
    with pytest.raises(CorruptionError, match=words):
        RUNS[run](ps.open(folder))


def swap_ends(array):
    array[[0, 1]] = array[[1, 0]]
    assert array[0] != array[1]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("out.degrees.npy", lambda a: a.__setitem__(0, a[0] + 1), "the catalog|its pages have"),
        ("out.degrees.npy", swap_ends, "its degree is"),
        ("vid_of_rank.npy", lambda a: a.__setitem__(0, 150), "has the number 150"),
        ("vid_of_rank.npy", lambda a: a.__setitem__(0, a[1]), "every vertex once"),
        ("ids.npy", lambda a: a.__setitem__(0, a[1]), "not ascending"),
        ("out.pages.npy", lambda a: a["first_vid"].__setitem__(1, 1 << 40), "do not go on"),
        ("out.pages.npy", lambda a: a["num_vertices"].__setitem__(-1, 1 << 31), "vertices"),
    ],
)
def test_index_files_that_a_stranger_made_are_refused(store, name, change, words):
    folder = store()
    change_index(folder, name, change)
    with pytest.raises(CorruptionError, match=words):
        ps.bfs(ps.open(folder), source=0).to_arrow()


@pytest.mark.parametrize(
    "fields",
    [{"rules": {"duplicates": "perhaps", "self_loops": "keep"}},
     {"rules": {"duplicates": "last", "self_loops": 7}}, {"vertex_order": "x"},
     {"neighbour_order": ""}, {"num_stripes": 1 << 40}, {"order_file": "out.degrees.npy"},
     {"ids": IdSpec("int", 0, "out.degrees.npy")}, {"ids": IdSpec("range", (1 << 63) - 5)}],
)  # fmt: skip
def test_words_that_the_catalog_cannot_have_are_refused(store, fields):
    folder = store()
    change_catalog(folder, **fields)
    with pytest.raises(FormatError, match=next(iter(fields))):
        ps.open(folder)
    assert problems(folder)


# The checks themselves, against the obvious way to say them

lists_of = st.lists(st.lists(st.integers(0, 12), max_size=5), max_size=8)


@given(lists_of, st.integers(1, 13), st.sampled_from([-1, 0, 1]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_lists_are_refused_if_and_only_if_something_is_wrong(lists, n, step, lengthen):
    degrees = np.array([len(each) for each in lists], np.uint32)
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint32)
    neighbours = np.array([v for each in lists for v in each], np.uint32)
    told = degrees.copy()
    told[:1] += lengthen
    header = PageHeader(2, SMALL, 0, 0, 0, 0, 0, len(lists), len(neighbours))
    ascending = all(b - a >= step for each in lists for a, b in pairwise(each)) or (step < 0)
    right = ascending and all(v < n for v in neighbours) and np.array_equal(told, degrees)
    check = ListCheck(bytearray(1), n, step, told)
    if right:
        check.check(0, header, offsets, neighbours, "page 0")
    else:
        for _ in range(2):  # what was refused is not taken for checked
            with pytest.raises(CorruptionError, match="page 0: "):
                check.check(0, header, offsets, neighbours, "page 0")


@given(st.lists(st.integers(0, 9), max_size=10))
@settings(deadline=None)
def test_a_permutation_is_known_from_other_arrays(values):
    wrong = order_problems(np.array(values, np.uint32))
    assert (not wrong) == (sorted(values) == list(range(len(values))))
