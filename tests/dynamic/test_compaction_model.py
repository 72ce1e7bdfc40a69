"""Graphs that are compacted at any moment, against a dictionary; and their logs, which stay short
however much they are changed.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from compaction_making import begin, crash, edges, gated, generation, logs, settle, soon
from disks import FaultyDisk, PowerLoss
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_graph import Model, check

import penstock as ps
from penstock.dynamic import folder as folder_module
from penstock.progress import Silent

STEP = st.tuples(
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 11), st.booleans(), st.integers(0, 5)),
        max_size=30,
    ),
    st.sampled_from(["", "begin", "begin", "end", "compact", "reopen"]),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(STEP, min_size=2, max_size=8), directed=st.booleans(),
    multigraph=st.booleans(), reverse=st.booleans(), strings=st.booleans(),
    valued=st.booleans(),
)  # fmt: skip
def test_is_what_the_batches_say(
    tmp_path_factory, steps, directed, multigraph, reverse, strings, valued
):
    """``begin`` freezes it, ``end`` lets a store take the place of what was frozen; it is opened
    again in the middle, too.
    """
    path = tmp_path_factory.mktemp("live") / "g.penstock"
    kinds = {"weight": "int16"} if valued else None
    graph = ps.DynamicGraph(
        path, directed, multigraph=multigraph, reverse=reverse, threshold=3, threads=2,
        edge_properties=kinds,
    )  # fmt: skip
    model = Model(directed, multigraph)
    for rows, then in steps:
        src, dst, adds, weights = ([row[k] for row in rows] for k in range(4))
        weights = weights if valued else [1] * len(rows)
        if strings:
            src, dst = ([f"v{each}" for each in some] for some in (src, dst))
        properties = {"weight": np.array(weights, int)} if valued else None
        found = graph.update_edges(src, dst, np.array(adds, bool), properties)
        assert found == model.update(src, dst, adds, weights)
        is_frozen = graph._storage.frozen is not None
        if then == "begin" and not is_frozen:
            graph._compactor._begin()
        elif then == "end" and is_frozen:
            graph._compactor._finish(Silent(), lambda: None)
            assert len(logs(graph)) == 1
        elif then == "compact":
            graph.compact()
        elif then == "reopen":
            graph.close()
            graph = ps.DynamicGraph(path, threshold=3, threads=2)
        check(graph, model)
        if directed and reverse:
            for vertex in list(model.vertices)[:5]:
                into = sorted(u for (u, v), w in model.edges.items() if v == vertex for _ in w)
                assert sorted(graph.neighbors(vertex, "in").tolist()) == into
    graph.close()
    with ps.DynamicGraph(path) as again:
        check(again, model)


class TestChurn:
    """Batches that add as much as they delete, without end."""

    @pytest.mark.parametrize("kind", ["plain", "valued", "strings", "nothing"])
    def test_logs_are_at_most_three_times_the_graph(self, tmp_path, kind):
        path = tmp_path / "g.penstock"
        valued = {"edge_properties": {"weight": "float64"}} if kind == "valued" else {}
        rng, window, rows = np.random.default_rng(1), 3000, 300
        longest = 0.0
        with soon(path, 1, sync="never", **valued) as graph:

            def batch(first: int, count: int):
                # Edge k of an endless sequence among 500 vertices.
                number = np.arange(first, first + count)
                src, dst = number % 500, number * 7919 % 499
                if kind != "strings":
                    return src, dst
                return [f"v{k:07}" for k in src], [f"v{k:07}" for k in dst]

            def measure():
                nonlocal longest
                once = graph._compactor._logged_once()
                longest = max(longest, graph._storage.log_bytes / once)

            graph.add_edges(*batch(0, window))
            for first in range(window, window + 120 * rows, rows):
                if kind == "nothing":  # edges that are there come, edges that are not go
                    graph.add_edges(*batch(0, rows))
                    graph.delete_edges(*rng.integers(500, 999, (2, rows)))
                else:
                    graph.add_edges(*batch(first, rows))
                    measure()
                    graph.delete_edges(*batch(first - window, rows))
                measure()
            settle(graph)
            assert generation(graph) > 5
            expected = edges(graph) if kind != "valued" else graph.num_edges
        assert 1.5 < longest <= 3
        with ps.DynamicGraph(path) as again:
            assert expected == (edges(again) if kind != "valued" else again.num_edges)

    def test_several_writers_and_readers_at_once(self, tmp_path):
        path, failures, stop = tmp_path / "g.penstock", [], threading.Event()
        with soon(path, 1, sync="never") as graph:

            def write(mine: int) -> None:
                try:
                    for k in range(60):
                        src = np.arange(mine, 4000, 4)[:150]
                        graph.add_edges(src, src + k % 5)
                        graph.delete_edges(src, src + (k + 3) % 5)
                except BaseException as error:
                    failures.append(error)

            def read() -> None:
                try:
                    with ps.DynamicGraph(path, read_only=True) as reader:
                        while not stop.is_set():
                            reader.refresh()
                            assert reader.num_edges == len(edges(reader))
                            still = graph.snapshot()
                            assert still.num_edges == len(edges(still))
                except BaseException as error:
                    failures.append(error)

            writers = [threading.Thread(target=write, args=(k,)) for k in range(3)]
            reader = threading.Thread(target=read)
            for each in (*writers, reader):
                each.start()
            for each in writers:
                each.join()
            stop.set()
            reader.join()
            assert not failures
            settle(graph)
            assert generation(graph) > 3
            found, steps = edges(graph), set()
            for k in range(60):
                steps = (steps | {k % 5}) - {(k + 3) % 5}
            sources = [u for mine in range(3) for u in range(mine, 4000, 4)[:150]]
            assert found == {(u, u + step) for u in sources for step in steps}
        with ps.DynamicGraph(path) as again:
            assert edges(again) == found
        assert not [name for name in os.listdir(path) if name.startswith(".")]


class GraphLife:
    """A graph, with a base of its own, compacted twice while batches come, on a disk that may lose
    power. Batch k is the edge k -> k + 1.
    """

    def __init__(self, disk: FaultyDisk, sync: str) -> None:
        self.disk, self.sync = disk, sync
        self.path = disk.root / "graph"
        self.graph: ps.DynamicGraph | None = None
        self.asked = self.safe = 0

    def run(self) -> None:
        self.graph = ps.DynamicGraph(self.path, sync=self.sync, threads=1)
        self.add(2)
        self.graph.compact()
        self.safe = self.asked
        self.add(2)
        compactor = self.graph._compactor
        for _ in range(2):
            compactor._begin()
            self.safe = self.asked
            self.add(2)
            compactor._finish(Silent(), lambda: None)
            self.graph._storage.remove_leftovers()
            self.add()
        self.graph.close()
        self.safe = self.asked

    def add(self, batches: int = 1) -> None:
        for _ in range(batches):
            self.asked += 1
            self.graph.add_edges([self.asked], [self.asked + 1])
            if self.sync == "batch":
                self.safe = self.asked

    def end(self) -> None:
        if self.graph is not None:
            crash(self.graph)


@pytest.mark.parametrize("sync", ["batch", "never"])
def test_power_goes_at_every_operation(tmp_path: Path, monkeypatch, sync) -> None:
    """What the graph acknowledged is there as far as the policy says, in order and without a gap;
    what was there when a compaction began is there whatever the policy says.
    """

    def life_on(disk: FaultyDisk) -> GraphLife:
        monkeypatch.setattr(folder_module, "RealDisk", lambda: disk)
        return GraphLife(disk, sync)

    (tmp_path / "count").mkdir()
    whole = life_on(FaultyDisk(tmp_path / "count"))
    whole.run()
    for moment in range(1, whole.disk.steps + 1):
        root = tmp_path / str(moment)
        root.mkdir()
        life = life_on(FaultyDisk(root))
        life.disk.power_loss_at = moment
        with pytest.raises(PowerLoss):
            life.run()
        life.end()
        after = life.disk.crash(tmp_path / f"{moment} after", moment)
        monkeypatch.setattr(folder_module, "RealDisk", lambda disk=after: disk)
        # Making the graph may have been interrupted: it is made again then.
        with ps.DynamicGraph(after.root / "graph", threads=1) as again:
            found = sorted(edges(again))
            assert found == [(k, k + 1) for k in range(1, len(found) + 1)]
            assert life.safe <= len(found) <= life.asked
            again.compact()
            assert sorted(edges(again)) == found
            assert len(logs(again)) == 1
    assert whole.disk.steps > 60


def test_a_reader_through_many_compactions(tmp_path):
    path = tmp_path / "g.penstock"
    with soon(path, 1 << 30) as graph, gated() as gate:
        with ps.DynamicGraph(path, read_only=True) as reader:
            for k in range(6):
                graph.add_edges([k], [k + 1])
                gate.opened.clear()
                begin(graph)
                graph.add_edges([100 + k], [101 + k])
                if k % 2:
                    reader.refresh()
                    assert edges(reader) == edges(graph)
                gate.opened.set()
                settle(graph)
                if k % 3 == 0:
                    reader.refresh()
                    assert edges(reader) == edges(graph)
            reader.refresh()
            assert edges(reader) == edges(graph)
        assert generation(graph) == 6
