"""Numbers of edges that are kept: what is read is what was written, or an error says what to do."""

from __future__ import annotations

import errno
import json
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest

import penstock as ps
from penstock.engine import edge_column_files as files
from penstock.engine.edge_column_files import COMMON, DEGREES, DESCRIPTION, Unfinished, open_columns
from penstock.engine.edge_columns import folder_beside, home_of
from penstock.errors import (
    AccessError,
    CorruptionError,
    DiskSpaceError,
    FormatError,
    LockedError,
    TargetExistsError,
)

EDGES, VERTICES = 999, 1000


@pytest.fixture
def graph():
    return ps.from_edges(np.arange(EDGES), np.arange(EDGES) + 1, directed=False)


@pytest.fixture
def values():
    return np.random.default_rng(2).integers(0, 2**32, EDGES, dtype=np.uint32)


@pytest.fixture
def degrees():
    return np.random.default_rng(3).integers(0, VERTICES, VERTICES, dtype=np.uint32)


@pytest.fixture
def folder(graph, values, degrees, tmp_path, monkeypatch):
    """A folder with columns of several blocks."""
    monkeypatch.setattr(files, "BLOCK", 100)
    with Unfinished(tmp_path / "kept", graph) as new:
        new.write(0, values)
        new.finish(EDGES, degrees)
    return tmp_path / "kept"


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_what_is_read_is_what_was_written(folder, graph, values, degrees):
    found = open_columns(folder, graph)
    assert found.num_edges == EDGES
    np.testing.assert_array_equal(found.num_neighbours, degrees)
    ends = [0, 1, 99, 100, 101, 250, 300, 998, EDGES]
    for begin in ends:
        for end in ends:
            if begin <= end:
                np.testing.assert_array_equal(found.read(begin, end), values[begin:end])


def test_the_files_are_arrays_of_numpy(folder, values, degrees):
    assert names(folder) == [DESCRIPTION, COMMON, DEGREES]
    np.testing.assert_array_equal(np.load(folder / COMMON), values)
    np.testing.assert_array_equal(np.load(folder / DEGREES, mmap_mode="r"), degrees)
    described = json.loads((folder / DESCRIPTION).read_text())
    assert (described["edges"], described["vertices"]) == (EDGES, VERTICES)
    assert len(described["blocks"][COMMON]) == 10


def test_range_after_range(graph, values, degrees, tmp_path):
    with Unfinished(tmp_path / "kept", graph) as new:
        for begin in range(0, EDGES, 70):
            new.write(begin, values[begin : begin + 70])
        found = new.finish(EDGES, degrees)
        np.testing.assert_array_equal(found.read(0, EDGES), values)
    np.testing.assert_array_equal(np.load(tmp_path / "kept" / COMMON), values)


def test_no_edges(tmp_path):
    graph = ps.from_edges([], [], num_vertices=0)
    with Unfinished(tmp_path / "kept", graph) as new:
        new.finish(0, np.empty(0, np.uint32))
    found = open_columns(tmp_path / "kept", graph)
    assert found.read(0, 0).tolist() == found.num_neighbours.tolist() == []


@pytest.mark.parametrize("exists", [False, True])
def test_what_is_not_finished_is_not_there(exists, graph, tmp_path):
    folder = tmp_path / "kept"
    if exists:
        folder.mkdir()

    def fail():
        with Unfinished(folder, graph) as new:
            new.write(0, np.ones(100, np.uint32))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with Unfinished(folder, graph):
        pass
    assert folder.exists() == exists
    assert not exists or names(folder) == []
    assert open_columns(folder, graph) is None


