"""Reading a source to its end, as plain Python values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions, Source
from penstock.types import Names

SHARED = Path(__file__).parents[3] / "shared" / "data"


def values(ids: Any) -> list[Any]:
    if isinstance(ids, Names):
        ends = zip(ids.start.tolist(), ids.length.tolist(), strict=True)
        return [ids.data[start : start + n].tobytes().decode() for start, n in ends]
    assert ids.dtype == np.uint64
    return ids.tolist()


def rows(source: Source, advance: Any = None) -> list[tuple[Any, ...]]:
    """All rows, and a check that every chunk is what the source announces."""
    found: list[tuple[Any, ...]] = []
    for chunk in source.chunks(advance or (lambda amount: None)):
        assert len(chunk) > 0
        assert list(chunk.columns) == list(source.columns)
        assert isinstance(chunk.src, Names) == (source.id_kind == "string")
        for name, array in chunk.columns.items():
            assert array.dtype == (source.columns[name] or np.float64)
            assert array.flags.c_contiguous
            assert array.flags.writeable
        ends = (values(chunk.src), values(chunk.dst))
        found += zip(*ends, *(a.tolist() for a in chunk.columns.values()), strict=True)
    return found


def read(data: Any, **options: Any) -> list[tuple[Any, ...]]:
    return rows(open_source(data, ReadOptions(**options)))


def write(path: Path, text: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)
