"""Which lists of a graph that changes come together: those of a base's pages, and others."""

from __future__ import annotations

import numpy as np

from penstock.dynamic.base_pages import list_groups
from penstock.store.grouping import Grouping, group_lists
from penstock.store.paged import PagedGraph
from penstock.types import I64, U32, Direction


def survey(
    degrees: U32, base: PagedGraph | None, direction: Direction
) -> tuple[Grouping, tuple[I64, I64]]:
    """Groups of consecutive vertices; those of the base's vertices begin where whole lists begin in
    its pages. And for each group of these, where the base's pages of it begin and end.
    """
    none: I64 = np.empty(0, np.int64)
    if base is None or base.num_vertices == 0:
        return group_lists(degrees), (none, none)
    table = base.page_table(direction)
    begins, ends = list_groups(table)
    firsts = np.append(table["first_vid"][begins].astype(np.int64), base.num_vertices)
    return group_lists(degrees, firsts), (begins, ends)
