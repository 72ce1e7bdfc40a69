"""Pushing on GPUs, and devices that work through a graph's pages, as the simulator has them."""

from __future__ import annotations

import device_programs
import numpy as np
import pytest
from cuda_cases import PAGE_FIRSTS, Case, assert_same

import penstock as ps
from penstock.device.cuda import memory as cuda_memory
from penstock.device.cuda import push as cuda_push
from penstock.device.cuda import tables as cuda_tables
from penstock.device.cuda.device import CudaDevice
from penstock.device.device import Change
from penstock.device.reference import ReferenceKernels
from penstock.device.signature import signature_of
from penstock.device.spec import Device
from penstock.engine.dealing import StaticScheduler
from penstock.ingest import options as build_options
from penstock.metrics import Metrics
from penstock.parallel import Workers
from penstock.program import Program
from penstock.store.page import LARGE
from penstock.stream.block import BY_PLACE, Block
from penstock.stream.cache import PageCache
from penstock.stream.lists import Piece, StreamedLists, load
from penstock.stream.policy import POLICIES

#: What both ends of an edge have, and their numbers.
FAR = Program(
    state={"x": np.int64},
    init=lambda vertex: vertex.vid,
    gather=lambda src, edge, dst: abs(src.vid - dst.vid) + dst.in_degree * src.x + edge.weight,
    sum="max",
    identity=-1,
    apply=lambda old, a: a,
    accumulator=np.int64,
    name="far",
)


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    """Lists need not have a thousand edges to be long, and gaps are soon too wide."""
    monkeypatch.setattr(cuda_tables, "BUCKETS", (3, 20))
    monkeypatch.setattr(cuda_push, "MAX_SKIP", 2)
    monkeypatch.setattr(device_programs, "FAR", FAR, raising=False)


def pushed(case, vertices):
    """The vertices that the reference reaches, and their accumulators."""
    sums = tuple(
        np.full(case.n, value, dtype)
        for value, dtype in zip(case.program.identities, case.program.accumulators, strict=True)
    )
    found = np.zeros(len(case.block.neighbours), np.uint32)
    touched = np.zeros(case.n, np.uint8)
    of_dst = case.arrays(case.signature.of_dst)
    chosen = np.array(vertices, np.uint32)
    case.reference.push(
        case.block, chosen, found, case.gathered, of_dst, sums, touched, case.params
    )
    reached = np.flatnonzero(touched)
    return reached, tuple(array[reached] for array in sums)


def begin(case, device, low=0, high=None):
    of_dst = (array[low:high] for array in case.arrays(case.signature.of_dst))
    device.begin_push(low, case.n if high is None else high, tuple(of_dst))


def push(case, device, piece, stream=0):
    device.push(stream, piece, case.gathered, case.params)


def assert_taken(taken, expected):
    np.testing.assert_array_equal(taken[0], expected[0])
    assert taken[0].dtype == np.uint32
    for ours, theirs in zip(taken[1], expected[1], strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def pieces_of(case, kind):
    """The lists of vertices 0, 1, 3 and 5, as engines hand them over."""
    wanted = np.array([0, 1, 3, 5], np.uint32)
    if kind == "page":
        return [case.piece()._replace(vertices=wanted)]
    if kind == "pages":
        halves = (0, 2), (2, case.n)
        return [
            case.piece(a, b, page=a)._replace(vertices=wanted[(wanted >= a) & (wanted < b)])
            for a, b in halves
        ]
    if kind == "some":  # of all lists, in any order
        return [case.piece(page=-1)._replace(vertices=wanted[::-1])]
    mixed = wanted[[2, 0, 3, 1]]
    starts, ends = case.block.offsets[mixed], case.block.offsets[mixed + 1]
    rows = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)])
    columns = tuple(column[rows] for column in case.block.columns)
    offsets = np.r_[0, np.cumsum(ends - starts)].astype(np.uint32)
    block = Block(BY_PLACE, offsets, case.block.neighbours[rows], columns)
    return [Piece(-1, block, 0, case.n, mixed)]


