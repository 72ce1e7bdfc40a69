"""Results in parts: each rank writes the rows of its own vertices to a Parquet file.

A folder of parts has ``part-00000.parquet`` and so on, one of each rank, and ``result.json``, which
says what the parts are and is written last. Ranks write into a hidden folder beside it, which gets
its name when all of them are done: a folder of that name is a whole result. Where ranks have disks
of their own, each host has such a folder with the parts of its ranks, and the one that the call was
made on has ``result.json``. ``penstock clean`` finds hidden folders that dead runs have left.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np

from penstock.distributed.hosts import Hosts
from penstock.engine.over_hosts import Part
from penstock.engine.ownership import Vertices
from penstock.engine.peers import Peers
from penstock.engine.result import Result
from penstock.engine.result_columns import ArrayIds, Column, Namer, ids_of
from penstock.engine.vertices import in_id_order
from penstock.errors import InputNotFoundError, OptionError, TargetExistsError
from penstock.files import unfinished
from penstock.store.graph import Graph

FORMAT = "penstock-result"
VERSION = 1
#: The file that describes the parts.
DOCUMENT = "result.json"


@dataclass(frozen=True, slots=True)
class PartFile:
    """A file of a result, as ``result.json`` describes it."""

    file: str
    rank: int
    host: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Target:
    """Where the parts of a result go."""

    folder: Path
    #: Hexadecimal digits that are unique to the run (24) and to one attempt to make it (8).
    run: str
    attempt: str
    overwrite: bool

    @property
    def token(self) -> str:
        """Unique to the attempt: a rank that was taken for lost may still write, and may have had
        another number.
        """
        return self.run + self.attempt

    @property
    def hidden(self) -> Path:
        """The folder that becomes the result."""
        return self.folder.parent / f".{self.folder.name}.writing.{self.token}"

    def begin(self) -> None:
        """Raise if the parts cannot be put there; remove what earlier attempts have left."""
        self.check()
        self.clear(self.attempt)

    def clear(self, attempt: str | None = None) -> None:
        """Remove the hidden folders of the run that this process sees, but for one attempt's."""
        for folder in self.folder.parent.glob(f".{escape(self.folder.name)}.writing.{self.run}*"):
            if attempt is None or not folder.name.endswith(attempt):
                shutil.rmtree(folder, ignore_errors=True)

    def check(self) -> None:
        """Raise if the parts cannot be put there, on this host."""
        folder, where = self.folder, f"on {socket.gethostname()}"
        if not folder.parent.is_dir():
            raise InputNotFoundError(
                f"{folder.parent}: no such directory {where} to put {folder.name} in"
            )
        if not os.access(folder.parent, os.W_OK):
            raise OptionError(f"out: {folder.parent} cannot be written {where}; choose another")
        if not os.path.lexists(folder):
            return
        if not self.overwrite:
            raise TargetExistsError(
                f"{folder}: already exists {where}; choose another name or pass overwrite=True "
                "(--overwrite)"
            )
        if folder.is_symlink() or not folder.is_dir() or not _is_ours(folder):
            raise TargetExistsError(
                f"{folder}: is there {where} and is no result in parts, so it is not replaced; "
                "choose another name"
            )


def _is_ours(folder: Path) -> bool:
    """Whether a folder contains nothing but a result."""
    return all(
        name == DOCUMENT or (name.startswith("part-") and name.endswith(".parquet"))
        for name in os.listdir(folder)
    )


# A rank's side

#: By rank: the hidden folder that this process has written to, open and locked.
_HELD: dict[int, int] = {}


def _hold(folder: Path, rank: int) -> None:
    """Lock a folder, together with other ranks: ``penstock clean`` leaves it alone. What a file
    system without locks has is known by its age only.
    """
    let_go(rank)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_SH)
    _HELD[rank] = fd


def let_go(rank: int) -> None:
    """The result that this rank has written a part of last is complete, or will never be."""
    fd = _HELD.pop(rank, None)
    if fd is not None:
        os.close(fd)


def part_name(rank: int) -> str:
    """The file of a rank.

    >>> part_name(3)
    'part-00003.parquet'
    """
    return f"part-{rank:05}.parquet"


def write_part(target: Target, rank: int, table: Result) -> PartFile:
    """Write a rank's file into the hidden folder."""
    path = target.hidden / part_name(rank)
    target.hidden.mkdir(exist_ok=True)
    _hold(target.hidden, rank)
    table.to_parquet(path)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return PartFile(path.name, rank, socket.gethostname(), len(table), path.stat().st_size, digest)


def part_table(graph: Graph, part: Part) -> Result:
    """A rank's part of a result in the user's ids, ascending."""
    vertices = Vertices(part.begins, part.ends).all
    ids, arrays = in_id_order(graph, vertices, list(part.columns.values()))
    namer = Namer(ids_of(graph), graph.vid_of_rank) if part.vid_columns else None
    columns = {
        name: Column(array, len(ids), None, namer if name in part.vid_columns else None)
        for name, array in zip(part.columns, arrays, strict=True)
    }
    return Result(part.name, ArrayIds(ids), columns)


def place_parts(peers: Peers, target: Target) -> None:
    """Rename the hidden folder of this rank's host. Some hosts may share a disk, so one rank acts
    after another.
    """
    for rank in range(peers.size):
        if rank == peers.rank and target.hidden.is_dir():
            _give_name(target)
        peers.allgather(np.empty(0))


def _give_name(target: Target) -> None:
    target.check()
    old = target.folder.parent / f".{target.folder.name}.replaced.{target.token}"
    if target.folder.exists():
        target.folder.rename(old)
    target.hidden.rename(target.folder)
    shutil.rmtree(old, ignore_errors=True)


# The caller's side


def publish(hosts: Hosts, target: Target, facts: Mapping[str, Any]) -> None:
    """Make the result appear, once all parts are written. ``facts["parts"]`` has the files."""
    files: Sequence[PartFile] = facts["parts"]
    document = {"format": FORMAT, "version": VERSION, **facts}
    document["parts"] = [asdict(each) for each in files]
    if all(_is_there(target.hidden, each) for each in files):
        _write_document(target.hidden, document)
        _give_name(target)
        return
    if target.folder.is_dir():
        (target.folder / DOCUMENT).unlink(missing_ok=True)
    hosts.run(place_parts, target)
    target.folder.mkdir(exist_ok=True)
    _write_document(target.folder, document)


@contextmanager
def withdrawing(target: Target | None) -> Iterator[None]:
    """If the block fails, remove what the ranks have left, as far as this process sees it."""
    try:
        yield
    except BaseException:
        if target is not None:
            target.clear()
        raise


def _is_there(folder: Path, part: PartFile) -> bool:
    path = folder / part.file
    return path.is_file() and path.stat().st_size == part.bytes


def _write_document(folder: Path, document: Mapping[str, Any]) -> None:
    with unfinished(folder / DOCUMENT, overwrite=True) as temporary:
        temporary.write_text(json.dumps(plain(document), indent=1) + "\n")


def plain(value: Any) -> Any:
    """A value for JSON: numbers that are not finite become null, other objects text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, Path) else repr(value)[:200]
