"""Whatever stops a build, nothing is left of it, and the next one works."""

from __future__ import annotations

import errno
import gc
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingest_oracle import Input, check_graph
from ingest_squeeze import Squeeze, squeezed

import penstock as ps
from penstock.errors import DiskSpaceError, LockedError, PenstockError, TargetExistsError
from penstock.ingest import build as build_module
from penstock.ingest import rows as rows_module
from penstock.ingest.build import build
from penstock.ingest.options import BuildOptions
from penstock.protocols import Source
from penstock.types import EdgeChunk

#: Everything that can go to disk does.
SPILLING = Squeeze(60, 4, 0, 0, 400, 160, 200_000)
OPTIONS = BuildOptions(memory=1 << 24, threads=2)


def graph_rows(kind: str = "gaps") -> Input:
    rng = np.random.default_rng(21)
    src, dst = (rng.integers(0, 60, 400) * 70_001).tolist(), rng.integers(0, 60, 400).tolist()
    values = {"weight": rng.random(400).tolist()}
    given = Input(src, dst, values, {"weight": None}, "weight", extra=[5, 2**50])
    if kind == "names":
        names = [[f"é{v}" for v in side] for side in (src, dst)]
        given = replace(given, src=names[0], dst=names[1], strings=True, extra=["", "x"])
    return given


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def at_work() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("penstock")]


@pytest.fixture
def leaves_nothing(tmp_path: Path) -> Iterator[Callable[[Callable[[], Any]], BaseException | None]]:
    """Runs something, returns what it raised, and checks that nothing of it is left."""
    build(graph_rows().source(50), None, OPTIONS)
    gc.collect()
    gc.freeze()  # the hundreds of collections to come need not look at what is there now
    before = open_files()

    def run(work: Callable[[], Any]) -> BaseException | None:
        raised: BaseException | None = None
        try:
            work()
        except (PenstockError, KeyboardInterrupt, OSError, ValueError) as error:
            raised = error.with_traceback(None)
            raised.__context__ = raised.__cause__ = None
        gc.collect()
        if raised is not None:
            assert sorted(tmp_path.rglob("*")) == []
            assert at_work() == []
            assert open_files() == before
        return raised

    return run


class Interrupting:
    """Progress that presses Ctrl-C at the k-th sign of life."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.stages: list[str] = []

    def start(self, stage: str, total: float | None, unit: str) -> None:
        self.stages.append(stage)
        self.advance(0)

    def advance(self, amount: float) -> None:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1

    def note(self, text: str) -> None:
        self.advance(0)


@pytest.mark.parametrize("layout", ["banded", "slotted"])
@pytest.mark.parametrize("kind", ["gaps", "names"])
def test_interrupted_anywhere(tmp_path: Path, leaves_nothing: Any, layout: Any, kind: str) -> None:
    given = graph_rows(kind)
    options = replace(OPTIONS, layout=layout)
    stages: set[str] = set()
    with squeezed(SPILLING):
        for k in range(0, 2000, 3):
            progress = Interrupting(k)
            raised = leaves_nothing(
                lambda p=progress: build(given.source(50), tmp_path / "g", options, p)
            )
            if raised is None:
                break
            assert isinstance(raised, KeyboardInterrupt)
            stages.add(progress.stages[-1])
    assert {"reading", "counting", "distributing", "writing out-lists"} <= stages
    check_graph(ps.open(tmp_path / "g"), given, options)


def failing(given: Input, at: int) -> Source:
    source = given.source(50)

    def chunks(advance: Callable[[float], None]) -> Iterator[EdgeChunk]:
        for k, chunk in enumerate(source.chunks(advance)):
            if k == at:
                raise ValueError("the source is broken")
            yield chunk

    return replace(source, chunks=chunks)


@pytest.mark.parametrize("at", [0, 3])
def test_source_that_fails(tmp_path: Path, leaves_nothing: Any, at: int) -> None:
    raised = leaves_nothing(lambda: build(failing(graph_rows(), at), tmp_path / "g", OPTIONS))
    assert str(raised) == "the source is broken"


@pytest.fixture
def no_space_check(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (build_module, rows_module):
        monkeypatch.setattr(module, "check_space", lambda *args: None, raising=False)


@pytest.mark.parametrize("call", ["write", "writev"])
@pytest.mark.usefixtures("no_space_check")
def test_disk_full_at_any_write(
    tmp_path: Path, leaves_nothing: Any, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The k-th write finds no room, for each k until there are no more."""
    given = graph_rows()
    real = getattr(os, call)
    left = 0

    def failing(fd: int, data: Any) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left -= 1
        return int(real(fd, data))

    monkeypatch.setattr(os, call, failing)
    failures = 0
    with squeezed(SPILLING):
        # The very first write is that of the lock.
        for k in (*range(1, 12), *range(12, 400, 7)):
            left = k
            raised = leaves_nothing(lambda: build(given.source(50), tmp_path / "g", OPTIONS))
            if raised is None:
                break
            assert isinstance(raised, DiskSpaceError), raised
            failures += 1
    assert failures > 1
    check_graph(ps.open(tmp_path / "g"), given, OPTIONS)