@pytest.mark.parametrize("name", ["COUNTS", "WIDTHS", "FAR"])
@pytest.mark.parametrize("kind", ["page", "pages", "some", "by place"])
def test_push_is_what_the_reference_gives(name, kind):
    case = Case(name)
    device = case.device()
    begin(case, device)
    for piece in pieces_of(case, kind):
        push(case, device, piece)
    expected = pushed(case, [0, 1, 3, 5])
    pages = np.searchsorted(PAGE_FIRSTS, expected[0], side="right") - 1
    flags = device.touched_pages()
    assert set(np.flatnonzero(flags)) == set(pages) | ({2} if 3 in pages else set())
    assert_taken(device.take_sums(0, case.n, []), expected)
    # Everything is as before then, and values of targets are what they are now.
    begin(case, device)
    assert not device.touched_pages().any()
    assert len(device.take_sums(0, case.n, [])[0]) == 0
    case.fields["in_degree"] += 1
    begin(case, device)
    for piece in pieces_of(case, kind):
        push(case, device, piece)
    assert_taken(device.take_sums(0, case.n, []), pushed(case, [0, 1, 3, 5]))
    device.close()
    assert device.held_names == []


def test_pages_that_were_pushed_along_are_kept():
    case = Case("FAR")
    device = case.device()
    begin(case, device)
    for vertices in ([0, 1, 3, 5], [3, 4]):
        piece = case.piece()._replace(vertices=np.array(vertices, np.uint32))
        if device.has(piece):
            piece = piece._replace(block=None)
        push(case, device, piece)
        assert_taken(device.take_sums(0, case.n, []), pushed(case, vertices))
    assert device.cache_hits == 1
    assert not device.has(case.piece())  # lists that are gathered are others
    device.close()


@pytest.mark.parametrize("kind", ["page", "some"])
@pytest.mark.parametrize("more", [0, 3000])
def test_lists_that_do_not_fit_go_in_parts(kind, more):
    """With the least budget, even one list does."""
    case = Case("FAR")
    device = case.device(1)
    begin(case, device)
    streams = device._streams
    resident = device.used_bytes - streams.cache.capacity - len(streams.each[0].room)
    memory = resident + streams._least() + more
    device.close()
    device = case.device(1, memory=memory)
    begin(case, device)
    assert device.used_bytes <= memory
    for piece in pieces_of(case, kind):
        push(case, device, piece)
    assert_taken(device.take_sums(0, case.n, []), pushed(case, [0, 1, 3, 5]))
    device.close()
    assert device.held_names == []


@pytest.mark.parametrize("direct", [True, False])
def test_accumulators_of_several_devices_are_summed(monkeypatch, direct):
    """Strategy P: each device has some pages."""
    monkeypatch.setattr(cuda_memory, "can_copy_directly", lambda *_: direct)
    case = Case("COUNTS")
    devices = [case.device(memory=20_000), case.device(number=1), case.device(number=2)]
    for device in devices:
        begin(case, device)
    for device, piece in zip(devices, pieces_of(case, "pages"), strict=False):
        push(case, device, piece)
    reached = np.bitwise_or.reduce([device.touched_pages() for device in devices])
    expected = pushed(case, [0, 1, 3, 5])
    assert reached.any()
    # In ranges, as the pages that were reached are.
    for low, high in ((0, 2), (2, case.n)):
        taken = devices[0].take_sums(low, high, devices[1:])
        inside = (expected[0] >= low) & (expected[0] < high)
        assert_taken(taken, (expected[0][inside], tuple(a[inside] for a in expected[1])))
    for device in devices:
        assert len(device.take_sums(0, case.n, [])[0]) == 0
        device.close()
        assert device.held_names == []


def test_accumulators_of_some_vertices():
    """Strategy S: each device has some accumulators, and all pages."""
    case = Case("FAR")
    expected = pushed(case, [0, 1, 3, 5])
    device = case.device()
    for low, high in ((0, 2), (2, 6)):
        begin(case, device, low, high)
        neighbours = case.block.neighbours.astype(np.int64)
        inside = (neighbours >= low) & (neighbours < high)
        offsets = np.r_[0, np.cumsum(inside)].astype(np.uint32)[case.block.offsets]
        columns = tuple(column[inside] for column in case.block.columns)
        block = Block(0, offsets, (neighbours[inside] - low).astype(np.uint32), columns)
        push(case, device, pieces_of(case, "page")[0]._replace(block=block))
        mine = (expected[0] >= low) & (expected[0] < high)
        wanted = expected[0][mine], tuple(array[mine] for array in expected[1])
        assert_taken(device.take_sums(low, high, []), wanted)
    device.close()


