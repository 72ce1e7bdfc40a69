"""Measuring this machine for its profile: what kernels cost, and what reading costs."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable
from contextlib import suppress
from time import process_time, thread_time
from typing import Any

import numpy as np

from penstock.engine.profile import Cores, Disk
from penstock.jit import kernel
from penstock.metrics import clock
from penstock.parallel import Workers
from penstock.store.direct import page_buffer
from penstock.store.layout import DECODE_ROOM, PageSpec, make_layout
from penstock.store.page import SMALL, PageHeader
from penstock.store.paged import FilePages, PagedGraph
from penstock.types import U8, U32, Adjacency, Array

#: Edges that each thread goes over, at most, and all threads together.
_THREAD_EDGES, _ALL_EDGES = 1 << 21, 1 << 23
#: Seconds for each kind of reading.
_DISK_SECONDS = 0.1
_REPEATS = 3
#: Times that gathers are measured: they suffer most from what others do.
_ROUNDS = 2
#: Pages that each thread decodes in turn.
_PAGES = 4

# The cores


def measure_cores(threads: int, sizes: tuple[int, ...]) -> Cores:
    """Measure what kernels cost."""
    workers = Workers(threads)
    try:
        edges = min(_THREAD_EDGES, _ALL_EDGES // threads, max(sizes[-1] // threads // 8, 1 << 16))
        vertex_ns, list_ns, gather_ns = _measure_lists(workers, edges, sizes)
        decode_edge_ns, decode_vertex_ns = _measure_decoding(workers)
        return Cores(
            sizes,
            gather_ns,
            vertex_ns,
            list_ns,
            decode_edge_ns,
            decode_vertex_ns,
            call_ns=_measure_calls(workers),
            sweep_ns=_measure_sweeps(workers, sizes[-1]),
            array_ns=_measure_touching(workers, sizes[-1], _long_array),
            buffer_ns=_measure_touching(workers, sizes[-1], page_buffer),
        )
    finally:
        workers.close()


def _best(workers: Workers, work: Callable[[int], object]) -> float:
    """Processor time of ``work(thread)``, called on all threads at once, in ns: the mean of the
    threads, the least of a few times. What others do on the machine meanwhile does not count.
    """

    def timed(thread: int, _: int) -> float:
        begin = thread_time()
        work(thread)
        return thread_time() - begin

    rounds = [workers.run(timed, range(workers.count)) for _ in range(_REPEATS + 1)]
    return 1e9 * min(sum(each) for each in rounds[1:]) / workers.count


def _measure_lists(
    workers: Workers, edges: int, sizes: tuple[int, ...]
) -> tuple[float, float, tuple[float, ...]]:
    """Time of a vertex, of a list besides its entries, and of an entry for each size."""
    rng = np.random.default_rng(1)
    values: Array = np.ones(sizes[-1] // 4, np.float32)
    sums: Array = np.empty((workers.count, edges // 4 + 1), np.float32)
    targets: U32 = np.empty((workers.count, edges), np.uint32)
    none: U32 = np.zeros(edges // 4, np.uint32)
    few: U32 = np.concatenate([none[:1], rng.integers(0, 8, edges // 4).cumsum(dtype=np.uint32)])
    many: U32 = np.arange(0, edges + 1, 64, dtype=np.uint32)

    def time(offsets: U32) -> float:
        return _best(
            workers, lambda thread: _sum_lists(offsets, targets[thread], values, sums[thread])
        )

    times = [math.inf] * len(sizes)
    for _ in range(_ROUNDS):
        for each in targets:
            each[:] = rng.integers(0, len(values), edges, dtype=np.uint32)
        for k in range(len(sizes) - 1, -1, -1):
            times[k] = min(times[k], time(many))
            targets //= np.uint32(sizes[k] // sizes[max(k - 1, 0)])
    vertex_ns = time(none) / (len(none) - 1)
    # Two equations for lists and entries in the smallest vector.
    lists = [len(each) - 1 for each in (many, few)]
    entries = [int(each[-1]) for each in (many, few)]
    rest = [t - vertex_ns * n for t, n in zip((times[0], time(few)), lists, strict=True)]
    list_ns = (rest[1] * entries[0] - rest[0] * entries[1]) / (
        lists[1] * entries[0] - lists[0] * entries[1]
    )
    list_ns = max(list_ns, 0.0)
    gathers = [(t - lists[0] * (vertex_ns + list_ns)) / entries[0] for t in times]
    # A larger vector is never faster; where it seems so, something else was.
    return vertex_ns, list_ns, tuple(np.maximum.accumulate(np.maximum(gathers, 0.0)).tolist())


def _measure_decoding(workers: Workers) -> tuple[float, float]:
    """Time of an edge and of a vertex, from pages with long and with short lists."""
    rng = np.random.default_rng(2)
    spec = PageSpec("banded", 1 << 20, 1 << 22, bands=(2, 3))
    layout = make_layout(spec)
    timed = []
    for degree in (64, 2):
        vertices = (1 << 18) // degree
        ids = np.sort((rng.random((vertices, degree)) ** 4 * (1 << 22)).astype(np.uint32), axis=1)
        page: U8 = np.zeros(spec.page_bytes, np.uint8)
        degrees: U32 = np.full(vertices, degree, np.uint32)
        layout.encode(page, SMALL, Adjacency(0, degrees, ids.ravel(), {}))
        header = PageHeader(layout.code, SMALL, 0, 0, 0, 0, 0, vertices, vertices * degree)
        # Several, so that they come from memory.
        pages = [[page.copy() for _ in range(_PAGES)] for _ in range(workers.count)]
        into = [
            (np.empty(vertices + 1, np.uint32), np.empty(ids.size + DECODE_ROOM, np.uint32))
            for _ in range(workers.count)
        ]

        def work(
            thread: int, pages: Any = pages, header: PageHeader = header, into: Any = into
        ) -> None:
            for page in pages[thread]:
                layout.decode_into(page, header, *into[thread])

        timed.append((ids.size, vertices, _best(workers, work) / _PAGES))
    (edges, long, most), (same, short, least) = timed
    vertex_ns = max((least - most * same / edges) / (short - long * same / edges), 0.0)
    return max((most - long * vertex_ns) / edges, 0.0), vertex_ns


def _measure_calls(workers: Workers) -> float:
    """Time of a piece of work with next to nothing to do."""
    offsets: U32 = np.zeros(2, np.uint32)
    nothing: U32 = np.zeros(1, np.uint32)
    values: Array = np.zeros(1, np.float32)
    pieces = range(2000)

    def work(thread: int, _: int) -> None:
        _sum_lists(offsets, nothing, values, values)

    times = []
    for _ in range(_REPEATS):
        begin = process_time()
        workers.run(work, pieces)
        times.append(process_time() - begin)
    return 1e9 * min(times) / len(pieces)


def _measure_sweeps(workers: Workers, size: int) -> float:
    """Time of a byte read in order from memory."""
    data: U32 = np.ones(max(size // 4, 1 << 16), np.uint32)
    part = len(data) // workers.count

    def work(thread: int) -> int:
        return int(_sum_all(data[thread * part : (thread + 1) * part]))

    return _best(workers, work) / (4 * part)


def _measure_touching(workers: Workers, size: int, make: Callable[[int], U8]) -> float:
    """Time of a byte of new memory."""
    part = max(min(size, 1 << 24) // workers.count, 1 << 18)

    def work(thread: int) -> None:
        make(part)[:] = 1

    return _best(workers, work) / part


def _long_array(size: int) -> U8:
    """Memory as NumPy gets it for long arrays: in huge pages if the system has them."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(AttributeError, OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


