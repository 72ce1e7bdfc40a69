"""DIMACS shortest-path graphs (.gr): "p sp n m", then "a source target weight" for each arc.

Directed; vertices are 1 .. n, all of them; weights are read unless ``weights=False``.
"""

from __future__ import annotations

from penstock.errors import InputError
from penstock.ingest.formats._bytes import text_lines
from penstock.ingest.formats._columns import refuse_columns, wants_weight
from penstock.ingest.formats._headed import Header, header_counts, only_file, rows_source
from penstock.ingest.formats._lines import shown
from penstock.protocols import ReadOptions, Source

NAME = "dimacs"
SUFFIXES = (".gr",)

_COMMENT = b"c"


def accepts(data: object) -> bool:
    """No object in memory is a DIMACS file."""
    return False


def open_source(data: list[str], options: ReadOptions) -> Source:
    """Open one file."""
    path = only_file(data, "DIMACS")
    refuse_columns(options, path)
    number, problem = next(
        (
            (i, line.split())
            for i, line in enumerate(text_lines(path), 1)
            if line.strip() and not line.strip().startswith(_COMMENT)
        ),
        (1, []),
    )
    where = f"{path}:{number}"
    meaning = "the problem line: p sp VERTICES ARCS"
    if problem[:2] != [b"p", b"sp"] or len(problem) != 4:
        raise InputError(f"{where}: found {shown(b' '.join(problem))}, expected {meaning}")
    num_vertices, num_edges = header_counts(problem[2:], where, meaning)
    weighted = wants_weight(options, path, present=True)
    header = Header(path, number, num_vertices, num_edges, weighted, directed=True)
    return rows_source(header, options, comment=_COMMENT, tag=b"a")
