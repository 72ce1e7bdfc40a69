"""Garaph's experiments on replication and on devices: each a function from a workbench to rows.

There need not be a GPU. Rounds of atomic additions are counted (see :mod:`.garaph_conflicts`), and
times of a GPU come from the paper's equation (1), in accesses to memory.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from penstock.device.replication import cut_shards, time_model
from penstock.interfaces.bench.garaph_conflicts import WARP, count_rounds
from penstock.interfaces.bench.garaph_workloads import ACCUMULATOR_BYTES, Garaph, page_bounds
from penstock.interfaces.bench.suite import Row, grouped
from penstock.types import I64

#: Copies of each accumulator; None: as many as the degrees of each shard ask for.
REPLICAS = (1, 2, 4, 8, 16, 32, None)
#: Seconds do not matter here: the paper takes an access to global memory and an atomic addition to
#: last equally long.
LOAD_TIME = ATOMIC_TIME = 1.0


def pages(bench: Garaph) -> list[Row]:
    """Rounds of each page (Figure 8: with one copy, and with copies by shard)."""
    bench.progress.start("pages", len(bench.offsets) * len(REPLICAS), "countings")
    rows = []
    for order, offsets in bench.offsets.items():
        bounds = page_bounds(offsets)
        for replicas in REPLICAS:
            rows += [
                {
                    "order": order,
                    "replicas": replicas,
                    "page": page,
                    **_count(offsets[begin : end + 1], replicas, bench.shared_bytes),
                }
                for page, (begin, end) in enumerate(pairwise(bounds.tolist()))
            ]
            bench.progress.advance(1)
    return rows


def replication(bench: Garaph) -> list[Row]:
    """Rounds and modelled times of all pages together (Figure 9)."""
    sums = ("vertices", "edges", "shards", "warps", "rounds", "modelled", "modelled_by_rounds")
    rows = []
    for order, mine in grouped(pages(bench), "order"):
        for replicas, same in grouped(mine, "replicas"):
            row: Row = {"order": order, "replicas": replicas}
            row |= {name: sum(page[name] for page in same) for name in sums}
            copies = sum(page["mean_replicas"] * page["shards"] for page in same)
            rows.append({**row, "mean_replicas": copies / row["shards"]})
    return rows


def _count(offsets: I64, replicas: int | None, shared_bytes: int) -> Row:
    """What is counted and modelled of a page with these offsets.

    In equation (1) all atomic additions take ``E^2 / (V R)``; where rounds are counted, each of the
    32 threads of a warp takes as long as the warp has rounds.
    """
    cut = cut_shards(offsets, shared_bytes, 1, ACCUMULATOR_BYTES, replicas)
    bounds, copies = cut.bounds.astype(np.int64), cut.replicas.astype(np.int64)
    vertices, edges = np.diff(bounds), np.diff(offsets[bounds])
    warps, rounds = count_rounds(offsets, bounds, copies)
    shards = list(zip(vertices.tolist(), edges.tolist(), copies.tolist(), strict=True))
    modelled = [time_model(v, e, r, LOAD_TIME, ATOMIC_TIME) for v, e, r in shards]
    conflicts = [e * e / (v * r) * ATOMIC_TIME for v, e, r in shards]
    counted = int(rounds.sum()) * WARP * ATOMIC_TIME
    return {
        "vertices": len(offsets) - 1,
        "edges": int(edges.sum()),
        "largest_degree": int(np.diff(offsets).max()),
        "shards": len(shards),
        "mean_replicas": float(copies.mean()),
        "warps": int(warps.sum()),
        "rounds": int(rounds.sum()),
        "slowest_rounds": int(rounds.max()),
        "modelled": sum(modelled),
        "modelled_by_rounds": sum(modelled) - sum(conflicts) + counted,
    }


def correlation(rows: list[Row], name: str) -> float | None:
    """Of a number with the largest degree, over pages; None if one of them never changes."""
    both = np.array([[row[name], row["largest_degree"]] for row in rows], float).T
    if (both.min(axis=1) == both.max(axis=1)).any():
        return None
    return float(np.corrcoef(both)[0, 1])
