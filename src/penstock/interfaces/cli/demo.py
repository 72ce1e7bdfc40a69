"""``penstock demo``: everything there is, on a graph of its own, with nothing to prepare."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.interfaces.cli._options import Output, Overwrite, Threads

if TYPE_CHECKING:
    from penstock.store.graph import Graph

_NAME = "demo.penstock"
_EDGE_FACTOR = 16
_SHOWN = 5


def command(
    *,
    scale: Annotated[
        int, typer.Option(help="2 to this many vertices, 16 edges each.", min=1, max=31)
    ] = 18,
    memory: Annotated[
        str, typer.Option(help="Bytes each step may hold; the edges alone take more.")
    ] = "20MB",
    threads: Threads = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the graph in this directory. Default: discard it."),
    ] = None,
    overwrite: Overwrite = False,
    output: Output,
) -> None:
    """Make a graph, build it in less memory than its edges take, verify it, rank it, search it."""
    from penstock.interfaces.cli._output import show, write_out

    def say(text: str) -> None:
        if not output.json:
            write_out(text + "\n")

    with _folder(keep) as folder:
        data = run(folder / _NAME, scale, memory, threads, say, overwrite=overwrite)
        if keep is None:
            data["path"] = None
    show("\n" + _next_steps(None if keep is None else keep / _NAME), data, as_json=output.json)
    if data["verified"]["problems"]:
        raise typer.Exit(1)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as name:
        yield Path(name)


def run(
    path: Path,
    scale: int,
    memory: str,
    threads: int | None,
    say: Callable[[str], None],
    *,
    overwrite: bool,
) -> dict[str, Any]:
    """Do it all; ``say`` prints what people want to see meanwhile."""
    from penstock.config import format_bytes, parse_bytes
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._summary import as_text

    edges = _EDGE_FACTOR << scale
    say(f"A random graph of {1 << scale:,} vertices and {edges:,} edges (RMAT, scale {scale}).")
    say(
        f"Its edges take {format_bytes(8 * edges)} as pairs of 4-byte numbers; "
        f"each step may hold {format_bytes(parse_bytes(memory))}.\n"
    )
    limits: dict[str, Any] = {"memory": memory, "threads": threads}
    with watching(kernels=True, announce=True) as progress:
        graph, data = _make(path, scale, say, overwrite=overwrite, progress=progress, **limits)
        used, pictures = _use(graph, say, progress=progress, **limits)
    say("\n" + as_text({**data, "path": path.name}))
    say("\n" + _samples(graph))
    say("\n" + pictures)
    return {**data, **used, "memory_bytes": parse_bytes(memory)}


def _make(
    path: Path, scale: int, say: Callable[[str], None], *, threads: int | None, **options: Any
) -> tuple[Graph, dict[str, Any]]:
    """Build the graph and verify it."""
    from penstock.config import thread_count
    from penstock.interfaces.api import generate
    from penstock.interfaces.cli._building import built
    from penstock.store.check import check_graph

    started = time.perf_counter()
    graph = generate(
        "rmat", path, scale=scale, edge_factor=_EDGE_FACTOR, threads=threads, **options
    )
    data = built(graph, time.perf_counter() - started)
    say(f"built     in {data['seconds']:.1f} s, out of core")
    checking = time.perf_counter()
    report = check_graph(path, threads=thread_count(threads), progress=options["progress"])
    seconds, problems = time.perf_counter() - checking, len(report.problems)
    say(
        f"verified  in {seconds:.1f} s: {report.pages:,} pages, {report.edges:,} entries, "
        f"{problems} problems"
    )
    verified = {"seconds": seconds, "pages": report.pages, "problems": problems}
    return graph, {**data, "verified": verified}


def _use(graph: Graph, say: Callable[[str], None], **options: Any) -> tuple[dict[str, Any], str]:
    """Rank the vertices, and search from the first one."""
    from penstock.algorithms import find
    from penstock.interfaces.cli._views import view

    ranks = find("pagerank")(graph, **options)
    say(f"ranked    in {_how(ranks.stats)}")
    best = view("pagerank", ranks, _SHOWN)
    source = best.top[0][0]
    levels = find("bfs")(graph, source, **options)
    say(f"searched  in {_how(levels.stats)}")
    reached = view("bfs", levels, _SHOWN)
    pictures = f"Highest PageRank\n{best.body}\n\nFrom {source}: {reached.text}"
    data = {
        "pagerank": {"top": best.top, "stats": ranks.stats},
        "bfs": {"source": source, **reached.summary, "stats": levels.stats},
    }
    return data, pictures


def _how(stats: dict[str, Any]) -> str:
    where = "streamed from disk"
    if stats["resident"] or stats["head_edges"] is not None:
        where = "in memory" if stats["resident"] else "partly in memory"
    return f"{stats['seconds']:.1f} s, in {stats['iterations']} iterations over edges {where}"


def _samples(graph: Graph) -> str:
    """The vertices with most edges, and a few edges."""
    import numpy as np

    from penstock.interfaces.cli._output import table

    out, into = graph.degrees("out"), graph.degrees("in")
    ids = graph.ids_by_vid()
    top = np.argsort(-(out.astype(np.int64) + into), kind="stable")[:_SHOWN]
    rows = [("vertex", "out", "in")]
    rows += [(f"{ids[v]}", f"{out[v]:,}", f"{into[v]:,}") for v in top]
    pages = graph.iter_edges()
    src, dst, _ = next(pages)
    edges = [f"  {ids[a]} -> {ids[b]}" for a, b in islice(zip(src, dst, strict=True), _SHOWN)]
    return "\n".join(["Most edges", table(rows), "", "Some edges", *edges])


def _next_steps(kept: Path | None) -> str:
    graph = kept or "web.penstock"
    lines = ["Next"]
    if kept is None:
        lines.append("  penstock build edges.txt.gz web.penstock --memory 2GB")
    lines += [
        f"  penstock info {graph}",
        f"  penstock verify {graph}",
        f"  penstock run pagerank {graph} --memory 64MB --out ranks.parquet",
        f"  penstock export {graph} edges.parquet",
    ]
    return "\n".join(lines)
