"""Vertex ids that come as Python objects: integers and strings, anything else is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import IdError
from penstock.ingest.formats._values import name_ids
from penstock.types import U64, Array, IdKind, Names

_LIMIT = 1 << 64


@dataclass(frozen=True, slots=True)
class Labels:
    """The ids of vertices 0, 1, 2, ... of a graph in memory.

    They are an array of numbers, or an Arrow array of strings; ``as_given`` says whether the
    objects are numbers, and the ids themselves.
    """

    kind: IdKind
    ids: Any
    where: str
    as_given: bool = False

    def take(self, places: Array) -> U64 | Names:
        """The ids of some vertices."""
        if self.kind == "int":
            numbers: U64 = self.ids[places]
            return numbers
        import pyarrow as pa

        return name_ids(self.ids.take(pa.array(places)), self.where)

    def all(self, rows: int) -> Iterator[U64 | Names]:
        """Every id, at most so many at a time."""
        for start in range(0, len(self.ids), rows):
            yield self.take(np.arange(start, min(start + rows, len(self.ids))))

    def range(self) -> range | None:
        """The ids, if they follow one another."""
        if self.kind == "string":
            return None
        if not len(self.ids):
            return range(0)
        first, last = int(self.ids.min()), int(self.ids.max())
        return range(first, last + 1) if last - first + 1 == len(self.ids) else None


def read_labels(objects: Collection[Any], ids: IdKind | None, where: str, remedy: str) -> Labels:
    """The ids that objects stand for; ``remedy`` says what to do about unfit ones."""
    kinds = {_kind(kind, objects, where, remedy) for kind in set(map(type, objects))}
    if ids is None and len(kinds) > 1:
        raise IdError(
            f"{where}: some vertex ids are integers and some are strings; pass ids='string' to "
            f"read all as strings, or {remedy}"
        )
    kind: IdKind = ids or ("string" if "string" in kinds else "int")
    if not kinds <= {kind}:
        objects = _converted(objects, kind, where)
    if kind == "int":
        return Labels(kind, _numbers(objects, where, remedy), where, as_given=kinds <= {"int"})
    import pyarrow as pa

    try:
        strings = pa.array(objects, pa.large_string())
    except ValueError as error:
        raise IdError(f"{where}: a vertex id cannot be read as UTF-8: {error}") from None
    _refuse_twins(objects, len(set(objects)), where)
    return Labels(kind, strings, where)


def _kind(kind: type, objects: Collection[Any], where: str, remedy: str) -> IdKind:
    if issubclass(kind, str):
        return "string"
    if issubclass(kind, int | np.integer) and kind is not bool:
        return "int"
    example = next(each for each in objects if type(each) is kind)
    raise IdError(
        f"{where}: vertex ids must be integers or strings, got {example!r}, a {kind.__name__}; "
        f"{remedy}"
    )


def _converted(objects: Collection[Any], kind: IdKind, where: str) -> list[Any]:
    if kind == "string":
        return [str(each) for each in objects]
    try:
        return [int(each) for each in objects]
    except ValueError as error:
        raise IdError(f"{where}: vertex ids cannot be read as integers: {error}") from None


def _numbers(objects: Collection[Any], where: str, remedy: str) -> U64:
    if objects and (min(objects) < 0 or max(objects) >= _LIMIT):
        example = min(objects) if min(objects) < 0 else max(objects)
        raise IdError(
            f"{where}: the vertex id {example} is negative or not below 2**64; pass ids='string' "
            f"to read all as strings, or {remedy}"
        )
    numbers = np.fromiter(objects, np.uint64, len(objects))
    _refuse_twins(objects, len(np.unique(numbers)), where)
    return numbers


def _refuse_twins(objects: Collection[Any], different: int, where: str) -> None:
    if different < len(objects):
        raise IdError(
            f"{where}: {len(objects):,} vertices have only {different:,} different ids; "
            "give each its own"
        )
