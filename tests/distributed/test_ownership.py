"""Who owns which pages and vertices, and what ranks tell each other of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.distributed.thread_peers import run_on_threads
from penstock.engine.exchange import (
    Exchange,
    Put,
    are_marked,
    pack_places,
    scatter,
    take_marked,
    unpack_places,
)
from penstock.engine.ownership import Vertices, own_table, pages_by_number, vertices_of
from penstock.engine.peers import Peers
from penstock.store.layout import PAGE_TABLE_DTYPE
from penstock.store.page import LARGE, SMALL
from penstock.types import U32, Array

#: Pages, each as how many vertices it has (0: a list longer than a page) and in how many pages.
SHAPES = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=12)


def make_table(shape: list[tuple[int, int]]) -> Array:
    """A page table in which a page of no vertices is a run of large ones of one vertex."""
    rows = []
    vertex = edge = 0
    for count, pages in shape:
        for run in range(pages if count == 0 else 1):
            kind = LARGE if count == 0 else SMALL
            rows.append((kind, run, vertex, max(count, 1), edge, 3))
            edge += 3
        vertex += max(count, 1)
    table: Array = np.zeros(len(rows), PAGE_TABLE_DTYPE)
    names = ("kind", "run", "first_vid", "num_vertices", "first_edge", "num_edges")
    for k, row in enumerate(rows):
        for name, value in zip(names, row, strict=True):
            table[name][k] = value
    return table


def count_vertices(table: Array) -> int:
    return int((table["first_vid"] + table["num_vertices"]).max(initial=0))


@given(SHAPES, st.integers(1, 4))
def test_every_vertex_has_one_owner(shape: list[tuple[int, int]], ranks: int) -> None:
    table = make_table(shape)
    owners = pages_by_number(len(table), range(ranks))
    all_of_them = [vertices_of(table, owners, rank) for rank in range(ranks)]
    found = np.sort(np.concatenate([each.all for each in all_of_them]))
    assert found.tolist() == list(range(count_vertices(table)))
    for each in all_of_them:
        assert each.count == len(each.all)
        assert each.positions(each.all).tolist() == list(range(each.count))
        assert [each.position(int(v)) for v in each.all] == list(range(each.count))
        everyone = np.arange(count_vertices(table), dtype=np.uint32)
        assert everyone[each.has(everyone)].tolist() == each.all.tolist()
        assert [v for v in everyone.tolist() if each.owns(v)] == each.all.tolist()
        assert [v for a, b in each.ranges(2) for v in range(a, b)] == each.all.tolist()
        assert (each.begins[1:] > each.ends[:-1]).all()
        assert each.at(np.arange(each.count)).tolist() == each.all.tolist()
        for low in range(each.count):
            part = each.part(low, each.count - 1)
            assert part.tolist() == each.all[low : each.count - 1].tolist()
        for number in range(count_vertices(table) + 1):
            assert each.within(0, number) == (0, int((each.all < number).sum()))


@given(SHAPES, st.integers(1, 4))
def test_values_go_to_own_positions_and_back(shape: list[tuple[int, int]], ranks: int) -> None:
    table = make_table(shape)
    owners = pages_by_number(len(table), range(ranks))
    values = np.arange(count_vertices(table)) * 7
    target = np.full(len(values), -1)
    for rank in range(ranks):
        mine = vertices_of(table, owners, rank)
        assert mine.take(values).tolist() == values[mine.all].tolist()
        mine.put(target, mine.take(values))
    assert target.tolist() == values.tolist()


@given(SHAPES, st.integers(1, 4))
def test_a_table_of_own_pages(shape: list[tuple[int, int]], ranks: int) -> None:
    table = make_table(shape)
    owners = pages_by_number(len(table), range(ranks))
    for rank in range(ranks):
        mine = own_table(table, owners == rank)
        assert mine["num_edges"].tolist() == np.where(owners == rank, 3, 0).tolist()
        ends = np.cumsum(mine["num_edges"])
        assert (mine["first_edge"] + mine["num_edges"]).tolist() == ends.tolist()
        assert mine["first_vid"].tolist() == table["first_vid"].tolist()


@given(st.sets(st.integers(0, 199)), st.integers(200, 300))
def test_sets_of_places_travel_as_lists_or_bits(places: set[int], length: int) -> None:
    given = np.array(sorted(places), np.int64)
    packed = pack_places(given, length)
    assert packed.nbytes <= min(4 * len(given) + 1, length // 8 + 1) or packed.dtype == np.uint8
    assert unpack_places(packed, length).tolist() == given.tolist()


@given(st.sets(st.integers(0, 99)), st.integers(0, 12), st.integers(0, 100))
def test_bits_of_a_chunk(places: set[int], start: int, high: int) -> None:
    flags = np.isin(np.arange(100), sorted(places))
    bits, low = np.packbits(flags), 8 * start
    if low <= high:
        expected = low + np.flatnonzero(flags[low:high])
        for dtype in (np.float32, np.int64, np.uint8, "f4,f4"):
            values = (np.arange(100) * 3).astype(dtype)
            assert take_marked(values, bits, low, high).tolist() == values[expected].tolist()


@given(st.lists(st.integers(0, 199), max_size=9), st.sampled_from("fdB"))
def test_values_are_written_at_places(numbers: list[int], kind: str) -> None:
    values = np.array(numbers, kind)
    places = np.arange(len(values), dtype=np.uint32)[::-1] * 2
    target: Array = np.zeros(20, kind)
    expected = target.copy()
    expected[places] = values
    scatter(target, places, values)
    assert target.tolist() == expected.tolist()


@given(st.sets(st.integers(0, 99)))
def test_bits_of_places(places: set[int]) -> None:
    flags = np.isin(np.arange(100), sorted(places))
    bits = np.packbits(flags)
    assert are_marked(bits, np.arange(100)).tolist() == flags.tolist()


VERTICES = [
    Vertices(np.array([0, 5]), np.array([2, 9])),
    Vertices(np.array([2, 9]), np.array([5, 12])),
    Vertices(np.array([12]), np.array([13])),
]


def write_to(target: Array) -> Put:
    def put(vertices: U32, values: Sequence[Array]) -> None:
        target[vertices] = values[0]

    return put


def test_values_come_from_their_owners() -> None:
    def work(peers: Peers, needs: list[list[int]] | None) -> Any:
        exchange = Exchange(peers, VERTICES, 8)
        own = exchange.own
        if needs is not None:
            named = np.zeros(13, np.uint8)
            named[needs[peers.rank]] = 1
            exchange.say_needs(named)
        exchange.begin()
        new = (own.all * 10.0,)
        for begin, end in own.ranges(2):
            exchange.complete(begin, end, new)
        target = np.full(13, -1.0)
        said = exchange.finish(write_to(target), np.array([peers.rank]))
        return target.tolist(), [int(each[0]) for (each,) in said]

    for rank, (target, said) in enumerate(run_on_threads(3, work, None)):
        mine = set(VERTICES[rank].all.tolist())
        assert target == [-1.0 if v in mine else v * 10.0 for v in range(13)]
        assert said == [0, 1, 2]
    needs = [[3, 12], [0, 3], []]
    for rank, (target, _) in enumerate(run_on_threads(3, work, needs)):
        mine = set(VERTICES[rank].all.tolist())
        told = set(needs[rank]) - mine
        assert target == [v * 10.0 if v in told else -1.0 for v in range(13)]


def test_some_values_come_from_their_owners() -> None:
    def work(peers: Peers) -> Any:
        exchange = Exchange(peers, VERTICES, 8)
        changed = exchange.own.all[::2]
        exchange.send_some(changed, (exchange.own.all * 10.0,))
        target = np.full(13, -1.0)
        exchange.finish_some(write_to(target), np.array([0]))
        return target.tolist()

    changed = {int(v) for each in VERTICES for v in each.all[::2]}
    for rank, target in enumerate(run_on_threads(3, work)):
        told = changed - set(VERTICES[rank].all.tolist())
        assert target == [v * 10.0 if v in told else -1.0 for v in range(13)]


def test_found_vertices_come_to_their_owners() -> None:
    def work(peers: Peers) -> Any:
        exchange = Exchange(peers, VERTICES, 8)
        found = np.array([peers.rank, 6 + peers.rank, 12], np.uint32)
        own, said = exchange.to_owners(found, np.array([peers.rank]))
        return own.tolist(), [int(each[0]) for (each,) in said]

    rows = run_on_threads(3, work)
    assert [own for own, _ in rows] == [[0, 1, 6, 7, 8], [2], [12]]
    assert all(said == [0, 1, 2] for _, said in rows)
