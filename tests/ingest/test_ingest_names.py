"""String ids go by their hashes; two strings with one hash must never become one vertex."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingest_oracle import Input, check_graph
from ingest_squeeze import Squeeze, squeezed

import penstock as ps
from penstock.errors import InputError
from penstock.ingest import names
from penstock.ingest.build import build
from penstock.ingest.options import BuildOptions
from penstock.types import Names

OPTIONS = BuildOptions(memory=1 << 24, threads=2)


def many_names() -> Input:
    rng = np.random.default_rng(31)
    src, dst = ([f"v{v}" for v in side] for side in rng.integers(0, 300, (2, 900)).tolist())
    return Input(src, dst, strings=True, extra=["", "alone"])


def colliding(monkeypatch: pytest.MonkeyPatch, bad_seeds: int, key_of: Any) -> list[int]:
    """With the first so many seeds, keys are what ``key_of`` makes of them; returns seeds used."""
    real = names.hash_names
    seeds: list[int] = []

    def hash_names(ids: Names, seed: int) -> names.HashedNames:
        hashed = real(ids, seed)
        if seed not in seeds:
            seeds.append(seed)
        if seed > bad_seeds:
            return hashed
        return names.HashedNames(hashed.names, key_of(hashed.keys), hashed.checks)

    monkeypatch.setattr(names, "hash_names", hash_names)
    return seeds


#: Few keys; few keys that all want one place of the cache of those seen; only two strings in all.
KEYS = {
    "few": lambda keys: keys % np.uint64(40),
    "one place": lambda keys: keys % np.uint64(150) << np.uint64(40),
    "a pair": lambda keys: np.where(keys == np.sort(np.unique(keys))[-1], keys.min(), keys),
}


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("chunk_rows", [7, 1000])
@pytest.mark.parametrize("on_disk", [True, False])
def test_another_seed_after_a_collision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str, chunk_rows: int, *, on_disk: bool
) -> None:
    given = many_names()
    seeds = colliding(monkeypatch, 1, KEYS[keys])
    target = tmp_path / "g" if on_disk else None
    with squeezed(Squeeze(name_bytes=6000, index_bytes=200_000)):
        graph = build(given.source(chunk_rows), target, OPTIONS)
    check_graph(graph, given, OPTIONS)
    assert len(seeds) == 2


@pytest.mark.parametrize("keys", ["few", "one place"])
def test_collisions_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    seeds = colliding(monkeypatch, 1 << 32, KEYS[keys])
    for target in (tmp_path / "g", None):
        with pytest.raises(InputError, match="hash"):
            build(many_names().source(100), target, OPTIONS)
    assert len(seeds) > 1
    assert list(tmp_path.iterdir()) == []


def hashes(strings: Any) -> names.HashedNames:
    """Of the rows of an array of bytes."""
    rows, length = strings.shape
    data = np.ascontiguousarray(strings).reshape(-1)
    return names.hash_names(Names(data, np.arange(rows) * length, np.full(rows, length)), 1)


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 23, 40])
def test_strings_that_differ_in_a_few_bits(length: int) -> None:
    """Names often differ in a character or three, some bits of each."""
    rng = np.random.default_rng(length)
    strings = rng.integers(32, 127, (4000, length)).astype(np.uint8)
    before = hashes(strings)
    for _ in range(60):
        changed = strings.copy()
        for place in rng.choice(length, min(length, int(rng.integers(1, 4))), replace=False):
            changed[:, place] ^= np.uint8(1 << rng.integers(0, 8))
        after = hashes(changed)
        assert not np.any(before.keys == after.keys)
        assert not np.any(before.checks == after.checks)


def test_changes_that_a_product_does_not_mix() -> None:
    """High bits of two words, which a multiplication hardly moves, must not undo each other."""
    rng = np.random.default_rng(32)
    strings = rng.integers(32, 127, (3000, 16)).astype(np.uint8)
    before = hashes(strings)
    for first in (64, 128, 192):
        for second in (64, 128, 192):
            for places in ((7, 11, 15), (7, 15, 15), (6, 10, 14), (7, 8, 12), (3, 11, 15)):
                changed = strings.copy()
                changed[:, places[0]] ^= np.uint8(first)
                changed[:, places[1]] ^= np.uint8(second)
                changed[:, places[2]] ^= np.uint8(second)
                after = hashes(changed)
                assert not np.any(before.keys == after.keys)
                assert not np.any(before.checks == after.checks)


def test_names_that_look_alike_stay_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(33)
    letters = np.array(list("pqrstuvwxy"))
    words = ["".join(rng.choice(letters, 16)) for _ in range(300)]
    twins = []
    for word in words:
        other = list(word)
        for place in (7, 11, 15):
            other[place] = chr(ord(other[place]) ^ 0x40)
        twins.append("".join(other))
    assert len({*words, *twins}) == 600
    graph = ps.build((words, twins), tmp_path / "g", threads=2)
    assert graph.num_vertices == 600
    assert graph.ids.tolist() == sorted([*words, *twins])
    src, dst = graph.to_edges()
    assert set(zip(src.tolist(), dst.tolist(), strict=True)) == set(zip(words, twins, strict=True))


def test_names_that_are_not_text(tmp_path: Path) -> None:
    source = Input(["a"], ["b"], strings=True).source()

    def chunks(advance: Any) -> Any:
        for chunk in source.chunks(advance):
            assert isinstance(chunk.src, Names)
            chunk.src.data[:] = 0xFF
            yield chunk

    with pytest.raises(InputError, match="UTF-8"):
        build(replace(source, chunks=chunks), tmp_path / "g", OPTIONS)
    assert list(tmp_path.iterdir()) == []


def test_skipped_lines_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading again after a collision does not count them again."""
    source = many_names().source(300)

    def chunks(advance: Any) -> Any:
        for chunk in source.chunks(advance):
            source.bad_lines.count += 1
            yield chunk

    seeds = colliding(monkeypatch, 1, KEYS["few"])
    graph = build(replace(source, chunks=chunks), None, OPTIONS)
    assert len(seeds) == 2
    assert graph.catalog.rules["bad_lines_skipped"] == 3


@pytest.mark.parametrize("limit", [2_000, 30_000])
def test_file_of_ids_does_not_show_how_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(names, "_BATCH_ROWS", 64)
    words = [f"{v:x}".encode() for v in np.random.default_rng(5).integers(0, 4000, 9000)]
    data = np.frombuffer(b"".join(words), np.uint8)
    length = np.array([len(word) for word in words], np.int64)
    start = np.cumsum(length) - length

    def written(limit: int) -> tuple[bytes, list[int]]:
        collector = names.NameCollector(tmp_path, limit)
        for at in range(0, len(words), 500):
            part = Names(data, start[at : at + 500], length[at : at + 500])
            collector.add(names.hash_names(part, 1))
        keys, _ = collector.finish(tmp_path / "ids.arrow")
        return (tmp_path / "ids.arrow").read_bytes(), keys.tolist()

    assert written(limit) == written(1 << 30)
    assert not list(tmp_path.glob("names.*.arrow"))
