"""Checkpoints whose checksums are right and whose contents no run can have saved."""

from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as ps
from penstock.engine.checkpoint import FILE_NAME, Checkpoint
from penstock.engine.checkpoint_file import Facts, Saved, within, write_state
from penstock.engine.scratch import InMemory
from penstock.errors import CorruptionError
from penstock.types import NO_VERTEX

N = 60

CALLS = {
    "bfs": {"source": 0}, "color": {}, "connected_components": {}, "core_number": {},
    "label_propagation": {}, "minimum_spanning_forest": {}, "radius": {"b": 4},
    "sssp": {"source": 0}, "strongly_connected_components": {},
    "pagerank": {"max_iter": 3, "tol": 0},
    "closeness": {}, "two_hop": {}, "triangles": {},
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, N, (2, 300))
    weight = rng.integers(1, 9, 300).astype(np.float32)
    folder = tmp_path_factory.mktemp("checkpoints") / "g"
    return ps.build((src, dst, weight), folder, weights=True, num_vertices=N)


def interrupted(graph, name, folder, monkeypatch):
    """Run an algorithm and leave its last checkpoint; returns the file, and how to go on."""
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "clear", lambda self: None)
        options = {"checkpoint": folder, "checkpoint_every": 1, "load": False, "threads": 1}
        getattr(ps, name)(graph, **CALLS[name], **options)
    return folder / FILE_NAME, options | {"resume": True}


def forge(path, array=None, place=0, value=0, **facts):
    """Change an entry of an array, or facts, and make all checksums right."""
    saved = Saved(path)
    arrays = {}
    for name, (dtype, length) in saved.arrays.items():
        arrays[name] = np.empty(length, dtype)
        saved.read_into(name, arrays[name])
    if array is not None:
        arrays[array][place] = value
    extra = {**saved.extra, **facts}
    extra = {name: each for name, each in extra.items() if each is not ...}
    described = {"identity": saved.identity, "step": saved.step, "extra": extra}
    saved.close()
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    write_state(fd, {name: InMemory(each) for name, each in arrays.items()}, described)
    os.close(fd)


@pytest.mark.parametrize(
    ("name", "array", "value"),
    [
        ("bfs", "parents", N), ("bfs", "levels", N), ("color", "colours", 10**6),
        ("connected_components", "labels", N), ("connected_components", "labels", 1),
        ("core_number", "estimates", 10**6), ("label_propagation", "labels", N),
        ("minimum_spanning_forest", "near", N), ("radius", "counters", 200),
        ("radius", "log", N << 32),
        ("sssp", "distances", -1.0), ("sssp", "distances", np.nan),
        ("strongly_connected_components", "labels", N),
    ],
)  # fmt: skip
def test_entries_that_no_run_can_have_saved_are_refused(
    graph, tmp_path, monkeypatch, name, array, value
):
    path, options = interrupted(graph, name, tmp_path / "c", monkeypatch)
    forge(path, array, 0, value)
    with pytest.raises(CorruptionError, match=f"array '{array}' has entries that it cannot have"):
        getattr(ps, name)(graph, **CALLS[name], **options)


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("color", {"position": N + 1}), ("color", {"position": -1}), ("color", {"position": ...}),
        ("core_number", {"position": 10**9}), ("label_propagation", {"left": 0.5}),
        ("closeness", {"sources": 10**9}), ("two_hop", {"targets": 10**9}),
        ("triangles", {"vertices": 10**9}), ("triangles", {"hubs": -1}),
        ("radius", {"ends": [0, 1.5]}), ("radius", {"ends": [0, 10**9]}), ("radius", {"ends": 7}),
        ("pagerank", {"totals": 5}), ("pagerank", {"totals": {}}), ("pagerank", {"page": 10**9}),
        ("pagerank", {"partial": [["x"]]}),
    ],
)  # fmt: skip
def test_facts_that_no_run_can_have_saved_are_refused(graph, tmp_path, monkeypatch, name, facts):
    path, options = interrupted(graph, name, tmp_path / "c", monkeypatch)
    forge(path, **facts)
    with pytest.raises(CorruptionError, match=r"the checkpoint cannot be used|ends too early"):
        getattr(ps, name)(graph, **CALLS[name], **options)


def test_a_checkpoint_that_is_only_written_again_is_taken(graph, tmp_path, monkeypatch):
    path, options = interrupted(graph, "color", tmp_path / "c", monkeypatch)
    forge(path)
    assert np.array_equal(ps.color(graph, **options).values, ps.color(graph, load=False).values)


def test_rules():
    holds = within(0, 3, NO_VERTEX)
    assert holds(0, np.array([0, 3, NO_VERTEX], np.uint32))
    assert not holds(0, np.array([4], np.uint32))
    assert not within(0, np.inf)(0, np.array([np.nan]))
    facts = Facts(a=3, b=True)
    assert facts.whole("a", 0, 3) == 3
    for name in ("a", "b", "c"):
        with pytest.raises(CorruptionError):
            facts.whole(name, 0, 2)
