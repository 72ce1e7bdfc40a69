"""Stores that tests look at, and copies of them to be damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from store_making import random_lists, write_store

from penstock.store import first_use
from penstock.types import Adjacency


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are checked block by block: even small ones have several, and none takes long."""
    monkeypatch.setattr(first_use, "_BLOCK_BYTES", 4096)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Stores of several kinds, not to be changed: by layout, and 'undirected'."""
    root = tmp_path_factory.mktemp("made")
    lists = random_lists(150, 40, 1, weighted=True)
    for layout in ("banded", "slotted"):
        write_store(root / layout, lists, layout=layout, weight="weight")
    once = random_lists(120, 30, 2)
    pairs = np.stack([np.repeat(np.arange(120), once.degrees), once.neighbours])
    both = np.unique(np.concatenate([pairs, pairs[::-1]], axis=1), axis=1)
    degrees = np.bincount(both[0], minlength=120).astype(np.uint32)
    symmetric = Adjacency(0, degrees, both[1].astype(np.uint32), {})
    write_store(root / "undirected", symmetric, directed=False)
    # A vertex with more neighbours than a page of 4096 bytes holds.
    hub = Adjacency(
        0, np.array([5000] + [0] * 4999, np.uint32), np.arange(5000, dtype=np.uint32), {}
    )
    for layout in ("banded", "slotted"):
        write_store(root / f"hub {layout}", hub, layout=layout)
    return root


@pytest.fixture
def store(made, tmp_path):
    """A copy of a store, to be damaged."""

    def copy(kind: str = "banded") -> Path:
        return Path(shutil.copytree(made / kind, tmp_path / "g", symlinks=True))

    return copy
