"""Rows that pictures are drawn from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]


def rows_of(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def distinct(rows: Iterable[Row], key: str) -> list[Any]:
    """The values of a key, each once, in order."""
    return list(dict.fromkeys(row[key] for row in rows))
