"""Radii against NetworkX, on graphs whose radii are known, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAYS, build, edges, small_graph, stopping_after

import penstock as ps
from penstock import config
from penstock.algorithms import _counters as counters
from penstock.algorithms.radius import verify
from penstock.errors import FormatError, OptionError, VerificationError

#: So many registers that the first few vertices have one each.
EXACT = {"b": 12}


def crossing(counts, share):
    """Where a curve of counts passes a share of the last, as counters of EXACT see them."""
    m = 1 << EXACT["b"]
    seen = m * np.log(m / (m - np.array(counts, float)))
    h = int(np.argmax(seen >= share * seen[-1]))
    return 0.0 if h == 0 else h - 1 + (share * seen[-1] - seen[h - 1]) / (seen[h] - seen[h - 1])


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from([0.5, 0.9, 1.0]))
def test_equals_networkx(shape, directed, load, share):
    n, pairs = shape
    places, _ = counters.places_of(np.arange(n, dtype=np.uint64), EXACT["b"], 0)
    assert len(np.unique(places)) == n
    graph = small_graph(shape, directed=directed)
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from(pairs)
    found = ps.radius(graph, effective=share, load=load, **EXACT)
    verify(graph, found)
    pairs_within = np.zeros(n + 1)
    for v in range(n):
        far = np.array(list(nx.single_source_shortest_path_length(other, v).values()))
        counts = [np.count_nonzero(far <= h) for h in range(far.max() + 1)]
        pairs_within += [counts[min(h, far.max())] for h in range(n + 1)]
        assert found.eccentricity[v] == far.max()
        assert found.reached[v] == pytest.approx(len(far), rel=2e-3)
        assert found.values[v] == pytest.approx(crossing(counts, share), abs=1e-3)
    diameter = found.eccentricity.max()
    assert found.stats["diameter"] == diameter
    assert found.stats["radius"] == min((e for e in found.eccentricity if e > 0), default=0)
    np.testing.assert_allclose(
        found.stats["neighbourhood"], pairs_within[: diameter + 1], rtol=2e-3
    )
    assert found.stats["converged"]


def test_graphs_whose_radii_are_known():
    for graph, diameter, radius in [
        (nx.path_graph(10), 9, 5),
        (nx.cycle_graph(12), 6, 6),
        (nx.star_graph(9), 2, 1),
        (nx.grid_2d_graph(3, 4), 5, 3),
    ]:
        plain = nx.convert_node_labels_to_integers(graph)
        src, dst = np.array(plain.edges()).T
        found = ps.radius(ps.from_edges(src, dst, directed=False), **EXACT)
        assert (found.stats["diameter"], found.stats["radius"]) == (diameter, radius)
        expected = nx.eccentricity(plain)
        assert found.eccentricity.tolist() == [expected[v] for v in sorted(plain)]


def test_directed_paths_count_from_their_vertices_on():
    found = ps.radius(ps.from_edges([0, 1, 2], [1, 2, 3]), **EXACT)
    assert found.eccentricity.tolist() == [3, 2, 1, 0]
    assert found.values[3] == 0
    assert found.stats["radius"] == 1
    np.testing.assert_allclose(found.reached, [4, 3, 2, 1], rtol=1e-3)


@pytest.mark.parametrize("b", [4, 5, 6, 8])
def test_estimates_are_as_good_as_promised(b):
    rng = np.random.default_rng(b)
    n = 3000
    graph = ps.from_edges(rng.integers(0, n, 12000), rng.integers(0, n, 12000), num_vertices=n)
    within = {}
    for seed in range(6):
        found = ps.radius(graph, b=b, seed=seed)
        within[seed] = found.reached.max()
    verify(graph, found)
    giant = max(
        map(
            len,
            nx.strongly_connected_components(nx.DiGraph(list(zip(*graph.to_edges(), strict=True)))),
        )
    )
    errors = np.array(list(within.values())) / giant - 1
    promised = 1.04 / np.sqrt(1 << b)
    assert len(set(within.values())) > 3, "seeds make no difference"
    assert np.sqrt((errors**2).mean()) < 2.5 * promised


def test_small_numbers_of_all_registers():
    for m in (16, 32, 64, 128):
        full = np.full((1, m), 20, np.uint8)
        assert counters.estimates(full)[0] == pytest.approx(counters.scale(m) / m * 2.0**20)


KINDS = {
    **COMMON_KINDS,
    "out-lists only": {"directions": "out"},
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def graph(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("radius")
    return build(folder / "g", edges(), num_vertices=7000, **request.param)


def same(found, expected):
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.eccentricity, expected.eccentricity)
    np.testing.assert_array_equal(found.reached, expected.reached)
    for name in ("diameter", "radius", "effective_diameter", "neighbourhood", "converged"):
        assert found.stats[name] == expected.stats[name]


def test_every_way_gives_the_same(graph):
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    verify(graph, ps.radius(graph, max_iter=12, **WAYS[2]))
    first = ps.radius(graph, **WAYS[0])
    assert first.stats["diameter"] > 250
    for way in WAYS[1:]:
        same(ps.radius(graph, **way), first)


def test_all_layouts_agree(tmp_path):
    one, other = (
        ps.radius(build(tmp_path / name, edges(), num_vertices=7000, **KINDS[name]))
        for name in ("undirected", "as given")
    )
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.eccentricity, other.eccentricity)


def test_few_lists_are_read_where_few_change(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    found = ps.radius(graph, load=False, cache_pages=0)
    modes = [row["mode"] for row in found.iterations]
    assert modes.count("some") > 200
    # Directed edges both ways are the same graph, whose lists are all read each time.
    src, dst = edges()
    other = build(tmp_path / "h", (np.append(src, dst), np.append(dst, src)))
    whole = ps.radius(other)
    assert {row["mode"] for row in whole.iterations} == {"all"}
    np.testing.assert_array_equal(found.values, whole.values)
    np.testing.assert_array_equal(found.eccentricity, whole.eccentricity)
    pages = np.count_nonzero(graph.page_table("out")["num_edges"])
    assert found.stats["pages_read"] < pages * len(modes) / 2


@pytest.mark.parametrize("step", [1, 3, 40, 41])
def test_it_goes_on_where_it_stopped(step, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    limit = {"max_iter": 41}
    whole = ps.radius(graph, **limit)
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.radius(graph, checkpoint=tmp_path / "c", checkpoint_every=1, **limit)
    rest = ps.radius(graph, checkpoint=tmp_path / "c", resume=True, load=False, **limit)
    assert len(rest.iterations) == 41 - step
    same(rest, whole)


def test_a_run_that_stopped_at_its_end(tmp_path):
    graph = ps.from_edges([0, 1], [1, 2], directed=False)
    whole = ps.radius(graph)
    with pytest.raises(KeyboardInterrupt), stopping_after(3):
        ps.radius(graph, checkpoint=tmp_path / "c", checkpoint_every=1)
    rest = ps.radius(graph, checkpoint=tmp_path / "c", resume=True)
    assert rest.iterations == []
    same(rest, whole)


def test_a_budget_that_does_not_hold_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "MIN_BUDGET_BYTES", 1 << 20)
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = ps.radius(graph)
    found = ps.radius(graph, memory=whole.stats["planned_memory"] - 1)
    assert whole.stats["resident"]
    assert not found.stats["resident"]
    same(found, whole)


def test_no_farther_than_asked():
    path = ps.from_edges(np.arange(8), np.arange(1, 9), directed=False)
    found = ps.radius(path, max_iter=3, **EXACT)
    assert found.eccentricity.tolist() == [3] * 9
    np.testing.assert_allclose(found.reached, [4, 5, 6, 7, 7, 7, 6, 5, 4], rtol=2e-3)
    assert not found.stats["converged"]
    verify(path, found)
    none = ps.radius(path, max_iter=0)
    assert none.eccentricity.tolist() == [0] * 9
    assert none.stats["iterations"] == 0
    verify(path, none)


def test_duplicates_loops_and_string_ids():
    many = ps.from_edges([0, 0, 0, 1], [1, 1, 0, 2], duplicates="keep")
    same(ps.radius(many), ps.radius(ps.from_edges([0, 1], [1, 2])))
    named = ps.from_edges(["b", "c"], ["c", "a"])
    found = ps.radius(named, **EXACT)
    assert found.eccentricity.tolist() == [0, 2, 1]
    verify(named, found)


def test_what_cannot_be(tmp_path):
    graph = ps.from_edges([0], [1])
    for wrong in ({"b": 3}, {"b": 15}, {"effective": 0.0}, {"effective": 1.5}, {"max_iter": -1}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            ps.radius(graph, **wrong)
    backwards = build(tmp_path / "g", (np.array([0]), np.array([1])), directions="in")
    with pytest.raises(FormatError, match="out-lists"):
        ps.radius(backwards)


@pytest.mark.parametrize("column", ["values", "eccentricity", "reached"])
@pytest.mark.parametrize("place", [0, 3, 5])
def test_the_verifier_notices(column, place):
    graph = ps.from_edges([0, 1, 2, 3], [1, 2, 3, 0], num_vertices=6)
    found = ps.radius(graph)
    verify(graph, found)
    getattr(found, column)[place] += 1
    with pytest.raises(VerificationError, match="radius: "):
        verify(graph, found)


@pytest.mark.parametrize("name", ["diameter", "radius", "effective_diameter"])
def test_the_verifier_notices_facts(name):
    graph = ps.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    found = ps.radius(graph)
    found.stats[name] += 1
    with pytest.raises(VerificationError, match=f"radius: {name}"):
        verify(graph, found)
    found = ps.radius(graph)
    found.stats["neighbourhood"].pop()
    with pytest.raises(VerificationError, match="radius: neighbourhood"):
        verify(graph, found)
