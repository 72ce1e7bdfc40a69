"""Triangles that are kept: after every batch as many as NetworkX counts."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
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

from penstock.dynamic.maintained import make, triangles
from penstock.errors import OptionError


def started(live):
    kept = make("triangles", live.sides)
    kept.start()
    return kept


def check(live, kept):
    counts = nx.triangles(as_networkx(live))
    assert kept.values.tolist() == [counts[v] for v in range(len(live.ids))]
    assert 3 * kept.facts["total"] == sum(counts.values())


@given(batches(9), kinds())
def test_every_batch(given_batches, kind):
    live = LiveGraph(**kind)
    kept = started(live)
    for batch in given_batches:
        kept.update(play(live, batch))
        check(live, kept)


@given(batches(6, 5), kinds())
def test_a_start_is_the_same_as_batches_from_the_beginning(given_batches, kind):
    live = LiveGraph(**kind)
    for batch in given_batches:
        play(live, batch)
    check(live, started(live))


def test_edges_of_one_batch_share_triangles():
    """All edges of a clique at once, then half of them for the other half."""
    live = LiveGraph()
    kept = started(live)
    clique = list(combinations(range(9), 2))
    kept.update(live.batch(clique))
    check(live, kept)
    assert kept.facts["total"] == 84
    kept.update(live.batch(removed=clique[::2]))
    check(live, kept)
    kept.update(live.batch(clique[::2], clique[1::2]))
    check(live, kept)
    kept.update(live.batch(removed=clique))
    assert kept.values.tolist() == [0] * 9


def test_parallel_and_opposite_edges_count_once():
    for kind in ({"multigraph": True}, {"directed": True}, {"directed": True, "multigraph": True}):
        live = LiveGraph(**kind)
        kept = started(live)
        kept.update(live.batch([(0, 1), (1, 2), (2, 0), (1, 0), (0, 1), (0, 0), (2, 2)]))
        assert kept.values.tolist() == [1, 1, 1]
        kept.update(live.batch([(2, 1), (1, 2)]))
        assert kept.values.tolist() == [1, 1, 1]
        kept.update(live.batch(removed=[(1, 2)]))
        check(live, kept)
        kept.update(live.batch(removed=[(2, 1)]))
        assert kept.facts["total"] == 0


def test_an_edge_that_goes_and_comes_back_in_one_batch():
    live = LiveGraph()
    live.batch([(0, 1), (1, 2), (2, 0)])
    kept = started(live)
    kept.update(live.batch([(0, 1), (2, 3)], [(0, 1)]))
    assert kept.values.tolist() == [1, 1, 1, 0]
    assert (kept.facts["came"], kept.facts["gone"]) == (1, 0)


def test_stamps_begin_again_when_they_are_used_up():
    live = LiveGraph(directed=True)
    live.batch([(u, v) for u in range(8) for v in range(8) if (u + v) % 3])
    kept = started(live)
    kept._stamp = (1 << 32) - 4
    kept.update(live.batch([(u, v) for u in range(8) for v in range(8)]))
    check(live, kept)
    assert kept._stamp < 1 << 10


def test_long_lists_are_read_in_pieces(monkeypatch):
    monkeypatch.setattr(triangles, "LIST_ENTRIES", 20)
    live = LiveGraph(directed=True)
    live.batch([(u, v) for u in range(30) for v in range(30) if (u * 7 + v) % 3])
    kept = started(live)
    check(live, kept)
    kept.update(live.batch([(u, v) for u in range(5) for v in range(30)], [(6, 7), (7, 6)]))
    check(live, kept)


def test_a_directed_graph_without_reverse_edges_is_refused():
    with pytest.raises(OptionError, match=r"triangles: .*reverse=False"):
        make("triangles", LiveGraph(directed=True, reverse=False).sides)


def test_a_real_graph():
    edges = facebook()
    live = LiveGraph()
    live.batch(edges)
    kept = started(live)
    assert kept.facts["total"] == 1_612_010
    for changes in random_batches(live, edges, 3, 4000):
        kept.update(changes)
        matrix = as_matrix(live)
        counts = ((matrix @ matrix) * matrix).sum(axis=1) // 2
        assert np.array_equal(kept.values, counts)
        assert 3 * kept.facts["total"] == counts.sum()
