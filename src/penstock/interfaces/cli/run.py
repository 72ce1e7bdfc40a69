"""``penstock run``: an algorithm on a graph of any size, in the memory it is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from penstock.errors import AccessError, OptionError
from penstock.interfaces.cli import _options as o
from penstock.interfaces.cli._algorithm_options import own_options, own_values, summary
from penstock.interfaces.cli._failures import StoppedError
from penstock.interfaces.cli._hosts import HostOptions

if TYPE_CHECKING:
    from penstock.distributed.hosts import Hosts
    from penstock.engine.result import Result

_WRITERS = {".parquet": "to_parquet", ".csv": "to_csv"}


class RunCommand(TyperCommand):
    """Takes the options of the algorithm that is named, besides those of every run."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Find the algorithm, add its options, then read the line as usual."""
        name = next(iter(o.words(args, o.flags_of(self))), None)
        self.own: list[Any] = []
        if name is not None:
            from penstock.algorithms import find

            algorithm = find(name)
            self.own = own_options(algorithm)
            self.help = summary(algorithm)
        elif not set(args).isdisjoint(("--help", "-h")):
            self.help = f"{self.help}\n\n\b\n{algorithms_text()}"
        self.params = [*self.own, *self.params]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Hand the algorithm's options over as one object."""
        ctx.obj = {option.name: ctx.params.pop(option.name) for option in self.own}
        return super().invoke(ctx)


COMMAND_CLASS = RunCommand


def algorithms_text() -> str:
    """The algorithms, a line each."""
    from penstock.algorithms import find, names

    width = max(map(len, names()))
    first = "ALGO is one of these; `penstock run ALGO --help` shows its options."
    lines = [f"{name.ljust(width)}  {summary(find(name))}" for name in names()]
    return "\n".join([first, *lines])


of_result = o.in_panel("The result")
of_resuming = o.in_panel("Stopping and going on")


@dataclass(frozen=True)
class ResultOptions:
    """What is made of the result."""

    out: Annotated[
        Path | None,
        of_result(
            metavar="FILE",
            help="Write all values to a file that ends in .parquet or .csv. With --hosts also a "
            "folder (a name without a suffix), in which each rank writes a Parquet file.",
        ),
    ] = None
    edges: Annotated[
        Path | None,
        of_result(
            "--edges",
            metavar="FILE",
            help="Write the edges that were found, if the algorithm finds some, to such a file.",
        ),
    ] = None
    top: Annotated[int, of_result(help="How many vertices to show.", min=0)] = 10
    iterations: Annotated[bool, of_result("--iterations", help="Show each iteration.")] = False
    verify: Annotated[
        bool, of_result("--verify", help="Check the result by another method, in memory.")
    ] = False
    trace: Annotated[
        Path | None,
        of_result(
            metavar="FILE",
            help="Write the timeline of reads, copies and kernels, for Chrome's trace viewer; if "
            "the name ends in .png, .svg or .pdf, draw it too.",
        ),
    ] = None


@dataclass(frozen=True)
class FileOptions:
    """What a run keeps in files on its way, and what it may replace."""

    tmpdir: Annotated[
        Path | None,
        o.of_work(help="Where values go that do not fit memory. Default: beside the graph."),
    ] = None
    checkpoint: Annotated[
        Path | None,
        of_resuming(
            "--checkpoint",
            metavar="DIR",
            help="Save the state here now and then, and when interrupted. Default, if one of the "
            "next two is given: .GRAPH.ALGO.checkpoint beside the graph.",
        ),
    ] = None
    checkpoint_every: Annotated[
        str | None,
        of_resuming(
            metavar="WHEN",
            help="Iterations (10) or time (30s, 5min, 1h) between checkpoints. Default: 1min; over "
            "hosts 30s.",
        ),
    ] = None
    resume: Annotated[
        bool, of_resuming("--resume", help="Go on from the checkpoint, if there is one.")
    ] = False
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace files that are there; and start again where a run that did not finish "
            "has left a checkpoint, unless --resume goes on from it.",
        ),
    ] = False

    def in_python(self, graph: Path, algorithm: str) -> dict[str, Any]:
        """The options by the names that algorithms have for them."""
        given = dict(vars(self))
        if self.checkpoint is None and (self.resume or self.checkpoint_every):
            given["checkpoint"] = default_checkpoint(graph, algorithm)
        return given


def command(
    context: typer.Context,
    algorithm: Annotated[str, typer.Argument(metavar="ALGO", help="The algorithm.")],
    graph: o.GraphPath,
    wanted: ResultOptions,
    work: o.WorkOptions,
    files: FileOptions,
    hosts: HostOptions,
    output: o.Output,
) -> None:
    """Run an algorithm on a graph of any size, in the memory it is given."""
    with hosts.when_needed() as give_hosts:
        _run(context, algorithm, graph, wanted, work, files, output, give_hosts)


