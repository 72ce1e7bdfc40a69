"""``penstock verify``: read every byte of a graph and say what is wrong with it."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from penstock.interfaces.cli._options import GraphPath, Output, Threads

_SHOWN = 20


def command(
    *,
    graph: GraphPath,
    threads: Threads = None,
    most: Annotated[int, typer.Option(help="Problems to list.", min=1)] = _SHOWN,
    output: Output,
) -> None:
    """Check every byte of a graph: checksums, counts, order, both directions; the log of a live
    graph, the index that scan keeps beside a graph, or a folder of --checkpoint.
    """
    from penstock.config import format_bytes, thread_count
    from penstock.interfaces.checking import check_any
    from penstock.interfaces.cli._bars import watching
    from penstock.interfaces.cli._output import show

    started = time.perf_counter()
    with watching(kernels=True) as progress:
        report = check_any(graph, threads=thread_count(threads), progress=progress)
    seconds = time.perf_counter() - started
    # The last one says how many are not listed, if some are not.
    problems = report.problems[:-1] if report.unlisted else report.problems
    count = len(problems) + report.unlisted
    data = {
        "path": str(graph),
        "ok": report.ok,
        "num_problems": count,
        "problems": [{"where": str(p.where), "what": str(p.what)} for p in problems[:most]],
        "notes": list(report.notes),
        "pages": report.pages,
        "bytes": report.bytes,
        "edges": report.edges,
        "seconds": seconds,
    }
    lines = [f"{p.where}: {p.what}" for p in problems[:most]]
    if count > len(lines):
        lines.append(f"... and {count - len(lines):,} more")
    lines += report.notes
    verdict = "no problems" if report.ok else f"{count:,} problem{'s' * (count != 1)} found"
    lines.append(
        f"{graph}: {verdict}; checked {report.pages:,} pages ({format_bytes(report.bytes)}) "
        f"and {report.edges:,} edges in {seconds:.1f} s"
    )
    show("\n".join(lines), data, as_json=output.json)
    if not report.ok:
        typer.echo(
            f"penstock: {graph}: damaged ({verdict}); restore it from a copy or rebuild it",
            err=True,
        )
        raise typer.Exit(1)
