"""``penstock build``: files into a graph directory."""

from __future__ import annotations

import os
from collections.abc import Set
from typing import Any

from typer.core import TyperCommand

from penstock.interfaces.cli import _options as o

_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": None, "whitespace": None, " ": None}


class BuildCommand(TyperCommand):
    """Understands ``--weights`` with and without a name after it."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Settle what follows ``--weights``, then read the line as usual."""
        return super().parse_args(ctx, settle_weights(args, o.flags_of(self)))


COMMAND_CLASS = BuildCommand


def settle_weights(args: list[str], flags: Set[str]) -> list[str]:
    """Write ``--weights=`` with what is meant, so that nothing is left to guess.

    The word after ``--weights`` is a column unless it is needed as an input or the target: that is
    if it is an option or a file, ends in .penstock, or leaves fewer than two other words. ``flags``
    are the options that take no value.

    >>> settle_weights(["a.txt", "g.penstock", "--weights", "cost"], set())
    ['a.txt', 'g.penstock', '--weights=cost']
    >>> settle_weights(["--weights", "a.txt", "g.penstock"], set())
    ['--weights=\\x00usual', 'a.txt', 'g.penstock']
    """
    if "--weights" not in args:
        return args
    at = args.index("--weights")
    word = args[at + 1] if at + 1 < len(args) else "--"
    others = o.words(args[:at] + args[at + 2 :], flags)
    taken = word.startswith("-") or word.endswith(".penstock") or len(others) < 2
    if taken or os.path.isfile(word):
        return [*args[:at], f"--weights={o.USUAL_WEIGHTS}", *args[at + 1 :]]
    return [*args[:at], f"--weights={word}", *args[at + 2 :]]


def command(
    sources: o.Sources,
    target: o.Target,
    undirected: o.Undirected = None,
    weights: o.Weights = None,
    no_weights: o.NoWeights = False,
    attribute: o.Attribute = None,
    columns: o.Columns = None,
    ids: o.Ids = None,
    format: o.Format = None,
    separator: o.Separator = "auto",
    comment: o.Comment = "#%",
    header: o.Header = None,
    skip_lines: o.SkipLines = 0,
    on_bad_line: o.BadLine = "error",
    max_bad_lines: o.MaxBadLines = None,
    num_vertices: o.NumVertices = None,
    duplicates: o.Duplicates = "last",
    self_loops: o.SelfLoops = "keep",
    order: o.Order = "degree",
    neighbours: o.Neighbours = "id",
    directions: o.DirectionsToStore = "both",
    layout: o.Layout = "banded",
    page_size: o.PageSize = None,
    physical_ids: o.PhysicalIds = None,
    stripe: o.Stripe = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    tmpdir: o.Tmpdir = None,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
    debug: o.Debug = False,
) -> None:
    """Build a graph from files of any size, in bounded memory."""
    options = build_options(locals())
    from penstock.interfaces.cli._building import building

    with building(as_json=json) as (result, progress):
        from penstock.interfaces.api import build

        source: Any = sources[0] if len(sources) == 1 else sources
        result.graph = build(source, target, progress=progress, **options)


def build_options(given: dict[str, Any]) -> dict[str, Any]:
    """From the command line's options to those of :func:`penstock.build`."""
    weights: bool | str | None = given["weights"]
    if given["no_weights"]:
        weights = False
    elif weights == o.USUAL_WEIGHTS:
        weights = True
    undirected, separator = given["undirected"], given["separator"]
    same = (
        *("ids", "format", "comment", "header", "skip_lines", "num_vertices"),
        *("on_bad_line", "max_bad_lines"),
    )
    return {
        "directed": None if undirected is None else not undirected,
        "weights": weights,
        "attributes": tuple(given["attribute"] or ()),
        "columns": o.pair(given["columns"], "columns"),
        "separator": _SEPARATORS.get(separator, separator),
        **{name: given[name] for name in same},
        **o.graph_options(given),
    }
