"""A graph that several tests of devices use."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.ingest import options as build_options


@pytest.fixture(scope="session")
def paged(tmp_path_factory):
    """A directed graph of many pages, with lists longer than a page both ways, and vertices without
    edges.
    """
    rng = np.random.default_rng(5)
    n = 3000
    src, dst = rng.integers(0, n, (2, 3000))
    spokes = rng.permutation(n)[:2500]
    src = np.concatenate([src, spokes, np.full(2500, 7)])
    dst = np.concatenate([dst, np.full(2500, 3), spokes])
    weight = rng.integers(1, 20, len(src)).astype(np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_options, "MIN_PAGE_BYTES", 4096)
        return ps.build(
            (src, dst, weight), tmp_path_factory.mktemp("g") / "g", weights=True, page_size=4096,
            num_vertices=n + 5,
        )  # fmt: skip
