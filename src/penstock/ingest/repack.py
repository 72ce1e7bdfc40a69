"""Writing a graph again in the slotted layout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.errors import AddressingError
from penstock.ingest.options import BuildOptions, choose_page_bytes
from penstock.process import retain_freed_memory
from penstock.progress import Progress
from penstock.store.catalog import Catalog
from penstock.store.folder import GraphFolder
from penstock.store.layout import PageSpec, make_layout
from penstock.store.mapped import iter_parts
from penstock.store.memory import MemoryTarget
from penstock.store.packer import Packer
from penstock.store.paged import PagedGraph
from penstock.store.slotted import ADDRESSINGS, check_addressable, edge_bytes, place
from penstock.types import I64, Direction

#: Freed memory to retain: enough for the arrays of a page; larger arrays are returned at once.
_KEPT_BYTES = 8 << 20


def repack(
    graph: PagedGraph, target: GraphFolder | MemoryTarget, options: BuildOptions, progress: Progress
) -> Catalog:
    """Write a graph's pages as slotted pages; returns the catalog to commit."""
    catalog = graph.catalog
    retain_freed_memory(_KEPT_BYTES)
    _copy_index(graph, target)
    spec, firsts = choose_addressing(graph, options)
    directions = {}
    for direction in catalog.directions:
        progress.start(
            f"repacking {direction}-lists", catalog.directions[direction].num_edges, "edges"
        )
        packer = Packer(
            spec,
            make_layout(spec, firsts[direction].astype(np.uint32)),
            direction,
            catalog.tag,
            target.page_sink(direction),
            target.array_writer(f"{direction}.degrees.npy", np.uint32, catalog.num_vertices),
        )
        last = -1
        for part in graph.iter_adjacency(direction, options.threads):
            packer.add(part)
            last = part.first_vid
            progress.advance(len(part.neighbours))
        table, stats = packer.finish()
        assert np.array_equal(table["first_vid"], firsts[direction]), last
        target.save(f"{direction}.pages.npy", table)
        directions[direction] = stats
    return replace(
        catalog, layout="slotted", page_bytes=spec.page_bytes, bands=(), p=spec.p, q=spec.q,
        num_stripes=target.num_stripes, directions=directions, files={},
    )  # fmt: skip


def choose_addressing(
    graph: PagedGraph, options: BuildOptions
) -> tuple[PageSpec, dict[Direction, I64]]:
    """The narrowest physical ids that can name every page, and the first vertex of each page."""
    catalog = graph.catalog
    choices = ADDRESSINGS if options.physical_ids is None else (options.physical_ids,)
    failure: AddressingError | None = None
    for p, q in choices:
        spec = PageSpec("slotted", 1, catalog.num_vertices, catalog.columns, (), p, q)
        most = max(stats.num_edges for stats in catalog.directions.values())
        spec = replace(
            spec, page_bytes=choose_page_bytes(options.page_bytes, most * edge_bytes(spec))
        )
        try:
            firsts: dict[Direction, I64] = {}
            for direction in catalog.directions:
                parts = (part for _, part in iter_parts(graph.degrees(direction)))
                firsts[direction], _ = place(parts, spec)
                check_addressable(len(firsts[direction]), spec)
        except AddressingError as error:
            failure = error
            continue
        return spec, firsts
    assert failure is not None
    raise failure


def _copy_index(graph: PagedGraph, target: GraphFolder | MemoryTarget) -> None:
    """The ids and their order stay as they are."""
    for name in (graph.catalog.ids.file, graph.catalog.order_file):
        if name is not None:
            target.copy_index(name, graph)
