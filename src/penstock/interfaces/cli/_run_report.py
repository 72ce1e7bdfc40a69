"""What a run tells afterwards: where it worked, what it counted, each iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.config import format_bytes
from penstock.interfaces.cli._bars import format_amount
from penstock.interfaces.cli._estimates import heads_in_memory
from penstock.interfaces.cli._output import facts, table

if TYPE_CHECKING:
    from penstock.engine.result import Result
    from penstock.store.graph import Graph


def headline(algorithm: str, graph: Graph, stats: dict[str, Any]) -> str:
    """What ran, on what, and where the edges were."""
    kind = "directed" if graph.directed else "undirected"
    size = f"{graph.num_vertices:,} vertices, {graph.num_edges:,} {kind} edges"
    threads = f"{stats['threads']} thread{'s' * (stats['threads'] != 1)}"
    return f"{algorithm} of {graph.path}: {size}\n{threads}, {_where(stats)}"


def _where(stats: dict[str, Any]) -> str:
    if not stats["edges_traversed"]:
        return "no edges read"
    if stats["resident"]:
        return "edges in memory"
    if stats["head_edges"] is not None:
        return f"{heads_in_memory(stats['head_edges'])}; {stats['reads']:,} reads of other lists"
    ranges = stats["ranges"]
    passes = f", once for each of {ranges} ranges of vertices" if ranges > 1 else ""
    return f"edges streamed, {stats['streams']} pages at a time{passes}"


def counted(stats: dict[str, Any], expected: dict[str, Any] | None) -> str:
    """The facts of a run, one a line, with what was expected beside them, if it was."""
    seconds, edges = stats["seconds"], stats["edges_traversed"]
    pages, hits = stats["pages_read"], stats["cache_hits"]
    time, read, held = [], f"{pages:,} pages", "of the rank that took most"
    if expected is not None:
        time = [] if expected["seconds"] is None else [f"estimated {expected['seconds']:.3g}"]
        read += f"; estimated {format_bytes(expected['bytes_read'])}"
        most = format_bytes(expected["memory_bytes"])
        held = f"the whole process; of it for the run {most} at most"
    if stats["load_seconds"]:
        time.append(f"loading edges {stats['load_seconds']:.2g}")
    pairs = [
        ("seconds", f"{seconds:.3g}" + (f"  ({'; '.join(time)})" if time else "")),
        ("iterations", f"{stats['iterations']:,}{_ending(stats)}"),
        ("edges traversed", f"{edges:,}{_rate(edges, seconds)}"),
        ("bytes read", f"{format_bytes(stats['bytes_read'])}  ({read})"),
        ("cache hits", f"{hits:,} of {hits + pages:,} pages" + _share(hits, hits + pages)),
        ("peak memory", f"{format_bytes(stats['peak_memory'])}  ({held})"),
        ("waiting for I/O", f"{stats['io_seconds']:.3g} s  (sum over streams)"),
        ("in kernels", f"{stats['kernel_seconds']:.3g} s  (sum over streams)"),
    ]
    return facts(pairs)


def _ending(stats: dict[str, Any]) -> str:
    if "converged" not in stats:
        return ""
    return "  (converged)" if stats["converged"] else "  (not converged: stopped at max_iter)"


def verified_text(stats: dict[str, Any]) -> str:
    """What a verifier has found."""
    measured = stats.get("measured_error")
    error = "" if measured is None else f"; measured error {measured:.2g}"
    return f"verified by another method{error}"


def _rate(edges: int, seconds: float) -> str:
    return f"  ({format_amount(edges / seconds, 'edges')}/s)" if edges and seconds else ""


def _share(part: int, whole: int) -> str:
    return f"  ({part / whole:.0%})" if whole else ""


#: Columns of the per-iteration table whose names or units would not be clear.
_HEADS = {
    "active_share": "active share",
    "pages_read": "pages",
    "bytes_read": "bytes",
    "cache_hits": "hits",
}


def iterations_text(rows: Sequence[dict[str, Any]]) -> str:
    """The per-iteration table; its columns are what the algorithm noted and what was counted."""
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows for name in row))
    names = [name for name in names if any(row.get(name) is not None for row in rows)]
    cells = [[_HEADS.get(name, name.replace("_", " ")) for name in names]]
    cells += [[_iteration_cell(name, row.get(name)) for name in names] for row in rows]
    return "Iterations\n" + table(cells)


def _iteration_cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name == "active_share":
        return f"{value:.1%}"
    if name == "bytes_read":
        return format_bytes(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):  # of counts, of which --json has all
        return " ".join(f"{each:,}" for each in value[:4]) + " ..." * (len(value) > 4)
    return f"{value:,}" if isinstance(value, int) else str(value)


def report_data(
    algorithm: str, graph: Graph, parameters: dict[str, Any], result: Result
) -> dict[str, Any]:
    """What ``--json`` prints of every run; numbers that are not finite become null."""
    stats = {k: v for k, v in result.stats.items() if k not in ("algorithm", "graph", "parameters")}
    return {
        "algorithm": algorithm,
        "graph": str(graph.path),
        "parameters": parameters,
        "stats": stats,
        "iterations": result.iterations,
    }
