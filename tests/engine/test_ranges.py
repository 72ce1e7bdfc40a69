"""State that does not fit memory, or the cache: the same values, however it is cut."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import budgets, build, distances, labels, ranks, run, values
from engine_programs import heat_program, label_program, path_program, rank_program
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine import narrowing, sizes
from penstock.engine import sums as sums_module
from penstock.engine.scratch import ScratchColumn, StoredArray
from penstock.engine.topology import CUT_LISTS
from penstock.errors import AccessError, CorruptionError, DiskSpaceError
from penstock.store.graph import Graph
from penstock.stream.block import Block


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("ranges") / "g", weighted=True)


@pytest.fixture(scope="module")
def rank_budgets(graph: Graph) -> dict[str, int]:
    return budgets(graph, rank_program())


def test_there_are_budgets_for_every_tier(rank_budgets: dict[str, int]) -> None:
    assert list(rank_budgets) == ["ranges", "streamed", "memory"]


@pytest.mark.parametrize("tier", ["ranges", "streamed", "memory"])
@pytest.mark.parametrize("span", [1 << 16, 700])
def test_ranks_in_every_tier(
    graph: Graph, rank_budgets: dict[str, int], tier: str, span: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sums_module, "SPAN", span)
    how = {"memory": rank_budgets[tier], "load": False}
    outcome = run(graph, rank_program(), max_iter=6, how=how)
    plan = outcome.engine.plan
    assert (plan.state, plan.ranges > 1) == (tier, tier == "ranges")
    np.testing.assert_allclose(outcome.values["rank"], ranks(graph, 6), rtol=1e-12)
    assert (outcome.values["rank"] == values(graph, rank_program(), max_iter=6)).all()
    again = run(graph, rank_program(), max_iter=6, how={**how, "threads": 1, "streams": 1})
    assert (again.values["rank"] == outcome.values["rank"]).all()
    assert outcome.engine.budget.used <= outcome.engine.budget.limit


@pytest.mark.parametrize("program", ["labels", "paths", "heat"])
def test_programs_with_activate_in_every_tier(graph: Graph, program: str) -> None:
    made = {"labels": label_program(), "paths": path_program(), "heat": heat_program()}[program]
    given: dict[str, Any] = {"strategy": "pull"}
    if program == "paths":
        given["params"] = {"source": 7}
    expected = {
        "labels": lambda: labels(graph),
        "paths": lambda: distances(graph, 7),
        "heat": lambda: values(graph, made, strategy="pull"),
    }[program]()
    found = budgets(graph, made, **given)
    assert {"ranges", "memory"} <= set(found)
    for tier, memory in found.items():
        outcome = run(graph, made, how={"memory": memory, "load": False}, **given)
        assert outcome.engine.plan.state == tier
        assert outcome.converged
        first = next(iter(outcome.values.values()))
        np.testing.assert_array_equal(first, expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_cut_for_the_cache_is_the_same(
    tmp_path: Path, weighted: Any, directed: Any, monkeypatch: Any
) -> None:
    graph = build(tmp_path / "g", weighted=True, directed=directed)
    program, given = label_program(), {"strategy": "pull", "params": {}}
    if weighted:
        program, given = path_program(), {"strategy": "pull", "params": {"source": 7}}
    plain = run(graph, program, **given)
    assert not plain.engine.plan.cut
    plain_sums = run(graph, rank_program(), max_iter=5)
    monkeypatch.setattr(sizes, "CACHE_BYTES", 8192)
    monkeypatch.setattr(sizes, "HUB_SHARE", 1.0)
    cut = run(graph, program, **given)
    assert cut.engine.plan.cut
    assert cut.engine.plan.cut_ranges > 2
    for name, found in cut.values.items():
        assert (found == plain.values[name]).all()
    sums = run(graph, rank_program(), max_iter=5)
    assert sums.engine.plan.cut
    assert (sums.values["rank"] == plain_sums.values["rank"]).all()
    again = run(graph, rank_program(), max_iter=5, how={"threads": 3})
    assert (again.values["rank"] == sums.values["rank"]).all()
    assert again.engine.load_seconds == 0  # lists and cuts are kept with the graph
    memory = sums.engine.plan.memory_bytes - 1
    uncut = run(graph, rank_program(), max_iter=1, how={"memory": memory})
    assert (uncut.engine.plan.resident, uncut.engine.plan.cut) == (True, False)
    others = [blocks for (slot, _), blocks in graph.kept.items() if slot == CUT_LISTS]
    held = sum(b.neighbours.nbytes + b.offsets.nbytes for blocks in others for b in blocks)
    assert held <= memory - uncut.engine.plan.memory_bytes


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 30), max_size=8), min_size=1, max_size=10),
    st.integers(0, 31), st.integers(0, 31), st.data(),
)  # fmt: skip
def test_restrict(lists: list[list[int]], low: int, size: int, data: Any) -> None:
    high, first = low + size, 4
    begin = data.draw(st.integers(0, len(lists)))
    end = data.draw(st.integers(begin, len(lists)))
    flat = np.array([u for each in lists for u in each], np.uint32)
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.uint32)
    weights = np.arange(len(flat), dtype=np.float32)
    for columns in ((), (weights,)):
        block = Block(first, offsets, flat, columns)
        found = narrowing.restrict(block, first + begin, first + end, low, high)
        assert found.first == first + begin
        wanted = [
            [(u - low, k) for k, u in enumerate(flat[a:b].tolist(), int(a)) if low <= u < high]
            for a, b in zip(offsets[begin:end], offsets[begin + 1 : end + 1], strict=True)
        ]
        assert np.diff(found.offsets.astype(int)).tolist() == [len(each) for each in wanted]
        assert found.neighbours.tolist() == [u for each in wanted for u, _ in each]
        if columns:
            assert found.columns[0].tolist() == [k for each in wanted for _, k in each]


# Columns in files


def test_columns_come_back(tmp_path: Path) -> None:
    column = ScratchColumn(tmp_path, np.dtype(np.float32), 100)
    column.write(0, np.arange(100, dtype=np.float32))
    column.write(40, np.full(10, -1.0))
    assert column.read(38, 52).tolist() == [38, 39, *[-1] * 10, 50, 51]
    assert column.read(7, 7).tolist() == []
    assert os.listdir(tmp_path) == []
    with pytest.raises(CorruptionError, match="ends too early"):
        ScratchColumn(tmp_path, np.dtype(np.float32), 100).read(0, 5)
    stored = StoredArray(np.arange(10))
    assert stored.read(2, 5).tolist() == [2, 3, 4]


def test_a_folder_that_is_not_there(
    graph: Graph, rank_budgets: dict[str, int], tmp_path: Path
) -> None:
    how = {"memory": rank_budgets["ranges"], "tmpdir": tmp_path / "missing"}
    with pytest.raises(AccessError, match=r"missing: cannot be written.*tmpdir"):
        run(graph, rank_program(), how=how)


@pytest.mark.parametrize("tier", ["ranges", "streamed"])
def test_a_full_disk(
    graph: Graph, rank_budgets: dict[str, int], tier: str, monkeypatch: Any
) -> None:
    written, true_write = 0, os.pwrite

    def write(fd: int, data: Any, offset: int) -> int:
        nonlocal written
        written += len(data)
        if written > 300_000:
            raise OSError(errno.ENOSPC, "full")
        return true_write(fd, data[:1000], offset)  # and never all at once

    monkeypatch.setattr(os, "pwrite", write)
    with pytest.raises(
        DiskSpaceError, match=r"the disk is full.*another folder for temporary files"
    ):
        run(graph, rank_program(), how={"memory": rank_budgets[tier], "load": False})
