"""Edge attributes that come as Python objects, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.errors import InputError, OptionError
from penstock.ingest.formats._columns import WEIGHT, refuse_columns, wants_weight
from penstock.protocols import ReadOptions
from penstock.types import Array


def choose_attributes(
    options: ReadOptions, where: str, *, has: Callable[[str], bool], num_edges: int
) -> tuple[str | None, list[str]]:
    """The attribute that is the weight, and all that are asked for, the weight first. The weight
    is "weight", if edges have it, unless the options say otherwise.
    """
    refuse_columns(replace(options, attributes=()), where, strings=True)
    weight: Any = options.weights
    if weight is None or isinstance(weight, bool):
        present = has(WEIGHT) or (weight is True and num_edges == 0)
        weight = WEIGHT if wants_weight(options, where, present=present) else None
    names: list[str] = [] if weight is None else [weight]
    names += [name for name in options.attributes if name not in names]  # type: ignore[misc]
    for name in names:
        if not isinstance(name, str):
            raise OptionError(f"{where}: edge attributes have names, not numbers; got {name!r}")
        if num_edges and not has(name):
            raise OptionError(f"{where}: no edge has an attribute called {name!r}")
    return weight, names


def number_type(values: Iterable[Any], what: str) -> np.dtype[Any]:
    """The type for an attribute: int64 if all values are integers, else float64."""
    found: np.dtype[Any] = np.dtype(np.int64)
    for kind in set(map(type, values)):
        if issubclass(kind, float | np.floating):
            found = np.dtype(np.float64)
        elif kind is type(None):
            raise InputError(
                f"{what}: some edges have no value; give them one, or leave the attribute out"
            )
        elif not issubclass(kind, int | np.integer | np.bool_):
            raise InputError(
                f"{what}: edge columns must hold numbers, got a {kind.__name__}; convert it first"
            )
    return found


def number_array(values: Iterable[Any], count: int, dtype: np.dtype[Any], what: str) -> Array:
    """The values of an attribute."""
    try:
        return np.fromiter(values, dtype, count)
    except OverflowError as error:
        raise InputError(f"{what}: a value does not fit {dtype}: {error}") from None
