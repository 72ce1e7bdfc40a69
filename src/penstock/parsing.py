"""Parsing Python in several threads at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Found = TypeVar("Found")
#: How often a call is made before its error is believed.
_MOST_TRIES = 10


def parse(call: Callable[[], Found]) -> Found:
    """Make a call that parses Python, as ``compile`` and NumPy's reader of headers do. CPython 3.11
    raises a SystemError if threads do so at the same time (python/cpython#106905): then again.
    """
    for _ in range(_MOST_TRIES - 1):
        with suppress(SystemError):
            return call()
    return call()
