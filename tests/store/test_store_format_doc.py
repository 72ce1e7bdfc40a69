"""docs/format.md: its examples are what the code writes, and it is enough to write a reader."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import reader_from_spec
from format_examples import (
    BANDED,
    BANDED_HEADER,
    BANDED_LISTS,
    EXAMPLES,
    SLOTTED,
    SLOTTED_FIRST_VIDS,
    SLOTTED_LISTS,
)
from reader_from_spec import read_edges
from store_making import build_store, random_lists, write_store

from penstock.store.catalog import Catalog, DirectionStats, FileRecord, IdSpec
from penstock.store.check import check_graph
from penstock.store.layout import PAGE_TABLE_DTYPE, make_layout
from penstock.store.page import PageHeader, check_page
from penstock.store.paged import open_graph

DOCUMENT = (Path(__file__).parents[2] / "docs" / "format.md").read_text()
_LINE = re.compile(r"([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+?|00 \* \d+)(?:  .*)?")


def documented(name: str) -> bytes:
    """The bytes of an example, from the document."""
    (block,) = re.findall(rf"^```hex {name}\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
    data = b""
    for line in block.splitlines():
        match = _LINE.fullmatch(line)
        assert match is not None, line
        assert int(match[1], 16) == len(data), line
        zeros = re.fullmatch(r"00 \* (\d+)", match[2])
        data += bytes(int(zeros[1])) if zeros else bytes.fromhex(match[2])
    return data


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_what_the_code_writes(name):
    assert documented(name) == EXAMPLES[name].tobytes()


def test_every_example_is_tested():
    assert re.findall(r"^```hex (.*)$", DOCUMENT, re.MULTILINE) == list(EXAMPLES)


def test_slotted_examples_decode():
    layout = make_layout(SLOTTED, SLOTTED_FIRST_VIDS)
    edges = 0
    for page_id in range(4):
        page = np.frombuffer(documented(f"slotted page {page_id}"), np.uint8)
        check_page(page, "example")
        header = PageHeader.read(page, "example")
        part, _ = layout.audit(page, header)
        count = len(part.neighbours)
        assert header.page_id == page_id
        assert header.first_edge == edges
        expected = SLOTTED_LISTS.neighbours[edges : edges + count]
        assert part.neighbours.tolist() == expected.tolist()
        cost = SLOTTED_LISTS.columns["cost"][edges : edges + count]
        np.testing.assert_array_equal(part.columns["cost"], cost)
        edges += count
    assert edges == len(SLOTTED_LISTS.neighbours)


def test_banded_example_decodes():
    page = np.frombuffer(documented("banded page 40"), np.uint8)
    check_page(page, "example")
    header = PageHeader.read(page, "example")
    assert header == BANDED_HEADER
    part, _ = make_layout(BANDED).audit(page, header)
    assert part.degrees.tolist() == BANDED_LISTS.degrees.tolist()
    assert part.neighbours.tolist() == BANDED_LISTS.neighbours.tolist()
    np.testing.assert_array_equal(part.columns["weight"], BANDED_LISTS.columns["weight"])


def test_every_field_is_documented(tmp_path):
    build_store(tmp_path / "g", [0, 5], [5, 9])
    data = json.loads((tmp_path / "g" / "graph.json").read_text())
    names = {*data, *data["rules"], *(PAGE_TABLE_DTYPE.names or ())}
    for kind in (Catalog, DirectionStats, IdSpec, FileRecord):
        names |= {field.name for field in fields(kind)}
    for path in (tmp_path / "g").iterdir():
        names.add(path.name)
    names -= {"in.pages.npy", "in.degrees.npy", "stripe.0"}
    missing = {name for name in names if f"`{name}`" not in DOCUMENT}
    assert missing == set()


def test_the_reader_is_short_and_independent():
    text = Path(reader_from_spec.__file__).read_text()
    assert len(text.splitlines()) < 100
    loaded = "[m for m in ('penstock', 'numba') if m in sys.modules]"
    code = f"import sys, reader_from_spec; print({loaded})"
    folder = Path(reader_from_spec.__file__).parent
    out = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert out.stdout == "[]\n"


def same_edges(folder: Path) -> None:
    """The reader and the library must give the same edges with the same columns."""
    graph = open_graph(folder)
    src, dst, columns = read_edges(folder)
    ids = graph.ids_by_vid()
    expected = [(ids[s], ids[d], c) for s, d, c in graph.iter_edges()]
    np.testing.assert_array_equal(src, np.concatenate([src[:0], *(e[0] for e in expected)]))
    np.testing.assert_array_equal(dst, np.concatenate([dst[:0], *(e[1] for e in expected)]))
    assert len(src) == graph.num_edges
    assert list(columns) == [c.name for c in graph.catalog.columns]
    for name, values in columns.items():
        whole = np.concatenate([values[:0], *(e[2][name] for e in expected)])
        np.testing.assert_array_equal(values, whole)
    edges = graph.to_edges()
    np.testing.assert_array_equal(edges[0], src)
    if graph.catalog.weight is not None:
        np.testing.assert_array_equal(edges[2], columns[graph.catalog.weight])
    assert check_graph(folder).problems == ()


@pytest.mark.parametrize("layout", ["banded", "slotted"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("stripes", [0, 2])
def test_reader_agrees(tmp_path, layout, directed, stripes):
    """Ids with gaps, a hub with large pages, loops, repeats, two columns."""
    rng = np.random.default_rng(3)
    src = np.concatenate([rng.integers(0, 400, 2000), np.full(20_000, 7)]) * 1_000_003
    dst = np.concatenate([rng.integers(0, 400, 2000), np.arange(20_000)]) * 1_000_003
    columns = {
        "weight": rng.random(len(src), np.float32),
        "kind": rng.integers(-5, 5, len(src)).astype(np.int16),
    }
    roots = tuple(tmp_path / f"disk{k}" for k in range(stripes))
    for root in roots:
        root.mkdir()
    graph = build_store(
        tmp_path / "g", src, dst, columns, "weight",
        layout=layout, directed=directed, stripes=roots, page_bytes=65536,
    )  # fmt: skip
    assert graph.catalog.ids.kind == "int"
    assert graph.catalog.directions["out"].large_pages > 1
    same_edges(tmp_path / "g")


@pytest.mark.parametrize("layout", ["banded", "slotted"])
@pytest.mark.parametrize(
    "options",
    [
        {"directions": "in"},
        {"neighbour_order": "input", "duplicates": "keep"},
        {"vertex_order": "none", "neighbour_order": "degree"},
        {"num_vertices": 1000, "self_loops": "drop"},
    ],
    ids=["in", "input", "degree", "declared"],
)
def test_reader_agrees_with_options(tmp_path, layout, options):
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 300, (2, 2000))
    build_store(tmp_path / "g", src, dst, layout=layout, **options)
    same_edges(tmp_path / "g")


@pytest.mark.parametrize("layout", ["banded", "slotted"])
def test_reader_agrees_on_missing_values(tmp_path, layout):
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 300, (2, 2000))
    columns = {"a": rng.random(2000, np.float64), "b": rng.random(2000, np.float32)}
    columns["a"][:1500] = np.nan
    columns["b"][500:] = np.nan
    build_store(tmp_path / "g", src, dst, columns, layout=layout)
    same_edges(tmp_path / "g")


def test_reader_agrees_on_wide_bands(tmp_path):
    rng = np.random.default_rng(6)
    src, dst = rng.integers(0, 200_000, (2, 3000))
    graph = build_store(tmp_path / "g", src, dst, num_vertices=200_000)
    assert graph.catalog.bands == (2, 3)
    same_edges(tmp_path / "g")


@pytest.mark.parametrize("layout", ["banded", "slotted"])
def test_reader_agrees_on_tiny_pages(tmp_path, layout):
    write_store(tmp_path / "g", random_lists(200, 60, 7, weighted=True), layout=layout)
    same_edges(tmp_path / "g")


def test_reader_agrees_on_an_empty_graph(tmp_path):
    build_store(tmp_path / "g", [], [], num_vertices=0)
    same_edges(tmp_path / "g")
