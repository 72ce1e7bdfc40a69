"""What a run needs, as an algorithm declares it from counts and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.device.signature import ProgramSignature
from penstock.stream import tiers
from penstock.types import Direction

#: Where a run can have its lists. "memory": all of them, decoded. "heads": the first edges of each;
#: other lists are read one by one. "stream": pages pass.
ListForm = Literal["memory", "heads", "stream"]

#: As the first edges of each list: all of them.
WHOLE_LISTS = tiers.NO_LIMIT


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that a run uses as far as it gets them: the more, the fewer passes."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class ProgramNeeds:
    """What a vertex program needs besides: which of its values may leave memory."""

    signature: ProgramSignature
    #: Bytes for each vertex: of accumulators; of what stays in memory wherever the values are.
    sum_bytes: int
    always_bytes: int
    #: The same, not for each vertex.
    held_bytes: int
    #: Whether values that are not gathered may travel with the pages.
    may_travel: bool
    #: Whether a page's new values are seen at once: then each device needs all of them.
    asynchronous: bool = False
    #: Whether it always pushes: then no device gathers.
    pushes: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """One way to run: what it holds in memory, and what it does.

    An algorithm declares several, best first. The first that fits the budget is taken.
    """

    #: The lists it looks at.
    directions: tuple[Direction, ...]
    #: Expected passes over the lists; of a traversal, the pages that it reads over all pages.
    passes: float
    columns: tuple[str, ...] = ()
    #: Bytes of state: for each vertex; for each thread or stream at work; besides these.
    vertex_bytes: int = 0
    worker_bytes: int = 0
    more_bytes: int = 0
    #: Bytes that it can do with more or fewer of.
    room: Room | None = None
    forms: tuple[ListForm, ...] = ("memory", "stream")
    #: How many first edges of each list are in memory, if that is asked for.
    head_edges: int | None = None
    #: Lists in memory are used if they are there, and never loaded.
    only_loaded: bool = False
    #: Whether its kernels take lists with room between them (by the ``ends`` of blocks).
    takes_gaps: bool = False
    #: Pages on their way at once for each thread, unless options say how many.
    streams_per_thread: int = 2
    program: ProgramNeeds | None = None
    #: What other parts of the same run need, before or after this one.
    parts: tuple[Needs, ...] = ()
    #: The algorithm's own name for this way, if it has several.
    way: str = ""
    #: Bytes for each vertex that are read through neighbour ids.
    gathered_bytes: int = 4
    #: Whether its hosts may stand in rows, of which each has a range of the values: then no rank
    #: has the values of all vertices.
    takes_rows: bool = False
    #: How many times longer an edge takes than one of a PageRank step.
    work: float = 1.0
