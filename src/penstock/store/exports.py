"""What a graph can be turned into: objects of other libraries, in the user's ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError

if TYPE_CHECKING:
    import pyarrow as pa


_load: Callable[[], Any] | None = None


def provide(load: Callable[[], Any]) -> None:
    """Say where the functions are that do the work. The methods belong to the graph, the work is
    done layers above: these make themselves known, so that no import goes against the flow.
    """
    global _load
    _load = load


def _exchange() -> Any:
    if _load is None:
        raise PenstockError("there is nothing to convert graphs with; import penstock.interfaces")
    return _load()


class ExportMixin:
    """The methods of graphs, those that change included, that give objects of other libraries.

    All of them hold the whole graph in memory. A graph that changes is held still meanwhile.
    """

    def to_arrow(self) -> pa.Table:
        """The edges as an Arrow table: ``src``, ``dst``, and the weight and attributes under their
        names. An undirected edge is one row, from the smaller id. Vertices without edges are not
        in it.

        >>> import penstock as ps
        >>> ps.from_edges([7, 7], [3, 9], [0.5, 2.0], directed=False).to_arrow().to_pylist()
        [{'src': 3, 'dst': 7, 'weight': 0.5}, {'src': 7, 'dst': 9, 'weight': 2.0}]
        """
        return _exchange().to_arrow(self)

    def to_pandas(self) -> Any:
        """The table of :meth:`to_arrow` as one of pandas."""
        return _exchange().to_pandas(self)

    def to_polars(self) -> Any:
        """The table of :meth:`to_arrow` as one of polars."""
        return _exchange().to_polars(self)

    def to_scipy(self) -> Any:
        """The adjacency matrix as a ``scipy.sparse.csr_array``: row and column i belong to
        ``ids[i]``, and an entry is the weight of an edge from the row to the column, or 1 (int64)
        if there are no weights. That of an undirected graph is symmetric. Each of several edges
        between two vertices is an entry; ``sum_duplicates()`` adds them up.
        """
        return _exchange().to_scipy(self)

    def to_igraph(self) -> Any:
        """A graph of igraph: vertex i is ``ids[i]``, which is also its attribute ``name`` unless
        the ids are 0 .. n-1. Weight and attributes are edge attributes of their names.
        """
        return _exchange().to_igraph(self)

    def to_networkx(self, *, limit: int = 50_000_000) -> Any:
        """A graph of NetworkX with all vertices, and weight and attributes as edge attributes of
        their names: a ``Graph`` or ``DiGraph``, or with ``duplicates="keep"`` a ``MultiGraph`` or
        ``MultiDiGraph``. Raises BudgetError if there are more than ``limit`` edges: each takes 200
        bytes or more. :meth:`nx` needs no conversion.
        """
        return _exchange().to_networkx(self, limit)

    def nx(self) -> Any:
        """The graph itself, for NetworkX: its functions run on the store, and nothing is
        converted.
        """
        return _exchange().nx_graph(self)