def test_room_is_checked_beforehand(
    tmp_path: Path, leaves_nothing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    raised = leaves_nothing(
        lambda: ps.generate("uniform", tmp_path / "g", scale=12, memory="16MiB", threads=2)
    )
    assert isinstance(raised, DiskSpaceError)
    assert "1.0 kB" in str(raised)
    assert "tmpdir" in str(raised)


def test_target_that_exists(tmp_path: Path) -> None:
    given = graph_rows()
    target = tmp_path / "g"
    build(given.source(), target, OPTIONS)
    with pytest.raises(TargetExistsError, match="overwrite=True"):
        build(given.source(), target, OPTIONS)
    again = replace(OPTIONS, overwrite=True)
    for other in (tmp_path / "file", tmp_path / "folder"):
        other.mkdir() if other.name == "folder" else other.write_text("mine")
        with pytest.raises(TargetExistsError, match="not a graph"):
            build(given.source(), other, again)
    # A build that fails leaves the graph that was to be replaced.
    with pytest.raises(ValueError, match="broken"):
        build(failing(given, 2), target, again)
    check_graph(ps.open(target), given, OPTIONS)
    smaller = Input([1], [2])
    build(smaller.source(), target, again)
    check_graph(ps.open(target), smaller, again)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "g"]


def test_place_that_is_not_there(tmp_path: Path) -> None:
    source = graph_rows().source()
    with pytest.raises(PenstockError, match="no such directory"):
        build(source, tmp_path / "no" / "g", OPTIONS)
    with pytest.raises(PenstockError, match="no such directory"):
        build(source, tmp_path / "g", replace(OPTIONS, tmpdir=tmp_path / "no"))
    with pytest.raises(PenstockError, match="no such directory"):
        build(source, tmp_path / "g", replace(OPTIONS, stripes=(tmp_path / "no",)))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """The rights of an ordinary user, even for root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def forbidden(tmp_path: Path) -> Iterator[Path]:
    closed = [each for each in tmp_path.parents if not each.stat().st_mode & 0o001]
    folders = [tmp_path, *closed]
    modes = [folder.stat().st_mode for folder in folders]
    for folder in folders:
        folder.chmod(0o755)
    place = tmp_path / "forbidden"
    place.mkdir(mode=0o555)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    build(graph_rows().source(), None, OPTIONS)
    yield place
    for folder, mode in zip(folders, modes, strict=True):
        folder.chmod(mode)


@pytest.mark.usefixtures("forbidden", "as_nobody")
@pytest.mark.parametrize(
    "what",
    [
        "target",
        "stripe",
        "tmpdir",
    ],
)
def test_place_that_may_not_be_written(tmp_path: Path, what: str) -> None:
    forbidden = tmp_path / "forbidden"
    target = (forbidden if what == "target" else tmp_path / "open") / "g"
    options = replace(
        OPTIONS,
        stripes=(forbidden,) if what == "stripe" else (),
        tmpdir=forbidden if what == "tmpdir" else None,
    )
    with pytest.raises(PenstockError, match=r"forbidden.*([Pp]ermission|denied)"):
        build(graph_rows().source(), target, options)
    assert list((tmp_path / "open").iterdir()) == []


def test_two_builds_of_one_target(tmp_path: Path) -> None:
    given = graph_rows()
    begun, go_on = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    class Waiting(Interrupting):
        def start(self, stage: str, total: float | None, unit: str) -> None:
            begun.set()
            assert go_on.wait(60)

    def first() -> None:
        try:
            build(given.source(50), tmp_path / "g", OPTIONS, Waiting(-1))
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=first)
    worker.start()
    try:
        assert begun.wait(60)
        with pytest.raises(LockedError, match="another"):
            build(given.source(50), tmp_path / "g", OPTIONS)
        build(given.source(50), tmp_path / "other", OPTIONS)
    finally:
        go_on.set()
        worker.join(60)
    assert failures == []
    check_graph(ps.open(tmp_path / "g"), given, OPTIONS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g", "other"]
