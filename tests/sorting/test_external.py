"""The external sort against NumPy's stable one, with budgets of a few rows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sorting.external import ExternalSort, Order
from penstock.sorting.limits import Limits
from penstock.sorting.rows import Rows, sort_keys
from penstock.types import U64

SHAPES = {
    "equal": lambda rng, n: np.full(n, 7),
    "distinct": lambda rng, n: rng.permutation(n),
    "sorted": lambda rng, n: np.arange(n),
    "reversed": lambda rng, n: np.arange(n)[::-1],
    "zipf": lambda rng, n: np.minimum(rng.zipf(1.3, n), 1 << 40),
    "wide": lambda rng, n: rng.integers(0, 1 << 60, n),
    "one": lambda rng, n: np.array([3]),
    "none": lambda rng, n: np.array([], np.int64),
}
SMALL = Limits(num_buckets=5, bucket_rows=64, whole_rows=128, held_bytes=500)


def keys_of(shape: str, seed: int, n: int = 3000) -> U64:
    return np.asarray(SHAPES[shape](np.random.default_rng(seed), n), np.uint64)


def sort_all(
    keys: U64, order: Order, limits: Limits, folder: Path | None, *, chunk: int = 100
) -> tuple[Any, ...]:
    """Give the rows to a sort in chunks; keys and columns as they come back, and the sizes of the
    parts. The columns are the row's number, and a byte of it.
    """
    rng = np.random.default_rng(1)
    samples = rng.choice(keys, 50) if len(keys) else keys
    sort = ExternalSort(samples, order, limits, folder)
    rows = np.arange(len(keys), dtype=np.uint32)
    columns = [rows.astype(dtype) for dtype in order.columns.values()]
    for begin in range(0, len(keys), chunk):
        some = slice(begin, begin + chunk)
        places = np.arange(len(keys[some]), dtype=np.uint32)
        sort.add(sort.divide(keys[some], places, [column[some] for column in columns]))
    assert sort.num_rows == len(keys)

    def finish(part: Rows) -> tuple[U64, dict[str, Any]]:
        if order.reduce is not None:
            part = order.reduce(part)
            return part.keys + np.uint64(part.low), part.columns
        ordered, places = sort_keys(part)
        return ordered + np.uint64(part.low), part.taken(places)

    parts = list(sort.finished(finish, 2))
    found = [np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.uint64)]
    for name, dtype in order.columns.items():
        some = [part[1][name] for part in parts]
        found.append(np.concatenate(some) if some else np.empty(0, dtype))
    return *found, [len(part[0]) for part in parts]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("on_disk", [True, False], ids=["on disk", "in memory"])
def test_stable_and_in_order(shape: str, on_disk: bool, tmp_path: Path) -> None:  # noqa: FBT001
    keys = keys_of(shape, 5)
    order = Order(1 << 60, {"row": np.dtype(np.uint32), "byte": np.dtype(np.uint8)})
    found, rows, bytes_, sizes = sort_all(keys, order, SMALL, tmp_path / "s" if on_disk else None)
    expected = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(found, keys[expected])
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(bytes_, expected.astype(np.uint8))
    # Never more at once than what is sorted at once, or a block of rows with one key.
    assert max(sizes, default=0) <= 2 * SMALL.bucket_rows + 100
    assert not [path for path in (tmp_path / "s").rglob("*") if path.is_file()]


@given(
    st.lists(st.integers(0, (1 << 63) - 1) | st.integers(0, 5), max_size=300),
    st.integers(1, 9), st.integers(1, 40), st.integers(1, 50),
)  # fmt: skip
def test_any_keys_and_limits(keys: list[int], buckets: int, rows: int, chunk: int) -> None:
    given_keys = np.array(keys, np.uint64)
    order = Order(1 << 63, {"row": np.dtype(np.uint32)})
    limits = Limits(buckets, rows, 2 * rows, held_bytes=64)
    with TemporaryDirectory() as folder:
        found, places, _ = sort_all(given_keys, order, limits, Path(folder) / "s", chunk=chunk)
    expected = np.argsort(given_keys, kind="stable")
    np.testing.assert_array_equal(found, given_keys[expected])
    np.testing.assert_array_equal(places, expected)


def _last(rows: Rows) -> Rows:
    """The last row of each key."""
    keys, places = sort_keys(rows)
    last = np.append(keys[1:] != keys[:-1], True) if len(keys) else np.empty(0, bool)
    return Rows(rows.low, rows.stop, keys[last], rows.taken(places[last]))


@pytest.mark.parametrize("shape", ["equal", "zipf", "sorted", "distinct"])
def test_rows_that_become_one(shape: str, tmp_path: Path) -> None:
    """A bucket of few keys that is too large is reduced batch by batch."""
    keys = keys_of(shape, 9)
    order = Order(1 << 60, {"row": np.dtype(np.uint32)}, reduce=_last)
    found, rows, _ = sort_all(keys, order, SMALL, tmp_path / "s")
    expected = {int(key): row for row, key in enumerate(keys)}
    assert found.tolist() == sorted(expected)
    assert dict(zip(found.tolist(), rows.tolist(), strict=True)) == expected


def test_rows_that_stay_together_come_in_input_order(tmp_path: Path) -> None:
    """Those of the keys 0 to 15, 16 to 31 and so on; a long list in parts."""
    rng = np.random.default_rng(3)
    keys = np.where(
        rng.random(4000) < 0.8, 16 + rng.integers(0, 16, 4000), rng.integers(0, 320, 4000)
    )
    order = Order(320, {"row": np.dtype(np.uint32)}, together_bits=4)
    sort = ExternalSort(keys.astype(np.uint64), order, SMALL, tmp_path / "s")
    rows = np.arange(4000, dtype=np.uint32)
    sort.add(sort.divide(keys.astype(np.uint64), rows, [rows]))
    lists: dict[int, list[int]] = {}
    for part in sort.finished(lambda part: part, 1):
        for key, row in zip(part.keys.tolist(), part.columns["row"].tolist(), strict=True):
            lists.setdefault((key + part.low) >> 4, []).append(row)
    assert all(each == sorted(each) for each in lists.values())
    assert sum(map(len, lists.values())) == 4000


def test_what_can_neither_be_divided_nor_reduced_is_refused(tmp_path: Path) -> None:
    """A list of many different keys that has to be in one piece."""

    def refuse(rows: int) -> NoReturn:
        raise ValueError(f"{rows} rows")

    keys = np.arange(1000, dtype=np.uint64)
    order = Order(1024, {}, reduce=_last, together_bits=10, refuse=refuse)
    with pytest.raises(ValueError, match="1000 rows"):
        sort_all(keys, order, SMALL, tmp_path / "s")
