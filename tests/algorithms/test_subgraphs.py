"""Induced subgraphs, egonets, neighbourhoods and cross edges: against NetworkX, by their own
verifiers, and over every kind of list.
"""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAYS, build, edges, stopping_after

import penstock as ps
from penstock import algorithms
from penstock.config import parse_bytes
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.planning import open_engine
from penstock.engine.topology import LISTS
from penstock.errors import BudgetError, FormatError, IdError, OptionError, VerificationError


def verify(graph, found):
    algorithms.find(found.stats["algorithm"]).verify(graph, found)


def table(found):
    """The edges, with their weights, in any order."""
    rows = found.edges
    return sorted(zip(rows.src.tolist(), rows.dst.tolist(), rows.weight.tolist(), strict=True))


def spelled(graph, found):
    """The same of edges that NetworkX gives."""
    ends = ((u, v) if graph.is_directed() else (min(u, v), max(u, v)) for u, v, _ in found)
    return sorted((u, v, w) for (u, v), (_, _, w) in zip(ends, found, strict=True))


def values(found):
    return dict(zip(found.ids.tolist(), found.values.tolist(), strict=True))


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.data())
def test_equals_networkx(shape, directed, data):
    n, pairs = shape
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    weights = np.arange(len(pairs), dtype=np.int32)
    graph = ps.from_edges(
        src, dst, weights, directed=directed, num_vertices=n, duplicates="keep",
        vertex_order=data.draw(st.sampled_from(["none", "degree"])),
    )  # fmt: skip
    other = nx.MultiDiGraph() if directed else nx.MultiGraph()
    other.add_nodes_from(range(n))
    other.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True))
    some = st.sets(st.integers(0, n - 1))
    a, b = data.draw(some), data.draw(some)

    found = ps.induced_subgraph(graph, sorted(a))
    induced = other.subgraph(a)
    assert values(found) == dict(induced.degree)
    assert table(found) == spelled(other, induced.edges.data("weight"))
    verify(graph, found)

    found = ps.cross_edges(graph, list(a), list(b))
    across = list(nx.edge_boundary(other, a, b, data="weight"))
    if directed:  # NetworkX takes edges from b to a if both ends are in a
        across = [edge for edge in across if edge[0] in a and edge[1] in b]
    assert table(found) == spelled(other, across)
    ends = [v for edge in across for v in edge[:2]]
    assert values(found) == {v: ends.count(v) for v in a | b}
    verify(graph, found)

    source, radius = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, 3))
    center, undirected = data.draw(st.booleans()), data.draw(st.booleans())
    found = ps.egonet(graph, source, radius=radius, center=center, undirected=undirected)
    ego = nx.ego_graph(other, source, radius, center=center, undirected=undirected)
    way = other.to_undirected() if undirected else other
    away = nx.single_source_shortest_path_length(way, source, radius)
    assert values(found) == {v: away[v] for v in ego}
    assert table(found) == spelled(other, ego.edges.data("weight"))
    verify(graph, found)

    begin = sorted(a | {source})
    found = ps.k_hop(graph, begin, radius)
    away = [nx.single_source_shortest_path_length(other, v, radius) for v in begin]
    nearest = {v: min(each.get(v, n) for each in away) for each in away for v in each}
    assert values(found) == nearest
    verify(graph, found)


