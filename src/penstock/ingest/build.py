"""From rows to a graph: read, number, distribute, sort, pack. Memory is bounded throughout.

1. *Read*: rows go into a spool, ids as numbers (strings as hashes). Inputs that are cheap to repeat
   and know their vertices (generators) are not copied: they are read again instead.
2. *Number*: every id gets a vertex number, by descending degree unless told otherwise.
3. *Distribute*: each row becomes a sort key for each direction; splitters from a sample of the rows
   send keys to buckets, which wait in memory or, packed, on disk.
4. *Sort and pack*: one bucket after another is sorted, rid of duplicates and cut into pages.
"""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from penstock.errors import InputError, OptionError
from penstock.ingest.distribute import Pass, distribute, sorted_lists
from penstock.ingest.ids import HashCollisionError
from penstock.ingest.numbering import Numbering, check_declared, find_ids, number
from penstock.ingest.options import BuildOptions, choose_page_bytes
from penstock.ingest.plan import DiskPlan, plan_disk, plan_sort
from penstock.ingest.repack import repack
from penstock.ingest.rows import UNLIMITED, ReadResult, SourceRows, check_columns, read_rows
from penstock.ingest.sorting import SortSpec, widest
from penstock.process import arrow_from_system, return_freed_memory
from penstock.progress import Progress, Silent
from penstock.protocols import Source
from penstock.sorting.external import ExternalSort
from penstock.store.banded import choose_bands
from penstock.store.catalog import Catalog, DirectionStats
from penstock.store.folder import GraphFolder, check_space
from penstock.store.layout import Column, PageSpec, make_layout
from penstock.store.memory import MemoryTarget
from penstock.store.packer import Packer
from penstock.store.paged import PagedGraph, open_graph
from penstock.types import Direction
from penstock.version import __version__

_SEEDS = 3


def build(
    source: Source,
    target: Path | None,
    options: BuildOptions,
    progress: Progress | None = None,
) -> PagedGraph:
    """Build a graph in a directory, or in memory if there is no target; returns it open."""
    progress = progress or Silent()
    check_columns(source)
    _check_rules(source, options)
    if options.num_vertices is not None:
        if source.id_kind == "string":
            raise OptionError("num_vertices: ids are strings; it needs ids 0 .. n-1")
        asked_for = range(options.num_vertices)
        if source.declared:
            check_declared(np.array(source.declared[-1:], np.uint64), asked_for)
        source = replace(source, declared=asked_for)
    # String ids are collected in Arrow tables, and Arrow's allocator retains freed memory.
    budgeted = target is not None and source.id_kind == "string"
    for seed in range(1, _SEEDS + 1):
        try:
            with arrow_from_system() if budgeted else nullcontext():
                return _build_in(source, target, options, progress, seed)
        except HashCollisionError:
            if seed == _SEEDS:
                raise
            source.bad_lines.count = 0
            source.bad_lines.examples.clear()
    raise AssertionError


def _build_in(
    source: Source, target: Path | None, options: BuildOptions, progress: Progress, seed: int
) -> PagedGraph:
    if target is None:
        memory = MemoryTarget()
        plain = replace(options, layout="banded")
        catalog = _Build(source, plain, memory, None, progress, seed).run()
        graph = memory.graph(catalog)
        if options.layout == "banded":
            return graph
        memory = MemoryTarget()
        return memory.graph(repack(graph, memory, options, progress))
    with ExitStack() as stack:
        folder = stack.enter_context(
            GraphFolder(target, options.stripes, overwrite=options.overwrite, progress=progress)
        )
        scratch = folder.scratch
        if options.tmpdir is not None:
            scratch = folder.scratch_in(options.tmpdir)
        if options.layout == "banded":
            catalog = _Build(source, options, folder, scratch, progress, seed).run()
        else:
            # Physical ids need every vertex's place, and that every degree: so in two steps.
            plain = replace(options, layout="banded", stripes=(), page_bytes=None)
            draft = scratch / "draft"
            with GraphFolder(draft, overwrite=False) as first:
                first.commit(_Build(source, plain, first, first.scratch, progress, seed).run())
            catalog = repack(open_graph(draft), folder, options, progress)
        folder.commit(catalog)
    return open_graph(target)


