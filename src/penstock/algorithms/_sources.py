"""The vertices that traversals begin at."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from penstock.engine.algorithm import Task
from penstock.errors import OptionError
from penstock.types import U32

#: So many sources are spelled out where a checkpoint says what it is of.
SPELLED = 16


def sources_of(task: Task, source: Any) -> U32:
    """The vertex numbers of what a user gives as sources: one vertex or several."""
    found = task.vids(source, "source")
    if len(found) == 0:
        raise OptionError("source: expected a vertex or several, got none")
    return found


def source_identity(sources: U32) -> dict[str, Any]:
    """The sources, as a checkpoint knows them."""
    if len(sources) <= SPELLED:
        return {"sources": sources.tolist()}
    return {"sources": f"{len(sources)} ({hashlib.sha256(sources.tobytes()).hexdigest()[:16]})"}


def check_count(value: Any, name: str) -> None:
    """Raise unless it is a whole number of 0 or more."""
    if not isinstance(value, int | np.integer) or value < 0:
        raise OptionError(f"{name}: expected a whole number of 0 or more, got {value!r}")
