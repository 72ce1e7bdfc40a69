"""How the text kernels are compiled: as ``penstock.jit`` does, but without counting references.

They only borrow the arrays they are given, and are many small functions that pass them on; Numba's
counting of references at every such call would take longer than reading the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False}


def kernel(function: F) -> F:
    """Compile a function that neither makes nor returns arrays."""
    compiled: F = numba.njit(**_OPTIONS)(function)
    return compiled


def inlined(function: F) -> F:
    """Compile a helper of a kernel of the same file into each place that calls it."""
    compiled: F = numba.njit(forceinline=True, **_OPTIONS)(function)
    return compiled
