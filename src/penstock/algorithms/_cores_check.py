"""Whether core numbers are right: by all edges, without peeling level by level."""

from __future__ import annotations

import numpy as np

from penstock.errors import VerificationError
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.types import I64, Array


def check_cores(graph: Graph, name: str, cores: I64, exact: Array) -> None:
    """Raise unless core numbers (by vertex number) are right; those that are not ``exact`` may be
    too large.

    A vertex has at least as many neighbours of its own core number or a larger one as that says:
    so no number is too large. And if vertices are taken away that have no more than that, counting
    all neighbours of larger numbers and those of the same that are left, all go: none is too small.
    """
    larger: I64 = np.zeros(graph.num_vertices, np.int64)
    equal: list[Array] = []
    for src, dst, _ in graph.iter_edges():
        for u, v in ((src, dst), (dst, src)):
            np.add.at(larger, u[cores[v] > cores[u]], 1)
        same = (cores[src] == cores[dst]) & (src != dst)
        equal.append(np.stack((src[same], dst[same])))
    src, dst = np.concatenate([np.empty((2, 0), np.uint32), *equal], axis=1)
    ends = np.concatenate((src, dst))
    degrees = larger + np.bincount(ends, minlength=len(cores))
    wrong = np.flatnonzero(exact & (degrees < cores))
    if len(wrong):
        k = wrong[0]
        raise VerificationError(
            f"{name}: vertex {graph.ids_by_vid()[k]} of core number {cores[k]} has {degrees[k]} "
            "neighbours of at least that number"
        )
    order = np.argsort(ends, kind="stable")
    offsets = np.searchsorted(ends[order], np.arange(len(cores) + 1))
    stays = _take_away(cores, degrees, offsets, np.concatenate((dst, src))[order])
    if stays >= 0:
        few = "of" if exact[stays] else "that should be at most of"
        raise VerificationError(
            f"{name}: vertex {graph.ids_by_vid()[stays]} {few} core number {cores[stays]} is in a "
            "core of a larger number"
        )


@kernel
def _take_away(cores, degrees, offsets, neighbours):  # type: ignore[no-untyped-def]
    """Take vertices away that have no more neighbours left than their core number says; one that
    stays, or -1.
    """
    waiting = [v for v in range(len(cores)) if degrees[v] <= cores[v]]
    gone = np.zeros(len(cores), np.bool_)
    for v in waiting:
        gone[v] = True
    while len(waiting) > 0:
        v = waiting.pop()
        for u in neighbours[offsets[v] : offsets[v + 1]]:
            degrees[u] -= 1
            if not gone[u] and degrees[u] <= cores[u]:
                gone[u] = True
                waiting.append(np.int64(u))
    for v in range(len(cores)):
        if not gone[v]:
            return v
    return -1
