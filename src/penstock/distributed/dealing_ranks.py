"""What ranks do while a graph is dealt out: see :mod:`penstock.distributed.dealing`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from penstock.config import thread_count
from penstock.distributed.sight import agree
from penstock.engine.peers import Peers
from penstock.errors import (
    AccessError,
    CorruptionError,
    DiskSpaceError,
    InputNotFoundError,
    OptionError,
    PenstockError,
)
from penstock.files import write_error
from penstock.store.catalog import Catalog
from penstock.store.direct import page_buffer
from penstock.store.first_use import check_file
from penstock.store.page import check_page
from penstock.store.paged import FilePages, PagedGraph, open_graph
from penstock.store.part import Part
from penstock.store.part_folder import ADVICE, PartFolder
from penstock.types import I64, U8, Array, Direction

P = ParamSpec("P")
R = TypeVar("R")
#: Bytes that a rank reads before it waits for the others.
PIECE_BYTES = 8 << 20
#: Files of :func:`look_around` that are older were left by a killed process.
OLD_SECONDS = 3600.0
#: Errors of disks.
_OF_DISKS = (DiskSpaceError, AccessError)


@dataclass(frozen=True, slots=True)
class DealJob:
    """A dealing, as it is sent to all ranks."""

    source: Path
    #: Where the part goes on this rank.
    path: Path
    tag: int
    nonce: str
    #: The name of this rank's host; empty: as the system says.
    host: str = ""
    #: The catalog of the graph that is dealt.
    catalog: Catalog | None = None
    places: tuple[str, ...] = ()
    #: For each place, the rank that writes there.
    leaders: tuple[int, ...] = ()
    #: For each stripe, the places that get it.
    held_by: tuple[tuple[int, ...], ...] = ()

    def folder(self, rank: int) -> PartFolder | None:
        """What a rank writes; None if it writes nothing."""
        if rank not in self.leaders:
            return None
        assert self.catalog is not None
        part = Part(self.tag, self.places, self.held_by, self.leaders.index(rank))
        return PartFolder(self.path, self.catalog, part)


@dataclass(frozen=True, slots=True)
class Here:
    """A rank before a dealing."""

    host: str
    path: Path
    #: The first of the ranks that write to the same directory.
    leader: int


@dataclass(frozen=True, slots=True)
class Missing:
    """What a place lacks."""

    rank: int
    host: str
    path: Path
    files: tuple[str, ...]
    pages: Mapping[Direction, I64]
    num_bytes: int
    #: Bytes of a complete part.
    all_bytes: int
    free_bytes: int
    #: The same for all places on one disk.
    disk: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Batch:
    """What is sent at once: an index file to some ranks, or pages of a direction."""

    num_bytes: int
    file: str = ""
    to: tuple[int, ...] = ()
    direction: Direction = "out"
    #: By rank, ascending.
    pages: Mapping[int, I64] = field(default_factory=dict)


def _naming_host(
    function: Callable[Concatenate[Peers, DealJob, P], R],
) -> Callable[Concatenate[Peers, DealJob, P], R]:
    """Errors of a host's disk name the host: the path is the same on all of them."""

    @wraps(function)
    def wrapped(peers: Peers, job: DealJob, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(peers, job, *args, **kwargs)
        except OSError as error:
            if isinstance(error, PenstockError) and not isinstance(error, _OF_DISKS):
                raise
            found = write_error(error, job.path, ADVICE)
            raise type(found)(f"on {_host(job)}: {found}") from error

    return wrapped


@_naming_host
def look_around(peers: Peers, job: DealJob) -> Here:
    """Find out which ranks see the graph, and which ranks write to the same directory."""
    agree(peers, _source(job))
    parent = job.path.parent
    if not parent.is_dir():
        raise InputNotFoundError(
            f"{parent}: no such directory on {_host(job)} to put a part of the graph in"
        )
    prefix = f".{job.path.name}.sight.{job.nonce}."
    own = parent / f"{prefix}{peers.rank}"
    _remove_old_signs(job)
    try:
        own.touch(exist_ok=False)
        peers.drain()
        names = [name for name in os.listdir(parent) if name.startswith(prefix)]
        peers.drain()
    except OSError as error:
        raise write_error(error, parent, "choose another place, and deal again") from error
    finally:
        with suppress(OSError):
            own.unlink()
    return Here(_host(job), job.path, min(int(name.removeprefix(prefix)) for name in names))


def _remove_old_signs(job: DealJob) -> None:
    """Remove what processes left that were killed in :func:`look_around`."""
    for path in job.path.parent.glob(f".{job.path.name}.sight.*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > OLD_SECONDS:
                path.unlink()


@_naming_host
def look_for_missing(peers: Peers, job: DealJob) -> Missing | None:
    """Read what a place has, and return what it lacks."""
    folder = job.folder(peers.rank)
    if folder is None:
        return None
    with folder:
        catalog = folder.catalog
        files = folder.missing_files()
        pages: dict[Direction, I64] = {
            direction: folder.missing_pages(direction, thread_count(None))
            for direction in catalog.directions
        }
        needed = sum(catalog.files[name].bytes for name in files)
        needed += sum(len(each) for each in pages.values()) * catalog.page_bytes
        everything = sum(record.bytes for record in catalog.files.values())
        everything += catalog.page_bytes * sum(
            len(range(k, stats.num_pages, catalog.num_stripes))
            for stats in catalog.directions.values()
            for k in folder.part.stripes
        )
        disk = socket.gethostname(), job.path.parent.stat().st_dev
        return Missing(
            peers.rank, _host(job), job.path, tuple(files), pages, needed, everything,
            folder.free_bytes(), disk,
        )  # fmt: skip


@_naming_host
def send(peers: Peers, job: DealJob, batch: Batch) -> None:
    """Send a batch, and write what arrives."""
    graph = _source(job)
    dealt = agree(peers, graph).dealt or tuple(range(peers.size))
    folder = job.folder(peers.rank)
    if folder is None:
        _send(peers, graph, dealt, batch, None)
        return
    with folder:
        _send(peers, graph, dealt, batch, folder)


@_naming_host
def finish(peers: Peers, job: DealJob) -> None:
    """Make the parts appear, once all of them are complete."""
    folder = job.folder(peers.rank)
    if folder is not None:
        with folder:
            folder.commit()


def _send(
    peers: Peers,
    graph: PagedGraph | None,
    dealt: tuple[int, ...],
    batch: Batch,
    folder: PartFolder | None,
) -> None:
    if batch.file:
        _send_file(peers, graph, batch, folder)
        return

    def take(page: int, data: U8) -> None:
        # A page that is refused is found missing in the next round, and sent again.
        assert folder is not None
        folder.take_page(batch.direction, page, data)

    source = None if graph is None else _opened(graph, batch.direction)
    try:
        for pages in _turns(batch, len(set(dealt))):
            for page in pages:
                if dealt[page % len(dealt)] == peers.rank:
                    assert source is not None
                    data = _read_page(source, page)
                    for rank in (each for each, held in batch.pages.items() if _holds(held, page)):
                        if rank == peers.rank:
                            take(page, data)
                        else:
                            peers.post(rank, np.array([page]), data)
            for messages in peers.drain():
                for number, data in messages:
                    take(int(number[0]), data)
    finally:
        if source is not None:
            source.close()


def _turns(batch: Batch, readers: int) -> Iterator[list[int]]:
    """The pages of a batch, ascending, those of one exchange at a time: the same on all ranks."""
    pages = np.unique(np.concatenate(list(batch.pages.values())))
    size = batch.num_bytes // sum(map(len, batch.pages.values()))
    step = max(1, PIECE_BYTES // size) * readers
    for begin in range(0, len(pages), step):
        yield pages[begin : begin + step].tolist()


def _holds(pages: I64, page: int) -> bool:
    at = int(np.searchsorted(pages, page))
    return at < len(pages) and int(pages[at]) == page


def _opened(graph: PagedGraph, direction: Direction) -> FilePages:
    source = graph.pages(direction)
    assert isinstance(source, FilePages)
    return source.direct()


def _read_page(source: FilePages, page: int) -> U8:
    data = page_buffer(source.page_bytes)
    source.read_page(page, data)
    check_page(data, source.where(page))
    return data


def _send_file(
    peers: Peers, graph: PagedGraph | None, batch: Batch, folder: PartFolder | None
) -> None:
    """The first rank that has the graph sends an index file."""
    has = [int(flag[0]) for (flag,) in peers.allgather(np.array([graph is not None]))]
    reader = has.index(1)
    size = batch.num_bytes // len(batch.to)
    if peers.rank == reader:
        assert graph is not None
        assert graph.path is not None
        check_file(graph.path / batch.file, graph.catalog.files[batch.file])
    for begin in range(0, size, PIECE_BYTES):
        if peers.rank == reader:
            assert graph is not None
            assert graph.path is not None
            data = _read_piece(graph.path / batch.file, begin, min(PIECE_BYTES, size - begin))
            for rank in batch.to:
                if rank != reader:
                    peers.post(rank, data)
                elif folder is not None:
                    folder.take_piece(batch.file, begin, data)
        for messages in peers.drain():
            for (piece,) in messages:
                assert folder is not None
                folder.take_piece(batch.file, begin, piece)


def _read_piece(path: Path, begin: int, length: int) -> Array:
    with path.open("rb") as file:
        file.seek(begin)
        data = np.frombuffer(file.read(length), np.uint8)
    if len(data) < length:
        raise CorruptionError(f"{path}: became shorter while it was sent; verify the graph")
    return data


def _source(job: DealJob) -> PagedGraph | None:
    """The graph, or what of it is here; None if there is nothing."""
    try:
        graph = open_graph(job.source)
    except InputNotFoundError:
        return None
    if graph.tag != job.tag:
        raise OptionError(
            f"deal: {job.source} is another graph on {_host(job)} than where the call was made"
        )
    return graph


def _host(job: DealJob) -> str:
    return job.host or socket.gethostname()
