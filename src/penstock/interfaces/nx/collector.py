"""Python's collector of cycles, which looks through a whole graph of dictionaries again and again
while many small lists are made.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """For the making of lists that are in no cycle: nothing is collected meanwhile."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
