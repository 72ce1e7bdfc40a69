"""What all tests share."""

from __future__ import annotations

import gc
import os
import sys
import threading

# Before Numba is imported: tests of CUDA kernels run in its simulator, GPU or not.
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import pytest
from hypothesis import settings

# The first example may compile kernels, and the machines that run this are busy.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: collections of garbage need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def simulator():
    """Numba's simulator, made safe and quick. Threads that ask for a shared array at the same time
    may each get one of their own there; and they wait for each other most of the time.
    """
    import numpy as np
    from numba.cuda.simulator.kernelapi import FakeCUDAShared
    from numba.np.numpy_support import as_dtype

    before, turn, original = sys.getswitchinterval(), threading.Lock(), FakeCUDAShared.array

    def array(self, shape, dtype):
        if shape == 0:
            return original(self, shape, dtype)
        frame = sys._getframe(1)
        place = frame.f_code, frame.f_lineno
        with turn:
            if place not in self._allocations:
                kind = dtype if isinstance(dtype, np.dtype | type) else as_dtype(dtype)
                self._allocations[place] = np.empty(shape, kind)
            return self._allocations[place]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeCUDAShared, "array", array)
        sys.setswitchinterval(1e-4)
        yield
        sys.setswitchinterval(before)
