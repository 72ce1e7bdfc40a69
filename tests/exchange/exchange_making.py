"""Small graphs as plain values, and the same as objects of libraries, made by these."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import igraph
import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse
from hypothesis import strategies as st

import penstock as ps


@dataclass(frozen=True)
class Plain:
    """A graph: ids in the order they were made, and edges by places among these."""

    ids: tuple[Any, ...]
    edges: tuple[tuple[int, int], ...]
    weights: tuple[float, ...] | None
    directed: bool

    def facts(self) -> Any:
        """What must be true of the graph, however it is stored."""
        rows = [(self.ids[i], self.ids[j]) for i, j in self.edges]
        if not self.directed:
            rows = [(min(row), max(row)) for row in rows]
        if self.weights is not None:
            rows = [(*row, weight) for row, weight in zip(rows, self.weights, strict=True)]
        return self.directed, sorted(self.ids), Counter(rows)

    def networkx(self) -> Any:
        made = nx.MultiDiGraph() if self.directed else nx.MultiGraph()
        made.add_nodes_from(self.ids)
        for place, (i, j) in enumerate(self.edges):
            made.add_edge(self.ids[i], self.ids[j])
            if self.weights is not None:
                key = max(made[self.ids[i]][self.ids[j]])
                made[self.ids[i]][self.ids[j]][key]["weight"] = self.weights[place]
        return made

    def igraph(self) -> Any:
        made = igraph.Graph(len(self.ids), self.edges, directed=self.directed)
        made.vs["name"] = list(self.ids)
        if self.weights is not None:
            made.es["weight"] = list(self.weights)
        return made

    def fits_live(self) -> bool:
        """Whether live graphs take the ids."""
        return all(str(each) and "\0" not in str(each) for each in self.ids)

    def live(self) -> ps.DynamicGraph:
        properties = {} if self.weights is None else {"weight": "float64"}
        made = ps.DynamicGraph(
            directed=self.directed, multigraph=True, edge_properties=properties, threads=1
        )
        made.add_vertices(list(self.ids))
        ends = [[self.ids[edge[side]] for edge in self.edges] for side in (0, 1)]
        values = {} if self.weights is None else {"weight": list(self.weights)}
        made.add_edges(*ends, values)
        return made


_IDS = {
    "counted": st.integers(0, 6).map(range),
    "numbers": st.lists(st.integers(0, 2**63 - 1), max_size=6, unique=True),
    "strings": st.lists(st.text(max_size=3), max_size=6, unique=True),
}


@st.composite
def plain_graphs(draw: st.DrawFn) -> Plain:
    ids = tuple(draw(_IDS[draw(st.sampled_from(sorted(_IDS)))]))
    place = st.integers(0, max(0, len(ids) - 1))
    edges = draw(st.lists(st.tuples(place, place), max_size=12 if ids else 0))
    weight = st.integers(-3, 3) | st.floats(allow_nan=False)
    weights = st.none() | st.tuples(*[weight] * len(edges))
    # Without edges NetworkX cannot know of weights.
    return Plain(ids, tuple(edges), draw(weights) if edges else None, draw(st.booleans()))


def facts_of(graph: ps.Graph) -> Any:
    """The facts of a graph of ours."""
    rows = list(zip(*(column.tolist() for column in graph.to_edges()), strict=True))
    if not graph.directed:
        rows = [(min(row[:2]), max(row[:2]), *row[2:]) for row in rows]
    return graph.directed, graph.ids.tolist(), Counter(rows)


def as_rows(made: Any, graph: Any, *, weighted: bool) -> tuple[list[Any] | None, Counter[Any]]:
    """The vertices, if it has them, and the edges of what a graph has been turned into."""
    if isinstance(made, pa.Table):
        return None, Counter(zip(*made.to_pydict().values(), strict=True))
    if isinstance(made, pd.DataFrame):
        return None, Counter(made.itertuples(index=False, name=None))
    if isinstance(made, pl.DataFrame):
        return None, Counter(made.rows())
    if scipy.sparse.issparse(made):
        return graph.ids.tolist(), _matrix_rows(made, graph, weighted=weighted)
    if isinstance(made, igraph.Graph):
        named = "name" in made.vertex_attributes()
        names = made.vs["name"] if named else list(range(made.vcount()))
        rows = [tuple(names[end] for end in edge) for edge in made.get_edgelist()]
        columns = [made.es[name] for name in made.edge_attributes()]
    else:
        names = list(made)
        found = list(made.edges(data=True))
        rows = [row[:2] for row in found]
        attributes = dict.fromkeys(name for row in found for name in row[2])
        columns = [[row[2][name] for row in found] for name in attributes]
    if not graph.directed:
        rows = [(min(row), max(row)) for row in rows]
    return names, Counter((*row, *more) for row, *more in zip(rows, *columns, strict=True))


def _matrix_rows(matrix: Any, graph: Any, *, weighted: bool) -> Counter[Any]:
    assert matrix.shape == (graph.num_vertices,) * 2
    entries = matrix.tocoo()
    rows = list(zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True))
    if not graph.directed:
        assert Counter(rows) == Counter((j, i, value) for i, j, value in rows)
        rows = [row for row in rows if row[0] <= row[1]]
    ids = graph.ids.tolist()
    if not weighted:
        assert all(value == 1 for _, _, value in rows)
        return Counter((ids[i], ids[j]) for i, j, _ in rows)
    return Counter((ids[i], ids[j], value) for i, j, value in rows)
