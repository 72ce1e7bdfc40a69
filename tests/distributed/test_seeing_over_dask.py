"""What is seen of runs on Dask's workers: progress on the way, numbers of ranks, one timeline."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from rank_making import build_hard

import penstock as ps
from penstock.distributed import part_fetching
from penstock.distributed.dashboards import PAGE, is_dashboard
from penstock.trace import read_trace

LocalCluster = pytest.importorskip("distributed").LocalCluster


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("ranks"), directed=True)


@pytest.fixture(scope="module")
def hosts() -> Iterator[ps.Hosts]:
    with ps.Hosts(2) as found:
        yield found


class Heard:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, float]] = []

    def start(self, stage: str, total: float | None, unit: str) -> None:
        self.stages.append((stage, 0.0))

    def advance(self, amount: float) -> None:
        stage, done = self.stages[-1]
        self.stages[-1] = stage, done + amount

    def note(self, text: str) -> None:
        """Notes are of no interest here."""


def test_progress_comes_from_another_process(graph: ps.Graph, hosts: ps.Hosts) -> None:
    for _ in range(2):  # the second time, nothing of the first is heard
        heard = Heard()
        ps.pagerank(graph, max_iter=4, tol=0, hosts=hosts, progress=heard)
        assert heard.stages[0] == ("pagerank over 2 hosts", 0.0)
        assert heard.stages[-1] == ("iterations", 4.0)


def test_a_progress_that_fails_does_not_end_the_run(graph: ps.Graph, hosts: ps.Hosts) -> None:
    def tell(peers: Any) -> int:
        if peers.rank == 0:
            peers.tell(["hello"])
        return int(peers.allreduce(np.array([1]))[0])

    heard = []

    def fail(message: list[Any]) -> None:
        heard.append(message)
        raise RuntimeError("cannot be shown")

    assert hosts.run(tell, heard=fail) == [2, 2]
    assert hosts.run(lambda peers: peers.tell is None) == [True, True]
    assert [list(each) for each in heard] in ([["hello"]], [])  # it may come too late


def test_ranks_are_processes(graph: ps.Graph, hosts: ps.Hosts, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    found = ps.pagerank(graph, load=False, max_iter=3, tol=0, hosts=hosts, trace=path)
    first, second = found.stats["ranks"]
    assert first["pid"] != second["pid"]
    assert first["sent_bytes"][1] == second["received_bytes"][0] > 0
    spans = read_trace(path)
    assert {span.rank for span in spans} == {0, 1}
    assert max(span.begin_ms + span.length_ms for span in spans) < 1e3 * found.stats["seconds"]


def test_results_are_written_by_workers(graph: ps.Graph, hosts: ps.Hosts, tmp_path: Path) -> None:
    found = ps.bfs(graph, 5, hosts=hosts, out=tmp_path / "ranks")
    expected = ps.bfs(graph, 5)
    assert found.to_arrow() == expected.to_arrow()


def test_large_results_come_from_workers(
    graph: ps.Graph, hosts: ps.Hosts, monkeypatch: Any
) -> None:
    def make_small(peers: Any) -> None:
        part_fetching.PIECE_BYTES = 3000

    hosts.run(make_small)
    monkeypatch.setattr(part_fetching, "PIECE_BYTES", 3000)
    found = ps.bfs(graph, 5, hosts=hosts)
    assert found.to_arrow() == ps.bfs(graph, 5).to_arrow()
    assert hosts.run(lambda peers: len(part_fetching._KEPT)) == [0, 0]


def test_a_cluster_without_a_dashboard(hosts: ps.Hosts) -> None:
    assert hosts.dashboard is None
    assert all("dashboard" not in row for row in hosts.describe())
    with ps.Hosts(hosts._crew._client) as others:  # as if the cluster had been there
        assert others.dashboard is None


def test_the_link_of_a_dashboard(hosts: ps.Hosts, monkeypatch: Any) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), _Pages) as server:
        threading.Thread(target=server.serve_forever).start()
        link = f"http://127.0.0.1:{server.server_address[1]}"
        client = hosts._crew._client
        monkeypatch.setattr(type(client), "dashboard_link", f"{link}/status")
        try:
            with ps.Hosts(client) as others:
                assert others.dashboard == f"{link}/status"
                assert {row["dashboard"] for row in others.describe()} == {f"{link}/status"}
            assert not is_dashboard(f"{link}/elsewhere/status")
        finally:
            server.shutdown()
    assert is_dashboard("http://127.0.0.1:1/status")  # not to be reached from here


@pytest.mark.skipif(find_spec("bokeh") is not None, reason="there is a dashboard")
def test_a_page_that_says_what_is_missing_is_no_dashboard() -> None:
    with LocalCluster(
        n_workers=0, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        link = f"http://127.0.0.1:{cluster.scheduler.http_server.port}/status"
        with urlopen(link) as page:
            assert b"bokeh" in page.read()
        assert not is_dashboard(link)


class _Pages(BaseHTTPRequestHandler):
    """The two pages of a dashboard that are asked for."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path in ("/status", f"/{PAGE}") else 404)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""
