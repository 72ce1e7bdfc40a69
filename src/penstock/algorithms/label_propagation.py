"""Communities by label propagation (CDLP of LDBC Graphalytics).

Returns, for each vertex, one of the user's ids as the label of its community.

Method: synchronous rounds. At first every vertex has its own id as label; in a round it takes the
label that is most frequent among its neighbours, the smallest of equally frequent ones. Labels are
ranks of ids inside, so that they take four bytes and compare as ids do. Labels are counted in a
short list or a hash table; see ``_labels``.

Lists are needed whole, and those of both directions at once: on a stream, the lists of consecutive
vertices are gathered until there is no more room, counted, and thrown away. A round reads
every page once (one at a border between two such ranges may be read twice).

Trade-off: room for the longest list, and storage idles while labels are counted.

Repeating: a round reads old labels and writes new ones elsewhere.

Iosup et al.: "LDBC Graphalytics: a benchmark for large-scale graph analysis on parallel and
distributed platforms", VLDB 2016. Raghavan, Albert, Kumara: "Near linear time algorithm to detect
community structures in large-scale networks", Phys. Rev. E 2007.
"""

from __future__ import annotations

import numpy as np

from penstock.algorithms import _labels as kernels
from penstock.algorithms._labels_check import verify
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.checkpoint_file import within
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs, Room
from penstock.engine.parameters import check_max_iter
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.engine.whole_lists import WholeLists, least_bytes
from penstock.store.mapped import iter_parts
from penstock.types import U32, VID

#: Edges that are gathered at a time: an eighth of all, but not fewer nor more than this.
LEAST_ROOM, MOST_ROOM = 1 << 17, 1 << 22
#: Edges that are counted at a time, if no list is longer.
SHARE = 1 << 15
#: Bytes of a hash table for each label that there may be, at most.
TABLE_BYTES = 32
#: Lists longer than a share, and shares of others, that are counted at once, as memory counts.
LONG_AT_ONCE, SHARES = 2, 8


def propagate(engine: Engine, max_iter: int) -> U32:
    """The label of each vertex, as a rank of ids."""
    graph = engine.graph
    labels: U32 = engine.array("labels", VID)
    new: U32 = engine.array("new labels", VID)
    engine.map_ranges(kernels.number, labels)
    if graph.vid_of_rank is not None:
        for begin, part in iter_parts(graph.vid_of_rank):
            labels[part] = np.arange(begin, begin + len(part), dtype=VID)
    lists = WholeLists(engine)
    engine.options.progress.start("rounds", max_iter, "rounds")
    identity = {"algorithm": "label_propagation", "max_iter": max_iter}
    with Recovery(engine, identity) as recovery:
        n = engine.num_vertices
        saved = recovery.resume({"labels": labels}, {"labels": within(0, n - 1)})
        step, changed = (0, n) if saved is None else (saved[0], saved[1].whole("left", 0, n))
        while step < max_iter and changed:
            with engine.step(active=changed):
                changed = _round(lists, labels, new)
            labels, new = new, labels
            step += 1
            recovery.after(step, {"labels": labels}, {"left": changed})
    engine.facts["converged"] = changed == 0
    return labels


def _round(lists: WholeLists, labels: U32, new: U32) -> int:
    """New labels from old ones; how many differ. The tables of long lists are large."""
    found = lists.map(kernels.vote, labels, new, share=SHARE, long_at_once=LONG_AT_ONCE)
    return sum(found)


def _room(counts: Counts) -> int:
    """Bytes of lists that are gathered at a time."""
    edges = sum(each.num_edges for each in counts.lists.values())
    return max(4 * min(max(edges // 8, LEAST_ROOM), MOST_ROOM), least_bytes(counts))


def _requirements(counts: Counts, max_iter: int) -> list[Needs]:
    check_max_iter(max_iter)
    longest = sum(counts.of(each).max_degree for each in counts.both_ways)
    tables = TABLE_BYTES * (LONG_AT_ONCE * longest + SHARES * min(2 * SHARE, longest))
    # Pages at the border between two ranges are read twice, if those of "out" do not end there.
    passes = max_iter * (1.2 if counts.directed else 1.0)
    room = _room(counts)
    return [
        Needs(
            counts.both_ways, passes, vertex_bytes=8, more_bytes=tables, room=Room(room, room),
            work=2.5,
        )
    ]  # fmt: skip


@algorithm(requirements=_requirements, verify=verify)
def label_propagation(task: Task, max_iter: int = 10) -> Result:
    """Communities by label propagation, as LDBC Graphalytics defines it (CDLP).

    The values are ids: vertices of a community have the same. At first every vertex has its own; in
    each iteration all vertices at once take the label that most of their neighbours have.
    ``stats["converged"]`` tells whether the last iteration changed nothing.

    Parameters
    ----------
    graph
        Directed, with the lists of both directions, or not.
    max_iter
        Iterations, unless one changes nothing: then more would not either.

    Semantics
    ---------
    direction
        In- and out-neighbours both count; one that is both counts twice.
    duplicates
        Each counts.
    loops
        A vertex counts as its own neighbour: once, or twice (in and out) if the graph is directed.
    isolates
        A vertex without edges keeps its own id.
    values
        Ids, each the label of some vertices; not necessarily of the vertex with that id.
    ties
        Of equally frequent labels the smallest id is taken.
    passes
        1 an iteration, over the lists of both directions if the graph is directed.

    Examples
    --------
    >>> import penstock as ps
    >>> g = ps.from_edges([0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 5, 3], directed=False)
    >>> ps.label_propagation(g, max_iter=5).values.tolist()
    [0, 0, 0, 2, 2, 2]
    """
    graph = task.graph
    with task.open() as engine:
        ranks = propagate(engine, max_iter)
    order = graph.vid_of_rank

    def vids() -> U32:
        found: U32 = ranks if order is None else np.asarray(order)[ranks]
        return found

    return task.result("label", vids, more={}, values_are_vids=True)
