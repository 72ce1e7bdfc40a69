"""``DynamicGraph``: a graph that changes, in memory or durable on disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from penstock.config import parse_bytes
from penstock.dynamic.batches import Batch, EdgeBatch, VertexBatch, check_edges
from penstock.dynamic.compaction import Compactor
from penstock.dynamic.groups import EdgeProperties, Internals, VertexProperties
from penstock.dynamic.keeping import MaintainedAnswer, MaintainedSet
from penstock.dynamic.log import SyncPolicy
from penstock.dynamic.queries import Queries
from penstock.dynamic.schema import as_base, make_schema
from penstock.dynamic.state import Effect, State
from penstock.dynamic.storage import Storage, StorageOptions
from penstock.dynamic.turns import CommitQueue
from penstock.dynamic.view import LiveView, snapshot
from penstock.errors import OptionError, PenstockError
from penstock.process import defer_sigint
from penstock.progress import Progress
from penstock.store.exports import ExportMixin
from penstock.store.graph import Graph
from penstock.store.paged import PagedGraph
from penstock.types import Array, IdKind


class DynamicGraph(Queries, ExportMixin):
    """A graph whose edges come and go.

    Algorithms take it like a graph, and hold changes back until they are done; :meth:`snapshot`
    gives a graph that stays as it is meanwhile.

    Parameters
    ----------
    path
        The directory of the graph, made if it is not there. None: in memory only.
    directed
        Whether edges have a direction; True unless said otherwise, or what the directory says.
    multigraph
        Whether two vertices may have several edges. If not, adding an edge that is there changes
        its properties. Deleting always deletes all edges of a pair.
    reverse
        Whether a directed graph also keeps the edges turned round, for algorithms that pull or
        maintain: twice the memory, and twice the work of an update. None: from when they are first
        needed; True: from the beginning; False: never, and algorithms do without, or refuse.
    edge_properties, vertex_properties
        Names and types of what edges and vertices carry, such as ``{"weight": "float32"}``.
    weight
        The edge property that algorithms take as the weight: "weight" if there is one.
    ids
        "int" or "string"; None: as the first ids are.
    sync
        When a batch is done: "batch" (it is on the disk, and survives a loss of power), a number of
        seconds (which may be lost then), "never" (the system decides). A crash of the process loses
        nothing under any of them.
    memory
        What the graph may take, such as ``"1GB"``; None: half of what is available. Changes are
        merged into the base on the disk in the background, before they take what is left of it.
    read_only
        Look at a graph that another process may be changing; see :meth:`refresh`.
    threads, threshold
        Cores to use (None: all); a list this long has an index if few rows ask for it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        directed: bool | None = None,  # noqa: FBT001
        *,
        multigraph: bool | None = None,
        reverse: bool | None = None,
        edge_properties: Mapping[str, Any] | None = None,
        vertex_properties: Mapping[str, Any] | None = None,
        weight: str | None = None,
        ids: IdKind | None = None,
        sync: SyncPolicy = "batch",
        memory: str | int | None = None,
        read_only: bool = False,
        threads: int | None = None,
        threshold: int | None = None,
        _base: PagedGraph | None = None,
    ) -> None:
        given = make_schema(
            directed, multigraph, reverse, edge_properties, vertex_properties, weight, ids
        )
        budget = None if memory is None else parse_bytes(memory)
        #: One change at a time, and none while somebody reads.
        self._lock = threading.RLock()
        self._in_order = CommitQueue()
        self._reader: int | None = None
        self._view: LiveView | None = None
        self._kept = MaintainedSet(self._lock)
        self._version = 0
        self._closed = False
        stored = StorageOptions(sync, budget, read_only, threads, threshold)
        self._storage = Storage(None if path is None else Path(path), given, _base, stored)
        outdate = self._outdate_view
        self._compactor = Compactor(self._storage, self._in_order, self._lock, outdate)
        self._end = self._compactor.close_after(self)

    @classmethod
    def from_graph(
        cls, graph: Graph, path: str | os.PathLike[str] | None = None, **options: Any
    ) -> DynamicGraph:
        """A graph that begins as a static one. Without a path the static graph itself is the base,
        and must stay; with one it is copied into the new directory. The options are those of
        :class:`DynamicGraph`.
        """
        return cls(path, _base=as_base(graph), **options)

    @property
    def _state(self) -> State:
        self._check_open()
        return self._storage.state

    def _check_open(self) -> None:
        if self._closed:
            raise PenstockError("the graph is closed; open it again")

    @property
    def path(self) -> Path | None:
        """Its directory."""
        return self._storage.path

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else str(self.path)
        if self._closed:
            return f"<DynamicGraph {place}: closed>"
        kind = "directed" if self.directed else "undirected"
        size = f"{self.num_vertices:,} vertices, {self.num_edges:,} {kind} edges"
        return f"<DynamicGraph {place}: {size}>"

    # Changes

    def add_edges(self, src: Any, dst: Any, properties: Mapping[str, Any] | None = None) -> int:
        """Add edges, with their properties (those that are not given are zero). Returns how many
        are new; the others, unless the graph is a multigraph, have changed their properties.
        """
        return self._edges(src, dst, None, properties)[0]

    def delete_edges(self, src: Any, dst: Any) -> int:
        """Delete edges; all there are between two vertices. Returns how many went."""
        return self._edges(src, dst, False, None)[1]

    def update_edges(
        self, src: Any, dst: Any, adds: Any, properties: Mapping[str, Any] | None = None
    ) -> tuple[int, int]:
        """Add where ``adds`` is true and delete where it is not, in the order of the rows. Returns
        how many edges came and how many went.
        """
        return self._edges(src, dst, adds, properties)

    def _edges(
        self, src: Any, dst: Any, adds: Any, properties: Mapping[str, Any] | None
    ) -> tuple[int, int]:
        state = self._state
        with self._lock:
            ids = state.ids_for(src)
            batch = check_edges(ids, src, dst, adds, properties, state.schema.columns)
            if not len(batch):
                return 0, 0
            self._check_kept(batch)
            state.set_id_kind(ids.kind)
        effect = self._take(batch)
        return effect.added, effect.removed

    def _check_kept(self, batch: EdgeBatch) -> None:
        """Raise if a maintained algorithm could not follow a batch."""
        mixed = batch.adds is not None and 0 < int(batch.adds.sum()) < len(batch)
        if mixed and self._kept and self.multigraph:
            raise OptionError(
                "update_edges: a multigraph that maintains algorithms takes edges to add and edges "
                "to delete in two calls"
            )
        self._kept.check(batch)

    def _take(self, batch: Batch) -> Effect:
        """Log a batch, and let it take effect. All of it, or an error and nothing of it."""

        def log() -> int:
            self._check_open()
            return self._storage.log(batch)

        def work() -> Effect:
            with self._lock:
                return self._effect(batch)

        self._check_not_reading()
        found = defer_sigint(lambda: self._in_order.run(log, work))
        self._compactor.after_batch()
        return found

    def _effect(self, batch: Batch) -> Effect:
        self._outdate_view()
        effect = self._storage.apply(batch, telling=bool(self._kept))
        self._kept.follow(effect.changes)
        return effect

    def _outdate_view(self) -> None:
        self._version += 1
        if self._view is not None:
            self._view.expire()
            self._view = None

    def _check_not_reading(self) -> None:
        if self._reader == threading.get_ident():
            raise PenstockError("the graph cannot be changed while this thread is reading it")

    def _checked_ids(self, given: Any) -> Array:
        with self._lock:
            ids = self._state.ids_for(given)
            found = ids.check(given, "ids")
            if len(found):
                self._state.set_id_kind(ids.kind)
            return found

    def add_vertices(self, ids: Any) -> int:
        """Add vertices, with or without edges to come. Returns how many are new."""
        wanted = self._checked_ids(ids)
        if not len(wanted):
            return 0
        changes = self._take(VertexBatch(wanted, -1, np.empty(0, np.uint8))).changes
        return changes.num_vertices - changes.old_vertices

    def _change_edges(self, make: Callable[[State], EdgeBatch]) -> int:
        """Log a batch that is made of what is there when its turn comes, and let it take effect;
        returns how many rows it has.
        """
        self._check_not_reading()

        def work() -> int:
            with self._in_order.alone(), self._lock:
                batch = make(self._state)
                if len(batch):
                    self._check_kept(batch)
                    self._storage.log(batch)
                    self._effect(batch)
                return len(batch)

        count = defer_sigint(work)
        self._compactor.after_batch()
        return count

    # By subject

    @property
    def edge_properties(self) -> EdgeProperties:
        """What edges carry: ``get`` and ``set``."""
        return EdgeProperties(self)

    @property
    def vertex_properties(self) -> VertexProperties:
        """What vertices carry: ``get`` and ``set``."""
        return VertexProperties(self)

    @property
    def internals(self) -> Internals:
        """What the graph takes and how its tables are, for the curious."""
        return Internals(self)

    # Queries

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """The edges of a snapshot, as pairs of ids; an undirected one once."""
        still = self.snapshot()
        names = still.ids_by_vid()
        for src, dst, _ in still.iter_edges():
            yield from zip(names[src].tolist(), names[dst].tolist(), strict=True)

    def to_edges(self) -> tuple[Array, ...]:
        """All edges as arrays ``(src, dst)`` or ``(src, dst, weight)``."""
        with self.reading() as still:
            return still.to_edges()

    @contextmanager
    def reading(self) -> Iterator[Graph]:
        """A context with the graph as it is now: changes wait until it is left. What it gives is of
        no use after the next change; :meth:`snapshot` stays.
        """
        with self._lock:
            self._check_open()
            outer, self._reader = self._reader, threading.get_ident()
            try:
                yield self._live_view()
            finally:
                self._reader = outer

    def _live_view(self) -> LiveView:
        if self._view is None:
            self._view = LiveView(self._state.version(self._tag()))
        return self._view

    def snapshot(self) -> Graph:
        """A graph that stays as it is while this one changes. What is in memory is copied."""
        with self._lock:
            still = snapshot(self._state.version(self._tag()))
            self._storage.hold_for(still)
            return still

    def _tag(self) -> int:
        return (self._storage.tag + self._version) % (1 << 64)

    # Algorithms that keep their answer

    def maintain(self, name: str, **parameters: Any) -> MaintainedAnswer:
        """Keep the answer of an algorithm up to date from now on: "bfs", "sssp", "pagerank",
        "connected_components", "color", "degree" or "triangles", with its parameters. Each batch
        then takes as long as the answer takes to follow; reading it is free. Answers are in memory
        only: a graph that is opened again maintains none until this is called again.
        """
        with self._lock:
            self._check_open()
            storage = self._storage
            return self._kept.begin(name, storage.sides(), storage.ids_in_order, **parameters)

    @property
    def maintained(self) -> MaintainedSet:
        """The algorithms that :meth:`maintain` keeps up to date, by name; ``del`` ends one."""
        return self._kept

    # The directory

    def compact(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Graph | None:  # fmt: skip
        """Merge everything into a static store: one of its own elsewhere, which is returned open;
        or, without a path, the base of this graph, and begin a new log. The latter waits for a
        compaction in the background, and other threads may go on changing the graph.
        """
        self._check_not_reading()
        self._check_open()
        if path is None:
            self._compactor.compact(progress)
            return None
        with self._in_order.alone(), self._lock:
            self._check_open()
            return self._storage.write_to(Path(path), overwrite=overwrite, progress=progress)

    def refresh(self) -> None:
        """See what another process has done since the graph was opened for reading."""
        self._check_not_reading()
        with self._lock:
            self._check_open()
            self._outdate_view()
            self._storage.refresh()

    def flush(self) -> None:
        """Have everything on the disk, whatever ``sync`` says."""
        self._storage.flush()

    def close(self) -> None:
        """Sync, and let go of the directory; may be called again. A compaction under way is
        abandoned: what it would have merged is in the logs.
        """
        self._check_not_reading()
        self._compactor.stop()
        with self._in_order.alone(), self._lock:
            if not self._closed:
                self._closed = True
                self._outdate_view()
                self._end()
        self._compactor.warn(stacklevel=3)

    def __enter__(self) -> DynamicGraph:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
