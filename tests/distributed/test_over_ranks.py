"""Every algorithm that runs over hosts: the same bits as on one, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_making import ThreadHosts, build_hard, hard_edges

import penstock as ps
from penstock.algorithms import find, names
from penstock.distributed import jobs, later_columns
from penstock.engine import exchange
from penstock.errors import OptionError, PenstockError
from penstock.store.page import LARGE

WAYS = [{"load": True}, {"load": False}]
Call = Callable[..., Any]

CALLS: dict[str, Call] = {
    "pagerank": lambda g, **k: ps.pagerank(g, **k),
    "pagerank, weight": lambda g, **k: ps.pagerank(g, weight=True, **k),
    "pagerank, given": lambda g, **k: ps.pagerank(
        g, personalization={5: 1.0, 7: 2.0}, dangling={9: 1.0}, dtype="float64", **k
    ),
    "rwr": lambda g, **k: ps.rwr(g, [5, 8], **k),
    "bfs": lambda g, **k: ps.bfs(g, 5, **k),
    "bfs, limit": lambda g, **k: ps.bfs(g, [5, 6], depth_limit=2, **k),
    "sssp": lambda g, **k: ps.sssp(g, 5, **k),
    "sssp, cutoff": lambda g, **k: ps.sssp(g, [5, 6], cutoff=6, **k),
    "connected_components": lambda g, **k: ps.connected_components(g, **k),
    "degree_distribution": lambda g, **k: ps.degree_distribution(g, **k),
    "heat": lambda g, **k: ps.heat(g, {3: 1.0}, **k),
    "heat, no weight": lambda g, **k: ps.heat(g, {3: 1.0}, weight=False, **k),
    "circuit": lambda g, **k: ps.circuit(g, {3: 1.0, 9: 0.0}, tol=0, max_iter=20, **k),
    "neural_network": lambda g, **k: ps.neural_network(g, {3: 1.0}, {4: 0.1}, **k),
}


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request: Any, tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("ranks"), directed=request.param)


def assert_same(found: Any, expected: Any) -> None:
    """Two results are the same to the last bit."""
    assert found.values.dtype == expected.values.dtype
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.values, expected.values)
    if "parents" in expected._columns:
        np.testing.assert_array_equal(found.parents, expected.parents)


def test_the_graph_is_hard(graph: ps.Graph) -> None:
    for direction in graph.directions:
        assert (graph.page_table(direction)["kind"] == LARGE).sum() > 2
        assert len(graph.page_table(direction)) > 12


@pytest.mark.parametrize("way", WAYS, ids=["in memory", "streamed"])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits(graph: ps.Graph, name: str, size: int, way: dict[str, Any]) -> None:
    call = CALLS[name]
    found = call(graph, hosts=ThreadHosts(size), threads=2, **way)
    assert_same(found, call(graph, **way))
    assert found.stats["hosts"] == size
    assert len(found.stats["ranks"]) == size


def test_more_ranks_than_pages(tmp_path: Path) -> None:
    few = ps.build(([0, 1, 2], [1, 2, 0]), tmp_path / "few.penstock")
    for call in (ps.pagerank, ps.connected_components):
        assert_same(call(few, hosts=ThreadHosts(7)), call(few))


def test_no_edges_and_no_vertices(tmp_path: Path) -> None:
    none: list[int] = []
    for count in (0, 5):
        graph = ps.build((none, none), tmp_path / f"{count}.penstock", num_vertices=count)
        assert_same(ps.pagerank(graph, hosts=ThreadHosts(2)), ps.pagerank(graph))
        found = ps.connected_components(graph, hosts=ThreadHosts(2))
        assert found.values.tolist() == list(range(count))


def test_shortest_paths_without_weights(tmp_path: Path) -> None:
    graph = build_hard(tmp_path, directed=True, weights=False)
    for way in WAYS:
        found = ps.sssp(graph, 5, hosts=ThreadHosts(3), **way)
        assert_same(found, ps.sssp(graph, 5, **way))


@pytest.mark.parametrize("forgets", [False, True])
def test_parents_are_made_when_they_are_asked_for(
    graph: ps.Graph,
    monkeypatch: Any,
    forgets: bool,  # noqa: FBT001
) -> None:
    expected, hosts = ps.sssp(graph, 5), ThreadHosts(3)
    made: list[int] = []
    find_parents = later_columns.make_column

    def noting(*args: Any) -> Any:
        made.append(1)
        return find_parents(*args)

    monkeypatch.setattr(jobs, "make_column", noting)
    found = ps.sssp(graph, 5, hosts=hosts)
    np.testing.assert_array_equal(found.values, expected.values)
    assert made == []
    if forgets:  # ranks have had another call
        ps.bfs(graph, 5, hosts=hosts)
    np.testing.assert_array_equal(found.parents, expected.parents)
    assert len(made) == 3


def test_strings_as_ids(tmp_path: Path) -> None:
    src, dst, _ = hard_edges(200, 900)
    named = ps.build((src.astype(str), dst.astype(str)), tmp_path / "names.penstock")
    for call in (ps.pagerank, ps.connected_components):
        assert_same(call(named, hosts=ThreadHosts(3)), call(named))
    assert_same(ps.bfs(named, "7", hosts=ThreadHosts(3)), ps.bfs(named, "7"))


def test_values_go_out_in_several_chunks(graph: ps.Graph, monkeypatch: Any) -> None:
    monkeypatch.setattr(exchange, "CHUNK_BYTES", 256)
    for name in ("pagerank", "bfs"):
        call = CALLS[name]
        assert_same(call(graph, hosts=ThreadHosts(3)), call(graph))


# Programs of users


def _program(**more: Any) -> ps.Program:
    return ps.Program(
        state={"level": np.float64, "seen": np.int32},
        init=lambda vertex: (vertex.index * 1.0, 0),
        gather=lambda src, edge, dst: (src.level - dst.seen) * edge.weight,
        sum="add",
        identity=0.0,
        apply=lambda old, a: (0.5 * old.level + 1e-3 * a, old.seen + 1),
        totals={"level": lambda new, old: abs(new.level - old.level)},
        name="mixing",
        **more,
    )


def test_a_program_that_reads_both_ends(graph: ps.Graph) -> None:
    expected = ps.run(graph, _program(), max_iter=6, params={"level": 0.0})
    found = ps.run(graph, _program(), max_iter=6, params={"level": 0.0}, hosts=ThreadHosts(3))
    assert_same(found, expected)
    np.testing.assert_array_equal(found.seen, expected.seen)
    assert found.stats["totals"] == expected.stats["totals"]


def test_until_is_asked_on_every_rank(graph: ps.Graph) -> None:
    def until(totals: Any) -> bool:
        return bool(totals["level"] < 1e5)

    given = {"max_iter": 50, "params": {"level": 0.0}, "until": until}
    expected = ps.run(graph, _program(), **given)
    found = ps.run(graph, _program(), hosts=ThreadHosts(2), **given)
    assert len(found.iterations) == len(expected.iterations)


def test_gimv_over_ranks(graph: ps.Graph) -> None:
    given = {"vector": lambda vertex: vertex.index * 1.0, "tol": None, "max_iter": 4}
    functions = (lambda m, v: m * v, "add", lambda v, a: 0.1 * a)
    expected = ps.gimv(graph, *functions, **given)
    assert_same(ps.gimv(graph, *functions, hosts=ThreadHosts(3), **given), expected)


def test_edge_vertex_over_ranks(graph: ps.Graph) -> None:
    functions = (lambda v, w: v + w, "min", lambda v, a: min(v, a))
    given = {"initial": np.where(np.arange(1000) == 5, 0.0, np.inf), "start": [5]}
    expected = ps.edge_vertex(graph, *functions, **given)
    assert_same(ps.edge_vertex(graph, *functions, hosts=ThreadHosts(3), **given), expected)


# What is refused


def test_others_refuse_by_name(graph: ps.Graph) -> None:
    able = [name for name in names() if find(name).on_hosts]
    assert set(able) == {name.split(",")[0] for name in CALLS}
    with pytest.raises(OptionError, match=r"hosts: k_core runs on one host only"):
        ps.k_core(graph, hosts=ThreadHosts(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "async"}, "a run over hosts is synchronous"),
        ({"strategy": "push"}, "a run over hosts pulls or notifies"),
        ({"devices": "cpu:1,cpu:1"}, "devices: not available over hosts"),
        ({"threads": 0}, "threads"),
    ],
)
def test_options_that_hosts_have_not(graph: ps.Graph, options: Any, message: str) -> None:
    with pytest.raises(PenstockError, match=message):
        ps.pagerank(graph, hosts=ThreadHosts(2), **options)


def test_a_graph_in_memory_is_refused() -> None:
    with pytest.raises(OptionError, match="hosts read a stored graph"):
        ps.pagerank(ps.from_edges([0], [1]), hosts=ThreadHosts(2))


def test_sums_need_in_lists(tmp_path: Path) -> None:
    graph = build_hard(tmp_path, directed=True, directions="out")
    with pytest.raises(OptionError, match="gathers along in-lists over hosts"):
        ps.pagerank(graph, hosts=ThreadHosts(2))


def test_a_negative_weight_is_refused(tmp_path: Path) -> None:
    src, dst, weights = hard_edges(200, 900)
    weights[17] = -1
    graph = ps.build((src, dst, weights), tmp_path / "negative.penstock", weights=True)
    with pytest.raises(PenstockError, match="weights of 0 or more"):
        ps.sssp(graph, 5, hosts=ThreadHosts(2))


def test_too_little_memory_is_refused(tmp_path: Path) -> None:
    wide = ps.build(([0], [1]), tmp_path / "wide.penstock", num_vertices=3_000_000)
    with pytest.raises(PenstockError, match=r"memory: 17\.0 MB is not enough"):
        ps.pagerank(wide, hosts=ThreadHosts(2), memory="17MB", load=False)
