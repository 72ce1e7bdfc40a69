"""What an index of SCAN does, and what its verifier notices."""

from __future__ import annotations

import errno
import os
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from scan_making import BORDER, CORE, HUB, OUTLIER, cliques, graph_of, scan
from traversal_making import build, edges

import penstock as ps
from penstock.algorithms import _scan, _scan_check, _scan_edges
from penstock.algorithms._scan_check import verify
from penstock.engine import edge_column_files
from penstock.engine.edge_column_files import Unfinished
from penstock.errors import (
    CorruptionError,
    FormatError,
    LockedError,
    PenstockError,
    VerificationError,
)


def test_an_index_is_beside_the_graph(tmp_path):
    graph = build(tmp_path / "g", edges(300, 2000), directed=False)
    first = scan(graph, 0.4, 3)
    assert not first.stats["indexed"]
    names = sorted(each.name for each in (tmp_path / "g.columns").iterdir())
    assert names == ["columns.json", "common_neighbours.npy", "num_neighbours.npy"]
    for reopened in (graph, ps.open(tmp_path / "g")):
        for epsilon, mu in ((0.4, 3), (0.2, 2), (0.6, 5)):
            found = scan(reopened, epsilon, mu)
            assert found.stats["indexed"]
            fresh = scan(graph, epsilon, mu, index=False)
            assert not fresh.stats["indexed"]
            np.testing.assert_array_equal(found.values, fresh.values)
            np.testing.assert_array_equal(found.role, fresh.role)


@pytest.mark.parametrize("none", [False, "none"])
def test_no_index_leaves_nothing(none, tmp_path):
    graph = build(tmp_path / "g", edges(300, 2000), directed=False)
    for _ in range(2):
        assert not scan(graph, index=none).stats["indexed"]
    assert [each.name for each in tmp_path.iterdir()] == ["g"]
    left = {slot.name for (slot, _), _ in graph.kept.items()}
    assert left <= {"lists", "ranks of ids", "counts"}


@pytest.mark.parametrize("name", ["common_neighbours.npy", "num_neighbours.npy", "columns.json"])
def test_an_index_that_is_damaged(name, tmp_path):
    scan(build(tmp_path / "g", edges(300, 2000), directed=False))
    path = tmp_path / "g.columns" / name
    raw = bytearray(path.read_bytes())
    raw[200] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CorruptionError, match=f"{name}: .*remove the folder"):
        scan(ps.open(tmp_path / "g"))
    shutil.rmtree(path.parent)
    assert not scan(ps.open(tmp_path / "g")).stats["indexed"]


def test_an_index_elsewhere(tmp_path):
    pairs = cliques([(8, 0), (8, 4), (9, 1)])
    place = tmp_path / "kept"
    assert not scan(graph_of(pairs), index=place).stats["indexed"]
    again = graph_of(pairs)
    assert scan(again, index=str(place)).stats["indexed"]
    assert not scan(again).stats["indexed"]
    assert scan(again, 0.3, 5).stats["indexed"]  # with the graph
    with pytest.raises(FormatError, match=r"kept: the index was made for another graph.*index="):
        scan(graph_of(pairs[1:]), index=place)


def test_an_index_of_another_graph_beside_this_one_is_made_anew(tmp_path):
    scan(build(tmp_path / "g", edges(300, 2000), directed=False))
    graph = build(tmp_path / "g", edges(300, 2100), directed=False, overwrite=True)
    found = scan(graph, 0.4, 3)
    assert not found.stats["indexed"]
    again = scan(graph, 0.4, 3)
    assert again.stats["indexed"]
    np.testing.assert_array_equal(found.values, again.values)


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(300, 2000), directed=False)
    (tmp_path / "g.columns").write_text("in the way")
    assert "g.columns: cannot be written" in scan(graph).stats["not_kept"]
    monkeypatch.setattr(_scan_edges, "Counting", None)
    with pytest.raises(PenstockError, match=r"g\.columns: .*index=False"):
        scan(ps.open(tmp_path / "g"), index=tmp_path / "g.columns")
    with pytest.raises(PenstockError, match=r"nowhere/kept: .*index=False"):
        scan(graph, index=tmp_path / "nowhere" / "kept")


# The verifier


#: Two cliques, a hub between them, an outlier and a border of the first, and a pair apart.
BASE = cliques([(8, 0), (8, 4), (9, 1), (10, 2), (10, 3), (11, 12)])
CHANGES = {
    "a core is none": {3: (-2, OUTLIER)},
    "a core is a border": {3: (0, BORDER)},
    "an outlier is a core": {9: (0, CORE)},
    "an outlier is a hub": {9: (-1, HUB)},
    "a hub is an outlier": {8: (-2, OUTLIER)},
    "a hub is a border": {8: (0, BORDER)},
    "a border is none": {10: (-2, OUTLIER)},
    "a border of another cluster": {10: (4, BORDER)},
    "another label": dict.fromkeys(range(4), (1, CORE)) | {10: (1, BORDER)},
    "two clusters are one": dict.fromkeys(range(4, 8), (0, CORE)),
    "one cluster is two": dict.fromkeys((2, 3), (2, CORE)) | {10: (2, BORDER)},
    "a label that is no vertex": {5: (77, CORE)},
    "a label that is an outlier": {5: (9, CORE)},
    "a value that is none": {9: (-3, OUTLIER)},
    "a role that is none": {9: (-2, 4)},
}


