"""When changes of a graph are merged into its base: decisions without input or output."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

#: Changes may always take this part of the memory, however much ids and vertices take.
LEAST_SHARE = 4
#: What a row of a batch takes while it is looked up and sorted; what a compaction takes.
ROW_BYTES = 128
COMPACTION_BYTES = 64 << 20
#: Logs are merged when they take this number of times what logging the graph once takes.
LOG_TIMES = 2
#: After an attempt that failed, logs grow by this part of their limit before the next one.
RETRY_PART = 8


class Need(IntEnum):
    """Whether changes should be merged."""

    NONE = 0
    #: In the background.
    SOON = 1
    #: Before anything more is changed.
    NOW = 2


@dataclass(frozen=True, slots=True)
class LogLimits:
    """What logs may take.

    >>> LogLimits(floor=100).soft(30), LogLimits(floor=100).soft(70), LogLimits(floor=100).hard(70)
    (100, 140, 175)
    """

    #: Logs up to this are left alone, however small the graph is.
    floor: int = 16 << 20

    def soft(self, once: int) -> int:
        """Above this they are merged; ``once``: what logging the graph once takes."""
        return max(self.floor, LOG_TIMES * once)

    def hard(self, once: int) -> int:
        """Above this changes wait: a quarter more. With the batches that were under way it is less
        than three times the graph, if they have less than half as many rows as there are edges.
        """
        return self.soft(once) * 5 // 4


def logged_once(
    edges: int, vertices: int, *, id_bytes: float, edge_bytes: int, vertex_bytes: int
) -> int:
    """Bytes of a log that has every edge and every vertex once, with their columns.

    >>> logged_once(1000, 100, id_bytes=8, edge_bytes=4, vertex_bytes=0)
    20800
    """
    return int(edges * (2 * id_bytes + edge_bytes) + vertices * (id_bytes + vertex_bytes))


def log_need(log_bytes: int, once: int, limits: LogLimits) -> Need:
    """What the size of all logs asks for."""
    return _need(log_bytes, limits.soft(once), limits.hard(once))


def working_bytes(rows: int) -> int:
    """What a batch of this number of rows, and a compaction beside it, take while they are at work,
    about.
    """
    return ROW_BYTES * rows + COMPACTION_BYTES


def memory_need(changed: int, total: int, budget: int, working: int = 0) -> Need:
    """What memory asks for: of the ``total`` bytes, merging gives back those that ``changed``. They
    may take what is left of the budget beside the others and what work takes, and a part of the
    budget at least.

    >>> [memory_need(changed, changed + 60, 100).name for changed in (20, 21, 41)]
    ['NONE', 'SOON', 'NOW']
    """
    most = max(budget - (total - changed) - working, budget // LEAST_SHARE)
    return _need(changed, most // 2, most)


def _need(amount: int, soft: int, hard: int) -> Need:
    if amount > hard:
        return Need.NOW
    return Need.SOON if amount > soft else Need.NONE


def retry_at(log_bytes: int, once: int, limits: LogLimits) -> int:
    """How long logs must be for another attempt in the background after one that failed."""
    return log_bytes + limits.soft(once) // RETRY_PART
