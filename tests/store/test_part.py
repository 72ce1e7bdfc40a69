"""What ``part.json`` says, and what of it is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store_making import random_lists, write_store

from penstock.errors import CorruptionError, FormatError, InputNotFoundError
from penstock.store.catalog import read_catalog, seal
from penstock.store.contents import foreign_names, is_graph, stripe_name
from penstock.store.paged import open_graph
from penstock.store.part import MAGIC, Part, read_part, stripes_there


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """A graph of four stripes, of which two are there."""
    path, roots = tmp_path / "g", tuple(tmp_path / f"disk{k}" for k in range(3))
    for root in roots:
        root.mkdir()
    catalog = write_store(path, random_lists(300, 20, 1), stripes=roots)
    text = Part(catalog.tag, ("a", "b"), ((0,), (1,), (0, 1), (1,)), 0).to_json()
    (path / "part.json").write_text(text)
    for k in (1, 3):
        (path / stripe_name(k)).unlink()
    return path


def change(path: Path, **fields: Any) -> None:
    data = {**json.loads((path / "part.json").read_text()), **fields}
    del data["checksum"]
    text = json.dumps(data).removesuffix("}") + ",\n"
    (path / "part.json").write_text(text + seal(text.encode()))


def test_what_it_says(part: Path) -> None:
    catalog = read_catalog(part)
    found = read_part(part, catalog)
    assert found is not None
    assert found.stripes == (0, 2)
    assert found.dealt_to() == [["a"], ["b"], ["a", "b"], ["b"]]
    assert stripes_there(part, catalog) == (0, 2)
    assert is_graph(part)
    assert foreign_names(part) == []
    assert open_graph(part).missing == (1, 3)


def test_a_part_without_the_first_stripe(part: Path) -> None:
    shutil.rmtree(part / "stripe.0")
    assert is_graph(part)
    assert open_graph(part).missing == (0, 1, 3)


def test_without_part_json_every_stripe_must_be_there(part: Path) -> None:
    (part / "part.json").unlink()
    with pytest.raises(InputNotFoundError, match="stripe 1 of 4 is missing"):
        open_graph(part)


def test_a_stripe_of_another_graph_is_refused(part: Path) -> None:
    (part / "stripe.2" / "stripe.json").write_text("{}\n")
    with pytest.raises(FormatError, match="belongs to another graph"):
        open_graph(part)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"magic": "other"}, "magic 'other'"),
        ({"version": 2}, "version 2"),
        ({"tag": "00000000000000ff"}, "the tag is 00000000000000ff"),
        ({"tag": "words"}, "invalid literal for int"),
        ({"places": []}, "place is 0, expected"),
        ({"places": [1, 2]}, "a place has no name"),
        ({"held_by": [[0]]}, "there are 1 stripes, not 4"),
        ({"held_by": [[0], [1], [2], [0]]}, "place is 2"),
        ({"held_by": [[0], [1], ["a"], [0]]}, "place is 'a'"),
        ({"held_by": [[0], [1], 5, [0]]}, "not iterable"),
        ({"place": -1}, "place is -1"),
        ({"place": True}, "place is True"),
    ],
)
def test_fields_that_cannot_be(part: Path, fields: dict[str, Any], message: str) -> None:
    change(part, **fields)
    with pytest.raises(FormatError, match=message):
        open_graph(part)


@pytest.mark.parametrize("at", [0, 20, 100, -30, -5])
def test_damage(part: Path, at: int) -> None:
    data = bytearray((part / "part.json").read_bytes())
    data[at] ^= 1
    (part / "part.json").write_bytes(data)
    with pytest.raises(CorruptionError, match="its checksum does not match"):
        open_graph(part)


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_not_json(part: Path, text: str) -> None:
    (part / "part.json").write_text(text + seal(text.encode()))
    with pytest.raises(FormatError):
        open_graph(part)


def test_a_link_is_refused(part: Path, tmp_path: Path) -> None:
    (part / "part.json").rename(tmp_path / "elsewhere")
    (part / "part.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FormatError, match="is a symbolic link"):
        open_graph(part)


def test_it_can_be_written_again(part: Path) -> None:
    found = read_part(part, read_catalog(part))
    assert found is not None
    (part / "part.json").write_text(replace(found, place=1).to_json())
    assert open_graph(part).part == replace(found, place=1)
    assert json.loads(found.to_json())["magic"] == MAGIC
