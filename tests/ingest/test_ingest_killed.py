"""Builds in processes of their own: killed halfway, and on a disk that is too small."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingest_oracle import Input, check_graph
from ingest_squeeze import squeezed
from test_ingest_faults import OPTIONS, SPILLING, graph_rows

import penstock as ps
from penstock.errors import DiskSpaceError, FormatError, InputNotFoundError, LockedError
from penstock.ingest import build as build_module
from penstock.ingest import rows as rows_module
from penstock.ingest.build import build
from penstock.ingest.ids import sorted_unique

#: Builds, says so when it comes to a stage, and stays there.
CHILD = """
import sys, time
from pathlib import Path
from dataclasses import replace
sys.path.insert(0, sys.argv[1])
from ingest_squeeze import squeezed
from test_ingest_faults import OPTIONS, SPILLING, graph_rows
from penstock.ingest.build import build

class Stopping:
    def __init__(self, stage): self.stage, self.there = stage, False
    def start(self, stage, total, unit): self.there = stage.startswith(self.stage)
    def advance(self, amount):
        if self.there:
            print("there", flush=True)
            time.sleep(600)
    def note(self, text): pass

target, stage, layout, tmpdir = Path(sys.argv[2]), sys.argv[3], sys.argv[4], Path(sys.argv[5])
options = replace(OPTIONS, overwrite=True, layout=layout, tmpdir=tmpdir, stripes=(tmpdir,))
with squeezed(SPILLING):
    build(graph_rows().source(50), target, options, Stopping(stage))
print("finished", flush=True)
"""


@pytest.mark.parametrize(
    ("stage", "layout", "replacing"),
    [
        ("reading", "banded", False),
        ("distributing", "banded", True),
        ("writing in", "banded", False),
        ("writing in", "banded", True),
        ("repacking in", "slotted", True),
    ],
)
def test_killed(tmp_path: Path, stage: str, layout: str, *, replacing: bool) -> None:
    target, elsewhere = tmp_path / "g", tmp_path / "elsewhere"
    elsewhere.mkdir()
    old = Input([1, 2], [2, 3])
    if replacing:
        build(old.source(), target, OPTIONS)
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", CHILD, here, str(target), stage, layout, str(elsewhere)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"there\n"
        with pytest.raises(LockedError, match=str(child.pid)):
            build(old.source(), target, replace(OPTIONS, overwrite=True))
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    for entry in [*tmp_path.iterdir(), *elsewhere.iterdir()]:
        if entry == target and replacing:
            check_graph(ps.open(entry), old, OPTIONS)
        else:
            with pytest.raises((FormatError, InputNotFoundError)):
                ps.open(entry)
    given = graph_rows()
    graph = build(given.source(), target, replace(OPTIONS, overwrite=replacing))
    check_graph(graph, given, OPTIONS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "g"]
    assert list(elsewhere.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Any]:
    """A file system of its own whose size can be set."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode != 0:
        pytest.skip("making a file system needs root")

    def resize(size: int) -> Path:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)
        return place

    yield resize
    # Files of the graph are still mapped.
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("kind", ["gaps", "names"])
@pytest.mark.parametrize("layout", ["banded", "slotted"])
def test_disk_of_every_size(
    small_disk: Any, monkeypatch: pytest.MonkeyPatch, kind: str, layout: Any
) -> None:
    """A disk that grows by a page until the graph fits."""
    for module in (build_module, rows_module):
        monkeypatch.setattr(module, "check_space", lambda *args: None, raising=False)
    given = graph_rows(kind)
    options = replace(OPTIONS, layout=layout)
    refusals = []
    limits = replace(SPILLING, page_bytes=4096, unique_bytes=10_000)
    with squeezed(limits):
        for pages in range(7, 400):
            place = small_disk(pages * os.sysconf("SC_PAGE_SIZE"))
            try:
                graph = build(given.source(50), place / "g", options)
                break
            except DiskSpaceError as error:
                refusals.append(str(error))
            assert list(place.iterdir()) == []
    assert len(refusals) > 3
    assert all(str(place) in words for words in refusals)
    check_graph(graph, given, options)


def test_ids_on_a_full_disk(small_disk: Any) -> None:
    """Sorted numbers are all there, or it is said that they are not."""
    parts = np.random.default_rng(22).integers(0, 1 << 60, (12, 500)).astype(np.uint64)
    codes = []
    for pages in range(1, 60):
        place = small_disk(pages * os.sysconf("SC_PAGE_SIZE"))
        try:
            found = sorted_unique(iter(parts), 6000, place, place / "sorted")
        except OSError as error:
            codes.append(error.errno)
        else:
            assert np.array_equal(found, np.unique(parts))
            del found
        for file in place.iterdir():
            file.unlink()
    assert 5 < len(codes) < 59
    assert set(codes) == {errno.ENOSPC}
