"""``penstock build``: files into a graph directory."""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from penstock.interfaces.cli import _options as o

_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": None, "whitespace": None, " ": None}


of_input = o.in_panel("Reading the input")


@dataclass(frozen=True)
class InputOptions:
    """What the files hold and how they are read."""

    undirected: Annotated[
        bool | None,
        o.of_graph(
            "--undirected/--directed",
            help="Whether edges go both ways. Default: what the input says, else directed.",
        ),
    ] = None
    weights: Annotated[
        str | None,
        of_input(
            metavar="[COLUMN]",
            help="Keep weights: from the input's usual column ('weight', else the third), or from "
            "the column of that name or number.",
        ),
    ] = None
    no_weights: Annotated[
        bool, of_input("--no-weights", help="Leave out weights that are there.")
    ] = False
    attribute: Annotated[
        list[str] | None,
        of_input(metavar="COLUMN", help="A further column to keep with the edges. Repeatable."),
    ] = None
    columns: Annotated[
        str | None,
        of_input(
            metavar="SRC,DST",
            help="Columns of source and target, by number from 0 or by name. Default: those with "
            "names such as source and target, else the first two.",
        ),
    ] = None
    ids: Annotated[o.IdKind | None, of_input(help="What ids are. Default: found out.")] = None
    format: Annotated[
        str | None, of_input(help="Which format. Default: by the name of the file.")
    ] = None
    separator: Annotated[
        str,
        of_input(
            help="Between the columns of text: a character, tab, space (any white space) or auto."
        ),
    ] = "auto"
    comment: Annotated[str, of_input(help="A line that begins with one of these is a comment.")] = (
        "#%"
    )
    header: Annotated[
        bool | None,
        of_input(
            "--header/--no-header",
            help="Whether the first line names the columns. Default: found out.",
        ),
    ] = None
    skip_lines: Annotated[int, of_input(help="Lines to pass over at the start of each file.")] = 0
    on_bad_line: Annotated[
        o.OnBadLine, of_input(help="Stop at a line or row that cannot be read, or skip it.")
    ] = "error"
    max_bad_lines: Annotated[
        str | None,
        of_input(
            metavar="N|P%",
            help="With --on-bad-line skip: give up if more are bad. Default: 10 or 1%, whichever "
            "is more, but no more than half.",
        ),
    ] = None
    num_vertices: Annotated[
        int | None, o.of_graph(help="Vertices are 0 to this less one, with or without edges.")
    ] = None

    def in_python(self) -> dict[str, Any]:
        """The options by the names that :func:`penstock.build` has for them."""
        given = dict(vars(self))
        no_weights, weights = given.pop("no_weights"), given.pop("weights")
        undirected, separator = given.pop("undirected"), given.pop("separator")
        return {
            "directed": None if undirected is None else not undirected,
            "weights": False if no_weights else True if weights == o.USUAL_WEIGHTS else weights,
            "attributes": tuple(given.pop("attribute") or ()),
            "columns": o.pair(given.pop("columns"), "columns"),
            "separator": _SEPARATORS.get(separator, separator),
            **given,
        }


class BuildCommand(TyperCommand):
    """Understands ``--weights`` with and without a name after it."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Decide what follows ``--weights``, then read the line as usual."""
        return super().parse_args(ctx, spell_weights(args, o.flags_of(self)))


COMMAND_CLASS = BuildCommand


def spell_weights(args: list[str], flags: Set[str]) -> list[str]:
    """Write ``--weights=`` with what is meant, so that nothing is left to guess.

    The word after ``--weights`` is a column unless it is needed as an input or the target: that is
    if it is an option or a file, ends in .penstock, or leaves fewer than two other words. ``flags``
    are the options that take no value.

    >>> spell_weights(["a.txt", "g.penstock", "--weights", "cost"], set())
    ['a.txt', 'g.penstock', '--weights=cost']
    >>> spell_weights(["--weights", "a.txt", "g.penstock"], set())
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
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="Files, or patterns in quotes.")
    ],
    target: o.Target,
    reading: InputOptions,
    graph: o.GraphOptions,
    output: o.Output,
) -> None:
    """Build a graph from files of any size, in bounded memory."""
    options = {**reading.in_python(), **graph.in_python()}
    from penstock.interfaces.cli._building import building

    with building(as_json=output.json) as (result, progress):
        from penstock.interfaces.api import build

        source: Any = sources[0] if len(sources) == 1 else sources
        result.graph = build(source, target, progress=progress, **options)
