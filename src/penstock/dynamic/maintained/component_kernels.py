"""Kernels of the maintained components: a forest, and who is in which of its trees.

``forest`` is the state that they share, by vertex number or by number of a component:

* ``parents``: the vertex above in the tree, ``NONE`` for a root;
* ``comps``: the number of the component;
* ``after``, ``ahead``: the next and the previous member of the component, in a ring;
* ``sizes``, ``roots``, ``least``: by number of a component: its members, its root, and its vertex
  of the smallest id (``NONE`` if that is not known);
* ``free``: numbers of components that are not in use, the first ``tallies[FREE]`` entries.

There are as many numbers of components as vertices.

While edges are taken away, a component is several trees. They have numbers from 1: first those of
orphans, then those of the roots that components had before. A ``stamp`` of a vertex is the number
of the tree that it was in when all were apart, 0 if that is not known, plus ``VISITED`` if it was
found from its parent. Trees only ever join: ``groups`` says under which other tree a tree hangs
now, itself if it does not.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import helper, kernel
from penstock.types import NO_VERTEX

NONE = np.uint32(NO_VERTEX)
#: Places in ``tallies``: free numbers; vertices whose label is another (more than fit the list of
#: them: then all labels must be made again); components.
FREE, RENAMED, COMPONENTS = range(3)
VISITED = np.uint32(1 << 31)
#: A component is renamed at once if it is at most so many times as large as what was added to it
#: or taken from it; else when labels are next read.
WALK_FACTOR, WALK_LEAST = 4, 64


@helper
def _note(v, renamed, tallies):  # type: ignore[no-untyped-def]
    """The label of v may be another."""
    if tallies[RENAMED] < len(renamed):
        renamed[tallies[RENAMED]] = v
    tallies[RENAMED] += 1


@helper
def _rename(comp, changed, after, sizes, roots, renamed, tallies):  # type: ignore[no-untyped-def]
    """All members of a component have another label, because so many came or went."""
    if sizes[comp] > WALK_FACTOR * changed + WALK_LEAST:
        tallies[RENAMED] += len(renamed) + 1
        return
    v = np.uint64(roots[comp])
    for _ in range(sizes[comp]):
        _note(v, renamed, tallies)
        v = np.uint64(after[v])


@helper
def _hang(a, b, parents):  # type: ignore[no-untyped-def]
    """Turn the tree of a so that a is its root, and put that under b, of another tree."""
    above, v = np.uint32(b), np.uint64(a)
    while True:
        next_up = parents[v]
        parents[v] = above
        if next_up == NONE:
            break
        above, v = np.uint32(v), np.uint64(next_up)


@kernel
def link(  # type: ignore[no-untyped-def]
    src, dst, keys, renamed, tallies,
    parents, comps, after, ahead, sizes, roots, least, free,
):  # fmt: skip
    """Join the components of the ends of each edge: the smaller is hung under the larger. Returns
    how many were joined, and how many vertices were in what was hung.
    """
    joined = moved = 0
    for i in range(len(src)):
        a, b = np.uint64(src[i]), np.uint64(dst[i])
        if comps[a] == comps[b]:
            continue
        # Of equal ones the second is hung: neighbours under a hub, not a hub under a neighbour.
        if sizes[np.uint64(comps[a])] >= sizes[np.uint64(comps[b])]:
            a, b = b, a
        small, large = np.uint64(comps[a]), np.uint64(comps[b])
        count = np.int64(sizes[small])
        one, other = least[small], least[large]
        if one == NONE or other == NONE:
            least[large] = NONE
            tallies[RENAMED] += len(renamed) + 1
        elif keys[np.uint64(one)] < keys[np.uint64(other)]:
            _rename(large, count, after, sizes, roots, renamed, tallies)
            least[large] = one
        _hang(a, b, parents)
        v = a
        for _ in range(count):
            comps[v] = large
            _note(v, renamed, tallies)
            v = np.uint64(after[v])
        # Two rings become one: b, the ring of a from behind a to a, then what was behind b.
        behind_a, behind_b = np.uint64(after[a]), np.uint64(after[b])
        after[b], ahead[behind_a] = behind_a, b
        after[a], ahead[behind_b] = behind_b, a
        sizes[large] += np.uint32(count)
        sizes[small] = 0
        free[tallies[FREE]] = small
        tallies[FREE] += 1
        tallies[COMPONENTS] -= 1
        joined += 1
        moved += count
    return joined, moved


@helper
def _split_off(  # type: ignore[no-untyped-def]
    root, members, keys, renamed, tallies, comps, after, ahead, sizes, roots, least, free
):  # fmt: skip
    """Give some members of a component, which are a tree, a number of their own."""
    count, first = len(members), root
    head, last = np.uint64(members[0]), np.uint64(members[0])
    old = np.uint64(comps[root])
    if count == sizes[old]:
        roots[old] = root
        return
    tallies[FREE] -= 1
    tallies[COMPONENTS] += 1
    number = np.uint64(free[tallies[FREE]])
    for i in range(count):
        v = np.uint64(members[i])
        behind, before = np.uint64(after[v]), np.uint64(ahead[v])
        after[before], ahead[behind] = behind, before
        if roots[old] == v:
            # Any member will do here: its root is among those that are still to be split off.
            roots[old] = behind
        after[last], ahead[v] = v, last
        last = v
        comps[v] = number
        if keys[v] < keys[first]:
            first = v
        _note(v, renamed, tallies)
    after[last], ahead[head] = head, last
    sizes[old] -= np.uint32(count)
    sizes[number], roots[number], least[number] = count, root, first
    if least[old] == NONE or comps[np.uint64(least[old])] == old:
        return
    if sizes[old] > WALK_FACTOR * count + WALK_LEAST:
        least[old] = NONE
    else:
        first = np.uint64(roots[old])
        v = np.uint64(after[first])
        while v != roots[old]:
            if keys[v] < keys[first]:
                first = v
            v = np.uint64(after[v])
        least[old] = first
    _rename(old, count, after, sizes, roots, renamed, tallies)


@kernel
def split(  # type: ignore[no-untyped-def]
    trees, at, members, keys, renamed, tallies, comps, after, ahead, sizes, roots, least, free
):  # fmt: skip
    """Make components of trees: that of root ``trees[i]`` has ``members[at[i]:at[i + 1]]``."""
    for i in range(len(trees)):
        _split_off(
            np.uint64(trees[i]), members[at[i] : at[i + 1]], keys, renamed, tallies, comps, after,
            ahead, sizes, roots, least, free,
        )  # fmt: skip


@kernel
def find_least(keys, comps, least):  # type: ignore[no-untyped-def]
    """The vertex of the smallest id of each component; ``least`` is ``NONE`` before."""
    for v in range(len(comps)):
        comp = np.uint64(comps[v])
        if least[comp] == NONE or keys[v] < keys[np.uint64(least[comp])]:
            least[comp] = v


@kernel
def cut(src, dst, parents, orphans):  # type: ignore[no-untyped-def]
    """Take edges out of the forest; the lower ends of those that were in it become roots, and are
    written down. Returns how many.
    """
    count = 0
    for i in range(len(src)):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if parents[u] == v:
            u, v = v, u
        if parents[v] == u:
            parents[v] = NONE
            orphans[count] = v
            count += 1
    return count


@helper
def _top(tree, groups):  # type: ignore[no-untyped-def]
    """The tree that this one hangs under, at whatever distance."""
    while groups[tree] != tree:
        groups[tree] = groups[groups[tree]]
        tree = np.uint64(groups[tree])
    return tree


@helper
def _tree_of(v, parents, stamps, stamped):  # type: ignore[no-untyped-def]
    """The tree that v was in: up to a vertex that knows, and then all on the way know. The first
    entry of ``stamped`` counts the others, which are the vertices with stamps.
    """
    w = v
    while stamps[w] == 0:
        w = np.uint64(parents[w])
    tree = stamps[w] & ~VISITED
    w = v
    while stamps[w] == 0:
        stamps[w] = tree
        stamped[0] += 1
        stamped[stamped[0]] = w
        w = np.uint64(parents[w])
    return np.uint64(tree)


@helper
def _adopt(v, tree, begin, end, neighbours, parents, comps, stamps, stamped, groups):  # type: ignore[no-untyped-def]
    """Hang the root v of a tree under a neighbour in another one, if it has one."""
    for k in range(begin, end):
        w = np.uint64(neighbours[k])
        if comps[w] != comps[v]:
            continue
        other = _top(_tree_of(w, parents, stamps, stamped), groups)
        if other != tree:
            parents[v] = w
            groups[tree] = other
            return True
    return False


@kernel
def adopt(  # type: ignore[no-untyped-def]
    orphans, offsets, neighbours, more_offsets, more_neighbours, parents, comps, stamps, stamped,
    groups,
):  # fmt: skip
    """Look for a new parent of each orphan among its neighbours."""
    for i in range(len(orphans)):
        v, tree = np.uint64(orphans[i]), np.uint64(i + 1)
        if not _adopt(
            v, tree, offsets[i], offsets[i + 1], neighbours, parents, comps, stamps, stamped, groups
        ):
            _adopt(
                v, tree, more_offsets[i], more_offsets[i + 1], more_neighbours, parents, comps,
                stamps, stamped, groups,
            )  # fmt: skip


@helper
def _visit(v, tree, stamps, stamped, found, of, count):  # type: ignore[no-untyped-def]
    """Write down a vertex that was not visited before; returns how many there are then."""
    if stamps[v] >= VISITED:
        return count
    if stamps[v] == 0:
        stamped[0] += 1
        stamped[stamped[0]] = v
    stamps[v] = np.uint32(tree) | VISITED
    found[count], of[count] = v, tree
    return count + 1


@helper
def _turn(a, b, tree, parents, stamps, stamped, found, of, count):  # type: ignore[no-untyped-def]
    """:func:`_hang`, and visit the vertices whose parents are others now: those may have been
    looked at before.
    """
    v = np.uint64(a)
    while True:
        count = _visit(v, tree, stamps, stamped, found, of, count)
        if parents[v] == NONE:
            break
        v = np.uint64(parents[v])
    _hang(a, b, parents)
    return count


@helper
def _look(  # type: ignore[no-untyped-def]
    v, tree, begin, end, neighbours, main, parents, comps, stamps, stamped, groups, found, of, count
):  # fmt: skip
    for k in range(begin, end):
        w = np.uint64(neighbours[k])
        if comps[w] != comps[v] or parents[v] == w or w == v:
            continue
        if parents[w] == v:
            count = _visit(w, tree, stamps, stamped, found, of, count)
            continue
        mine = _top(tree, groups)
        other = _top(_tree_of(w, parents, stamps, stamped), groups)
        if other == mine:
            continue
        # The root that a component had stays one.
        if mine >= main:
            count = _turn(w, v, tree, parents, stamps, stamped, found, of, count)
            groups[other] = mine
        else:
            count = _turn(v, w, tree, parents, stamps, stamped, found, of, count)
            groups[mine] = other
    return count


@kernel
def look(  # type: ignore[no-untyped-def]
    vertices, trees, offsets, neighbours, more_offsets, more_neighbours, main, parents, comps,
    stamps, stamped, groups, found, of, count,
):  # fmt: skip
    """Go over the lists of vertices: write down their children behind the first ``count`` entries
    of ``found``, with the trees they are in, and hang trees under others where an edge leads to
    one. Trees from the number ``main`` on are those of the roots that components had. Returns how
    many were found so far.
    """
    for i in range(len(vertices)):
        v, tree = np.uint64(vertices[i]), np.uint64(trees[i])
        count = _look(
            v, tree, offsets[i], offsets[i + 1], neighbours, main, parents, comps, stamps, stamped,
            groups, found, of, count,
        )  # fmt: skip
        count = _look(
            v, tree, more_offsets[i], more_offsets[i + 1], more_neighbours, main, parents, comps,
            stamps, stamped, groups, found, of, count,
        )  # fmt: skip
    return count


@kernel
def flatten(groups, tops):  # type: ignore[no-untyped-def]
    """The tree that each hangs under in the end."""
    for tree in range(len(groups)):
        tops[tree] = _top(np.uint64(tree), groups)


@kernel
def forget(stamped, stamps):  # type: ignore[no-untyped-def]
    """Take the stamps away."""
    for i in range(np.int64(stamped[0])):
        stamps[np.uint64(stamped[i + 1])] = 0
