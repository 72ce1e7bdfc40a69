"""Ranks that differ decide alike: other threads, other moments, other pages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from losing import FragileHosts
from rank_making import ThreadHosts, build_hard
from test_epochs import CALLS, interrupt, left, parts_of

import penstock as ps
from penstock.distributed.dealing import deal
from penstock.engine.engine import Engine
from penstock.engine.epoch_files import EpochFolder
from penstock.engine.frontier import Frontier
from penstock.errors import CorruptionError, OptionError

pytestmark = pytest.mark.usefixtures("scratch")
OFTEN = {"checkpoint_every": "1", "threads": 1}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("agreement"), directed=True)


class UnequalHosts(ThreadHosts):
    """Hosts of which each has more threads than the one before."""

    def run(self, function: Any, *args: Any, heard: Any = None) -> list[Any]:
        def on_rank(peers: Any, job: Any, *more: Any) -> Any:
            if isinstance(job, tuple) or not hasattr(job, "options"):
                return function(peers, job, *more)
            own = {**job.options, "threads": 1 + 3 * peers.rank}
            return function(peers, replace(job, options=own), *more)

        return super().run(on_rank, *args, heard=heard)


@pytest.mark.parametrize("load", [True, False], ids=["in memory", "streamed"])
def test_ranks_with_other_threads_plan_alike(graph: ps.Graph, load: bool) -> None:  # noqa: FBT001
    for call in (ps.pagerank, lambda g, **k: ps.sssp(g, 5, **k), lambda g, **k: ps.bfs(g, 5, **k)):
        found = call(graph, hosts=UnequalHosts(3), load=load, memory="64MB")
        np.testing.assert_array_equal(found.values, call(graph, load=load).values)
        rows = found.stats["ranks"]
        assert [row["threads"] for row in rows] == [1, 4, 7]
        assert len({row["planned_memory"] for row in rows}) == 1


def test_a_search_that_goes_on_is_looked_at_alike(graph: ps.Graph, monkeypatch: Any) -> None:
    seen: dict[int, list[Any]] = defaultdict(list)
    choose = Frontier.choose

    def noting(self: Frontier) -> Any:
        seen[self.step].append(self.outlook)
        return choose(self)

    monkeypatch.setattr(Frontier, "choose", noting)
    expected = ps.bfs(graph, 5)
    went_on = 0
    for last in range(8, 24, 3):
        seen.clear()
        found = ps.bfs(graph, 5, hosts=FragileHosts(3, last), **OFTEN)
        np.testing.assert_array_equal(found.values, expected.values)
        went_on += (found.stats.get("epochs") or {}).get("resumed_after") is not None
        for outlooks in seen.values():
            assert len({(each.edges, each.unexplored, each.count) for each in outlooks}) == 1
    assert went_on


def test_shortest_paths_that_begin_again_replace_what_they_saved(
    tmp_path: Path, monkeypatch: Any
) -> None:
    free, freed = Engine.free, []

    def noting(self: Engine, name: str) -> None:
        freed.append((name, self.held(f"state {name!r}")))
        free(self, name)

    monkeypatch.setattr(Engine, "free", noting)
    n = 12
    edges = np.arange(n), np.arange(1, n + 1), np.full(n, 1 << 28, np.int32)
    graph = ps.build(edges, tmp_path / "long.penstock", directed=True, weights=True)
    folder = tmp_path / "kept"
    found = ps.sssp(graph, 0, hosts=ThreadHosts(2), checkpoint=folder, delta=1.0, **OFTEN)
    np.testing.assert_array_equal(found.values, np.arange(n + 1) * float(1 << 28))
    assert found.stats["epochs"]["saved"] > 0
    assert freed.count(("lowered", -(-(n + 1) // 8) * 8)) == 4, "two ranks tried twice"
    assert not folder.exists()


def test_an_epoch_counts_when_every_rank_has_its_manifest(
    graph: ps.Graph, monkeypatch: Any, scratch: Path
) -> None:
    begin = EpochFolder.begin

    def fail(self: EpochFolder, name: Any) -> int:
        if name.by == 1 and name.part is None and name.epoch > 1:
            raise OSError(28, "No space left on device")
        return begin(self, name)

    monkeypatch.setattr(EpochFolder, "begin", fail)
    found = ps.pagerank(graph, tol=0, max_iter=4, hosts=ThreadHosts(3), **OFTEN)
    assert found.stats["epochs"]["saved"] == 1
    assert "the disk is full" in found.stats["epochs"]["notes"][0]
    assert [path for path in scratch.rglob("*") if path.is_file()] == []


def test_as_many_stripes_as_hosts_are_not_the_whole_graph(graph: Any, tmp_path: Path) -> None:
    paths = [tmp_path / f"host{k}" for k in range(2)]
    for path in paths:
        path.mkdir()
    deal(graph, paths, num_stripes=2)
    hosts = ThreadHosts(2, [path / "hard.penstock" for path in paths])
    with pytest.raises(OptionError, match="each host has other pages"):
        ps.pagerank(graph, hosts=hosts, division="S2")
    np.testing.assert_array_equal(ps.pagerank(graph, hosts=hosts).values, ps.pagerank(graph).values)


def test_epochs_of_another_run_are_not_gone_on_from(graph: ps.Graph, tmp_path: Path) -> None:
    folder, other = tmp_path / "kept", tmp_path / "other"
    interrupt(graph, folder)
    for path in parts_of(folder, 2):
        path.unlink()
    interrupt(graph, other, "rwr")
    for path in left(other):  # of a host that was away when the other run was replaced
        path.rename(folder / path.name)
    with pytest.raises(CorruptionError, match="part 2 of 3 is on none of the hosts that are here"):
        CALLS["pagerank"](graph, hosts=ThreadHosts(2), checkpoint=folder, resume=True)
