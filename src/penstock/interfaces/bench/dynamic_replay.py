"""Real streams of edges, as published: messages, ratings, and a graph with its changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import VerificationError
from penstock.interfaces.bench.dynamic_runs import OURS, Ours, make_single, timed_batches
from penstock.interfaces.bench.dynamic_stores import ALL_ADDS
from penstock.interfaces.bench.dynamic_workbench import Dynamic
from penstock.interfaces.bench.dynamic_workloads import Requests
from penstock.interfaces.bench.suite import Row
from penstock.metrics import clock
from penstock.types import Array

#: Values of edges by name, a row for each request.
Properties = dict[str, Array]


@dataclass(frozen=True)
class Stream:
    """A file of requests in the order in which they came."""

    name: str
    path: str
    read: Callable[[Path], tuple[Requests, Properties]]
    #: Whether each edge is there once (True), or as often as it is added.
    ways: tuple[bool, ...] = (True,)
    #: A file of the edges that must be there in the end, with their property.
    end: str | None = None


def _requests(src: Array, dst: Array, adds: Array = ALL_ADDS) -> Requests:
    num_ids = int(max(src.max(), dst.max())) + 1
    return Requests(src.astype(np.uint64), dst.astype(np.uint64), adds.astype(np.uint8), num_ids)


def read_messages(path: Path) -> tuple[Requests, Properties]:
    """Lines ``from to time``."""
    src, dst, time = np.loadtxt(path, np.int64, unpack=True)
    return _requests(src, dst), {"time": time}


def read_ratings(path: Path) -> tuple[Requests, Properties]:
    """Lines ``from,to,rating,time``."""
    src, dst, rating, time = np.loadtxt(path, delimiter=",", unpack=True)
    return _requests(src, dst), {"rating": rating.astype(np.int8), "time": time}


def read_changes(path: Path) -> tuple[Requests, Properties]:
    """Edges ``from to weight`` to begin with, and beside them, under the same name with ``_delta``
    for ``_base``, changes: ``a from to weight`` adds an edge, ``u`` gives it another weight, ``d
    from to`` deletes it.
    """
    src, dst, weight = np.loadtxt(path, np.int64, unpack=True)
    changes = path.with_name(path.name.replace("_base", "_delta"))
    lines = [line.split() for line in changes.read_text().splitlines() if line]
    kinds = np.array([line[0] for line in lines])
    ends = np.array([line[1:3] for line in lines], np.int64)
    weights = [int(line[3]) if len(line) > 3 else 0 for line in lines]
    requests = _requests(
        np.concatenate([src, ends[:, 0]]),
        np.concatenate([dst, ends[:, 1]]),
        np.concatenate([np.ones(len(src), np.uint8), kinds != "d"]),
    )
    return requests, {"weight": np.concatenate([weight, weights]).astype(np.int32)}


STREAMS = (
    Stream("messages", "graphs/CollegeMsg.txt", read_messages, (True, False)),
    Stream("ratings", "graphs/soc-sign-bitcoinotc.csv", read_ratings),
    Stream("changes", "p2p-31/p2p-31.e.mutable_base", read_changes, end="p2p-31/p2p-31.e"),
)


def replayed(bench: Dynamic, stream: Stream, *, unique: bool) -> list[Row]:
    """A stream into each store; ours also keeps the values of edges."""
    assert bench.data is not None
    requests, properties = stream.read(bench.data / stream.path)
    rows = []
    for name in bench.stores:

        def measure(name: str = name) -> tuple[float, int]:
            if name != OURS:
                store = make_single(name, unique=unique)
                return sum(timed_batches(store, requests, bench.batch)), store.num_edges
            dtypes = {key: values.dtype for key, values in properties.items()}
            with bench.store(OURS, unique=unique, edge_properties=dtypes) as live:
                assert isinstance(live, Ours)
                seconds = _sent(live.graph, requests, properties, bench.batch)
                if stream.end is not None:
                    check_end(live.graph, bench.data / stream.end)  # type: ignore[operator]
                return seconds, live.num_edges

        seconds, edges = bench.best(measure, lambda found: found[0])
        rows.append({
            "stream": stream.name, "unique": unique, "store": name, "requests": len(requests),
            "seconds": seconds, "rate": len(requests) / seconds, "num_edges": edges,
        })  # fmt: skip
    return rows


def _sent(graph: Any, requests: Requests, properties: Properties, rows: int) -> float:
    """Requests with the values of their edges; the seconds they take."""
    begin = clock()
    for first, (src, dst, adds) in enumerate(requests.batches(rows)):
        part = slice(first * rows, first * rows + len(src))
        values = {key: column[part] for key, column in properties.items()}
        every = adds.astype(bool) if len(adds) else np.ones(len(src), bool)
        graph.update_edges(src, dst, every, values)
    return clock() - begin


def check_end(graph: Any, path: Path) -> None:
    """Raise unless the graph has exactly the edges of a file ``from to weight``."""
    expected = np.loadtxt(path, np.int64, ndmin=2)
    src, dst, values = graph.to_edges()
    found = np.stack([src.astype(np.int64), dst.astype(np.int64), values.astype(np.int64)], axis=1)
    for table in (expected, found):
        table[:] = table[np.lexsort(table.T[::-1])]
    if expected.shape != found.shape or (expected != found).any():
        raise VerificationError(
            f"{path}: the graph has {len(found):,} edges after its changes, and not exactly the "
            f"{len(expected):,} of that file"
        )
