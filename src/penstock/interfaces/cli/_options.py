"""Options that several commands have: one by one, and as the records that commands take."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import partial
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

#: What stands for `--weights` without a name.
USUAL_WEIGHTS = "\0usual"


def in_panel(name: str) -> Callable[..., Any]:
    """Declares options that the help page shows under a heading."""
    return partial(typer.Option, rich_help_panel=name)


of_graph = in_panel("The graph")
of_pages = in_panel("Pages on disk")
of_work = in_panel("The work")

GraphPath = Annotated[Path, typer.Argument(metavar="GRAPH", help="A graph directory.")]
Target = Annotated[Path, typer.Argument(metavar="TARGET", help="The graph directory to make.")]
Memory = Annotated[
    str | None,
    of_work(
        help="Bytes to hold at most, such as 512MB or 2GiB, beyond what Python and the compiled "
        "kernels take. Default: half of what is available.",
    ),
]
Threads = Annotated[int | None, of_work(help="Default: one for each core.")]
PageSize = Annotated[
    str | None,
    of_pages(
        help="Such as 64KiB or 1MiB, a multiple of 4096. Default: 1MiB, less for small graphs."
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace what is there, once the new one is complete."),
]


@dataclass(frozen=True)
class Output:
    """What every command can say about what it shows."""

    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False
    #: Read where errors are shown, in ``main``.
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False


@dataclass(frozen=True)
class Limits:
    """How large the pages of a benchmark are, and what its runs may take."""

    page_size: PageSize = None
    memory: Memory = None
    threads: Threads = None


@dataclass(frozen=True)
class GraphOptions:
    """How a graph is made, whatever its edges come from."""

    duplicates: Annotated[
        DuplicateRule,
        of_graph(
            help="Of several edges between the same two vertices keep all, or one: the first, the "
            "last, the one with the smallest or largest weight, or one with the sum of the "
            "weights.",
        ),
    ] = "last"
    self_loops: Annotated[LoopRule, of_graph(help="Edges from a vertex to itself.")] = "keep"
    order: Annotated[
        VertexOrder,
        of_graph(help="Number vertices by descending degree, or leave them in order of their ids."),
    ] = "degree"
    neighbours: Annotated[NeighbourOrder, of_graph(help="The order of each list.")] = "id"
    directions: Annotated[
        Directions, of_graph(help="Which lists of a directed graph to store.")
    ] = "both"
    layout: Annotated[LayoutName, of_pages(help="How lists are spelled in pages.")] = "banded"
    page_size: PageSize = None
    physical_ids: Annotated[
        str | None,
        of_pages(
            metavar="P,Q",
            help="Slotted layout: bytes of page and slot numbers (2,2 or 3,3 or 2,4 or 4,2).",
        ),
    ] = None
    stripe: Annotated[
        list[Path] | None,
        of_pages(
            metavar="DIR",
            help="A further directory, best on another disk, to deal pages out to. Repeatable.",
        ),
    ] = None
    memory: Memory = None
    threads: Threads = None
    tmpdir: Annotated[
        Path | None, of_work(help="Where temporary files go. Default: beside TARGET.")
    ] = None
    overwrite: Overwrite = False

    def in_python(self) -> dict[str, Any]:
        """The options by the names that :func:`penstock.build` has for them."""
        given = dict(vars(self))
        return {
            "vertex_order": given.pop("order"),
            "neighbour_order": given.pop("neighbours"),
            "physical_ids": number_pair(given.pop("physical_ids"), "physical-ids"),
            "stripes": tuple(given.pop("stripe") or ()),
            **given,
        }


@dataclass(frozen=True)
class WorkOptions:
    """What a run may take, and how it goes about its work."""

    memory: Memory = None
    threads: Threads = None
    streams: Annotated[
        int | None,
        of_work(
            help="Pages on their way at once. Default: twice the threads, or fewer if memory is "
            "short.",
        ),
    ] = None
    devices: Annotated[
        str | None,
        of_work(
            metavar="NAMES",
            help="Where kernels run: cpu, cpu:THREADS, cuda, cuda:NUMBER, each with @MEMORY if it "
            "has a limit, several with commas between; or reference, plain Python, slow. Default: "
            "cpu.",
        ),
    ] = None
    division: Annotated[
        DivisionName | None,
        of_work(
            help="How several devices divide the work: all have all values and each page goes to "
            "one (P), or they divide the values and each page goes to all (S). Over hosts, S: "
            "rows of hosts divide the values. Default: P if values fit.",
        ),
    ] = None
    dispatch: Annotated[
        DispatchName | None,
        of_work(
            help="When the CPU works without the GPUs: if that takes the least time, or by "
            "Garaph's rule. Default: time.",
        ),
    ] = None
    cache: Annotated[
        CachePolicy | None,
        of_work(
            help="Which pages stay in memory if not all can: the first, or all but those that "
            "were unused longest, used last, or used least. Default: keep.",
        ),
    ] = None
    cache_pages: Annotated[
        int | None, of_work(help="Pages that stay at most. Default: as many as memory allows.")
    ] = None
    no_load: Annotated[bool, of_work("--no-load", help="Stream the pages even if all fit.")] = False

    def in_python(self) -> dict[str, Any]:
        """The options by the names that algorithms have for them."""
        given = dict(vars(self))
        return {"load": not given.pop("no_load"), **given}


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
