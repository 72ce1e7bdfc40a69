"""Lists in the order of the vertices, and lists that come in parts put together.

Vertices, in their order, come in blocks; a list that is longer than a block comes in several.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.engine.engine import Engine, Kernel
from penstock.engine.sharing import one_at_a_time
from penstock.stream.lists import Piece
from penstock.types import Array, Direction


def scan_in_order(
    engine: Engine, kernel: Kernel, *args: Any, direction: Direction = "out", first: int = 0
) -> None:
    """``kernel(block, begin, end, *args)`` for every block from that of a vertex on, one at a time,
    in the order of the vertices; of a list in parts, in the order of these. The next blocks are
    read meanwhile.
    """
    lists = engine.lists(direction)
    table = lists.table

    def work(stream: int, piece: Piece) -> None:
        begin = max(piece.begin, first)
        if begin < piece.end:
            engine.timed_call(stream, piece, kernel, piece.block, begin, piece.end, *args)

    ends = table["first_vid"].astype(np.int64) + table["num_vertices"]
    page = int(np.searchsorted(ends, first, side="right"))
    lists.scan(work, ordered=True, pages=range(page, len(table)) if page else None)


def scan_joined(
    engine: Engine,
    kernel: Callable[[Any, int, int], None],
    part: Callable[[Any, int], Any],
    join: Callable[[int, Any], None],
    finish: Callable[[int], None] | None = None,
    *,
    direction: Direction = "out",
) -> None:
    """``kernel(block, begin, end)`` for every block; but ``part(block, vertex)`` for a part of a
    list, and what it returns goes to ``join(vertex, found)``, one call at a time.

    ``finish(vertex)`` is called when all parts of a list are joined; with it, no more of these
    lists are under way at once than there are scratches (:func:`~penstock.engine.sharing
    .scratch_copies`).
    """
    lists = engine.lists(direction)
    joined = one_at_a_time(join)
    most = len(lists.table) if finish is None else engine.workers.count
    for pages, vertices in batches(lists.table, max(most, 1)):
        in_parts = set(vertices)

        def work(stream: int, piece: Piece, in_parts: set[int] = in_parts) -> None:
            if piece.begin in in_parts:
                found = engine.timed_call(stream, piece, part, piece.block, piece.begin)
                joined(piece.begin, found)
            else:
                given = (piece.block, piece.begin, piece.end)
                engine.timed_call(stream, piece, kernel, *given)

        lists.scan(work, pages=pages if len(pages) < len(lists.table) else None)
        if finish is not None:
            for vertex in vertices:
                finish(vertex)


def batches(table: Array, most: int) -> list[tuple[range, list[int]]]:
    """All pages in ranges that have at most ``most`` vertices with several pages, and all pages
    of these; with the vertices.
    """
    second = np.flatnonzero(table["run"] == 1)
    vids = table["first_vid"][second].tolist()
    cuts = [0, *(second[most::most] - 1).tolist(), len(table)]
    return [
        (range(a, b), vids[k * most : (k + 1) * most]) for k, (a, b) in enumerate(pairwise(cuts))
    ]


def best_end(engine: Engine, first: int, last: int) -> int:
    """Where a range of vertices that begins with ``first`` and has room for those before ``last``
    best ends, so that the next range reads nothing again.
    """
    if engine.is_resident() or last >= engine.num_vertices:
        return last
    begins = engine.graph.page_table(engine.graph.directions[0])["first_vid"]
    page = int(begins[np.searchsorted(begins, last, side="right") - 1])
    return page if page > first else last
