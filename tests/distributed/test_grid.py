"""Rows of hosts, each with a range of the values: the same bits, and no rank with all values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from losing import FragileHosts
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.engine import exchange, grid_state
from penstock.engine.grid import Grid, cuts_for, grids, pages_at, rows_asked
from penstock.engine.options import RunOptions
from penstock.engine.ownership import pages_by_number
from penstock.engine.peers import Alone
from penstock.engine.planning import plan_run
from penstock.errors import BudgetError, OptionError
from penstock.stream import lists
from penstock.types import Array

#: Ranks, and rows that they stand in.
SHAPES = [(2, 2), (4, 2), (6, 3)]


def _mixing(**more: Any) -> ps.Program:
    """A program whose sums look at both ends of an edge."""
    return ps.Program(
        state={"level": np.float64, "seen": np.int32},
        init=lambda vertex: (vertex.index * 1.0, 0),
        gather=lambda src, edge, dst: (src.level - dst.seen) * edge.weight * (1 + src.out_degree),
        sum="add",
        identity=0.0,
        apply=lambda old, a: (0.5 * old.level + 1e-5 * a, old.seen + 1),
        totals={"level": lambda new, old: abs(new.level - old.level)},
        name="mixing",
        **more,
    )


def _spreading() -> ps.Program:
    """Only what changes is looked at, on one machine."""
    return ps.Program(
        state={"far": np.float64},
        init=lambda vertex: vertex.given,
        gather=lambda src, edge, dst: src.far + edge.weight,
        sum="min",
        identity=np.inf,
        apply=lambda old, a: min(old.far, a),
        activate=lambda new, old: new.far < old.far,
        fixed={"given": np.float64},
        name="spreading",
    )


def _spread(graph: ps.Graph, **options: Any) -> Any:
    far = np.where(np.arange(graph.num_vertices) % 97 == 5, 0.0, np.inf)
    return ps.run(graph, _spreading(), fields={"given": far}, **options)


def _weighing(graph: ps.Graph, **options: Any) -> Any:
    """A program with a field that is read through the lists only."""
    program = ps.Program(
        state={"level": np.float64},
        init=lambda vertex: vertex.index * 1.0,
        gather=lambda src, edge, dst: src.level * src.given,
        sum="add",
        identity=0.0,
        apply=lambda old, a: 0.5 * old.level + 1e-3 * a,
        fixed={"given": np.float64},
        name="weighing",
    )
    given = np.linspace(0, 1, graph.num_vertices)
    return ps.run(graph, program, fields={"given": given}, max_iter=4, **options)


def _gimv(graph: ps.Graph, **options: Any) -> Any:
    return ps.gimv(
        graph, lambda m, v: m * v, "add", lambda v, a: 0.1 * a,
        vector=lambda vertex: vertex.index * 1.0, tol=None, max_iter=4, **options,
    )  # fmt: skip


def _edge_vertex(graph: ps.Graph, **options: Any) -> Any:
    return ps.edge_vertex(
        graph, lambda value, weight: value * weight, "add", lambda value, a: 0.1 * a,
        initial=np.arange(graph.num_vertices) * 1.0, vote_to_halt=None, max_iter=3, **options,
    )  # fmt: skip


CALLS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda g, **k: ps.pagerank(g, **k),
    "pagerank, weight": lambda g, **k: ps.pagerank(g, weight=True, **k),
    "pagerank, given": lambda g, **k: ps.pagerank(
        g, personalization={5: 1.0, 7: 2.0}, dangling={9: 1.0}, dtype="float64", **k
    ),
    "rwr": lambda g, **k: ps.rwr(g, [5, 8], **k),
    "heat": lambda g, **k: ps.heat(g, {3: 1.0}, **k),
    "circuit": lambda g, **k: ps.circuit(g, {3: 1.0, 9: 0.0}, tol=0, max_iter=20, **k),
    "neural_network": lambda g, **k: ps.neural_network(g, {3: 1.0}, {4: 0.1}, **k),
    "gimv": _gimv,
    "edge_vertex": _edge_vertex,
    "both ends": lambda g, **k: ps.run(g, _mixing(), max_iter=6, params={"level": 0.0}, **k),
    "activate": _spread,
    "given to others": _weighing,
}


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request: Any, tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("rows"), directed=request.param)


def _assert_same(found: Any, expected: Any, rows: int) -> None:
    assert found.values.dtype == expected.values.dtype
    np.testing.assert_array_equal(found.values, expected.values)
    for name in expected._columns:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.stats.get("totals") == expected.stats.get("totals")
    assert found.stats["host_rows"] == rows


@pytest.mark.parametrize("way", [{"load": True}, {"load": False}], ids=["in memory", "streamed"])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits(graph: ps.Graph, name: str, way: dict[str, Any]) -> None:
    expected = CALLS[name](graph, **way)
    for size, rows in SHAPES:
        hosts, division = ThreadHosts(size), f"S{rows}"
        found = CALLS[name](graph, hosts=hosts, division=division, threads=2, **way)
        _assert_same(found, expected, rows)


def test_as_many_edges_are_gathered(graph: ps.Graph) -> None:
    given = {"max_iter": 3, "tol": 0}
    expected = ps.pagerank(graph, **given).stats["edges_traversed"]
    for division in ("S2", "S4", "P"):
        found = ps.pagerank(graph, hosts=ThreadHosts(4), division=division, **given)
        assert found.stats["edges_traversed"] == expected


def test_small_chunks_and_pieces(graph: ps.Graph, monkeypatch: Any) -> None:
    monkeypatch.setattr(exchange, "CHUNK_BYTES", 64)
    monkeypatch.setattr(lists, "PIECE_VERTICES", 20)
    for name in ("pagerank", "both ends"):
        found = CALLS[name](graph, hosts=ThreadHosts(4), division="S2", load=False)
        _assert_same(found, CALLS[name](graph, load=False), 2)


def test_ranges_without_vertices_and_edges(tmp_path: Path) -> None:
    few = ps.build(([0, 1, 2], [1, 2, 0]), tmp_path / "few.penstock")
    none: list[int] = []
    empty = ps.build((none, none), tmp_path / "none.penstock", num_vertices=5)
    nothing = ps.build((none, none), tmp_path / "nothing.penstock", num_vertices=0)
    for graph in (few, empty, nothing):
        for size in (2, 5):
            found = ps.pagerank(graph, hosts=ThreadHosts(size), division=f"S{size}")
            _assert_same(found, ps.pagerank(graph), size)


def test_no_rank_has_all_values(graph: ps.Graph, monkeypatch: Any) -> None:
    states: list[Any] = []
    init = grid_state.GridState.__init__

    def keep(self: Any, *args: Any) -> None:
        states.append(self)
        init(self, *args)

    monkeypatch.setattr(grid_state.GridState, "__init__", keep)
    for name in ("pagerank", "heat", "both ends"):
        CALLS[name](graph, hosts=ThreadHosts(4), division="S2")
    n = graph.num_vertices
    assert len(states) == 12
    for state in states:
        low, high = state._low, state._high
        assert 0 < high - low < n
        assert {len(array) for array in state._ranged.values()} == {high - low}
        arrays = [*state.old.values(), *state.new.values(), *state._read_only.values()]
        assert {len(array) for array in arrays} == {state._own.count}
        for array in state._columns.values():
            assert len(array) == state._column.count < n
        counted = state._engine.budget.holders.items()
        taken = sum(size for name, size in counted if name.startswith("state "))
        held = [*arrays, *state._ranged.values(), *state._columns.values()]
        assert taken == sum(array.nbytes for array in held)
    ranges = {(state._low, state._high) for state in states}
    assert sorted(b for _, b in ranges)[-1] == n


# What is chosen


class _Rank(Alone):
    """One of several, of which there are no others: for plans."""

    size = 4


@pytest.fixture(scope="module")
def wide(tmp_path_factory: Any) -> ps.Graph:
    """Many vertices and few edges, in many pages, of which some have no edges."""
    n, rng = 1_600_000, np.random.default_rng(2)
    sources = np.arange(n // 2)
    edges = np.append(sources, sources), np.append(rng.permutation(sources), sources[::-1])
    folder = tmp_path_factory.mktemp("wide")
    return ps.build(edges, folder / "wide.penstock", num_vertices=n, page_size="64KiB")


def _least(graph: ps.Graph, division: str) -> int:
    """The least memory of each host, in units of 100 KB, with which a run is not refused."""
    requirements = ps.pagerank.requirements(graph, max_iter=3, tol=0)
    low, high = 1, 1000
    while low < high:
        middle = (low + high) // 2
        options = RunOptions(middle * 100_000, 1, division=division, load=False, peers=_Rank())
        try:
            plan_run(graph, requirements, options)
            high = middle
        except BudgetError:
            low = middle + 1
    return low


def test_rows_are_taken_if_one_is_too_large(wide: ps.Graph) -> None:
    hosts, given = ThreadHosts(4), {"max_iter": 3, "tol": 0, "load": False, "threads": 1}
    least = {rows: _least(wide, f"S{rows}") for rows in (1, 2, 4)}
    assert least[4] < least[2] < least[1]
    expected = ps.pagerank(wide, **given)
    for memory, rows in [(least[1], 1), (least[1] - 1, 2), (least[2], 2), (least[2] - 1, 4)]:
        found = ps.pagerank(wide, hosts=hosts, memory=f"{memory}00KB", **given)
        _assert_same(found, expected, rows)
        assert found.stats["planned_memory"] <= memory * 100_000
    with pytest.raises(BudgetError, match=r"on each of 4 hosts, or more hosts"):
        ps.pagerank(wide, hosts=hosts, memory=f"{least[4] - 1}00KB", **given)
    with pytest.raises(BudgetError, match="on each of 4 hosts"):
        ps.pagerank(wide, hosts=hosts, memory=f"{least[1] - 1}00KB", division="P", **given)


def test_fewer_ranks_than_rows_need_after_a_loss(graph: ps.Graph) -> None:
    hosts = FragileHosts(4, 5, fewer=1)
    found = ps.pagerank(graph, hosts=hosts, division="S2")
    assert (len(found.stats["losses"]), found.stats["hosts"], found.stats["host_rows"]) == (1, 3, 3)
    np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)


@pytest.mark.parametrize("division", ["S0", "S-1", "Sx", "3", "SS2"])
def test_a_division_that_is_none(graph: ps.Graph, division: str) -> None:
    with pytest.raises(OptionError, match="division: expected auto, P or S"):
        ps.pagerank(graph, hosts=ThreadHosts(2), division=division)


def test_divisions_that_cannot_be(graph: ps.Graph) -> None:
    with pytest.raises(
        OptionError, match=r"4 hosts cannot stand in 3 rows .* S and one of 1, 2, 4"
    ):
        ps.pagerank(graph, hosts=ThreadHosts(4), division="S3")
    with pytest.raises(OptionError, match="there is one host"):
        ps.pagerank(graph, division="S2")
    for call in (ps.bfs, ps.sssp):
        with pytest.raises(OptionError, match="cannot have its hosts in rows"):
            call(graph, 5, hosts=ThreadHosts(2), division="S2")
    with pytest.raises(OptionError, match="cannot have its hosts in rows"):
        _spread(graph, hosts=ThreadHosts(2), division="S2", strategy="notify-pull")


# Pure functions


@given(
    st.lists(st.integers(0, 9), max_size=40),
    st.integers(1, 5),
    st.integers(0, 30),
    st.sampled_from(["known", "unknown"]),
)
def test_cuts(degrees: list[int], rows: int, more: int, edges_are: str) -> None:
    n = len(degrees)
    most = -(-n // rows) + more
    edges: Array = np.array(degrees, np.uint32)
    cuts = cuts_for(n, rows, most, edges if edges_are == "known" else None)
    lengths = np.diff(cuts)
    assert (cuts[0], cuts[-1], len(lengths)) == (0, n, rows)
    assert lengths.min() >= 0
    assert lengths.max() <= most


def test_ranges_have_equal_numbers_of_edges() -> None:
    degrees = np.sort(np.random.default_rng(1).zipf(1.7, 5000).clip(1, 500))[::-1].copy()
    for rows in (2, 3, 7):
        cuts = cuts_for(5000, rows, 5000, degrees)
        sums = [degrees[a:b].sum() for a, b in pairwise(cuts)]
        assert max(sums) - min(sums) <= 2 * degrees.max()


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 50))
def test_every_page_is_at_each_row_once(rows: int, places: int, pages: int) -> None:
    grid = Grid(places, tuple(range(rows + 1)))
    owners = pages_by_number(pages, rows * places)
    for row in range(rows):
        ranks = [grid.rank(row, place) for place in range(places)]
        assert [(grid.row(rank), grid.place(rank)) for rank in ranks] == [
            (row, place) for place in range(places)
        ]
        there = np.array([pages_at(owners, grid, rank) for rank in ranks])
        assert there.sum(axis=0).tolist() == [1] * pages
    groups = grid.groups(pages)
    assert [page for group in groups for page in group] == list(range(pages))
    assert all(pages_at(owners, None, rank)[owners == rank].all() for rank in range(rows * places))


def test_grids_come_in_order() -> None:
    found = list(grids(1000, 4, "auto", np.arange(1000)[::-1] ** 2))
    assert found[0] is None
    rows = [each.rows for each in found[1:] if each is not None]
    assert rows == sorted(rows)
    assert set(rows) == {2, 4}
    for count in (2, 4):
        lengths = [each.length for each in found[1:] if each is not None and each.rows == count]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[-1] == 1000 // count
    assert [rows_asked(name, 6) for name in ("P", "S", "auto", "S3")] == [
        [1], [2, 3, 6], [1, 2, 3, 6], [3],
    ]  # fmt: skip
    assert rows_asked("S", 1) == [1]
