"""The runner: bad input, ranks that fail or die, and the end of all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest

from penstock.distributed import visitor_queue
from penstock.distributed.crew import ProcessCrew, ThreadCrew
from penstock.distributed.failure_cause import FailureCause, find_cause
from penstock.distributed.runner import VisitorRunner
from penstock.distributed.transport import ThreadTransport
from penstock.distributed.visitors import Kind, message, pack, read_head
from penstock.errors import IdError, InputError, OptionError, WorkerError


@pytest.fixture
def runner():
    with VisitorRunner(2) as made:
        made.add_edges([1, 2], [2, 3])
        yield made


@pytest.mark.parametrize(
    ("src", "dst", "error", "says"),
    [
        ([1, 2], [3], InputError, "src has 2 entries, dst 1 and adds 2"),
        ([-1], [3], IdError, "src: got ids from -1 to -1"),
        ([1], np.array([1 << 63], np.uint64), IdError, "dst: got ids from 9223372036854775808"),
        ([1.5], [3], IdError, "src: got float64 of 1 dimensions"),
        (["a"], [3], IdError, "ids are integers"),
        ([[1]], [[3]], IdError, "of 2 dimensions"),
    ],
)
def test_a_bad_batch_is_refused_whole(runner, src, dst, error, says):
    with pytest.raises(error, match=says):
        runner.add_edges(src, dst)
    assert runner.gather().src.tolist() == [1, 2]
    assert runner.num_edges == 2
    assert runner.delete_edges([2, 1], [1, 3]) == 1
    assert runner.num_edges == 1


def test_what_is_not_there(runner):
    with pytest.raises(IdError, match="there is no vertex 9"):
        runner.bfs(9)
    assert runner.delete_edges([1, 8], [3, 9]) == 0
    assert runner.num_vertices == 3
    assert runner.bfs(3).values.tolist() == [2, 1, 0]


def test_options():
    with pytest.raises(OptionError, match="ranks: got 0"):
        VisitorRunner(0)
    with pytest.raises(OptionError, match="got 'pigeons'; there are threads, processes"):
        VisitorRunner(2, "pigeons")
    with pytest.raises(OptionError, match="got 'pretty'; there are repair, greedy"):
        VisitorRunner(2, coloring="pretty")
    with pytest.raises(OptionError, match="directed=False"):
        VisitorRunner(2, directed=True, coloring="repair")
    with VisitorRunner(1, directed=True) as runner:
        for method in (runner.color, runner.connected_components):
            with pytest.raises(OptionError, match="needs a graph with directed=False"):
                method()


def test_a_crew_of_another_size():
    crew = ThreadCrew(2)
    with pytest.raises(OptionError, match="ranks: got 3; the crew has 2"):
        VisitorRunner(3, crew)
    crew.close()


def test_nothing_at_all():
    with VisitorRunner(3) as runner:
        assert runner.add_edges([], []) == 0
        assert not len(runner.connected_components().ids)
        assert not len(runner.color().ids)
        assert (runner.num_vertices, runner.num_edges) == (0, 0)
    with pytest.raises(WorkerError, match="have ended"):
        runner.add_edges([1], [2])


def test_threads_end():
    before = set(threading.enumerate())
    with VisitorRunner(3) as runner:
        runner.add_edges([1], [2])
        assert len(set(threading.enumerate()) - before) >= 3
    runner.close()
    assert not [t for t in set(threading.enumerate()) - before if t.is_alive()]


class FailingCrew(ThreadCrew):
    """Rank 1 fails when it wants to send visitors for the ``count + 1``-th time."""

    def __init__(self, ranks, count, error):
        self._count = count
        self._error = error
        super().__init__(ranks)

    def endpoint(self, rank):
        inner = super().endpoint(rank)
        if rank == 1:
            send = inner.send

            def failing(to, data):
                if read_head(data).kind == Kind.VISITORS:
                    self._count -= 1
                    if self._count < 0:
                        raise self._error
                send(to, data)

            inner.send = failing
        return inner


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_rank_that_fails_is_named(count, monkeypatch):
    monkeypatch.setattr(visitor_queue, "WINDOW", 1)
    runner = VisitorRunner(3, FailingCrew(3, count, ZeroDivisionError("no reason")))
    with pytest.raises(WorkerError, match=r"(?s)rank 1 of 3 failed.*ZeroDivisionError: no reason"):
        [runner.add_edges(np.arange(100), np.arange(100) + k) for k in range(10)]
    with pytest.raises(WorkerError, match="have ended"):
        runner.bfs(1)


@pytest.fixture
def endpoints():
    inboxes = [SimpleQueue() for _ in range(4)]
    return [ThreadTransport(k, inboxes) for k in range(4)]


def blame(rank, words="lost it"):
    return message(Kind.FAILED, 0, rank, words.encode())


def test_who_is_to_blame_is_found(endpoints):
    """Rank 0 missed rank 1, which missed rank 2; and what rank 2 said comes last."""
    _, one, two, runner = endpoints
    one.send(3, blame(2))
    one.close()
    two.send(3, message(Kind.DONE, 1, 0, *pack({})))
    two.send(3, blame(2, "out of paper"))
    two.close()
    assert find_cause(runner, 0, {0: FailureCause(1)}) == FailureCause(2, "out of paper")


def test_who_ended_without_a_word_is_found(endpoints):
    zero, _, two, runner = endpoints
    two.close()
    zero.send(3, blame(2))
    zero.close()
    assert find_cause(runner, 0, {}) == FailureCause(2)


def test_two_that_blame_each_other(endpoints):
    zero, one, _, runner = endpoints
    zero.send(3, blame(1))
    one.send(3, blame(0))
    zero.close()
    one.close()
    assert find_cause(runner, 1, {}).rank in (0, 1)


@pytest.mark.parametrize("busy", [False, True])
def test_a_killed_process_is_named(busy):
    crew = ProcessCrew(2)
    runner = VisitorRunner(2, crew)
    runner.add_edges([1, 2], [2, 3])
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 1 << 18, (2, 1 << 21))
    killer = threading.Timer(0.2 if busy else 0, os.kill, (crew.pids[1], signal.SIGKILL))
    killer.start()
    if not busy:
        killer.join()
    with pytest.raises(WorkerError, match=r"rank 1 of 2 is gone.*killed by signal 9"):
        [runner.add_edges(*edges) for _ in range(50)]
    killer.join()
    assert not [pid for pid in crew.pids if alive(pid)]


def test_a_process_that_does_not_start_is_named(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(WorkerError, match=r"rank . of 2 is gone.*exit code 1"):
        VisitorRunner(2, "processes").add_edges([1], [2])


def test_when_one_process_cannot_be_started_none_stays(monkeypatch):
    started = []

    def start(*given, **options):
        if started:
            raise OSError("no more processes")
        started.append(popen(*given, **options))
        return started[0]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(OSError, match="no more processes"):
        ProcessCrew(2)
    assert started[0].returncode is not None


def alive(pid):
    """Whether a process runs; one that ended but nobody asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


