"""Batches of several threads take effect in the order of the log; Ctrl-C waits for them."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import penstock as ps
from penstock.dynamic.turns import CommitQueue
from penstock.errors import PenstockError
from penstock.process import defer_sigint, sigint_at_checks


def test_work_is_done_in_the_order_of_the_numbers():
    turns, done, numbers = CommitQueue(), [], iter(range(100))
    lock = threading.Lock()

    def log(wait):
        with lock:
            number = next(numbers)
        time.sleep(wait)  # whoever got the smaller number may hear of it later
        return number

    def run(k):
        got = []

        def take():
            got.append(log(0.02 * ((k * 7) % 5)))
            return got[0]

        turns.run(take, lambda: done.append(got[0]))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(10)
    assert done == sorted(done)
    assert len(done) == 20


def test_one_that_cannot_log_holds_nobody_up():
    turns = CommitQueue()

    def fail():
        raise PenstockError("full")

    with pytest.raises(PenstockError, match="full"):
        turns.run(fail, lambda: None)
    assert turns.run(lambda: 5, lambda: "done") == "done"


def test_alone_waits_for_those_under_way_and_holds_back_others():
    turns, seen = CommitQueue(), []
    inside, leave = threading.Event(), threading.Event()

    def slow():
        inside.set()
        leave.wait(5)
        seen.append("slow")

    first = threading.Thread(target=lambda: turns.run(lambda: 1, slow))
    first.start()
    assert inside.wait(5)

    def alone():
        with turns.alone():
            seen.append("alone")
            time.sleep(0.05)
            seen.append("still alone")

    second = threading.Thread(target=alone)
    second.start()
    time.sleep(0.02)
    third = threading.Thread(target=lambda: turns.run(lambda: 2, lambda: seen.append("late")))
    third.start()
    leave.set()
    for each in (first, second, third):
        each.join(5)
    assert seen == ["slow", "alone", "still alone", "late"]


def test_errors_come_through():
    with pytest.raises(ZeroDivisionError):
        defer_sigint(lambda: 1 // 0)


def test_ctrl_c_takes_effect_where_it_is_asked_for():
    done = []

    def interrupted():
        with sigint_at_checks() as check:
            check()
            signal.raise_signal(signal.SIGINT)
            done.append("after the signal")
            try:
                check()
            finally:
                signal.raise_signal(signal.SIGINT)  # another one does not interrupt the clean-up
                done.append("cleaned up")

    def unchecked():
        with sigint_at_checks():
            signal.raise_signal(signal.SIGINT)
            done.append("to the end")

    for call in (interrupted, unchecked):
        with pytest.raises(KeyboardInterrupt):
            call()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert done == ["after the signal", "cleaned up", "to the end"]


def test_a_batch_is_whole_after_ctrl_c(tmp_path):
    """Interrupts while batches are added: the process goes on, and the graph knows all of them."""
    script = textwrap.dedent(
        """
        import sys
        import numpy as np
        import penstock as ps
        graph = ps.DynamicGraph(sys.argv[1])
        graph.add_edges([0], [1])
        done, hits = 1, 0
        print("ready", flush=True)
        while hits < 3:
            try:
                while True:
                    graph.add_edges(np.full(2000, done), np.arange(2000))
                    done += 1
            except KeyboardInterrupt:
                hits += 1
        sources = {u for u, _ in graph}
        graph.close()
        with ps.DynamicGraph(sys.argv[1]) as again:
            edges = list(again)
        counts = {}
        for u, _ in edges:
            counts[u] = counts.get(u, 0) + 1
        assert set(counts) == sources, "what is on disk is what was in memory"
        assert all(count == 2000 for u, count in counts.items() if u), "a batch is torn"
        print("whole", len(counts))
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "g")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    for _ in range(3):
        time.sleep(0.15)
        child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert out.startswith("whole")


def test_a_thread_that_reads_cannot_change():
    graph = ps.DynamicGraph()
    graph.add_edges([1], [2])
    with graph.reading() as still:
        assert still.num_edges == 1
        with pytest.raises(PenstockError, match="while this thread is reading"):
            graph.add_edges([2], [3])
    assert graph.add_edges([2], [3]) == 1
