"""Where a graph that changes is kept: in memory, or in a directory with a base and a log."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.config import memory_budget, thread_count
from penstock.dynamic.base import BaseLists
from penstock.dynamic.batches import Batch, EdgeBatch, decode, encode
from penstock.dynamic.current import current_sides
from penstock.dynamic.folder import LiveFolder
from penstock.dynamic.folder_catalog import FILE_NAME, BaseRecord, LiveCatalog, LiveSchema
from penstock.dynamic.freezing import FrozenState
from penstock.dynamic.layers import LayeredLists
from penstock.dynamic.lists import THRESHOLD
from penstock.dynamic.log import Log, SyncPolicy, check_policy
from penstock.dynamic.log_reader import Recovery
from penstock.dynamic.maintained.protocol import Sides
from penstock.dynamic.merge_compact import CompactOptions, ListParts, compact
from penstock.dynamic.reverse import reversed_lists
from penstock.dynamic.schema import GivenSchema
from penstock.dynamic.scratch import writable_folder
from penstock.dynamic.state import Effect, State
from penstock.dynamic.view import LiveView
from penstock.errors import CorruptionError, InputNotFoundError, OptionError, PenstockError
from penstock.progress import Progress
from penstock.store.catalog import FileRecord
from penstock.store.graph import Graph
from penstock.store.paged import PagedGraph, open_graph
from penstock.types import U32, Array, Direction


@dataclass(frozen=True, slots=True)
class Written:
    """A base that is there, but not the graph's yet."""

    base: BaseRecord
    lists: Mapping[Direction, BaseLists]
    files: dict[str, FileRecord]


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
        self._given = given
        #: What the graph may take before changes are merged; None: they never are.
        self.budget = memory_budget(options.memory) if path is not None else None
        self._folder: LiveFolder | None = None
        self._log: Log | None = None
        #: Rows of the largest batch so far.
        self.most_rows = 0
        #: Bytes of the logs before the last one.
        self._earlier_bytes = 0
        #: What a compaction is writing, or would have written if it had not failed.
        self.frozen: FrozenState | None = None
        self._numbers = itertools.count(1)
        self._random_tag = int.from_bytes(os.urandom(7), "little")
        #: Why nothing can be changed any more.
        self._failure: str | None = None
        self.recovery: Recovery | None = None
        if path is None:
            if self.read_only:
                raise OptionError("read_only: requires a path")
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
        folder = None if self.read_only else self._folder
        state = State(
            schema, base=base, threads=self._threads, threshold=self._threshold,
            folder=None if self.path is None else writable_folder(self.path),
            reverse_path=None if folder is None else folder.reverse.path,
        )  # fmt: skip
        if schema.reverse and state.can_reverse:
            state.build_reverse(self.budget)
        return state

    def _create(self, path: Path, given: GivenSchema, base: PagedGraph | None) -> None:
        schema = given.of_new(base)
        build = None
        if base is not None:
            self.state = self._make_state(schema, base)

            def build(target: Path) -> BaseRecord:
                made = self.write_to(target, overwrite=False, progress=None, whole=False)
                return _record(made, target)

        self._folder = LiveFolder.create(path, schema, build=build)
        if base is not None:
            self.state.close()
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
        assert self.recovery is not None
        self.recovery.tell(read_only=self.read_only)

    @property
    def catalog(self) -> LiveCatalog | None:
        """What the directory says of the graph; None if it is in memory."""
        return None if self._folder is None else self._folder.catalog

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
            self.state = self._make_state(self._given.with_reverse(folder.catalog.schema), base)
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
        reader = self._folder.read_log(self.recovery)
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
        self._earlier_bytes = reader.num_bytes - self.recovery.end.end

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
        return current_sides(lambda: self.state, self.budget)

    def ids_in_order(self) -> tuple[Array, U32 | None]:
        """The ids ascending, and the vertex number of each; None if they ascend with those."""
        return self.state.ids.in_order()

    # Changes

    def log(self, batch: Batch) -> int:
        """Make sure that a batch is not lost; returns its place among all."""
        self._check_writable()
        self.most_rows = max(self.most_rows, len(batch))
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
        log = None
        while log is not self._log:
            log = self._log
            try:
                if log is not None:
                    log.flush()
            except PenstockError:
                # If a compaction began, it has synced that log, and batches go to the next one.
                if log is self._log:
                    raise

    # Compaction

    @property
    def log_bytes(self) -> int:
        """How long the logs are together."""
        if self._log is not None:
            return self._earlier_bytes + self._log.num_bytes
        return self._earlier_bytes + (0 if self.recovery is None else self.recovery.end.end)

    def write_to(
        self, path: Path, *, overwrite: bool, progress: Progress | None, whole: bool = True
    ) -> PagedGraph:
        """The graph as a static store elsewhere; ``whole``: with in-lists, even if there are none
        yet.
        """
        state, options = self.state, self._compact_options(self._threads)
        sides: dict[Direction, LayeredLists | ListParts] = {**state.sides}
        if whole and state.can_reverse:
            memory = self.budget or memory_budget(None)
            sides["in"] = reversed_lists(LiveView(state.version(0)), memory, self._threads)
        return compact(path, sides, state.ids, options, overwrite=overwrite, progress=progress)

    def _compact_options(self, threads: int) -> CompactOptions:
        schema = self.state.schema
        return CompactOptions(schema.directed, schema.columns, schema.weight, threads=threads)

    def freeze(self) -> None:
        """Begin a compaction: changes go above what there is now, and to the next log. The caller
        keeps others from changing and logging anything.
        """
        self._check_writable()
        folder, log = self._folder, self._log
        if folder is None or log is None:
            raise OptionError(
                "compact: a graph in memory has no directory; give a path to write to"
            )
        folder.check_writable()
        frozen = FrozenState.of(self.state)
        sides = self.state.sides_above(frozen.sides)
        log.flush()
        try:
            fresh = folder.rotate(log.end.sequence, sync=self._sync)
        except BaseException as error:
            if not isinstance(error, Exception) or folder.catalog.log != log.path.name:
                # The new log may be the graph's already; it would say that the old one is complete.
                self._failure = "a compaction was interrupted as its log was begun"
            raise
        self._earlier_bytes += log.num_bytes
        self._log, self.frozen, self.state.sides = fresh, frozen, sides
        log.abandon()

    def write_frozen(self, progress: Progress, threads: int | None) -> Written:
        """Write what is frozen as the next base, beside the one there is."""
        frozen, folder = self.frozen, self._folder
        assert frozen is not None
        assert folder is not None
        target = folder.next_base_path
        options = self._compact_options(self._threads if threads is None else threads)
        base = compact(target, frozen.sides, frozen.ids, options, overwrite=True, progress=progress)
        lists = {each: BaseLists(base, each, self._threads) for each in frozen.sides}
        for each, side in frozen.sides.items():
            if lists[each].num_edges != side.num_edges:
                raise CorruptionError(
                    f"{target}: has {lists[each].num_edges:,} entries in its {each}-lists, the "
                    f"graph {side.num_edges:,}; check the base with `penstock verify`"
                )
        files: dict[str, FileRecord] = {}
        for k, values in enumerate(frozen.columns):
            files |= folder.save_vertex_column(k, values)
        return Written(_record(base, target), lists, files)

    def publish(self, written: Written) -> None:
        """Let a base take the place of what is frozen. The caller keeps others from changing
        anything.
        """
        self._check_writable()
        frozen, folder = self.frozen, self._folder
        assert frozen is not None
        assert folder is not None
        before = folder.catalog.generation
        try:
            folder.publish(base=written.base, files=written.files, ids=frozen.id_kind)
        except BaseException as error:
            if not isinstance(error, Exception) or folder.catalog.generation != before:
                self._failure = "a compaction was interrupted as it was published"
            raise
        self.state.stand_on(written.lists)
        self.frozen, self._earlier_bytes = None, 0

    def remove_leftovers(self) -> None:
        """Remove old files that no reader holds."""
        if self._folder is not None:
            self._folder.remove_leftovers()
            if not self.state.uses_reverse_store:
                self._folder.reverse.remove()

    def hold_for(self, still: Graph) -> None:
        """Keep the files of the base as long as a snapshot is there."""
        if self._folder is None:
            return
        weakref.finalize(still, self._folder.hold().close)
        reverse = self._folder.reverse.hold() if self.state.uses_reverse_store else None
        if reverse is not None:
            weakref.finalize(still, reverse.close)

    def refresh(self) -> None:
        """As a reader, see what was logged since."""
        if not self.read_only or self._folder is None:
            return
        if self._folder.catch_up():
            self._replay()
            return
        old = self.state
        self._folder.close()
        self.recovery = None
        assert self.path is not None
        self._folder = LiveFolder.open(self.path, read_only=True)
        self._load()
        old.close()

    def close(self, *, wait: bool = True) -> None:
        """Sync, and let go of everything. ``wait``: for the threads, as for
        :meth:`Workers.close`.
        """
        try:
            if self._log is not None:
                self._log.close(wait=wait)
        finally:
            self.state.close(wait=wait)
            if self._folder is not None:
                if not self.read_only:
                    with suppress(OSError, PenstockError):  # removed when it is opened again
                        self._folder.reverse.remove()
                self._folder.close()


def _checked_threshold(given: int | None) -> int:
    if given is None:
        return THRESHOLD
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise OptionError(f"threshold: expected a whole number of 1 or more, got {given!r}")
    return given


def _record(base: PagedGraph, path: Path) -> BaseRecord:
    return BaseRecord(path.name, base.tag, base.num_vertices, base.num_edges)
