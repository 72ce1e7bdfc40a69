"""What all tests of this folder share."""

from __future__ import annotations

import pytest

from penstock.ingest import build, numbering


@pytest.fixture(autouse=True)
def retain_freed_memory_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds here are so small that giving memory back takes most of their time."""
    for module in (build, numbering):
        monkeypatch.setattr(module, "release", lambda: None, raising=False)
