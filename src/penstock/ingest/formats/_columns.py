"""Which columns of a table are wanted: from names and numbers to positions.

Source and target are the columns that the user asks for, else those with the usual names, else the
first two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.errors import InputError, OptionError
from penstock.ingest.formats._ends import usual_ends
from penstock.protocols import ReadOptions

#: The name of a weight that has no other.
WEIGHT = "weight"


@dataclass(frozen=True, slots=True)
class Columns:
    """Positions (from 0) of the columns to read, and the names of the edge columns."""

    source: int
    target: int
    values: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    #: If there is one, it is the first of the values.
    has_weight: bool = False

    @property
    def weight(self) -> str | None:
        """The name of the weight column."""
        return self.names[0] if self.has_weight else None


def find_column(
    column: str | int, names: Sequence[str] | None, width: int | None, where: str
) -> int:
    """The position of a column, by number or name; a name of digits may also be a number.

    ``names`` is None if the columns have none, ``width`` None if their number may vary.
    """
    if isinstance(column, str):
        found = [i for i, name in enumerate(names or ()) if name == column]
        if len(found) > 1:
            raise InputError(
                f"{where}: {len(found)} columns are called {column!r}; "
                "rename one, or pass a number (counted from 0)"
            )
        if found:
            return found[0]
        if not column.isdecimal():
            if names is None:
                raise OptionError(
                    f"{where}: there is no column called {column!r} because there is no header; "
                    "pass a number (counted from 0)"
                )
            known = ", ".join(map(repr, names))
            raise OptionError(f"{where}: there is no column called {column!r}, only {known}")
    position = int(column)
    if position < 0:
        raise OptionError(f"{where}: column numbers begin with 0, got {position}")
    if width is not None and position >= width:
        raise OptionError(
            f"{where}: there is no column number {position} (counted from 0), only {width} columns"
        )
    return position


def choose_ends(
    options: ReadOptions, names: Sequence[str] | None, width: int | None, where: str
) -> tuple[int, int]:
    """The positions of source and target."""
    if options.source is None and options.target is None and names is not None:
        found = usual_ends(names, where)
        if found is not None:
            return found
    source = 0 if options.source is None else options.source
    target = 1 if options.target is None else options.target
    return find_column(source, names, width, where), find_column(target, names, width, where)


def choose(
    options: ReadOptions, names: Sequence[str] | None, width: int | None, where: str
) -> Columns:
    """Positions for what the options ask for. The usual weight is the column called "weight", or
    the third.
    """
    source, target = choose_ends(options, names, width, where)
    usual = names.index(WEIGHT) if names is not None and WEIGHT in names else 2
    has_weight = options.weights is not None and options.weights is not False
    values = []
    if options.weights is True:
        values.append(find_column(usual, names, width, where))
    elif has_weight:
        assert options.weights is not None
        values.append(find_column(options.weights, names, width, where))
    for attribute in options.attributes:
        position = find_column(attribute, names, width, where)
        if position not in values:
            values.append(position)
    for position in (target, *values):
        if position == source or (position == target and position in values):
            raise OptionError(
                f"{where}: column number {position} (counted from 0) is asked for twice; source, "
                "target, weights and attributes must be different columns"
            )
    called = []
    for i, position in enumerate(values):
        fallback = WEIGHT if i == 0 and options.weights is True else f"column{position}"
        known = names is not None and position < len(names) and names[position] != ""
        called.append(names[position] if names is not None and known else fallback)
    if len(set(called)) < len(called):
        raise InputError(f"{where}: two of the edge columns have the same name: {called}")
    return Columns(source, target, tuple(values), tuple(called), has_weight)


def like_first(
    columns: Columns, first: Sequence[str], names: Sequence[str], where: str, first_where: str
) -> Columns:
    """Where the columns of the first of several files are in another one, by their names."""
    if list(first) == list(names):
        return columns
    places = []
    for position in (columns.source, columns.target, *columns.values):
        name = first[position] if position < len(first) else None
        if name is None or names.count(name) != 1:
            raise InputError(
                f"{where}: has the columns {', '.join(map(repr, names))}, but {first_where} has "
                f"{', '.join(map(repr, first))}; files of one build need the same names for the "
                "columns that are read"
            )
        places.append(names.index(name))
    return replace(columns, source=places[0], target=places[1], values=tuple(places[2:]))


def column_notes(columns: Columns, names: Sequence[str] | None, where: str) -> str:
    """Which columns are read, in words."""

    def called(position: int) -> str:
        known = names is not None and position < len(names)
        return repr(names[position]) if names is not None and known else f"number {position}"

    words = f"{where}: source is column {called(columns.source)}, target {called(columns.target)}"
    if columns.has_weight:
        words += f", weight {called(columns.values[0])}"
    return words


def wants_weight(options: ReadOptions, where: str, *, present: bool, habit: bool = True) -> bool:
    """Whether to read the one weight a format can have."""
    wanted = options.weights
    if wanted is None:
        return present and habit
    if wanted is False:
        return False
    if wanted is not True and wanted != WEIGHT:
        raise OptionError(
            f"{where}: this format has no column {wanted!r}; pass weights=True or False"
        )
    if not present:
        raise OptionError(f"{where}: there are no weights in it; leave weights= out")
    return True


def refuse_columns(options: ReadOptions, where: str, *, strings: bool = False) -> None:
    """Raise an OptionError for options that a format without a choice of columns has no use for."""
    if options.attributes:
        raise OptionError(f"{where}: this format has no attributes, got {options.attributes!r}")
    if (options.source, options.target) not in ((None, None), (0, 1)):
        raise OptionError(f"{where}: source= and target= do not apply to this format")
    if options.ids == "string" and not strings:
        raise OptionError(f"{where}: vertices are numbered in this format; ids='string' cannot be")
