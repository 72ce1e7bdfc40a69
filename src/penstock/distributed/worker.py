"""What a rank does all its life: wait for a command, carry it out with the others, answer.

``python -m penstock.distributed.worker RANK PEER:FD ...`` is a rank as a process, with a connected
socket to each of the other endpoints among its open files.
"""

from __future__ import annotations

import socket
import sys
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from penstock.distributed.bfs import BfsProgram
from penstock.distributed.color_repair import ColorRepair, RepairedColors
from penstock.distributed.coloring import Colors, Rule
from penstock.distributed.components import ComponentsProgram
from penstock.distributed.construction import Construction
from penstock.distributed.first_coloring import FirstColoring
from penstock.distributed.greedy_coloring import GreedyColors
from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard
from penstock.distributed.transport import Message, PeerLost, SocketTransport, Transport
from penstock.distributed.visitor_queue import Program, Stopped, VisitorQueue
from penstock.distributed.visitors import Kind, message, pack, read_head, unpack

Values = dict[str, Any]


class Worker:
    """One rank: its shard, its colours, and the commands it knows."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._runner = transport.size - 1
        self._shard = Shard(transport.rank, self._runner)
        self._outbox = Outbox(self._runner)
        self._colors: Colors | None = None
        #: Messages of a command that other ranks have begun already.
        self._early: deque[Message] = deque()
        self._command = 0
        self._commands: dict[str, Callable[[Values], Values]] = {
            "update": self._update,
            "bfs": self._bfs,
            "components": self._components,
            "color": self._color,
            "keep_colors": self._keep_colors,
            "repair_colors": self._repair_colors,
            "counts": self._counts,
            "edges": self._edges,
        }

    def run(self) -> None:
        """Carry out commands until told to stop."""
        while self._heed(self._transport.receive(None)):
            pass  # and keep nothing of a message while waiting for the next

    def _heed(self, received: Message | None) -> bool:
        """Do what a message says; False if that is to stop."""
        if received is None:
            return True
        head = read_head(received.data)
        if head.kind == Kind.STOP:
            return False
        if head.kind != Kind.COMMAND:
            if head.command > self._command:
                self._early.append(received)
            return True
        self._command = head.command
        values = unpack(received.data)
        answer = self._commands[values["command"]](values)
        self._transport.send(self._runner, message(Kind.DONE, head.command, 0, *pack(answer)))
        return True

    def close(self) -> None:
        """Let go of the lists."""
        self._shard.close()

    def _carry_out(self, program: Program) -> Values:
        """Run a program together with the other ranks; what traffic it made."""
        queue = VisitorQueue(self._transport, self._outbox, self._command)
        while self._early:
            queue.take(self._early.popleft())
        queue.run(program)
        return asdict(queue.traffic)

    def _update(self, values: Values) -> Values:
        program = Construction(self._shard, self._outbox, self._colors, values)
        traffic = self._carry_out(program)
        colors = self._colors
        waiting = colors.num_candidates if isinstance(colors, RepairedColors) else 0
        return program.result() | traffic | {"candidates": waiting}

    def _bfs(self, values: Values) -> Values:
        program = BfsProgram(self._shard, self._outbox, values["source"])
        traffic = self._carry_out(program)
        return program.result() | traffic | {"found": program.found}

    def _components(self, values: Values) -> Values:
        program = ComponentsProgram(self._shard, self._outbox)
        traffic = self._carry_out(program)
        return program.result() | traffic

    def _color(self, values: Values) -> Values:
        """Colours by a rule; they are there already if that rule was kept."""
        traffic: Values = {}
        if self._colors is None or self._colors.rule != values["rule"]:
            self._colors = self._make_colors(values["rule"])
            traffic = self._carry_out(FirstColoring(self._shard, self._outbox, self._colors))
        return self._colors.result() | traffic

    def _keep_colors(self, values: Values) -> Values:
        """From now on; there is no vertex yet."""
        self._colors = self._make_colors(values["rule"])
        return {}

    def _repair_colors(self, values: Values) -> Values:
        """After an update by which some vertex became a candidate."""
        assert isinstance(self._colors, RepairedColors)
        return self._carry_out(ColorRepair(self._shard, self._outbox, self._colors))

    def _make_colors(self, rule: Rule) -> Colors:
        if rule == "repair":
            return RepairedColors(self._shard)
        return GreedyColors(self._shard, self._outbox)

    def _counts(self, values: Values) -> Values:
        return {"vertices": len(self._shard.own())}

    def _edges(self, values: Values) -> Values:
        """All entries of the lists as ids; of undirected edges, from the end that decides."""
        own = self._shard.own()
        lists = self._shard.lists.gather(own)
        src = np.repeat(self._shard.ids[own], np.diff(lists.offsets))
        dst = self._shard.ids[lists.neighbours]
        if not values["directed"]:
            src, dst = src[src <= dst], dst[src <= dst]
        return {"src": src, "dst": dst}


def serve(transport: Transport) -> None:
    """Be a rank until told to stop. Whatever goes wrong is reported to the runner."""
    runner = transport.size - 1
    worker = None
    try:
        worker = Worker(transport)
        worker.run()
    except Stopped:
        pass
    except PeerLost as lost:
        _report(transport, runner, lost.rank, f"rank {transport.rank} lost it")
    except BaseException:
        _report(transport, runner, transport.rank, traceback.format_exc())
    finally:
        if worker is not None:
            worker.close()
        transport.close()


def _report(transport: Transport, runner: int, blamed: int, text: str) -> None:
    with suppress(PeerLost):  # then nobody is left who could want to know
        transport.send(runner, message(Kind.FAILED, 0, blamed, text.encode()))


def main(arguments: list[str]) -> None:
    """Be a rank whose sockets are open files of this process."""
    rank, *peers = arguments
    sockets = {
        int(peer): socket.socket(fileno=int(fd)) for peer, fd in (each.split(":") for each in peers)
    }
    serve(SocketTransport(int(rank), sockets))


if __name__ == "__main__":
    main(sys.argv[1:])
