"""What the directory of a live graph says about itself, and says wrongly."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from disks import FaultyDisk
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.dynamic.folder import LiveFolder
from penstock.dynamic.folder_catalog import LiveCatalog, LiveSchema, read_live_catalog
from penstock.errors import FormatError
from penstock.store.catalog import seal
from penstock.store.layout import Column
from penstock.types import COLUMN_DTYPES

SCHEMA = LiveSchema(
    directed=False,
    multigraph=True,
    ids="string",
    columns=(Column("w", np.dtype("<f4")), Column("time", np.dtype("<i8"))),
    vertex_columns=(Column("a/b", np.dtype("<f8")), Column("rank", np.dtype("u1"))),
    weight="w",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph"


class TestCatalog:
    @settings(max_examples=30)
    @given(
        st.lists(
            st.tuples(st.text(max_size=5), st.sampled_from(COLUMN_DTYPES)),
            max_size=3,
            unique_by=lambda column: column[0],
        ),
        st.booleans(),
        st.sampled_from([None, "int", "string"]),
        st.integers(0, 2**64 - 1),
    )
    def test_any_schema_comes_back(self, tmp_path_factory, columns, flag, ids, tag):
        made = tuple(Column(name, np.dtype(kind).newbyteorder("<")) for name, kind in columns)
        weight = columns[0][0] if columns and flag else None
        schema = LiveSchema(flag, not flag, flag, ids, made, made, weight)
        folder = tmp_path_factory.mktemp("catalog")
        catalog = LiveCatalog(tag, 3, schema, None, "log.3", tag ^ 1, {}, "someone")
        (folder / "live.json").write_text(catalog.to_json(), encoding="utf-8")
        assert read_live_catalog(folder, FaultyDisk(folder)) == catalog

    def test_every_byte_counts(self, path):
        folder = LiveFolder.create(path, SCHEMA)
        folder.close()
        text = (path / "live.json").read_bytes()
        for i in range(len(text)):
            damaged = bytearray(text)
            damaged[i] ^= 1
            (path / "live.json").write_bytes(damaged)
            with pytest.raises(FormatError):
                read_live_catalog(path, folder._disk)
        for length in range(0, len(text), 9):
            (path / "live.json").write_bytes(text[:length])
            with pytest.raises(FormatError):
                read_live_catalog(path, folder._disk)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"magic": "penstock graph"}, "not the catalog of a live graph"),
            ({"format": {"read": 3, "write": 3}}, "needs format version 3 to read.*upgrade"),
            ({"format": None}, "needs format version None"),
            ({"generation": -1}, "generation is -1"),
            ({"log": "../log"}, "outside the graph"),
            ({"base": {"name": "a/b", "tag": "0", "num_vertices": 0, "num_edges": 0}}, "outside"),
            ({"files": {"/etc/passwd": {"bytes": 1, "xxh3": ""}}}, "outside the graph"),
            ({"files": {"x": {"bytes": 1, "xxh3": ""}}}, "not one file for each vertex column"),
            ({"tag": "nothing"}, "a field is missing or wrong"),
            ({"log_tag": None}, "a field is missing or wrong"),
            ({"schema": {}}, "missing"),
        ],
    )
    def test_values_that_cannot_be(self, path, change, message):
        folder = LiveFolder.create(path, SCHEMA)
        folder.close()
        rewrite(path, change)
        with pytest.raises(FormatError, match=message):
            LiveFolder.open(path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"ids": "names"}, "ids of kind 'names'"),
            ({"directed": 1}, "neither true nor false"),
            ({"weight": "x"}, "the weight is no column"),
            ({"columns": [{"name": "w", "dtype": "object"}]}, "column type 'object'"),
            ({"columns": [{"name": "w", "dtype": "int8"}] * 2}, "two columns have the same name"),
        ],
    )
    def test_schemas_that_cannot_be(self, path, change, message):
        LiveFolder.create(path, SCHEMA).close()
        schema = json.loads((path / "live.json").read_text())["schema"]
        rewrite(path, {"schema": {**schema, **change}})
        with pytest.raises(FormatError, match=message):
            LiveFolder.open(path)

    def test_a_later_version_to_write_may_be_read(self, path):
        LiveFolder.create(path, SCHEMA).close()
        rewrite(path, {"format": {"read": 1, "write": 3}, "something": "new"})
        LiveFolder.open(path, read_only=True).close()
        with pytest.raises(FormatError, match=r"version 3 to write.*read-only"):
            LiveFolder.open(path)

    @pytest.mark.parametrize(("version", "reverse"), [(1, None), (2, False)])
    def test_what_was_the_default_in_version_1(self, path, version, reverse):
        LiveFolder.create(path, replace(SCHEMA, directed=True, reverse=False)).close()
        rewrite(path, {"format": {"read": version, "write": version}})
        with LiveFolder.open(path) as folder:
            assert folder.catalog.schema.reverse is reverse


def rewrite(path: Path, change: dict) -> None:
    """Change fields of live.json, and seal it again."""
    data = json.loads((path / "live.json").read_text())
    data = {name: value for name, value in {**data, **change}.items() if name != "checksum"}
    text = json.dumps(data, indent=1).removesuffix("\n}") + ",\n"
    (path / "live.json").write_text(text + seal(text.encode()))
