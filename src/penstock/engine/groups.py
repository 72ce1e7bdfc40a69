"""Results that put vertices into groups, and how large the groups are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.arrays import distinct
from penstock.engine.result_columns import parts
from penstock.types import Array

if TYPE_CHECKING:
    from penstock.engine.result import Result

#: What one group is called, and several, by the name of the values.
GROUPS = {
    "component": ("component", "components"),
    "tree": ("tree", "trees"),
    "label": ("community", "communities"),
    "cluster": ("cluster", "clusters"),
}
#: The roles of SCAN up to this one belong to clusters.
_BORDER = 1


def group_sizes(result: Result) -> tuple[Array, Array]:
    """The label of each group, ascending, and how many vertices it has."""
    labels = result.values
    if result.name == "cluster":
        labels = labels[result.role <= _BORDER]
    if labels.dtype == object:  # strings, or numbers beyond int64
        strings = any(isinstance(each, str) for each in labels[:1])
        names, inverse = np.unique(
            labels.astype("T" if strings else np.uint64), return_inverse=True
        )
        return names.astype(object), np.bincount(inverse, minlength=len(names))
    # Components and trees are named after one of their own vertices, and ids are in order; the
    # vertex that a community is named after may have left it.
    by_member = result.name in ("component", "tree")
    found = distinct(labels[labels == result.ids] if by_member else labels)
    sizes: Array = np.zeros(len(found), np.int64)
    for begin, end in parts(len(labels)):
        sizes += np.bincount(np.searchsorted(found, labels[begin:end]), minlength=len(found))
    return found, sizes
