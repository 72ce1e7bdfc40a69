"""Dealing a graph out to folders and hosts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.distributed import dealing, dealing_ranks
from penstock.distributed.dealing import deal, place_stripes
from penstock.engine.peers import Peers
from penstock.errors import (
    CorruptionError,
    DiskSpaceError,
    FormatError,
    InputNotFoundError,
    OptionError,
    TargetExistsError,
)
from penstock.store import part_folder
from penstock.store.check import check_graph
from penstock.store.paged import PagedGraph, open_graph
from penstock.store.part_folder import PartFolder

NAME = "hard.penstock"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> PagedGraph:
    folder = tmp_path_factory.mktemp("whole")
    build_hard(folder, directed=True)
    return open_graph(folder / NAME)


def folders(tmp_path: Path, count: int = 3) -> list[Path]:
    """Parts to be, each in a directory of its own."""
    found = [tmp_path / f"h{k}" / NAME for k in range(count)]
    for path in found:
        path.parent.mkdir()
    return found


def assert_parts(graph: PagedGraph, paths: Sequence[Path], copies: int = 1) -> None:
    """Everything is there, the same bytes as in the graph, and nothing else."""
    held: list[int] = []
    for path in paths:
        report = check_graph(path)
        assert report.ok, report.problems
        part = open_graph(path)
        held += part.part.stripes
        assert set(part.missing) == set(range(part.catalog.num_stripes)) - set(part.part.stripes)
        for direction in graph.directions:
            pages, whole = part.pages(direction), graph.pages(direction)
            mine, theirs = np.empty((2, whole.page_bytes), np.uint8)
            for page in pages.present().tolist():
                pages.read_page(page, mine)
                whole.read_page(page, theirs)
                assert mine.tobytes() == theirs.tobytes()
        for name in graph.catalog.files:
            assert (path / name).read_bytes() == (graph.path / name).read_bytes()
        left = [each.name for each in path.parent.iterdir()]
        assert left == [NAME]
    assert sorted(held) == sorted(list(range(part.catalog.num_stripes)) * copies)


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_to_folders(graph: PagedGraph, tmp_path: Path, copies: int) -> None:
    paths = folders(tmp_path)
    before = {each: each.stat().st_mtime_ns for each in graph.path.rglob("*")}
    found = deal(graph, paths, copies=copies, num_stripes=7)
    assert_parts(graph, paths, copies)
    assert {each: each.stat().st_mtime_ns for each in graph.path.rglob("*")} == before
    assert found.bytes_kept == 0
    again = deal(graph, paths, copies=copies, num_stripes=7)
    assert (again.bytes_sent, again.bytes_kept) == (0, found.bytes_sent)


def test_in_small_pieces(graph: PagedGraph, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(dealing, "BATCH_BYTES", 5 * 4096)
    monkeypatch.setattr(dealing_ranks, "PIECE_BYTES", 4096)
    paths = folders(tmp_path, 2)
    deal(graph, paths, num_stripes=5)
    assert_parts(graph, paths)


def test_over_hosts(graph: PagedGraph, tmp_path: Path) -> None:
    paths = folders(tmp_path)
    found = deal(graph, tmp_path / NAME, hosts=ThreadHosts(3, paths), copies=2)
    assert found.num_stripes == dealing.STRIPES
    assert_parts(graph, paths, 2)


class HostsWithParts(ThreadHosts):
    """Hosts that have parts of a graph, and get parts of another dealing."""

    def __init__(self, sources: Sequence[Path], paths: Sequence[Path]) -> None:
        super().__init__(len(paths), paths)
        self.sources = sources

    def run(self, function: Any, job: Any, *args: Any) -> Any:
        def on_rank(peers: Peers, own: Any, *more: Any) -> Any:
            return function(peers, replace(own, source=self.sources[peers.rank]), *more)

        return super().run(on_rank, job, *args)


def test_from_parts_to_others(graph: PagedGraph, tmp_path: Path) -> None:
    """A graph that lies on hosts is dealt again by those that have it."""
    first = folders(tmp_path)
    deal(graph, first, copies=2, num_stripes=7)
    opened = open_graph(first[0])
    shutil.rmtree(first[1])
    second = [path.parent / "again" / NAME for path in first]
    for path in second:
        path.parent.mkdir()
    hosts = HostsWithParts(first, second)
    deal(opened, tmp_path / NAME, hosts=hosts, num_stripes=5)
    assert_parts(graph, second)
    (lost, *_) = [k for k, holders in enumerate(opened.part.held_by) if set(holders) == {1, 2}]
    shutil.rmtree(first[2] / f"stripe.{lost}")
    with pytest.raises(InputNotFoundError, match=rf"stripe {lost} of 7: none of .*{first[1]}"):
        deal(opened, tmp_path / "more.penstock", hosts=hosts)


# Broken off, damaged, full


class StopError(Exception):
    """The process is gone."""


@pytest.mark.parametrize("after", [0, 3, 20])
def test_what_has_arrived_is_not_sent_again(
    graph: PagedGraph, tmp_path: Path, monkeypatch: Any, after: int
) -> None:
    paths, count, take = folders(tmp_path), 0, PartFolder.take_page

    def stop(self: PartFolder, *args: Any) -> bool:
        nonlocal count
        count += 1
        if count > after:
            raise StopError
        return take(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(PartFolder, "take_page", stop)
        with pytest.raises(StopError):
            deal(graph, paths, num_stripes=7)
    for path in paths:
        assert not path.exists()
        with pytest.raises(FormatError):
            ps.open(path.parent / f".{NAME}.dealing")
    found = deal(graph, paths, num_stripes=7)
    index = 3 * sum(record.bytes for record in graph.catalog.files.values())
    assert found.bytes_kept == index + after * 4096
    assert_parts(graph, paths)


def test_stopped_between_two_parts(graph: PagedGraph, tmp_path: Path, monkeypatch: Any) -> None:
    paths, complete = folders(tmp_path), PartFolder._complete

    def stop(self: PartFolder) -> None:
        if self.target == paths[1]:
            raise StopError
        complete(self)

    with monkeypatch.context() as patch:
        patch.setattr(PartFolder, "_complete", stop)
        with pytest.raises(StopError):
            deal(graph, paths, num_stripes=7)
    assert not paths[1].exists()
    found = deal(graph, paths, num_stripes=7)
    assert found.bytes_sent == 0
    assert_parts(graph, paths)


def test_a_damaged_piece_is_refused_and_sent_again(
    graph: PagedGraph, tmp_path: Path, monkeypatch: Any
) -> None:
    paths, take, answers = folders(tmp_path), PartFolder.take_page, []
    piece = PartFolder.take_piece

    def damage(self: PartFolder, direction: Any, page: int, data: Any) -> bool:
        if page == 4 and len(answers) < 2:
            data = data.copy()
            data[100] ^= 1
        answers.append(take(self, direction, page, data))
        return answers[-1]

    def damage_index(self: PartFolder, name: str, offset: int, data: Any) -> None:
        piece(self, name, offset, data if answers else data[::-1])

    monkeypatch.setattr(PartFolder, "take_page", damage)
    monkeypatch.setattr(PartFolder, "take_piece", damage_index)
    notes: list[str] = []
    found = deal(graph, paths, num_stripes=7, progress=Notes(notes))
    assert_parts(graph, paths)
    whole = sum(each.num_pages for each in graph.catalog.directions.values()) * 4096
    assert found.bytes_sent > whole
    assert len(notes) == 1
    assert notes[0].endswith("arrived damaged and are sent again")


class Notes:
    """Keeps notes."""

    def __init__(self, notes: list[str]) -> None:
        self.note = notes.append

    def start(self, *args: Any) -> None:
        pass

    def advance(self, amount: float) -> None:
        pass


def test_bytes_that_rot_on_the_disk_are_found(
    graph: PagedGraph, tmp_path: Path, monkeypatch: Any
) -> None:
    paths, write = folders(tmp_path), os.pwrite

    def rot(fd: int, data: Any, offset: int) -> int:
        return write(fd, bytes(len(data)), offset)

    monkeypatch.setattr(part_folder.os, "pwrite", rot)
    with pytest.raises(CorruptionError, match=r"was sent 3 times and is still damaged"):
        deal(graph, paths, num_stripes=7)
    assert not any(path.exists() for path in paths)


def test_a_full_disk(graph: PagedGraph, tmp_path: Path, monkeypatch: Any) -> None:
    paths, write, left = folders(tmp_path), os.pwrite, [100_000]

    def full(fd: int, data: Any, offset: int) -> int:
        left[0] -= len(data)
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        return write(fd, data, offset)

    with monkeypatch.context() as patch:
        patch.setattr(part_folder.os, "pwrite", full)
        with pytest.raises(DiskSpaceError, match=r"the disk is full; .* deal again: what has arr"):
            deal(graph, paths, num_stripes=7)
    assert not any(path.exists() for path in paths)
    assert deal(graph, paths, num_stripes=7).bytes_kept > 0
    assert_parts(graph, paths)


def test_room_is_looked_for_before(graph: PagedGraph, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(PartFolder, "free_bytes", lambda self: 100_000)
    with pytest.raises(
        DiskSpaceError, match=r"are to be written to this disk, and 100\.0 kB are free"
    ):
        deal(graph, folders(tmp_path), num_stripes=7)
    assert not list(tmp_path.rglob("*.pages"))


def test_a_damaged_source_is_named(graph: PagedGraph, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / NAME
    shutil.copytree(graph.path, copy)
    file = copy / "stripe.0" / "out.pages"
    data = bytearray(file.read_bytes())
    data[3 * 4096 + 77] ^= 1
    file.write_bytes(data)
    with pytest.raises(CorruptionError, match=r"out\.pages: page 3: checksum"):
        deal(open_graph(copy), folders(tmp_path), num_stripes=7)


# What is there already


def test_old_signs_go(graph: PagedGraph, tmp_path: Path) -> None:
    paths = folders(tmp_path)
    old, new = (path.parent / f".{NAME}.sight.{k}.0" for k, path in enumerate(paths[:2]))
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    deal(graph, paths, num_stripes=7)
    assert not old.exists()
    assert new.exists()


def test_a_part_that_lost_stripes_gets_them_back(graph: PagedGraph, tmp_path: Path) -> None:
    paths = folders(tmp_path)
    deal(graph, paths, num_stripes=7)
    shutil.rmtree(paths[0] / "stripe.3")
    (paths[1] / "stripe.1" / "out.pages").unlink()
    report = check_graph(paths[0])
    assert not report.ok
    found = deal(graph, paths, num_stripes=7)
    assert found.bytes_sent < found.bytes_kept
    assert_parts(graph, paths)


def test_a_host_that_has_the_graph_keeps_it(graph: PagedGraph, tmp_path: Path) -> None:
    paths = [graph.path, *folders(tmp_path, 2)]
    deal(graph, paths, num_stripes=7)
    assert open_graph(graph.path).part is None
    expected = ps.pagerank(graph).values
    found = ps.pagerank(graph, hosts=ThreadHosts(3, paths), load=False)
    np.testing.assert_array_equal(found.values, expected)


def test_what_is_there_is_not_touched(graph: PagedGraph, tmp_path: Path) -> None:
    paths = folders(tmp_path)
    other = ps.build(([0], [1]), paths[0])
    with pytest.raises(TargetExistsError, match="is another graph"):
        deal(graph, paths)
    assert other.num_edges == ps.open(paths[0]).num_edges
    shutil.rmtree(paths[0])
    paths[0].write_text("mine")
    with pytest.raises(TargetExistsError, match="exists and is not a graph"):
        deal(graph, paths)
    assert paths[0].read_text() == "mine"
    paths[0].unlink()
    deal(graph, paths, num_stripes=7)
    with pytest.raises(TargetExistsError, match="a part of this graph from another dealing"):
        deal(graph, paths, num_stripes=9)
    assert_parts(graph, paths)


def test_another_dealing_that_was_broken_off_goes(graph: PagedGraph, tmp_path: Path) -> None:
    paths = folders(tmp_path)
    hidden = paths[0].parent / f".{NAME}.dealing"
    (hidden / "stripe.5").mkdir(parents=True)
    (hidden / "stripe.5" / "out.pages").write_bytes(b"old")
    deal(graph, paths, num_stripes=7)
    assert_parts(graph, paths)


# What cannot be


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"copies": 4}, r"copies is 4, expected a whole number from 1 to 3 \(there are 3 places\)"),
        ({"copies": 0}, "copies is 0"),
        ({"num_stripes": 2}, r"stripes is 2, expected a whole number from 3"),
    ],
)
def test_numbers_that_cannot_be(
    graph: PagedGraph, tmp_path: Path, options: Any, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        deal(graph, folders(tmp_path), **options)


def test_one_file_system_needs_no_dealing(graph: PagedGraph, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"one place .*nothing needs dealing"):
        deal(graph, tmp_path / NAME, hosts=ThreadHosts(3))
    with pytest.raises(OptionError, match="give at least two"):
        deal(graph, folders(tmp_path, 1))
    assert not list(tmp_path.glob(".*"))


def test_no_directory_there(graph: PagedGraph, tmp_path: Path) -> None:
    with pytest.raises(InputNotFoundError, match="no such directory"):
        deal(graph, [tmp_path / "a" / NAME, tmp_path / "b" / NAME])


def test_no_host_has_the_graph(graph: PagedGraph, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / NAME
    shutil.copytree(graph.path, copy)
    opened = open_graph(copy)
    shutil.rmtree(copy)
    with pytest.raises(InputNotFoundError, match="no host has the graph"):
        deal(opened, folders(tmp_path))


def test_a_graph_in_memory(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="the graph is in memory"):
        deal(ps.from_edges([0], [1]), folders(tmp_path))


@given(st.integers(2, 12), st.data())
def test_copies_are_on_different_places_and_spread(places: int, data: st.DataObject) -> None:
    copies = data.draw(st.integers(1, places))
    stripes = data.draw(st.integers(1, 8)) * places * (places - 1)
    held_by = place_stripes(stripes, places, copies)
    assert all(len(set(holders)) == copies for holders in held_by)
    counts = np.bincount(np.concatenate(held_by), minlength=places)
    assert counts.tolist() == [stripes * copies // places] * places
    if copies == 2:
        assert len(set(held_by)) == places * (places - 1)
