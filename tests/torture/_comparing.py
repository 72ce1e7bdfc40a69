"""Results and plain edges in the same terms, and what it means that they agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torture._graphs import Model

Parameters = dict[str, Any]
Check = Callable[[Model, Parameters, Any], None]


def all_values(model: Model, result: Any) -> list[Any]:
    """The value of each vertex."""
    assert result.ids.tolist() == list(model.ids), f"ids are {result.ids.tolist()}"
    return list(result.values.tolist())


def some_values(model: Model, result: Any) -> dict[int, Any]:
    """The values of the vertices that have a row."""
    ids = result.ids.tolist()
    assert ids == sorted(set(ids)), f"rows are not in ascending order of ids: {ids}"
    return {model.place[i]: v for i, v in zip(ids, result.values.tolist(), strict=True)}


def fits_int64(model: Model) -> bool:
    """Whether ids are whole numbers, and small enough that -1 can stand beside them."""
    return not any(isinstance(each, str) or each >= 2**63 for each in model.ids)


def same(found: Any, expected: Any, what: str = "values") -> None:
    """Equal, exactly."""
    assert found == expected, f"{what}: found {_short(found)}, expected {_short(expected)}"


def near(found: Any, expected: Any, rtol: float, atol: float = 1e-12) -> None:
    """Equal but for rounding."""
    np.testing.assert_allclose(np.array(found, float), np.array(expected, float), rtol, atol)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 2000 else f"{text[:2000]} ..."


def edge_rows(model: Model, table: Any) -> list[tuple[Any, ...]]:
    """Rows of an edge table, sorted; with weights if there are any."""
    columns = [[model.place[i] for i in each.tolist()] for each in (table.src, table.dst)]
    if model.has_weights and hasattr(table, "weight"):
        columns.append(table.weight.tolist())
    return sorted(zip(*columns, strict=True))


def expected_rows(model: Model, keep: Callable[[int, int], bool]) -> list[tuple[Any, ...]]:
    """The same of the edges that are wanted; the smaller end first if undirected."""
    rows = []
    for (u, v), w in zip(model.edges, model.weights, strict=True):
        if keep(u, v) or (not model.directed and keep(v, u)):
            ends = (u, v) if model.directed or u <= v else (v, u)
            rows.append((*ends, w) if model.has_weights else ends)
    return sorted(rows)


def levels_of(model: Model, sources: list[int], limit: int | None = None) -> dict[int, int]:
    """Distances in edges of the vertices that are reached."""
    level = dict.fromkeys(sources, 0)
    waiting = list(level)
    for u in waiting:
        if limit is not None and level[u] >= limit:
            continue
        for v in model.out[u]:
            if v not in level:
                level[v] = level[u] + 1
                waiting.append(v)
    return level


def matrix_of(model: Model, *, weight: bool) -> Any:
    """W[v, u] is what the edges from u to v weigh together."""
    found = np.zeros((model.n, model.n))
    for u, v, w in model.arcs:
        found[v, u] += w if weight else 1
    return found
