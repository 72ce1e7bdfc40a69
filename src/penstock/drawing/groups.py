"""Results that put vertices into groups, and how large the groups are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from penstock.types import Array

#: What one group is called, and several, by the name of the values.
GROUPS = {
    "component": ("component", "components"),
    "tree": ("tree", "trees"),
    "label": ("community", "communities"),
    "cluster": ("cluster", "clusters"),
}
#: The roles of SCAN up to this one belong to clusters.
_BORDER = 1


class Drawable(Protocol):
    """What pictures need to know of a result. Further columns are attributes."""

    @property
    def name(self) -> str:
        """What the values are called."""

    @property
    def ids(self) -> Array:
        """What each row is about."""

    @property
    def values(self) -> Array:
        """A value for each row."""

    @property
    def stats(self) -> Mapping[str, Any]:
        """Facts about the run."""

    @property
    def iterations(self) -> Sequence[dict[str, Any]]:
        """A row for each iteration."""

    def __len__(self) -> int: ...

    def __getattr__(self, name: str) -> Any: ...


def group_sizes(result: Drawable) -> tuple[Array, Array]:
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
