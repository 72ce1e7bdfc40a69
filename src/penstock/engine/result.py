"""What an algorithm returns: a value for each vertex, in ascending order of the user's ids."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.arrays import PART_ROWS, parts
from penstock.engine.result_columns import (
    ArrayIds,
    Column,
    Ids,
    Namer,
    arrow_type,
    ids_of,
    ranks_of_ids,
)
from penstock.errors import (
    IdError,
    OptionError,
)
from penstock.files import unfinished
from penstock.optional import optional
from penstock.store.graph import Graph
from penstock.types import Array

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

Given = Array | Callable[[], Array]

_HTML_ROWS = 10


class Result:
    """Values in ascending order of the user's ids, with further columns and what the run counted.

    ``ids`` and ``values`` are aligned arrays; every column is also an attribute of its name. For
    ids 0 .. n-1, ``values[i]`` belongs to vertex i. Arrays are made when they are first used.

    >>> import penstock as ps
    >>> levels = ps.bfs(ps.from_edges([5, 7], [7, 9]), 5)
    >>> levels.values.tolist(), levels[9], levels.top(1), levels.path(9)
    ([0, 1, 2], 2, [(9, 2)], [5, 7, 9])
    """

    def __init__(
        self,
        name: str,
        ids: Ids,
        columns: Mapping[str, Column],
        *,
        id_name: str = "id",
        stats: Mapping[str, Any] | None = None,
        iterations: list[dict[str, Any]] | None = None,
        edges: Callable[[], Result] | None = None,
    ) -> None:
        #: What the values are, such as "pagerank"; also the name of their column.
        self.name = name
        #: What the run counted: seconds, iterations, edges_traversed, bytes_read, ...
        self.stats: dict[str, Any] = dict(stats or {})
        #: The per-iteration table, a row each.
        self.iterations: list[dict[str, Any]] = list(iterations or [])
        self._id_name = id_name
        self._ids = ids
        self._columns = dict(columns)
        self._make_edges = edges
        for each in self._columns:
            if each == id_name or (each != name and (hasattr(Result, each) or each in vars(self))):
                raise ValueError(f"a column of a result cannot be called {each!r}")

    @classmethod
    def from_vids(
        cls,
        graph: Graph,
        name: str,
        values: Given,
        *,
        stats: Mapping[str, Any] | None = None,
        iterations: list[dict[str, Any]] | None = None,
        columns: Mapping[str, Given] | None = None,
        vid_columns: Mapping[str, Given] | None = None,
        values_are_vids: bool = False,
        edges: Callable[[], Result] | None = None,
        threads: int = 1,
        keep: bool = False,
    ) -> Result:
        """A result from arrays by vid, or from functions that make them when they are needed.

        ``vid_columns`` hold vids (``NO_VERTEX``: none) and are shown as the user's ids: -1 for
        none, or None where ids are strings or do not fit int64. With ``values_are_vids`` the values
        are such a column too. The arrays belong to the result from now on. ``edges`` makes a table
        of edges (:func:`penstock.engine.result_edges.edge_table`) when it is asked for.

        Whole arrays are made on ``threads``. ``keep``: there is memory for the order of the ids,
        both ways (8 bytes a vertex).
        """
        ids, order = ids_of(graph), graph.vid_of_rank
        named = dict(vid_columns or {})
        plain = dict(columns or {})
        ranks = None
        if keep and order is not None:
            order = np.asarray(order)  # as it is mapped
        if named or values_are_vids:
            ranks = ranks_of_ids(graph, keep=keep, threads=threads)
        namer = Namer(ids, order, threads, ranks)

        def column(given: Given, *, is_named: bool) -> Column:
            return Column(given, len(ids), order, namer if is_named else None, threads)

        made = {name: column(values, is_named=values_are_vids)}
        made |= {each: column(given, is_named=False) for each, given in plain.items()}
        made |= {each: column(given, is_named=True) for each, given in named.items()}
        if len(made) != 1 + len(plain) + len(named):
            raise ValueError(f"two columns have the same name: {name}, {[*plain, *named]}")
        return cls(name, ids, made, stats=stats, iterations=iterations, edges=edges)

    @classmethod
    def table(
        cls,
        name: str,
        ids: Any,
        values: Any,
        *,
        id_name: str = "id",
        stats: Mapping[str, Any] | None = None,
        iterations: list[dict[str, Any]] | None = None,
        columns: Mapping[str, Given] | None = None,
        edges: Callable[[], Result] | None = None,
    ) -> Result:
        """A result that is not one row a vertex: ids in ascending order, whatever they are."""
        keys = ArrayIds(np.asarray(ids))
        made = {
            each: Column(given if callable(given) else np.asarray(given), len(keys))
            for each, given in {name: values, **(columns or {})}.items()
        }
        return cls(
            name, keys, made, id_name=id_name, stats=stats, iterations=iterations, edges=edges
        )

    # What it has

    @property
    def id_name(self) -> str:
        """The name of the column of ids in tables."""
        return self._id_name

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The type of the ids."""
        return self._ids.dtype

    @property
    def column_dtypes(self) -> dict[str, str]:
        """The columns besides the ids, and their types as NumPy spells them."""
        return {name: str(column.dtype) for name, column in self._columns.items()}

    # One or a few

    def __len__(self) -> int:
        return len(self._ids)

    @cached_property
    def ids(self) -> Array:
        """The user's ids, ascending."""
        return self._ids.whole()

    @property
    def values(self) -> Array:
        """The value of each id."""
        return self._columns[self.name].whole()

    @cached_property
    def edges(self) -> Result:
        """The edges that were found, where an algorithm finds some: a table of ``src`` and ``dst``
        in the user's ids, in their order, with the columns that the edges have; an undirected edge
        once, from the smaller id.
        """
        if self._make_edges is None:
            raise AttributeError("this result has no edges", name="edges", obj=self)
        return self._make_edges()

    def complete(self) -> None:
        """Make what would be made when it is first used: later the graph may be another one."""
        for table in (self, self.edges) if self.has_edges else (self,):
            for column in table._columns.values():
                column.make()

    @property
    def has_edges(self) -> bool:
        """Whether there are ``edges``."""
        return self._make_edges is not None

    def path(self, target: object) -> list[Any]:
        """The ids on a shortest path to a vertex, from the source on; empty if none leads there.
        Of results with ``parents``.
        """
        parents = self._columns.get("parents")
        if parents is None:
            raise AttributeError("this result has no parents, so no paths", name="path", obj=self)
        if self._ids.rank(target) is None:
            raise IdError(f"{target!r} is not an id of this result; .ids has all {len(self):,}")
        found: list[Any] = []
        here = target
        while not found or here != found[-1]:
            found.append(here)
            rank = self._ids.rank(here)
            assert rank is not None
            here = parents.part(rank, rank + 1).tolist()[0]
            if here is None or self._ids.rank(here) is None:
                return []
        return found[::-1]

    def __getattr__(self, name: str) -> Array:
        columns: dict[str, Column] = self.__dict__.get("_columns", {})
        if name in columns:
            return columns[name].whole()
        if name == self.__dict__.get("_id_name"):
            return self.ids
        raise AttributeError(
            f"this result has no {name!r}; its columns are ids, values"
            + "".join(f", {each}" for each in columns),
            name=name,
            obj=self,
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __getitem__(self, vertex: object) -> Any:
        rank = self._ids.rank(vertex)
        if rank is None:
            raise IdError(f"{vertex!r} is not an id of this result; .ids has all {len(self):,}")
        return self._columns[self.name].part(rank, rank + 1).tolist()[0]

    def top(self, k: int = 10, *, largest: bool = True) -> list[tuple[Any, Any]]:
        """The ``k`` ids with the largest (or smallest) values, as pairs ``(id, value)``, best
        first; equal values in ascending order of ids, NaN last.
        """
        if k < 0:
            raise OptionError(f"k: expected 0 or more, got {k}")
        column = self._columns[self.name]
        values: Array = np.empty(0, column.dtype)
        ranks: Array = np.empty(0, np.int64)
        for begin, end in parts(len(self), max(PART_ROWS, k)):
            values = np.concatenate([values, column.part(begin, end)])
            ranks = np.concatenate([ranks, np.arange(begin, end)])
            kept = np.sort(best(values, k, largest=largest))
            values, ranks = values[kept], ranks[kept]
        order = best(values, k, largest=largest)
        ids: list[Any] = self._ids.take(ranks[order]).tolist()
        return list(zip(ids, values[order].tolist(), strict=True))

    # As a table

    def to_arrow(self) -> pa.Table:
        """An Arrow table: the ids, the values under their name, and the further columns."""
        import pyarrow as pa

        return pa.Table.from_batches(self._batches(), self._schema())

    def to_pandas(self) -> Any:
        """A pandas table with the same columns."""
        pd = optional("pandas", "to_pandas")
        columns = {name: column.whole() for name, column in self._columns.items()}
        return pd.DataFrame({self._id_name: self.ids, **columns}, copy=False)

    def to_polars(self) -> Any:
        """A polars table with the same columns."""
        return optional("polars", "to_polars").from_arrow(self.to_arrow())

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the table to a Parquet file; one that is there is replaced, once it is complete."""
        import pyarrow.parquet as pq

        schema = self._schema()
        with (
            unfinished(Path(path), overwrite=True) as temporary,
            pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
        ):
            for batch in self._batches():
                writer.write_batch(batch, row_group_size=PART_ROWS)
        return Path(path)

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the table to a CSV file with a header; one that is there is replaced."""
        import csv
        import io

        import pyarrow as pa
        from pyarrow.csv import CSVWriter, WriteOptions

        schema = self._schema()
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(schema.names)
        options = WriteOptions(include_header=False)
        with ExitStack() as stack:
            temporary = stack.enter_context(unfinished(Path(path), overwrite=True))
            file = stack.enter_context(pa.OSFile(str(temporary), "wb"))
            file.write(header.getvalue().encode())
            writer = stack.enter_context(CSVWriter(file, schema, write_options=options))
            for batch in self._batches():
                writer.write_batch(batch)
        return Path(path)

    def _schema(self) -> pa.Schema:
        import pyarrow as pa

        fields = [(self._id_name, arrow_type(self._ids.dtype))]
        fields += [(name, column.arrow_type) for name, column in self._columns.items()]
        return pa.schema(fields)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = self._schema()
        for begin, end in parts(len(self)):
            columns = [column.arrow(begin, end) for column in self._columns.values()]
            yield pa.record_batch([self._ids.arrow(begin, end), *columns], schema=schema)

    # For people

    def plot(
        self,
        kind: str | None = None,
        ax: Axes | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Axes:
        """A picture: "degrees", "components", "convergence", "active" (per iteration), "values" or
        "timeline" (of a run with ``trace=``); without a kind the first of these that there is
        something to show of. Drawn into ``ax``, or a new figure; written to ``path`` (.png, .svg,
        .pdf) if given. Needs Matplotlib: ``pip install 'penstock[plot]'``.
        """
        from penstock.drawing.results import plot

        return plot(self, kind, ax, path)

    def __repr__(self) -> str:
        facts = [f"{len(self):,} rows of {', '.join([self._id_name, *self._columns])}"]
        if "iterations" in self.stats:
            facts.append(f"{self.stats['iterations']} iterations")
        if "seconds" in self.stats:
            facts.append(f"{self.stats['seconds']:.3g} s")
        return f"<Result {self.name}: {'; '.join(facts)}>"

    def _repr_html_(self) -> str:
        shown = min(len(self), _HTML_ROWS)
        columns = [self._ids.part(0, shown)]
        columns += [column.part(0, shown) for column in self._columns.values()]
        cells = [[str(cell) for cell in column.tolist()] for column in columns]
        rows = [list(row) for row in zip(*cells, strict=True)]
        if shown < len(self):
            rows.append(["…"] * len(columns))
        head = "".join(f"<th>{escape(each)}</th>" for each in [self._id_name, *self._columns])
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
        )
        title = escape(repr(self).strip("<>"))
        return f"<table><caption>{title}</caption><tr>{head}</tr>{body}</table>"


def best(values: Array, k: int, *, largest: bool) -> Array:
    """The places of the ``k`` largest (or smallest) values, best first; of equal ones the earlier
    comes first, and NaN and None come last.
    """
    there = np.flatnonzero(_is_value(values))
    found = values if len(there) == len(values) else values[there]
    chosen: Array = np.arange(len(found))
    if 0 < k < len(found):
        at = len(found) - k if largest else k - 1
        edge = found[np.argpartition(found, at)[at]]
        better = np.flatnonzero(found > edge if largest else found < edge)
        equal = np.flatnonzero(found == edge)
        chosen = np.sort(np.concatenate([better, equal[: k - len(better)]]))
    if largest:
        # Sorted from behind and read backwards: equal values stay in their order.
        chosen = chosen[::-1]
    chosen = chosen[np.argsort(found[chosen], kind="stable")]
    chosen = there[chosen[::-1] if largest else chosen]
    if len(chosen) < k:
        chosen = np.concatenate([chosen, np.flatnonzero(~_is_value(values))])
    return chosen[:k]


def _is_value(values: Array) -> Array:
    if values.dtype.kind in "fc":
        return ~np.isnan(values)
    if values.dtype.kind == "O":
        return np.fromiter((each is not None for each in values), bool, len(values))
    return np.ones(len(values), bool)
