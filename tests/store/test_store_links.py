"""Links, pipes and directories where a graph has files: refused, and never waited for."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from store_making import build_store, problems, write_store

import penstock as ps
from penstock.errors import FormatError
from penstock.files import check_regular, open_regular, read_regular, unfinished
from penstock.store.paged import open_graph
from penstock.types import Adjacency

LISTS = Adjacency(0, np.array([1, 1, 0], np.uint32), np.array([1, 2], np.uint32), {})


def use(folder: Path) -> None:
    """Read all there is."""
    graph = open_graph(folder)
    list(graph.iter_edges())
    graph.degrees("out")
    graph.ids_by_vid()


def link_away(path: Path) -> None:
    """Move something out of the folder, and leave a link to it."""
    away = path.parent.parent.parent / f"away-{path.name}"
    shutil.move(path, away)
    path.symlink_to(away)


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


FILES = ("graph.json", "out.pages.npy", "out.degrees.npy", "stripe.0/stripe.json",
         "stripe.0/out.pages")  # fmt: skip


@pytest.mark.parametrize("spoil", [link_away, make_pipe])
@pytest.mark.parametrize("name", FILES)
def test_files_that_are_none_are_refused(tmp_path, name, spoil):
    folder = tmp_path / "deep" / "g"
    folder.parent.mkdir()
    write_store(folder, LISTS)
    use(folder)
    spoil(folder / name)
    kind = "symbolic link" if spoil is link_away else "pipe"
    with pytest.raises(FormatError, match=rf"{name.replace('.', '[.]')}: is a {kind}"):
        use(folder)
    assert any(f"is a {kind}" in each for each in problems(folder))


@pytest.mark.parametrize(("ids", "name"), [(["a", "b"], "ids.arrow"), ([5, 900], "ids.npy")])
def test_ids_that_are_a_link_are_refused(tmp_path, ids, name):
    folder = tmp_path / "deep" / "g"
    folder.parent.mkdir()
    graph = ps.build((ids, ids[::-1]), folder)
    link_away(folder / name)
    graph = ps.open(folder)
    with pytest.raises(FormatError, match="is a symbolic link"):
        _ = graph.ids
    with pytest.raises(FormatError, match="is a symbolic link"):
        ps.export(graph, tmp_path / "edges.csv")
    ranks = ps.pagerank(ps.build((ids, ids[::-1]), folder.parent / "other"))
    assert ranks.values.shape == (2,)
    with pytest.raises(FormatError, match="is a symbolic link"):
        ps.pagerank(graph)


def test_the_first_stripe_is_no_link(tmp_path):
    folder = tmp_path / "g"
    write_store(folder, LISTS)
    shutil.move(folder / "stripe.0", tmp_path / "away")
    (folder / "stripe.0").symlink_to(tmp_path / "away")
    with pytest.raises(FormatError, match=r"stripe\.0: is a symbolic link"):
        open_graph(folder)


def test_a_further_stripe_may_be_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    build_store(tmp_path / "g", [0, 1], [1, 2], stripes=(tmp_path / "disk",))
    use(tmp_path / "g")
    far = (tmp_path / "g" / "stripe.1").readlink()
    (far / "away").write_bytes((far / "out.pages").read_bytes())
    (far / "out.pages").unlink()
    (far / "out.pages").symlink_to(far / "away")
    with pytest.raises(FormatError, match=r"out\.pages: is a symbolic link"):
        use(tmp_path / "g")


def test_a_catalog_that_is_too_large_is_not_read(tmp_path):
    """A file of holes takes no room on the disk, and would take it all in memory."""
    write_store(tmp_path / "g", LISTS)
    os.truncate(tmp_path / "g" / "graph.json", 1 << 42)
    with pytest.raises(FormatError, match=r"graph\.json: is larger than a catalog can be"):
        open_graph(tmp_path / "g")


def test_what_a_file_is(tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("none")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    assert read_regular(tmp_path / "file") == b"text"
    assert read_regular(tmp_path / "file", 2) == b"te"
    check_regular(tmp_path / "file")
    check_regular(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        for name in ("link", "dangling", "folder", "pipe"):
            with pytest.raises(FormatError, match=f"{name}: is a "):
                open_regular(tmp_path / name, flags)
    for name in ("link", "dangling", "folder", "pipe"):
        with pytest.raises(FormatError, match=f"{name}: is a "):
            check_regular(tmp_path / name)
    assert not (tmp_path / "none").exists()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_cannot_wait_for_a_file_that_is_written(tmp_path):
    """The name of the temporary file is another one each time, and the file is there before it is
    written to.
    """
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f".out.writing.{os.getpid()}").symlink_to(tmp_path / "mine")
    found = set()
    for _ in range(2):
        with unfinished(tmp_path / "out", overwrite=True) as temporary:
            assert temporary.is_file()
            found.add(temporary)
            temporary.write_text("new")
    assert len(found) == 2
    assert (tmp_path / "mine").read_text() == "mine"
