"""A graph over several ranks, as one object."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from penstock.distributed.coloring import Rule
from penstock.distributed.crew import Crew, ProcessCrew, ThreadCrew
from penstock.distributed.failure_cause import FailureCause, find_cause, report_of
from penstock.distributed.transport import PeerLost
from penstock.distributed.visitors import Kind, message, owners, pack, unpack
from penstock.errors import IdError, InputError, OptionError, WorkerError
from penstock.types import U8, U64, Array

#: A rank's number has 16 bits.
MOST_RANKS = 1 << 12

CREWS: dict[str, Callable[[int], Crew]] = {"threads": ThreadCrew, "processes": ProcessCrew}


class VertexValues(NamedTuple):
    """A value for each vertex, by ascending id."""

    ids: U64
    values: Array


class Edges(NamedTuple):
    """Edges by ascending source, then target; undirected ones from the smaller id to the larger."""

    src: U64
    dst: U64


class Updated(NamedTuple):
    """What a batch changed: edges that are new, and edges that are gone."""

    added: int
    deleted: int


class VisitorRunner:
    """A graph that grows and shrinks, its vertices dealt to ranks by a hash of their ids, and
    algorithms that run on all ranks at once without a barrier: see ``visitor_queue``.

    Parameters
    ----------
    ranks
        How many.
    transport
        ``"threads"`` of this process, ``"processes"`` of this machine, or a :class:`Crew`.
    directed
        Whether edges have a direction. Components and colours need a graph without.
    coloring
        A rule (see ``coloring``) by which vertices get colours from the first edge on.

    Each method returns when all ranks are done. Use it in a ``with`` statement, or call
    :meth:`close`. After an error in a rank, and after Ctrl-C, all ranks have ended and what they
    held is lost.

    >>> with VisitorRunner(ranks=2) as runner:
    ...     runner.add_edges([1, 2, 5], [2, 3, 6])
    ...     runner.bfs(1).values
    3
    array([ 0,  1,  2, -1, -1], dtype=int32)
    """

    def __init__(
        self,
        ranks: int = 2,
        transport: Literal["threads", "processes"] | Crew = "threads",
        *,
        directed: bool = False,
        coloring: Rule | None = None,
    ) -> None:
        if not 1 <= ranks <= MOST_RANKS:
            raise OptionError(f"ranks: got {ranks}; there can be 1 to {MOST_RANKS:,}")
        if isinstance(transport, str) and transport not in CREWS:
            raise OptionError(f"transport: got {transport!r}; there are {', '.join(CREWS)}")
        self.ranks = ranks
        self.directed = directed
        #: What the ranks sent each other for the last command: ``messages``, ``visitors``; for
        #: searches also ``visits``. Sums over the ranks.
        self.stats: dict[str, int] = {}
        if coloring is not None:
            self._check_rule(coloring)
        self._number = 0
        self._num_edges = 0
        crew = CREWS[transport](ranks) if isinstance(transport, str) else transport
        if crew.transport.size != ranks + 1:
            raise OptionError(f"ranks: got {ranks}; the crew has {crew.transport.size - 1}")
        self._crew: Crew | None = crew
        if coloring is not None:
            self._all("keep_colors", rule=coloring)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the ranks. Calling it again does nothing."""
        crew, self._crew = self._crew, None
        if crew is None:
            return
        for rank in range(self.ranks):
            with suppress(PeerLost):
                crew.transport.send(rank, message(Kind.STOP, self._number))
        crew.close()

    def add_edges(self, src: Any, dst: Any) -> int:
        """Add edges between ids (integers from 0 to 2**63 - 1); returns how many are new. Ends that
        are not vertices become vertices.
        """
        return self.update(src, dst).added

    def delete_edges(self, src: Any, dst: Any) -> int:
        """Delete edges; returns how many there were. Vertices stay."""
        ids = _ids("src", src)
        return self.update(ids, dst, np.zeros(len(ids), np.uint8)).deleted

    def update(self, src: Any, dst: Any, adds: Any = None) -> Updated:
        """Add the edges where ``adds`` is true (without it: all), delete the others. Rows of the
        same edge take effect in their order.
        """
        source, target = _ids("src", src), _ids("dst", dst)
        ops: U8 = (
            np.ones(len(source), np.uint8)
            if adds is None
            else np.asarray(adds, bool).view(np.uint8)
        )
        if not len(source) == len(target) == len(ops):
            raise InputError(
                f"src has {len(source):,} entries, dst {len(target):,} and adds {len(ops):,}; "
                "they must be equally many"
            )
        parts = self._deal(source, target, ops)
        commands = [
            {"command": "update", "directed": self.directed}
            | {"src": source[part], "dst": target[part], "adds": ops[part]}
            for part in parts
        ]
        try:
            answers = self._command(commands)
            if any(answer["candidates"] for answer in answers):
                stats = self.stats
                self._all("repair_colors")
                self.stats = {name: stats[name] + self.stats[name] for name in stats}
        except BaseException:  # Ctrl-C between the two would leave wrong colours behind
            self.close()
            raise
        made, gone = (sum(answer[name] for answer in answers) for name in ("added", "deleted"))
        self._num_edges += made - gone
        return Updated(made, gone)

    def _deal(self, src: U64, dst: U64, adds: U8) -> list[Any]:
        """The rows that each rank gets to read, as it might read its own part of a file. If some
        add and some delete, rows of the same edge go to the same rank, which keeps their order.
        """
        if not len(adds) or adds.min() == adds.max():
            cuts = np.linspace(0, len(src), self.ranks + 1).astype(int).tolist()
            return [slice(a, b) for a, b in pairwise(cuts)]
        # The same for both directions, and unlike the owner of either end.
        reader = owners(src ^ dst ^ (src + dst) << np.uint64(1), self.ranks)
        return [np.flatnonzero(reader == rank) for rank in range(self.ranks)]

    def bfs(self, source: int) -> VertexValues:
        """How many edges lead from a vertex to each other one (int32, -1: no path)."""
        wanted = int(_ids("source", [source])[0])
        answers = self._all("bfs", source=wanted)
        if not any(answer["found"] for answer in answers):
            raise IdError(f"source: there is no vertex {source!r} in the graph")
        return self._together(answers)

    def connected_components(self) -> VertexValues:
        """The smallest id of the component that each vertex is in."""
        self._refuse_directed("connected_components")
        return self._together(self._all("components"))

    def color(self, rule: Rule = "repair") -> VertexValues:
        """A colour for each vertex, 0, 1, ..., different from its neighbours'. The first call, and
        one with another rule, colours the graph; from then on updates keep the colours.
        """
        self._refuse_directed("color")
        self._check_rule(rule)
        return self._together(self._all("color", rule=rule))

    def gather(self) -> Edges:
        """All edges."""
        answers = self._all("edges", directed=self.directed)
        src, dst = (np.concatenate([a[name] for a in answers]) for name in ("src", "dst"))
        order = np.lexsort((dst, src))
        return Edges(src[order], dst[order])

    @property
    def num_vertices(self) -> int:
        """Ids that were an end of an added edge."""
        return sum(answer["vertices"] for answer in self._all("counts"))

    @property
    def num_edges(self) -> int:
        """Edges there are."""
        return self._num_edges

    def _check_rule(self, rule: str) -> None:
        if rule not in get_args(Rule):
            raise OptionError(f"rule: got {rule!r}; there are {', '.join(get_args(Rule))}")
        self._refuse_directed("coloring")

    def _refuse_directed(self, what: str) -> None:
        if self.directed:
            raise OptionError(f"{what}: needs a graph with directed=False")

    def _together(self, answers: list[dict[str, Any]]) -> VertexValues:
        ids, values = (np.concatenate([a[name] for a in answers]) for name in ("ids", "values"))
        # Each rank's are in order: that sort merges them.
        order = np.argsort(ids, kind="stable")
        return VertexValues(ids[order], values[order])

    def _all(self, command: str, **values: Any) -> list[dict[str, Any]]:
        return self._command([{"command": command} | values] * self.ranks)

    def _command(self, commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Give each rank its command, and wait for all answers."""
        crew = self._crew
        if crew is None:
            raise WorkerError("the ranks have ended; make a new VisitorRunner")
        self._number += 1
        try:
            for rank, values in enumerate(commands):
                command = message(Kind.COMMAND, self._number, 0, *pack(values))
                try:
                    crew.transport.send(rank, command)
                except PeerLost:
                    raise self._failure(crew, find_cause(crew.transport, rank, {})) from None
            answers = self._wait(crew)
        except BaseException:
            self.close()
            raise
        names = ("messages", "visitors", "visits")
        self.stats = {n: sum(a.get(n, 0) for a in answers) for n in names}
        return answers

    def _wait(self, crew: Crew) -> list[dict[str, Any]]:
        """The answers of all ranks."""
        answers: dict[int, dict[str, Any]] = {}
        while len(answers) < self.ranks:
            try:
                received = crew.transport.receive(None)
            except PeerLost as lost:
                rank, report = lost.rank, FailureCause(lost.rank)
            else:
                if received is None:
                    continue
                rank, found = received.sender, report_of(received)
                if found is None:
                    answers[rank] = unpack(received.data)
                    continue
                report = found
            raise self._failure(crew, find_cause(crew.transport, rank, {rank: report}))
        return [answers[rank] for rank in range(self.ranks)]

    def _failure(self, crew: Crew, cause: FailureCause) -> WorkerError:
        who = f"rank {cause.rank} of {self.ranks}"
        if cause.words is None:
            what = f"{who} is gone ({crew.fate(cause.rank)}); what the ranks held is lost"
        else:
            what = f"{who} failed; what the ranks held is lost; it said:\n{cause.words.rstrip()}"
        return WorkerError(f"{what}\nMake a new VisitorRunner")


def _ids(name: str, values: Any) -> U64:
    """Ids as an array; refuses what is not an integer from 0 to 2**63 - 1."""
    array = np.asarray(values)
    if not array.size:
        return np.empty(0, np.uint64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise IdError(
            f"{name}: got {array.dtype} of {array.ndim} dimensions; ids are integers in one"
        )
    if int(array.min()) < 0 or int(array.max()) >= 1 << 63:
        raise IdError(
            f"{name}: got ids from {array.min()} to {array.max()}; ids are 0 to 2**63 - 1"
        )
    return np.ascontiguousarray(array, np.uint64)
