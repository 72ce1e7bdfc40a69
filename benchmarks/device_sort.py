"""Sorting pairs on the CPU in a quarter of the room that all of them would take, against NumPy.

    python benchmarks/device_sort.py --pairs 16000000

Keys are random, values 8 bytes. NumPy's stable sort of positions is compared with and without
taking keys and values in that order; its sort of keys alone moves no values and is the limit.
Smallest seconds of several calls in turns, and how many times as long as ours it takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import table

from penstock.device.cpu_sort import CpuSorter
from penstock.device.sorting import sort_pairs


def in_order(keys: Any, values: Any) -> tuple[Any, Any]:
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def compare(pairs: int, key: Any, threads: int, rounds: int) -> list[tuple[object, ...]]:
    """One row for each way to sort."""
    rng = np.random.default_rng(1)
    keys = rng.integers(0, np.iinfo(key).max, pairs, key, endpoint=True)
    values = rng.random(pairs)
    quarter = (keys.nbytes + values.nbytes) // 4
    ways: dict[str, Callable[[], Any]] = {
        "argsort, taken": lambda: in_order(keys, values),
        "argsort": lambda: np.argsort(keys, kind="stable"),
        "sort of keys": lambda: np.sort(keys),
        "ours, room for all": lambda: sort_pairs(keys, values, CpuSorter(threads=1)),
        "ours, 1/4 of it": lambda: sort_pairs(keys, values, CpuSorter(quarter)),
        f"ours, 1/4, {threads} threads": lambda: sort_pairs(
            keys, values, CpuSorter(quarter, threads)
        ),
    }
    sort_pairs(keys[:1000], values[:1000], CpuSorter(4000))  # compiles
    expected = in_order(keys, values)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, call in ways.items():
            begin = time.perf_counter()
            found = call()
            best[name] = min(best[name], time.perf_counter() - begin)
            if name.startswith("ours"):
                np.testing.assert_array_equal(found[0], expected[0])
                np.testing.assert_array_equal(found[1], expected[1])
            del found
    ours = best["ours, 1/4 of it"]
    return [(np.dtype(key).name, name, t, t / ours) for name, t in best.items()]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Out-of-core sorting of pairs on the CPU.")
    parser.add_argument("--pairs", type=int, default=16_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows: list[tuple[object, ...]] = [("keys", "way", "seconds", "times ours in 1/4")]
    for key in (np.uint32, np.uint64):
        rows += compare(options.pairs, key, options.threads, options.rounds)
    table(rows)


if __name__ == "__main__":
    main()
