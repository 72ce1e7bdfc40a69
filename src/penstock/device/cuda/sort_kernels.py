"""CUDA kernels that sort pairs, add up numbers and find the first of equal keys.

Each function makes the kernel for blocks of so many threads, a power of two. Radix sort by 4 bits
at a time takes three of them: ``count_digits`` of each tile of keys, in shared memory;
``scan_tiles`` and ``add_sums`` over the counts of all tiles, digit after digit; and
``scatter_digits``, which first orders a tile in shared memory, so that neighbours are written to
neighbouring places. Sums are exclusive: what stands before a number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, types

Kernel = Callable[..., None]
#: Bits that are sorted by at a time, and how many digits they make.
DIGIT_BITS = 4
DIGITS = 1 << DIGIT_BITS
#: Pairs for each thread of a block.
ITEMS = 4
#: Threads of a block at most: more would need more shared memory than each GPU has.
THREADS = 256


def tile_pairs(threads: int) -> int:
    """Pairs that a block sorts."""
    return ITEMS * threads


def tile_numbers(threads: int) -> int:
    """Numbers that a block adds up."""
    return 2 * threads


def make_count_digits(threads: int, key: np.dtype[Any]) -> Kernel:
    """How many keys of each tile have each digit; all tiles of a digit are together."""
    tile, mask, digits = tile_pairs(threads), key.type(DIGITS - 1), DIGITS

    def count_digits(keys, count, shift, counts):  # type: ignore[no-untyped-def]
        mine = cuda.shared.array(digits, types.int32)
        t, block = cuda.threadIdx.x, cuda.blockIdx.x
        if t < digits:
            mine[t] = 0
        cuda.syncthreads()
        begin = block * tile
        for i in range(begin + t, min(begin + tile, count), threads):
            cuda.atomic.add(mine, np.int64((keys[i] >> shift) & mask), 1)
        cuda.syncthreads()
        if t < digits:
            counts[t * cuda.gridDim.x + block] = mine[t]

    return count_digits


def make_scatter_digits(threads: int, key: np.dtype[Any], value: np.dtype[Any]) -> Kernel:
    """Each pair to where it belongs by one digit; ``places`` are the sums of the counts. A thread
    ranks pairs that follow each other, so that equal digits stay in order.
    """
    tile, mask, digits, items = tile_pairs(threads), key.type(DIGITS - 1), DIGITS, ITEMS
    key_type, value_type, slots = _type(key), _type(value), DIGITS * threads

    def scatter_digits(keys, values, count, shift, places, keys2, values2):  # type: ignore[no-untyped-def]
        tile_keys = cuda.shared.array(tile, key_type)
        tile_values = cuda.shared.array(tile, value_type)
        #: For each digit, of each thread: first how many pairs, then how many before them.
        ranks = cuda.shared.array(slots, types.int16)
        sums = cuda.shared.array(threads, types.int32)
        #: Which pair of the tile comes at each place of it.
        order = cuda.shared.array(tile, types.int16)
        t, block = cuda.threadIdx.x, cuda.blockIdx.x
        begin = block * tile
        size = min(count - begin, tile)
        for i in range(t, size, threads):
            tile_keys[i] = keys[begin + i]
            tile_values[i] = values[begin + i]
        for d in range(digits):
            ranks[d * threads + t] = 0
        cuda.syncthreads()
        for i in range(t * items, min((t + 1) * items, size)):
            ranks[np.int64((tile_keys[i] >> shift) & mask) * threads + t] += 1
        cuda.syncthreads()
        # Each thread adds up as many ranks as there are digits; then the sums of all threads, with
        # twice the distance each time; then these are taken to the ranks.
        mine = 0
        for i in range(t * digits, (t + 1) * digits):
            mine += ranks[i]
        sums[t] = mine
        cuda.syncthreads()
        distance = 1
        while distance < threads:
            before = sums[t - distance] if t >= distance else 0
            cuda.syncthreads()
            sums[t] += before
            cuda.syncthreads()
            distance *= 2
        total = sums[t] - mine
        for i in range(t * digits, (t + 1) * digits):
            here = ranks[i]
            ranks[i] = total
            total += here
        cuda.syncthreads()
        if t < digits:
            sums[t] = ranks[t * threads]  # where in the tile a digit begins
        cuda.syncthreads()
        for i in range(t * items, min((t + 1) * items, size)):
            at = np.int64((tile_keys[i] >> shift) & mask) * threads + t
            order[ranks[at]] = i
            ranks[at] += 1
        cuda.syncthreads()
        for i in range(t, size, threads):
            item = tile_keys[order[i]]
            d = np.int64((item >> shift) & mask)
            to = places[d * cuda.gridDim.x + block] + i - sums[d]
            keys2[to] = item
            values2[to] = tile_values[order[i]]

    return scatter_digits


def make_scan_tiles(threads: int) -> Kernel:
    """What stands before each number of a tile, in place, and the sum of each tile: up a tree of
    sums, and down again.
    """
    tile = tile_numbers(threads)

    def scan_tiles(numbers, count, sums):  # type: ignore[no-untyped-def]
        part = cuda.shared.array(tile, types.int64)
        t, block = cuda.threadIdx.x, cuda.blockIdx.x
        begin = block * tile
        for i in range(t, tile, threads):
            part[i] = numbers[begin + i] if begin + i < count else 0
        width = 1
        while width < tile:
            cuda.syncthreads()
            right = (t + 1) * 2 * width - 1
            if right < tile:
                part[right] += part[right - width]
            width *= 2
        cuda.syncthreads()
        if t == 0:
            sums[block] = part[tile - 1]
            part[tile - 1] = 0
        while width > 1:
            width //= 2
            cuda.syncthreads()
            right = (t + 1) * 2 * width - 1
            if right < tile:
                left = part[right - width]
                part[right - width] = part[right]
                part[right] += left
        cuda.syncthreads()
        for i in range(t, min(tile, count - begin), threads):
            numbers[begin + i] = part[i]

    return scan_tiles


def make_add_sums(threads: int) -> Kernel:
    """What stands before a tile, to each number of it."""
    tile = tile_numbers(threads)

    def add_sums(numbers, count, sums):  # type: ignore[no-untyped-def]
        begin = cuda.blockIdx.x * tile
        for i in range(begin + cuda.threadIdx.x, min(begin + tile, count), threads):
            numbers[i] += sums[cuda.blockIdx.x]

    return add_sums


def make_mark_firsts(threads: int) -> Kernel:
    """1 for each key that differs from the one before it, and a 0 behind the last. ``lead``: how
    many keys are only there to be compared with, one or none.
    """

    def mark_firsts(keys, count, lead, marks):  # type: ignore[no-untyped-def]
        i = cuda.blockIdx.x * threads + cuda.threadIdx.x
        if i < count:
            at = i + lead
            marks[i] = 1 if at == 0 or keys[at] != keys[at - 1] else 0
        elif i == count:
            marks[i] = 0

    return mark_firsts


def make_take_firsts(threads: int) -> Kernel:
    """The marked keys, and where they stand; ``places`` are the sums of the marks."""

    def take_firsts(keys, count, lead, places, unique, firsts):  # type: ignore[no-untyped-def]
        i = cuda.blockIdx.x * threads + cuda.threadIdx.x
        if i < count and places[i + 1] != places[i]:
            unique[places[i]] = keys[i + lead]
            firsts[places[i]] = i

    return take_firsts


def _type(dtype: np.dtype[Any]) -> Any:
    """Numba's name of a dtype."""
    return getattr(types, dtype.name)


