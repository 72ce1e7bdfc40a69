"""Compactions of one graph: at most one at a time, in the background unless they are asked for.

A compaction freezes the graph as it is, which holds changes back for the time of a small file. Then
a thread writes what is frozen as the next base, while batches go on above it. When that is there it
takes the place of what was frozen, which holds changes back for a moment again. Only if changes
take more than they may, those that follow wait for it.

An attempt that fails loses nothing: what is frozen stays where it is, and the next attempt writes
it.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.dynamic.compaction_limits import (
    LogLimits,
    Need,
    log_need,
    logged_once,
    memory_need,
    retry_at,
    working_bytes,
)
from penstock.dynamic.ending import Ending
from penstock.dynamic.storage import Storage
from penstock.dynamic.turns import CommitQueue
from penstock.errors import PenstockError
from penstock.process import defer_sigint, sigint_at_checks
from penstock.progress import Progress, Silent

_UNMERGED = "changes could not be merged"
#: How often a thread that waits looks whether the graph is closed, or Ctrl-C came.
POLL_SECONDS = 0.1


class _StoppedError(Exception):
    """The graph is being closed."""


class _Stoppable:
    """Passes progress on, with a check between two pages that may raise."""

    def __init__(self, progress: Progress, check: Callable[[], None]) -> None:
        self._progress = progress
        self._check = check

    def start(self, stage: str, total: float | None, unit: str) -> None:
        """A stage begins."""
        self._check()
        self._progress.start(stage, total, unit)

    def advance(self, amount: float) -> None:
        """Some pages are written."""
        self._check()
        self._progress.advance(amount)

    def note(self, text: str) -> None:
        """Something worth a line."""
        self._progress.note(text)


class Compactor:
    """Compacts one graph when it is time to, or when it is asked to.

    Parameters
    ----------
    queue, lock
        What keeps batches from being logged, and from taking effect.
    outdate
        A method of the graph that is called before its lists change places. It is known by a weak
        reference, so that a thread at work does not keep the graph alive.
    """

    def __init__(
        self,
        storage: Storage,
        queue: CommitQueue,
        lock: threading.RLock,
        outdate: Callable[[], None],
    ) -> None:
        self._storage = storage
        self._queue = queue
        self._lock = lock
        self._outdate = weakref.WeakMethod(outdate)
        self._process = os.getpid()
        self._turn = threading.Condition()
        #: The thread that is compacting, and how many compactions have ended.
        self._owner: threading.Thread | None = None
        self._ended = 0
        #: The last thread in the background.
        self._thread: threading.Thread | None = None
        self._closing = False
        self._closes_storage = False
        #: What went wrong in the background, until that was said.
        self._failure: str | None = None
        self.limits = LogLimits()
        #: How long logs must be for another attempt after one that failed.
        self._retry_at = 0

    # When it is time to

    def _need(self) -> Need:
        """Whether what changed should be merged."""
        storage = self._storage
        if storage.budget is None or storage.read_only:
            return Need.NONE
        state, working = storage.state, working_bytes(storage.most_rows)
        memory = memory_need(state.changed_bytes, state.nbytes, storage.budget, working)
        return max(memory, log_need(storage.log_bytes, self._logged_once(), self.limits))

    def _logged_once(self) -> int:
        """What logging the graph as it is would take."""
        state, schema = self._storage.state, self._storage.state.schema
        return logged_once(
            state.num_edges, state.num_vertices, id_bytes=state.ids.logged_bytes,
            edge_bytes=sum(column.dtype.itemsize for column in schema.columns),
            vertex_bytes=sum(column.dtype.itemsize for column in schema.vertex_columns),
        )  # fmt: skip

    def after_batch(self) -> None:
        """Begin a compaction in the background if it is time to; wait for it if changes take more
        than they may.
        """
        if os.getpid() != self._process:
            return
        need = self._need()
        while need is not Need.NONE and self._start(need) and need is Need.NOW:
            if not self._wait():
                break
            need = self._need()
        self.warn(stacklevel=6)

    def _start(self, need: Need) -> bool:
        """Begin a compaction, unless one is under way; returns whether one is then."""
        return defer_sigint(lambda: self._start_thread(need))

    def _start_thread(self, need: Need) -> bool:
        with self._turn:
            if self._closing or self._owner is threading.current_thread():
                return False
            if self._owner is not None:
                return True
            # Another thread may have merged what there was, or failed to a short while ago.
            if self._need() < need:
                return False
            if need is not Need.NOW and self._storage.log_bytes < self._retry_at:
                return False
            self._owner = threading.current_thread()
        try:
            self._begin()
            self._thread = threading.Thread(
                target=self._run, name="penstock-compaction", daemon=True
            )
            with self._turn:
                self._owner = self._thread
            self._thread.start()
        except BaseException as error:
            self._leave(f"{_UNMERGED}: {error}")
            if not isinstance(error, Exception):
                raise
            return False
        return True

    def _wait(self) -> bool:
        """Wait until the compaction under way has ended; returns whether it was successful."""
        with self._turn:
            ended = self._ended
            self._turn.wait_for(lambda: self._owner is None or self._ended != ended)
            return self._failure is None

    def _run(self) -> None:
        failure, what = None, _UNMERGED
        try:
            self._finish(Silent(), self._check_going_on, threads=1)
            what = "changes were merged, but old files could not be removed"
            self._storage.remove_leftovers()
        except _StoppedError:
            pass
        except BaseException as error:
            failure = f"{what}: {error}"
        self._leave(failure)
        if self._closes_storage:
            self._storage.close()

    def warn(self, *, stacklevel: int) -> None:
        """Say what went wrong in the background, once. No batch is lost by it."""
        with self._turn:
            failure, self._failure = self._failure, None
        if failure is not None:
            warnings.warn(failure, stacklevel=stacklevel)

    # When it is asked to

    def compact(self, progress: Progress | None) -> None:
        """Merge all that is there now, in this thread; waits for one that is under way. Ctrl-C
        takes effect between two pages, or while this waits.
        """
        progress = progress or Silent()
        with sigint_at_checks() as check_sigint, self._only_one(check_sigint):

            def check() -> None:
                check_sigint()
                self._check_going_on()

            try:
                if self._storage.frozen is not None:
                    self._finish(progress, check)  # an attempt that failed left it
                self._begin()
                self._finish(progress, check)
                self._storage.remove_leftovers()
            except _StoppedError:
                raise PenstockError("the graph was closed while it was compacted") from None

    @contextmanager
    def _only_one(self, check: Callable[[], None]) -> Iterator[None]:
        """Wait until no compaction is under way, and let none begin within the block."""
        if os.getpid() != self._process:
            raise PenstockError(
                f"the graph is that of process {self._process}, from which this one was forked; "
                "compact it there"
            )
        with self._turn:
            while self._owner is not None and not self._closing:
                self._turn.wait(POLL_SECONDS)
                check()
            if self._closing:
                raise PenstockError("the graph is closed; open it again")
            self._owner = threading.current_thread()
        try:
            yield
        finally:
            self._leave(None)

    # Steps

    def _begin(self) -> None:
        """Freeze the graph as it is; not if an attempt that failed left something frozen."""
        if self._storage.frozen is not None:
            return
        # Most of what is not synced yet, before batches are held back.
        self._storage.flush()
        with self._queue.alone(), self._lock:
            self._outdate_view()
            self._storage.freeze()

    def _finish(
        self, progress: Progress, check: Callable[[], None], threads: int | None = None
    ) -> None:
        """Write what is frozen, and let it take its place. ``check`` may raise where this can be
        abandoned.
        """
        written = self._storage.write_frozen(_Stoppable(progress, check), threads)
        while not self._lock.acquire(timeout=POLL_SECONDS):
            check()
        try:
            self._outdate_view()
            self._storage.publish(written)
        finally:
            self._lock.release()

    def _outdate_view(self) -> None:
        outdate = self._outdate()
        if outdate is not None:
            outdate()

    def _check_going_on(self) -> None:
        if self._closing:
            raise _StoppedError

    def _leave(self, failure: str | None) -> None:
        with self._turn:
            self._failure, self._retry_at = failure, 0
            if failure is not None:
                once = self._logged_once()
                self._retry_at = retry_at(self._storage.log_bytes, once, self.limits)
            self._owner = None
            self._ended += 1
            self._turn.notify_all()

    # The end

    def stop(self, *, wait: bool = True) -> bool:
        """Begin no more compactions, and abandon one that is under way. Returns when no thread is
        at work; False if this is called in that thread itself, or is not to ``wait``: the storage
        is closed when it ends.
        """
        if os.getpid() != self._process:
            return True
        with self._turn:
            self._closing = True
            self._turn.notify_all()
            if self._owner is threading.current_thread():
                if self._owner is not self._thread:
                    raise PenstockError("the graph cannot be closed while this thread compacts it")
                self._closes_storage = True
                return False
            if self._owner is not None and not wait:
                self._closes_storage = True
                return False
            self._turn.wait_for(lambda: self._owner is None)
            thread = self._thread if wait else None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        return True

    def close_after(self, owner: object) -> Ending:
        """Stop, and close the storage, when the owner is gone or the process ends, unless what this
        returns was called before. A forked process closes nothing: the log is not its own.
        """

        def end(*, wait: bool) -> None:
            if os.getpid() == self._process and self.stop(wait=wait):
                self._storage.close(wait=wait)

        return Ending(owner, end)
