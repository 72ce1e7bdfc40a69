"""The log of a live graph: batches, one after another, there before they are acknowledged.

Several threads may append at once. One of them writes all that waits, and syncs once for all of it;
the others wait for that (group commit). What a record looks like stands in ``log_format``, how a
log is read after a crash in ``log_reader``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from penstock.dynamic.disk import Disk, DiskFile, RealDisk, explained
from penstock.dynamic.log_format import CLOSING, OPENING, Header, Payload, encode
from penstock.dynamic.log_reader import Position, Recovery
from penstock.errors import DiskSpaceError, OptionError, PenstockError
from penstock.types import Array

#: When an append may return. "batch": when its batch is synced; nothing acknowledged is ever lost.
#: A number of seconds: when the system has the batch; a thread syncs that long after the first
#: batch that is not synced. A crash of the process loses nothing, a loss of power what was
#: acknowledged in about the last so many seconds. "never": the same, but the system syncs when it
#: likes to (Linux: within about half a minute). What is lost is always the latest batches: those
#: that remain have no gap.
SyncPolicy = Literal["batch", "never"] | float

#: A group this big gets its room from the file system before it is written. Syncing is faster then,
#: and a full disk is noticed before anything is written.
RESERVE_BYTES = 1 << 20
_COPY_BYTES = 4 << 20
_INTERRUPTED = "a batch was interrupted when it could no longer be taken back"


def check_policy(sync: SyncPolicy) -> SyncPolicy:
    """A policy that can be used, or an error."""
    if sync in ("batch", "never"):
        return sync
    if isinstance(sync, int | float) and not isinstance(sync, bool):
        seconds = float(sync)
        if 0 < seconds < threading.TIMEOUT_MAX and math.isfinite(seconds):
            return seconds
    raise OptionError(
        f'sync: expected "batch", "never" or a number of seconds above 0; got {sync!r}'
    )


@dataclass(slots=True, eq=False)
class _Batch:
    """A batch on its way into the log."""

    kind: int
    payload: Payload
    sequence: int = 0
    done: bool = False
    error: PenstockError | None = None


class _SyncError(Exception):
    """The system could not sync: what it still had to write may be gone."""


class Log:
    """A log open for writing. One at a time: the lock of the folder sees to that.

    Made by :meth:`create` and :meth:`resume`; to be closed.
    """

    def __init__(self, file: DiskFile, tag: int, end: Position, sync: SyncPolicy) -> None:
        self.path = file.path
        self._file = file
        self.tag = tag
        self._policy = sync
        #: The last record that was acknowledged, and whether it says that the log was closed.
        self._end = end
        self._is_closing_last = False
        #: Every record up to this one is on the disk.
        self._synced = end.sequence
        self._turn = threading.Condition()
        self._sync_turn = threading.RLock()
        self._waiting: list[_Batch] = []
        self._busy = False
        self._closed = False
        self._stop = threading.Event()
        #: Why nothing more can be appended.
        self._failure: str | None = None
        self._syncer: threading.Thread | None = None
        if isinstance(sync, float):
            self._syncer = threading.Thread(
                target=self._sync_regularly, args=(sync,), name="penstock-log-sync", daemon=True
            )
            self._syncer.start()

    @classmethod
    def create(
        cls,
        path: Path,
        tag: int,
        *,
        after: int = 0,
        sync: SyncPolicy = "batch",
        disk: Disk | None = None,
    ) -> Log:
        """A new log, on the disk when this returns; its batches have numbers above ``after``."""
        policy = check_policy(sync)
        disk = RealDisk() if disk is None else disk
        try:
            file = disk.create(path)
            try:
                payload = encode(())
                header = Header(OPENING, tag, after, after, 0, payload.checksum, 0)
                raw, checksum = header.pack()
                file.write(0, [memoryview(raw)])
                file.sync()
                disk.sync_folder(path.parent)
            except BaseException:
                file.close()
                raise
        except OSError as error:
            raise explained(error, path, "the log was not made") from error
        return cls(file, tag, Position(0, len(raw), after, checksum), policy)

    @classmethod
    def resume(
        cls,
        recovery: Recovery,
        tag: int,
        *,
        sync: SyncPolicy = "batch",
        disk: Disk | None = None,
    ) -> Log:
        """Go on with a log that was read to its end; cuts off what comes after it.

        What was read may never have reached the disk, though the system has it: it is written once
        more as far as no later record proves it, and synced.
        """
        policy = check_policy(sync)
        disk = RealDisk() if disk is None else disk
        end = recovery.end
        try:
            file = disk.open(recovery.path, write=True)
            try:
                if file.size() > end.end:
                    file.truncate(end.end)
                for start in range(recovery.proven_bytes, end.end, _COPY_BYTES):
                    part = file.read(start, min(_COPY_BYTES, end.end - start))
                    file.write(start, [part.data])
                file.sync()
            except BaseException:
                file.close()
                raise
        except OSError as error:
            raise explained(error, recovery.path, "the log cannot be written to") from error
        log = cls(file, tag, end, policy)
        log._is_closing_last = recovery.closed
        return log

    @property
    def end(self) -> Position:
        """Where the last acknowledged record ends."""
        return self._end

    @property
    def num_bytes(self) -> int:
        """How long the log is, up to the last acknowledged record."""
        return self._end.end

    @property
    def synced(self) -> int:
        """Every batch up to this number is on the disk."""
        return self._synced

    def append(self, kind: int, arrays: Sequence[Array]) -> int:
        """Log a batch (``kind``: 1 .. 254). Returns when it is as safe as the policy says, with its
        number: ascending, but not every number is a batch's.

        If this raises, the batch is not in the log, with two exceptions after which the log takes
        nothing more: a failed sync, and an interrupt (Ctrl-C) that came too late to take the batch
        back. Reopening shows whether the batch is there then.
        """
        if not OPENING < kind < CLOSING:
            raise ValueError(f"a batch cannot be of kind {kind}")
        return self._append(_Batch(kind, encode(arrays)))

    def flush(self) -> None:
        """Sync all that was acknowledged, whatever the policy."""
        with self._turn:
            self._check_usable()
        self._sync_acknowledged()

    def close(self, *, wait: bool = True) -> None:
        """Sync, mark the log as closed, and let go of it. Raises if something that was acknowledged
        could not be synced. ``wait``: for the thread that syncs, as for :meth:`Workers.close`.
        """
        if not self._refuse_more(wait=wait):
            return
        try:
            self._sync_acknowledged()
            if not self._is_closing_last:
                # The mark only serves to tell damage from a torn tail; the batches are safe.
                with suppress(DiskSpaceError):
                    self._append(_Batch(CLOSING, encode(())))
                    self._sync_acknowledged()
        finally:
            with self._sync_turn:
                self._file.close()

    def abandon(self) -> None:
        """Let go of the log as a process does that dies: nothing more is written or synced."""
        if self._refuse_more():
            self._file.close()

    def _refuse_more(self, *, wait: bool = True) -> bool:
        """End appending from outside and syncing in the background; False if that was done."""
        with self._turn:
            if self._closed:
                return False
            self._closed = True
            self._stop.set()
            self._turn.notify_all()
        if self._syncer is not None and wait:
            self._syncer.join()
        return True

    # Writing

    def _append(self, batch: _Batch) -> int:
        group: list[_Batch] = []
        with self._turn:
            if batch.kind != CLOSING:
                self._check_usable()
            self._waiting.append(batch)
            try:
                while self._busy and not batch.done:
                    self._turn.wait()
            except BaseException:
                self._withdraw(batch)
                raise
            if not batch.done:
                group, self._waiting, self._busy = self._waiting, [], True
        if group:
            self._commit(group)
        if batch.error is not None:
            raise batch.error
        return batch.sequence

    def _withdraw(self, batch: _Batch) -> None:
        """The caller was interrupted while it waited for another thread."""
        if batch in self._waiting:
            self._waiting.remove(batch)
        elif batch.error is None:
            self._failure = _INTERRUPTED

    def _commit(self, group: list[_Batch]) -> None:
        """Write a group and acknowledge it, or take all of it back."""
        end: Position | None = None
        try:
            if self._failure is not None:
                raise self._refusal()
            end = self._write(group)
            if self._policy == "batch":
                self._sync(end.sequence)
            self._is_closing_last = group[-1].kind == CLOSING
            self._end = end
        except BaseException as error:
            if self._end is end:
                self._failure = _INTERRUPTED
            else:
                kind, words = self._take_back(error)
                for batch in group:
                    batch.error = kind(words)
                    batch.error.__cause__ = error
            if not isinstance(error, OSError | PenstockError | _SyncError):
                raise
        finally:
            with self._turn:
                for batch in group:
                    if self._end is not end and batch.error is None:
                        batch.error = self._refusal()
                    batch.done = True
                self._busy = False
                self._turn.notify_all()

    def _write(self, group: list[_Batch]) -> Position:
        """Write records after the last one; returns where they end."""
        place = self._end
        parts: list[memoryview] = []
        for batch in group:
            batch.sequence = place.sequence + 1
            header = Header(
                batch.kind,
                self.tag,
                batch.sequence,
                self._synced,
                batch.payload.num_bytes,
                batch.payload.checksum,
                place.checksum,
            )
            raw, checksum = header.pack()
            parts += [memoryview(raw), *batch.payload.parts]
            place = Position(place.end, place.end + header.num_bytes, batch.sequence, checksum)
        num_bytes = place.end - self._end.end
        if num_bytes >= RESERVE_BYTES:
            self._file.reserve(self._end.end, num_bytes)
        self._file.write(self._end.end, parts)
        if not all(batch.payload.is_unchanged() for batch in group):
            # A record with a wrong checksum would read as damage, and all after it be lost.
            raise OSError("another thread changed the arrays of a batch while they were written")
        return place

    def _take_back(self, error: BaseException) -> tuple[type[PenstockError], str]:
        """Cut off what a group left behind; returns what its callers are told. The cut is synced
        before: a batch that was refused does not come back when the power goes.
        """
        if isinstance(error, PenstockError):
            return type(error), str(error)
        if isinstance(error, _SyncError):
            with suppress(OSError):
                self._file.truncate(self._end.end)
            return PenstockError, str(self._refusal())
        before, self._failure = self._failure, "a batch could not be taken back from the disk"
        try:
            self._file.truncate(self._end.end)
            self._sync(self._end.sequence, again=True)
        except (OSError, _SyncError):
            return PenstockError, f"{self._refusal()} (it was cut off after: {error})"
        self._failure = before
        if isinstance(error, OSError):
            said = explained(error, self.path, "the batch was refused, all before it are safe")
            return type(said), str(said)
        return PenstockError, f"{self.path}: the batch was refused: {error!r}"

    # Syncing

    def _sync(self, sequence: int, *, again: bool = False) -> None:
        """Have all records up to one on the disk; it must have been written."""
        with self._sync_turn:
            if self._synced >= sequence and not again:
                return
            try:
                self._file.sync()
            except OSError as error:
                self._failure = f"syncing failed ({error.strerror or error})"
                raise _SyncError from error
            self._synced = max(self._synced, sequence)

    def _sync_acknowledged(self) -> None:
        if self._failure is not None:
            raise self._refusal()
        try:
            self._sync(self._end.sequence)
        except _SyncError as error:
            raise self._refusal() from error.__cause__

    def _sync_regularly(self, seconds: float) -> None:
        while True:
            with self._turn:
                while self._synced >= self._end.sequence and not self._stop.is_set():
                    self._turn.wait()
            if self._stop.wait(seconds):
                return
            try:
                self.flush()
            except PenstockError:
                return  # the next append, flush or close says why

    def _check_usable(self) -> None:
        if self._closed:
            raise PenstockError(f"{self.path}: the log is closed")
        if self._failure is not None:
            raise self._refusal()

    def _refusal(self) -> PenstockError:
        return PenstockError(
            f"{self.path}: {self._failure}; the system may have dropped what it had not written "
            f"yet, so the log takes nothing more. Batches up to {self._synced:,} are on the disk, "
            "whether later ones are shows when the graph is opened again: close it, check the "
            "disk, and reopen it"
        )
