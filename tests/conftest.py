"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# The first example may compile kernels, and the machines that run this are busy.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")