@cache
def compiled(make: Callable[..., Kernel], *args: Any) -> Any:
    """A kernel to launch, the same each time it is asked for."""
    jit: Any = cuda.jit
    return jit(make(*args))


def kernels(threads: int = THREADS) -> list[tuple[str, Kernel, Any]]:
    """All of them for all keys and values: name, function, and the types of arguments."""
    many, count = types.int64[::1], types.int64
    found: list[tuple[str, Kernel, Any]] = [
        ("scan_tiles", make_scan_tiles(threads), types.void(many, count, many)),
        ("add_sums", make_add_sums(threads), types.void(many, count, many)),
    ]
    for key in (np.dtype(np.uint32), np.dtype(np.uint64)):
        shift, keys = _type(key), _type(key)[::1]
        named: list[tuple[str, Kernel, Any]] = [
            ("count_digits", make_count_digits(threads, key), (keys, count, shift, many)),
            ("mark_firsts", make_mark_firsts(threads), (keys, count, count, many)),
            ("take_firsts", make_take_firsts(threads), (keys, count, count, many, keys, many)),
        ]
        for size in (1, 2, 4, 8):
            value = np.dtype(f"u{size}")
            values = _type(value)[::1]
            named.append((
                f"scatter_digits_{value}",
                make_scatter_digits(threads, key, value),
                (keys, values, count, shift, many, keys, values),
            ))  # fmt: skip
        found += [(f"{name}_{key}", function, types.void(*args)) for name, function, args in named]
    return found