def _check_rules(source: Source, options: BuildOptions) -> None:
    if options.duplicates in ("min", "max", "sum") and source.weight is None:
        raise OptionError(
            f"duplicates: {options.duplicates!r} chooses by weight, and the graph has none; "
            "pass weights=, or use keep, first or last"
        )


@dataclass(slots=True)
class _Build:
    """One build under way."""

    source: Source
    options: BuildOptions
    target: GraphFolder | MemoryTarget
    #: None: everything stays in memory.
    scratch: Path | None
    progress: Progress
    seed: int

    def run(self) -> Catalog:
        options = self.options
        read = self._read()
        columns = self._column_types(read)
        self._settle()
        space = find_ids(
            read, self.source.declared, self.target, self.scratch, options.memory, options.threads
        )
        del read
        self._settle()
        budget = options.memory if self.scratch else UNLIMITED
        numbering = number(space, options, self.target, budget, self.progress, self.source.name)
        del space
        self._settle()
        if numbering.num_vertices == 0:
            self._refuse_empty_file()
        spec = self._page_spec(numbering, columns)
        catalog = self._catalog(numbering, spec)
        return self._lists(numbering, columns, spec, catalog)

    def _refuse_empty_file(self) -> None:
        """An empty file is rather a mistake than a graph; empty arrays are meant."""
        source = self.source
        if source.is_file and source.declared is None:
            count = source.bad_lines.count
            skipped = f" ({count:,} bad lines were skipped)" if count else ""
            raise InputError(
                f"{source.name}: has no edges{skipped}, so nothing was built; check the file, or "
                "pass num_vertices=0 (--num-vertices 0) if an empty graph is meant"
            )

    def _settle(self) -> None:
        """Between stages: give memory back, if a budget counts it (it takes a moment)."""
        if self.scratch is not None:
            return_freed_memory()

    def _read(self) -> ReadResult:
        source = self.source
        known = source.declared is not None and source.vertices is None
        if source.cheap_to_repeat and known and source.id_kind == "int":
            types = {k: v for k, v in source.columns.items() if v is not None}
            if len(types) == len(source.columns):
                return ReadResult(SourceRows(source), types, types)
        return read_rows(
            source,
            self.options.memory,
            self.options.threads,
            self.scratch,
            self.progress,
            self.seed,
        )

    def _column_types(self, read: ReadResult) -> dict[str, np.dtype[Any]]:
        types = dict(read.columns)
        if self.options.duplicates == "sum" and self.source.weight is not None:
            types[self.source.weight] = widest(types[self.source.weight])
        return types

    def _page_spec(self, numbering: Numbering, columns: dict[str, np.dtype[Any]]) -> PageSpec:
        options = self.options
        ascending = options.neighbour_order == "id" or (
            options.neighbour_order == "degree" and options.vertex_order == "degree"
        )
        bands = choose_bands(numbering.num_vertices, ascending=ascending)
        copies = 1 if options.directed else 2
        row = 3 + sum(dtype.itemsize for dtype in columns.values())
        return PageSpec(
            "banded",
            choose_page_bytes(options.page_bytes, copies * numbering.num_rows * row),
            numbering.num_vertices,
            tuple(Column(name, dtype.newbyteorder("<")) for name, dtype in columns.items()),
            bands,
        )

    def _catalog(self, numbering: Numbering, spec: PageSpec) -> Catalog:
        options = self.options
        rules = {"duplicates": options.duplicates, "self_loops": options.self_loops}
        what = repr((
            numbering.fingerprint, numbering.num_rows, spec, options.directed, rules,
            options.vertex_order, options.neighbour_order,
        ))  # fmt: skip
        return Catalog(
            tag=xxhash.xxh3_64_intdigest(what.encode()),
            num_vertices=numbering.num_vertices,
            num_edges=0,
            directed=options.directed,
            columns=spec.columns,
            weight=self.source.weight,
            vertex_order=options.vertex_order,
            neighbour_order=options.neighbour_order,
            rules={**rules, "self_loops_dropped": numbering.loops_dropped},
            ids=numbering.spec,
            order_file=numbering.order_file,
            layout=spec.layout,
            page_bytes=spec.page_bytes,
            bands=spec.bands,
            p=0,
            q=0,
            num_stripes=self.target.num_stripes,
            directions={},
            written_by=f"penstock {__version__}",
        )

    def _lists(
        self,
        numbering: Numbering,
        columns: dict[str, np.dtype[Any]],
        spec: PageSpec,
        catalog: Catalog,
    ) -> Catalog:
        """Sort and write every direction; the rows are used up, and so is the table."""
        options = self.options
        copies = 1 if options.directed else 2
        sort_spec = SortSpec(
            shift=max(1, (numbering.num_vertices - 1).bit_length()),
            rule=options.duplicates,
            columns=columns,
            weight=self.source.weight,
            input_order=options.neighbour_order == "input",
            target_of=numbering.target_of,
        )
        plan = plan_sort(
            options.memory if self.scratch else UNLIMITED,
            options.threads,
            len(numbering.table) + 2 * len(numbering.target_table),
            copies * numbering.num_rows,
            sort_spec.column_bytes,
            max_rows=numbering.max_chunk_rows,
        )
        numbering.rows.shrink(plan.spool_bytes)
        wanted = options.stored_directions()
        again = isinstance(numbering.rows, SourceRows)
        passes = [(d,) for d in wanted] if again else [wanted]
        self._check_space(
            plan_disk(
                copies * numbering.num_rows,
                (2 * sort_spec.shift + 7) // 8,
                sort_spec.column_bytes,
                plan.bucket_bytes,
                passes=len(passes),
                directions=len(wanted),
            )
        )
        loops = 0
        for number_, group in enumerate(passes):
            each = Pass(group, last=number_ == len(passes) - 1)
            sorts = distribute(
                numbering, each, sort_spec, plan, options, self.scratch, self.progress
            )
            self._settle()
            for direction in group:
                stats, loops = self._write(
                    direction, sorts.pop(direction), sort_spec, spec, catalog
                )
                catalog.directions[direction] = stats
        stored = catalog.directions[wanted[0]].num_edges
        num_edges = stored if options.directed else (stored + loops) // 2
        rules = dict(catalog.rules)
        if self.source.bad_lines.count:
            rules["bad_lines_skipped"] = self.source.bad_lines.count
        rules["duplicates_dropped"] = numbering.num_rows - numbering.loops_dropped - num_edges
        return replace(catalog, num_edges=num_edges, rules=rules)

    def _check_space(self, plan: DiskPlan) -> None:
        if self.scratch is None or not isinstance(self.target, GraphFolder):
            return
        place = self.target.scratch
        if self.scratch.stat().st_dev == place.stat().st_dev:
            check_space(place, plan.shared_bytes, "sorting and writing the edges")
        else:
            check_space(self.scratch, plan.scratch_bytes, "sorting the edges")
            check_space(place, plan.target_bytes, "writing the edges")

    def _write(
        self, direction: Direction, rows: ExternalSort, sort_spec: SortSpec, spec: PageSpec,
        catalog: Catalog,
    ) -> tuple[DirectionStats, int]:  # fmt: skip
        self.progress.start(f"writing {direction}-lists", rows.num_rows, "edges")
        packer = Packer(
            spec,
            make_layout(spec),
            direction,
            catalog.tag,
            self.target.page_sink(direction),
            self.target.array_writer(f"{direction}.degrees.npy", np.uint32, spec.num_vertices),
        )
        loops = 0
        for part, count, found in sorted_lists(rows, sort_spec, self.options.threads):
            packer.add(part)
            loops += found
            self.progress.advance(count)
        table, stats = packer.finish()
        self.target.save(f"{direction}.pages.npy", table)
        return stats, loops
