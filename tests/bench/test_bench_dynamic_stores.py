"""The stores that the live graph is compared with: they must be right before they are fast."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.interfaces.bench import dynamic_baselines as baselines
from penstock.interfaces.bench import dynamic_degaware as degaware
from penstock.interfaces.bench import dynamic_stinger as stinger
from penstock.interfaces.bench.dynamic_csr import Csr
from penstock.interfaces.bench.dynamic_runs import RIVALS, Ours, Partitioned
from penstock.interfaces.bench.dynamic_store_kernels import wait
from penstock.interfaces.bench.dynamic_stores import BaselineVec, DegAware
from penstock.interfaces.bench.dynamic_workloads import middle_source, rmat_requests
from penstock.parallel import Workers

STORES = {**RIVALS, "CSR": Csr}


@st.composite
def many_rows(draw):
    """Lists that Hypothesis draws itself are too short to fill a table."""
    random = draw(st.randoms(use_true_random=False))
    sources, targets = draw(st.integers(1, 12)), draw(st.integers(1, 200))
    adds = draw(st.sampled_from([0.5, 0.7, 0.9]))
    return [
        (random.randrange(sources), random.randrange(targets), random.random() < adds)
        for _ in range(draw(st.integers(1, 400)))
    ]


def by_hand(rows, unique):
    edges = Counter()
    for src, dst, adds in rows:
        if not adds:
            edges.pop((src, dst), None)
        else:
            edges[src, dst] = 1 if unique else edges[src, dst] + 1
    return edges


def columns(rows):
    src, dst, adds = (np.array(column) for column in zip(*rows, strict=True))
    return src.astype(np.uint64), dst.astype(np.uint64), adds.astype(np.uint8)


def edges_of(store):
    src, dst = store.edges()
    return Counter(zip(src.tolist(), dst.tolist(), strict=True))


def filled(store, rows, size=50):
    src, dst, adds = columns(rows)
    for begin in range(0, len(rows), size):
        part = slice(begin, begin + size)
        store.update(src[part], dst[part], adds[part])
    return store


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("name", STORES)
@settings(max_examples=30, deadline=None)
@given(rows=many_rows())
def test_edges_are_those_of_a_set(name, unique, rows):
    store = filled(STORES[name](unique=unique), rows)
    expected = by_hand(rows, unique)
    assert edges_of(store) == expected
    assert store.num_edges == sum(expected.values())


@settings(max_examples=30, deadline=None)
@given(rows=many_rows(), threshold=st.integers(2, 9), rehash_every=st.integers(1, 60))
def test_degaware_whatever_its_settings(rows, threshold, rehash_every):
    store = DegAware(threshold=threshold, rehash_every=rehash_every)
    assert edges_of(filled(store, rows)) == by_hand(rows, unique=True)


@pytest.mark.parametrize("name", STORES)
def test_lists_that_grow_one_after_another(name):
    """What one list gave back, the next ones take."""
    sizes = [100, 100, 70, 40, 40, 20, 9, 3, 100, 33, 17, 5]
    rows = [(v, k, True) for v, size in enumerate(sizes) for k in range(size)]
    assert edges_of(filled(STORES[name](), rows)) == by_hand(rows, unique=True)


@pytest.mark.parametrize("name", RIVALS)
def test_room_is_used_again(name):
    store = filled(RIVALS[name](), [(1, k, True) for k in range(100)])
    before = store.nbytes
    for turn in (1, 2, 3):
        filled(store, [(1, 100 * (turn - 1) + k, False) for k in range(100)])
        assert store.num_edges == 0
        filled(store, [(1, 100 * turn + k, True) for k in range(100)])
    assert store.nbytes == before


@pytest.mark.parametrize(("name", "edge_bytes"), [("baseline_vec", 0), ("baseline_map", 17)])
def test_arrays_given_back_are_taken_again(name, edge_bytes):
    """Eight lists grow side by side to 64 and leave eight arrays of each smaller size, which are
    enough for eight more; BaselineMap has nodes besides.
    """
    store = filled(RIVALS[name](), [(v, k, True) for k in range(64) for v in range(8)])
    before = store.nbytes
    filled(store, [(v, k, True) for k in range(32) for v in range(8, 16)])
    assert store.nbytes == before + 8 * baselines.VERTEX.itemsize + 8 * 32 * edge_bytes


@pytest.mark.parametrize("name", STORES)
def test_an_edge_that_is_there_very_often(name):
    """More often than a probe distance of seven bits can say, and others beside it."""
    rows = [(1, 5, True)] * 700 + [(1, k, True) for k in range(100)] + [(2, 5, True)] * 3
    store = filled(STORES[name](unique=False), rows)
    assert edges_of(store) == by_hand(rows, unique=False)
    src, dst, adds = columns([(1, 5, False)])
    store.update(src, dst, adds)
    assert edges_of(store) == by_hand([*rows, (1, 5, False)], unique=False)


#: To how many places an edge goes that is not there, and then once more: the array of a vertex,
#: a vertex and its array; its heads, a vertex and its heads and a node; both tables, the first of
#: them; a vertex, a vertex and a block.
WAITS = {
    "baseline_vec": (baselines, [1, 2]),
    "baseline_map": (baselines, [1, 3]),
    "degaware": (degaware, [2, 1]),
    "stinger": (stinger, [1, 2]),
}


@pytest.mark.parametrize("name", WAITS)
def test_each_place_is_waited_for(name):
    module, expected = WAITS[name]
    store = RIVALS[name]()
    store.delay = 5
    for waits in expected:
        left = int(store._counters[module.WAITED])
        filled(store, [(1, 2, True)])
        for _ in range(waits):
            left = int(wait(np.int64(left), store.delay))
        assert store._counters[module.WAITED] == left
    assert edges_of(store) == {(1, 2): 1}


@pytest.mark.parametrize("name", RIVALS)
def test_waiting_changes_nothing(name):
    rows = [(k % 7, k % 31, k % 5 > 0) for k in range(400)]
    slow = RIVALS[name]()
    slow.delay = 20
    assert edges_of(filled(slow, rows)) == by_hand(rows, unique=True)


@pytest.fixture(scope="module")
def requests():
    return rmat_requests(8)


@pytest.mark.parametrize("name", RIVALS)
def test_algorithms_agree_with_plain_lists(name, requests):
    store, plain = RIVALS[name](), Csr()
    for each in (store, plain):
        each.update(requests.src, requests.dst)
    source = middle_source(requests)
    levels = plain.bfs(source, requests.num_ids)
    assert levels.max() > 1
    assert (store.bfs(source, requests.num_ids) == levels).all()
    found = [each.first_ranks() for each in (store, plain)]
    for each, ranks in zip((store, plain), found, strict=True):
        for _ in range(3):
            each.superstep(ranks)
    mine, expected = (np.concatenate(ranks) for ranks in found)
    # Each store has its own order, and places that no vertex has.
    np.testing.assert_allclose(np.sort(mine[mine > 0]), np.sort(expected[expected > 0]))
    assert expected.sum() == pytest.approx(np.count_nonzero(expected))


def test_levels_are_those_of_the_library(requests):
    plain, live = Csr(), Ours()
    for each in (plain, live):
        each.update(requests.src, requests.dst)
    source = middle_source(requests)
    levels, seconds = live.levels(source, requests.num_ids)
    assert (levels == plain.bfs(source, requests.num_ids)).all()
    assert live.superstep_seconds(2) > 0
    assert seconds > 0
    live.close()


def test_partitions_have_each_source_once(requests):
    workers = Workers(3)
    store = Partitioned(BaselineVec, 3, workers)
    store.update(requests.src, requests.dst)
    sources = [set(part.edges()[0].tolist()) for part in store.parts]
    assert all(sources)
    assert sum(map(len, sources)) == len(set(requests.src.tolist()))
    assert store.num_edges == len(
        set(zip(requests.src.tolist(), requests.dst.tolist(), strict=True))
    )
    assert store.nbytes == sum(part.nbytes for part in store.parts)
    workers.close()


def test_bytes_of_degaware():
    """The paper's records: 19 bytes, 18 and 10; a vertex with two edges has a chunk of four."""
    store = DegAware()
    empty = store.nbytes
    assert empty == 64 * 19 + 64 * 18
    filled(store, [(1, 2, True)])
    assert store.nbytes == empty
    filled(store, [(1, 3, True)])
    assert store.nbytes == empty + 4 * 10 + 24


def test_probe_distances_by_hand():
    """Home is the high bits of the product with the golden ratio: what a table must have."""
    keys = list(range(40))
    store = filled(DegAware(), [(7, key, True) for key in keys])
    low, high, chunks = store.probe_distances()
    assert np.isnan(low)
    assert high == 0
    homes = sorted((key * 0x9E3779B97F4A7C15 % (1 << 64)) >> (64 - 6) for key in keys)
    at, total = -1, 0
    for home in homes:
        at = max(at + 1, home)
        total += at - home
    assert at < 64, "no record goes over the end with these keys"
    assert chunks.tolist() == [pytest.approx(total / len(keys))]
