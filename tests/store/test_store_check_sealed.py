"""check_graph: what checksums cannot tell. Everything here is sealed, and still wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from store_making import (
    build_store,
    change_catalog,
    change_index,
    change_page,
    no_problem_but,
    problems,
    random_lists,
    write_store,
)

from penstock.store.catalog import DirectionStats, read_catalog
from penstock.store.folder import file_record

SIZE = 4096


def out_pages(folder: Path) -> Path:
    return folder / "stripe.0" / "out.pages"


def put(at: int, *values: int):
    def change(page: np.ndarray) -> None:
        page[at : at + len(values)] = values

    return change


def ids_at(page: np.ndarray) -> int:
    """Where the ids of a small banded page with one band begin."""
    vertices = int(page[48:52].view("<u4")[0])
    at = 72 + (4 * -(-vertices // 64) + 7) // 8 * 8
    return at + (vertices * int(page[68]) + 7) // 8 * 8


def ids_of(page: np.ndarray) -> np.ndarray:
    at = ids_at(page)
    return page[at : at + 2 * int(page[52:56].view("<u4")[0])].view("<u2")


def wide_counts(page: np.ndarray) -> None:
    """Counts of one byte as counts of two, in a page that has room."""
    vertices, at = int(page[48:52].view("<u4")[0]), ids_at(page)
    start = 72 + (4 * -(-vertices // 64) + 7) // 8 * 8
    counts = page[start : start + vertices].astype("<u2").view(np.uint8)
    rest = page[at:3000].copy()
    page[68] = 2
    page[start : start + len(counts)] = counts
    after = (start + len(counts) + 7) // 8 * 8
    page[after : after + len(rest)] = rest


BANDED = {
    "first vertex": (put(32, 9), "first_vid 9, the page table 0"),
    "first edge": (put(40, 9), "first_edge 9"),
    "vertices": (put(48, 1), "num_vertices 1"),
    "edges": (put(52, 1, 0), "num_edges 1,"),
    "run": (put(56, 1), "run 1"),
    "kind": (put(14, 2), "kind 2"),
    "layout": (put(13, 1), "holds another page (layout 1"),
    "direction": (put(15, 1), "holds another page"),
    "tag": (put(16, 0), "holds another page"),
    "page id": (put(24, 7), "out-page 7"),
    "magic": (put(8, 0), "not a page"),
    "version": (put(12, 2), "page format 2"),
    "reserved header": (put(60, 1), "page format"),
    "band total": (put(64, 0), "band counts contradict"),
    "count width": (put(68, 3), "band counts contradict"),
    "reserved entry": (put(69, 1), "should be zero"),
    "marks": (put(72, 1), "its marks"),
    "unused": (put(SIZE - 1, 1), "should be zero"),
    "large id": (lambda page: ids_of(page).__setitem__(-1, 150), "numbers below 150"),
    "order": (lambda page: ids_of(page).__setitem__(slice(0, 2), [9, 9]), "without repeats"),
}


@pytest.mark.parametrize("name", BANDED)
def test_banded_pages_that_are_sealed_but_wrong(store, name):
    folder = store()
    change, words = BANDED[name]
    change_page(out_pages(folder), 0, SIZE, change)
    found = problems(folder)
    assert found[0].startswith(f"{out_pages(folder)}: page 0: ")
    assert words in found[0]


def test_counts_wider_than_needed_are_found(tmp_path):
    write_store(tmp_path / "g", random_lists(60, 5, 1))
    change_page(out_pages(tmp_path / "g"), 0, SIZE, wide_counts)
    no_problem_but(tmp_path / "g", "its counts are wider")


def test_large_pages_that_are_sealed_but_wrong(store):
    folder = store("hub banded")
    change_page(out_pages(folder), 1, SIZE, put(68, 1))
    no_problem_but(folder, "its counts are wider")
    change_page(out_pages(folder), 1, SIZE, put(68, 0))
    # The run's second page begins with a neighbour that was in the first.
    change_page(out_pages(folder), 1, SIZE, put(72, 5, 0))
    assert any("page 1: its list does not go on" in each for each in problems(folder))


def slot(page: np.ndarray, i: int) -> np.ndarray:
    stop = len(page) - 10 * i
    return page[stop - 10 : stop]


SLOTTED = {
    "vid": (lambda page: slot(page, 2).__setitem__(0, 9), "slot 2"),
    "offset": (lambda page: slot(page, 0).__setitem__(6, 65), "slot 0"),
    "degree": (lambda page: page.__setitem__(64, 255), "slot 0"),
    "page of a neighbour": (lambda page: page.__setitem__(68, 77), "slot 0"),
    "slot of a neighbour": (lambda page: page.__setitem__(71, 77), "slot 0"),
    "size of attributes": (lambda page: page.__setitem__(72, 3), "slot 0"),
}


@pytest.mark.parametrize("name", SLOTTED)
def test_slotted_pages_that_are_sealed_but_wrong(store, name):
    folder = store("slotted")
    change, words = SLOTTED[name]

    def with_edges(page: np.ndarray) -> None:
        assert page[64] > 0
        change(page)

    change_page(out_pages(folder), 0, SIZE, with_edges)
    found = problems(folder)
    assert words in found[0]


def test_physical_ids_of_large_pages(store):
    """An edge to the hub must name the first page of its run, and there is one slot."""
    folder = store("hub slotted")
    for at, value in ((68, 1), (70, 1)):
        change_page(out_pages(folder), 0, SIZE, put(at, value))
        no_problem_but(folder, "page 0: slot 0 does not lead to a record")
        change_page(out_pages(folder), 0, SIZE, put(at, 0))
    change_page(out_pages(folder), 0, SIZE, put(SIZE - 11, 1))
    assert "between records and slots" in problems(folder)[0]


@pytest.mark.parametrize("kind", ["banded", "slotted"])
def test_directions_that_differ_are_found(store, kind):
    folder = store(kind)
    weight = -1 if kind == "banded" else 77

    def other_weight(page: np.ndarray) -> None:
        if kind == "banded":
            at = np.flatnonzero(page)[-1]  # in the last weight
        else:
            assert page[72] == 4
            at = weight
        page[at] ^= 1

    change_page(out_pages(folder), 0, SIZE, other_weight)
    no_problem_but(folder, "out-lists and the in-lists do not hold the same edges")


def other_neighbour(page: np.ndarray) -> None:
    """Give vertex 0 another neighbour for its first one, which is not itself."""
    ids = ids_of(page)
    mine = ids[: page[ids_at(page) - 8 * -(-int(page[48]) // 8)]]
    new = next(v for v in range(1, 100) if v not in mine)
    mine[np.flatnonzero(mine)[0]] = new
    mine.sort()


def test_an_edge_that_is_in_one_direction_only_is_found(tmp_path):
    write_store(tmp_path / "g", random_lists(100, 30, 5))
    change_page(out_pages(tmp_path / "g"), 0, SIZE, other_neighbour)
    no_problem_but(tmp_path / "g", "do not hold the same edges")


def test_an_undirected_edge_in_one_list_only_is_found(store):
    folder = store("undirected")
    change_page(out_pages(folder), 0, SIZE, other_neighbour)
    no_problem_but(folder, "in the list of one of its ends only")


def test_nan_weights_are_found(store):
    folder = store()

    def change(page: np.ndarray) -> None:
        at = ids_at(page) + (2 * int(page[52:56].view("<u4")[0]) + 7) // 8 * 8
        page[at : at + 4] = np.array([np.nan], "<f4").view(np.uint8)

    change_page(out_pages(folder), 0, SIZE, change)
    assert any(
        "1 of its edges have NaN as their weight 'weight'" in each for each in problems(folder)
    )


def swap_first_two(array: np.ndarray) -> None:
    array[[0, 1]] = array[[1, 0]]


def set_row(field: str, value: int, row: int = 1):
    def change(table: np.ndarray) -> None:
        table[field][row] = value

    return change


INDEX = {
    "degrees": ("out.degrees.npy", lambda a: a.__setitem__(0, a[0] + 1), "its pages have"),
    "two degrees": ("out.degrees.npy", swap_first_two, "out.degrees.npy says"),
    "length": ("out.degrees.npy", lambda a: a[:-1], "expected uint32 (150,)"),
    "type": ("out.degrees.npy", lambda a: a.astype(np.int64), "expected uint32"),
    "order twice": ("vid_of_rank.npy", lambda a: a.__setitem__(3, a[0]), "every vertex once"),
    "order too large": ("vid_of_rank.npy", lambda a: a.__setitem__(3, 150), "has the number 150"),
    "ids": ("ids.npy", swap_first_two, "not ascending"),
    "equal ids": ("ids.npy", lambda a: a.__setitem__(1, a[0]), "not ascending"),
    "negative id": ("ids.npy", lambda a: a.__setitem__(0, -1), "not ascending"),
    "table length": ("out.pages.npy", lambda a: a[:-1], "expected [("),
    "first_vid": ("out.pages.npy", set_row("first_vid", 1), "row 1: its vertices"),
    "first_edge": ("out.pages.npy", set_row("first_edge", 1), "row 1: its edges"),
    "vertices": ("out.pages.npy", set_row("num_vertices", 0), "row 1: a page without vertices"),
    "edges": ("out.pages.npy", set_row("num_edges", 0), "row 2: its edges"),
    "run": ("out.pages.npy", set_row("run", 1), "row 1: a small page in a run"),
    "kind": ("out.pages.npy", set_row("kind", 3), "row 1: kind is neither"),
    "large": ("out.pages.npy", set_row("kind", 2), "row 1: a large page needs one vertex"),
    "reserved": ("out.pages.npy", set_row("reserved", 1), "row 1: the reserved bytes"),
    "last": ("out.pages.npy", set_row("num_vertices", 1, -1), "vertices, the catalog 150"),
}


@pytest.mark.parametrize("name", INDEX)
def test_index_files_that_are_sealed_but_wrong(store, name):
    folder = store()
    file, change, words = INDEX[name]
    change_index(folder, file, change)
    found = problems(folder)
    assert any(words in each for each in found), found
    assert str(folder / file) in found[0] or "degrees.npy says" in found[0]


def test_runs_that_are_sealed_but_wrong(store):
    folder = store("hub banded")
    change_index(folder, "out.pages.npy", set_row("run", 5))
    assert any("row 1: its run does not go on" in each for each in problems(folder))
    change_index(folder, "out.pages.npy", set_row("run", 1))
    assert problems(folder) == []
    change_index(folder, "out.degrees.npy", swap_first_two)
    assert any("gives the vertices of page 0 0 neighbours" in e for e in problems(folder))


def test_string_ids_that_are_sealed_but_wrong(tmp_path):
    import pyarrow as pa

    folder = tmp_path / "g"
    build_store(folder, ["a", "b"], ["b", "c"])
    kept = (folder / "ids.arrow").read_bytes()
    for names, words in (
        (["b", "a", "c"], "not ascending"),
        (["a", "a", "c"], "not ascending"),
        (["a", None, "c"], "not ascending"),
        (["a", "b"], "has 2 ids, expected 3"),
        ([1, 2, 3], "large strings"),
    ):
        kind = pa.int64() if names == [1, 2, 3] else pa.large_string()
        table = pa.table({"id": pa.array(names, kind)})
        path = folder / "ids.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        files = {**read_catalog(folder).files, "ids.arrow": file_record(folder / "ids.arrow")}
        change_catalog(folder, files=files)
        no_problem_but(folder, words)
    (folder / "ids.arrow").write_bytes(kept)


@pytest.mark.parametrize("field", list(DirectionStats.__dataclass_fields__))
def test_statistics_that_are_sealed_but_wrong(store, field):
    folder = store()
    stats = read_catalog(folder).directions["out"]
    old = getattr(stats, field)
    new = (*old[:-1], old[-1] + 1) if field == "degree_histogram" else old + 1
    directions = {**read_catalog(folder).directions, "out": replace(stats, **{field: new})}
    change_catalog(folder, directions=directions)
    assert problems(folder)


@pytest.mark.parametrize("kind", ["banded", "undirected"])
def test_a_wrong_number_of_edges_is_found(store, kind):
    folder = store(kind)
    change_catalog(folder, num_edges=read_catalog(folder).num_edges + 1)
    assert any("num_edges is" in each for each in problems(folder))
