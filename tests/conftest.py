"""What all tests share."""

from __future__ import annotations

import gc
import os

# Before Numba is imported: tests of CUDA kernels run in its simulator, GPU or not.
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

from hypothesis import settings

# The first example may compile kernels, and the machines that run this are busy.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: collections of garbage need not look at them."""
    gc.collect()
    gc.freeze()
