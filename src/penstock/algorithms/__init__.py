"""The algorithms, one file each. A file here that does not begin with ``_`` holds the algorithm of
its name.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from penstock.engine.algorithm import Algorithm
from penstock.errors import OptionError


def names() -> list[str]:
    """All algorithms, in alphabetical order."""
    return sorted(module.name for module in iter_modules(__path__) if module.name[0] != "_")


def find(name: str) -> Algorithm:
    """The algorithm of that name; dashes may stand for underscores."""
    plain = name.replace("-", "_")
    if plain not in names():
        raise OptionError(f"there is no algorithm {name!r}; there are {', '.join(names())}")
    found: Algorithm = getattr(import_module(f"{__name__}.{plain}"), plain)
    return found
