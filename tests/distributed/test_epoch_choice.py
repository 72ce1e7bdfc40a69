"""Which epoch is gone on from, who reads it, who holds copies, and when to save: pure functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.epoch_choice import (
    Held,
    Inventory,
    calls_to_look,
    choose_epoch,
    copy_holders,
    missing_parts,
    whole_arrays,
)
from penstock.engine.epoch_files import Manifest, Name, parse_name
from penstock.engine.ownership import Vertices


def manifest(epoch: int, parts: int, token: str = "a1") -> Manifest:
    """An epoch of so many parts, after ten steps each."""
    return Manifest(epoch, token, 10 * epoch, {}, {}, ("0",) * parts, {"x": "<f4"})


@st.composite
def inventories(draw: Any) -> list[Inventory]:
    """What some ranks may have of some epochs."""
    parts = {epoch: draw(st.integers(1, 4)) for epoch in draw(st.sets(st.integers(1, 4)))}
    found = []
    for _ in range(draw(st.integers(1, 4))):
        names = [
            Name(epoch, "a1", part, by)
            for epoch, count in parts.items()
            for part in range(count)
            for by in (part, (part + 1) % count)
            if draw(st.booleans())
        ]
        manifests = [manifest(epoch, n) for epoch, n in parts.items() if draw(st.booleans())]
        found.append(Inventory(tuple(manifests), tuple(dict.fromkeys(names))))
    return found


@given(inventories(), st.data())
def test_the_newest_complete_epoch_is_chosen(found: list[Inventory], data: Any) -> None:
    everything = [Held(r, name) for r, each in enumerate(found) for name in each.names]
    refused = {held for held in everything if data.draw(st.integers(0, 4)) == 0}
    good = {(held.name.epoch, held.name.part) for held in everything if held not in refused}
    known = {m.epoch: m for each in found for m in each.manifests}
    complete = [
        epoch
        for epoch, m in known.items()
        if all((epoch, part) in good for part in range(len(m.parts)))
    ]
    choice = choose_epoch(found, refused)
    if choice is None:
        assert not complete
        if known:
            assert "of the checkpoint after step" in missing_parts(found, refused)
        return
    assert choice.manifest.epoch == max(complete)
    assert [held.name.part for held in choice.readers] == list(range(len(choice.manifest.parts)))
    for held in choice.readers:
        assert held.name in found[held.rank].names
        assert held not in refused


def test_parts_are_read_by_different_ranks() -> None:
    names = tuple(Name(1, "a1", part, part) for part in range(4))
    choice = choose_epoch([Inventory((manifest(1, 4),), names)] * 4)
    assert choice is not None
    assert sorted(held.rank for held in choice.readers) == [0, 1, 2, 3]


def test_parts_of_two_attempts_do_not_mix() -> None:
    mine = manifest(3, 2, "a1")
    names = (Name(3, "a1", 0, 0), Name(3, "b2", 1, 1))
    assert choose_epoch([Inventory((mine, manifest(3, 2, "b2")), names)]) is None


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
def test_copies_are_on_other_hosts(hosts: list[str]) -> None:
    for rank, holder in enumerate(copy_holders(hosts)):
        if len(hosts) == 1:
            assert holder is None
            continue
        assert holder is not None
        assert holder != rank
        assert hosts[holder] != hosts[rank] or len(set(hosts)) == 1


@given(st.integers(1, 10**6), st.floats(0, 1e6))
def test_looks_are_rare_if_steps_are_short(calls: int, seconds: float) -> None:
    after = calls_to_look(calls, seconds)
    assert 1 <= after <= 2 * calls
    if after > 1:
        assert after * seconds / calls <= 0.5 * 1.01


def test_arrays_of_own_vertices_are_told_apart() -> None:
    lengths = [{"all": 6, "own": 6, "mine": 4}, {"all": 6, "own": 0, "mine": 2}]
    assert whole_arrays(lengths, 6) == {"all": True, "own": False, "mine": False}


@given(st.integers(1, 10**7), st.integers(0, 99), st.one_of(st.none(), st.integers(0, 99)))
def test_names_are_read_back(epoch: int, by: int, part: int | None) -> None:
    name = Name(epoch, "0f3e", part, by)
    assert parse_name(str(name)) == name
    assert parse_name(f"{name}.saving") is None


def test_a_manifest_is_read_back() -> None:
    made = Manifest(7, "a1", 70, {"totals": {"x": 1.5}}, {"graph": "f"}, ("0a", "0b"), {"x": "<f8"})
    assert Manifest.from_json(made.to_json()) == made


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=6), st.data())
def test_runs_are_the_vertices_at_positions(gaps: list[tuple[int, int]], data: Any) -> None:
    begins, ends, at = [], [], 0
    for gap, size in gaps:
        begins.append(at + gap)
        ends.append(at + gap + size)
        at += gap + size
    vertices = Vertices(np.array(begins, np.int64), np.array(ends, np.int64))
    begin = data.draw(st.integers(0, vertices.count))
    end = data.draw(st.integers(begin, vertices.count))
    found = [v for low, high in vertices.runs(begin, end) for v in range(low, high)]
    assert found == vertices.all[begin:end].tolist()
