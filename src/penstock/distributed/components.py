"""Connected components, asynchronously: the label of a vertex is the smallest id in its component.

Every vertex begins with its own id. A visitor brings a label to a vertex; if it is smaller than
what the vertex has, the vertex takes it and waits to be visited, and a visit offers it to the
neighbours. Labels only go down, and each is the id of a vertex that a path leads to, so at
quiescence each is the smallest such id, whatever came in which order.

``labels`` has the numbers of ghosts too: the smallest label that is known of them here, for a
beginning their own id. What would not lower that is not sent.
"""

from __future__ import annotations

from penstock.distributed.outbox import Outbox
from penstock.distributed.propagation import Propagation
from penstock.distributed.shard import Shard
from penstock.distributed.visiting import enlist, send, take_first
from penstock.distributed.visitors import Operation
from penstock.jit import kernel
from penstock.types import Array

#: Edges of a step of visits, about: after it, visitors are sent and what has come is looked at.
STEP_EDGES = 1 << 18
_LABEL = int(Operation.LABEL)


@kernel
def _visit(  # type: ignore[no-untyped-def]
    rank, labels, ids, owned_by, starts, stops, neighbours, ring, waiting, ends, rows, filled
):
    room, fullest = rows.shape[1], filled.max()
    edges, visits = 0, 0
    while edges < STEP_EDGES:
        v, degree = take_first(ring, waiting, ends, starts, stops, room - fullest)
        if degree < 0:
            break
        visits += 1
        edges += degree
        label = labels[v]
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if label >= labels[w]:
                continue
            labels[w] = label
            owner = owned_by[w]
            if owner != rank:
                fullest = max(fullest, send(rows, filled, owner, ids[w], label, 0, _LABEL))
            else:
                enlist(ring, waiting, ends, w)
    return visits


class ComponentsProgram(Propagation):
    """Labels of all vertices."""

    _brings = "other"
    _visit = staticmethod(_visit)

    def __init__(self, shard: Shard, outbox: Outbox) -> None:
        super().__init__(shard, outbox, shard.ids.copy())
        # The smallest ids first: most other labels are then never offered.
        self._worklist.put_all(shard.own())

    def values(self) -> Array:
        """Labels, which are ids."""
        return self._values[self._shard.own()]
