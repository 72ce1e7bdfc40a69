"""Algorithms that keep their answer while edges come and go, each read when it is asked for."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any

from penstock.dynamic.maintained.protocol import Maintained, Sides
from penstock.errors import OptionError

#: Where each algorithm is: a module of this folder, which has ``make(sides, **parameters)``.
MAINTAINED: dict[str, str] = {
    "bfs": "bfs",
    "color": "coloring",
    "connected_components": "components",
    "degree": "degrees",
    "pagerank": "pagerank",
    "sssp": "sssp",
    "triangles": "triangles",
}


def make(name: str, sides: Sides, **parameters: Any) -> Maintained:
    """The algorithm of that name for a live graph; ``start`` it before anything else."""
    if name not in MAINTAINED:
        raise OptionError(
            f"maintain: expected one of {', '.join(sorted(MAINTAINED))}; got {name!r}"
        )
    function = import_module(f"{__name__}.{MAINTAINED[name]}").make
    try:
        signature(function).bind(sides, **parameters)
    except TypeError as error:
        takes = ", ".join(list(signature(function).parameters)[1:]) or "none"
        raise OptionError(f"{name}: {error}; its parameters: {takes}") from None
    made: Maintained = function(sides, **parameters)
    return made
