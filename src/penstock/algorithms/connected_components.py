"""Connected components; of a directed graph the weak ones.

Returns, for each vertex, the smallest of the user's ids in its component.

Method: hooking. ``labels[v]`` is a vertex of v's component not above v, so labels form trees whose
roots point to themselves; linking an edge hangs the larger of two roots under the smaller by
compare-and-swap, and compressing points every vertex at its root. In memory this is Afforest: the
first neighbours of each vertex are linked, which joins nearly all of the largest component, and
then only the lists of vertices outside it are read. On a stream, and where a directed graph has
the lists of one direction only, one scan links every edge: the pages are read once.

Trade-off: a little more work per edge than label propagation, but one pass instead of as many as
the diameter.

Repeating: links and compressions only ever lower labels within a component, so a step may be
abandoned anywhere and repeated on the labels as they are.

Sutton, Ben-Nun, Barak: "Optimizing parallel graph connectivity computation via subgraph sampling",
IPDPS 2018. Shiloach, Vishkin: "An O(log n) parallel connectivity algorithm", J. Algorithms 1982.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from penstock.algorithms._labels_over_hosts import compress, join_labels, most_frequent
from penstock.algorithms._trees import link
from penstock.algorithms._vertex_programs import label_by_program, label_needs
from penstock.algorithms._vids import by_vid, vids_by_vid
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.jit import helper, kernel, prefetch
from penstock.store.graph import Graph
from penstock.store.mapped import PART, iter_parts, read_range
from penstock.types import NO_VERTEX, U8, U32, VID

#: A component with this share of the vertices is large enough to be left out.
LARGE_SHARE = 0.75
#: How many lists ahead memory is fetched.
AHEAD = 16
#: A way to run, with the lists of every vertex in memory: first some neighbours of each, then only
#: the lists of vertices that are not in the largest component.
SAMPLED = "sampled"


def label_components(engine: Engine) -> U32:
    """The smallest vertex number of each vertex's component."""
    labels: U32 = engine.array("labels", VID)
    phases = _phases(engine)
    engine.options.progress.start("phases", len(phases), "phases")
    with Recovery(engine, {"algorithm": "connected_components"}) as recovery:
        saved = recovery.resume({"labels": labels}, {"labels": _lead_to_smaller})
        # A checkpoint may come from a run that had other phases.
        last = None if saved is None else saved[1]["phase"]
        begin = next((k + 1 for k, (name, _) in enumerate(phases) if name == last), 0)
        for done, (name, phase) in enumerate(phases[begin:], begin + 1):
            with engine.step(mode=name):
                phase(engine, labels)
                engine.map_ranges(compress, labels)
                join_labels(engine, labels)
            recovery.after(done, {"labels": labels}, {"phase": name})
    return labels


def _lead_to_smaller(begin: int, labels: U32) -> bool:
    """Whether labels lead from a vertex to itself or a smaller one, and so to an end."""
    return bool((labels <= np.arange(begin, begin + len(labels))).all())


def _phases(engine: Engine) -> list[tuple[str, Callable[[Engine, U32], None]]]:
    """What to do one after the other."""
    if engine.way == SAMPLED and engine.peers.size > 1:
        # Only what is joined can be saved.
        return [
            ("first and second neighbours", _neighbours_here),
            ("outside the largest", _outside_the_largest),
        ]
    if engine.way == SAMPLED:
        return [
            ("first neighbours", _first_neighbours),
            ("second neighbours", _second_neighbours),
            ("outside the largest", _outside_the_largest),
        ]
    return [("every edge", _every_edge)]


def _every_edge(engine: Engine, labels: U32) -> None:
    graph = engine.graph
    engine.map_ranges(_number, labels)
    # An undirected edge is stored with both ends. The larger one links it: the smaller ids come
    # first in a list, and they are those of large degree, whose labels are at hand.
    once = not graph.directed and graph.neighbour_order == "id"
    engine.scan(_link_lists, labels, -1, once, direction=graph.directions[0])


def _neighbours_here(engine: Engine, labels: U32) -> None:
    """Over several hosts, which have lists of some vertices each."""
    engine.map_ranges(_number, labels)
    engine.scan(_adopt_first, labels, direction=engine.graph.directions[0])
    engine.scan(_link_second, labels, direction=engine.graph.directions[0])


def _first_neighbours(engine: Engine, labels: U32) -> None:
    engine.scan(_adopt_first, labels, direction=engine.graph.directions[0])


def _second_neighbours(engine: Engine, labels: U32) -> None:
    if most_frequent(labels)[1] < LARGE_SHARE:
        engine.scan(_link_second, labels, direction=engine.graph.directions[0])


