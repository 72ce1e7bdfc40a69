"""Opening and reading graphs that are not as they should be: errors that name the path."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_making import build_store, change_index, flip, random_lists, write_store

from penstock.errors import CorruptionError, FormatError, InputNotFoundError, PenstockError
from penstock.store.catalog import Catalog, read_catalog
from penstock.store.paged import open_graph


def refused(folder: Path, kind: type[PenstockError], words: str, *, read: bool = False) -> None:
    """Opening (and reading) raises this error, and its message begins with the path."""
    with pytest.raises(kind) as caught:
        open_graph(folder).to_edges() if read else open_graph(folder)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(folder))


def sealed(data: dict) -> str:
    """A catalog's text, with the checksum docs/format.md asks for."""
    data = {key: value for key, value in data.items() if key != "checksum"}
    head = json.dumps(data, indent=1).removesuffix("\n}") + ",\n"
    return f'{head} "checksum": "{xxhash.xxh3_64_hexdigest(head.encode())}"\n}}\n'


def test_what_is_not_there(tmp_path):
    refused(tmp_path / "none", InputNotFoundError, "no such graph")
    refused(tmp_path, FormatError, "not a graph (it has no graph.json)")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", FormatError, "not a graph")
    (tmp_path / "graph.json").mkdir()
    refused(tmp_path, FormatError, "is a directory")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("1" * 5000, "not valid JSON"),
        ("\udcff", "not valid JSON"),
        ("[]", "not the catalog"),
        ("{}", "not the catalog"),
        ('{"magic": "other"}', "not the catalog"),
        ('{"magic": "penstock graph"}', "needs format version None"),
        ('{"magic": "penstock graph", "format": {"read": 2}}', "this Penstock reads up to 1"),
        ('{"magic": "penstock graph", "format": {"read": 0}}', "needs format version 0"),
        ('{"magic": "penstock graph", "format": {"read": "1"}}', "needs format version 1"),
        ('{"magic": "penstock graph", "format": {"read": 1}}', "checksum"),
    ],
)
def test_catalogs_that_are_none(tmp_path, text, words):
    (tmp_path / "graph.json").write_text(text, errors="surrogateescape")
    refused(tmp_path, FormatError, words)


def test_an_edited_catalog_is_refused(store):
    path = store() / "graph.json"
    path.write_text(path.read_text().replace('"directed": true', '"directed": false'))
    refused(path.parent, CorruptionError, "checksum does not match")


def test_the_seal_is_what_the_format_says(store):
    path = store() / "graph.json"
    assert sealed(json.loads(path.read_text())) == path.read_text()
    path.write_bytes(path.read_bytes().replace(b": ", b":\t", 1))
    refused(path.parent, CorruptionError, "checksum does not match")


@pytest.mark.parametrize("field", Catalog.__dataclass_fields__)
def test_a_missing_field_is_refused(store, field):
    path = store() / "graph.json"
    data = json.loads(path.read_text())
    del data[field]
    path.write_text(sealed(data))
    refused(path.parent, FormatError, f"'{field}' is missing")


def leaves(data, trail=()):
    """Every value of nested JSON, as the keys that lead to it."""
    yield trail
    for key in (
        data if isinstance(data, dict) else range(len(data) if isinstance(data, list) else 0)
    ):
        yield from leaves(data[key], (*trail, key))


WRONG = [None, True, -1, 0, 3, 1.5, 1e300, 2**70, "", "x", "../x", [], [1], [[]], {}, {"a": 1}]


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_wrong_values_are_refused_or_harmless(made, tmp_path, data):
    """Whatever a sealed catalog says: a graph or a PenstockError, nothing else."""
    kind = data.draw(st.sampled_from(["banded", "slotted", "undirected"]))
    catalog = json.loads((made / kind / "graph.json").read_text())
    trail = data.draw(st.sampled_from([t for t in leaves(catalog) if t]))
    place = catalog
    for key in trail[:-1]:
        place = place[key]
    place[trail[-1]] = data.draw(st.sampled_from(WRONG))
    folder = tmp_path / "g"
    if not folder.exists():
        folder.mkdir()
    for entry in (made / kind).iterdir():
        if entry.name != "graph.json" and not (folder / entry.name).exists():
            (folder / entry.name).symlink_to(entry)
    (folder / "graph.json").write_text(sealed(catalog))
    try:
        graph = open_graph(folder)
        graph.to_edges()
        graph.degrees("out")
    except PenstockError as error:
        message = str(error)
    else:
        message = str(folder)
    assert message.startswith((str(folder), "page "))
    for entry in folder.iterdir():
        entry.unlink()