@pytest.mark.parametrize("order", ["degree", "none"])
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_the_verifier_notices(changes, order):
    graph = graph_of(BASE, vertex_order=order)
    found = scan(graph, 0.65, 4)
    assert found.role.tolist() == [CORE] * 8 + [HUB, OUTLIER, BORDER, OUTLIER, OUTLIER]
    assert found.values.tolist() == [0] * 4 + [4] * 4 + [-1, -2, 0, -2, -2]
    verify(graph, found)
    for vertex, (value, role) in changes.items():
        found.values[vertex], found.role[vertex] = value, role
    counts = np.bincount(found.role, minlength=4).tolist()
    found.stats |= {f"{role}s": count for role, count in zip(_scan.ROLES, counts, strict=False)}
    found.stats["clusters"] = len(set(found.values[found.role == CORE].tolist()))
    with pytest.raises(VerificationError, match="scan: "):
        verify(graph, found)


@pytest.mark.parametrize("name", ["clusters", "cores", "borders", "hubs", "outliers"])
def test_the_verifier_notices_a_wrong_count(name):
    graph = graph_of(BASE)
    found = scan(graph, 0.65, 4)
    found.stats[name] += 1
    with pytest.raises(VerificationError, match=name):
        verify(graph, found)


def test_the_verifier_gathers_in_parts(monkeypatch):
    graph = graph_of(BASE)
    found = scan(graph, 0.65, 4)
    monkeypatch.setattr(_scan_check, "GATHERED", 5)
    verify(graph, found)
    found.values[10], found.role[10] = -2, OUTLIER
    found.stats |= {"borders": 0, "outliers": 4}
    with pytest.raises(VerificationError, match="10, which is similar to it, is an outlier"):
        verify(graph, found)


# Beside the graph nothing can be written


def refuse(monkeypatch, name, code, when):
    """Have a call to the system fail where the path has ``when`` in it."""
    call = getattr(os, name)

    def refused(path, *args, **options):
        if when in str(path):
            raise OSError(code, os.strerror(code), str(path))
        return call(path, *args, **options)

    monkeypatch.setattr(os, name, refused)


@pytest.mark.parametrize("name", ["mkdir", "open"])
@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_read_only_disk_does_without_an_index(tmp_path, monkeypatch, name, code):
    graph = build(tmp_path / "g", edges(300, 2000), directed=False)
    right = scan(graph, 0.4, 3, index=False)
    notes = []
    with monkeypatch.context() as patch:
        refuse(patch, name, code, "g.columns")
        progress = SimpleNamespace(
            start=lambda *_: None, advance=lambda *_: None, note=notes.append
        )
        found = ps.scan(graph, 0.4, 3, progress=progress)
    np.testing.assert_array_equal(found.values, right.values)
    assert not found.stats["indexed"]
    assert "g.columns" in found.stats["not_kept"]
    assert "index=False" in found.stats["not_kept"]
    assert notes == [f"going on without an index: {found.stats['not_kept']}"]
    assert [each.name for each in tmp_path.iterdir()] == ["g"]
    assert ps.scan(ps.open(tmp_path / "g"), 0.4, 3).stats["not_kept"] is None


def test_a_disk_that_becomes_full_does_without_an_index(tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(300, 2000), directed=False)
    right = scan(graph, 0.4, 3, index=False)

    def full(fd, data, offset):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(edge_column_files.os, "pwrite", full)
        found = ps.scan(graph, 0.4, 3)
    np.testing.assert_array_equal(found.values, right.values)
    assert "g.columns: the disk is full" in found.stats["not_kept"]
    assert [each.name for each in tmp_path.iterdir()] == ["g"]


def test_while_another_run_writes_the_index_none_is_needed(tmp_path):
    graph = build(tmp_path / "g", edges(300, 2000), directed=False)
    with Unfinished(tmp_path / "g.columns", graph):
        found = ps.scan(graph, 0.4, 3)
        assert "another run is writing" in found.stats["not_kept"]
        np.testing.assert_array_equal(found.values, scan(graph, 0.4, 3, index=False).values)
        with pytest.raises(LockedError, match="another run is writing"):
            ps.scan(ps.open(tmp_path / "g"), 0.4, 3, index=tmp_path / "g.columns")


def test_an_index_that_may_not_be_read_is_not_needed(tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(300, 2000), directed=False)
    right = scan(graph, 0.4, 3)

    again = ps.open(tmp_path / "g")
    refuse(monkeypatch, "open", errno.EACCES, "columns.json")
    found = ps.scan(again, 0.4, 3)
    assert "cannot be read" in found.stats["not_kept"]
    np.testing.assert_array_equal(found.values, right.values)
