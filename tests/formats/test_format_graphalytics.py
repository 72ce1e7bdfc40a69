from __future__ import annotations

import gzip

import pytest
from format_reading import SHARED, read, rows, values, write

from penstock.errors import InputError, InputNotFoundError, OptionError, ParseError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions

PROPERTIES = """# about
graph.small.vertex-file = small.v
graph.small.edge-file = small.e
graph.small.meta.vertices = 4
graph.small.meta.edges = 2
graph.small.directed = {directed}
"""
WEIGHTED = "graph.small.edge-properties.names = weight\ngraph.small.edge-properties.types = real\n"


def vertices(source):
    return [vertex for ids in source.vertices() for vertex in values(ids)]


@pytest.mark.parametrize("suffix", [".e", ".v", ".properties"])
@pytest.mark.parametrize("directed", [True, False])
def test_dataset(tmp_path, suffix, directed):
    write(tmp_path / "small.e", "1 2 0.5\n2 4 1.5\n")
    write(tmp_path / "small.v", "1\n2\n3\n4\n")
    text = PROPERTIES.format(directed=str(directed).lower())
    write(tmp_path / "small.properties", text + WEIGHTED)
    source = open_source(tmp_path / f"small{suffix}", ReadOptions())
    assert rows(source) == [(1, 2, 0.5), (2, 4, 1.5)]
    assert (source.directed, source.weight) == (directed, "weight")
    assert vertices(source) == [1, 2, 3, 4]
    assert read(tmp_path, weights=False) == [(1, 2), (2, 4)]
    write(tmp_path / "small.properties", text)
    assert read(tmp_path) == [(1, 2), (2, 4)]


def test_without_properties_and_vertices(tmp_path):
    path = write(tmp_path / "a.e.gz", gzip.compress(b"1 2 3\n"))
    source = open_source(path, ReadOptions())
    assert (rows(source), source.directed, source.vertices) == ([(1, 2, 3.0)], None, None)
    assert read(write(tmp_path / "b.e", "1 2\n")) == [(1, 2)]


def test_string_vertices(tmp_path):
    write(tmp_path / "a.e", "x y\n")
    write(tmp_path / "a.v", "x\ny\nz some more\n")
    assert vertices(open_source(tmp_path / "a.v", ReadOptions())) == ["x", "y", "z"]


def test_mistakes(tmp_path):
    write(tmp_path / "small.v", "1\nx\n")
    with pytest.raises(InputNotFoundError, match=r"small\.e: there is no such file of edges"):
        read(tmp_path / "small.v")
    write(tmp_path / "small.e", "1 2\n")
    with pytest.raises(ParseError, match=r"small\.v:2: found 'x'"):
        vertices(open_source(tmp_path / "small.e", ReadOptions()))
    write(tmp_path / "small.properties", PROPERTIES.format(directed="true"))
    with pytest.raises(InputError, match="announces 2 edges, but there are 1"):
        read(tmp_path / "small.e")
    write(tmp_path / "small.properties", PROPERTIES.format(directed="maybe"))
    with pytest.raises(InputError, match="expected directed = true or false, got 'maybe'"):
        read(tmp_path / "small.e")
    write(tmp_path / "other.e", "1 2\n")
    with pytest.raises(OptionError, match="give one"):
        read(tmp_path / "*.e")


@pytest.mark.skipif(not SHARED.exists(), reason="the reference data is not beside this checkout")
@pytest.mark.parametrize(
    ("name", "edges", "count"), [("example-directed", 17, 10), ("example-undirected", 12, 9)]
)
def test_example(name, edges, count):
    folder = SHARED / "graphalytics" / "example"
    source = open_source(folder / f"{name}.e", ReadOptions())
    found = rows(source)
    assert len(found) == edges
    assert len(vertices(source)) == count
    assert {end for row in found for end in row[:2]} <= set(vertices(source))
    assert all(0 < row[2] < 1 for row in found)
