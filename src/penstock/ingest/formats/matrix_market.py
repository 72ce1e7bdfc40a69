"""Matrix Market coordinate files (.mtx): an edge from row to column for each entry.

Vertices are 1 .. n, all of them, so the matrix must be square. ``real`` and ``integer`` entries
are weights unless ``weights=False``; ``pattern`` has none. ``symmetric`` makes an undirected graph.
``complex``, ``hermitian``, ``skew-symmetric`` and dense (``array``) matrices are refused.
"""

from __future__ import annotations

from penstock.errors import InputError
from penstock.ingest.formats._bytes import text_lines
from penstock.ingest.formats._columns import refuse_columns, wants_weight
from penstock.ingest.formats._headed import Header, header_counts, only_file, rows_source
from penstock.ingest.formats._lines import shown
from penstock.protocols import ReadOptions, Source

NAME = "matrix_market"
SUFFIXES = (".mtx",)

_BANNER = b"%%matrixmarket"
_KINDS = (
    ("object", ("matrix",)),
    ("format", ("coordinate",)),
    ("field", ("pattern", "real", "double", "integer", "unsigned-integer")),
    ("symmetry", ("general", "symmetric")),
)


def accepts(data: object) -> bool:
    """No object in memory is a Matrix Market file."""
    return False


def open_source(data: list[str], options: ReadOptions) -> Source:
    """Open one file."""
    path = only_file(data, "Matrix Market")
    refuse_columns(options, path)
    lines = enumerate(text_lines(path), 1)
    banner = next(lines, (1, b""))[1].lower().split()
    if len(banner) != 5 or banner[0] != _BANNER:
        raise InputError(
            f"{path}:1: found {shown(b' '.join(banner))}, expected "
            "%%MatrixMarket matrix coordinate, a field and a symmetry"
        )
    kinds = [word.decode("utf-8", "replace") for word in banner[1:]]
    for word, (what, known) in zip(kinds, _KINDS, strict=True):
        if word not in known:
            raise InputError(
                f"{path}:1: the {what} {word!r} cannot be read as a graph, only {', '.join(known)}"
            )
    number, sizes = next(
        ((i, line.split()) for i, line in lines if line.strip() and not line.startswith(b"%")),
        (2, []),
    )
    meaning = "the size line: rows, columns, entries"
    counts = header_counts(sizes, f"{path}:{number}", meaning)
    if len(counts) != 3:
        raise InputError(f"{path}:{number}: found {shown(b' '.join(sizes))}, expected {meaning}")
    rows, columns, entries = counts
    if rows != columns:
        raise InputError(
            f"{path}:{number}: a graph needs a square matrix, this one is {rows} x {columns}"
        )
    weighted = wants_weight(options, path, present=kinds[2] != "pattern")
    header = Header(path, number, rows, entries, weighted, directed=kinds[3] == "general")
    return rows_source(header, options, comment=b"%")
