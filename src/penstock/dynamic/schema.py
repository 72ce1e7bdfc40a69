"""What a user says that a graph is, and what the directory of a graph says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.dynamic.folder_catalog import LiveSchema
from penstock.errors import OptionError
from penstock.store.graph import Graph
from penstock.store.layout import Column
from penstock.store.paged import PagedGraph
from penstock.types import COLUMN_DTYPES, IdKind


@dataclass(frozen=True, slots=True)
class GivenSchema:
    """What was said; None: nothing."""

    directed: bool | None
    multigraph: bool | None
    reverse: bool | None
    columns: tuple[Column, ...] | None
    vertex_columns: tuple[Column, ...] | None
    weight: str | None
    ids: IdKind | None

    def of_new(self, base: PagedGraph | None = None) -> LiveSchema:
        """For a new graph, which begins as a static one if there is a ``base``."""
        schema = LiveSchema() if base is None else _of_graph(base)
        said = {name: value for name, value in self._said().items() if value is not None}
        if base is not None:
            replace(self, vertex_columns=None).check(schema, f"{base!r}")
            schema = replace(schema, vertex_columns=self.vertex_columns or ())
            return self.with_reverse(schema)
        schema = replace(schema, **said)
        names = [column.name for column in schema.columns]
        if schema.weight is None and "weight" in names:
            schema = replace(schema, weight="weight")
        if schema.weight is not None and schema.weight not in names:
            raise OptionError(
                f"weight: there is no edge property {schema.weight!r} (there are: "
                f"{', '.join(names) or 'none'}); name it in edge_properties="
            )
        return self.with_reverse(schema)

    def with_reverse(self, schema: LiveSchema) -> LiveSchema:
        """The schema of a graph with what was said of reverse lists: they can be asked for, or
        refused, as long as the graph leaves that open.
        """
        if not schema.directed:
            return replace(schema, reverse=None)
        return schema if self.reverse is None else replace(schema, reverse=self.reverse)

    def check(self, found: LiveSchema, where: str) -> None:
        """Raise if a graph that is there is not what was said."""
        for name, said in self._said().items():
            there = getattr(found, name)
            if name == "reverse" and (there is None or not found.directed):
                continue  # an undirected graph has both directions anyway
            same = said is None or _in_any_order(said) == _in_any_order(there)
            if not same and not (name == "ids" and there is None):
                option = {"columns": "edge_properties", "vertex_columns": "vertex_properties"}
                raise OptionError(
                    f"{option.get(name, name)}: {where} has {_spell(there)}, not {_spell(said)}; "
                    "leave the option out to take the graph as it is"
                )

    def _said(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def make_schema(
    directed: bool | None,  # noqa: FBT001
    multigraph: bool | None,  # noqa: FBT001
    reverse: bool | None,  # noqa: FBT001
    edge_properties: Mapping[str, Any] | None,
    vertex_properties: Mapping[str, Any] | None,
    weight: str | None,
    ids: IdKind | None,
) -> GivenSchema:
    """What a user said, checked as far as that needs no graph."""
    if ids not in (None, "int", "string"):
        raise OptionError(f"ids: expected 'int' or 'string', got {ids!r}")
    edge = _columns(edge_properties, "edge_properties")
    vertex = _columns(vertex_properties, "vertex_properties")
    return GivenSchema(directed, multigraph, reverse, edge, vertex, weight, ids)


def _columns(given: Mapping[str, Any] | None, option: str) -> tuple[Column, ...] | None:
    if given is None:
        return None
    found = []
    for name, kind in given.items():
        try:
            dtype = np.dtype(kind)
        except TypeError:
            dtype = np.dtype(object)
        if dtype.name not in COLUMN_DTYPES:
            raise OptionError(
                f"{option}: {name!r} cannot be {kind!r}; it can be {', '.join(COLUMN_DTYPES)}"
            )
        found.append(Column(str(name), dtype.newbyteorder("<")))
    return tuple(found)


def as_base(graph: Graph) -> PagedGraph:
    """The graph, if changes can be kept beside it; raises if not."""
    if not isinstance(graph, PagedGraph):
        raise OptionError(
            f"{graph!r}: is a view of a graph that changes; compact that to a store and begin there"
        )
    if "out" not in graph.directions:
        raise OptionError(
            f"{graph!r}: has lists into vertices only; build it with both directions or with 'out'"
        )
    return graph


def _of_graph(graph: PagedGraph) -> LiveSchema:
    return LiveSchema(
        directed=graph.directed,
        multigraph=graph.multigraph,
        ids=graph.id_kind,
        columns=graph.columns,
        weight=graph.weight,
    )


def _in_any_order(value: Any) -> Any:
    return frozenset(value) if isinstance(value, tuple) else value


def _spell(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{c.name!r}: {c.dtype.name!r}" for c in value) + "}"
    return repr(value)
