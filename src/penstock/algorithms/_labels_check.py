"""Whether labels are those that label propagation gives.

Labels of a last round do not show where they came from: all rounds are done again, in another way.
Every edge brings each of its ends a vote for the label of the other one. Votes are sorted by who
gets them and what they are for, so that equal ones stand together and the smallest label comes
first. Where there are many, only those for some of the vertices are looked at at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.algorithms._vids import by_vid
from penstock.errors import VerificationError
from penstock.types import Array

if TYPE_CHECKING:
    from penstock.engine.result import Result
    from penstock.store.graph import Graph

#: Votes that are sorted at a time: vertices are cut into ranges that get no more on average.
VOTES = 1 << 24


def verify(graph: Graph, result: Result) -> None:
    """All rounds again: every edge brings two votes, which are sorted by who gets them and what
    they are for.
    """
    labels: Array = by_vid(graph, np.arange(graph.num_vertices))
    names = graph.ids_by_vid()
    for _ in range(result.stats["parameters"]["max_iter"]):
        new = _round(graph, labels)
        if np.array_equal(new, labels):
            break
        labels = new
    expected = graph.ids[labels]
    wrong = np.flatnonzero(by_vid(graph, result.values) != expected)
    if len(wrong):
        k = wrong[0]
        raise VerificationError(
            f"label_propagation: vertex {names[k]} has the label {result[names[k]]}, expected "
            f"{expected[k]} ({len(wrong):,} vertices have another label than expected)"
        )


def _round(graph: Graph, labels: Array) -> Array:
    """The labels after a round."""
    n = graph.num_vertices
    new = labels.copy()
    ranges = max(1, -(-2 * graph.num_edges // VOTES))
    # Vertices of many edges have small numbers; every so many-th vertex is in one range.
    for k in range(ranges):
        votes = []
        for src, dst, _ in graph.iter_edges():
            for u, v in ((src, dst), (dst, src)):
                mine = v % ranges == k
                if not graph.directed and v is src:
                    mine &= u != v  # an undirected loop counts once
                votes.append(v[mine].astype(np.int64) * n + labels[u[mine]])
        _count(np.concatenate([np.empty(0, np.int64), *votes]), n, new)
    return new


def _count(votes: Array, n: int, new: Array) -> None:
    """Labels of vertices that get votes; a vote is vertex * n + label."""
    if len(votes) == 0:
        return
    votes.sort()
    begins = np.flatnonzero(np.concatenate([[True], votes[1:] != votes[:-1]]))
    counts = np.diff(begins, append=len(votes))
    vertices, choices = np.divmod(votes[begins], n)
    groups = np.flatnonzero(np.concatenate([[True], vertices[1:] != vertices[:-1]]))
    most = np.repeat(np.maximum.reduceat(counts, groups), np.diff(groups, append=len(vertices)))
    best = np.flatnonzero(counts == most)
    # The first of a vertex's best choices is the smallest.
    first = best[np.concatenate([[True], vertices[best][1:] != vertices[best][:-1]])]
    new[vertices[first]] = choices[first]
