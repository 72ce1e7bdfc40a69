"""Results as other commands left them in files: tables, reports and traces."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.drawing.groups import GROUPS
from penstock.engine.result import Result
from penstock.errors import InputError, InputNotFoundError
from penstock.types import Array

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that name vertices; the first column does, too.
_NAMING = ("dst", *GROUPS)
#: Columns of tables that have to be numbers.
_COUNTING = ("degree", "vertices", "role")
#: The parts of a report that are used.
_REPORT = {"algorithm": "text", "graph": "text", "stats": "an object", "iterations": "a list"}
#: What a report may tell in numbers: of the run, and of each iteration.
_RUN_NUMBERS = ("num_vertices", "enough")
_STEP_NUMBERS = ("change", "moving", "active", "active_share", "levels")
#: What is expected where, in words.
_TYPES = {
    "text": (str,),
    "text or null": (str, NoneType),
    "a whole number": (int,),
    "a number or null": (int, float, NoneType),
    "a list": (list,),
    "an object": (dict,),
}


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
    import pyarrow as pa
    import pyarrow.csv

    with pyarrow.csv.open_csv(path) as begun:
        names = begun.schema.names
    naming = {0, *(place for place, name in enumerate(names) if name in _NAMING)}
    # Arrow would guess: 007 to be 7, and a number beyond int64 to be a float.
    options = pyarrow.csv.ConvertOptions(
        column_types={names[place]: pa.string() for place in naming},
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    table = pyarrow.csv.read_csv(path, convert_options=options)
    for place in naming:
        table = table.set_column(place, names[place], _numbers_if_all_are(table.column(place)))
    return _from_table(table, path)


def _numbers_if_all_are(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The integers that all the texts are, as each is usually written; else the texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]*)$")
    if pc.all(plain, skip_nulls=False, min_count=0).as_py():
        for kind in (pa.int64(), pa.uint64()):
            try:
                return texts.cast(kind)
            except pa.ArrowInvalid:  # beyond it
                continue
    return texts


def _from_table(table: pa.Table, path: Path) -> Result:
    """The first column has ids and the second, of edges the third, the values."""
    ids, *others = table.column_names
    values = others[1:2] if others[:1] == ["dst"] else others[:1]
    if not values:
        raise ValueError(f"its columns are {', '.join(table.column_names)}: there are no values")
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    for name in columns.keys() & _COUNTING:
        if len(table) and columns[name].dtype.kind not in "iuf":
            kind = table.schema.field(name).type
            raise ValueError(f"its column {name} is of type {kind}, expected numbers")
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
    _check_report(found)
    stats = {**found["stats"], "algorithm": found["algorithm"], "graph": found["graph"]}
    if stats.get("trace") is not None:
        stats["trace"] = _found_trace(Path(stats["trace"]), path)
    return _without_values(found["algorithm"], stats, found["iterations"])


def _check_report(found: dict[str, Any]) -> None:
    for name, expected in _REPORT.items():
        _check(found[name], name, expected)
    stats = found["stats"]
    _check(stats.get("trace"), "stats: trace", "text or null")
    for name in _RUN_NUMBERS:
        _check(stats.get(name), f"stats: {name}", "a number or null")
    for place, row in enumerate(found["iterations"]):
        where = f"iterations: {place}"
        _check(row, where, "an object")
        _check(row["step"], f"{where}: step", "a whole number")
        for name in _STEP_NUMBERS:
            _check(row.get(name), f"{where}: {name}", "a number or null")


def _check(found: Any, where: str, expected: str) -> None:
    if not isinstance(found, _TYPES[expected]):
        raise ValueError(f"{where} is {found!r:.40}, expected {expected}")


def _found_trace(trace: Path, report: Path) -> Path:
    """Where the trace is that a report names: from here, or beside the report."""
    places = (trace, report.parent / trace, report.parent / trace.name)
    return next((place for place in places if place.is_file()), trace)


def _without_values(name: str, stats: dict[str, Any], iterations: list[dict[str, Any]]) -> Result:
    none: Array = np.empty(0, np.int64)
    return Result.table(name, none, none, stats=stats, iterations=iterations)


_READERS: dict[str, Callable[[Path], Result]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".json": _read_json,
}
