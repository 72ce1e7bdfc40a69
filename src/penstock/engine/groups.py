"""Results that put vertices into groups, and how large the groups are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    if result.name == "cluster" and hasattr(result, "role"):
        labels = labels[result.role <= _BORDER]
    is_object = labels.dtype == object  # strings, or numbers beyond int64
    if is_object:
        there = labels[labels != np.array(None)]
        strings = any(isinstance(each, str) for each in there[:1])
        labels = there.astype("T" if strings else np.uint64)
    elif labels.dtype.kind == "f":
        labels = labels[~np.isnan(labels)]  # those are missing
    found, sizes = np.unique(labels, return_counts=True)
    return found.astype(object) if is_object else found, sizes