def _outside_the_largest(engine: Engine, labels: U32) -> None:
    largest, _ = most_frequent(labels)
    for direction in engine.graph.directions:
        engine.scan(_link_lists, labels, largest, False, direction=direction)


def smallest_ids(graph: Graph, labels: U32) -> U32:
    """Labels that are the smallest vertex number of each component (or any, where the ids are in
    another order), turned into its vertex of the smallest id.
    """
    order = graph.vid_of_rank
    if order is None:
        return labels
    first: U32 = np.full(len(labels), NO_VERTEX, VID)
    for _, part in iter_parts(order):
        _name_first(part, labels, first)
    for begin in range(0, len(labels), 1 << 20):
        labels[begin : begin + (1 << 20)] = first[labels[begin : begin + (1 << 20)]]
    return labels


def smallest_ids_of(task: Task, labels: U32) -> U32:
    """The same; over several hosts for own vertices. Each host goes over a part of the ids, and
    they tell each other the smallest of each component of two vertices or more.
    """
    peers, order = task.options.peers, task.graph.vid_of_rank
    if peers.size == 1:
        return smallest_ids(task.graph, labels)
    assert task.engine is not None
    own = task.engine.own_vertices.take(labels)
    if order is None:
        return own
    n, first = len(labels), np.full(len(labels), NO_VERTEX, VID)
    begin, end = (n * rank // peers.size for rank in (peers.rank, peers.rank + 1))
    for low in range(begin, end, PART):
        _name_first(read_range(order, low, min(low + PART, end)), labels, first)
    several: U8 = np.zeros(n, np.uint8)
    _mark_shared(labels, several)
    found: U32 = np.empty(n, VID)
    found = found[: _choose_named(first, several, found)]
    # The ids of lower ranks are smaller.
    for components, smallest in reversed(peers.allgather(found, first[found])):
        first[components] = smallest
    _rename(own, several, first)
    return own


def verify(graph: Graph, result: Result) -> None:
    """A serial union-find over the edges: no edge joins two labels, there are as many labels as
    components, and a label is in its own component with no smaller id beside it.
    """
    n = graph.num_vertices
    ids = result.ids
    wrong = np.flatnonzero(result.values > ids)
    if len(wrong):
        k = wrong[0]
        raise VerificationError(
            f"connected_components: vertex {ids[k]} has the label {result.values[k]}, which is not "
            "the smallest id of a component that it is in"
        )
    labels = vids_by_vid(graph, result.values, np.ones(n, bool))
    trees, components = np.arange(n, dtype=VID), n
    for src, dst, _ in graph.iter_edges():
        split = np.flatnonzero(labels[src] != labels[dst])
        if len(split):
            names = by_vid(graph, ids)
            u, v = src[split[0]], dst[split[0]]
            raise VerificationError(
                f"connected_components: the edge {names[u]} - {names[v]} joins the components "
                f"{names[labels[u]]} and {names[labels[v]]}"
            )
        components -= _unite(trees, src, dst)
    own = int(np.count_nonzero(labels == np.arange(n)))
    if own != components or len(np.unique(labels)) != components:
        raise VerificationError(
            f"connected_components: {len(np.unique(labels)):,} labels, {own:,} of them in their "
            f"own component, but {components:,} components"
        )


def component_needs(counts: Counts) -> list[Needs]:
    """What :func:`label_components` needs: the lists of one direction will do, too."""
    sampled = Needs(
        counts.directions, 0.15, vertex_bytes=12, forms=("memory",), takes_gaps=True, way=SAMPLED,
        work=1.5,
    )  # fmt: skip
    one = Needs(counts.directions[:1], 1.0, vertex_bytes=12, work=1.5)
    whole = not counts.directed or len(counts.directions) == 2
    return [sampled, one] if whole else [replace(one, takes_gaps=True)]


def forest_needs(counts: Counts) -> list[Needs]:
    """What :func:`label_components` needs if each of several hosts links the lists that it has:
    what another host has linked comes beside its own labels.
    """
    return [replace(each, vertex_bytes=17) for each in component_needs(counts)]


@algorithm(
    requirements=component_needs, verify=verify, on_devices=label_needs, on_hosts=forest_needs
)
def connected_components(task: Task) -> Result:
    """Connected components; directions are ignored (weak components).

    The values are the smallest id of each vertex's component.

    Parameters
    ----------
    graph
        Directed or not; the lists of one direction are enough.

    Semantics
    ---------
    direction
        Does not matter: the components of a directed graph are the weak ones.
    duplicates
        Make no difference.
    loops
        Make no difference.
    isolates
        Each is a component by itself.
    values
        The smallest id of the component, by number or, for strings, by alphabet.
    ties
        None: components are unique, and so is the smallest id.
    passes
        1, over the lists of one direction.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.connected_components(ps.from_edges([1, 3, 5], [2, 4, 4])).values.tolist()
    [1, 1, 3, 3, 3]
    """
    if task.options.runs_loops:
        with task.open() as engine:
            labels = label_components(engine)
    else:
        labels = label_by_program(task)
    return task.result(
        "component", lambda: smallest_ids_of(task, labels), more={}, values_are_vids=True
    )


@kernel
def _number(begin, end, labels):  # type: ignore[no-untyped-def]
    for v in range(np.uint64(begin), np.uint64(end)):
        labels[v] = v


@helper
def _fetched(block, end):  # type: ignore[no-untyped-def]
    """The vertex up to which memory is fetched for a list further on; of lists that stand one after
    another the processor does that by itself.
    """
    if len(block.offsets) > len(block.ends):
        return np.uint64(0)
    return np.uint64(max(end - AHEAD, 0))


@kernel
def _adopt_first(block, begin, end, labels):  # type: ignore[no-untyped-def]
    """Labels from nothing: each vertex has its own, or that of its first neighbour if smaller."""
    offsets, ends, neighbours = block.offsets, block.ends, block.neighbours
    first, ahead = np.uint64(block.first), np.uint64(AHEAD)
    fetched = _fetched(block, end)
    for v in range(np.uint64(begin), np.uint64(end)):
        if v < fetched:
            prefetch(neighbours, offsets[v - first + ahead])
        edge = np.uint64(offsets[v - first])
        label = np.uint32(v)
        if edge < np.uint64(ends[v - first]):
            label = min(label, neighbours[edge])
        labels[v] = label


@kernel
def _link_second(block, begin, end, labels):  # type: ignore[no-untyped-def]
    """Link each vertex with its second neighbour."""
    offsets, ends, neighbours = block.offsets, block.ends, block.neighbours
    first, one, ahead = np.uint64(block.first), np.uint64(1), np.uint64(AHEAD)
    fetched = _fetched(block, end)
    for v in range(np.uint64(begin), np.uint64(end)):
        if v < fetched:
            prefetch(neighbours, offsets[v - first + ahead])
        edge = np.uint64(offsets[v - first]) + one
        if edge < np.uint64(ends[v - first]):
            link(labels, labels[v], labels[neighbours[edge]])


@kernel
def _link_lists(block, begin, end, labels, skipped, to_smaller):  # type: ignore[no-untyped-def]
    """Link each vertex that has not the skipped label with all its neighbours, or with those before
    the first that is larger.
    """
    offsets, ends, neighbours = block.offsets, block.ends, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    for v in range(np.uint64(begin), np.uint64(end)):
        label = labels[v]
        if label == skipped:
            continue
        edge, last = np.uint64(offsets[v - first]), np.uint64(ends[v - first])
        while edge < last:
            u = neighbours[edge]
            if to_smaller and u > v:
                break
            other = labels[u]
            if other != label:
                link(labels, label, other)
                label = labels[v]
            edge += one


@kernel
def _mark_shared(labels, shared):  # type: ignore[no-untyped-def]
    """Mark labels that another vertex has, too."""
    for v in range(len(labels)):
        if labels[v] != v:
            shared[labels[v]] = 1


@kernel
def _choose_named(first, shared, chosen):  # type: ignore[no-untyped-def]
    """The labels that several vertices have and of which one was met first; how many."""
    count = np.uint64(0)
    for label in range(len(first)):
        chosen[count] = label
        count += np.uint64(first[label] != NO_VERTEX) & np.uint64(shared[label])
    return count


@kernel
def _rename(labels, shared, names):  # type: ignore[no-untyped-def]
    """Replace labels that several vertices have."""
    for k in range(len(labels)):
        label = labels[k]
        if shared[label]:
            labels[k] = names[label]


@kernel
def _name_first(vertices, labels, first):  # type: ignore[no-untyped-def]
    """The first vertex, in an order given part by part, that has each label."""
    for v in vertices:
        label = labels[v]
        if first[label] == NO_VERTEX:
            first[label] = v


@kernel
def _unite(trees, src, dst):  # type: ignore[no-untyped-def]
    """Serial union-find with path halving; how many unions joined two trees."""
    joined = 0
    for i in range(len(src)):
        a, b = src[i], dst[i]
        while trees[a] != a:
            trees[a] = trees[trees[a]]
            a = trees[a]
        while trees[b] != b:
            trees[b] = trees[trees[b]]
            b = trees[b]
        if a != b:
            trees[a] = b
            joined += 1
    return joined
