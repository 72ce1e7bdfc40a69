"""A case of the comparisons as Python that anybody can paste."""

from __future__ import annotations

from typing import Any

from torture._graphs import (
    ID_OF,
    LIVE_BATCHES,
    PAGE_BYTES,
    build_options_of,
    expand,
    id_kind,
)


def snippet_of(case: dict[str, Any], parameters: dict[str, Any]) -> str:
    """Build the graph, run the algorithm, print."""
    n, rows = expand(case)
    id_of = ID_OF[case["ids"]]
    kind = {"huge": ', "uint64"', "string": ", object"}.get(case["ids"], ', "int64"')
    lines = ["import numpy as np", "import penstock as ps", ""]
    lines += [f"src = np.array({[id_of(u) for u, _, _ in rows]}{kind})"]
    lines += [f"dst = np.array({[id_of(v) for _, v, _ in rows]}{kind})"]
    arrays = "src, dst"
    if case["weights"] is not None:
        lines += [f'weight = np.array({[w for _, _, w in rows]}, "{case["weights"]}")']
        arrays = "src, dst, weight"
    store = case["store"]
    if store.startswith("live"):
        lines += _live(case, n)
    elif store == "memory":
        lines += [f"graph = ps.from_edges({arrays}, {_spelled(build_options_of(case, n))})"]
    else:
        lines += _on_disk(case, n, arrays)
    given = _spelled(parameters | case["run"])
    if case["run"].get("memory", 16 << 20) < 16 << 20:
        lines += ["from penstock import config", "config.MIN_BUDGET_BYTES = 1 << 20"]
    lines += [f"result = ps.{case['algorithm']}(graph, {given})", "print(result.values)"]
    return "\n".join(lines) + "\n"


def _spelled(options: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in options.items())


def _on_disk(case: dict[str, Any], n: int, arrays: str) -> list[str]:
    options = build_options_of(case, n) | {"page_size": PAGE_BYTES, "overwrite": True}
    options |= {"layout": "slotted" if case["store"] == "slotted" else "banded"}
    if "directions" in case:
        options["directions"] = case["directions"]
    if case["store"] == "striped":
        options["stripes"] = ["stripe 1", "stripe 2"]
    weights = case["weights"] is not None
    lines = ["import os"] if "stripes" in options else []
    lines += [f"os.makedirs({each!r}, exist_ok=True)" for each in options.get("stripes", ())]
    return [
        *lines,
        "from penstock.ingest import options as build_options",
        f"build_options.MIN_PAGE_BYTES = {PAGE_BYTES}",
        f'graph = ps.build(({arrays}), "case.penstock", weights={weights}, {_spelled(options)})',
    ]


def _live(case: dict[str, Any], n: int) -> list[str]:
    """Batches as they were; without the edges that came and went between them."""
    multi, directed = case["duplicates"] == "keep", case["directed"]
    lines = [f"size = -(-len(src) // {LIVE_BATCHES})"]
    first = 0
    if case["store"] == "live on base":
        parts = "src[:size], dst[:size]"
        parts += ", weight[:size]" if case["weights"] is not None else ""
        options = _spelled(build_options_of(case, n))
        lines += [f"base = ps.from_edges({parts}, {options})"]
        lines += [
            f"graph = ps.DynamicGraph.from_graph(base, multigraph={multi}, reverse={directed})"
        ]
        first = 1
    else:
        path = '"case.live", ' if case["store"] == "live on disk" else ""
        properties = {} if case["weights"] is None else {"weight": case["weights"]}
        lines += [
            f"graph = ps.DynamicGraph({path}directed={directed}, multigraph={multi}, "
            f"reverse={directed}, edge_properties={properties}, ids={id_kind(case)!r})"
        ]
    ids = [ID_OF[case["ids"]](v) for v in range(n)]
    given = '{"weight": weight[part]}' if case["weights"] is not None else "None"
    return [
        *lines,
        f"graph.add_vertices({ids})",
        f"for k in range({first}, {LIVE_BATCHES}):",
        "    part = slice(size * k, size * (k + 1))",
        f"    graph.add_edges(src[part], dst[part], {given})",
    ]
