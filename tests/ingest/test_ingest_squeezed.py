"""The ways of graphs that fit nowhere: divided buckets, files, indexes in parts, large pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingest_oracle import Input, check_graph
from ingest_squeeze import TINY, Squeeze, squeezed

from penstock.ingest import ids, names
from penstock.ingest.build import build
from penstock.ingest.options import BuildOptions
from penstock.sorting.external import ExternalSort

MEMORY = 1 << 24


def skewed(
    seed: int, rows: int, *, name: Callable[[int], Any] = int, **columns: str | None
) -> Input:
    """Rows of which many leave one vertex, and many are the same edge."""
    rng = np.random.default_rng(seed)
    src = np.where(rng.random(rows) < 0.4, 7, rng.integers(0, 50, rows))
    dst = np.where(rng.random(rows) < 0.3, 9, rng.integers(0, 50, rows))
    values = {k: (rng.integers(-50, 50, rows) / 8).tolist() for k in columns}
    values = {k: [round(x) for x in v] if columns[k] == "int32" else v for k, v in values.items()}
    weight = "weight" if "weight" in columns else None
    ends = [[name(v) for v in side.tolist()] for side in (src, dst)]
    return Input(ends[0], ends[1], values, dict(columns), weight, isinstance(ends[0][0], str))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each way that only large graphs go was gone."""
    counts: Counter[str] = Counter()

    def watch(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, watched)

    watch(ExternalSort, "_divided")
    watch(ExternalSort, "_reduced")
    watch(ExternalSort, "_batches")
    watch(ids, "_merged")
    watch(ids, "_Index")
    watch(names, "_Run")
    return counts


DUPLICATES = ["keep", "first", "last", "min", "max", "sum"]


@pytest.mark.parametrize("duplicates", DUPLICATES)
@pytest.mark.parametrize("neighbour_order", ["id", "degree", "input"])
def test_divided_buckets(
    tmp_path: Path, calls: Counter[str], duplicates: Any, neighbour_order: Any
) -> None:
    # Each rule, and each order, with either kind of edges; all three at once in the tests of rules.
    odd = DUPLICATES.index(duplicates) + ["id", "degree", "input"].index(neighbour_order)
    directed = odd % 2 == 0
    given = skewed(1, 200, weight=None, since="int32")
    options = BuildOptions(
        directed=directed, duplicates=duplicates, neighbour_order=neighbour_order, memory=MEMORY,
        vertex_order="none", threads=2,
    )  # fmt: skip
    with squeezed(TINY):
        graph = build(given.source(30), tmp_path / "g", options)
    check_graph(graph, given, options)
    assert calls["_divided"] > 1


@pytest.mark.parametrize("spread", [1, 1 << 20, 1 << 34, (1 << 58) + 3])
def test_index_in_parts(tmp_path: Path, calls: Counter[str], spread: int) -> None:
    given = skewed(2, 300, name=lambda v: v * spread + 65_536, label="int32")
    given = replace(given, extra=[1, 2**63, 2**64 - 1, 2**40])
    options = BuildOptions(memory=MEMORY, threads=2)
    with squeezed(TINY):
        graph = build(given.source(25), tmp_path / "g", options)
    check_graph(graph, given, options)
    assert calls["_merged"] > 0
    assert calls["_Index"] > 5


def test_names_sorted_out_of_core(tmp_path: Path, calls: Counter[str]) -> None:
    given = skewed(3, 300, name=lambda v: "é日x"[v % 3] * (v % 7) + f"{v:x}", weight="float32")
    given = replace(given, extra=["", "zz", "\U0001f40c"])
    options = BuildOptions(memory=MEMORY, threads=2, duplicates="sum")
    with squeezed(TINY):
        graph = build(given.source(20), tmp_path / "g", options)
    check_graph(graph, given, options)
    assert calls["_Run"] > 3
    assert calls["_Index"] > 5


@pytest.mark.parametrize("layout", ["banded", "slotted"])
@pytest.mark.parametrize("columns", [{}, {"weight": "float64", "label": "int32"}])
def test_large_pages_over_stripes(tmp_path: Path, layout: Any, columns: dict[str, Any]) -> None:
    given = skewed(4, 6000, **columns)
    hub = list(range(4500))
    given = replace(given, src=[7] * len(hub) + given.src[4500:], dst=hub + given.dst[4500:])
    stripes = tuple(tmp_path / f"disk{k}" for k in range(2))
    for stripe in stripes:
        stripe.mkdir()
    options = BuildOptions(memory=MEMORY, threads=2, layout=layout, stripes=stripes)
    with squeezed(Squeeze(bucket_rows=700, num_buckets=4, bucket_bytes=5000, page_bytes=4096)):
        graph = build(given.source(900), tmp_path / "g", options)
        check_graph(graph, given, options)
    assert graph.catalog.page_bytes == 4096
    assert graph.catalog.directions["out"].large_pages > 1
    pages = graph.catalog.directions["out"].num_pages
    for k, stripe in enumerate([tmp_path / "g" / "stripe.0", *stripes]):
        files = list(stripe.rglob("out.pages"))
        assert [file.stat().st_size for file in files] == [len(range(k, pages, 3)) * 4096]


@pytest.mark.parametrize(
    ("duplicates", "neighbour_order"),
    [*((each, "id") for each in DUPLICATES), ("keep", "input"), ("last", "input")],
)
def test_a_million_copies(tmp_path: Path, duplicates: Any, neighbour_order: Any) -> None:
    """One edge over and over, and a few others around it, in the smallest memory there is."""
    copies = 1_000_000
    weights = np.random.default_rng(5).random(copies)
    src = np.full(copies, 3, np.uint64)
    dst = np.full(copies, 5, np.uint64)
    src[[10, 500_000]], dst[[10, 500_000]] = [0, 8], [1, 3]
    options = BuildOptions(
        duplicates=duplicates, neighbour_order=neighbour_order, memory=MEMORY, num_vertices=10,
        threads=2, self_loops="drop",
    )  # fmt: skip
    from penstock.ingest.formats import open_source
    from penstock.protocols import ReadOptions

    source = open_source((src, dst, weights), ReadOptions(chunk_rows=1 << 13))
    source = replace(source, cheap_to_repeat=False)
    graph = build(source, tmp_path / "g", options)
    same = (src == 3) & (dst == 5)
    edges = graph.to_edges()
    ends = zip(edges[0].tolist(), edges[1].tolist(), strict=True)
    found = dict(zip(ends, edges[2], strict=True))
    assert found[0, 1] == weights[10]
    assert found[8, 3] == weights[500_000]
    if duplicates == "keep":
        assert graph.num_edges == copies
        assert np.array_equal(edges[2][edges[0] == 3], weights[same])
    else:
        assert graph.num_edges == 3
        mine = weights[same]
        expected = {"first": mine[0], "last": mine[-1], "min": mine.min(), "max": mine.max()}
        expected["sum"] = np.cumsum(mine)[-1]  # one after another, as rows come
        assert found[3, 5] == expected[duplicates]
