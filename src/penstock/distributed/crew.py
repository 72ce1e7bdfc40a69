"""Who the ranks are: threads of this process, or processes of this machine.

A crew starts the ranks and connects everyone with everyone; from then on the runner talks to them
by its :class:`Transport` alone. Ranks on other machines would be another crew.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from itertools import combinations
from queue import SimpleQueue
from typing import Protocol

from penstock.distributed.transport import (
    Message,
    PeerLost,
    SocketTransport,
    ThreadTransport,
    Transport,
)
from penstock.distributed.worker import serve

#: Seconds that a rank has to end by itself when its connections are closed.
PATIENCE = 10.0


class Crew(Protocol):
    """Ranks at work."""

    @property
    def transport(self) -> Transport:
        """The runner's endpoint."""

    def fate(self, rank: int) -> str:
        """What is known of a rank that is gone, for an error message."""

    def close(self) -> None:
        """End all ranks; they were told to stop, unless something went wrong."""


class ThreadCrew:
    """Ranks as threads. Kernels run outside the interpreter's lock, so they run at once."""

    def __init__(self, ranks: int) -> None:
        self._inboxes: list[SimpleQueue[Message | PeerLost]] = [
            SimpleQueue() for _ in range(ranks + 1)
        ]
        self.transport: Transport = self.endpoint(ranks)
        self._threads = [
            threading.Thread(
                target=serve, args=(self.endpoint(k),), name=f"penstock-rank-{k}", daemon=True
            )
            for k in range(ranks)
        ]
        for thread in self._threads:
            thread.start()

    def endpoint(self, rank: int) -> Transport:
        """An endpoint of the fabric."""
        return ThreadTransport(rank, self._inboxes)

    def fate(self, rank: int) -> str:
        """Nothing but what it said itself."""
        return "its thread ended"

    def close(self) -> None:
        """Wait for the threads; each sees that the runner is gone when it next looks."""
        self.transport.close()
        for thread in self._threads:
            thread.join()


class ProcessCrew:
    """Ranks as processes, with a pair of connected sockets between any two endpoints.

    A process that ends, however it does, closes its sockets, and that is how the others know; so
    they end too if the runner is killed. They are in groups of their own, so that Ctrl-C reaches
    the runner alone.
    """

    def __init__(self, ranks: int) -> None:
        ends: list[dict[int, socket.socket]] = [{} for _ in range(ranks + 1)]
        for a, b in combinations(range(ranks + 1), 2):
            ends[a][b], ends[b][a] = socket.socketpair()
        path = os.pathsep.join(each or os.getcwd() for each in sys.path)
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(ranks):
                self._processes.append(_start(rank, ends[rank], path))
        except BaseException:
            # Those that have started see that the runner is gone.
            for end in ends[ranks].values():
                end.close()
            self._await()
            raise
        finally:
            for mine in ends[:ranks]:
                for end in mine.values():
                    end.close()
        self.transport: Transport = SocketTransport(ranks, ends[ranks])

    @property
    def pids(self) -> list[int]:
        """The processes, by rank."""
        return [process.pid for process in self._processes]

    def fate(self, rank: int) -> str:
        """How the process ended."""
        process = self._processes[rank]
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return f"process {process.pid} closed its connection"
        how = f"killed by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"process {process.pid} ended, {how}"

    def close(self) -> None:
        """Close the connections, and wait; who does not end by that is killed."""
        self.transport.close()
        self._await()

    def _await(self) -> None:
        for process in self._processes:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(rank: int, ends: dict[int, socket.socket], path: str) -> subprocess.Popen[bytes]:
    peers = [f"{peer}:{end.fileno()}" for peer, end in ends.items()]
    return subprocess.Popen(
        # -P: modules come from where this process has them, never from the current folder.
        [sys.executable, "-P", "-m", "penstock.distributed.worker", str(rank), *peers],
        stdin=subprocess.DEVNULL,
        pass_fds=[end.fileno() for end in ends.values()],
        env=os.environ | {"PYTHONPATH": path},
        process_group=0,
    )