def test_fields_of_later_versions_are_passed_over(store):
    folder = store()
    data = json.loads((folder / "graph.json").read_text())
    data["format"]["write"] = 9
    for place in (data, data["ids"], data["directions"]["out"], data["files"]["ids.npy"]):
        place["later"] = {"x": [1]}
    data["columns"][0]["later"] = 1
    (folder / "graph.json").write_text(sealed(data))
    assert len(open_graph(folder).to_edges()[0]) == data["num_edges"]


def test_stripes(tmp_path):
    (tmp_path / "disk").mkdir()
    write_store(tmp_path / "g", random_lists(50, 9, 1), stripes=(tmp_path / "disk",))
    far = (tmp_path / "g" / "stripe.1").readlink()
    assert open_graph(tmp_path / "g").num_vertices == 50
    text = (far / "stripe.json").read_text()
    for wrong in ("", "{}", text.replace('"stripe": 1', '"stripe": 0'), text.replace("0", "1", 1)):
        (far / "stripe.json").write_text(wrong)
        refused(tmp_path / "g", FormatError, "stripe.1/stripe.json: belongs to another graph")
    (far / "stripe.json").write_text(text)
    (far / "in.pages").rename(far / "away")
    refused(tmp_path / "g", InputNotFoundError, "stripe.1/in.pages: cannot be opened")
    far.rename(tmp_path / "away")
    refused(tmp_path / "g", InputNotFoundError, "stripe 1 of 2 is missing")


@pytest.mark.parametrize("kind", ["banded", "slotted"])
def test_damaged_pages_are_noticed_when_read(store, kind):
    folder = store(kind)
    path = folder / "stripe.0" / "out.pages"
    raw = path.read_bytes()
    flip(path, 5000, 4)
    refused(folder, CorruptionError, "out.pages: page 1: checksum", read=True)
    path.write_bytes(raw[4096:8192] + raw[:4096] + raw[8192:])
    refused(folder, CorruptionError, "out.pages: page 0: holds another page", read=True)
    path.write_bytes(raw[:-7])
    refused(folder, CorruptionError, "the file ends 7 bytes too early", read=True)
    path.unlink()
    path.mkdir()
    refused(folder, FormatError, "out.pages: is a directory", read=True)


@pytest.mark.parametrize(
    "data", [b"", b"x", b"\x93NUMPY", b"PK\x03\x04" + bytes(40), b"\x80\x04N.", None]
)
def test_damaged_index_files_are_noticed_when_read(store, data):
    folder = store()
    for name in ("out.pages.npy", "vid_of_rank.npy", "ids.npy"):
        raw = (folder / name).read_bytes()
        (folder / name).write_bytes(raw[: len(raw) // 2] if data is None else data)
        refused(folder, CorruptionError, f"{name}: is ", read=True)
        (folder / name).unlink()
        refused(folder, CorruptionError, f"{name}: cannot be read", read=True)
        (folder / name).write_bytes(raw)


@pytest.mark.parametrize("name", ["out.pages.npy", "vid_of_rank.npy", "ids.npy"])
def test_index_files_of_another_graph_are_noticed_when_read(store, name):
    folder = store()
    change_index(folder, name, lambda array: array[:-1].copy())
    refused(folder, FormatError, "expected", read=True)
    change_index(folder, name, lambda array: np.zeros(len(array) + 1, np.float32))
    refused(folder, FormatError, "is float32", read=True)


def test_string_ids_that_are_damaged(tmp_path):
    build_store(tmp_path / "g", ["a", "b"], ["b", "c"])
    path = tmp_path / "g" / "ids.arrow"
    raw = path.read_bytes()
    assert open_graph(tmp_path / "g").ids.tolist() == ["a", "b", "c"]
    for data in (b"", raw[:-3], raw[: len(raw) // 2]):
        path.write_bytes(data)
        refused(tmp_path / "g", CorruptionError, "ids.arrow: is ", read=True)


def test_directions_that_are_not_stored(tmp_path):
    build_store(tmp_path / "g", [0, 1], [1, 2], directions="out")
    with pytest.raises(FormatError, match="built without its in-lists"):
        open_graph(tmp_path / "g").pages("in")


def test_files_are_closed(made):
    gc.collect()  # what other tests left is not counted
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        open_graph(made / "banded").to_edges()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_catalog_comes_back_as_it_was(made):
    for kind in ("banded", "slotted", "undirected"):
        catalog = read_catalog(made / kind)
        assert catalog.to_json() == (made / kind / "graph.json").read_text()
