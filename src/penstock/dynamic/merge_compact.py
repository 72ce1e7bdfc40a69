"""Compaction: a base and what has changed since, written as a new store with the same numbers.

The base is read page by page in its order, merged with the sorted changes of the same vertices,
layer by layer, and cut into new pages. What is in memory is a few pages at a time, or the longest
list if that is more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from penstock.config import thread_count
from penstock.dynamic import merge_kernels as kernels
from penstock.dynamic.base import BaseLists
from penstock.dynamic.changes import Gathered, StandingLists
from penstock.dynamic.id_order import Empty, order_ids
from penstock.dynamic.layers import LayeredLists
from penstock.dynamic.merge_lists import merged
from penstock.dynamic.scratch import scratch_array
from penstock.dynamic.tables import Layer, Tables
from penstock.errors import OptionError
from penstock.parallel import ordered_map
from penstock.progress import Progress, Silent
from penstock.radix import sort_pairs
from penstock.store.banded import choose_bands
from penstock.store.catalog import Catalog, DirectionStats, IdSpec
from penstock.store.folder import GraphFolder, check_space
from penstock.store.layout import Column, PageSpec, make_layout
from penstock.store.memory import MemoryTarget
from penstock.store.packer import Packer, default_page_bytes
from penstock.store.paged import PagedGraph, open_graph
from penstock.types import I64, U32, U64, Adjacency, Array, Direction, IdKind
from penstock.version import __version__

#: Vertices that are not in the base come in parts of so many edges, or vertices.
PART_EDGES, PART_VERTICES = 1 << 18, 1 << 18
_NAME_ROWS = 1 << 16
_NOTHING = Gathered(np.empty(0, np.int64), np.empty(0, np.uint32))


@runtime_checkable
class ListParts(Protocol):
    """The lists of a direction that are made part after part."""

    @property
    def num_vertices(self) -> int:
        """How many lists there are."""

    @property
    def num_edges(self) -> int:
        """Entries of all lists."""

    @property
    def multigraph(self) -> bool:
        """Whether an edge may be there several times."""

    def parts(self, threads: int = 1) -> Iterator[Adjacency]:
        """The lists, in order of their vertices; neighbours ascend."""


class VertexIds(Protocol):
    """The user's ids, as compaction needs them."""

    @property
    def kind(self) -> IdKind:
        """Whether they are numbers or strings."""

    @property
    def num_vertices(self) -> int:
        """How many there are."""

    def by_vid(self) -> Array:
        """The id of each vertex number: int64, or strings as objects."""


@dataclass(frozen=True, slots=True)
class CompactOptions:
    """What the new store is."""

    directed: bool
    columns: tuple[Column, ...] = ()
    #: The column that is the weight.
    weight: str | None = None
    #: None: what suits the size of the graph.
    page_bytes: int | None = None
    threads: int | None = None


def compact(
    target: str | os.PathLike[str], sides: Mapping[Direction, LayeredLists | ListParts],
    ids: VertexIds,
    options: CompactOptions, *, overwrite: bool = False, progress: Progress | None = None,
) -> PagedGraph:  # fmt: skip
    """Write a graph, as it is now, to a directory that appears when it is complete; returns it
    open. Nobody may change the sides meanwhile.
    """
    with GraphFolder(target, overwrite=overwrite, progress=progress) as folder:
        folder.commit(write_store(folder, sides, ids, options, progress))
    return open_graph(Path(target))


