"""Graphs compact themselves in the background: batches go on, and nothing is lost."""

from __future__ import annotations

import errno
import os
import threading

import numpy as np
import pytest
from compaction_making import (
    SECONDS,
    Ring,
    begin,
    edges,
    gated,
    generation,
    is_under_way,
    logs,
    settle,
    soon,
    waiting,
)

import penstock as ps
from penstock.dynamic.compaction_limits import LogLimits
from penstock.errors import OptionError, PenstockError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "g.penstock"


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class TestGoingOn:
    def test_batches_return_while_the_base_is_written(self, path):
        """No batch waits: they return while the writer of the base stands still."""
        with soon(path) as graph, gated() as gate:
            ring = Ring(graph)
            while not is_under_way(graph):
                ring.add()
            assert graph._storage.log_bytes < 16_000
            assert gate.reached.wait(SECONDS)
            assert gate.threads == ["penstock-compaction"]
            graph._compactor.limits = LogLimits(1 << 30)
            ring.add(30)
            ring.delete_some()
            graph.add_vertices([10**6])
            assert is_under_way(graph)
            assert (generation(graph), logs(graph)) == (0, ["log.0", "log.1"])
            ring.check()
            gate.opened.set()
            settle(graph)
            assert (generation(graph), logs(graph)) == (1, ["log.1"])
            assert not (path / "log.0").exists()
            ring.check()
            ring.add(3)
            ring.check()
        with ps.DynamicGraph(path) as again:
            ring.check(again)
            assert again.num_vertices == 401

    @pytest.mark.parametrize("based", [False, True])
    def test_algorithms_and_snapshots_in_the_middle(self, path, based):
        rng = np.random.default_rng(4)
        kinds = {"weight": "int32"}
        with soon(path, 1 << 30, reverse=True, edge_properties=kinds) as graph, gated() as gate:
            src, dst = rng.integers(0, 300, (2, 2000))
            graph.add_edges(src, dst, {"weight": rng.integers(1, 50, 2000)})
            if based:
                gate.opened.set()
                graph.compact()
                gate.opened.clear()
                gate.reached.clear()
                graph.delete_edges(src[:300], dst[:300])
            begin(graph)
            assert gate.reached.wait(SECONDS)
            still = graph.snapshot()
            before = edges(graph)
            graph.delete_edges(src[200:500], dst[200:500])
            graph.add_edges(*rng.integers(0, 320, (2, 500)), {"weight": np.full(500, 7)})
            assert is_under_way(graph)
            static = ps.from_edges(*graph.to_edges())
            for _ in range(2):
                for call in (ps.bfs, ps.sssp):
                    assert np.array_equal(
                        call(graph, int(src[700])).values[np.isin(graph.ids, static.ids)],
                        call(static, int(src[700])).values,
                    )
                assert edges(still) == before
                gate.opened.set()
                settle(graph)
                assert not is_under_way(graph)
            assert generation(graph) == (2 if based else 1)

    def test_a_view_ends_when_the_lists_change_places(self, path):
        """Files that it would read may be removed; a snapshot holds them."""
        with soon(path, 1 << 30) as graph, gated() as gate:
            ring = Ring(graph)
            gate.opened.set()
            ring.add()
            graph.compact()
            gate.opened.clear()
            with graph.reading() as before:
                pass
            begin(graph)
            with graph.reading() as between:
                pass
            still = graph.snapshot()
            assert ps.bfs(between, 0).values.max() == 50
            gate.opened.set()
            settle(graph)
            for view in (before, between):
                with pytest.raises(PenstockError, match="changed since this view"):
                    ps.bfs(view, 0)
            assert (path / "base.1").exists()
            assert ps.bfs(still, 0, load=False).values.max() == 50

    def test_answers_follow_through_a_compaction(self, path):
        rng = np.random.default_rng(6)
        with soon(path, 1 << 30, directed=False) as graph, gated() as gate:
            graph.add_edges(*rng.integers(0, 60, (2, 100)))
            names = ("connected_components", "triangles", "degree")
            kept = {name: graph.maintain(name) for name in names}
            kept["bfs"] = graph.maintain("bfs", source=3)
            for step in range(6):
                if step in (1, 3):
                    begin(graph)
                if step in (2, 5):
                    gate.opened.set()
                    settle(graph)
                    gate.opened.clear()
                graph.update_edges(*rng.integers(0, 70, (2, 40)), rng.random(40) < 0.6)
                found = {name: answer.by_id()[1] for name, answer in kept.items()}
                assert np.array_equal(found["bfs"], ps.bfs(graph, 3).values)
                assert np.array_equal(found["triangles"], ps.triangles(graph).values)
                assert np.array_equal(found["degree"], graph.degree(graph.ids))
                components = ps.connected_components(graph).values
                assert np.array_equal(found["connected_components"], components)
            assert generation(graph) == 2

    def test_readers_see_what_comes_at_any_moment(self, path):
        with soon(path, 1 << 30) as graph, gated() as gate:
            ring = Ring(graph)
            ring.add(2)
            with ps.DynamicGraph(path, read_only=True) as reader:
                early = ps.DynamicGraph(path, read_only=True)
                begin(graph)
                ring.add(2)
                reader.refresh()
                ring.check(reader)
                ring.delete_some()
                reader.refresh()
                ring.check(reader)
                with ps.DynamicGraph(path, read_only=True) as other:
                    ring.check(other)
                gate.opened.set()
                settle(graph)
                ring.add()
                assert reader.num_edges == 171
                reader.refresh()
                ring.check(reader)
                # One that was opened before it all, and did not look since.
                assert early.num_edges == 100
                early.refresh()
                ring.check(early)
                early.close()

    def test_properties_that_change_after_the_beginning(self, path):
        kinds = {"edge_properties": {"w": "int32"}, "vertex_properties": {"age": "int16"}}
        with soon(path, 1 << 30, **kinds) as graph, gated() as gate:
            graph.add_edges([1, 2, 3], [2, 3, 4], {"w": [1, 2, 3]})
            graph.vertex_properties.set("age", [1, 2], [10, 20])
            begin(graph)
            graph.vertex_properties.set("age", [2, 9], [21, 90])
            assert graph.edge_properties.set("w", [2], [3], [22]) == 1
            graph.delete_edges([3], [4])
            gate.opened.set()
            settle(graph)
            assert np.load(path / "vertex.0.1.npy").tolist() == [10, 20, 0, 0]
        with ps.DynamicGraph(path) as again:
            assert again.vertex_properties.get("age", [1, 2, 4, 9]).tolist() == [10, 21, 0, 90]
            assert edges(again) == {(1, 2), (2, 3)}
            assert again.edge_properties.get("w", [1, 2], [2, 3]).tolist() == [1, 22]

    def test_a_large_first_batch_above_what_was_frozen(self, path, monkeypatch):
        """It is not loaded as into a graph that never had edges."""
        monkeypatch.setattr("penstock.dynamic.state.BULK_ROWS", 100)
        with soon(path, 1 << 30) as graph, gated() as gate:
            graph.add_edges([1], [2])
            begin(graph)
            graph.delete_edges([1], [2])
            src, dst = np.arange(500), np.arange(1, 501)
            assert graph.add_edges(src, dst) == 500
            gate.opened.set()
            settle(graph)
            assert edges(graph) == {*zip(src.tolist(), dst.tolist(), strict=True)}

    def test_one_syncing_thread_however_many_logs(self, path):
        with soon(path, 2000, sync=1000.0) as graph:
            ring = Ring(graph)
            while generation(graph) < 3:
                ring.add()
            settle(graph)
            names = [each.name for each in threading.enumerate()]
            assert names.count("penstock-log-sync") == 1
        assert "penstock-log-sync" not in [each.name for each in threading.enumerate()]
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    def test_flushing_while_a_log_begins(self, path, monkeypatch):
        with soon(path, 1 << 30, sync="never") as graph:
            ring = Ring(graph)
            ring.add()
            log = graph._storage._log
            real, calls = type(log).flush, []

            def flush(self):
                calls.append(self.path.name)
                if len(calls) == 1:
                    graph.compact()
                real(self)

            monkeypatch.setattr(type(log), "flush", flush)
            graph.flush()
            assert (calls[0], calls[-1]) == ("log.0", "log.1")
            monkeypatch.undo()


