"""Components that are kept: after every batch the same as those of NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_making import (
    LiveGraph,
    as_matrix,
    as_networkx,
    batches,
    facebook,
    kinds,
    play,
    random_batches,
)
from scipy.sparse.csgraph import connected_components

from penstock.dynamic.maintained import components, make, trees
from penstock.errors import OptionError


def started(live):
    kept = make("connected_components", live.sides)
    kept.start()
    return kept


def expected(live):
    labels = [None] * len(live.ids)
    for members in nx.connected_components(as_networkx(live)):
        least = min(live.ids[v] for v in members)
        for v in members:
            labels[v] = least
    return labels


def check(live, kept):
    labels = expected(live)
    assert kept.values.tolist() == labels
    assert kept.facts["components"] == len(set(labels))


def path_of(n):
    return [(k, k + 1) for k in range(n - 1)]


@given(batches(), kinds(), st.booleans())
def test_every_batch(given_batches, kind, has_names):
    live = LiveGraph(**kind)
    kept = started(live)
    for batch in given_batches:
        changes = play(live, batch, (lambda k: f"v{k * 5 % 13}") if has_names else lambda k: k)
        kept.update(changes)
        check(live, kept)


@given(batches(), kinds(), st.integers(1, 3))
def test_every_batch_in_short_turns(given_batches, kind, first_turn):
    live = LiveGraph(**kind)
    kept = started(live)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "FIRST_TURN", first_turn)
        for batch in given_batches:
            kept.update(play(live, batch))
            check(live, kept)


@given(batches(40, 6), kinds())
def test_labels_may_be_read_only_at_the_end(given_batches, kind):
    live = LiveGraph(**kind)
    kept = started(live)
    for batch in given_batches:
        kept.update(play(live, batch))
    if given_batches:
        check(live, kept)


@given(batches(), kinds())
def test_a_start_is_the_same_as_batches_from_the_beginning(given_batches, kind):
    live = LiveGraph(**kind)
    for batch in given_batches:
        play(live, batch)
    check(live, started(live))


@pytest.mark.parametrize("first_turn", [1, 16, 512])
@pytest.mark.parametrize("at", [1, 149, 150, 298])
def test_a_path_is_cut_and_mended(monkeypatch, first_turn, at):
    monkeypatch.setattr(trees, "FIRST_TURN", first_turn)
    live = LiveGraph()
    live.batch(path_of(300))
    kept = started(live)
    kept.update(live.batch(removed=[(at, at + 1)]))
    check(live, kept)
    kept.update(live.batch(removed=[(at - 1, at)]))
    check(live, kept)
    kept.update(live.batch([(at, 0), (at, 299)]))
    check(live, kept)


@pytest.mark.parametrize("first_turn", [1, 4, 512])
def test_a_ring_of_rings_is_taken_apart(monkeypatch, first_turn):
    """Every edge of the forest that goes has another way round, until it has not."""
    monkeypatch.setattr(trees, "FIRST_TURN", first_turn)
    rings = [(20 * r + k, 20 * r + (k + 1) % 20) for r in range(15) for k in range(20)]
    between = [(20 * r + 5, 20 * ((r + 1) % 15)) for r in range(15)]
    live = LiveGraph(directed=True)
    live.batch(rings + between)
    kept = started(live)
    order = np.random.default_rng(0).permutation(len(rings + between)).tolist()
    for k in range(0, len(order), 7):
        kept.update(live.batch(removed=[(rings + between)[i] for i in order[k : k + 7]]))
        check(live, kept)


@pytest.mark.parametrize("first_turn", [1, 512])
def test_sparse_graphs_fall_apart_and_grow_together(monkeypatch, first_turn):
    """Many edges of one forest go at once: trees hang under others that are searched themselves."""
    monkeypatch.setattr(trees, "FIRST_TURN", first_turn)
    rng = np.random.default_rng(0)
    for k in range(30):
        live = LiveGraph(directed=k % 2 == 1)
        kept = started(live)
        for _ in range(6):
            edges = [(live.ids[u], live.ids[v]) for u, v in live.edges()]
            removed = rng.permutation(len(edges))[: rng.integers(0, len(edges) + 1)].tolist()
            added = [tuple(pair) for pair in rng.integers(0, 100, (100, 2)).tolist()]
            kept.update(live.batch(added[: 100 * (k % 3)], [edges[i] for i in removed]))
            check(live, kept)
            kept.update(live.batch(added))
            check(live, kept)


def test_a_search_with_too_many_turns_starts_again(monkeypatch):
    monkeypatch.setattr(components, "LEAST_TURNS", 3)
    live = LiveGraph()
    live.batch(path_of(200))
    kept = started(live)
    kept.update(live.batch([(5, 300), (300, 301)], [(50, 51), (100, 101), (150, 151)]))
    assert kept.facts["restarted"]
    check(live, kept)
    kept.update(live.batch([(51, 300)]))
    assert "restarted" not in kept.facts
    check(live, kept)


def test_a_large_component_gets_a_smaller_id_and_loses_it():
    """More vertices than are renamed at once."""
    live = LiveGraph()
    live.batch([(k, 1000) for k in range(10, 600)])
    kept = started(live)
    kept.update(live.batch([(3, 1000)]))
    kept.update(live.batch([(2, 599), (700, 701)]))
    check(live, kept)
    kept.update(live.batch(removed=[(2, 599)]))
    kept.update(live.batch([(700, 20)]))
    check(live, kept)
    kept.update(live.batch(removed=[(3, 1000), (700, 20)]))
    check(live, kept)


def test_edges_off_the_forest_cost_a_look():
    live = LiveGraph()
    live.batch([(0, k) for k in range(1, 500)] + [(k, k + 1) for k in range(1, 499)])
    kept = started(live)
    kept.update(live.batch(removed=[(k, k + 1) for k in range(1, 101)]))
    assert (kept.facts["cut"], kept.facts["touched"]) == (0, 100)
    kept.update(live.batch([(k, k + 1) for k in range(1, 101)]))
    assert (kept.facts["joined"], kept.facts["touched"]) == (0, 100)
    check(live, kept)


def test_only_what_is_affected_is_touched():
    live = LiveGraph()
    live.batch([(0, k) for k in range(1, 500)] + [(k, k + 1) for k in range(1, 499)])
    kept = started(live)
    kept.update(live.batch([(1000, 1001), (1001, 1002), (1002, 30)]))
    assert kept.facts["touched"] <= 3 + 5
    kept.update(live.batch(removed=[(1002, 30)]))
    assert kept.facts["split"] == 1
    assert kept.facts["touched"] <= 1 + 8
    check(live, kept)


def test_an_edge_that_goes_and_comes_back_in_one_batch():
    live = LiveGraph()
    live.batch(path_of(10))
    kept = started(live)
    kept.update(live.batch([(4, 5)], [(4, 5)]))
    check(live, kept)
    kept.update(live.batch([(4, 9)], [(4, 5)]))
    check(live, kept)


def test_of_two_edges_in_opposite_directions_one_is_enough():
    live = LiveGraph(directed=True)
    live.batch([(1, 2), (2, 1)])
    kept = started(live)
    kept.update(live.batch(removed=[(1, 2)]))
    assert kept.values.tolist() == [1, 1]
    kept.update(live.batch(removed=[(2, 1)]))
    assert kept.values.tolist() == [1, 2]


def test_a_directed_graph_without_reverse_edges_is_refused():
    live = LiveGraph(directed=True, reverse=False)
    with pytest.raises(OptionError, match=r"connected_components: .*reverse=False"):
        make("connected_components", live.sides)


def test_values_cannot_be_written_to():
    live = LiveGraph()
    live.batch([(0, 1)])
    with pytest.raises(ValueError, match="read-only"):
        started(live).values[0] = 7


@pytest.mark.parametrize("directed", [False, True])
def test_a_real_graph(directed):
    edges = facebook()
    live = LiveGraph(directed=directed)
    live.batch(edges)
    kept = started(live)
    for changes in random_batches(live, edges, 6, 12_000):
        kept.update(changes)
        count, parts = connected_components(as_matrix(live))
        least = np.full(count, max(live.ids))
        np.minimum.at(least, parts, live.ids)
        assert np.array_equal(kept.values, least[parts])
        assert kept.facts["components"] == count
