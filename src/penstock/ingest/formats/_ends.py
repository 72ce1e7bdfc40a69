"""The names by which columns are known as source and target."""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.errors import OptionError

_PAIRS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("origin", "destination"),
    ("u", "v"),
)
_SOURCES = ("source", "src", "from", "origin")
_TARGETS = ("target", "dst", "dest", "destination", "to")
#: Times are called so as well: these count only as the first two columns.
_FIRST_TWO = ["start", "end"]
_ENDING = re.compile(r"([ _-]?(id|node|vertex))+$")


def _bare(name: str) -> str:
    """A name without what may follow: an id, a node or a vertex.

    >>> _bare("Source_Node_ID"), _bare("uid")
    ('source', 'uid')
    """
    word = name.strip().lstrip(":").lower()
    short = _ENDING.sub("", word)
    return short if len(short) > 1 else word


def _pairs(bare: list[str]) -> list[tuple[int, int]]:
    pairs = [
        (bare.index(source), bare.index(target))
        for source, target in _PAIRS
        if bare.count(source) == 1 == bare.count(target)
    ]
    sources = [i for i, name in enumerate(bare) if name in _SOURCES]
    targets = [i for i, name in enumerate(bare) if name in _TARGETS]
    if not pairs and len(sources) == 1 == len(targets):
        pairs = [(sources[0], targets[0])]
    return pairs


def usual_ends(names: Sequence[str], where: str) -> tuple[int, int] | None:
    """The positions of the columns that are called like source and target, if there are such.

    >>> usual_ends(["id", "From", "to_id", "date"], "edges.csv")
    (1, 2)
    """
    pairs = _pairs([*map(_bare, names)])
    for pair in pairs:
        if set(pair) == {0, 1}:
            return pair
    if len(pairs) > 1:
        found = " or ".join(f"{names[source]!r} and {names[target]!r}" for source, target in pairs)
        raise OptionError(
            f"{where}: source and target may be the columns {found}; pass columns= (--columns)"
        )
    return pairs[0] if pairs else None


def names_ends(names: Sequence[str]) -> bool:
    """Whether a line of text can only be a header, because it has names of source and target.

    ``u v`` may be an edge as well.
    """
    bare = [*map(_bare, names)]
    return bare[:2] == _FIRST_TWO or any(bare[source] != "u" for source, _ in _pairs(bare))
