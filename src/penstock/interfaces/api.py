"""The functions of ``import penstock as ps``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from penstock.config import memory_budget, parse_bytes, thread_count
from penstock.errors import OptionError
from penstock.ingest.build import build as build_graph
from penstock.ingest.formats import open_source
from penstock.ingest.options import (
    BuildOptions,
    Directions,
    LayoutName,
    NeighbourOrder,
    VertexOrder,
)
from penstock.ingest.plan import plan_read
from penstock.ingest.sorting import DuplicateRule
from penstock.interfaces.opening import open_any
from penstock.progress import Progress
from penstock.protocols import OnBadLine, ReadOptions, Source
from penstock.store.graph import Graph
from penstock.store.paged import PagedGraph
from penstock.types import IdKind

if TYPE_CHECKING:
    from penstock.dynamic.graph import DynamicGraph

Generator = Literal["rmat", "uniform"]


def open(path: str | os.PathLike[str]) -> Graph | DynamicGraph:
    """Open a graph directory; nothing but its catalog is read.

    The directory of a graph that changes gives the :class:`DynamicGraph`, for reading only, as its
    log says it is now.
    """
    return open_any(path)


def build(
    source: Any,
    path: str | os.PathLike[str],
    directed: bool | None = None,  # noqa: FBT001
    weights: bool | str | int | None = None,  # noqa: FBT001
    memory: str | int | None = None,
    overwrite: bool = False,  # noqa: FBT001
    *,
    attributes: Iterable[str | int] = (),
    duplicates: DuplicateRule = "last",
    self_loops: Literal["keep", "drop"] = "keep",
    vertex_order: VertexOrder = "degree",
    neighbour_order: NeighbourOrder = "id",
    directions: Directions = "both",
    num_vertices: int | None = None,
    layout: LayoutName = "banded",
    page_size: str | int | None = None,
    physical_ids: tuple[int, int] | None = None,
    stripes: Iterable[str | os.PathLike[str]] = (),
    tmpdir: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    format: str | None = None,
    separator: str | None = "auto",
    comment: str = "#%",
    header: bool | None = None,
    skip_lines: int = 0,
    ids: IdKind | None = None,
    columns: tuple[str | int, str | int] | None = None,
    on_bad_line: OnBadLine = "error",
    max_bad_lines: int | str | None = None,
    progress: Progress | None = None,
) -> PagedGraph:
    """Build a graph directory from an input of any size, in bounded memory.

    Parameters
    ----------
    source
        A path, a glob or a list of files; an Arrow, pandas or polars table; an Arrow dataset; a
        SciPy sparse matrix; a graph of NetworkX or igraph; or arrays ``(src, dst)`` or
        ``(src, dst, weight)``.
    path
        The directory to make. It appears when it is complete, not before.
    directed
        Whether edges have a direction. None: what the input says, else yes.
    weights
        True for the input's usual weight column ("weight", else the third), or the column's name
        or number. None: what is usual for the format; False: none.
    memory
        Bytes the build may hold, such as ``"512MB"``, beyond what Python and the compiled kernels
        take. None: half of what is available.
    overwrite
        Replace a graph that is there already, once the new one is complete.
    attributes
        Further columns to keep with the edges.
    duplicates
        What becomes of several edges between the same two vertices (in the same direction, if
        directed): "keep" all; or one, with the weight and attributes of the "first" or "last" in
        the input, of the one with the "min" or "max" weight, or of the last with the "sum" of all
        weights.
    self_loops
        "keep" edges from a vertex to itself, or "drop" them (the vertex stays).
    vertex_order
        How vertices are numbered inside: by descending "degree" (rows of the input that name them),
        which is the fastest to work on, or "none": in order of their ids.
    neighbour_order
        The order of each list: "id" (ascending vertex number), "degree" (descending degree) or
        "input".
    directions
        For directed graphs, which lists to store: "out", "in" or "both".
    num_vertices
        Vertices are 0 .. num_vertices - 1, with or without edges. None: those the input declares,
        else those that edges name.
    layout, page_size, physical_ids, stripes
        How pages are written: see the format page. ``stripes`` are further directories, best on
        other disks, over which pages are dealt out.
    tmpdir
        Where temporary files go; None: beside the target.
    threads
        None: one for each core.
    format, separator, comment, header, skip_lines, ids, columns, on_bad_line, max_bad_lines
        How to read the input. ``columns`` are those of source and target, by number or name; None:
        those with usual names, else the first two. ``ids`` is "int" or "string".
        ``on_bad_line="skip"`` skips lines and rows that cannot be read, at most ``max_bad_lines``
        of them: a number, or a percentage such as ``"5%"``. None: 10 or 1 %, whichever is more, but
        no more than half.
    progress
        Receives how far the work has come.

    Returns
    -------
    Graph
        The graph, open.
    """
    budget = memory_budget(memory)
    count = thread_count(threads)
    kept = _several(attributes)
    plan = plan_read(budget, count, 8 * max(2, 1 + len(kept)))
    read = _reading(
        columns, kept, format=format, separator=separator, comment=comment, header=header,
        skip_lines=skip_lines, ids=ids, weights=weights, directed=directed,
        on_bad_line=on_bad_line, max_bad_lines=max_bad_lines, threads=count,
        block_bytes=plan.block_bytes, chunk_rows=plan.chunk_rows,
    )  # fmt: skip
    opened = open_source(source, read)
    options = BuildOptions(
        directed=_is_directed(opened, directed),
        duplicates=duplicates,
        self_loops=self_loops,
        vertex_order=vertex_order,
        neighbour_order=neighbour_order,
        directions=directions,
        layout=layout,
        page_bytes=None if page_size is None else parse_bytes(page_size, "page_size"),
        physical_ids=physical_ids,
        num_vertices=num_vertices,
        stripes=tuple(Path(stripe) for stripe in stripes),
        tmpdir=None if tmpdir is None else Path(tmpdir),
        memory=budget,
        threads=count,
        overwrite=overwrite,
    )
    return build_graph(opened, Path(path), options, progress)


def generate(
    kind: Generator,
    path: str | os.PathLike[str],
    *,
    scale: int = 16,
    edge_factor: float = 16,
    probabilities: tuple[float, float, float, float] | None = None,
    seed: int = 1,
    directed: bool = True,
    memory: str | int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> PagedGraph:
    """Build a graph of ``2**scale`` vertices and ``edge_factor`` times as many random edges.

    ``kind`` is "rmat" (Kronecker, as Graph500 has it; ``probabilities`` are A, B, C, D) or
    "uniform" (both ends drawn evenly). The seed alone decides which edges. Further options are
    those of :func:`build` that concern the graph, such as ``duplicates`` or ``layout``.
    """
    from penstock.ingest import generate as generators

    if kind not in get_args(Generator):
        raise OptionError(f"kind: expected one of {', '.join(get_args(Generator))}; got {kind!r}")
    budget = memory_budget(memory)
    count = thread_count(threads)
    rows = plan_read(budget, count, 0).chunk_rows
    if kind == "rmat":
        quadrants = probabilities or generators.GRAPH500
        source = generators.rmat(scale, edge_factor, quadrants, seed, count, rows)
    else:
        source = generators.uniform_of_scale(scale, edge_factor, seed, count, rows)
    if (size := options.pop("page_size", None)) is not None:
        options["page_bytes"] = parse_bytes(size, "page_size")
    if (folder := options.pop("tmpdir", None)) is not None:
        options["tmpdir"] = Path(folder)
    options["stripes"] = tuple(Path(stripe) for stripe in options.pop("stripes", ()))
    chosen = BuildOptions(
        directed=directed, memory=budget, threads=count, overwrite=overwrite, **options
    )
    return build_graph(source, Path(path), chosen, progress)


def from_edges(
    src: Any,
    dst: Any = None,
    weight: Any = None,
    directed: bool | None = None,  # noqa: FBT001
    num_vertices: int | None = None,
    *,
    weights: bool | str | int | None = None,
    attributes: Iterable[str | int] = (),
    duplicates: DuplicateRule = "last",
    self_loops: Literal["keep", "drop"] = "keep",
    vertex_order: VertexOrder = "degree",
    neighbour_order: NeighbourOrder = "id",
    threads: int | None = None,
    ids: IdKind | None = None,
    columns: tuple[str | int, str | int] | None = None,
    on_bad_line: OnBadLine = "error",
    max_bad_lines: int | str | None = None,
) -> PagedGraph:
    """A graph in memory from arrays of ids (numbers or strings); nothing is written.

    Instead of arrays it takes one object that :func:`build` reads: a table, a sparse matrix, a
    graph of NetworkX or igraph; ``weights``, ``attributes`` and (of a table) ``columns``,
    ``on_bad_line`` and ``max_bad_lines`` are for these. ``ids`` is "int" or "string", if the ids
    are to be read as something else than they are.

    The vertices are those that edges name or the object has, or ``0 .. num_vertices - 1`` if that
    is given. The other options are those of :func:`build`.
    """
    count = thread_count(threads)
    data = src
    if dst is not None:
        data = (src, dst) if weight is None else (src, dst, weight)
    elif weight is not None:
        raise OptionError("weight: goes with arrays src and dst; of one object, pass weights=")
    if weight is not None and weights is False:
        raise OptionError("weights: False, though weight= has some; leave one of them out")
    read = _reading(
        columns, _several(attributes), ids=ids, weights=weights, directed=directed,
        on_bad_line=on_bad_line, max_bad_lines=max_bad_lines, threads=count,
    )  # fmt: skip
    source = open_source(data, read)
    options = BuildOptions(
        directed=_is_directed(source, directed),
        duplicates=duplicates,
        self_loops=self_loops,
        vertex_order=vertex_order,
        neighbour_order=neighbour_order,
        num_vertices=num_vertices,
        memory=1 << 62,
        threads=count,
    )
    return build_graph(source, None, options)


def _is_directed(source: Source, directed: bool | None) -> bool:  # noqa: FBT001
    """What was asked for, else what the input says, else yes."""
    return source.directed is not False if directed is None else directed


def _reading(
    columns: tuple[str | int, str | int] | None, attributes: tuple[str | int, ...], **options: Any
) -> ReadOptions:
    """How an input is read; ``columns`` are those of source and target."""
    if columns is None:
        return ReadOptions(attributes=attributes, **options)
    if not isinstance(columns, tuple) or len(columns) != 2:
        raise OptionError(f"columns: expected two, of source and target; got {columns!r}")
    return ReadOptions(attributes=attributes, source=columns[0], target=columns[1], **options)


def _several(attributes: Iterable[str | int]) -> tuple[str | int, ...]:
    if isinstance(attributes, str):
        raise OptionError(
            f"attributes: expected several names, got {attributes!r}; pass [{attributes!r}]"
        )
    return tuple(attributes)