def _run(
    context: typer.Context,
    algorithm: str,
    graph: Path,
    wanted: ResultOptions,
    work: o.WorkOptions,
    files: FileOptions,
    output: o.Output,
    give_hosts: Callable[[], Hosts | None],
) -> None:
    out, edges = wanted.out, wanted.edges
    write, write_edges = writer_of(out), writer_of(edges, "edges")
    options = {"trace": wanted.trace, **work.in_python(), **files.in_python(graph, algorithm)}
    picture = picture_of(wanted.trace)
    if picture is not None:
        options["trace"] = picture.with_suffix(".json")
    if out is not None and not write:
        options["out"] = out
    check_places(
        [out if write else None, edges, picture, options["trace"]], overwrite=files.overwrite
    )

    from penstock.algorithms import find
    from penstock.interfaces.cli._bars import Notes, watching
    from penstock.interfaces.cli._estimates import estimate, estimate_text
    from penstock.interfaces.cli._output import show
    from penstock.interfaces.cli._run_report import report_data
    from penstock.interfaces.cli._views import NOTHING, view
    from penstock.interfaces.opening import open_snapshot

    opened, chosen = open_snapshot(graph), find(algorithm)
    if edges is not None and not chosen.finds_edges:
        raise OptionError(f"edges: {chosen.name} finds no edges; use --out")
    parameters = own_values(chosen, opened, context.obj)
    with watching(kernels=True) as progress, saying_how_to_go_on(options["checkpoint"]):
        options["hosts"] = give_hosts()
        here = options["hosts"] is None  # what other hosts have is not known
        if here and files.resume and not has_state(options["checkpoint"]):
            progress.note(
                f"there is no checkpoint in {options['checkpoint']}: starting from step 0"
            )
        expected = None
        if options["hosts"] is None:  # there is no estimate for other machines
            expected = estimate(opened, chosen, parameters, options)
        if expected is not None and not isinstance(progress, Notes):
            progress.note(estimate_text(expected))
        result = chosen(opened, **parameters, progress=progress, **options)
    shown = NOTHING if "out" in options else view(chosen.name, result, wanted.top)
    data = report_data(chosen.name, opened, parameters, result)
    data |= {"estimate": expected, "top": shown.top, "summary": shown.summary}
    data |= {"out": out, "edges": edges}
    if wanted.verify:
        chosen.verify(opened, result)
        data |= {"verified": True, "measured_error": result.stats.get("measured_error")}
    if write:
        getattr(result, write)(out)
    if edges is not None:
        getattr(result.edges, write_edges)(edges)
    if picture is not None:
        from penstock.interfaces.pictures import timeline

        timeline(options["trace"], picture)
    text = ""
    if not output.json:
        text = run_text(opened, result, shown.text, data, with_iterations=wanted.iterations)
    show(text, data, as_json=output.json)


def run_text(
    graph: Any, result: Result, shown: str, data: dict[str, Any], *, with_iterations: bool
) -> str:
    """All of it for people."""
    from penstock.interfaces.cli._rank_report import ranks_text
    from penstock.interfaces.cli._run_report import (
        counted,
        headline,
        iterations_text,
        verified_text,
    )

    table = iterations_text(result.iterations) if with_iterations else ""
    stats = result.stats
    parts = [headline(data["algorithm"], graph, stats), shown, table]
    parts += [ranks_text(stats), counted(stats, data["estimate"])]
    last = []
    if "verified" in data:
        last.append(verified_text(stats))
    if data["out"] is not None:
        last.append(f"{data['out']}: {len(result):,} rows")
    if data["edges"] is not None:
        last.append(f"{data['edges']}: {len(result.edges):,} edges")
    return "\n\n".join(part for part in [*parts, "\n".join(last)] if part)


def default_checkpoint(graph: Path, algorithm: str) -> Path:
    """Where a run's state is saved if the user does not say.

    >>> str(default_checkpoint(Path("/data/web.penstock"), "pagerank"))
    '/data/.web.penstock.pagerank.checkpoint'
    """
    place = graph.absolute()
    return place.parent / f".{place.name}.{algorithm.replace('-', '_')}.checkpoint"


def picture_of(trace: Path | None) -> Path | None:
    """The picture to draw the timeline into, if it is to be drawn; raises if it cannot be."""
    if trace is None:
        return None
    from penstock.drawing.style import SUFFIXES, check_drawing

    if trace.suffix.lower() not in SUFFIXES:
        return None
    check_drawing(trace)
    return trace


def writer_of(out: Path | None, name: str = "out") -> str:
    """The method of a result that writes such a file; empty for a folder, in which ranks write."""
    if out is None or (name == "out" and not out.suffix):
        return ""
    if out.suffix.lower() not in _WRITERS:
        raise OptionError(
            f"{name}: expected a name that ends in {' or '.join(_WRITERS)}, got {out}"
        )
    return _WRITERS[out.suffix.lower()]


def check_places(files: list[Path | None], *, overwrite: bool) -> None:
    """Refuse files that could not be written, before there is anything to write."""
    from penstock.files import check_target

    given = [file for file in files if file is not None]
    for k, file in enumerate(given):
        check_target(file, overwrite=overwrite)
        if not os.access(file.parent, os.W_OK):
            raise AccessError(f"{file.parent}: no permission to write {file.name} there")
        if file.absolute() in [other.absolute() for other in given[:k]]:
            raise OptionError(f"{file}: is named for two outputs; give each a name of its own")


def has_state(folder: Path) -> bool:
    """Whether a folder has a checkpoint."""
    from penstock.engine.epoch_files import has_saved

    return has_saved(folder)


@contextmanager
def saying_how_to_go_on(folder: Path | None) -> Iterator[None]:
    """An interruption within it says how the run can be continued, if it can."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is None or not has_state(folder):
            raise
        raise StoppedError(
            f"the state is saved in {folder}; the same command with --resume goes on from there"
        ) from None
