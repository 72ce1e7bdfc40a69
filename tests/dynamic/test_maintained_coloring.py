"""Colourings that are kept: proper after every batch, and those of the rule done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_making import LiveGraph, as_networkx, batches, facebook, kinds, play, random_batches

import penstock as ps
from penstock.dynamic.maintained import coloring, make
from penstock.errors import OptionError

PRIORITIES = ["id", "degree", "random"]


def started(live, **parameters):
    kept = make("color", live.sides, **parameters)
    kept.start()
    return kept


def is_proper(live, colours):
    pairs = np.array(list(live.edges()), np.int64).reshape(-1, 2)
    src, dst = pairs[pairs[:, 0] != pairs[:, 1]].T
    return bool((colours[src] != colours[dst]).all())


def turns(live, kept, vertices):
    """The order of priority, highest first."""
    ids = live.ids
    if kept.priority == "id":
        return sorted(vertices, key=lambda v: ids[v])
    if kept.priority == "degree":
        degrees = live.out.degrees().astype(int)
        if live.directed:
            degrees += live.in_.degrees()
        return sorted(vertices, key=lambda v: (-degrees[v], ids[v]))
    return sorted(vertices, key=lambda v: -int(kept._random.now[v]))


def free_colour(graph, colours, v):
    used = {colours[w] for w in graph[v]}
    return next(c for c in range(len(used) + 1) if c not in used)


def repaired(live, kept, colours, changes):
    """The rule in plain Python: what the colours must be after a batch."""
    graph = as_networkx(live)
    colours = [*colours, *[0] * (len(live.ids) - len(colours))]
    place = {v: k for k, v in enumerate(turns(live, kept, range(len(colours))))}
    lower = set()
    for u, v in zip(changes.added_src.tolist(), changes.added_dst.tolist(), strict=True):
        if u != v and colours[u] == colours[v]:
            lower.add(max(u, v, key=place.get))
    for v in sorted(lower, key=place.get):
        if any(colours[w] == colours[v] and place[w] < place[v] for w in graph[v]):
            colours[v] = free_colour(graph, colours, v)
    return colours


@given(batches(), kinds(), st.sampled_from(PRIORITIES), st.booleans())
def test_every_batch(given_batches, kind, priority, has_names):
    live = LiveGraph(**kind)
    kept = started(live, priority=priority, seed=3)
    for batch in given_batches:
        before = kept.values.tolist()
        changes = play(live, batch, (lambda k: f"v{k * 5 % 13}") if has_names else lambda k: k)
        kept.update(changes)
        assert is_proper(live, kept.values)
        assert kept.values.tolist() == repaired(live, kept, before, changes)
        assert kept.facts["colors"] == max(kept.values.tolist(), default=-1) + 1


@given(batches(), kinds(), st.sampled_from(PRIORITIES))
def test_a_start_is_greedy(given_batches, kind, priority):
    live = LiveGraph(**kind)
    for batch in given_batches:
        play(live, batch)
    kept = started(live, priority=priority)
    graph = as_networkx(live)
    colours = [None] * len(live.ids)
    for v in turns(live, kept, range(len(live.ids))):
        colours[v] = free_colour(graph, colours, v)
    assert kept.values.tolist() == colours


@given(batches(), st.sampled_from(PRIORITIES), st.randoms())
def test_the_order_of_a_batch_makes_no_difference(given_batches, priority, random):
    lives = [LiveGraph(), LiveGraph()]
    # Vertices have the same numbers in both.
    for live in lives:
        live.add_vertices(range(12))
    kept = [started(live, priority=priority) for live in lives]
    for added, removed in given_batches:
        shuffled = [(v, u) if random.random() < 0.5 else (u, v) for u, v in added]
        random.shuffle(shuffled)
        for live, one, rows in zip(lives, kept, (added, shuffled), strict=True):
            one.update(play(live, (rows, removed), lambda k: k))
        assert kept[0].values.tolist() == kept[1].values.tolist()


def test_the_example_of_the_thesis():
    """Section 4.8.2, figure 4.20: red, blue, orange and green are 0 to 3."""
    live = LiveGraph()
    live.batch([(1, 2), (1, 4)])
    kept = started(live)

    def colours():
        return {live.ids[v]: c for v, c in enumerate(kept.values.tolist())}

    assert colours() == {1: 0, 2: 1, 4: 1}
    kept.update(live.batch([(4, 3)]))
    assert colours() == {1: 0, 2: 1, 4: 1, 3: 0}
    # 3 gives way to 1, and takes the smallest colour that neither 1 nor 4 has.
    kept.update(live.batch([(1, 3)]))
    assert colours() == {1: 0, 2: 1, 4: 1, 3: 2}
    # The text has (3, 4) here, which is there already; only (2, 4) makes 4 choose.
    kept.update(live.batch([(3, 4)]))
    assert colours() == {1: 0, 2: 1, 4: 1, 3: 2}
    kept.update(live.batch([(2, 4)]))
    assert colours() == {1: 0, 2: 1, 4: 3, 3: 2}
    # 3 keeps its colour, though it could have a smaller one.
    kept.update(live.batch(removed=[(1, 3)]))
    assert colours() == {1: 0, 2: 1, 4: 3, 3: 2}


def test_the_lower_priority_gives_way():
    """By id 9; by degree 2, which has fewer edges."""
    for priority, changed in (("id", 9), ("degree", 2)):
        live = LiveGraph()
        live.add_vertices([2, 9])
        kept = started(live, priority=priority)
        kept.update(live.batch([(9, 20), (9, 21), (9, 22)]))
        kept.update(live.batch([(20, 21), (20, 22)]))
        before = kept.values.tolist()
        assert before[0] == before[1] == 0
        kept.update(live.batch([(2, 9)]))
        after = kept.values.tolist()
        assert [live.ids[v] for v in range(2) if before[v] != after[v]] == [changed]


def test_one_conflict_may_end_another():
    """1, 2 and 3 have colour 0. The edges 1-2 and 2-3 come at once: 2 gives way, 3 need not."""
    live = LiveGraph()
    live.add_vertices([1, 2, 3])
    kept = started(live)
    kept.update(live.batch([(2, 3), (1, 2)]))
    assert kept.values.tolist() == [0, 1, 0]
    assert kept.facts["recoloured"] == 1


def test_random_priorities_are_those_of_the_seed():
    live = LiveGraph()
    live.batch([(u, v) for u in range(40) for v in range(u) if (u * v) % 3])
    found = [started(live, priority="random", seed=s).values.tolist() for s in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_long_lists_are_read_in_pieces(monkeypatch):
    live = LiveGraph(directed=True)
    live.batch([(u, v) for u in range(60) for v in range(60) if (u * 7 + v) % 5])
    whole = started(live).values.tolist()
    monkeypatch.setattr(coloring, "LIST_ENTRIES", 50)
    assert started(live).values.tolist() == whole


def test_bad_parameters():
    live = LiveGraph()
    with pytest.raises(OptionError, match="priority: expected id, degree, random; got 'size'"):
        make("color", live.sides, priority="size")
    with pytest.raises(OptionError, match="seed"):
        make("color", live.sides, seed=-1)
    with pytest.raises(OptionError, match=r"color: .*strategy.*its parameters: priority, seed"):
        make("color", live.sides, strategy="id")
    with pytest.raises(OptionError, match=r"color: .*reverse=False"):
        make("color", LiveGraph(directed=True, reverse=False).sides)


@pytest.mark.parametrize(("priority", "strategy"), [("id", "id"), ("degree", "largest_first")])
def test_a_start_is_what_the_library_gives(priority, strategy):
    edges = facebook()
    live = LiveGraph()
    live.batch(edges)
    kept = started(live, priority=priority)
    library = ps.color(ps.from_edges(*np.array(edges).T, directed=False), strategy=strategy)
    in_order = np.argsort(live.ids)
    assert np.array_equal(kept.values[in_order], library.values)


@pytest.mark.parametrize("priority", PRIORITIES)
def test_a_real_graph_while_it_is_built(priority):
    edges = facebook()
    live = LiveGraph()
    kept = started(live, priority=priority)
    for k in range(0, len(edges), 30_000):
        kept.update(live.batch(edges[k : k + 30_000]))
        assert is_proper(live, kept.values)
    for changes in random_batches(live, edges, 3, 3000):
        kept.update(changes)
        assert is_proper(live, kept.values)
