"""What a build should give, worked out the slow and obvious way, and how to compare it.

The rules are those of ``penstock.build``. Two things its words leave open are settled here: each
end of a row that is not dropped counts for the degree (a kept self-loop counts twice), and of
several rows with the same lowest or highest weight the first is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.ingest.formats._values import name_ids
from penstock.ingest.options import BuildOptions
from penstock.protocols import Source
from penstock.store.graph import Graph
from penstock.types import EdgeChunk


@dataclass(frozen=True)
class Input:
    """Rows as plain Python values; strings if ``strings``. A column of dtype None is narrowed."""

    src: list[Any]
    dst: list[Any]
    columns: dict[str, list[float]] = field(default_factory=dict)
    dtypes: dict[str, str | None] = field(default_factory=dict)
    weight: str | None = None
    strings: bool = False
    declared: range | None = None
    #: Vertices named outside the edges.
    extra: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.src)

    def source(self, chunk_rows: int = 1 << 20, *, repeat: bool = False) -> Source:
        """The input as the pipeline takes it, ``chunk_rows`` at a time."""
        types = {k: None if v is None else np.dtype(v) for k, v in self.dtypes.items()}

        def chunks(advance: Callable[[float], None]) -> Iterator[EdgeChunk]:
            for at in range(0, len(self), chunk_rows):
                part = slice(at, at + chunk_rows)
                columns = {
                    name: np.array(self.columns[name][part], types[name] or np.float64)
                    for name in self.columns
                }
                yield EdgeChunk(self._ids(self.src[part]), self._ids(self.dst[part]), columns)
                advance(len(self.src[part]))

        def vertices() -> Iterator[Any]:
            for at in range(0, len(self.extra), chunk_rows):
                yield self._ids(self.extra[at : at + chunk_rows])

        return Source(
            chunks=chunks,
            size=len(self),
            unit="edges",
            id_kind="string" if self.strings else "int",
            columns=types,
            weight=self.weight,
            declared=self.declared,
            vertices=vertices if self.extra else None,
            cheap_to_repeat=repeat,
            name="rows",
        )

    def _ids(self, values: list[Any]) -> Any:
        if self.strings:
            return name_ids(pa.array(values, pa.large_string()), "ids")
        return np.array(values, np.uint64)


@dataclass
class Expected:
    """The graph that must come out. Lists have entries (neighbour's vid, its columns)."""

    ids: list[Any]
    vid_of: dict[Any, int]
    num_edges: int
    loops_dropped: int
    duplicates_dropped: int
    dtypes: dict[str, np.dtype[Any]]
    lists: dict[str, list[list[tuple[Any, ...]]]]


def expect(given: Input, options: BuildOptions) -> Expected:
    """Apply the rules to the rows."""
    ids = _vertices(given, options)
    rows = [(u, v) for u, v in zip(given.src, given.dst, strict=True)]
    kept = [i for i, (u, v) in enumerate(rows) if u != v or options.self_loops == "keep"]
    degree = dict.fromkeys(ids, 0)
    for i in kept:
        for end in rows[i]:
            degree[end] += 1
    rank_by_degree = {v: k for k, v in enumerate(sorted(ids, key=lambda v: (-degree[v], v)))}
    by_id = {v: k for k, v in enumerate(ids)}
    vid_of = rank_by_degree if options.vertex_order == "degree" else by_id
    dtypes = _dtypes(given, options)
    edges = _edges(given, options, kept, dtypes)
    orders: dict[str, Callable[[tuple[int, Any]], Any]] = {
        "id": lambda entry: (vid_of[entry[1]], entry[0]),
        "degree": lambda entry: (rank_by_degree[entry[1]], entry[0]),
        "input": lambda entry: entry[0],
    }
    out: dict[Any, list[tuple[int, Any, tuple[Any, ...]]]] = {v: [] for v in ids}
    into: dict[Any, list[tuple[int, Any, tuple[Any, ...]]]] = {v: [] for v in ids}
    for row, values in edges:
        u, v = rows[row]
        out[u].append((row, v, values))
        into[v].append((row, u, values))
        if not options.directed and u != v:
            out[v].append((row, u, values))
    lists = {}
    for direction, lists_of in (("out", out), ("in", into)):
        lists[direction] = [
            [
                (vid_of[v], *values)
                for _, v, values in sorted(
                    lists_of[owner], key=lambda e: orders[options.neighbour_order](e[:2])
                )
            ]
            for owner in sorted(ids, key=vid_of.__getitem__)
        ]
    return Expected(
        ids, vid_of, len(edges), len(rows) - len(kept), len(kept) - len(edges), dtypes,
        {d: lists[d] for d in options.stored_directions()},
    )  # fmt: skip


def _vertices(given: Input, options: BuildOptions) -> list[Any]:
    if options.num_vertices is not None:
        return list(range(options.num_vertices))
    if given.declared is not None:
        return list(given.declared)
    return sorted({*given.src, *given.dst, *given.extra})


def _dtypes(given: Input, options: BuildOptions) -> dict[str, np.dtype[Any]]:
    found = {}
    for name, asked in given.dtypes.items():
        dtype = np.dtype(asked) if asked is not None else narrowest(given.columns[name])
        if name == given.weight and options.duplicates == "sum":
            wide = {"i": "int64", "f": "float64", "u": "int64"}[dtype.kind]
            dtype = np.dtype("uint64" if dtype == np.uint64 else wide)
        found[name] = dtype
    return found


def narrowest(values: list[float]) -> np.dtype[Any]:
    """The first of int32, float32, float64 that holds every value exactly."""
    if all(np.isfinite(v) and float(v).is_integer() and -(2**31) <= v < 2**31 for v in values):
        return np.dtype(np.int32)
    with np.errstate(over="ignore"):
        exact = all(np.isnan(v) or float(np.float32(v)) == v for v in values)
    return np.dtype(np.float32) if exact else np.dtype(np.float64)


def _edges(
    given: Input, options: BuildOptions, kept: list[int], dtypes: dict[str, np.dtype[Any]]
) -> list[tuple[int, tuple[Any, ...]]]:
    """The edges that stay: the row each is taken from, and its columns' values."""
    typed = {k: np.array(given.columns[k]).astype(dtype) for k, dtype in dtypes.items()}
    if options.duplicates == "keep":
        return [(i, tuple(column[i] for column in typed.values())) for i in kept]
    groups: dict[Any, list[int]] = {}
    for i in kept:
        ends = (given.src[i], given.dst[i])
        groups.setdefault(ends if options.directed else tuple(sorted(ends)), []).append(i)
    weights = [] if given.weight is None else list(typed[given.weight])
    edges = []
    for rows in groups.values():
        row = _pick(rows, weights, options.duplicates)
        values = {k: column[row] for k, column in typed.items()}
        if options.duplicates == "sum" and given.weight is not None:
            total = weights[rows[0]]
            for i in rows[1:]:
                total = total + weights[i]
            values[given.weight] = total
        edges.append((row, tuple(values.values())))
    return edges


def _pick(rows: list[int], weights: list[Any], rule: str) -> int:
    """The row that several of one edge become."""
    if rule == "min":
        return min(rows, key=weights.__getitem__)
    if rule == "max":
        return max(rows, key=weights.__getitem__)
    return rows[0] if rule == "first" else rows[-1]


def stored_lists(graph: Graph, direction: Any) -> list[list[tuple[Any, ...]]]:
    """Every vertex's list as it is in the pages; a large page goes on with its vertex's list."""
    lists: list[list[tuple[Any, ...]]] = [[] for _ in range(graph.num_vertices)]
    for part in graph.iter_adjacency(direction):
        assert part.degrees.sum() == len(part.neighbours)
        entries = list(zip(part.neighbours.tolist(), *part.columns.values(), strict=True))
        at = 0
        for i, size in enumerate(part.degrees.tolist()):
            lists[part.first_vid + i] += entries[at : at + size]
            at += size
    return lists


def same(a: Any, b: Any) -> bool:
    """Equal, entry by entry, where nan is nan."""
    return all(x == y or (x != x and y != y) for x, y in zip(a, b, strict=True))


def check_graph(graph: Graph, given: Input, options: BuildOptions) -> None:
    """Fail unless the graph is exactly what the rows and rules say."""
    expected = expect(given, options)
    catalog = graph.catalog
    assert graph.num_vertices == len(expected.ids)
    assert graph.num_edges == expected.num_edges
    assert catalog.rules["self_loops_dropped"] == expected.loops_dropped
    assert catalog.rules["duplicates_dropped"] == expected.duplicates_dropped
    assert (graph.directed, graph.weighted) == (options.directed, given.weight is not None)
    assert graph.ids.tolist() == expected.ids
    assert graph.directions == options.stored_directions()
    assert {c.name: c.dtype for c in catalog.columns} == expected.dtypes
    vids = list(range(len(expected.ids)))
    if graph.vid_of_rank is not None:
        vids = graph.vid_of_rank.tolist()
    assert dict(zip(expected.ids, vids, strict=True)) == expected.vid_of
    for direction in graph.directions:
        wanted = expected.lists[direction]
        found = stored_lists(graph, direction)
        assert [len(each) for each in found] == [len(each) for each in wanted]
        for mine, theirs in zip(found, wanted, strict=True):
            for edge, other in zip(mine, theirs, strict=True):
                assert same(edge, other), (mine, theirs)
        sizes = [len(each) for each in wanted]
        assert graph.degrees(direction).tolist() == sizes
        stats = catalog.directions[direction]
        assert (stats.num_edges, stats.max_degree) == (sum(sizes), max(sizes, default=0))
        assert stats.empty_vertices == sizes.count(0)
    _check_edges(graph, given, expected)


def _check_edges(graph: Graph, given: Input, expected: Expected) -> None:
    """``to_edges`` has the edges of the lists, each once, in the user's ids."""
    ids = sorted(expected.vid_of, key=expected.vid_of.__getitem__)
    at = None if given.weight is None else 1 + list(given.columns).index(given.weight)
    direction = next(iter(expected.lists))
    wanted = []
    for owner, entries in enumerate(expected.lists[direction]):
        for entry in entries:
            if graph.directed or owner <= entry[0]:
                ends = (ids[owner], ids[entry[0]])
                ends = ends if direction == "out" else ends[::-1]
                wanted.append((*ends, *(() if at is None else (entry[at],))))
    found = list(zip(*(array.tolist() for array in graph.to_edges()), strict=True))
    assert sorted(found) == sorted(wanted)
