"""Where a graph that changes is kept: in memory, or in a directory with a base and a log."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.config import memory_budget, thread_count
from penstock.dynamic.batches import Batch, EdgeBatch, decode, encode
from penstock.dynamic.changes import Gathered
from penstock.dynamic.folder import LiveFolder
from penstock.dynamic.folder_catalog import FILE_NAME, BaseRecord, LiveSchema
from penstock.dynamic.lists import THRESHOLD
from penstock.dynamic.log import Log, SyncPolicy, check_policy
from penstock.dynamic.log_reader import Recovery
from penstock.dynamic.maintained.protocol import Sides
from penstock.dynamic.merge import MergedSide
from penstock.dynamic.merge_compact import CompactOptions, compact
from penstock.dynamic.schema import GivenSchema
from penstock.dynamic.state import Effect, State
from penstock.errors import CorruptionError, InputNotFoundError, OptionError, PenstockError
from penstock.progress import Progress
from penstock.store.catalog import FileRecord
from penstock.store.graph import Graph
from penstock.store.paged import PagedGraph, open_graph
from penstock.types import U32, Array, Direction

#: Changes may always take this part of the memory, however much ids and vertices take.
LEAST_SHARE = 4


class CurrentSide:
    """A side of a graph, whichever it is after compactions: what algorithms that stay look at."""

    def __init__(self, storage: Storage, direction: Direction) -> None:
        self._storage = storage
        self._direction: Direction = direction

    @property
    def _side(self) -> MergedSide:
        return self._storage.state.sides[self._direction]

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""
        return self._side.num_vertices

    def degrees(self) -> U32:
        """How long each list is."""
        return self._side.degrees()

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given."""
        return self._side.gather(vertices)

    def has(self, src: U32, dst: U32) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each edge is there."""
        return self._side.has(src, dst)


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """How a graph is stored and worked on; see :class:`~penstock.dynamic.graph.DynamicGraph`."""

    sync: SyncPolicy = "batch"
    memory: int | None = None
    read_only: bool = False
    threads: int | None = None
    threshold: int | None = None


class Storage:
    """The state of a graph and, if it has a directory, its log and its base."""

    def __init__(
        self,
        path: Path | None,
        given: GivenSchema,
        base: PagedGraph | None,
        options: StorageOptions,
    ) -> None:
        # Options are checked before anything is made.
        self._sync = check_policy(options.sync)
        self._threads = thread_count(options.threads)
        self._threshold = _checked_threshold(options.threshold)
        self.path = path
        self.read_only = options.read_only
        self._budget = memory_budget(options.memory) if path is not None else None
        self._folder: LiveFolder | None = None
        self._log: Log | None = None
        self._numbers = itertools.count(1)
        self._random_tag = int.from_bytes(os.urandom(7), "little")
        #: Why nothing can be changed any more.
        self._failure: str | None = None
        self.recovery: Recovery | None = None
        if path is None:
            if self.read_only:
                raise OptionError("read_only: a graph in memory has nobody else who changes it")
            self.state = self._make_state(given.of_new(base), base)
        elif (path / FILE_NAME).exists():
            if base is not None:
                raise OptionError(f"{path}: is a live graph already; choose another path")
            self._open(given)
        elif self.read_only:
            raise InputNotFoundError(f"{path}: no such live graph")
        else:
            self._create(path, given, base)

    def _make_state(self, schema: LiveSchema, base: PagedGraph | None) -> State:
        return State(
            schema, base=base, threads=self._threads, threshold=self._threshold,
            folder=self._scratch_folder(),
        )  # fmt: skip

    def _scratch_folder(self) -> Path | None:
        """Where scratch files go, if there may be any: a reader may have no right to write."""
        if self.path is None:
            return None
        folder = self.path if self.path.exists() else self.path.parent
        return folder if os.access(folder, os.W_OK) else None

    def _create(self, path: Path, given: GivenSchema, base: PagedGraph | None) -> None:
        schema = given.of_new(base)
        build = None
        if base is not None:
            state = self._make_state(schema, base)

            def build(target: Path) -> BaseRecord:
                return _record(self._write(state, target), target)

        self._folder = LiveFolder.create(path, schema, build=build)
        if base is not None:
            state.close()
        self._load()

    def _open(self, given: GivenSchema) -> None:
        assert self.path is not None
        self._folder = LiveFolder.open(self.path, read_only=self.read_only)
        try:
            given.check(self._folder.catalog.schema, str(self.path))
        except BaseException:
            self._folder.close()
            raise
        self._load()

    def _load(self) -> None:
        """The base, and what the log has after it."""
        folder = self._folder
        assert folder is not None
        try:
            record, base = folder.catalog.base, None
            if record is not None and folder.base_path is not None:
                base = open_graph(folder.base_path)
                if base.tag != record.tag:
                    raise CorruptionError(
                        f"{folder.base_path}: is not the store that {FILE_NAME} names; restore it"
                    )
            self.state = self._make_state(folder.catalog.schema, base)
            for k, column in enumerate(self.state.columns):
                saved = folder.vertex_column(k)
                column.grow(len(saved))[:] = saved
            self._replay()
            if not self.read_only:
                assert self.recovery is not None
                self._log = folder.resume_log(self.recovery, sync=self._sync)
        except BaseException:
            folder.close()
            raise

    def _replay(self) -> None:
        assert self._folder is not None
        since = None if self.recovery is None else self.recovery.end
        reader = self._folder.read_log(since)
        for record in reader:
            try:
                batch, kind = decode(
                    record.kind, record.arrays, self.state.schema.columns,
                    self.state.schema.vertex_columns,
                )  # fmt: skip
                if self.state.id_kind not in (None, kind):
                    raise ValueError(f"its ids are {kind}, those of the graph {self.state.id_kind}")
                self.state.set_id_kind(kind)
                for ids in (batch.src, batch.dst) if isinstance(batch, EdgeBatch) else [batch.ids]:
                    self.state.ids.check(ids, "ids")
            except (ValueError, PenstockError) as error:
                raise CorruptionError(
                    f"{reader.path}: record {record.sequence} is no batch of this graph ({error}): "
                    "restore the graph from a copy"
                ) from None
            self.state.apply(batch, telling=False)
        self.recovery = reader.recovery

    @property
    def tag(self) -> int:
        """Tells graphs apart, and of one in a directory what it was at different times."""
        if self._folder is None or self.recovery is None:
            return self._random_tag
        end = self.recovery.end if self._log is None else self._log.end
        return self._folder.catalog.tag + end.sequence

    def sides(self) -> Sides:
        """The graph as algorithms that stay see it."""
        self._check_writable()
        out = CurrentSide(self, "out")
        into: CurrentSide | None = out
        if self.state.schema.directed:
            into = CurrentSide(self, "in") if "in" in self.state.sides else None
        names = tuple(column.name for column in self.state.schema.columns)
        return Sides(self.state.schema.directed, out, into, lambda: self.state.ids.by_vid(), names)

    def ids_in_order(self) -> tuple[Array, U32 | None]:
        """The ids ascending, and the vertex number of each; None if they ascend with those."""
        return self.state.ids.in_order()

    # Changes

    def log(self, batch: Batch) -> int:
        """Make sure that a batch is not lost; returns its place among all."""
        self._check_writable()
        self.state.check_room(batch)
        if self._log is None:
            return next(self._numbers)
        return self._log.append(*encode(batch, self.state.ids.kind))

    def apply(self, batch: Batch, *, telling: bool) -> Effect:
        """Let a batch that was logged take effect."""
        try:
            return self.state.apply(batch, telling=telling)
        except BaseException as error:
            self._failure = f"a batch failed half way ({error})"
            raise

    def _check_writable(self) -> None:
        if self.read_only:
            raise OptionError(f"{self.path}: is open for reading only; open it without read_only")
        if self._failure is not None:
            again = "open it again" if self.path is not None else "make it anew"
            raise PenstockError(f"the graph cannot be changed any more: {self._failure}; {again}")

    def flush(self) -> None:
        """Sync all that was acknowledged."""
        if self._log is not None:
            self._log.flush()

    # Compaction

    def is_full(self) -> bool:
        """Whether what changed takes more memory than is left beside what stays."""
        if self._budget is None:
            return False
        changed = self.state.changed_bytes
        left = self._budget - (self.state.nbytes - changed)
        return changed > max(left, self._budget // LEAST_SHARE)

    def _write(
        self, state: State, target: Path, *, overwrite: bool = False,
        progress: Progress | None = None,
    ) -> PagedGraph:  # fmt: skip
        schema = state.schema
        options = CompactOptions(
            schema.directed, schema.columns, schema.weight, threads=self._threads
        )
        return compact(
            target, state.sides, state.ids, options, overwrite=overwrite, progress=progress
        )

    def write_to(self, path: Path, *, overwrite: bool, progress: Progress | None) -> PagedGraph:
        """The graph as a static store elsewhere."""
        return self._write(self.state, path, overwrite=overwrite, progress=progress)

    def compact(self, progress: Progress | None = None) -> None:
        """Merge what changed into a new base, and begin a new log. Nobody may be logging."""
        self._check_writable()
        folder, log = self._folder, self._log
        if folder is not None:
            folder.check_writable()
        if folder is None or log is None:
            raise OptionError(
                "compact: a graph in memory has no directory; give a path to write to"
            )
        base = self._write(self.state, folder.next_base_path, overwrite=True, progress=progress)
        files: dict[str, FileRecord] = {}
        for k, column in enumerate(self.state.columns):
            files |= folder.save_vertex_column(k, column.grow(self.state.num_vertices))
        fresh = folder.next_log(log.end.sequence, sync=self._sync)
        try:
            record = _record(base, folder.next_base_path)
            folder.publish(fresh, base=record, files=files, ids=self.state.id_kind)
        except BaseException as error:
            fresh.abandon()
            if not isinstance(error, Exception) or folder.catalog.log != log.path.name:
                # The new log may be the graph's already; batches in the old one would be lost.
                self._failure = "a compaction was interrupted as it was published"
            raise
        log.abandon()
        self._log = fresh
        self.state.rebase(base)
        folder.remove_leftovers()

    def hold_for(self, still: Graph) -> None:
        """Keep the files of the base as long as a snapshot is there."""
        if self._folder is not None:
            weakref.finalize(still, self._folder.hold().close)

    def refresh(self) -> None:
        """As a reader, see what was logged since."""
        if not self.read_only or self._folder is None:
            return
        if self._folder.has_newer():
            old = self.state
            self._folder.close()
            self.recovery = None
            assert self.path is not None
            self._folder = LiveFolder.open(self.path, read_only=True)
            self._load()
            old.close()
        else:
            self._replay()

    def close_after(self, owner: object) -> Callable[[], object]:
        """Close when the owner is gone, or the process ends, if nobody has called what this returns
        before. A process that was forked meanwhile closes nothing: the log is not its own.
        """
        process = os.getpid()

        def close() -> None:
            if os.getpid() == process:
                self.close()

        return weakref.finalize(owner, close)

    def close(self) -> None:
        """Sync, and let go of everything."""
        try:
            if self._log is not None:
                self._log.close()
        finally:
            if self._folder is not None:
                self._folder.close()
            self.state.close()


def _checked_threshold(given: int | None) -> int:
    if given is None:
        return THRESHOLD
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise OptionError(f"threshold: expected a whole number of 1 or more, got {given!r}")
    return given


def _record(base: PagedGraph, path: Path) -> BaseRecord:
    return BaseRecord(path.name, base.tag, base.num_vertices, base.num_edges)
