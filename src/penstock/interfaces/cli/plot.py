"""``penstock plot``: pictures of graphs, and of what runs have left in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from penstock.errors import OptionError
from penstock.interfaces.cli._options import Memory, Output, Overwrite, Threads

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from penstock.store.graph import Graph

Kind = Literal["degrees", "components", "convergence", "active", "values", "timeline"]
#: What can be drawn of a graph.
_OF_GRAPHS = ("degrees", "components")


def command(
    *,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A graph directory, or what `penstock run` wrote: the file of --out, of --trace, "
            "or the output of --json.",
        ),
    ],
    kind: Annotated[
        Kind | None,
        typer.Argument(
            metavar="KIND",
            help="degrees or components of a graph; convergence, active (per iteration), values or "
            "timeline of a run. Default: the first of these that SOURCE has.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Ends in .png, .svg or .pdf. Default: KIND.png in this folder."
        ),
    ] = None,
    overwrite: Overwrite = False,
    memory: Memory = None,
    threads: Threads = None,
    output: Output,
) -> None:
    """Draw a graph's degrees or components, or what a run found and how it went."""
    from penstock.config import format_bytes
    from penstock.drawing.result_data import chosen_kind
    from penstock.drawing.style import check_drawing, drawn_alike, save_figure
    from penstock.files import check_target
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show
    from penstock.interfaces.opening import open_snapshot
    from penstock.interfaces.saved import read_result

    check_drawing(out)
    result = None if source.is_dir() else read_result(source)
    chosen = _kind_of_graph(source, kind) if result is None else chosen_kind(result, kind)
    file = Path(f"{chosen}.png") if out is None else out
    check_target(file, overwrite=overwrite)
    with drawn_alike(), watching(kernels=chosen == "components") as progress:
        if result is None:
            options = {"memory": memory, "threads": threads, "progress": progress}
            axes = plot_graph(open_snapshot(source), chosen, options)
        else:
            axes = result.plot(chosen)
        save_figure(axes.figure.figure, file, overwrite=overwrite)
    size = file.stat().st_size
    data = {"source": str(source), "kind": chosen, "file": str(file), "bytes": size}
    show(f"{file}: {chosen} of {source}, {format_bytes(size)}", data, as_json=output.json)


def _kind_of_graph(source: Path, kind: str | None) -> str:
    if kind is None:
        return _OF_GRAPHS[0]
    if kind not in _OF_GRAPHS:
        raise OptionError(
            f"kind: {source} is a graph, which has {' and '.join(_OF_GRAPHS)}, but no {kind}; use "
            "what a run leaves: --out FILE for values, --json for convergence and active, --trace "
            "FILE for a timeline"
        )
    return kind


def plot_graph(graph: Graph, kind: str, options: dict[str, Any]) -> Axes:
    """Run what it takes, and draw it."""
    from penstock.algorithms import find
    from penstock.drawing.colors import BLUE, ORANGE
    from penstock.drawing.results import number_of, set_titles
    from penstock.drawing.style import add_legend

    if kind == "components":
        return find("connected_components")(graph, **options).plot(kind)
    count = find("degree_distribution")
    found = {each: count(graph, direction=each, **options) for each in graph.directions}
    first, *others = found.values()
    axes = first.plot(kind)
    for other in others:
        other.plot(kind, axes)
        axes.lines[-2].set_linestyle((0, (4, 2)))  # often it covers the first
        # Both have zeros of their own, so the note is that of neither.
        note = number_of(graph.num_vertices, "vertex", "vertices")
        set_titles(axes, first, "Degree distribution", note)
        add_legend(axes, dict(zip(found, (BLUE, ORANGE), strict=True)), loc="upper right")
    return axes
