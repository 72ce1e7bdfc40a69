"""Flipped bits in every file of small stores: verify finds each, and so does any run that reads it.

Of catalogs, headers of pages, records and checkpoints, and index files every bit is flipped; of all
other bytes one bit. After a flip, ``verify`` must tell of it. One of the runs that read a store
(each algorithm in memory and streamed, export, single lists, live graphs, ...) must then raise an
error or, if it does not use the damaged file or page, give the answer that it gives on the sound
store. Whether a run uses a file or page is found out beforehand: it does if the run fails when all
bytes of it are inverted. A damaged checkpoint is tried by the run that it belongs to.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from torture import Case, Outcome, found, ok
from torture._stores import KINDS, PAGE_BYTES, copied, files_of, prepared, read, readers

NAME = "flips"
DESCRIPTION = (
    "Flipped bits in every file of small stores of each kind, against all that reads them."
)
CATEGORIES = ("store",)
QUICK_CASES = 15
TIMEOUT_SECONDS = 600.0

#: Of a page and of a record of a log; all bits of them are flipped.
HEADER_BYTES = 64


def cases(seed: int) -> Iterator[Case]:
    """Every byte of every file once, in an order that the seed decides; then again with other runs.
    File sizes are known when stores have been made: a case names parts of a file by their share.
    """
    rng = random.Random(seed)
    for turn in itertools.count():
        spans = [(kind, k) for kind in KINDS for k in range(_PARTS)]
        rng.shuffle(spans)
        for kind, part in spans:
            yield {"store": kind, "part": part, "of": _PARTS, "seed": rng.randrange(1 << 30)}
        if turn == 2:
            return


#: Into how many cases the bytes of a store are divided.
_PARTS = 500


def run(case: Case, workspace: Path) -> Outcome:
    """Flip the bits of a part of a store, one at a time."""
    kind, rng = case["store"], random.Random(case["seed"])
    original = prepared(kind, workspace)
    places = _places(original)
    chosen = case.get("places")
    if chosen is None:
        low, high = (len(places) * k // case["of"] for k in (case["part"], case["part"] + 1))
        chosen = places[low:high]
    folder = _copy(kind, str(workspace))
    for name, place, bit in chosen:
        _flip(folder / name, place, bit)
        try:
            wrong = _try(kind, name, place, folder, workspace, rng)
        finally:
            _flip(folder / name, place, bit)
        if wrong is not None:
            return found(f"{wrong}\n{kind}: bit {bit} of byte {place} of {name}")
    return ok()


def _flip(path: Path, place: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))


@cache
def _copy(kind: str, workspace: str) -> Path:
    return copied(kind, Path(workspace))


@cache
def _places(folder: Path) -> list[tuple[str, int, int]]:
    """File, byte and bit of every flip of a store."""
    places = []
    for name in _own_files(folder):
        path = folder / name
        headers = _headers(path)
        size = path.stat().st_size
        for place in range(size):
            all_bits = any(place in header for header in headers)
            bits = range(8) if all_bits else [(place * 7 + size) % 8]
            places += [(name, place, bit) for bit in bits]
    return places


def _own_files(folder: Path) -> list[str]:
    """The files of a store that no other kind has in the same way."""
    names = files_of(folder)
    saved = [name for name in names if name.startswith("checkpoints/")]
    # A run that streams saves the same as one in memory: one of the two is enough.
    return [
        name for name in saved or names
        if " streamed/" not in name or name.replace(" streamed/", "/") not in saved
    ]  # fmt: skip


def _headers(path: Path) -> list[range]:
    """The bytes of a file all of whose bits are flipped."""
    size = path.stat().st_size
    if path.suffix == ".checkpoint":
        json_bytes = int.from_bytes(path.read_bytes()[-24:-16], "little")
        return [range(size - json_bytes - 32, size)]
    if path.suffix == ".pages":
        return [range(at, at + HEADER_BYTES) for at in range(0, size, PAGE_BYTES)]
    if path.name.startswith("log."):
        return list(_record_headers(np.fromfile(path, np.uint8)))
    return [range(size)]


def _record_headers(log: Any) -> Iterator[range]:
    from penstock.dynamic.log_format import Header

    at = 0
    while at < len(log):
        header = Header.unpack(log[at : at + HEADER_BYTES])
        assert header is not None
        yield range(at, at + HEADER_BYTES)
        at += header.num_bytes


def _try(
    kind: str, name: str, place: int, folder: Path, workspace: Path, rng: random.Random
) -> str | None:
    """What is wrong about how a flip is dealt with."""
    from penstock.errors import PenstockError

    problems, notes = _verify(folder, name)
    if not problems and not notes:
        return f"verify finds nothing wrong with {_family(name)}"
    saved = name.split("/")[1] if name.startswith("checkpoints/") else None
    reader = saved or rng.choice(readers(kind))
    try:
        answer = read(kind, reader, folder, workspace)
    except PenstockError:
        return None
    if answer != _right(kind, reader, str(workspace)):
        return f"{reader}: a wrong answer from a damaged {_family(name)}"
    if problems and _uses(kind, reader, name, place // PAGE_BYTES, str(workspace)):
        return f"{reader}: no error although {_family(name)} is damaged"
    return None


def _verify(folder: Path, name: str) -> tuple[list[str], list[str]]:
    """The problems that ``penstock verify`` finds in the graph or checkpoint that a file is of, and
    its notes: about bytes that no run uses.
    """
    from penstock.errors import PenstockError
    from penstock.interfaces.checking import check_any

    try:
        target = (folder / name).parent if name.startswith("checkpoints/") else folder / "g"
        report = check_any(target, threads=1)
        return [str(each) for each in report.problems], list(report.notes)
    except PenstockError as error:
        return [str(error)], []


@cache
def _right(kind: str, reader: str, workspace: str) -> str:
    return read(kind, reader, prepared(kind, Path(workspace)), Path(workspace))


@cache
def _uses(kind: str, reader: str, name: str, page: int, workspace: str) -> bool:
    """Whether a run uses a file, or of a file of pages one page."""
    from penstock.errors import PenstockError

    path = _copy(kind, workspace) / name
    raw = path.read_bytes()
    begin, end = 0, len(raw)
    if name.endswith(".pages"):
        begin, end = page * PAGE_BYTES, (page + 1) * PAGE_BYTES
    inverted = bytes(255 - byte for byte in raw[begin:end])
    path.write_bytes(raw[:begin] + inverted + raw[end:])
    try:
        read(kind, reader, _copy(kind, workspace), Path(workspace))
    except PenstockError:
        return True
    finally:
        path.write_bytes(raw)
    return False


def _family(name: str) -> str:
    """A file without what differs from store to store."""
    last = name.rpartition("/")[2]
    return last if last.count(".") < 3 else last.partition(".")[0]


def shrink(case: Case) -> Iterator[Case]:
    """Halves of the part; the runs are drawn anew, so a half may find nothing."""
    part, of = case["part"], case["of"]
    if of < 1 << 24:
        yield case | {"part": 2 * part, "of": 2 * of}
        yield case | {"part": 2 * part + 1, "of": 2 * of}
