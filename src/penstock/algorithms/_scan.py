"""Structural clustering, once the common neighbours of every edge are known.

Four passes over the edges: how many neighbours each vertex is similar to; cores that are similar
are joined, by hooking as connected components are; others that are similar to a core get the
smallest label; and what is left is a hub if it sees two labels. A pass is left out if it could find
nothing. All of it is whole numbers, so that neither threads nor windows make a difference.

Two ends are similar if (c + 2) / sqrt((d + 1) (e + 1)) >= epsilon, c being their common neighbours
and d and e the neighbours of each: in doubles, one operation after the other as it stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.algorithms import _scan_kernels as kernels
from penstock.algorithms._scan_kernels import BORDER, CORE, HUB, OUTLIER
from penstock.engine.engine import Engine
from penstock.engine.windows import Window
from penstock.store.mapped import iter_parts
from penstock.types import NO_VERTEX, U8, U32, VID

#: What the numbers of roles mean.
ROLES = ("core", "border", "hub", "outlier")
#: Bytes for each vertex: labels and numbers (4 each), and roles. What is given is not counted.
VERTEX_BYTES = 9
#: How far from the border squares may be wrong, relatively; a few roundings are 1e-15.
DOUBT = 1e-12

Windows = Callable[[], Iterator[Window]]
assert (CORE, BORDER, HUB, OUTLIER) == (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Clustering:
    """What vertices are, by vertex number."""

    #: The rank (place in ascending order of ids) of the smallest core of the cluster; NO_VERTEX for
    #: hubs and outliers.
    labels: U32
    #: See :data:`ROLES`.
    roles: U8
    clusters: int
    cores: int
    borders: int
    hubs: int

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of everything."""
        members = self.cores + self.borders
        outliers = len(self.roles) - members - self.hubs
        return {
            "clusters": self.clusters, "cores": self.cores, "borders": self.borders,
            "hubs": self.hubs, "outliers": outliers,
        }  # fmt: skip


def cluster(
    engine: Engine, windows: Windows, num_neighbours: U32, epsilon: float, mu: int
) -> Clustering:
    """The clusters of a graph whose windows have the common neighbours of each edge as values;
    ``num_neighbours`` are the distinct neighbours of each vertex, without itself.
    """
    labels: U32 = engine.array("labels", VID)
    roles: U8 = engine.array("roles", np.uint8)
    # First the similar neighbours of each vertex, then the smallest rank of each tree, then a label
    # among the neighbours.
    numbers: U32 = engine.array("numbers", np.uint32, 0)
    # A vertex is similar to itself, and that counts; none has as many neighbours as NO_VERTEX.
    enough = np.uint32(min(mu - 1, NO_VERTEX))
    square = epsilon * epsilon
    limits = (epsilon, square * (1 - DOUBT), square * (1 + DOUBT))

    def each_edge(mode: str, kernel: Callable[..., Any], *args: Any) -> None:
        with engine.step(mode=mode):
            for window in windows():
                _over(engine, window, kernel, *args)

    engine.options.progress.start("passes", None, "passes")
    if enough:
        each_edge("count similar", kernels.count_similar, num_neighbours, limits, enough, numbers)
    cores = sum(engine.map_ranges(kernels.name_cores, numbers, enough, roles, labels))
    clusters = borders = hubs = 0
    if cores:
        each_edge("join cores", kernels.join_cores, num_neighbours, limits, roles, labels)
        engine.map_ranges(kernels.compress, labels)
        clusters = _name(engine, labels, numbers)
    # What is similar to one other vertex has two in its neighbourhood: it is a core if two do.
    if 0 < cores < engine.num_vertices and enough > 1:
        each_edge("reach borders", kernels.reach_borders, num_neighbours, limits, roles, labels)
        borders = sum(engine.map_ranges(kernels.name_borders, labels, roles))
    if clusters > 1 and cores + borders < engine.num_vertices:
        numbers[:] = NO_VERTEX
        each_edge("find hubs", kernels.find_hubs, labels, roles, numbers)
        hubs = sum(engine.map_ranges(kernels.count_role, roles, HUB))
    engine.free("numbers")
    return Clustering(labels, roles, clusters, cores, borders, hubs)


def _over(engine: Engine, window: Window, kernel: Callable[..., Any], *args: Any) -> None:
    """Call a kernel for all edges of a window."""
    engine.count_edges(window.num_entries)
    engine.map_ranges(
        kernel, np.uint64(window.first), window.offsets, window.neighbours, window.values, *args,
        length=window.last - window.first,
    )  # fmt: skip


def _name(engine: Engine, labels: U32, least: U32) -> int:
    """Labels that are roots become the smallest rank of a core in the tree; how many trees."""
    order = engine.graph.vid_of_rank
    if order is None:  # vertices are numbered by their ids, and roots are the smallest of a tree
        return sum(engine.map_ranges(kernels.count_roots, labels))
    least[:] = NO_VERTEX
    clusters = 0
    for rank, vertices in iter_parts(order):
        clusters += int(kernels.rank_roots(vertices, rank, labels, least))
    engine.map_ranges(kernels.name_clusters, least, labels)
    return clusters
