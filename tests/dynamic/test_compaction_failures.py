"""Compactions that fail, and processes that die in the middle of one: nothing is lost."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest
from compaction_making import (
    SECONDS,
    Ring,
    begin,
    crash,
    gated,
    generation,
    logs,
    settle,
    soon,
)

import penstock as ps
from penstock.dynamic.base import BaseLists
from penstock.dynamic.compaction_limits import LogLimits
from penstock.errors import DiskSpaceError, PenstockError
from penstock.store.packer import FileSink


@pytest.fixture
def path(tmp_path):
    return tmp_path / "g.penstock"


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class TestFailures:
    @pytest.mark.parametrize("where", ["page", "commit"])
    def test_a_disk_that_is_full_while_the_base_is_written(self, path, where, monkeypatch):
        with soon(path, 1 << 30) as graph:
            ring = Ring(graph)
            ring.add(5)
            with monkeypatch.context() as patch:
                if where == "page":
                    patch.setattr(FileSink, "write", full)
                else:
                    patch.setattr("penstock.store.folder.write_synced", full)
                begin(graph)
                settle(graph)
            with pytest.warns(UserWarning, match=r"could not be merged.*disk is full"):
                ring.add()
            assert (generation(graph), logs(graph)) == (0, ["log.0", "log.1"])
            assert graph._storage.frozen is not None
            ring.delete_some()
            ring.check()
            ring.check(graph.snapshot())
            begin(graph)
            settle(graph)
            # What was frozen then is the base, and the log that follows it is the graph's.
            assert (generation(graph), logs(graph)) == (1, ["log.1"])
            assert not [name for name in os.listdir(path) if name.startswith(".")]
            ring.check()
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    def test_it_is_not_tried_again_with_every_batch(self, path):
        with soon(path, 1 << 30) as graph, gated() as gate:
            Ring(graph).add(20)
            graph._compactor.limits = LogLimits(graph._storage.log_bytes)
            gate.fault = full
            graph.add_vertices([0])
            gate.opened.set()
            settle(graph)
            with pytest.warns(UserWarning, match="could not be merged"):
                graph.add_vertices([0])
            for _ in range(10):
                graph.add_vertices([0])
            settle(graph)
            assert len(gate.threads) == 1
            gate.fault = lambda: None
            graph.add_vertices(np.arange(400))
            graph.add_vertices(np.arange(400))
            settle(graph)
            assert len(gate.threads) == 2
            assert generation(graph) == 1

    def test_asked_for_after_a_failure_everything_is_merged(self, path):
        with soon(path, 1 << 30) as graph, gated() as gate:
            ring = Ring(graph)
            ring.add(3)
            gate.fault = full
            gate.opened.set()
            begin(graph)
            settle(graph)
            with pytest.warns(UserWarning, match="could not be merged"):
                ring.add()
            with pytest.raises(OSError, match="No space"):
                graph.compact()
            ring.delete_some()
            gate.fault = lambda: None
            graph.compact()
            assert (generation(graph), logs(graph)) == (2, ["log.2"])
            assert graph._storage.log_bytes == 64
            assert graph._storage.frozen is None
            ring.check()
        with ps.DynamicGraph(path) as again:
            ring.check(again)
            assert again.internals.recovery.records == 0

    @pytest.mark.parametrize("error", [MemoryError("none left"), KeyError("x"), SystemExit(3)])
    def test_any_error_in_the_thread_is_told_and_harmless(self, path, error):
        def fail():
            raise error

        with soon(path, 1 << 30) as graph, gated() as gate:
            ring = Ring(graph)
            ring.add()
            gate.fault = fail
            gate.opened.set()
            begin(graph)
            settle(graph)
            with pytest.warns(UserWarning, match=f"could not be merged: {error}"):
                ring.add()
            ring.check()
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    def test_a_failure_is_told_when_the_graph_is_closed(self, path):
        with gated() as gate:
            graph = soon(path, 1 << 30)
            ring = Ring(graph)
            ring.add()
            gate.fault = full
            gate.opened.set()
            begin(graph)
            settle(graph)
            with pytest.warns(UserWarning, match="could not be merged"):
                graph.close()
            graph.close()

    def test_a_log_that_cannot_be_begun(self, path, monkeypatch):
        with soon(path) as graph:
            ring = Ring(graph)
            folder = graph._storage._folder
            with monkeypatch.context() as patch:

                def rotate(*args, **options):
                    raise DiskSpaceError("no room for a log")

                patch.setattr(folder, "rotate", rotate)
                with pytest.warns(UserWarning, match="could not be merged: no room for a log"):
                    ring.add(10)
                assert graph._storage.frozen is None
                assert logs(graph) == ["log.0"]
                ring.check()
            graph._compactor._retry_at = 0
            ring.add()
            settle(graph)
            assert generation(graph) == 1
            ring.check()

    def test_old_files_that_cannot_be_removed(self, path, monkeypatch):
        with soon(path, 1 << 30) as graph:
            ring = Ring(graph)
            ring.add()
            with monkeypatch.context() as patch:
                patch.setattr(graph._storage._folder, "remove_leftovers", full)
                begin(graph)
                settle(graph)
            with pytest.warns(UserWarning, match="were merged, but old files could not"):
                ring.add()
            assert logs(graph) == ["log.1"]
            assert (path / "log.0").exists()
            ring.check()
        with ps.DynamicGraph(path) as again:
            ring.check(again)
        assert not (path / "log.0").exists()

    def test_a_base_that_has_other_edges_is_not_published(self, path, monkeypatch):
        with soon(path, 1 << 30) as graph:
            ring = Ring(graph)
            ring.add()
            with monkeypatch.context() as patch:

                class Wrong(BaseLists):
                    @property
                    def num_edges(self):
                        return 49

                    @num_edges.setter
                    def num_edges(self, count):
                        pass

                patch.setattr("penstock.dynamic.storage.BaseLists", Wrong)
                with pytest.raises(PenstockError, match=r"49 entries in .*, the graph 50"):
                    graph.compact()
            assert (generation(graph), logs(graph)) == (0, ["log.0", "log.1"])
            ring.check()
            graph.compact()
            ring.check()


class TestCrashes:
    def test_a_crash_in_the_middle_of_a_compaction(self, path):
        """Its logs are read one after another, and the next compaction takes all of them."""
        ring = Ring(None)
        for times in range(1, 4):
            with gated() as gate:
                gate.fault = full  # the thread does nothing more
                graph = ring.graph = soon(path, 1 << 30)
                ring.add()
                begin(graph)
                assert gate.reached.wait(SECONDS)
                ring.add()
                ring.delete_some()
                crash(graph)
            graph._compactor._thread.join()
            assert not (path / "base.1").exists()
            with ps.DynamicGraph(path, read_only=True) as reader:
                assert len(reader._storage._folder.catalog.logs) == times + 1
                ring.check(reader)
        with soon(path, 1 << 30) as graph:
            ring.graph = graph
            ring.check()
            ring.add()
            begin(graph)
            settle(graph)
            assert (generation(graph), logs(graph)) == (4, ["log.4"])
            ring.check()
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    def test_a_crash_after_an_attempt_that_failed(self, path):
        with gated() as gate:
            graph = soon(path, 1 << 30)
            ring = Ring(graph)
            ring.add(2)
            gate.fault = full
            gate.opened.set()
            begin(graph)
            settle(graph)
            with pytest.warns(UserWarning, match="could not be merged"):
                ring.add()
            ring.delete_some()
            crash(graph)
        with soon(path, 1 << 30) as again:
            ring.check(again)
            again.compact()
            ring.check(again)
            assert logs(again) == ["log.2"]
