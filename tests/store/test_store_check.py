"""check_graph: damage of every kind is found, told where it is, and good graphs pass."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_making import (
    all_files,
    build_store,
    change_catalog,
    flip,
    problems,
    random_lists,
    write_store,
)

from penstock.progress import Silent
from penstock.store import check
from penstock.store.catalog import read_catalog
from penstock.store.check import MAX_PROBLEMS, check_graph
from penstock.store.check_pages import PageChecker
from penstock.store.paged import open_graph

SIZE = 4096


# Good graphs


@pytest.mark.parametrize("kind", ["banded", "slotted", "undirected", "hub banded", "hub slotted"])
def test_good_stores_pass(made, kind):
    catalog = read_catalog(made / kind)
    report = check_graph(made / kind, threads=2)
    assert report.problems == ()
    assert report.ok
    assert report.unlisted == 0
    assert report.pages == sum(stats.num_pages for stats in catalog.directions.values())
    assert report.edges == sum(stats.num_edges for stats in catalog.directions.values())
    files = sum(
        path.stat().st_size for path in all_files(made / kind) if path.name != "stripe.json"
    )
    assert report.bytes == files
    assert report.seconds > 0


@pytest.mark.parametrize(
    "options",
    [
        {"duplicates": "sum"},
        {"duplicates": "keep", "directed": False},
        {"neighbour_order": "input", "layout": "slotted"},
        {"vertex_order": "none", "neighbour_order": "degree"},
        {"directions": "in"},
        {"num_vertices": 500, "self_loops": "drop", "directed": False},
    ],
    ids=lambda options: " ".join(map(str, options.values())),
)
def test_good_builds_pass(tmp_path, options):
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 400, (2, 6000))
    columns = {"weight": rng.random(6000), "n": rng.integers(0, 9, 6000)}
    build_store(tmp_path / "g", src, dst, columns, "weight", **options)
    assert problems(tmp_path / "g") == []


def test_string_ids_pass(tmp_path):
    words = [f"{'é' * (i % 3)}{i}" for i in range(300)]
    build_store(tmp_path / "g", words, words[::-1])
    assert problems(tmp_path / "g") == []


def test_progress_is_told(made):
    class Counting(Silent):
        stages = 0
        total = done = 0.0

        def start(self, stage: str, total: float | None, unit: str) -> None:
            self.stages += 1
            self.total += total or 0

        def advance(self, amount: float) -> None:
            self.done += amount

    counting = Counting()
    check_graph(made / "slotted", progress=counting)
    assert counting.stages == 4
    assert counting.done == counting.total


# Flipped bits


def test_every_flipped_byte_of_the_index_is_found(tmp_path, monkeypatch):
    # Through the page cache: thousands of checks would wait for the disk otherwise.
    monkeypatch.setattr(check, "open_direct", lambda path, size: os.open(path, os.O_RDONLY))
    folder = tmp_path / "g"
    write_store(folder, random_lists(8, 4, 1), directions=("out",))
    for path in all_files(folder):
        if path.suffix == ".pages":
            continue
        for at in range(path.stat().st_size):
            # To a parser all blanks in JSON are the same.
            for mask in {1 << (at % 8), 0x2A} if path.suffix == ".json" else {1 << (at % 8)}:
                flip(path, at, mask)
                found = problems(folder)
                assert found, (path.name, at, mask)
                # A stripe's folder stands for its stripe.json.
                assert any(str(path.parent) in each for each in found)
                flip(path, at, mask)
    assert problems(folder) == []


@pytest.mark.parametrize("kind", ["banded", "slotted"])
def test_every_flipped_bit_of_a_page_is_found(made, kind):
    graph = open_graph(made / kind)
    checker = PageChecker(graph.catalog, "out", graph.page_table("out"), graph.degrees("out"))
    page = np.empty(SIZE, np.uint8)
    graph.pages("out").read_page(1, page)
    assert checker.check(page, 1).problems == ()
    assert checker.check(page, 0).problems != ()
    for at in range(SIZE):
        for mask in (1, 2, 4, 8, 16, 32, 64, 128) if at < 200 else (1 << (at % 8),):
            page[at] ^= mask
            assert checker.check(page, 1).problems, (at, mask)
            page[at] ^= mask


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_flipped_bit_is_found_and_its_file_named(made, tmp_path_factory, data):
    kind = data.draw(st.sampled_from(["banded", "slotted", "undirected", "hub banded"]))
    folder = tmp_path_factory.mktemp("flipped") / "g"
    shutil.copytree(made / kind, folder)
    path = data.draw(st.sampled_from(all_files(folder)))
    flip(
        path, data.draw(st.integers(0, path.stat().st_size - 1)), 1 << data.draw(st.integers(0, 7))
    )
    found = problems(folder)
    assert found
    assert str(path.parent) in found[0]
    shutil.rmtree(folder.parent)


# Missing, foreign and misplaced parts


def test_truncation_at_any_length_is_found(tmp_path):
    folder = tmp_path / "g"
    write_store(folder, random_lists(8, 4, 1), directions=("out",))
    for path in all_files(folder):
        raw = path.read_bytes()
        step = max(1, len(raw) // 30)
        for length in {0, 1, len(raw) - 1, *range(0, len(raw), step)}:
            path.write_bytes(raw[:length])
            assert problems(folder), (path.name, length)
        path.write_bytes(raw)
    assert problems(folder) == []


@pytest.mark.parametrize("extra", [1, SIZE])
def test_extra_bytes_are_found(store, extra):
    folder = store()
    for path in all_files(folder):
        raw = path.read_bytes()
        path.write_bytes(raw + bytes(extra))
        found = problems(folder)
        assert found
        assert str(path.parent) in found[0]
        path.write_bytes(raw)


def test_every_missing_file_is_found_and_the_rest_checked(store):
    folder = store()
    for path in all_files(folder):
        raw = path.read_bytes()
        path.unlink()
        report = check_graph(folder, threads=1)
        assert report.problems
        assert str(path.parent) in report.problems[0].where
        if path.name != "graph.json":
            assert report.pages > 0
        path.write_bytes(raw)


def test_missing_and_foreign_stripes_are_found(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    for name, seed in (("a", 1), ("b", 2)):
        write_store(tmp_path / name, random_lists(150, 40, seed), stripes=(disk,))
        change = {"tag": 1} if name == "b" else {}
        change_catalog(tmp_path / name, **change)
    assert problems(tmp_path / "a") == []
    a, b = ((tmp_path / name / "stripe.1").readlink() for name in "ab")
    a.rename(tmp_path / "away")
    found = problems(tmp_path / "a")
    assert f"{tmp_path / 'a' / 'stripe.1'}: stripe 1 of 2 is missing" in found[0]
    assert any("stripe.1/out.pages: cannot be opened" in each for each in found)
    assert check_graph(tmp_path / "a").pages > 0
    (tmp_path / "a" / "stripe.1").unlink()
    (tmp_path / "a" / "stripe.1").symlink_to(tmp_path / "a" / "stripe.0")
    assert any("belongs to another graph" in each for each in problems(tmp_path / "a"))
    (tmp_path / "away").rename(a)
    (tmp_path / "a" / "stripe.1").unlink()
    (tmp_path / "a" / "stripe.1").symlink_to(b)
    assert problems(tmp_path / "a")


def test_swapped_pages_are_found(store):
    folder = store()
    path = folder / "stripe.0" / "out.pages"
    raw = path.read_bytes()
    path.write_bytes(raw[SIZE : 2 * SIZE] + raw[:SIZE] + raw[2 * SIZE :])
    found = problems(folder)
    assert len(found) == 2
    for page, text in enumerate(found):
        assert text.startswith(f"{path}: page {page}: holds another page")
    other = (folder / "stripe.0" / "in.pages").read_bytes()
    path.write_bytes(other[:SIZE] + raw[SIZE:])
    (text,) = problems(folder)
    assert "in-page 0" in text


def test_a_newer_version_is_found(store):
    folder = store()
    path = folder / "graph.json"
    path.write_text(path.read_text().replace('"read": 1', '"read": 2'))
    (text,) = problems(folder)
    assert text.startswith(f"{path}: needs format version 2")


def test_a_catalog_that_points_outside_is_refused(store):
    folder = store()
    good = read_catalog(folder)
    for name in ("../ids.npy", "/etc/passwd", "a/b", "..", "", "x\0y"):
        for bad in (
            replace(good, ids=replace(good.ids, file=name)),
            replace(good, order_file=name),
            replace(good, files={**good.files, name: good.files["ids.npy"]}),
        ):
            (folder / "graph.json").write_text(bad.to_json())
            (found,) = problems(folder)
            assert "outside the graph: refused" in found


def test_what_is_no_graph(tmp_path):
    (text,) = problems(tmp_path / "none")
    assert "no such graph" in text
    (text,) = problems(tmp_path)
    assert "not a graph" in text


def test_the_list_of_problems_is_capped(tmp_path):
    write_store(tmp_path / "g", random_lists(3000, 160, 1))
    path = tmp_path / "g" / "stripe.0" / "out.pages"
    pages = path.stat().st_size // SIZE
    assert pages > MAX_PROBLEMS
    for page in range(pages):
        flip(path, page * SIZE + 100, 1)
    report = check_graph(tmp_path / "g")
    assert len(report.problems) == MAX_PROBLEMS + 1
    assert report.unlisted == pages - MAX_PROBLEMS
    assert report.problems[-1].what == f"{report.unlisted:,} further problems are not listed"