KINDS = {
    **COMMON_KINDS,
    "out-lists only": {"directions": "out"},
    "in-lists only": {"directions": "in"},
    "duplicates": {"directed": False, "duplicates": "keep"},
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def graph(request, tmp_path_factory):
    src, dst = edges()
    if "duplicates" in request.param:
        src, dst = np.tile(src, 3), np.tile(dst, 3)
    weights = np.random.default_rng(1).random(len(src)).astype(np.float32)
    path = tmp_path_factory.mktemp("subgraphs") / "g"
    return build(path, (src, dst, weights), num_vertices=7000, **request.param)


def load_all(graph):
    """Leave all lists in memory, as runs that look at all of them do."""
    for direction in graph.directions:
        for columns in ((), ("weight",)):
            needs = {"directions": (direction,), "columns": columns}
            with open_engine(graph, RunOptions.of(), Needs(passes=1.0, **needs)) as engine:
                engine.lists(direction)


CALLS = {
    "induced_subgraph": {"vertices": np.arange(0, 7000, 3)},
    "cross_edges": {"a": [7, 12, *range(0, 7000, 5)], "b": [12, *range(0, 7000, 2)]},
    "egonet": {"source": 7},
    "egonet of radius 2": {"source": 7, "radius": 2, "center": False},
    "k_hop": {"source": [7, 6100], "k": 3},
}


@pytest.mark.parametrize("call", CALLS)
def test_every_way_gives_the_same(graph, call):
    name, parameters = call.split()[0], CALLS[call]
    function = getattr(ps, name)
    if graph.directions == ("in",) and name in ("egonet", "k_hop"):
        with pytest.raises(FormatError, match="out-lists"):
            function(graph, **parameters)
        return
    assert (graph.page_table(graph.directions[0])["run"] > 0).any(), "no list is longer than a page"
    load_all(graph)
    first = function(graph, **parameters, **WAYS[0])
    verify(graph, first)
    assert first.stats["resident"]
    assert len(first) > 3
    for way in WAYS[1:]:
        found = function(graph, **parameters, **way)
        assert found.stats["resident"] == way["load"]
        assert found.to_arrow().equals(first.to_arrow())
        assert found.has_edges == first.has_edges == (name != "k_hop")
        if found.has_edges:
            assert len(found.edges) > 2
            assert found.edges.to_arrow().equals(first.edges.to_arrow())


def test_both_directions_of_a_directed_graph(tmp_path):
    graph = build(tmp_path / "g", edges())
    for way in WAYS:
        found = ps.egonet(graph, 6100, radius=3, undirected=True, **way)
        assert found.ids.tolist() == list(range(6097, 6104))
        assert found.edges.src.tolist() == list(range(6097, 6103))
        verify(graph, found)
    only = build(tmp_path / "o", edges(), directions="out")
    assert ps.egonet(only, 6100, radius=3).ids.tolist() == list(range(6100, 6104))
    with pytest.raises(FormatError, match="in-lists"):
        ps.egonet(only, 6100, undirected=True)


def test_only_pages_around_are_read(tmp_path):
    graph = build(tmp_path / "g", edges(), vertex_order="none", num_vertices=6300)
    pages = len(graph.page_table("out"))
    assert pages > 5
    for found in (
        ps.k_hop(graph, 6100, 5),
        ps.egonet(graph, 6100, 2),
        ps.induced_subgraph(graph, [6100, 6101]),
        ps.cross_edges(graph, 6100, np.arange(6000)),
    ):
        assert not found.stats["resident"]
        assert 0 < found.stats["pages_read"] <= 2, found
    assert not graph.kept.keys(LISTS)


@pytest.mark.parametrize("directed", [True, False])
def test_the_lists_with_fewer_edges_are_read(directed, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=directed, num_vertices=6300)
    for a, b in ((np.arange(6300), 6100), (6100, np.arange(6300))):
        found = ps.cross_edges(graph, a, b)
        assert 1 <= len(found.edges) <= found.stats["edges_traversed"] <= 2
        verify(graph, found)


@pytest.mark.parametrize("directed", [True, False])
def test_next_to_nothing(directed):
    none = ps.from_edges([], [], directed=directed, num_vertices=0)
    for found in (ps.induced_subgraph(none, []), ps.cross_edges(none, [], [])):
        assert len(found) == len(found.edges) == 0
        verify(none, found)
    with pytest.raises(IdError, match="no vertices"):
        ps.egonet(none, 0)
    one = ps.from_edges([0], [0], directed=directed, num_vertices=2)
    assert values(ps.egonet(one, 0)) == values(ps.k_hop(one, 0, 4)) == {0: 0}
    assert len(ps.egonet(one, 0).edges) == 1
    assert values(ps.induced_subgraph(one, 0)) == values(ps.cross_edges(one, 0, 0)) == {0: 2}
    assert len(ps.egonet(one, 0, center=False)) == len(ps.egonet(one, 0, center=False).edges) == 0
    assert values(ps.egonet(one, 1)) == {1: 0}
    assert values(ps.k_hop(one, [1, 0], 0)) == {0: 0, 1: 0}


def test_string_ids():
    graph = ps.from_edges(["b", "b", "c", "a"], ["a", "c", "d", "c"], np.array([1, 2, 3, 4]))
    found = ps.egonet(graph, "b")
    assert values(found) == {"a": 1, "b": 0, "c": 1}
    assert table(found) == [("a", "c", 4), ("b", "a", 1), ("b", "c", 2)]
    verify(graph, found)
    assert values(ps.k_hop(graph, ["b", "d"], 1)) == {"a": 1, "b": 0, "c": 1, "d": 0}
    found = ps.induced_subgraph(graph, ["d", "c", "b"])
    assert values(found) == {"b": 1, "c": 2, "d": 1}
    verify(graph, found)
    found = ps.cross_edges(graph, "b", ["a", "d"])
    assert table(found) == [("b", "a", 1)]
    verify(graph, found)


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """A graph that takes 7 MB in memory; most edges are among the first vertices."""
    src, dst = np.random.default_rng(4).zipf(1.3, (2, 300_000)) % 20_000
    weights = np.arange(len(src), dtype=np.int64)
    path = tmp_path_factory.mktemp("dense") / "g"
    return build(path, (src, dst, weights), directed=False, duplicates="keep")


def test_edges_take_the_room_of_the_cache(dense, monkeypatch):
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    whole = ps.induced_subgraph(dense, np.arange(3000))
    with pytest.raises(BudgetError, match=r"edges needs .* requires at least") as refusal:
        ps.induced_subgraph(dense, np.arange(3000), memory="3MB").edges  # noqa: B018
    enough = re.search(r"requires at least (.*)", str(refusal.value)).group(1).replace(" ", "")
    found = ps.induced_subgraph(dense, np.arange(3000), memory=enough)
    assert found.stats["planned_memory"] > parse_bytes(enough) - 4096, "the cache would fill it"
    assert found.edges.to_arrow().equals(whole.edges.to_arrow())


def test_edges_that_do_not_fit(dense, monkeypatch):
    """Everything else is found, and they are read again when they are asked for."""
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    calls = (
        ("induced_subgraph", {"vertices": np.arange(3000)}),
        ("cross_edges", {"a": np.arange(3000), "b": np.arange(3000)}),
    )
    for name, parameters in calls:
        whole = getattr(ps, name)(dense, **parameters)
        found = getattr(ps, name)(dense, **parameters, memory="2.6MB")
        assert found.to_arrow().equals(whole.to_arrow())
        with pytest.raises(BudgetError, match=r"edges needs .* requires at least"):
            found.edges  # noqa: B018


@pytest.mark.parametrize("call", ["egonet", "k_hop"])
def test_a_small_budget(dense, call, monkeypatch):
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    load_all(dense)
    parameters = {"source": 1, "radius": 1} if call == "egonet" else {"source": 1, "k": 3}
    function = getattr(ps, call)
    whole = function(dense, **parameters)
    assert whole.stats["resident"]
    found = function(dense, memory="12MB", **parameters)
    assert not found.stats["resident"]
    assert found.to_arrow().equals(whole.to_arrow())
    verify(dense, found)
    with pytest.raises(BudgetError, match="values of the vertices"):
        function(dense, memory="9MB", **parameters)


@pytest.mark.parametrize("step", [1, 20])
def test_it_goes_on_where_it_stopped(step, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = ps.k_hop(graph, [7, 40], 30)
    saving = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.k_hop(graph, [7, 40], 30, **saving)
    for source, k in ((7, 30), ([7, 41], 30), ([7, 40], 31)):
        with pytest.raises(OptionError, match="was made for"):
            ps.k_hop(graph, source, k, resume=True, **saving)
    rest = ps.k_hop(graph, [7, 40], 30, resume=True, **saving)
    assert len(rest.iterations) == 30 - step
    assert rest.to_arrow().equals(whole.to_arrow())
    with pytest.raises(KeyboardInterrupt), stopping_after(2):
        ps.egonet(graph, 7, 3, **saving)
    rest = ps.egonet(graph, 7, 3, resume=True, **saving)
    assert [row["active"] for row in rest.iterations][1] == len(rest)
    assert rest.edges.to_arrow().equals(ps.egonet(graph, 7, 3).edges.to_arrow())


def test_what_cannot_be():
    graph = ps.from_edges([0], [1])
    for call in (
        lambda: ps.induced_subgraph(graph, [0, 2]),
        lambda: ps.cross_edges(graph, 0, 2),
        lambda: ps.egonet(graph, 2),
        lambda: ps.k_hop(graph, [0, 2], 1),
    ):
        with pytest.raises(IdError, match="there is no vertex 2"):
            call()
    with pytest.raises(OptionError, match="radius"):
        ps.egonet(graph, 0, radius=-1)
    for k in (-1, 1.5, None):
        with pytest.raises(OptionError, match="k: expected a whole number"):
            ps.k_hop(graph, 0, k)
    with pytest.raises(OptionError, match="source"):
        ps.k_hop(graph, [], 1)


# 0 - 1 - 2 - 3, 0 - 2, a loop at 1, and 4 apart.
PATH = ([0, 1, 2, 0, 1], [1, 2, 3, 2, 1], np.array([5.0, 6.0, 7.0, 8.0, 9.0]))
FOUND = {
    "induced_subgraph": lambda graph: ps.induced_subgraph(graph, [0, 1, 2, 4]),
    "cross_edges": lambda graph: ps.cross_edges(graph, [0, 1], [2, 1, 4]),
    "egonet": lambda graph: ps.egonet(graph, 0),
    "k_hop": lambda graph: ps.k_hop(graph, 0, 1),
}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    ("name", "column", "place", "value"),
    [
        *((name, "ids", 0, value) for name in FOUND for value in (-1, 1)),
        *((name, "values", place, 3) for name in FOUND for place in (0, 1, 2)),
        ("egonet", "ids", 2, 3), ("k_hop", "ids", 2, 3), ("k_hop", "values", 1, 0),
        ("cross_edges", "ids", 3, 3), ("induced_subgraph", "ids", 3, 3),
        *((name, "edges.src", 0, 2) for name in FOUND if name != "k_hop"),
        *((name, "edges.dst", 1, 0) for name in FOUND if name != "k_hop"),
        *((name, "edges.dst", 0, 9) for name in FOUND if name != "k_hop"),
        *((name, "edges.weight", 1, np.nan) for name in FOUND if name != "k_hop"),
    ],
)  # fmt: skip
def test_the_verifier_notices(name, column, place, value, directed):
    graph = ps.from_edges(*PATH, directed=directed, num_vertices=5)
    found = FOUND[name](graph)
    verify(graph, found)
    changed = found
    for each in column.split("."):
        changed = getattr(changed, each)
    assert changed[place] != value
    changed[place] = value
    with pytest.raises(VerificationError, match=f"^{name}: "):
        verify(graph, found)


def test_the_verifier_notices_a_center_and_missing_edges():
    graph = ps.from_edges(*PATH, directed=False)
    found = ps.egonet(graph, 0, center=False)
    assert values(found) == {1: 1, 2: 1}
    found.stats["parameters"]["center"] = True
    with pytest.raises(VerificationError, match="sources must be on level 0"):
        verify(graph, found)
    found = ps.egonet(graph, 0)
    found.stats["parameters"]["center"] = False
    with pytest.raises(VerificationError, match="was not asked for"):
        verify(graph, found)
    found = ps.induced_subgraph(graph, [0, 1])
    found.edges = ps.induced_subgraph(graph, [0]).edges
    with pytest.raises(VerificationError, match="not the 2 that"):
        verify(graph, found)


def test_several_columns(tmp_path):
    (tmp_path / "e.txt").write_text("".join(f"{v} {v + 1} {v / 2} {v * 9}\n" for v in range(50)))
    graph = ps.build(str(tmp_path / "e.txt"), tmp_path / "g", weights=2, attributes=[3])
    found = ps.k_hop(graph, 10, 2), ps.egonet(graph, 10, 2)
    assert values(found[0]) == values(found[1]) == {10: 0, 11: 1, 12: 2}
    assert found[1].edges.column2.tolist() == [5.0, 5.5]
    assert found[1].edges.column3.tolist() == [90, 99]
    verify(graph, found[1])