class TestLimits:
    def test_a_writer_waits_if_logs_are_too_long(self, path):
        with soon(path) as graph, gated() as gate, waiting() as waits:
            ring = Ring(graph)
            writer = threading.Thread(target=ring.add, args=(60,))
            writer.start()
            assert waits.wait(SECONDS)
            assert is_under_way(graph)
            hard = graph._compactor.limits.hard(graph._compactor._logged_once())
            assert hard < graph._storage.log_bytes < hard + 2000
            gate.opened.set()
            writer.join(SECONDS)
            assert ring.next == 60 * 50
            settle(graph)
            ring.check()

    def test_a_writer_waits_if_changes_of_both_layers_take_too_much(self, path):
        rng, there = np.random.default_rng(3), set()
        with soon(path, 1 << 30, memory="17MB") as graph, gated() as gate, waiting() as waits:
            graph._storage.budget = 32 << 20  # a quarter for changes, the rest for work

            def write():
                for _ in range(12):
                    src, dst = rng.integers(0, 50_000, (2, 100_000))
                    graph.add_edges(src, dst)
                    there.update(zip(src.tolist(), dst.tolist(), strict=True))

            writer = threading.Thread(target=write)
            writer.start()
            assert waits.wait(SECONDS)
            state = graph._storage.state
            assert state.changed_bytes > 8 << 20
            assert graph._storage.frozen is not None
            assert state.sides["out"].added.num_edges  # both layers have some
            gate.opened.set()
            writer.join(SECONDS)
            settle(graph)
            assert edges(graph) == there

    def test_readers_and_graphs_in_memory_never_compact(self, path):
        with soon(path, 1 << 30) as graph:
            Ring(graph).add(40)
        with soon(path, 0, read_only=True) as reader:
            reader._compactor.after_batch()
            assert not is_under_way(reader)
            with pytest.raises(OptionError, match="reading only"):
                reader.compact()
        memory = soon(None, 0)
        Ring(memory).add(40)
        assert memory._storage.frozen is None
        with pytest.raises(OptionError, match="no directory"):
            memory.compact()

    def test_setting_properties_over_and_over(self, path):
        with soon(path, edge_properties={"w": "int64"}) as graph:
            graph.add_edges(np.arange(50), np.arange(50), {"w": np.arange(50)})
            for k in range(40):
                graph.edge_properties.set("w", np.arange(50), np.arange(50), np.full(50, k))
            settle(graph)
            assert generation(graph) > 1
            found = graph.edge_properties.get("w", np.arange(50), np.arange(50))
            assert found.tolist() == [39] * 50

    def test_a_graph_opened_with_a_long_log_merges_it(self, path):
        with soon(path, 1 << 30) as graph:
            ring = Ring(graph)
            ring.add(30)
        with soon(path) as graph:
            assert graph.add_edges([500], [501]) == 1
            settle(graph)
            assert generation(graph) == 1
            assert graph._storage.log_bytes < 500
