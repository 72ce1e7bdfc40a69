"""What is planned for hosts that are not there, against what ranks plan that are."""

from __future__ import annotations

from typing import Any

import pytest
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.algorithms import find
from penstock.distributed import jobs
from penstock.engine.host_plan import plan_over_hosts
from penstock.engine.options import RunOptions
from penstock.engine.peers import Planned
from penstock.errors import OptionError

MEMORY = 100_000_000


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("planned"), directed=True)


def planned(graph: ps.Graph, name: str, hosts: int, *, load: bool = True, **own: Any) -> Any:
    options = RunOptions.of(memory=MEMORY, threads=2, load=load)
    return plan_over_hosts(graph, find(name), own, options, hosts)


@pytest.mark.parametrize("load", [True, False], ids=["in memory", "streamed"])
@pytest.mark.parametrize(("name", "own"), [("pagerank", {}), ("bfs", {"source": 5})])
def test_ranks_plan_the_same(graph: ps.Graph, name: str, own: Any, load: bool) -> None:  # noqa: FBT001
    found = planned(graph, name, 3, load=load, **own)
    given = {**own, "memory": MEMORY, "threads": 2, "load": load}
    result = find(name)(graph, hosts=ThreadHosts(3), **given)
    assert found.plan.memory_bytes == result.stats["planned_memory"]
    assert found.plan.resident == result.stats["resident"] == load
    assert found.own_vertices == max(each["own_vertices"] for each in result.stats["ranks"])


def test_what_comes_is_what_others_own(graph: ps.Graph) -> None:
    ranks = ps.pagerank(graph, hosts=ThreadHosts(4)).stats["ranks"]
    others = graph.num_vertices - min(each["own_vertices"] for each in ranks)
    assert planned(graph, "pagerank", 4).received_bytes == 4 * others  # float32
    assert planned(graph, "bfs", 4, source=5).received_bytes is None


def test_ranks_share_pages(graph: ps.Graph) -> None:
    found = planned(graph, "pagerank", 4)
    assert found.page_bytes * 4 >= found.all_page_bytes > found.page_bytes * 2
    alone = planned(graph, "pagerank", 1)
    assert alone.page_bytes == alone.all_page_bytes == found.all_page_bytes


def test_what_a_run_refuses_is_refused(graph: ps.Graph) -> None:
    with pytest.raises(OptionError, match="runs on one host only"):
        planned(graph, "k_core", 2, k=3)


def test_a_rank_that_is_planned_sends_nothing() -> None:
    assert (Planned(3).rank, Planned(3).size) == (0, 3)
    with pytest.raises(NotImplementedError):
        Planned(3).drain()


def test_a_rank_has_what_its_worker_was_told(graph: ps.Graph, monkeypatch: Any) -> None:
    monkeypatch.setenv("PENSTOCK_RANK_MEMORY", "60000000")
    monkeypatch.setenv("PENSTOCK_RANK_THREADS", "3")

    def look(peers: Any, given: Any) -> Any:
        options = jobs._rank_options(peers, given)
        return options.memory, options.threads

    hosts = ThreadHosts(2)
    assert hosts.run(look, {}) == [(60_000_000, 3)] * 2
    assert hosts.run(look, {"memory": "50MB", "threads": 1}) == [(50_000_000, 1)] * 2
    assert hosts.run(look, {"memory": "1GB"}) == [(60_000_000, 3)] * 2


def test_threads_of_the_hosts_are_those_of_a_call(graph: ps.Graph) -> None:
    hosts = ThreadHosts(2)
    hosts.threads = 2
    assert ps.pagerank(graph, hosts=hosts).stats["threads"] == 2
    assert ps.pagerank(graph, hosts=hosts, threads=1).stats["threads"] == 1
