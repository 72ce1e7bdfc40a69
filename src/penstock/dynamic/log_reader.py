"""Reading a log: what is in it, where it ends, and whether it is damaged.

A record counts if every byte of it is as written and it follows the record before it. Where the
next one does not count, the log ends, unless something after that place proves otherwise: every
record says up to which record all were synced when it was written (the watermark). If that reaches
the one that does not count, it was on the disk once and is damaged: an error. Else nobody was
promised that it was there: a tail that was torn when the power went, or that is being written
just now.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.dynamic.disk import Disk, DiskFile, RealDisk
from penstock.dynamic.log_format import (
    CLOSING,
    HEADER_BYTES,
    LOG_VERSION,
    MAGIC,
    OPENING,
    TAG_OFFSET,
    Header,
    decode,
)
from penstock.errors import CorruptionError, FormatError, InputNotFoundError
from penstock.store.page import checksum
from penstock.types import U8, Array

_SCAN_BYTES = 4 << 20
_logger = logging.getLogger("penstock")


@dataclass(frozen=True, slots=True)
class Record:
    """A batch as it was logged. The arrays are views of memory that is the record's own."""

    sequence: int
    kind: int
    arrays: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two records, known by the record before it."""

    #: Where the record before begins and ends in the file.
    start: int
    end: int
    sequence: int
    #: Of the header of the record before.
    checksum: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """What reading a log to its end found."""

    path: Path
    #: Batches read; the log's own records are not counted.
    records: int
    #: Where the log ends.
    end: Position
    #: Up to where later records prove that all was synced.
    proven_bytes: int
    #: Bytes after the end that are no whole record: a torn tail, or one that is being written.
    dropped_bytes: int
    #: Whether the last writer closed the log, so that nothing can be missing.
    closed: bool

    def __str__(self) -> str:
        said = f"{self.path}: {self.records:,} batches, up to record {self.end.sequence:,}"
        if self.dropped_bytes:
            return (
                f"{said}; {self.dropped_bytes:,} bytes after it, from byte {self.end.end:,} on, "
                "are no whole record and are dropped: no later record says that they were synced"
            )
        return f"{said}; " + ("closed properly" if self.closed else "not closed, nothing dropped")

    def tell(self, *, read_only: bool) -> None:
        """Tell the logger "penstock", unless the log was closed. A reader does not know whether its
        writer died or is at work.
        """
        if self.closed:
            return
        writer = ": its writer died, or has it open" if read_only else " by its last writer"
        said = f"{self.path}: was not closed{writer}; replayed {self.records:,} batch"
        said += "es" * (self.records != 1)
        if not self.dropped_bytes:
            _logger.info("%s", said)
            return
        done = "passed over" if read_only else "dropped"
        where = f"{self.dropped_bytes:,} bytes from byte {self.end.end:,} on"
        _logger.warning("%s; %s %s, which are no whole batch", said, done, where)


class LogReader:
    """Iterate over it once for the records; then :attr:`recovery` says what was found.

    Changes nothing, so any process may read while another one writes: it sees the whole records
    that were there when it began. ``since``: go on after a record that was read before.
    """

    def __init__(
        self, path: Path, tag: int, *, disk: Disk | None = None, since: Position | None = None
    ) -> None:
        self.path = path
        self._tag = tag
        self._disk: Disk = RealDisk() if disk is None else disk
        self._since = since
        self._recovery: Recovery | None = None
        self._records = 0

    @property
    def recovery(self) -> Recovery:
        """What was found; known when all records have been taken."""
        if self._recovery is None:
            raise ValueError("the log has not been read to its end yet")
        return self._recovery

    def __iter__(self) -> Iterator[Record]:
        try:
            file = self._disk.open(self.path)
        except FileNotFoundError:
            raise InputNotFoundError(
                f"{self.path}: the log is missing; the graph is not complete without it: restore it"
            ) from None
        try:
            yield from self._read(file)
        except OSError as error:
            raise CorruptionError(
                f"{self.path}: cannot be read ({error.strerror}); check the disk"
            ) from error
        finally:
            file.close()

    def _read(self, file: DiskFile) -> Iterator[Record]:
        size = file.size()
        first = self._first(file) if self._since is None else self._resumed(file, self._since)
        place = Position(
            first[0], first[0] + first[1].num_bytes, first[1].sequence, first[1].checksum
        )
        last_kind = first[1].kind
        unproven = deque([place])
        proven_bytes = 0
        while True:
            found = self._next(file, place, size)
            if found is None and self._is_damaged(file, place, size):
                # A writer may have completed the record after it was looked at.
                found = self._next(file, place, size)
                if found is None:
                    raise self._damage(place)
            if found is None:
                break
            header, payload = found
            place = Position(
                place.end, place.end + header.num_bytes, header.sequence, header.checksum
            )
            last_kind = header.kind
            unproven.append(place)
            while unproven and unproven[0].sequence <= header.synced:
                proven_bytes = unproven.popleft().end
            if header.kind not in (OPENING, CLOSING):
                self._records += 1
                yield Record(header.sequence, header.kind, decode(payload, self._where(place)))
        dropped = self._dropped_bytes(file, place.end, size)
        closed = last_kind == CLOSING and dropped == 0
        self._recovery = Recovery(self.path, self._records, place, proven_bytes, dropped, closed)

    def _where(self, place: Position) -> str:
        return f"{self.path}: record {place.sequence} at byte {place.start:,}"

    def _first(self, file: DiskFile) -> tuple[int, Header]:
        """The record that every log begins with, and where."""
        raw = file.read(0, HEADER_BYTES)
        header = Header.unpack(raw)
        if header is None:
            if raw[8:12].tobytes() == MAGIC:
                raise CorruptionError(
                    f"{self.path}: the record at byte 0 is damaged: restore the graph from a copy"
                )
            raise FormatError(f"{self.path}: not a log (begins with {raw[:16].tobytes()!r})")
        if header.version != LOG_VERSION:
            raise FormatError(
                f"{self.path}: is a log of version {header.version}; this Penstock reads "
                f"{LOG_VERSION}: upgrade penstock"
            )
        if header.tag != self._tag or header.kind != OPENING:
            raise FormatError(
                f"{self.path}: is the log {header.tag:016x}, expected {self._tag:016x}: it belongs "
                "to another graph, or to an earlier state of this one; restore the right one"
            )
        return 0, header

    def _resumed(self, file: DiskFile, since: Position) -> tuple[int, Header]:
        """The record that was read last, which must still be there."""
        header = Header.unpack(file.read(since.start, HEADER_BYTES))
        if header is None or header.checksum != since.checksum:
            raise FormatError(
                f"{self.path}: record {since.sequence} at byte {since.start:,} is no longer the "
                "one that was read; a batch that could not be synced was taken back: "
                "open the graph again"
            )
        return since.start, header

    def _next(self, file: DiskFile, place: Position, size: int) -> tuple[Header, U8] | None:
        """The record after a place, if all of it is there and as it was written."""
        header = Header.unpack(file.read(place.end, HEADER_BYTES))
        if (
            header is None
            or header.tag != self._tag
            or header.version != LOG_VERSION
            or header.sequence != place.sequence + 1
            or header.previous != place.checksum
            or header.num_bytes > size - place.end
        ):
            return None
        payload = file.read(place.end + HEADER_BYTES, header.payload_bytes)
        whole = len(payload) == header.payload_bytes
        return (header, payload) if whole and checksum(payload) == header.payload_checksum else None

    def _is_damaged(self, file: DiskFile, place: Position, size: int) -> bool:
        """Whether some header from a place on says that the record there was synced."""
        return any(
            header.synced > place.sequence for header in self._headers(file, place.end, size)
        )

    def _headers(self, file: DiskFile, begin: int, size: int) -> Iterator[Header]:
        """Every header from a place on, whatever stands before it."""
        tag = self._tag.to_bytes(8, "little")
        while size - begin >= HEADER_BYTES:
            raw = file.read(begin, min(_SCAN_BYTES, size - begin)).tobytes()
            if len(raw) < HEADER_BYTES:
                return
            found = raw.find(tag, TAG_OFFSET)
            while found >= 0:
                start = found - TAG_OFFSET
                part = np.frombuffer(raw[start : start + HEADER_BYTES], np.uint8)
                header = Header.unpack(part)
                if header is not None and header.tag == self._tag:
                    yield header
                found = raw.find(tag, found + 1)
            begin += len(raw) - (HEADER_BYTES - 1)

    def _damage(self, place: Position) -> CorruptionError:
        return CorruptionError(
            f"{self.path}: record {place.sequence + 1} at byte {place.end:,} is damaged, and a "
            "later record says that it was on the disk; nothing after it can be trusted: restore "
            "the graph from a copy"
        )

    def _dropped_bytes(self, file: DiskFile, begin: int, size: int) -> int:
        """Bytes from a place on, or none if they are all zero."""
        for start in range(begin, size, _SCAN_BYTES):
            if file.read(start, min(_SCAN_BYTES, size - start)).any():
                return size - begin
        return 0


def read_log(
    path: Path, tag: int, *, disk: Disk | None = None, since: Position | None = None
) -> LogReader:
    """Read the log with this tag: iterate over what is returned, then ask for its recovery."""
    return LogReader(path, tag, disk=disk, since=since)