SCRIPT = """
import numpy as np
from penstock.distributed.crew import ProcessCrew
from penstock.distributed.failure_cause import FailureCause, find_cause
from penstock.distributed.runner import VisitorRunner

crew = ProcessCrew(2)
with VisitorRunner(2, crew) as runner:
    runner.add_edges([1], [2])
    print(*crew.pids, flush=True)
    edges = np.random.default_rng(1).integers(0, 1 << 18, (2, 1 << 20))
    while True:
        runner.add_edges(*edges)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_when_the_runner_ends_so_do_the_ranks(how):
    """Ctrl-C ends them in order; a runner that is killed takes them along."""
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    pids = [int(pid) for pid in script.stdout.readline().split()]
    assert len(pids) == 2
    assert all(alive(pid) for pid in pids)
    time.sleep(0.1)
    script.send_signal(how)
    _, errors = script.communicate(timeout=30)
    assert how == signal.SIGKILL or "KeyboardInterrupt" in errors
    deadline = time.monotonic() + 20
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in pids if alive(pid)]


def test_processes_import_nothing_from_the_current_folder(tmp_path):
    """It may hold the data of strangers."""
    (tmp_path / "own").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "numpy.py").write_text("print('imported')\nraise SystemExit(3)\n")
    script = tmp_path / "own" / "script.py"
    script.write_text(
        "from penstock.distributed.runner import VisitorRunner\n"
        "with VisitorRunner(1, 'processes') as runner:\n"
        "    print(runner.add_edges([1], [2]))\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path / "data", capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
