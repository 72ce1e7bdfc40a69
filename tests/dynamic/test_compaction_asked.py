"""Compactions that are asked for, while batches and another one go on."""

from __future__ import annotations

import threading

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
from penstock.errors import PenstockError
from penstock.progress import Silent


@pytest.fixture
def path(tmp_path):
    return tmp_path / "g.penstock"


def in_thread(function) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


class TestAskedFor:
    def test_it_waits_for_the_one_under_way(self, path):
        with soon(path, 1 << 30) as graph, gated() as gate:
            ring = Ring(graph)
            ring.add()
            begin(graph)
            assert gate.reached.wait(SECONDS)
            ring.add()
            done = threading.Event()
            other = in_thread(lambda: (graph.compact(), done.set()))
            assert not done.wait(0.1)
            assert generation(graph) == 0
            gate.opened.set()
            assert done.wait(SECONDS)
            other.join()
            assert (generation(graph), logs(graph)) == (2, ["log.2"])
            assert gate.threads[0] == "penstock-compaction"
            assert len(gate.threads) == 2
            ring.check()

    def test_batches_go_on_while_it_is_asked_for(self, path):
        with soon(path, 1 << 30) as graph, gated() as gate:
            ring = Ring(graph)
            ring.add()
            other = in_thread(graph.compact)
            assert gate.reached.wait(SECONDS)
            ring.add(3)
            ring.check()
            assert generation(graph) == 0
            gate.opened.set()
            other.join(SECONDS)
            assert generation(graph) == 1
            ring.check()

    def test_several_threads_ask_at_once(self, path):
        with soon(path, 1 << 30) as graph:
            ring = Ring(graph)
            ring.add()
            others = [in_thread(graph.compact) for _ in range(4)]
            ring.add(5)
            for other in others:
                other.join(SECONDS)
            assert generation(graph) == 4
            ring.check()
        with ps.DynamicGraph(path) as again:
            ring.check(again)

    @pytest.mark.parametrize("based", [False, True])
    def test_a_store_elsewhere_is_written_in_the_middle(self, path, tmp_path, based):
        """It has everything that there is, and waits for nothing."""
        with soon(path, 1 << 30) as graph, gated() as gate:
            ring = Ring(graph)
            ring.add()
            if based:
                gate.opened.set()
                graph.compact()
                ring.add()
                gate.opened.clear()
                gate.reached.clear()
            begin(graph)
            assert gate.reached.wait(SECONDS)
            ring.add(2)
            ring.delete_some()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(gate, "wait", lambda: None)
                elsewhere = graph.compact(tmp_path / "elsewhere.penstock")
            assert is_under_way(graph)
            assert edges(elsewhere) == {*ring.edges}
            assert elsewhere.ids_by_vid().tolist() == graph._state.ids.by_vid().tolist()

    def test_what_is_told_of_its_progress(self, path):
        class Watch(Silent):
            def __init__(self):
                self.stages, self.amount = [], 0

            def start(self, stage, total, unit):
                self.stages.append((stage, total, unit))

            def advance(self, amount):
                self.amount += amount

        with soon(path, 1 << 30) as graph:
            Ring(graph).add(2)
            watch = Watch()
            graph.compact(progress=watch)
            assert (watch.stages, watch.amount) == ([("writing out-lists", 100, "edges")], 100)

    def test_who_watches_may_change_the_graph_but_not_close_it(self, path):
        refused = []

        class Meddler(Silent):
            def advance(self, amount):
                graph.add_edges([1000], [1001])
                try:
                    graph.close()
                except PenstockError as error:
                    refused.append(str(error))

        with soon(path, 0) as graph:
            graph.add_edges([1], [2])
            settle(graph)
            graph.compact(progress=Meddler())
            assert refused == ["the graph cannot be closed while this thread compacts it"]
