"""Runs over hosts each of which has a part of the graph only."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.distributed import jobs
from penstock.distributed.dealing import deal
from penstock.distributed.sight import Agreement
from penstock.errors import FormatError, InputNotFoundError, OptionError
from penstock.store.paged import open_graph

HOSTS = 3
STRIPES = 7


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request: Any, tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("whole"), directed=request.param)


def deal_out(graph: Any, folder: Path, copies: int = 1, hosts: int = HOSTS) -> list[Path]:
    """A folder for each host, with its part."""
    paths = [folder / f"host{k}" for k in range(hosts)]
    for path in paths:
        path.mkdir()
    found = deal(graph, paths, copies=copies, num_stripes=STRIPES)
    assert [found.places[str(path / "hard.penstock")] for path in paths] == [
        open_graph(path / "hard.penstock").part.stripes for path in paths
    ]
    return [path / "hard.penstock" for path in paths]


@pytest.fixture(scope="module")
def parts(graph: ps.Graph, tmp_path_factory: Any) -> list[Path]:
    return deal_out(graph, tmp_path_factory.mktemp("parts"))


def own_bytes(paths: Sequence[Path], directions: Sequence[str]) -> list[int]:
    """Bytes of the page files that each host has."""
    return [
        sum(file.stat().st_size for d in directions for file in path.glob(f"stripe.*/{d}.pages"))
        for path in paths
    ]


CALLS = {
    "pagerank": lambda g, **k: ps.pagerank(g, **k),
    "bfs": lambda g, **k: ps.bfs(g, 5, **k),
    "sssp": lambda g, **k: ps.sssp(g, 5, **k),
    "components": lambda g, **k: ps.connected_components(g, **k),
}


@pytest.mark.parametrize("way", [{"load": True}, {"load": False}], ids=["in memory", "streamed"])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits(graph: ps.Graph, parts: list[Path], name: str, way: Any) -> None:
    call = CALLS[name]
    expected = call(graph, **way)
    for opened in (graph, ps.open(parts[1])):
        found = call(opened, hosts=ThreadHosts(HOSTS, parts), threads=2, **way)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.values, expected.values)


def test_a_rank_reads_its_own_pages_and_no_others(graph: ps.Graph, parts: list[Path]) -> None:
    passes = 4
    found = ps.pagerank(
        graph, hosts=ThreadHosts(HOSTS, parts), load=False, cache_pages=0, max_iter=passes, tol=0
    )
    direction = "in" if "in" in graph.directions else "out"
    expected = [passes * each for each in own_bytes(parts, [direction])]
    assert [row["bytes_read"] for row in found.stats["ranks"]] == expected
    assert sum(expected) == passes * len(graph.page_table(direction)) * 4096


@pytest.mark.parametrize("dealt", [(0, 0, 0, 1, 2), (2, 1), (1, 1, 1), (0, 2, 2, 2, 0, 2, 2)])
def test_any_assignment_gives_the_same_bits(graph: ps.Graph, dealt: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(jobs, "agree", lambda peers, graph: Agreement(dealt, ()))
    for name, call in CALLS.items():
        for load in (True, False):
            found = call(graph, hosts=ThreadHosts(HOSTS), load=load)
            np.testing.assert_array_equal(found.values, call(graph, load=load).values, name)
            counts = [row["bytes_read"] > 0 for row in found.stats["ranks"]]
            assert load or counts == [rank in dealt for rank in range(HOSTS)]


def test_a_host_may_have_the_whole_graph(graph: ps.Graph, parts: list[Path]) -> None:
    paths = [parts[0], graph.path, parts[2]]
    found = ps.pagerank(graph, hosts=ThreadHosts(HOSTS, paths), load=False)
    np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)
    assert all(row["bytes_read"] for row in found.stats["ranks"])


def test_a_lost_stripe_is_read_from_its_copy(graph: ps.Graph, tmp_path: Path) -> None:
    paths = deal_out(graph, tmp_path, copies=2)
    hosts = ThreadHosts(HOSTS, paths)
    before = ps.pagerank(graph, hosts=hosts)
    shutil.rmtree(paths[0] / "stripe.0")
    after = ps.pagerank(graph, hosts=hosts)
    expected = ps.pagerank(graph)
    for found in (before, after):
        np.testing.assert_array_equal(found.values, expected.values)
    for path in paths[0].glob("stripe.*"):
        shutil.rmtree(path)
    last = ps.pagerank(graph, hosts=hosts, load=False)
    np.testing.assert_array_equal(last.values, expected.values)
    assert last.stats["ranks"][0]["bytes_read"] == 0


def test_a_lost_stripe_without_a_copy_is_named(graph: ps.Graph, tmp_path: Path) -> None:
    paths = deal_out(graph, tmp_path)
    hosts = ThreadHosts(HOSTS, paths)
    ps.pagerank(graph, hosts=hosts)
    shutil.rmtree(paths[2] / "stripe.5")
    with pytest.raises(InputNotFoundError, match=r"stripe 5 of 7: none of the hosts .*host2"):
        ps.pagerank(graph, hosts=hosts)


def test_a_host_that_has_lost_the_directory_is_named(graph: ps.Graph, tmp_path: Path) -> None:
    paths = deal_out(graph, tmp_path, copies=2)
    shutil.rmtree(paths[1])
    with pytest.raises(InputNotFoundError, match=r"host1.*no such graph, on .*leave out this host"):
        ps.pagerank(graph, hosts=ThreadHosts(HOSTS, paths))


def test_a_part_alone(graph: ps.Graph, parts: list[Path]) -> None:
    part = ps.open(parts[0])
    assert part.num_edges == graph.num_edges
    np.testing.assert_array_equal(part.degrees("out"), graph.degrees("out"))
    with pytest.raises(OptionError, match=r"a part of a graph: stripes 1, 2, 4, 5 of 7 are not"):
        ps.pagerank(part)
    with pytest.raises(InputNotFoundError, match=r"stripe 1 is not in this part"):
        list(part.iter_adjacency("out"))
    with pytest.raises(OptionError, match="a part of a graph"):
        ps.DynamicGraph.from_graph(part)


def test_only_stripes_that_are_there_are_open(parts: list[Path], graph: ps.Graph) -> None:
    part = open_graph(parts[0])
    for direction in part.directions:
        opened = part.pages(direction).descriptors
        assert [k for k, fd in enumerate(opened) if fd >= 0] == [0, 3, 6]


def test_parts_of_two_dealings_are_refused(
    graph: ps.Graph, parts: list[Path], tmp_path: Path
) -> None:
    other = tmp_path / "a", tmp_path / "b"
    for path in other:
        path.mkdir()
    deal(graph, other, num_stripes=4)
    paths = [*parts[:2], other[1] / "hard.penstock"]
    with pytest.raises(FormatError, match=r"different numbers of stripes \(4 on .*, 7 on"):
        ps.pagerank(graph, hosts=ThreadHosts(HOSTS, paths))


# Over connections


class CommHosts(ThreadHosts):
    """Hosts that are threads, with connections between them as workers have them."""

    def run(self, function: Any, job: Any, *args: Any) -> list[Any]:
        from penstock.distributed.dask_peers import CommPeers

        ranks = [CommPeers(rank, self.size, secret="word", epoch=1) for rank in range(self.size)]
        addresses = [peers.address for peers in ranks]

        def work(peers: Any) -> Any:
            try:
                peers.connect(addresses)
                return function(peers, replace(job, path=self.paths[peers.rank]), *args)
            finally:
                peers.close()

        with ThreadPoolExecutor(self.size) as pool:
            return list(pool.map(work, ranks))


class LocalHosts(ps.Hosts):
    """Processes on this machine, each with a folder of its own."""

    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__(len(paths))
        self.paths = list(paths)

    def run(self, function: Any, job: Any, *args: Any) -> list[Any]:
        paths = self.paths

        def on_rank(peers: Any, job: Any, *args: Any) -> Any:
            import dataclasses

            return function(peers, dataclasses.replace(job, path=paths[peers.rank]), *args)

        return super().run(on_rank, job, *args)


def test_dealt_and_run_over_connections(graph: ps.Graph, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs penstock[cluster]")
    paths = [tmp_path / f"host{k}" / "hard.penstock" for k in range(HOSTS)]
    for path in paths:
        path.parent.mkdir()
    hosts = CommHosts(HOSTS, paths)
    deal(graph, tmp_path / "hard.penstock", hosts=hosts, num_stripes=STRIPES)
    found = ps.pagerank(ps.open(paths[1]), hosts=hosts, load=False)
    np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)


@pytest.mark.filterwarnings("ignore:.*Port 8787 is already in use")
def test_dealt_and_run_over_processes(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs penstock[cluster]")
    graph = build_hard(tmp_path, directed=True)
    paths = [tmp_path / f"host{k}" / "hard.penstock" for k in range(2)]
    for path in paths:
        path.parent.mkdir()
    with LocalHosts(paths) as hosts:
        deal(graph, tmp_path / "dealt", hosts=hosts, num_stripes=STRIPES, copies=2)
        shutil.rmtree(paths[0] / "stripe.2")
        found = ps.pagerank(graph, hosts=hosts)
        np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)
        shutil.rmtree(paths[1] / "stripe.2")
        with pytest.raises(InputNotFoundError, match="stripe 2 of 7"):
            ps.pagerank(graph, hosts=hosts)
        found = deal(graph, tmp_path / "dealt", hosts=hosts, num_stripes=STRIPES, copies=2)
        assert 0 < found.bytes_sent < found.bytes_kept
