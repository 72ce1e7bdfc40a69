"""One fault in one run: what comes of it, and what is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from machines.asking import Answer
from machines.cluster import Cluster, kill, wait_until
from machines.faults import FAULTS, MOST_SECONDS, judge, must_survive
from machines.local import LocalWorkers

#: Parameters that make a run of some iterations of each algorithm that runs over hosts.
CALLS: dict[str, dict[str, Any]] = {
    "pagerank": {"tol": 0, "max_iter": 12},
    "rwr": {"source": [5, 8], "tol": 0, "max_iter": 12},
    "bfs": {"source": 5},
    "sssp": {"source": 5},
    "connected_components": {},
    "degree_distribution": {},
    "heat": {"initial": {"3": 1.0}, "max_iter": 12},
    "circuit": {"fixed": {"3": 1.0, "9": 0.0}, "tol": 0, "max_iter": 12},
    "neural_network": {"inputs": {"3": 1.0}, "bias": {"4": 0.1}, "max_iter": 12},
}
#: In place of an algorithm: the graph is dealt out.
DEAL = "deal"
DEALING = {"stripes": 7, "copies": 2}
#: Steps between saved states.
EVERY_STEPS = 3
#: Seconds for a call without a fault, the compiling of kernels included.
_CALL_SECONDS = 240.0
#: Seconds in which nothing must be left of a run: a rank that was opened and not run ends by itself
#: when the seconds have passed in which all ranks must begin.
_LEFT_SECONDS = 45.0


@dataclass(frozen=True)
class Planned:
    """A fault of a kind, in a rank, at a moment between 0 and 1 of a run; below 0: while ranks are
    being opened.
    """

    kind: str
    call: Mapping[str, Any]
    victim: int
    moment: float


class Wrong(Exception):  # noqa: N818 - what a trial finds
    """What is wrong: a line, and more about it."""

    def __init__(self, line: str, more: str = "") -> None:
        super().__init__(f"{line}\n{more}")


class Trial:
    """Faults in runs of one graph, on one cluster, which is made whole after each."""

    def __init__(self, cluster: Cluster | LocalWorkers, graph: str) -> None:
        self.cluster = cluster
        self._graph = graph
        self._rehearsed: dict[str, tuple[str, int]] = {}
        self._listening = 0

    def run(self, planned: Planned) -> Answer | None:
        """How the call ended; raises :class:`Wrong`."""
        self.cluster.start()
        expected, count = self._rehearse(planned)
        ranks = self.cluster.ranks()
        victim = ranks[planned.victim % len(ranks)]
        if planned.kind == "host killed":  # the first machine has the caller, too
            victim = next(
                rank for rank in ranks[planned.victim % len(ranks) :] + ranks
                if rank["host"] != "machine0"
            )  # fmt: skip
        fault = FAULTS[planned.kind]
        caller = self.cluster.caller
        assert caller is not None
        before = self.cluster.exchanges(victim["pid"])
        caller.tell(self._question(planned, hosts=True))
        if planned.moment < 0:
            time.sleep(-planned.moment)
        else:
            self._wait_for(victim["pid"], before + int(planned.moment * count))
        fault.strike(self.cluster, victim)
        try:
            answer = None
            if planned.kind != "caller killed":
                answer = self._judged(planned, expected)
                done = self.cluster.exchanges(victim["pid"]) - before
                if _must_survive(planned) and planned.moment >= 0 and 2 * done < count:
                    _check_losses(planned, answer, victim)
        finally:
            fault.heal(self.cluster, victim)
        self._is_whole(planned, expected)
        return answer

    def _question(self, planned: Planned, *, hosts: bool, fresh: bool = True) -> Answer:
        """``fresh``: a dealing does not go on from one that ended early."""
        call = dict(planned.call)
        if call["algorithm"] == DEAL:
            folder = self.cluster.own if hosts else self.cluster.folder
            places = {"graph": self._graph, "to": str(folder / "dealt.penstock")}
            return {"do": "deal", "hosts": hosts, **places, **DEALING, "fresh": fresh}
        if hosts:
            call["options"] = {**call["options"], "checkpoint_every": EVERY_STEPS}
        return {"do": "call", "graph": self._graph, "hosts": hosts, **call}

    def _rehearse(self, planned: Planned) -> tuple[str, int]:
        """What the call returns on one machine, and how many exchanges it has over hosts."""
        key = repr(sorted(planned.call.items()))
        if key not in self._rehearsed:
            alone = self._ask(self._question(planned, hosts=False))
            pid = self.cluster.ranks()[0]["pid"]
            # The first call with these kernels may look different: it compiles them.
            before = self.cluster.exchanges(pid)
            first = self._ask(self._question(planned, hosts=True))
            count = self.cluster.exchanges(pid) - before
            if first.get("digest") != alone.get("digest"):
                raise Wrong("a wrong answer without a fault", f"{alone}\n{first}")
            self._rehearsed[key] = alone["digest"], count
            self._listening = self._listening or self._most_listening()
        return self._rehearsed[key]

    def _ask(self, question: Answer) -> Answer:
        assert self.cluster.caller is not None
        answer = self.cluster.caller.ask(question, _CALL_SECONDS)
        if answer is None or "error" in answer:
            raise Wrong("a call fails without a fault", f"{answer}\n{self.cluster.log()}")
        return answer

    def _wait_for(self, pid: int, count: int) -> None:
        """Until a rank has come to an exchange, or the call has ended."""
        caller = self.cluster.caller
        assert caller is not None
        wait_until(lambda: self.cluster.exchanges(pid) >= count or caller.has_answer, _CALL_SECONDS)

    def _judged(self, planned: Planned, expected: str) -> Answer | None:
        caller = self.cluster.caller
        assert caller is not None
        answer = caller.answer(MOST_SECONDS)
        wrong = judge(answer, expected, survives=_must_survive(planned))
        if wrong:
            if answer is None and caller.alive:
                kill(caller.process.pid, signal.SIGUSR1)
                time.sleep(0.5)
            log = self.cluster.log()
            self.cluster.stop()
            raise Wrong(f"{planned.kind}: {wrong}", f"{planned}\n{answer}\n{log}")
        return answer

    def _is_whole(self, planned: Planned, expected: str) -> None:
        """Nothing is left behind but files of hosts that were lost, and these can be removed; the
        same call returns the same bits, and leaves no files. A dealing goes on from where it ended.
        """
        self.cluster.start()
        left = "the workers do not answer"

        def nothing_left() -> bool:
            nonlocal left
            left = self._left()
            return not left

        if not wait_until(nothing_left, _LEFT_SECONDS):
            log = self.cluster.log()
            self.cluster.stop()
            raise Wrong(f"{planned.kind}: something is left behind", f"{planned}\n{left}\n{log}")
        question = self._question(planned, hosts=True, fresh=False)
        again = self.cluster.caller.ask(question, _CALL_SECONDS)  # type: ignore[union-attr]
        if again is None or again.get("digest") != expected:
            log = self.cluster.log()
            self.cluster.stop()
            raise Wrong(f"{planned.kind}: the next call fails", f"{planned}\n{again}\n{log}")
        # Dask writes certificates to the disk for a moment.
        if again["losses"] or not wait_until(lambda: not self._files(), 5.0):
            more = f"{planned}\n{again}\n{self._files()}"
            raise Wrong(f"{planned.kind}: the next call is not as usual", more)

    def _left(self) -> str:
        """What ranks have left behind."""
        workers = self._ask({"do": "look"})["workers"]
        for worker, found in workers.items():
            if found["ranks"] or found["threads"] or found["listening"] > self._listening:
                return f"{worker}: {found}"
        kept = self._ask({"do": "clean"})["left"]
        return f"in use: {kept}" if any(kept.values()) else self._files()

    def _files(self) -> str:
        """What is in the scratch folders of ranks, but for the one that all runs share."""
        for rank in self.cluster.ranks():
            folder = self.cluster.scratch(rank)
            shared = folder / f"penstock-{os.getuid()}"
            # Unlike pathlib, this passes over folders that are removed meanwhile.
            found = [Path(top, name) for top, *names in os.walk(folder) for name in chain(*names)]
            files = [path for path in found if path != shared]
            if files:
                return f"{rank['address']}: {files}"
        return ""

    def _most_listening(self) -> int:
        workers = self._ask({"do": "look"})["workers"]
        return max(int(found["listening"]) for found in workers.values())


def _must_survive(planned: Planned) -> bool:
    """A dealing that ends early is begun again."""
    return must_survive(planned.kind) and planned.call["algorithm"] != DEAL


def _check_losses(planned: Planned, answer: Answer | None, victim: Mapping[str, Any]) -> None:
    """The result says that the rank was lost, and that no other was."""
    losses = [] if answer is None else answer["losses"]
    # The process of a rank that was lost before it was opened is not known.
    lost = [(each["rank"], each["pid"] or victim["pid"]) for each in losses]
    if lost != [(victim["rank"], victim["pid"])]:
        raise Wrong(f"{planned.kind}: other losses than one", f"{planned}\n{victim}\n{losses}")
