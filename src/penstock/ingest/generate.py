"""Graphs made from numbers: the same seed gives the same graph, whatever the threads and chunks.

Every edge is a function of the seed and its own index, so edges can be made in any order, in any
pieces, and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from penstock.errors import OptionError
from penstock.ingest.formats._columns import WEIGHT
from penstock.jit import helper, kernel
from penstock.parallel import ordered_map
from penstock.protocols import Advance, Source
from penstock.types import MAX_VERTICES, U8, U64, Array, EdgeChunk

#: Rows made at a time; changes nothing but memory and speed.
CHUNK_ROWS = 1 << 19
#: Graph500's probabilities.
GRAPH500 = (0.57, 0.19, 0.19, 0.05)


@helper
def _mix(x):  # type: ignore[no-untyped-def]
    """The finaliser of SplitMix64: every bit of the input moves every bit of the output."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@helper
def _shuffled(v, mask, half, odd):  # type: ignore[no-untyped-def]
    """A permutation of 0 .. mask made of odd multiplications, additions and shifts."""
    for k in range(3):
        v = (v * odd[k] + (odd[k] >> np.uint64(32))) & mask
        v ^= v >> half
    return v


@helper
def _even_bits(x):  # type: ignore[no-untyped-def]
    """Bits 0, 2, 4, ... of a number, side by side."""
    x &= np.uint64(0x5555555555555555)
    x = (x | (x >> np.uint64(1))) & np.uint64(0x3333333333333333)
    x = (x | (x >> np.uint64(2))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    x = (x | (x >> np.uint64(4))) & np.uint64(0x00FF00FF00FF00FF)
    x = (x | (x >> np.uint64(8))) & np.uint64(0x0000FFFF0000FFFF)
    return (x | (x >> np.uint64(16))) & np.uint64(0x00000000FFFFFFFF)


@kernel
def _rmat(first, scale, seed, quadrants, shuffle, src, dst):  # type: ignore[no-untyped-def]
    """Edges ``first`` and on. A level takes 16 random bits; ``quadrants`` says which of the four
    they choose: its high bit goes to the source, its low bit to the target.
    """
    gold = np.uint64(0x9E3779B97F4A7C15)
    low = np.uint64(0xFFFF)
    two = np.uint64(2)
    mask = (np.uint64(1) << np.uint64(scale)) - np.uint64(1)
    half = np.uint64((scale + 1) // 2)
    odd = np.empty(3, np.uint64)
    for k in range(3):
        odd[k] = _mix(seed + np.uint64(k)) | np.uint64(1)
    for i in range(len(src)):
        state = _mix(seed ^ (np.uint64(first + i + 1) * gold))
        path = np.uint64(0)
        # Whole words of four levels; what is too much is masked off below.
        for _ in range((scale + 3) // 4):
            state += gold
            word = _mix(state)
            q = np.uint64(quadrants[np.int64(word & low)])
            q = (q << two) | np.uint64(quadrants[np.int64((word >> np.uint64(16)) & low)])
            q = (q << two) | np.uint64(quadrants[np.int64((word >> np.uint64(32)) & low)])
            q = (q << two) | np.uint64(quadrants[np.int64(word >> np.uint64(48))])
            path = (path << np.uint64(8)) | q
        u = _even_bits(path >> np.uint64(1)) & mask
        v = _even_bits(path) & mask
        if shuffle:
            u = _shuffled(u, mask, half, odd)
            v = _shuffled(v, mask, half, odd)
        src[i] = u
        dst[i] = v


@kernel
def _weigh(first, seed, weights):  # type: ignore[no-untyped-def]
    """The weights of edges ``first`` and on: 24 random bits, even over [0, 1)."""
    gold = np.uint64(0x9E3779B97F4A7C15)
    # Apart from the numbers that the same seed makes ends of.
    salt = _mix(~seed)
    for i in range(len(weights)):
        bits = _mix(salt ^ (np.uint64(first + i + 1) * gold)) >> np.uint64(40)
        weights[i] = np.float32(bits) * np.float32(2.0**-24)


@kernel
def _uniform(first, num_vertices, seed, src, dst):  # type: ignore[no-untyped-def]
    gold = np.uint64(0x9E3779B97F4A7C15)
    n = np.uint64(num_vertices)
    for i in range(len(src)):
        state = _mix(seed ^ ((np.uint64(first + i) + np.uint64(1)) * gold))
        # The high 32 bits times n, over 2**32: uniform, as n is below 2**32.
        src[i] = ((_mix(state) >> np.uint64(32)) * n) >> np.uint64(32)
        dst[i] = ((_mix(state + gold) >> np.uint64(32)) * n) >> np.uint64(32)


def rmat(
    scale: int,
    edge_factor: float = 16,
    probabilities: tuple[float, float, float, float] = GRAPH500,
    seed: int = 1,
    threads: int = 1,
    chunk_rows: int = CHUNK_ROWS,
    *,
    shuffle: bool = True,
    weighted: bool = False,
) -> Source:
    """Kronecker edges as Graph500 makes them: ``2**scale`` vertices, ``edge_factor`` edges each.

    ``probabilities`` are A, B, C, D of the four quadrants, to 16 bits. ``shuffle`` renames the
    vertices at random, so that their names say nothing about their degrees. ``weighted`` gives each
    edge a float32 weight, even over [0, 1); the edges are the same with and without.
    """
    if not 1 <= scale <= 31:
        raise OptionError(f"scale: expected 1 to 31, got {scale}")
    if min(probabilities) < 0 or abs(sum(probabilities) - 1) > 1e-9:
        raise OptionError(
            f"probabilities: expected A, B, C, D that add up to 1, got {probabilities}"
        )
    ends = [round(sum(probabilities[:k]) * (1 << 16)) for k in (1, 2, 3)]
    quadrants: U8 = np.searchsorted(ends, np.arange(1 << 16), side="right").astype(np.uint8)
    salt = np.uint64(seed % (1 << 64))

    def fill(first: int, src: U64, dst: U64) -> None:
        _rmat(first, scale, salt, quadrants, shuffle, src, dst)

    num_edges = _edge_count(edge_factor, 1 << scale)
    weights = salt if weighted else None
    return _source(fill, 1 << scale, num_edges, threads, chunk_rows, f"rmat {scale}", weights)


def uniform(
    num_vertices: int, num_edges: int, seed: int = 1, threads: int = 1, chunk_rows: int = CHUNK_ROWS
) -> Source:
    """Edges whose two ends are drawn evenly from all vertices (Erdos and Renyi's G(n, m), with
    repeats and loops until the rules take them out).
    """
    if not 1 <= num_vertices <= MAX_VERTICES:
        raise OptionError(f"vertices: expected 1 to {MAX_VERTICES:,}, got {num_vertices:,}")
    if num_edges < 0:
        raise OptionError(f"edges: expected 0 or more, got {num_edges}")
    salt = np.uint64(seed % (1 << 64))

    def fill(first: int, src: U64, dst: U64) -> None:
        _uniform(first, num_vertices, salt, src, dst)

    return _source(fill, num_vertices, num_edges, threads, chunk_rows, f"uniform {num_vertices}")


def uniform_of_scale(
    scale: int,
    edge_factor: float = 16,
    seed: int = 1,
    threads: int = 1,
    chunk_rows: int = CHUNK_ROWS,
) -> Source:
    """:func:`uniform` with ``2**scale`` vertices and ``edge_factor`` edges each."""
    if not 1 <= scale <= 31:
        raise OptionError(f"scale: expected 1 to 31, got {scale}")
    return uniform(1 << scale, _edge_count(edge_factor, 1 << scale), seed, threads, chunk_rows)


def _edge_count(edge_factor: float, num_vertices: int) -> int:
    if not 0 <= edge_factor < float("inf"):
        raise OptionError(f"edge_factor: expected 0 or more, got {edge_factor}")
    return round(edge_factor * num_vertices)


def _source(
    fill: Callable[[int, U64, U64], None],
    num_vertices: int,
    num_edges: int,
    threads: int,
    chunk_rows: int,
    name: str,
    weight_seed: np.uint64 | None = None,
) -> Source:
    def make(first: int) -> EdgeChunk:
        size = min(chunk_rows, num_edges - first)
        src: U64 = np.empty(size, np.uint64)
        dst: U64 = np.empty(size, np.uint64)
        fill(first, src, dst)
        if weight_seed is None:
            return EdgeChunk(src, dst)
        weights: Array = np.empty(size, np.float32)
        _weigh(first, weight_seed, weights)
        return EdgeChunk(src, dst, {WEIGHT: weights})

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        for chunk in ordered_map(make, range(0, num_edges, chunk_rows), threads):
            advance(len(chunk))
            yield chunk

    has_weights = weight_seed is not None
    return Source(
        chunks, num_edges, "edges", "int",
        columns={WEIGHT: np.dtype(np.float32)} if has_weights else {},
        weight=WEIGHT if has_weights else None,
        declared=range(num_vertices), cheap_to_repeat=True, name=name,
    )  # fmt: skip