def test_what_a_process_that_died_left_goes(graph, degrees, tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    for name in (f"{COMMON}.writing", COMMON, ".lock"):
        (folder / name).write_text("half")
    assert open_columns(folder, graph) is None
    with Unfinished(folder, graph, asked=True) as new:
        new.finish(EDGES, degrees)
    assert names(folder) == [DESCRIPTION, COMMON, DEGREES]
    assert open_columns(folder, graph).read(0, EDGES).tolist() == [0] * EDGES


@pytest.mark.parametrize("renamed", [0, 1, 2])
def test_a_death_between_the_files_leaves_no_index(renamed, folder, graph, degrees, monkeypatch):
    original = files.sync_folder
    calls = []

    def sync(path):
        calls.append(path)
        if len(calls) > renamed:
            raise KeyboardInterrupt
        original(path)

    monkeypatch.setattr(files, "sync_folder", sync)
    with pytest.raises(KeyboardInterrupt), Unfinished(folder, graph) as new:  # noqa: PT012
        new.write(0, np.ones(EDGES, np.uint32))
        new.finish(EDGES, degrees)
    assert open_columns(folder, graph) is None


def test_one_at_a_time(graph, degrees, tmp_path):
    with Unfinished(tmp_path / "kept", graph) as new:
        with (
            pytest.raises(LockedError, match=r"another run is writing this index; .*index=False"),
            Unfinished(tmp_path / "kept", graph),
        ):
            pass
        new.finish(EDGES, degrees)
    assert open_columns(tmp_path / "kept", graph) is not None


# Where


def test_places(graph, tmp_path):
    stored = ps.build((np.array([0]), np.array([1])), tmp_path / "g")
    assert home_of(stored, None).folder == folder_beside(tmp_path / "g") == tmp_path / "g.columns"
    assert home_of(graph, None).folder is None
    assert home_of(graph, "some").folder.name == "some"
    assert home_of(stored, False) is home_of(stored, "none") is None
    (tmp_path / "link").symlink_to(tmp_path / "g")
    assert folder_beside(tmp_path / "link") == tmp_path / "g.columns"


def test_with_a_graph_in_memory(graph, values, degrees):
    home = home_of(graph, None)
    assert home.find() is None
    for step in (100, EDGES):
        with home.begin() as new:
            for begin in range(0, EDGES, step):
                new.write(begin, values[begin : begin + step])
            new.finish(EDGES, degrees)
        found = home.find()
        np.testing.assert_array_equal(found.read(10, EDGES), values[10:])
        np.testing.assert_array_equal(found.num_neighbours, degrees)
        assert found.num_edges == EDGES


def test_with_a_graph_in_memory_that_has_no_edges():
    graph = ps.from_edges([], [], num_vertices=3)
    home = home_of(graph, None)
    with home.begin() as new:
        pass
    assert home.find() is None
    with home.begin() as new:
        new.finish(0, np.zeros(3, np.uint32))
    assert home.find().read(0, 0).tolist() == []


def test_a_folder_with_something_else_in_it(graph, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with (
        pytest.raises(TargetExistsError, match=r"not an index: 'letter\.txt'.*index="),
        Unfinished(tmp_path, graph, asked=True),
    ):
        pass
    assert names(tmp_path) == ["letter.txt"]


def test_the_folder_beside_a_graph_may_be_a_users(graph, tmp_path):
    """Not only one that the user names is left alone."""
    (tmp_path / "letter.writing").write_text("dear")
    with (
        pytest.raises(TargetExistsError, match=r"not an index: 'letter\.writing'"),
        Unfinished(tmp_path, graph),
    ):
        pass
    assert names(tmp_path) == ["letter.writing"]


@pytest.mark.parametrize("name", [COMMON, DEGREES, DESCRIPTION])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_links_and_pipes_are_refused(name, kind, folder, graph):
    (folder / name).rename(folder.parent / name)
    if kind == "link":
        (folder / name).symlink_to(folder.parent / name)
    else:
        os.mkfifo(folder / name)
    with pytest.raises(FormatError, match=f"{re.escape(name)}: is a .*{kind}"):
        open_columns(folder, graph)


def test_a_folder_beside_a_graph_that_leads_elsewhere(folder, graph, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(FormatError, match=r"link: is a symbolic link.*index="):
        open_columns(tmp_path / "link", graph)
    with pytest.raises(FormatError), Unfinished(tmp_path / "link", graph):
        pass
    assert open_columns(tmp_path / "link", graph, asked=True) is not None


def test_no_file_is_written_through_a_link(graph, tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / ".lock").symlink_to(tmp_path / "mine")
    with (
        pytest.raises(FormatError, match="is a symbolic link"),
        Unfinished(tmp_path / "kept", graph),
    ):
        pass
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize("place", ["file", "file/kept", "nowhere/kept"])
def test_a_place_that_cannot_be_written(place, graph, tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(AccessError, match=f"{place}: cannot be written .*index=.*index=False"),
        Unfinished(tmp_path / place, graph),
    ):
        pass
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(graph, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(AccessError, match="index=False"), Unfinished(tmp_path / "kept", graph):
        pass


def test_a_disk_that_is_too_small(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(files.shutil, "disk_usage", lambda path: SimpleNamespace(free=7000))
    with (
        pytest.raises(DiskSpaceError, match=r"needs about 8\.0 kB.*index=False"),
        Unfinished(tmp_path / "k", graph),
    ):
        pass
    assert names(tmp_path) == []


def test_a_disk_that_becomes_full(graph, tmp_path, monkeypatch):
    def write(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", write)
    with (
        pytest.raises(DiskSpaceError, match=r"full.*index="),
        Unfinished(tmp_path / "k", graph) as new,
    ):
        new.write(0, np.ones(5, np.uint32))
    assert names(tmp_path) == []


# Of another graph, or damaged


def test_of_another_graph(folder):
    other = ps.from_edges(np.arange(EDGES), np.arange(EDGES) + 1, directed=True)
    assert open_columns(folder, other) is None
    with pytest.raises(FormatError, match=r"another graph .*tag.*remove it, or .*index="):
        open_columns(folder, other, asked=True)


def test_of_another_version(folder, graph):
    path = folder / DESCRIPTION
    path.write_text(re.sub(r'"version": 1', '"version": 2', path.read_text()))
    assert open_columns(folder, graph) is None
    with pytest.raises(FormatError, match="version 2, and this Penstock reads 1"):
        open_columns(folder, graph, asked=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-20],
        lambda text: "",
        lambda text: "[]",
        lambda text: "\xff" + text,
        lambda text: text.replace("penstock", "another"),
        lambda text: text.replace('"edges": 999', '"edges": 998'),
        lambda text: re.sub(r'"checksum".*', '"checksum": "0"', text),
        lambda text: re.sub(r',\s*"checksum".*', "", text),
    ],
    ids=["cut off", "empty", "no object", "no text", "magic", "number", "checksum", "none"],
)
@pytest.mark.parametrize("asked", [True, False])
def test_a_damaged_description(change, asked, folder, graph):
    path = folder / DESCRIPTION
    path.write_text(change(path.read_text()), encoding="latin-1")
    with pytest.raises(CorruptionError, match=r"columns\.json: .*remove the folder"):
        open_columns(folder, graph, asked=asked)


@pytest.mark.parametrize("name", [COMMON, DEGREES])
@pytest.mark.parametrize("place", [0, 100, 128, 600, 4 * EDGES + 127])
def test_a_byte_that_is_another(name, place, folder, graph):
    path = folder / name
    raw = bytearray(path.read_bytes())
    raw[place] ^= 16
    path.write_bytes(raw)
    with pytest.raises(CorruptionError, match=f"{name}: .*remove the folder"):
        open_columns(folder, graph).read(0, EDGES)


def test_only_what_is_read_is_verified_and_once(folder, graph, values):
    path = folder / COMMON
    raw = bytearray(path.read_bytes())
    raw[128 + 4 * 350] ^= 1  # in block 3
    path.write_bytes(raw)
    found = open_columns(folder, graph)
    np.testing.assert_array_equal(found.read(150, 300), values[150:300])
    with pytest.raises(CorruptionError, match="block 3"):
        found.read(150, 301)
    raw[128 + 4 * 160] ^= 1  # in block 1, which was verified
    path.write_bytes(raw)
    assert found.read(160, 161)[0] == values[160] ^ 1


@pytest.mark.parametrize("name", [COMMON, DEGREES])
def test_a_file_of_another_length(name, folder, graph):
    path = folder / name
    raw = path.read_bytes()
    for other in (raw[:-1], raw + b"\0", b""):
        path.write_bytes(other)
        with pytest.raises(CorruptionError, match="bytes, expected"):
            open_columns(folder, graph)
    path.unlink()
    with pytest.raises(CorruptionError, match="cannot be opened"):
        open_columns(folder, graph)


def test_a_file_that_shrinks_while_it_is_read(folder, graph):
    found = open_columns(folder, graph)
    os.truncate(folder / COMMON, 1000)
    with pytest.raises(CorruptionError, match="bytes too early"):
        found.read(0, EDGES)
