"""Connected components against NetworkX, by their own verifier, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import (
    COMMON_KINDS,
    SMALL,
    WAY_NAMES,
    WAYS,
    build,
    edges,
    small_graph,
    stopping_after,
)

import penstock as ps
from penstock.algorithms.connected_components import verify
from penstock.errors import VerificationError


@settings(max_examples=60)
@given(SMALL, st.booleans(), st.booleans())
def test_equals_networkx(shape, directed, load):
    n, pairs = shape
    graph = small_graph(shape, directed=directed)
    other = nx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from(pairs)
    smallest = {v: min(each) for each in nx.connected_components(other) for v in each}
    found = ps.connected_components(graph, load=load)
    assert found.values.tolist() == [smallest[v] for v in range(n)]
    verify(graph, found)


KINDS = {
    **COMMON_KINDS,
    "out-lists only": {"directions": "out"},
    "in-lists only": {"directions": "in"},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path):
    graph = build(tmp_path / "g", edges(), num_vertices=7000, **kind)
    first = ps.connected_components(graph, **WAYS[0])
    verify(graph, first)
    # The core with the path, the seventh apart, and vertices alone.
    _, sizes = np.unique(first.values, return_counts=True)
    assert np.sort(sizes)[-1] > 4000
    assert len(sizes) > 1000
    for way in WAYS[1:]:
        found = ps.connected_components(graph, **way)
        np.testing.assert_array_equal(found.values, first.values)


def test_a_stream_is_read_once(tmp_path):
    graph = build(tmp_path / "g", edges())
    found = ps.connected_components(graph, load=False, cache_pages=0)
    table = graph.page_table("out")
    assert found.stats["pages_read"] == np.count_nonzero(table["num_edges"])


@pytest.mark.parametrize("load", [True, False])
def test_long_paths_numbered_against_the_grain(load):
    # Labels would have to go all the way, one vertex a round.
    n = 20_000
    order = np.random.default_rng(2).permutation(n)
    for path in (np.arange(n), np.arange(n)[::-1], order):
        graph = ps.from_edges(path[:-1], path[1:], vertex_order="none")
        assert not ps.connected_components(graph, load=load).values.any()


def test_labels_are_ids_of_the_user():
    graph = ps.from_edges([30, 10, 70, 70], [20, 30, 60, 50])
    found = ps.connected_components(graph)
    assert found.ids.tolist() == [10, 20, 30, 50, 60, 70]
    assert found.values.tolist() == [10, 10, 10, 50, 50, 50]
    named = ps.from_edges(["b", "d"], ["c", "a"])
    assert ps.connected_components(named).values.tolist() == ["a", "b", "b", "a"]
    verify(named, ps.connected_components(named))


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("then", [WAYS[1], WAYS[2]], ids=["in memory", "streamed"])
def test_it_goes_on_where_it_stopped(step, then, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = ps.connected_components(graph)
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.connected_components(graph, checkpoint=tmp_path / "c", checkpoint_every=1)
    rest = ps.connected_components(graph, checkpoint=tmp_path / "c", resume=True, **then)
    # What was done in memory is of no use to a stream, which has another way.
    assert len(rest.iterations) == (3 - step if then["load"] else 1)
    np.testing.assert_array_equal(rest.values, whole.values)


@pytest.mark.parametrize(
    ("place", "value"), [(1, 1), (0, 1), (4, 0), (4, 4), (5, 4), (3, 0)], ids=str
)
def test_the_verifier_notices(place, value):
    # 0 - 1 - 2 and 3 - 4, and 5 alone.
    graph = ps.from_edges([0, 1, 3], [1, 2, 4], directed=False, num_vertices=6)
    found = ps.connected_components(graph)
    verify(graph, found)
    assert found.values[place] != value
    found.values[place] = value
    with pytest.raises(VerificationError, match="connected_components"):
        verify(graph, found)


def test_the_verifier_notices_components_that_were_joined():
    graph = ps.from_edges([0, 2], [1, 3], directed=False)
    found = ps.connected_components(graph)
    found.values[:] = 0
    with pytest.raises(VerificationError, match="components"):
        verify(graph, found)


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_multi_edges_and_loops_do_no_harm(way):
    src, dst = np.tile([0, 1, 2, 2], 50), np.tile([1, 1, 3, 2], 50)
    graph = ps.from_edges(src, dst, duplicates="keep", num_vertices=5)
    assert ps.connected_components(graph, **way).values.tolist() == [0, 0, 2, 2, 4]
