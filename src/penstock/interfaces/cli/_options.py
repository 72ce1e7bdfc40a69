"""Options that several commands have, spelled once."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from penstock.errors import OptionError

# These repeat the types of the layers below, which are too slow to import for `--help`; a test
# compares them.
DuplicateRule = Literal["keep", "first", "last", "min", "max", "sum"]
LoopRule = Literal["keep", "drop"]
VertexOrder = Literal["degree", "none"]
NeighbourOrder = Literal["id", "degree", "input"]
Directions = Literal["both", "out", "in"]
LayoutName = Literal["banded", "slotted"]
IdKind = Literal["int", "string"]
OnBadLine = Literal["error", "skip"]
GeneratorName = Literal["rmat", "uniform"]
CachePolicy = Literal["keep", "lru", "mru", "lfu"]
DivisionName = Literal["auto", "P", "S"]
DispatchName = Literal["time", "alpha"]

_INPUT = "Reading the input"
_GRAPH = "The graph"
_PAGES = "Pages on disk"
_WORK = "The work"
_RESUMING = "Stopping and going on"
_RESULT = "The result"
#: What stands for `--weights` without a name.
USUAL_WEIGHTS = "\0usual"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error came from.")]
GraphPath = Annotated[Path, typer.Argument(metavar="GRAPH", help="A graph directory.")]
Target = Annotated[Path, typer.Argument(metavar="TARGET", help="The graph directory to make.")]

Sources = Annotated[
    list[str], typer.Argument(metavar="SOURCE...", help="Files, or patterns in quotes.")
]
Undirected = Annotated[
    bool | None,
    typer.Option(
        "--undirected/--directed",
        help="Whether edges go both ways. Default: what the input says, else directed.",
        rich_help_panel=_GRAPH,
    ),
]
NumVertices = Annotated[
    int | None,
    typer.Option(
        help="Vertices are 0 to this less one, with or without edges.", rich_help_panel=_GRAPH
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="[COLUMN]",
        help="Keep weights: from the input's usual column ('weight', else the third), or from "
        "the column of that name or number.",
        rich_help_panel=_INPUT,
    ),
]
NoWeights = Annotated[
    bool,
    typer.Option("--no-weights", help="Leave out weights that are there.", rich_help_panel=_INPUT),
]
Attribute = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A further column to keep with the edges. Repeatable.",
        rich_help_panel=_INPUT,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="SRC,DST",
        help="Columns of source and target, by number from 0 or by name. Default: those with "
        "names such as source and target, else the first two.",
        rich_help_panel=_INPUT,
    ),
]
Ids = Annotated[
    IdKind | None, typer.Option(help="What ids are. Default: found out.", rich_help_panel=_INPUT)
]
Format = Annotated[
    str | None,
    typer.Option(help="Which format. Default: by the name of the file.", rich_help_panel=_INPUT),
]
Separator = Annotated[
    str,
    typer.Option(
        help="Between the columns of text: a character, tab, space (any white space) or auto.",
        rich_help_panel=_INPUT,
    ),
]
Comment = Annotated[
    str,
    typer.Option(help="A line that begins with one of these is a comment.", rich_help_panel=_INPUT),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns. Default: found out.",
        rich_help_panel=_INPUT,
    ),
]
SkipLines = Annotated[
    int,
    typer.Option(help="Lines to pass over at the start of each file.", rich_help_panel=_INPUT),
]
BadLine = Annotated[
    OnBadLine,
    typer.Option(
        help="Stop at a line or row that cannot be read, or skip it.", rich_help_panel=_INPUT
    ),
]
MaxBadLines = Annotated[
    str | None,
    typer.Option(
        metavar="N|P%",
        help="With --on-bad-line skip: give up if more are bad. Default: 10 or 1%, whichever is "
        "more, but no more than half.",
        rich_help_panel=_INPUT,
    ),
]

Memory = Annotated[
    str | None,
    typer.Option(
        help="Bytes to hold at most, such as 512MB or 2GiB, beyond what Python and the compiled "
        "kernels take. Default: half of what is available.",
        rich_help_panel=_WORK,
    ),
]
Threads = Annotated[
    int | None, typer.Option(help="Default: one for each core.", rich_help_panel=_WORK)
]
Tmpdir = Annotated[
    Path | None,
    typer.Option(help="Where temporary files go. Default: beside TARGET.", rich_help_panel=_WORK),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace what is there, once the new one is complete."),
]
OverwriteOutputs = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace files that are there; and start again where a run that did not finish has "
        "left a checkpoint, unless --resume goes on from it.",
    ),
]
Duplicates = Annotated[
    DuplicateRule,
    typer.Option(
        help="Of several edges between the same two vertices keep all, or one: the first, the "
        "last, the one with the smallest or largest weight, or one with the sum of the weights.",
        rich_help_panel=_GRAPH,
    ),
]
SelfLoops = Annotated[
    LoopRule, typer.Option(help="Edges from a vertex to itself.", rich_help_panel=_GRAPH)
]
Order = Annotated[
    VertexOrder,
    typer.Option(
        help="Number vertices by descending degree, or leave them in order of their ids.",
        rich_help_panel=_GRAPH,
    ),
]
Neighbours = Annotated[
    NeighbourOrder, typer.Option(help="The order of each list.", rich_help_panel=_GRAPH)
]
DirectionsToStore = Annotated[
    Directions,
    typer.Option(help="Which lists of a directed graph to store.", rich_help_panel=_GRAPH),
]
Layout = Annotated[
    LayoutName, typer.Option(help="How lists are spelled in pages.", rich_help_panel=_PAGES)
]
PageSize = Annotated[
    str | None,
    typer.Option(
        help="Such as 64KiB or 1MiB, a multiple of 4096. Default: 1MiB, less for small graphs.",
        rich_help_panel=_PAGES,
    ),
]
PhysicalIds = Annotated[
    str | None,
    typer.Option(
        metavar="P,Q",
        help="Slotted layout: bytes of page and slot numbers (2,2 or 3,3 or 2,4 or 4,2).",
        rich_help_panel=_PAGES,
    ),
]
Stripe = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        help="A further directory, best on another disk, to deal pages out to. Repeatable.",
        rich_help_panel=_PAGES,
    ),
]

Streams = Annotated[
    int | None,
    typer.Option(
        help="Pages on their way at once. Default: twice the threads, or fewer if memory is short.",
        rich_help_panel=_WORK,
    ),
]
Devices = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Where kernels run: cpu, cpu:THREADS, cuda, cuda:NUMBER, each with @MEMORY if it has "
        "a limit, several with commas between; or reference, plain Python, slow. Default: cpu.",
        rich_help_panel=_WORK,
    ),
]
Division = Annotated[
    DivisionName | None,
    typer.Option(
        help="How several devices divide the work: all have all values and each page goes to one "
        "(P), or they divide the values and each page goes to all (S). Default: P if values fit.",
        rich_help_panel=_WORK,
    ),
]
Dispatch = Annotated[
    DispatchName | None,
    typer.Option(
        help="When the CPU works without the GPUs: if that takes the least time, or by Garaph's "
        "rule. Default: time.",
        rich_help_panel=_WORK,
    ),
]
Cache = Annotated[
    CachePolicy | None,
    typer.Option(
        help="Which pages stay in memory if not all can: the first, or all but those that were "
        "unused longest, used last, or used least. Default: keep.",
        rich_help_panel=_WORK,
    ),
]
CachePages = Annotated[
    int | None,
    typer.Option(
        help="Pages that stay at most. Default: as many as memory allows.", rich_help_panel=_WORK
    ),
]
NoLoad = Annotated[
    bool,
    typer.Option("--no-load", help="Stream the pages even if all fit.", rich_help_panel=_WORK),
]
RunTmpdir = Annotated[
    Path | None,
    typer.Option(
        help="Where values go that do not fit memory. Default: beside the graph.",
        rich_help_panel=_WORK,
    ),
]
CheckpointFolder = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Save the state here now and then, and when interrupted. Default, if one of the next "
        "two is given: .GRAPH.ALGO.checkpoint beside the graph.",
        rich_help_panel=_RESUMING,
    ),
]
CheckpointEvery = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN",
        help="Iterations (10) or time (30s, 5min, 1h) between checkpoints. Default: 1min.",
        rich_help_panel=_RESUMING,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on from the checkpoint, if there is one.",
        rich_help_panel=_RESUMING,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write all values to a file that ends in .parquet or .csv.",
        rich_help_panel=_RESULT,
    ),
]
EdgesOut = Annotated[
    Path | None,
    typer.Option(
        "--edges",
        metavar="FILE",
        help="Write the edges that were found, if the algorithm finds some, to such a file.",
        rich_help_panel=_RESULT,
    ),
]
Top = Annotated[
    int, typer.Option(help="How many vertices to show.", min=0, rich_help_panel=_RESULT)
]
Iterations = Annotated[
    bool,
    typer.Option("--iterations", help="Show each iteration.", rich_help_panel=_RESULT),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Check the result by another method, in memory.", rich_help_panel=_RESULT
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the timeline of reads, copies and kernels, for Chrome's trace viewer; if the "
        "name ends in .png, .svg or .pdf, draw it too.",
        rich_help_panel=_RESULT,
    ),
]


def pair(text: str | None, name: str) -> tuple[str, str] | None:
    """Two values with a comma between them."""
    if text is None:
        return None
    parts = tuple(part.strip() for part in text.split(","))
    if len(parts) != 2 or not all(parts):
        raise OptionError(f"{name}: expected two values with a comma between them, got {text!r}")
    return parts[0], parts[1]


def number_pair(text: str | None, name: str) -> tuple[int, int] | None:
    """Two numbers with a comma between them."""
    found = pair(text, name)
    if found is None:
        return None
    try:
        return int(found[0]), int(found[1])
    except ValueError:
        raise OptionError(f"{name}: expected two numbers such as 2,2; got {text!r}") from None


def graph_options(given: dict[str, Any]) -> dict[str, Any]:
    """From the command line's names to Python's, for what ``build`` and ``generate`` both take."""
    return {
        "duplicates": given["duplicates"],
        "self_loops": given["self_loops"],
        "vertex_order": given["order"],
        "neighbour_order": given["neighbours"],
        "directions": given["directions"],
        "layout": given["layout"],
        "page_size": given["page_size"],
        "physical_ids": number_pair(given["physical_ids"], "physical-ids"),
        "stripes": tuple(given["stripe"] or ()),
        "memory": given["memory"],
        "threads": given["threads"],
        "tmpdir": given["tmpdir"],
        "overwrite": given["overwrite"],
    }


def flags_of(command: Any) -> set[str]:
    """The options of a command that take no value."""
    flags = [option for option in command.params if getattr(option, "is_flag", False)]
    names = {name for option in flags for name in (*option.opts, *option.secondary_opts)}
    return names | {"--help", "-h"}


def words(args: list[str], flags: Set[str]) -> list[str]:
    """The arguments that are neither options nor values of options.

    >>> words(["--json", "--top", "3", "bfs", "g"], {"--json"})
    ['bfs', 'g']
    """
    found = []
    value_follows = False
    for arg in args:
        if value_follows:
            value_follows = False
        elif arg.startswith("-"):
            value_follows = "=" not in arg and arg not in flags
        else:
            found.append(arg)
    return found
