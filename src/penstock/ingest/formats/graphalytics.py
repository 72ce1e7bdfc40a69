"""LDBC Graphalytics datasets: edges in NAME.e, vertices in NAME.v, and NAME.properties.

Any of the three names the dataset. The properties file says whether the graph is directed, whether
edges have weights, and how many there are; without it, there are weights if the first edge has
a third column. All vertices of the .v file exist, also those without edges.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.errors import InputError, InputNotFoundError, OptionError
from penstock.ingest.formats import text
from penstock.ingest.formats._bytes import COMPRESSED, format_suffix, is_compressed, text_lines
from penstock.ingest.formats._columns import Columns, refuse_columns, wants_weight
from penstock.ingest.formats._headed import check_count
from penstock.ingest.formats._lines import Layout, read_rows
from penstock.ingest.formats._skipping import add_skipped
from penstock.protocols import Advance, BadLines, ReadOptions, Source
from penstock.types import U64, EdgeChunk, Names

NAME = "graphalytics"
SUFFIXES = (".e", ".v", ".properties")


@dataclass(frozen=True, slots=True)
class _Dataset:
    edges: str
    vertices: str | None
    directed: bool | None = None
    #: None: not told.
    weighted: bool | None = None
    num_edges: int | None = None


def accepts(data: object) -> bool:
    """No object in memory is a dataset."""
    return False


def open_source(data: list[str], options: ReadOptions) -> Source:
    """Open the dataset that the files belong to."""
    stems = {_stem(path) for path in data}
    if len(stems) > 1:
        raise OptionError(f"source: a dataset is a whole graph, so give one, got {sorted(stems)}")
    stem = stems.pop()
    dataset = _find(stem)
    options = replace(options, separator=None, header=False)
    refuse_columns(options, stem, strings=True)
    present = dataset.weighted
    if present is None:
        present = len(text.first_fields(dataset.edges, options)) > 2
    weighted = wants_weight(options, stem, present=present)
    source = text.open_source([dataset.edges], replace(options, weights=weighted))

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        rows = 0
        for chunk in source.chunks(advance):
            rows += len(chunk)
            yield chunk
        if dataset.num_edges is not None:
            check_count(dataset.edges, rows + source.bad_lines.count, dataset.num_edges)

    def vertices() -> Iterator[U64 | Names]:
        assert dataset.vertices is not None
        layout = Layout(
            path=dataset.vertices,
            columns=Columns(0, -1),
            names=source.id_kind == "string",
            comment=options.comment.encode(),
        )
        bad_lines = BadLines()
        for chunk in read_rows([layout], options, bad_lines, lambda _: None):
            yield chunk.src
        add_skipped(source.bad_lines, bad_lines.count, bad_lines.examples)
        source.bad_lines.comments += bad_lines.comments

    return replace(
        source,
        chunks=chunks,
        vertices=None if dataset.vertices is None else vertices,
        directed=dataset.directed,
        name=stem,
    )


def _stem(path: str) -> str:
    bare = os.path.splitext(path)[0] if is_compressed(path) else path
    return os.path.splitext(bare)[0] if format_suffix(path) in SUFFIXES else bare


def _beside(path: str) -> str | None:
    return next((path + end for end in ("", *COMPRESSED) if os.path.exists(path + end)), None)


def _find(stem: str) -> _Dataset:
    properties = _beside(f"{stem}.properties")
    edges, vertices = f"{stem}.e", f"{stem}.v"
    told = {} if properties is None else _read_properties(properties)
    folder = os.path.dirname(stem)
    edges = os.path.join(folder, told["edge-file"]) if "edge-file" in told else edges
    vertices = os.path.join(folder, told["vertex-file"]) if "vertex-file" in told else vertices
    found = _beside(edges)
    if found is None:
        raise InputNotFoundError(f"{edges}: there is no such file of edges for the dataset {stem}")
    if properties is None:
        return _Dataset(found, _beside(vertices))
    if told.get("directed") not in (None, "true", "false"):
        raise InputError(
            f"{properties}: expected directed = true or false, got {told['directed']!r}"
        )
    count = told.get("meta.edges", "")
    return _Dataset(
        edges=found,
        vertices=_beside(vertices),
        directed=None if "directed" not in told else told["directed"] == "true",
        weighted="edge-properties.names" in told,
        num_edges=int(count) if count.isdecimal() else None,
    )


def _read_properties(path: str) -> dict[str, str]:
    """The entries of a properties file, "graph.NAME." taken off."""
    entries = {}
    for line in text_lines(path):
        key, equals, value = line.decode("utf-8", "replace").partition("=")
        parts = key.strip().split(".", 2)
        if equals and len(parts) == 3 and parts[0] == "graph":
            entries[parts[2]] = value.strip()
    return entries
