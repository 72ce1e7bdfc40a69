"""Which way the next frontier is found, top-down or bottom-up, by what each costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["top-down", "bottom-up"]

#: A frontier of at most so many edges is expanded by one thread: others would hardly help before it
#: is done.
SMALL_EDGES = 1 << 18
#: One of at most so many is not worth another way in any case.
TINY_EDGES = 1 << 12
#: What bottom-up costs, in edges looked at top-down: an unvisited vertex ...
VERTEX_COST = 0.75
#: ... and an edge that it is expected to look at.
LOOK_COST = 0.1

#: What reading costs, in edges looked at: a list on its own, or an edge of a pass over all lists;
#: and a list that was read.
READ_COST = 500
PASS_COST = 0.05
LIST_COST = 6
#: So few lists are read without asking anybody.
FEW_LISTS = 16


@dataclass(frozen=True, slots=True)
class ListCosts:
    """What lists cost where they are, in edges looked at."""

    #: An edge of a list that has to be read first.
    reading: float
    #: An edge of a list that is left early, on average, as pulling does.
    pulling: float


IN_MEMORY = ListCosts(reading=0.0, pulling=0.25)
STREAMED = ListCosts(reading=PASS_COST, pulling=1.0)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of a frontier before it is expanded."""

    #: Vertices of the frontier, and of the one before it.
    count: int
    before: int
    #: Edges that lead away from the frontier.
    edges: int
    #: Vertices not reached yet that have edges, and the edges that lead to them.
    unreached: int
    unexplored: int
    #: How the frontier itself was found.
    mode: Mode
    #: Edges for each vertex of the graph.
    edge_factor: float = 0.0


def stays_small(edges: int, unexplored: int) -> bool:
    """Whether a frontier of so many edges is expanded top-down by one thread, without a look at the
    costs: it is small, and does not have most of the edges that are left.
    """
    return edges <= TINY_EDGES or (edges <= SMALL_EDGES and edges <= unexplored)


def bottom_up_cost(outlook: Outlook) -> float:
    """What bottom-up costs with the lists in memory, in edges looked at top-down. An unvisited
    vertex looks until it finds one of the frontier: the more of the edges that are left come from
    there, the sooner.
    """
    looks = outlook.unreached * (outlook.edges + outlook.unexplored) / max(outlook.edges, 1)
    return VERTEX_COST * outlook.unreached + LOOK_COST * min(looks, outlook.unexplored)


def choose_by_cost(outlook: Outlook) -> Mode:
    """The way that costs less with the lists in memory; top-down looks at every edge of the
    outlook.
    """
    if stays_small(outlook.edges, outlook.unexplored):
        return "top-down"
    return "bottom-up" if bottom_up_cost(outlook) < outlook.edges else "top-down"


@dataclass(frozen=True, slots=True)
class Sample:
    """What some unvisited vertices found in the first edges of their lists."""

    vertices: int
    #: Edges that they looked at; vertices that found nobody and whose list goes on.
    looked: int
    unresolved: int


def reading_cost(lists: float, num_edges: int) -> float:
    """What it costs to read some lists: each on its own, or all edges one after another."""
    return min(READ_COST * lists, PASS_COST * num_edges) + LIST_COST * lists


def few_to_read(edges: int, lists: int) -> bool:
    """Whether a frontier is expanded top-down without asking how bottom-up would go."""
    return edges <= SMALL_EDGES and lists <= FEW_LISTS


def choose_tiered(outlook: Outlook, lists: int, sample: Sample, num_edges: int) -> Mode:
    """The way that costs less if only the first edges are in memory. Top-down reads ``lists``;
    bottom-up, a vertex reads its list unless one of its first edges leads to the outlook.
    """
    down = outlook.edges + reading_cost(lists, num_edges)
    factor = outlook.unreached / max(sample.vertices, 1)
    up = VERTEX_COST * outlook.unreached + LOOK_COST * factor * sample.looked
    up += reading_cost(factor * sample.unresolved, num_edges)
    return "bottom-up" if up < down else "top-down"


def choose_streamed(outlook: Outlook) -> Mode:
    """The way that reads less where a list is read as a whole."""
    return "bottom-up" if outlook.edges > outlook.unexplored else "top-down"
