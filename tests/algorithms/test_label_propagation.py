"""Label propagation against a plain spelling of it, published answers and its own verifier, and
over every kind of list.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAY_NAMES, WAYS, build, edges, stopping_after

import penstock as ps
from penstock.algorithms import _labels_check
from penstock.algorithms import label_propagation as module
from penstock.algorithms.label_propagation import verify
from penstock.errors import FormatError, OptionError, VerificationError

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/data beside the project")

KINDS = {
    **COMMON_KINDS,
    "duplicates": {"duplicates": "keep"},
}


def plainly(names, src, dst, max_iter, *, directed):
    """Every vertex looks at the labels of its neighbours."""
    lists = {v: [] for v in names}
    for u, v in zip(src, dst, strict=True):
        lists[u].append(v)
        if directed or u != v:
            lists[v].append(u)
    labels = {v: v for v in names}
    for _ in range(max_iter):
        new = {}
        for v, neighbours in lists.items():
            counts = Counter(labels[w] for w in neighbours)
            new[v] = min(counts, key=lambda each: (-counts[each], each)) if counts else labels[v]
        labels = new
    return labels


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.booleans(), st.integers(0, 6), st.randoms())
def test_equals_a_plain_spelling(shape, directed, load, strings, max_iter, random):
    n, pairs = shape
    names = random.sample(range(1000), n)
    if strings:
        names = [f"v{name}" for name in names]
    src, dst = ([names[pair[k]] for pair in pairs] for k in (0, 1))
    # Loops keep the ids of vertices that have no other edge.
    src, dst = src + names[:1], dst + names[:1]
    graph = ps.from_edges(src, dst, directed=directed, duplicates="keep")
    expected = plainly(dict.fromkeys(src + dst), src, dst, max_iter, directed=directed)
    found = ps.label_propagation(graph, max_iter=max_iter, load=load)
    assert dict(zip(found.ids.tolist(), found.values.tolist(), strict=True)) == expected
    verify(graph, found)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(), num_vertices=7000, **kind)
    first = ps.label_propagation(graph, 4, **WAYS[0])
    verify(graph, first)
    assert 1000 < len(np.unique(first.values)) < 3000
    # Ranges of a few pages, hubs that are longer than one, and parts of few edges.
    monkeypatch.setattr(module, "LEAST_ROOM", 3000)
    monkeypatch.setattr(module, "MOST_ROOM", 3000)
    monkeypatch.setattr(module, "SHARE", 500)
    for way in WAYS[1:]:
        found = ps.label_propagation(graph, 4, **way)
        np.testing.assert_array_equal(found.values, first.values)


def test_a_round_reads_every_page_once(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    pages = np.count_nonzero(graph.page_table("out")["num_edges"])
    found = ps.label_propagation(graph, 3, load=False, cache_pages=0)
    assert found.stats["pages_read"] == 3 * pages
    assert found.stats["edges_traversed"] == 3 * graph.catalog.directions["out"].num_edges


def test_labels_of_many_kinds_among_many_neighbours():
    # The last of the vertices that have the same shape need another turn in the hash table: their
    # neighbours have different labels, those of the first ones the same.
    spokes = 3000
    rng = np.random.default_rng(1)
    centres = [np.repeat(np.arange(k, k + 20), spokes) for k in (0, 20)]
    same = np.tile(np.arange(100, 100 + spokes), 20)
    other = np.concatenate([rng.permutation(spokes) + 4000 + spokes * k for k in range(20)])
    twins = np.arange(4000, 4000 + 20 * spokes)
    graph = ps.from_edges(
        np.concatenate([*centres, twins]), np.concatenate([same, other, twins + 100_000]),
        directed=False, vertex_order="none",
    )  # fmt: skip
    for way in WAYS[:3]:
        found = ps.label_propagation(graph, 3, **way)
        verify(graph, found)


def test_a_budget_that_the_topology_does_not_fit(tmp_path):
    rng = np.random.default_rng(6)
    m, n = 2_500_000, 20_000
    graph = ps.build((*rng.integers(0, n, (2, m)),), tmp_path / "g", page_size=65536)
    small = ps.label_propagation(graph, 2, memory="17MB")
    whole = ps.label_propagation(graph, 2)
    assert (small.stats["resident"], whole.stats["resident"]) == (False, True)
    np.testing.assert_array_equal(small.values, whole.values)


def test_it_stops_when_nothing_changes():
    # Two full graphs of four, side by side.
    pairs = [(a, b) for k in (0, 4) for a in range(k, k + 4) for b in range(a + 1, k + 4)]
    graph = ps.from_edges(*np.array(pairs).T, directed=False)
    found = ps.label_propagation(graph, max_iter=50)
    assert found.values.tolist() == [0] * 4 + [4] * 4
    assert found.stats["converged"]
    assert found.stats["iterations"] < 5
    star = ps.from_edges([0, 0, 0], [1, 2, 3], directed=False)
    # Labels change places for ever.
    assert not ps.label_propagation(star, max_iter=7).stats["converged"]


@pytest.mark.parametrize("directed", [True, False])
def test_two_labels_change_places(directed):
    pair = ps.from_edges([8], [5], directed=directed)
    assert ps.label_propagation(pair, 1).values.tolist() == [8, 5]
    assert ps.label_propagation(pair, 2).values.tolist() == [5, 8]


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_every_edge_is_a_vote(way):
    # 3 hears 1 twice and 0, 2 once; a reciprocal pair counts twice.
    graph = ps.from_edges([0, 1, 3, 2], [3, 3, 1, 3])
    assert ps.label_propagation(graph, 1, **way).values.tolist() == [3, 3, 3, 1]
    kept = ps.from_edges([0, 2, 2, 3, 3], [3, 3, 3, 3, 1], directed=False, duplicates="keep")
    assert ps.label_propagation(kept, 1, **way)[3] == 2
    loop = ps.from_edges([1, 0], [1, 1])
    assert ps.label_propagation(loop, 1, **way).values.tolist() == [1, 1]


@pytest.mark.parametrize("then", [WAYS[1], WAYS[2]], ids=["in memory", "streamed"])
def test_it_goes_on_where_it_stopped(then, tmp_path):
    graph = build(tmp_path / "g", edges())
    whole = ps.label_propagation(graph, 6)
    with pytest.raises(KeyboardInterrupt), stopping_after(3):
        ps.label_propagation(graph, 6, checkpoint=tmp_path / "c", checkpoint_every=1)
    rest = ps.label_propagation(graph, 6, checkpoint=tmp_path / "c", resume=True, **then)
    assert len(rest.iterations) == 3
    np.testing.assert_array_equal(rest.values, whole.values)


def test_the_verifier_notices(monkeypatch):
    graph = ps.from_edges([0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 5, 3], directed=False)
    for votes in (1 << 24, 4):
        monkeypatch.setattr(_labels_check, "VOTES", votes)
        for place in range(6):
            found = ps.label_propagation(graph, 3)
            verify(graph, found)
            found.values[place] = 4
            with pytest.raises(VerificationError, match=f"^label_propagation: vertex {place} has"):
                verify(graph, found)


def test_what_is_refused(tmp_path):
    graph = ps.from_edges([0], [1])
    with pytest.raises(OptionError, match="max_iter: expected 0 or more, got -1"):
        ps.label_propagation(graph, -1)
    one = build(tmp_path / "g", edges(), directions="out")
    with pytest.raises(FormatError, match="without its in-lists"):
        ps.label_propagation(one)


@needs_data
@pytest.mark.parametrize(("name", "directed"), [("dir", True), ("undir", False)])
def test_graphalytics_lists(name, directed):
    folder = SHARED / "graphalytics" / "cdlp"
    rows = [line.split() for line in (folder / f"{name}-input").read_text().splitlines()]
    pairs = [(int(row[0]), int(other)) for row in rows for other in row[1:]]
    graph = ps.from_edges(*np.array(pairs).T, directed=directed)
    check(ps.label_propagation(graph, 5), folder / f"{name}-output")


@needs_data
@pytest.mark.parametrize(("name", "directed"), [("directed", True), ("undirected", False)])
def test_graphalytics_examples(name, directed, tmp_path):
    folder = SHARED / "graphalytics" / "example"
    source = str(folder / f"example-{name}.e")
    graph = ps.build(source, tmp_path / "g", directed=directed, weights=True)
    check(ps.label_propagation(graph, 2), folder / f"example-{name}-CDLP")


@needs_data
@pytest.mark.parametrize("directed", [True, False])
def test_p2p(directed, tmp_path):
    source = str(SHARED / "p2p-31" / "p2p-31.e")
    graph = ps.build(source, tmp_path / "g", directed=directed, weights=True)
    for load in (True, False):
        found = ps.label_propagation(graph, 10, load=load, threads=2)
        check(found, SHARED / "p2p-31" / "p2p-31-CDLP")


def check(found: ps.Result, path: Path) -> None:
    rows = [line.split() for line in path.read_text().splitlines()]
    expected = {int(vertex): int(label) for vertex, label in rows}
    assert dict(zip(found.ids.tolist(), found.values.tolist(), strict=True)) == expected
