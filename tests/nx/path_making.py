"""Graphs with weights whose paths tie often, and what a function makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import networkx as nx

#: What an edge may weigh, by kind: many zeros, many ties, fractions, less than 0.
WEIGHTS = {
    "zero": (0, 1),
    "int": (1, 2, 3, 4),
    "float": (0.5, 1.25, 2.0, 3.5),
    "negative": (-1, 1, 2, 3, 4, 5),
}
CLASSES = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


def tied_graph(cls, kind, seed, nodes=12):
    """Names that are no numbers, nodes and neighbours in no order, loops, parallel edges, a node
    on its own, and edges without a weight, which is then 1.
    """
    draw = random.Random(f"{cls.__name__} {kind} {seed}")
    graph = cls()
    names = [f"n{k}" for k in range(nodes)]
    draw.shuffle(names)
    graph.add_nodes_from(names)
    for _ in range(draw.randrange(3 * nodes)):
        ends = draw.choices(names[1:], k=2)
        weight = draw.choice(WEIGHTS[kind])
        graph.add_edge(*ends, **({"weight": weight} if draw.random() < 0.9 else {}))
    return graph


def hides_some(u, v, _data):
    """A weight that depends on the direction, and hides some edges."""
    code = 3 * int(u[1:]) + 5 * int(v[1:])
    return None if code % 7 == 0 else code % 4


def depends_on_direction(u, v, _data):
    return (3 * int(u[1:]) + 5 * int(v[1:])) % 4


def outcome(function, *args, **options):
    """What comes back, dictionaries as pairs in their order and iterators as lists; or the class of
    the error, with what it says where that is ValueError's.
    """
    try:
        return _in_order(function(*args, **options))
    except (nx.NetworkXException, ValueError) as error:
        return type(error), error.args if isinstance(error, ValueError) else None


def _in_order(found):
    if isinstance(found, dict):
        return [(key, _in_order(value)) for key, value in found.items()]
    if isinstance(found, list | tuple | Iterator):
        return [_in_order(each) for each in found]
    return found


def is_path(graph, path, length, weight="weight"):
    """Whether a path is there and has this length."""
    return abs(sum(graph[u][v].get(weight, 1) for u, v in pairwise(path)) - length) < 1e-9
