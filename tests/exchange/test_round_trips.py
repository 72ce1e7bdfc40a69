"""Any small graph goes through any library and comes back the same."""

from __future__ import annotations

import pytest
from exchange_making import Plain, as_rows, facts_of, plain_graphs
from hypothesis import given, settings

import penstock as ps

OUT = ("to_arrow", "to_pandas", "to_polars", "to_scipy", "to_igraph", "to_networkx")
LIBRARIES = ("networkx", "igraph")


def check_out(graph, plain):
    directed, ids, edges = plain.facts()
    for method in OUT:
        made = getattr(graph, method)()
        names, rows = as_rows(made, graph, weighted=plain.weights is not None)
        assert rows == edges, method
        if names is not None:
            assert names == ids, method
        if method in ("to_igraph", "to_networkx"):
            assert made.is_directed() is directed


@pytest.mark.parametrize("library", LIBRARIES)
@given(plain=plain_graphs())
@settings(max_examples=60)
def test_in_memory(library, plain):
    graph = ps.from_edges(getattr(plain, library)(), duplicates="keep", threads=1)
    assert facts_of(graph) == plain.facts()
    check_out(graph, plain)


@given(plain=plain_graphs())
@settings(max_examples=15)
def test_on_disk(tmp_path_factory, plain):
    folder = tmp_path_factory.mktemp("graph")
    graph = ps.build(
        plain.networkx(), folder / "g", duplicates="keep", threads=1, memory="64MB", overwrite=True
    )
    assert facts_of(graph) == plain.facts()
    check_out(graph, plain)


@given(plain=plain_graphs().filter(Plain.fits_live))
@settings(max_examples=40)
def test_live(plain):
    live = plain.live()
    check_out(live, plain)
    check_out(live.snapshot(), plain)
    for method in ("to_igraph", "to_networkx"):
        again = ps.from_edges(getattr(live, method)(), duplicates="keep", threads=1)
        assert facts_of(again) == plain.facts()


@pytest.mark.parametrize("method", ["to_arrow", "to_pandas", "to_polars"])
@given(plain=plain_graphs())
@settings(max_examples=25)
def test_tables_come_back(method, plain):
    graph = ps.from_edges(plain.igraph(), duplicates="keep", threads=1)
    again = ps.from_edges(
        getattr(graph, method)(), directed=plain.directed, weights=graph.weighted,
        duplicates="keep", threads=1,
    )  # fmt: skip
    assert facts_of(again)[2] == plain.facts()[2]


@given(plain=plain_graphs())
@settings(max_examples=25)
def test_matrices_come_back(plain):
    graph = ps.from_edges(plain.igraph(), threads=1)
    again = ps.from_edges(
        graph.to_scipy(), directed=plain.directed, weights=graph.weighted, threads=1
    )
    directed, ids, edges = facts_of(again)
    names = graph.ids.tolist()
    named = {(names[i], names[j], *more): count for (i, j, *more), count in edges.items()}
    assert (directed, [names[i] for i in ids], named) == facts_of(graph)
