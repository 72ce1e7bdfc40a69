"""What tests of several hosts share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: Any) -> Path:
    """A scratch folder of the test's own, in which nothing may be left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("PENSTOCK_SCRATCH", str(folder))
    return folder
