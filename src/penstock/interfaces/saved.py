"""Results as other commands left them in files: tables, reports and traces."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.engine.result import Result
from penstock.errors import InputError, InputNotFoundError
from penstock.types import Array

if TYPE_CHECKING:
    import pyarrow as pa


def read_result(path: Path) -> Result:
    """What ``penstock run`` wrote: with ``--out`` a table, with ``--json`` a report, which has no
    values, or with ``--trace`` a timeline.
    """
    if not path.exists():
        raise InputNotFoundError(f"{path}: there is no such file or graph")
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise InputError(
            f"{path}: expected a graph directory, or a file that ends in {', '.join(_READERS)}"
        )
    try:
        return read(path)
    except OSError as error:
        raise InputNotFoundError(f"{path}: cannot be read ({error})") from None
    except KeyError as error:
        raise InputError(f"{path}: is not what penstock run writes (no {error})") from None
    except ValueError as error:  # also those of Arrow
        raise InputError(f"{path}: is not what penstock run writes ({error})") from None


def _read_parquet(path: Path) -> Result:
    import pyarrow.parquet as pq

    return _from_table(pq.read_table(path), path)


def _read_csv(path: Path) -> Result:
    import pyarrow.csv

    return _from_table(pyarrow.csv.read_csv(path), path)


def _from_table(table: pa.Table, path: Path) -> Result:
    """The first column has ids and the second, of edges the third, the values."""
    ids, *others = table.column_names
    values = others[1:2] if others[:1] == ["dst"] else others[:1]
    if not values:
        raise ValueError(f"its columns are {', '.join(table.column_names)}: there are no values")
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    more = {name: columns[name] for name in others if name != values[0]}
    return Result.table(
        values[0], columns[ids], columns[values[0]], id_name=ids, columns=more,
        stats={"graph": str(path)},
    )  # fmt: skip


def _read_json(path: Path) -> Result:
    found = json.loads(path.read_text())
    if not isinstance(found, dict) or not found.keys() & {"iterations", "traceEvents"}:
        raise ValueError("neither a report nor a trace")
    if "iterations" not in found:
        return _without_values(path.stem, {"trace": path}, [])
    stats = {**found["stats"], "algorithm": found["algorithm"], "graph": found["graph"]}
    return _without_values(found["algorithm"], stats, found["iterations"])


def _without_values(name: str, stats: dict[str, Any], iterations: list[dict[str, Any]]) -> Result:
    none: Array = np.empty(0, np.int64)
    return Result.table(name, none, none, stats=stats, iterations=iterations)


_READERS: dict[str, Callable[[Path], Result]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".json": _read_json,
}