@kernel
def _sum_lists(offsets, neighbours, values, sums):  # type: ignore[no-untyped-def]
    """The sum of each list's values: what a step of PageRank does."""
    one, four = np.uint64(1), np.uint64(4)
    for v in range(np.uint64(len(offsets) - 1)):
        k, stop = np.uint64(offsets[v]), np.uint64(offsets[v + one])
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        while k + four <= stop:
            a += values[neighbours[k]]
            b += values[neighbours[k + one]]
            c += values[neighbours[k + np.uint64(2)]]
            d += values[neighbours[k + np.uint64(3)]]
            k += four
        while k < stop:
            a += values[neighbours[k]]
            k += one
        sums[v] = 0.85 * (a + b + c + d) / np.float64(max(stop, one))


@kernel
def _sum_all(data):  # type: ignore[no-untyped-def]
    total = np.uint32(0)
    for k in range(np.uint64(len(data))):
        total += data[k]
    return total


# The disk


def measure_disk(graph: PagedGraph, threads: int) -> Disk | None:
    """Measure what reading a graph's pages costs; None if it has none."""
    source = graph.pages(graph.directions[0])
    if not isinstance(source, FilePages) or source.num_pages == 0:
        return None
    ordered = source.present()
    if len(ordered) == 0:
        return None
    files = source.direct()
    shuffled = np.random.default_rng(3).permutation(ordered)
    try:
        rate, cpu_ns = _read_rate(files, ordered, 2 * threads)
        stream_rate, _ = _read_rate(files, ordered, 1)
        random_rate, _ = _read_rate(files, shuffled, 2 * threads)
    finally:
        files.close()
    rate = max(rate, stream_rate)
    return Disk(rate, stream_rate, min(random_rate, rate), cpu_ns)


def _read_rate(files: FilePages, pages: Array, streams: int) -> tuple[float, float]:
    """Bytes a second, and nanoseconds of processor time for a byte."""
    workers = Workers(streams)
    buffers = [page_buffer(files.page_bytes) for _ in range(streams)]
    for buffer in buffers:
        buffer[:] = 0
    counts = [0] * streams
    begin, busy = clock(), process_time()
    end = begin + _DISK_SECONDS

    def work(stream: int, k: int) -> None:
        if counts[stream] == 0 or clock() < end:
            files.read_page(int(pages[k % len(pages)]), buffers[stream])
            counts[stream] += 1

    try:
        workers.run(work, range(1 << 14))
        seconds, busy = clock() - begin, process_time() - busy
    finally:
        workers.close()
    size = sum(counts) * files.page_bytes
    return size / seconds, 1e9 * busy / size
