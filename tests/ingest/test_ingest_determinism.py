"""The same input gives the same bytes, whatever the memory, the threads and the chunks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingest_oracle import Input, stored_lists
from ingest_squeeze import Squeeze, squeezed

import penstock as ps
from penstock.ingest.build import build
from penstock.ingest.options import BuildOptions

MIB = 1 << 20
#: (memory, threads, rows of a chunk, limits)
WAYS = [
    (1 << 30, 1, 1 << 20, Squeeze()),
    (16 * MIB, 2, 1000, Squeeze(num_buckets=7, spool_bytes=0, bucket_bytes=0)),
    (16 * MIB, 3, 313, Squeeze(
        400, 23, 10_000, 5_000, name_bytes=4_000, unique_bytes=9_000, index_bytes=12_000,
    )),
    (64 * MIB, 2, 4096, Squeeze(90, 3, 3_000, 20_000, sample_rows=50)),
]  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a graph; stripes that are elsewhere are followed."""
    files = [path for path in folder.glob("**/*") if path.is_file()]
    for link in folder.iterdir():
        if link.is_symlink():
            files += [link / entry.name for entry in link.iterdir()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def built(given: Input, place: Path, way: tuple[int, int, int, Squeeze], **rules: Any) -> Any:
    memory, threads, chunk_rows, limits = way
    options = BuildOptions(memory=memory, threads=threads, **rules)
    with squeezed(limits):
        return contents(build(given.source(chunk_rows), place, options).path or place)


def rows(name: Any = int, spread: int = 1) -> Input:
    """Many duplicates, hubs, weights whose sums depend on the order of adding."""
    rng = np.random.default_rng(11)
    size = 5000
    ends = (rng.random((2, size)) ** 3 * 150).astype(np.int64) * spread
    weights = (rng.random(size) * 10.0 ** rng.integers(-8, 8, size)).tolist()
    label = rng.integers(0, 100, size).tolist()
    src, dst = ([name(v) for v in side.tolist()] for side in ends)
    return Input(
        src, dst, {"weight": weights, "label": label}, {"weight": None, "label": "uint8"},
        "weight", isinstance(src[0], str),
    )  # fmt: skip


IDS = {
    "dense": rows(),
    "gaps": rows(spread=1 << 30),
    "names": rows(name=lambda v: f"vertex {v * 7919 % 1000}"),
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize(
    "rules",
    [
        {"duplicates": "sum"},
        {"duplicates": "sum", "directed": False, "vertex_order": "none", "self_loops": "drop"},
        {"duplicates": "keep", "neighbour_order": "input"},
        {"duplicates": "min", "neighbour_order": "input", "directed": False},
        {"duplicates": "max", "vertex_order": "none", "neighbour_order": "degree"},
        {"duplicates": "last", "layout": "slotted"},
    ],
    ids=lambda rules: "-".join(map(str, rules.values())),
)
def test_same_bytes_every_way(tmp_path: Path, kind: str, rules: dict[str, Any]) -> None:
    ways = WAYS if kind == "dense" else WAYS[:3]
    first, *others = (
        built(IDS[kind], tmp_path / f"{k}" / "g", way, **rules)
        for k, way in enumerate(ways)
        if (tmp_path / f"{k}").mkdir() is None
    )
    for other in others:
        assert first.keys() == other.keys()
        assert [name for name in first if first[name] != other[name]] == []


@pytest.mark.parametrize("gaps", [True, False])
def test_dense_and_sparse_numbering_agree(tmp_path: Path, *, gaps: bool) -> None:
    """Ids that fit a table in much memory, and must be sorted and looked up in little."""
    rng = np.random.default_rng(12)
    bound = 1_450_000
    step = 7 if gaps else 1
    src = rng.integers(0, bound, 100_000)
    dst = rng.integers(0, bound, 100_000)
    if not gaps:
        src = np.arange(0, bound, 2, np.int64)
        dst = src[::-1] + 1
    src, dst = (side // step * step + 3 for side in (src, dst))
    graphs = [
        ps.build((src, dst), tmp_path / memory, memory=memory, threads=2)
        for memory in ("17MB", "512MB")
    ]
    assert 12 * bound > 17e6
    small, large = (contents(Path(graph.path or "")) for graph in graphs)
    assert [name for name in large if large[name] != small.get(name)] == []
    assert np.array_equal(graphs[0].ids, np.unique(np.concatenate([src, dst])))


def test_narrow_types_do_not_depend_on_chunks(tmp_path: Path) -> None:
    """An integer that float32 cannot hold, and far from it a fraction that int32 cannot."""
    values = [2.0**24 + 1] + [0.0] * 50 + [0.5]
    count = len(values)
    given = Input(
        list(range(count)), [count] * count, {"weight": values}, {"weight": None}, "weight"
    )
    for chunk_rows in (1, 10, 1000):
        graph = build(given.source(chunk_rows), None, BuildOptions(memory=1 << 30))
        edges = graph.to_edges()
        assert dict(zip(edges[0].tolist(), edges[2].tolist(), strict=True)) == dict(
            enumerate(values)
        )
        assert edges[2].dtype == np.float64


def test_text_and_arrays_give_the_same_graph(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    src, dst = rng.integers(0, 3000, (2, 40_000))
    weight = rng.integers(0, 50, 40_000)
    text = tmp_path / "edges.txt"
    lines = zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True)
    text.write_text("".join(f"{u} {v} {w}\n" for u, v, w in lines))
    found = []
    for k, (memory, threads) in enumerate([("16MiB", 1), ("100MB", 3)]):
        ps.build(text, tmp_path / f"t{k}", weights=True, memory=memory, threads=threads)
        found.append(contents(tmp_path / f"t{k}"))
    ps.build((src, dst, weight.astype(np.int32)), tmp_path / "a", threads=2)
    found.append(contents(tmp_path / "a"))
    assert found[0] == found[1]
    assert found[0] == found[2]


def test_layouts_have_the_same_edges(tmp_path: Path) -> None:
    given = IDS["dense"]
    graphs = []
    for layout in ("banded", "slotted"):
        options = BuildOptions(layout=layout, memory=1 << 24, threads=2)
        graphs.append(build(given.source(700), tmp_path / layout, options))
        graphs.append(build(given.source(), None, replace(options, layout=layout)))
    for other in graphs[1:]:
        assert [stored_lists(other, d) for d in ("out", "in")] == [
            stored_lists(graphs[0], d) for d in ("out", "in")
        ]
        assert other.catalog.rules == graphs[0].catalog.rules
        assert np.array_equal(other.ids_by_vid(), graphs[0].ids_by_vid())


def test_tmpdir_and_overwriting_leave_no_trace(tmp_path: Path) -> None:
    given = IDS["names"]
    plain = built(given, tmp_path / "plain", WAYS[1])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    options = BuildOptions(memory=1 << 24, threads=2, tmpdir=elsewhere)
    with squeezed(WAYS[1][3]):
        build(given.source(100), tmp_path / "g", options)
        build(given.source(100), tmp_path / "g", replace(options, overwrite=True))
    assert contents(tmp_path / "g") == plain
    assert list(elsewhere.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "g", "plain"]
