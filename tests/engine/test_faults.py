"""Disks that fail in the middle of a run: named, nothing hangs, nothing is left, nothing lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import PAGE, build, resources, run, values
from engine_programs import heat_program, label_program, rank_program

import penstock as ps
from penstock.engine.checkpoint import FILE_NAME, Schedule
from penstock.errors import CorruptionError, InputNotFoundError, PenstockError
from penstock.store.graph import Graph
from penstock.store.page import LARGE

WAYS: list[dict[str, Any]] = [
    {"load": True},
    {"load": False, "streams": 1},
    {"load": False, "streams": 6, "cache_pages": 3},
]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    (tmp_path / "far").mkdir()
    return build(tmp_path / "g", stripes=[tmp_path / "far"])


def page_place(graph: Graph, page: int, direction: str = "in") -> tuple[Path, int]:
    """The stripe file and offset of a page."""
    assert graph.path is not None
    stripes = graph.catalog.num_stripes
    return graph.path / f"stripe.{page % stripes}" / f"{direction}.pages", page // stripes * PAGE


def damage(graph: Graph, page: int, change: Any) -> Path:
    file, offset = page_place(graph, page)
    with file.open("r+b") as opened:
        opened.seek(offset)
        data = bytearray(opened.read(PAGE))
        change(data)
        opened.seek(offset)
        opened.write(data)
    return file


def flip(data: bytearray) -> None:
    data[200] ^= 16


def a_page(graph: Graph, kind: str) -> int:
    table = graph.page_table("in")
    chosen = (table["kind"] == LARGE) == (kind == "large")
    pages = np.flatnonzero(chosen & (table["num_edges"] > 0))
    return int(pages[len(pages) // 2])


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("kind", ["small", "large"])
def test_a_page_that_was_damaged(graph: Graph, how: dict[str, Any], kind: str) -> None:
    assert graph.vid_of_rank is not None  # stays with the graph
    page, before = a_page(graph, kind), resources()
    file = damage(graph, page, flip)
    for program, strategy in ((rank_program(), "pull"), (label_program(), "notify-pull")):
        with pytest.raises(CorruptionError, match=f"page {page}: checksum") as caught:
            run(graph, program, strategy=strategy, how=how)  # type: ignore[arg-type]
        assert str(file) in str(caught.value)
        del caught
    assert resources() <= before


@pytest.mark.parametrize("how", WAYS)
def test_a_page_in_the_place_of_another(graph: Graph, how: dict[str, Any]) -> None:
    file, offset = page_place(graph, 8)
    other, at = page_place(graph, 10)
    assert other == file
    whole = bytearray(file.read_bytes())
    whole[offset : offset + PAGE], whole[at : at + PAGE] = (
        whole[at : at + PAGE], whole[offset : offset + PAGE],
    )  # fmt: skip
    file.write_bytes(whole)
    with pytest.raises(CorruptionError, match=r"page (8|10): holds another page"):
        run(graph, rank_program(), how=how)


@pytest.mark.parametrize("how", WAYS)
def test_a_file_that_was_cut_off(graph: Graph, how: dict[str, Any]) -> None:
    file, offset = page_place(graph, 9)
    os.truncate(file, offset + 1000)
    with pytest.raises(CorruptionError, match="too early") as caught:
        run(graph, rank_program(), how=how)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("number", [errno.EIO, errno.ENXIO])
def test_a_disk_that_fails(
    graph: Graph, how: dict[str, Any], number: int, monkeypatch: Any
) -> None:
    before, true_read = resources(), os.preadv
    calls = 0

    def read(fd: int, buffers: Any, offset: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 12:
            raise OSError(number, os.strerror(number))
        return true_read(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", read)
    with pytest.raises(CorruptionError, match=r"in\.pages: page \d+: cannot be read") as caught:
        run(graph, rank_program(), how=how)
    assert os.strerror(number) in str(caught.value)
    del caught
    assert resources() <= before


@pytest.mark.parametrize("how", WAYS)
def test_short_reads_are_gone_on_with(graph: Graph, how: dict[str, Any], monkeypatch: Any) -> None:
    expected = values(graph, rank_program(), max_iter=3)
    graph.kept.clear()
    true_read = os.preadv

    def read(fd: int, buffers: Any, offset: int) -> int:
        # Through the cache, for a direct read cannot go on at any place.
        name = os.readlink(f"/proc/self/fd/{fd}")
        with open(name, "rb") as file:
            return true_read(file.fileno(), [buffers[0][:777]], offset)

    monkeypatch.setattr(os, "preadv", read)
    assert (values(graph, rank_program(), max_iter=3, how=how) == expected).all()


def test_a_page_that_fails_in_ordered_pushes(tmp_path: Path) -> None:
    graph = build(tmp_path / "g", directions="out")
    table = graph.page_table("out")
    for page in (0, int(np.flatnonzero(table["num_edges"] > 0)[-1])):
        file = tmp_path / "g" / "stripe.0" / "out.pages"
        whole = file.read_bytes()
        broken = bytearray(whole)
        broken[page * PAGE + 100] ^= 1
        file.write_bytes(broken)
        with pytest.raises(CorruptionError, match=f"page {page}: checksum"):
            run(graph, rank_program(), how={"load": False, "streams": 5})
        file.write_bytes(whole)


def test_the_last_checkpoint_is_kept(graph: Graph, tmp_path: Path) -> None:
    expected = values(graph, heat_program(), max_iter=6)
    graph.kept.clear()
    page = a_page(graph, "small")
    place = {}

    class Damage(ps.progress.Silent):  # type: ignore[misc, name-defined]
        def advance(self, amount: float) -> None:
            place["steps"] = place.get("steps", 0) + 1
            if place["steps"] == 3:
                place["file"] = damage(
                    graph, page, lambda data: data.__setitem__(slice(8, 12), b"no!!")
                )

    how = {
        "load": False, "cache_pages": 0, "checkpoint": tmp_path / "c",
        "checkpoint_every": Schedule(every_steps=1),
    }  # fmt: skip
    with pytest.raises(CorruptionError, match=f"page {page}: not a page"):
        run(graph, heat_program(), max_iter=6, how={**how, "progress": Damage()})
    assert (tmp_path / "c" / FILE_NAME).exists()
    damage(graph, page, lambda data: data.__setitem__(slice(8, 12), b"PSPG"))
    again = run(graph, heat_program(), max_iter=6, how={**how, "resume": True})
    assert len(again.engine.metrics.rows) == 3
    assert (again.values["heat"] == expected).all()


def test_a_stripe_that_is_missing(graph: Graph, tmp_path: Path) -> None:
    path = graph.path
    assert path is not None
    stripe = path / "stripe.1"
    moved = stripe.rename(path / "elsewhere")
    with pytest.raises(InputNotFoundError, match="stripe 1 of 2 is missing"):
        ps.open(path)
    moved.rename(stripe)
    (stripe / "in.pages").unlink()
    with pytest.raises(InputNotFoundError, match=r"in\.pages: cannot be opened"):
        ps.open(path)


def test_errors_are_of_one_family(graph: Graph) -> None:
    damage(graph, 5, flip)
    with pytest.raises(PenstockError):
        ps.pagerank(graph, load=False)
