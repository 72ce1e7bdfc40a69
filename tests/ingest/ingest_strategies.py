"""Small graphs of every kind, and every way to build them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from ingest_oracle import Input
from ingest_squeeze import ROOMY, Squeeze

from penstock.ingest.ids import INDEX_BYTES
from penstock.ingest.options import BuildOptions

_NUMBERS = st.one_of(
    st.integers(0, 6),
    st.integers(0, 90),
    st.sampled_from([3, 65_535, 65_536, 70_000, 2**32 - 1, 2**32, 2**40 + 1]),
    st.sampled_from([0, 1, 2**62, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]),
)
_NAMES = st.one_of(
    st.sampled_from(["", "a", "b", "ab", "Z", "é", "ü", "日本", "\U0001f40c", "a" * 9, "a" * 17]),
    st.text(st.characters(codec="utf-8"), max_size=12),
)
_INTEGERS = st.integers(-3, 3)
_FLOATS = st.one_of(
    st.sampled_from([0.5, 0.1, -1.0, 2.0**24 + 1, 1e300, 3.0, float("inf")]),
    st.floats(-100, 100, width=32),
)
_COLUMNS = st.sampled_from(
    [
        {},
        {"weight": None},
        {"weight": "float32"},
        {"weight": "int16"},
        {"weight": "float64", "since": "int64"},
        {"label": "uint8", "weight": None, "note": None},
        {"label": "uint64"},
    ]
)


@st.composite
def _rows(draw: Any, ids: st.SearchStrategy[Any]) -> tuple[list[Any], list[Any]]:
    pool = draw(st.lists(ids, min_size=1, max_size=9, unique=True))
    end = st.sampled_from(pool)
    pairs = draw(st.lists(st.tuples(end, end), max_size=40))
    return [u for u, _ in pairs], [v for _, v in pairs]


def _values(dtype: str | None) -> st.SearchStrategy[float]:
    if dtype is None:
        return st.one_of(_INTEGERS, _FLOATS)
    if dtype == "float32":
        return st.floats(-100, 100, width=32)
    if dtype == "float64":
        return _FLOATS
    return st.integers(0, 200)


@st.composite
def inputs(draw: Any) -> Input:
    """Rows with ids of one kind, with or without columns, declared or further vertices."""
    kind = draw(st.sampled_from(["small", "gaps", "names", "declared", "declared from 1"]))
    dtypes = draw(_COLUMNS)
    strings = kind == "names"
    ids = {"small": st.integers(0, 12), "gaps": _NUMBERS, "names": _NAMES}.get(
        kind, st.integers(1, 12)
    )
    src, dst = draw(_rows(ids))
    columns = {}
    for name, dtype in dtypes.items():
        columns[name] = draw(st.lists(_values(dtype), min_size=len(src), max_size=len(src)))
    declared = {"declared": range(14), "declared from 1": range(1, 13)}.get(kind)
    extra = draw(st.lists(ids, max_size=4)) if declared is None else []
    weight = "weight" if "weight" in dtypes else None
    return Input(src, dst, columns, dtypes, weight, strings, declared, extra)


@st.composite
def rules(draw: Any, given: Input, **fixed: Any) -> BuildOptions:
    """Any combination of options that the input allows."""
    duplicates = ["keep", "first", "last"]
    if given.weight is not None:
        duplicates += ["min", "max", "sum"]
    chosen = {
        "directed": draw(st.booleans()),
        "duplicates": draw(st.sampled_from(duplicates)),
        "self_loops": draw(st.sampled_from(["keep", "drop"])),
        "vertex_order": draw(st.sampled_from(["degree", "none"])),
        "neighbour_order": draw(st.sampled_from(["id", "degree", "input"])),
        "directions": draw(st.sampled_from(["both", "out", "in"])),
        "threads": draw(st.sampled_from([1, 2])),
        "memory": 1 << 24,
    }
    return BuildOptions(**{**chosen, **fixed})


squeezes = st.builds(
    Squeeze,
    bucket_rows=st.sampled_from([1, 2, 5, ROOMY]),
    num_buckets=st.sampled_from([1, 2, 3, 8, 40]),
    bucket_bytes=st.sampled_from([0, 40, ROOMY]),
    spool_bytes=st.sampled_from([0, 60, ROOMY]),
    name_bytes=st.sampled_from([2, 160, ROOMY]),
    unique_bytes=st.sampled_from([8, 64, ROOMY]),
    index_bytes=st.sampled_from([INDEX_BYTES, 1 << 20, 1 << 23]),
    sample_rows=st.sampled_from([1, 3, 4096]),
)