def write_store(
    target: GraphFolder | MemoryTarget, sides: Mapping[Direction, LayeredLists | ListParts],
    ids: VertexIds | None, options: CompactOptions, progress: Progress | None = None,
) -> Catalog:  # fmt: skip
    """Write pages and index arrays; returns the catalog to commit. Without ``ids`` these are the
    vertex numbers.
    """
    progress = progress or Silent()
    multigraph = any(side.multigraph for side in sides.values())
    num_vertices = next(iter(sides.values())).num_vertices
    entries = max((side.num_edges for side in sides.values()), default=0)
    row = 3 + sum(column.dtype.itemsize for column in options.columns)
    spec = PageSpec(
        "banded",
        options.page_bytes or default_page_bytes(entries * row),
        num_vertices,
        options.columns,
        choose_bands(num_vertices, ascending=True),
    )
    if isinstance(target, GraphFolder):
        needed = len(sides) * (entries * row + 4 * num_vertices) + 16 * num_vertices
        check_space(target.scratch, needed, "writing the graph")
    id_spec, order_file, vertex_order = IdSpec("range", 0), None, "none"
    if ids is not None:
        id_spec, order_file, vertex_order = _write_ids(target, ids)
    catalog = Catalog(
        tag=int.from_bytes(os.urandom(8), "little"),
        num_vertices=num_vertices,
        num_edges=0,
        directed=options.directed,
        columns=options.columns,
        weight=options.weight,
        vertex_order=vertex_order,
        neighbour_order="id",
        rules={
            "duplicates": "keep" if multigraph else "last",
            "self_loops": "keep",
            "self_loops_dropped": 0,
            "duplicates_dropped": 0,
        },
        ids=id_spec,
        order_file=order_file,
        layout=spec.layout,
        page_bytes=spec.page_bytes,
        bands=spec.bands,
        p=0,
        q=0,
        num_stripes=target.num_stripes,
        directions={},
        written_by=f"penstock {__version__}",
    )
    loops = 0
    for direction, side in sides.items():
        writer = _Writer(target, spec, catalog.tag, thread_count(options.threads), progress)
        catalog.directions[direction], loops = writer.write(direction, side)
    stored = next(iter(catalog.directions.values())).num_edges
    num_edges = stored if options.directed else (stored + loops) // 2
    return replace(catalog, num_edges=num_edges)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes directions one after another."""

    target: GraphFolder | MemoryTarget
    spec: PageSpec
    tag: int
    threads: int
    progress: Progress

    def write(
        self, direction: Direction, side: LayeredLists | ListParts
    ) -> tuple[DirectionStats, int]:
        """Merge and write all lists; also returns how many loops there are."""
        spec = self.spec
        if side.num_vertices != spec.num_vertices:
            raise ValueError(f"{side.num_vertices} lists for {spec.num_vertices} ids")
        self.progress.start(f"writing {direction}-lists", side.num_edges, "edges")
        packer = Packer(
            spec,
            make_layout(spec),
            direction,
            self.tag,
            self.target.page_sink(direction),
            self.target.array_writer(f"{direction}.degrees.npy", np.uint32, spec.num_vertices),
        )

        loops = 0
        for part in self._parts(side):
            packer.add(part)
            loops += kernels.count_loops(part.first_vid, part.degrees, part.neighbours)
            self.progress.advance(len(part.neighbours))
        table, stats = packer.finish()
        self.target.save(f"{direction}.pages.npy", table)
        return stats, loops

    def _parts(self, side: LayeredLists | ListParts) -> Iterator[Adjacency]:
        if isinstance(side, ListParts):
            return side.parts(self.threads)
        bottom, layers = side.bottom, side.layers

        def make(piece: int | tuple[int, int]) -> Adjacency:
            if isinstance(piece, tuple):
                return self._new(layers, *piece)
            assert bottom is not None
            return self._of_base(bottom, layers, piece)

        # One thread, if no more are wanted: others may need the other cores.
        pieces = _pieces(side)
        return map(make, pieces) if self.threads == 1 else ordered_map(make, pieces, self.threads)

    def _of_base(self, bottom: BaseLists, layers: Sequence[Layer], group: int) -> Adjacency:
        """The lists of some pages of the base, with what has changed of them."""
        part = bottom.read_group(group)
        begin, end = part.first_vid, part.first_vid + len(part.degrees)
        names = [column.name for column in self.spec.columns]
        offsets: I64 = np.zeros(len(part.degrees) + 1, np.int64)
        np.cumsum(part.degrees, out=offsets[1:])
        lists = Gathered(offsets, part.neighbours, tuple(part.columns[name] for name in names))
        if not bottom.ascending:
            lists = _in_order(lists)
        return self._changed(lists, layers, begin, end)

    def _new(self, layers: Sequence[Layer], begin: int, end: int) -> Adjacency:
        """The lists of some vertices that the base does not have."""
        lists = self._sorted(layers[0].added, begin, end)
        return self._changed(lists, layers[1:], begin, end)

    def _changed(self, lists: Gathered, layers: Sequence[Layer], begin: int, end: int) -> Adjacency:
        """Lists with what the layers above them change."""
        for layer in layers:
            added, gone = self._sorted(layer.added, begin, end), _NOTHING
            if layer.removed is not None:
                gone = self._sorted(layer.removed, begin, end)
            if len(added.neighbours) or len(gone.neighbours):
                lists = merged(lists, gone, added, in_order=True)
        names = [column.name for column in self.spec.columns]
        return Adjacency(
            begin,
            np.diff(lists.offsets).astype(np.uint32),
            lists.neighbours,
            dict(zip(names, lists.columns, strict=True)),
        )

    def _sorted(self, lists: Tables, begin: int, end: int) -> Gathered:
        """The lists of vertices that follow each other, each in order."""
        starts, ends = lists.bounds(begin, end)
        sizes = (ends - starts).astype(np.int64)
        offsets: I64 = np.zeros(end - begin + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        total = int(offsets[-1])
        shift = max(1, (self.spec.num_vertices - 1).bit_length())
        keys: U64 = np.empty(total, np.uint64)
        places: U64 = np.empty(total if lists.columns else 0, np.uint64)
        standing = StandingLists(starts, ends, lists.neighbours)
        kernels.list_keys(shift, standing, keys, places)
        keys, places = _sort(keys, places, shift + (end - begin).bit_length())
        return Gathered(
            offsets,
            _low_bits(keys, shift),
            tuple(values[places] for values in lists.columns),
        )


def _pieces(side: LayeredLists) -> Iterator[int | tuple[int, int]]:
    """Groups of pages of the base, then ranges of the vertices that it does not have."""
    first = 0
    if side.bottom is not None:
        yield from range(side.bottom.num_groups)
        first = side.bottom.num_vertices
    degrees = side.degrees()
    for begin in range(first, side.num_vertices, PART_VERTICES):
        upto = min(begin + PART_VERTICES, side.num_vertices)
        edges = np.cumsum(degrees[begin:upto], dtype=np.uint64)
        wanted = np.arange(PART_EDGES, int(edges[-1]), PART_EDGES, dtype=np.uint64)
        cuts = begin + 1 + np.searchsorted(edges, wanted)
        yield from pairwise(sorted({begin, *cuts.tolist(), upto}))


def _sort(keys: U64, places: U64, bits: int) -> tuple[U64, U64]:
    """Keys ascending, and the place of each, unless there are no places."""
    if not len(places):
        keys.sort()
        return keys, places
    spare_keys, spare_places = np.empty_like(keys), np.empty_like(places)
    if sort_pairs(keys, places, spare_keys, spare_places, bits):
        return spare_keys, spare_places
    return keys, places


def _low_bits(keys: U64, bits: int) -> U32:
    low: U32 = (keys & np.uint64((1 << bits) - 1)).astype(np.uint32)
    return low


def _in_order(lists: Gathered) -> Gathered:
    """Lists of any order, each in order."""
    sizes = np.diff(lists.offsets)
    owners = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    keys = (owners << np.uint64(32)) | lists.neighbours
    places: U64 = np.arange(len(keys), dtype=np.uint64)
    keys, places = _sort(keys, places, 32 + len(sizes).bit_length())
    columns = tuple(values[places] for values in lists.columns)
    return Gathered(lists.offsets, _low_bits(keys, 32), columns)


# Ids


def _write_ids(
    target: GraphFolder | MemoryTarget, ids: VertexIds
) -> tuple[IdSpec, str | None, str]:
    """Write the ids in ascending order and, unless that is the order of the vertices, which vertex
    each belongs to; returns what the catalog says of them, and of the order of vertices.
    """
    values = ids.by_vid()
    if len(values) != ids.num_vertices:
        raise ValueError(f"{len(values)} ids for {ids.num_vertices} vertices")
    if ids.kind == "string":
        spec, order = _write_names(target, values)
    else:
        spec, order = _write_numbers(target, values)
    if order is None:
        return spec, None, "none"
    target.save("vid_of_rank.npy", order)
    return spec, "vid_of_rank.npy", "given"


def _write_numbers(target: GraphFolder | MemoryTarget, values: I64) -> tuple[IdSpec, U32 | None]:
    if not len(values):
        return IdSpec("range", 0), None
    first, last = int(values.min()), int(values.max())
    if first < 0:
        raise OptionError(f"ids: expected numbers from 0 to 2**63 - 1, got {first}")
    empty: Empty = np.empty
    if isinstance(target, GraphFolder):
        empty = partial(scratch_array, target.scratch)
    ascending, order = order_ids(values, empty)
    if last - first + 1 == len(values):
        return IdSpec("range", first), order
    target.save("ids.npy", ascending)
    return IdSpec("int", 0, "ids.npy"), order


def _write_names(target: GraphFolder | MemoryTarget, values: Array) -> tuple[IdSpec, U32 | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(values, pa.large_string())
    # Strings are in order of their UTF-8 bytes.
    places = pc.sort_indices(names.cast(pa.large_binary())).to_numpy().astype(np.uint32)
    order: U32 | None = None
    if not (places[1:] > places[:-1]).all():
        order, names = places, names.take(pa.array(places))
    if isinstance(target, GraphFolder):
        schema = pa.schema([("id", pa.large_string())])
        path = str(target.index_file("ids.arrow"))
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, schema) as writer:
            writer.write_table(pa.table([names], schema), max_chunksize=_NAME_ROWS)
    else:
        target.save("ids.arrow", names.to_numpy(zero_copy_only=False))
    return IdSpec("string", 0, "ids.arrow"), order
