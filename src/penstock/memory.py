"""Giving memory back to the system.

The C library keeps what was freed for later; between the stages of a long piece of work, whose
arrays differ in size, that would add up.
"""

from __future__ import annotations

import ctypes
import gc
import sys


def release() -> None:
    """Return freed memory to the system."""
    gc.collect(1)
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it; others need it less
    if trim is not None:
        trim(0)
