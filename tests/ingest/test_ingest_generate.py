"""Generated graphs: the seed alone decides, and the numbers are what they claim to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import OptionError
from penstock.ingest import generate
from penstock.protocols import Source

PROBABILITIES = (0.5, 0.25, 0.15, 0.1)


def edges(source: Source) -> tuple[Any, Any]:
    chunks = list(source.chunks(lambda amount: None))
    ends = [(chunk.src, chunk.dst) for chunk in chunks]
    return np.concatenate([u for u, _ in ends]), np.concatenate([v for _, v in ends])


@pytest.mark.parametrize("make", [
    lambda **how: generate.rmat(9, 5, seed=3, **how),
    lambda **how: generate.uniform(700, 2560, seed=3, **how),
])  # fmt: skip
def test_pieces_do_not_matter(make: Any) -> None:
    whole = edges(make(threads=1, chunk_rows=1 << 19))
    assert len(whole[0]) == 2560
    for threads, chunk_rows in [(1, 1), (2, 77), (3, 1000)]:
        assert np.array_equal(edges(make(threads=threads, chunk_rows=chunk_rows)), whole)


def weights(**how: Any) -> Any:
    chunks = list(generate.rmat(10, 8, weighted=True, **how).chunks(lambda amount: None))
    return np.concatenate([chunk.columns["weight"] for chunk in chunks])


def test_weights_are_even_and_decided_by_the_seed() -> None:
    whole = weights(seed=3)
    assert whole.dtype == np.float32
    assert np.array_equal(whole, weights(seed=3, threads=3, chunk_rows=77))
    assert not np.array_equal(whole, weights(seed=4))
    tenths = np.bincount((whole * 10).astype(int), minlength=10)
    assert len(tenths) == 10
    assert tenths.tolist() == pytest.approx([len(whole) / 10] * 10, rel=0.15)
    assert np.array_equal(edges(generate.rmat(10, 8, weighted=True)), edges(generate.rmat(10, 8)))


def test_seeds_differ() -> None:
    graphs = [edges(generate.rmat(10, 4, seed=seed)) for seed in (0, 1, 2, -1, 1 << 64)]
    assert np.array_equal(graphs[0], graphs[4])
    for i, one in enumerate(graphs[:4]):
        for other in graphs[i + 1 : 4]:
            assert not np.array_equal(one, other)


@pytest.mark.parametrize("scale", [1, 3, 4, 7, 14, 31])
def test_quadrants_have_their_share(scale: int) -> None:
    """At every level, the bits of source and target fall in the quadrants as often as they should,
    and independently of the level before.
    """
    count = 60_000
    source = generate.rmat(scale, count / (1 << scale), PROBABILITIES, seed=5, shuffle=False)
    src, dst = edges(source)
    assert len(src) == count
    assert max(src.max(), dst.max()) < 1 << scale
    expected = np.array(PROBABILITIES)
    before = None
    for level in range(scale):
        quadrant = ((src >> np.uint64(level)) & np.uint64(1)) * np.uint64(2)
        quadrant += (dst >> np.uint64(level)) & np.uint64(1)
        share = np.bincount(quadrant.astype(np.int64), minlength=4) / count
        assert np.all(abs(share - expected) < 5.5 * np.sqrt(expected * (1 - expected) / count))
        if before is not None:
            pairs = np.bincount((before * np.uint64(4) + quadrant).astype(np.int64), minlength=16)
            both = np.outer(expected, expected).ravel()
            assert np.all(abs(pairs / count - both) < 5.5 * np.sqrt(both * (1 - both) / count))
        before = quadrant


@pytest.mark.parametrize("scale", [1, 2, 5, 10, 13])
def test_shuffle_renames_every_vertex_once(scale: int) -> None:
    even = (0.25, 0.25, 0.25, 0.25)
    plain = edges(generate.rmat(scale, 20, even, seed=9, shuffle=False))
    shuffled = edges(generate.rmat(scale, 20, even, seed=9))
    names: dict[int, int] = {}
    for before, after in zip(np.concatenate(plain), np.concatenate(shuffled), strict=True):
        assert names.setdefault(int(before), int(after)) == after
    assert len(names) == 1 << scale
    assert set(names.values()) == set(range(1 << scale))


def test_shuffle_hides_the_hubs() -> None:
    src, dst = edges(generate.rmat(12, 16, seed=2))
    degrees = np.bincount(np.concatenate([src, dst]).astype(np.int64), minlength=1 << 12)
    hubs = np.argsort(-degrees)[:64]
    assert abs(hubs.mean() - 2048) < 5 * 4096 / np.sqrt(12 * 64)
    assert degrees[0] < degrees.max()


@pytest.mark.parametrize("num_vertices", [1, 2, 3, 1000, 2**32 - 1])
def test_uniform_is_even(num_vertices: int) -> None:
    count = 40_000
    for side in edges(generate.uniform(num_vertices, count, seed=4)):
        assert side.max() < num_vertices
        bins = min(num_vertices, 50)
        found = np.bincount((side * np.uint64(bins) // np.uint64(num_vertices)).astype(np.int64))
        if bins == num_vertices or bins * 20 <= num_vertices:
            share = count / bins
            assert len(found) == bins
            assert np.all(abs(found - share) <= 6 * np.sqrt(share))
    src, dst = edges(generate.uniform(num_vertices, count, seed=4))
    if num_vertices > 1:
        together = np.corrcoef(src.astype(float), dst.astype(float))[0, 1]
        assert abs(together) < 6 / np.sqrt(count)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("rmat", {"scale": 0}),
        ("rmat", {"scale": 32}),
        ("rmat", {"edge_factor": -1}),
        ("rmat", {"edge_factor": float("nan")}),
        ("rmat", {"edge_factor": float("inf")}),
        ("uniform", {"edge_factor": float("inf")}),
        ("rmat", {"probabilities": (0.5, 0.5, 0.5, 0.5)}),
        ("rmat", {"probabilities": (1.5, -0.5, 0.0, 0.0)}),
        ("uniform", {"scale": 40}),
        ("circle", {}),
    ],
)
def test_wrong_numbers_are_refused(tmp_path: Path, kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong), "kind")):
        ps.generate(kind, tmp_path / "g", **wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{}, {"directed": False}, {"duplicates": "keep"}])
def test_generated_graph_is_that_of_its_edges(tmp_path: Path, options: dict[str, Any]) -> None:
    graph = ps.generate("rmat", tmp_path / "g", scale=8, edge_factor=6, memory="16MiB", **options)
    src, dst = edges(generate.rmat(8, 6))
    same = ps.from_edges(src, dst, num_vertices=256, **options)
    assert graph.num_edges == same.num_edges
    assert graph.num_vertices == 256
    for mine, theirs in zip(graph.to_edges(), same.to_edges(), strict=True):
        assert np.array_equal(mine, theirs)
