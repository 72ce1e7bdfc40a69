"""Rows of experiments, for the tests of this folder."""

from __future__ import annotations

from typing import Any


def of(rows: list[dict[str, Any]], **wanted: object) -> list[dict[str, Any]]:
    """Those with such values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]