def test_pull_and_push_in_turns():
    case = Case("LABELS")
    device = case.device()
    for _ in range(2):
        assert_same(case.pull(device), case.pulled())
        begin(case, device)
        push(case, device, pieces_of(case, "page")[0])
        assert_taken(device.take_sums(0, case.n, []), pushed(case, [0, 1, 3, 5]))
    assert device.cache_hits == 1  # the first push made room for its accumulators, once
    device.close()
    assert device.held_names == []


# Pages of a graph


@pytest.fixture(scope="module")
def paged(tmp_path_factory):
    """A directed graph of many pages, with a list that takes several."""
    rng = np.random.default_rng(5)
    n = 90
    src, dst = rng.integers(0, n, (2, 3300))
    dst[:2000] = 3
    weight = rng.integers(1, 20, len(src)).astype(np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_options, "MIN_PAGE_BYTES", 4096)
        return ps.build(
            (src, dst, weight), tmp_path_factory.mktemp("g") / "g", weights=True, page_size=4096,
            num_vertices=n + 5, duplicates="keep",
        )  # fmt: skip


@pytest.mark.parametrize("name", ["LABELS", "WIDTHS"])
def test_the_pages_of_a_graph_on_two_devices(paged, name):
    """Read from disk, by two threads for two devices; twice, the second time from their caches."""
    program, n = getattr(device_programs, name), paged.num_vertices
    table = paged.page_table("in")
    assert (table["kind"] == LARGE).sum() > 1
    signature = signature_of(program, {"weight": np.dtype(np.uint8)}, {"source": 3}, "weight")
    (field,), params = program.state, (3,) * len(signature.params)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1000, n).astype(signature.dtypes[field])
    specs = [Device(kind="cuda", block=32), Device(kind="cuda", number=1, block=32)]
    firsts = table["first_vid"].astype(np.uint32)
    devices = [CudaDevice(spec, signature, n, firsts, 1, False) for spec in specs]
    reference = ReferenceKernels(signature)
    workers = Workers(2)
    lists = StreamedLists(
        paged, "in", signature.columns, workers, Metrics(2), PageCache(0, POLICIES["lru"])
    )
    dealer = StaticScheduler([0, 1], lambda stream, piece: devices[stream].has(piece), to_all=False)
    large = np.flatnonzero(table["kind"] == LARGE).tolist()
    hub = int(table["first_vid"][large[0]])

    def step(values, changes):
        new, active = np.zeros_like(values), np.zeros(n, np.uint8)
        sums = (np.full(len(large), program.identity, program.accumulators[0]),)
        wrote = []
        for device in devices:
            device.hold(0, (values,), changes)

        def work(stream, piece):
            device = devices[stream]
            if piece.page in large:
                at = piece.begin - large.index(piece.page)
                device.accumulate(0, piece, 0, at, (values,), sums, params)
                return
            device.pull(0, piece, 0, (values,), (new,), active, params)
            wrote.append(Change(piece.begin, piece.end, device))

        lists.scan(work, dealer=dealer)
        reference.merge(sums, 0, len(large))
        reference.finish(hub, hub + 1, 0, hub, (values,), sums, (new,), active, params)
        return new, active, [*wrote, Change(hub, hub + 1, None)]

    def expected(values):
        block = load(lists, n, [np.dtype(np.uint8)] * len(signature.columns))
        new, active = np.zeros_like(values), np.zeros(n, np.uint8)
        reference.pull(block, 0, n, 0, 0, (values,), (values,), (new,), active, params)
        return new, active

    try:
        changes = None
        for _ in range(2):
            ours, active, changes = step(values, changes)
            theirs = expected(values)
            np.testing.assert_array_equal(ours, theirs[0])
            np.testing.assert_array_equal(active, theirs[1])
            values = ours
        # Pages without edges are not read, and are not asked for either.
        assert sum(device.cache_hits for device in devices) == len(table)
    finally:
        workers.close()
        lists.close()
        for device in devices:
            device.close()
    assert [device.held_names for device in devices] == [[], []]
