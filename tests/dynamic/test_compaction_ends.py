"""How compactions end, or do not: closed, interrupted, forgotten, forked."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

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
)

import penstock as ps
from penstock.dynamic.compaction import Compactor
from penstock.dynamic.compaction_limits import Need
from penstock.errors import PenstockError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "g.penstock"


def background() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "penstock-compaction"]


def in_thread(function) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


class TestClosing:
    def test_a_compaction_under_way_is_abandoned(self, path, monkeypatch):
        """It ends before the next page, and nothing that it wrote is left."""
        graph = soon(path, 1 << 30)
        ring = Ring(graph)
        ring.add(4)
        reached, opened, parts = threading.Event(), threading.Event(), []

        def add(self, part):
            parts.append(part)
            reached.set()
            assert opened.wait(SECONDS)

        monkeypatch.setattr("penstock.dynamic.merge_compact.PART_EDGES", 20)
        monkeypatch.setattr("penstock.store.packer.Packer.add", add)
        begin(graph)
        assert reached.wait(SECONDS)
        ring.add()
        closing = in_thread(graph.close)
        while not graph._compactor._closing:
            pass
        assert closing.is_alive()
        opened.set()
        closing.join(SECONDS)
        assert not closing.is_alive()
        assert background() == []
        assert len(parts) == 1  # of ten
        assert {*os.listdir(path)} == {"live.json", "lock", "log.0", "log.1"}
        monkeypatch.undo()
        with ps.DynamicGraph(path) as again:
            ring.check(again)
            assert again.internals.recovery.closed
            again.compact()
            ring.check(again)

    def test_a_base_that_is_complete_is_published(self, path, monkeypatch):
        graph = soon(path, 1 << 30)
        ring = Ring(graph)
        ring.add(2)
        reached, opened = threading.Event(), threading.Event()
        save = type(graph._storage).publish

        def publish(self, written):
            reached.set()
            assert opened.wait(SECONDS)
            save(self, written)

        monkeypatch.setattr(type(graph._storage), "publish", publish)
        begin(graph)
        assert reached.wait(SECONDS)
        closing = in_thread(graph.close)
        while not graph._compactor._closing:
            pass
        opened.set()
        closing.join(SECONDS)
        assert {"base.1", "log.1"} <= {*os.listdir(path)}
        assert not (path / "log.0").exists()
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    def test_a_thread_that_waits_for_the_graph_gives_up(self, path):
        """Its lock may be held by who closes it, in a handler of a signal for instance."""
        graph = soon(path, 1 << 30)
        ring = Ring(graph)
        ring.add(2)
        with gated() as gate:
            begin(graph)
            assert gate.reached.wait(SECONDS)
            with graph._lock:
                gate.opened.set()
                while not (path / "base.1").exists():
                    pass
                graph.close()
        assert background() == []
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    def test_one_that_was_asked_for_says_that_the_graph_was_closed(self, path):
        graph = soon(path, 1 << 30)
        ring = Ring(graph)
        ring.add(2)
        failures = []

        def compact():
            with pytest.raises(PenstockError) as caught:
                graph.compact()
            failures.append(str(caught.value))

        with gated() as gate:
            first = in_thread(compact)
            assert gate.reached.wait(SECONDS)
            second = in_thread(compact)
            closing = in_thread(graph.close)
            while not graph._compactor._closing:
                pass
        for each in (first, second, closing):
            each.join(SECONDS)
        assert sorted(failures) == [
            "the graph is closed; open it again",
            "the graph was closed while it was compacted",
        ]
        with pytest.raises(PenstockError, match="closed"):
            graph.compact()
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    def test_writers_that_wait_are_let_go(self, path):
        graph = soon(path)
        ring, failures = Ring(graph), []

        def write():
            try:
                ring.add(100)
            except PenstockError as error:
                failures.append(str(error))

        with gated() as gate:
            writer = in_thread(write)
            assert gate.reached.wait(SECONDS)
            closing = in_thread(graph.close)
            while not graph._compactor._closing:
                pass
        writer.join(SECONDS)
        closing.join(SECONDS)
        assert failures == ["the graph is closed; open it again"]


class TestForgotten:
    def test_a_graph_that_is_dropped_in_the_middle_is_closed(self, path):
        graph = soon(path, 1 << 30)
        ring = Ring(graph)
        ring.add(2)
        with gated() as gate:
            begin(graph)
            assert gate.reached.wait(SECONDS)
            threading.Timer(0.1, gate.opened.set).start()
            ring.graph = None
            del graph
            gc.collect()
            for thread in background():  # the collector waits for none
                thread.join(SECONDS)
            assert background() == []
        with ps.DynamicGraph(path) as again:
            ring.check(again)
            assert again.internals.recovery.closed

    def test_one_that_is_dropped_by_its_own_thread(self, path):
        """The thread cannot wait for itself: it closes the graph when it is done."""
        graph = soon(path, 1 << 30)
        ring = Ring(graph)
        ring.add(2)
        holder = [graph]
        with gated() as gate:
            gate.fault = holder.clear
            begin(graph)
            assert gate.reached.wait(SECONDS)
            compactor = graph._compactor
            ring.graph = None
            del graph
        compactor._thread.join(SECONDS)
        assert compactor._closes_storage
        assert background() == []
        with ps.DynamicGraph(path) as again:
            ring.check(again)
            assert again.internals.recovery.closed

    def test_a_process_that_ends_in_the_middle(self, path):
        """It does not wait for the base to be written, and leaves nothing half-written."""
        script = textwrap.dedent(
            """
            import sys, threading
            import numpy as np
            import penstock as ps
            from penstock.dynamic import merge_compact
            from penstock.dynamic.compaction import Compactor
            from penstock.dynamic.compaction_limits import Need
            merge_compact.PART_EDGES = 10
            reached = threading.Event()
            Compactor._need = lambda self: Need.SOON
            add = merge_compact.Packer.add
            def slow(self, part):
                reached.set()
                add(self, part)
                threading.Event().wait(0.05)
            merge_compact.Packer.add = slow
            graph = ps.DynamicGraph(sys.argv[1], threads=1)
            graph.add_edges(np.arange(5000), np.arange(1, 5001))
            assert reached.wait(60)
            print("end", flush=True)
            """
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
        assert {*os.listdir(path)} == {"live.json", "lock", "log.0", "log.1"}
        with ps.DynamicGraph(path) as again:
            assert again.num_edges == 5000
            assert again.internals.recovery.closed


class TestInterrupted:
    def test_ctrl_c_while_it_is_asked_for(self, path):
        def interrupt():
            raise KeyboardInterrupt

        with soon(path, 1 << 30) as graph, gated() as gate:
            ring = Ring(graph)
            ring.add(2)
            gate.fault = interrupt
            gate.opened.set()
            with pytest.raises(KeyboardInterrupt):
                graph.compact()
            assert logs(graph) == ["log.0", "log.1"]
            assert not is_under_way(graph)
            ring.add()
            ring.check()
            gate.fault = lambda: None
            graph.compact()
            assert logs(graph) == ["log.2"]
            ring.check()
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    def test_ctrl_c_all_the_time(self, path):
        """Interrupts while batches are added and compactions begin and end."""
        script = textwrap.dedent(
            """
            import sys, threading
            import numpy as np
            import penstock as ps
            from penstock.dynamic.compaction_limits import LogLimits
            graph = ps.DynamicGraph(sys.argv[1])
            graph._compactor.limits = LogLimits(3000)
            graph.add_edges([0], [1])
            done, hits = 1, 0
            print("ready", flush=True)
            while hits < 8:
                try:
                    while True:
                        graph.add_edges(np.full(50, done % 20), np.arange(50))
                        done += 1
                        graph.delete_edges(np.full(50, (done + 5) % 20), np.arange(50))
                        if done % 40 == 0:
                            graph.compact()
                except KeyboardInterrupt:
                    hits += 1
                    print("hit", flush=True)
            there = set(graph)
            counts = {}
            for u, v in there - {(0, 1)}:
                counts[u] = counts.get(u, 0) + 1
            assert all(count == 50 for u, count in counts.items() if u), counts
            generation = graph._storage._folder.catalog.generation
            graph.close()
            assert not [t for t in threading.enumerate() if t.name == "penstock-compaction"]
            with ps.DynamicGraph(sys.argv[1]) as again:
                assert set(again) == there, "what is on disk is what was in memory"
            print("whole", generation)
            """
        )
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        for _ in range(8):
            time.sleep(0.2)
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "hit\n"  # two at once would count as one
        out, _ = child.communicate(timeout=60)
        assert child.returncode == 0
        assert out.startswith("whole")
        assert int(out.split()[1]) > 0


def test_a_forked_process_leaves_the_compaction_alone(path):
    script = textwrap.dedent(
        """
        import os, sys, threading
        sys.path.insert(0, sys.argv[2])
        import penstock as ps
        from compaction_making import Ring, begin, gated, generation, settle
        from penstock.errors import PenstockError
        graph = ps.DynamicGraph(sys.argv[1], threads=1)
        ring = Ring(graph)
        ring.add(2)
        with gated() as gate:
            begin(graph)
            assert gate.reached.wait(60)
            child = os.fork()
            if child == 0:
                try:
                    graph.compact()
                except PenstockError as error:
                    print("forked" in str(error), flush=True)
                graph._compactor.after_batch()
                graph.close()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        settle(graph)
        assert generation(graph) == 1
        ring.add()
        graph.close()
        with ps.DynamicGraph(sys.argv[1]) as again:
            ring.check(again)
        print("whole")
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), os.path.dirname(__file__)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "True\nwhole\n"), done.stderr


def test_a_thread_that_cannot_be_started(path, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    with soon(path, 1 << 30) as graph:
        ring = Ring(graph)
        ring.add()
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("error")
            patch.setattr(threading.Thread, "start", refuse)
            patch.setattr(Compactor, "_need", lambda self: Need.SOON)
            with pytest.raises(UserWarning, match="could not be merged: can't start"):
                graph.add_edges([1], [2])
        assert not is_under_way(graph)
        begin(graph)
        settle(graph)
        assert generation(graph) == 1
        assert edges(graph) == {*ring.edges, (1, 2)}
