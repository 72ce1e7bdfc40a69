"""The functions of the backend as a page of the documents.

    python -m penstock.interfaces.nx.page > docs/networkx-functions.md

A test compares the page with the table in ``info``.
"""

from __future__ import annotations

import sys
from itertools import groupby

from penstock.interfaces.nx.info import FUNCTIONS, LOADS, STREAMS

#: What the modules are about, in the order of the page.
TITLES = {
    "link_analysis": "Ranking",
    "centrality": "Centrality",
    "traversal": "Traversals",
    "paths_unweighted": "Shortest paths, every edge alike",
    "paths_weighted": "Shortest paths by weight",
    "paths_negative": "Shortest paths by weights below 0, too",
    "paths_generic": "Shortest paths, by whatever method",
    "distances": "Distances as a whole",
    "components": "Components",
    "core": "Cores and trusses",
    "cluster": "Triangles and clustering",
    "coloring": "Colours",
    "spanning": "Spanning trees",
    "community": "Communities",
    "ego": "Neighbourhoods",
    "functions": "Counts",
    "isolate": "Nodes without edges",
}

_HEAD = f"""# Functions of NetworkX that the backend has

<!-- Made by `python -m penstock.interfaces.nx.page > docs/networkx-functions.md`. -->

All {len(FUNCTIONS)} take a graph of NetworkX with `backend="penstock"`, and a graph of Penstock's
made by `graph.nx()`; see [the page on NetworkX](networkx.md). Arguments and results are those of
NetworkX. What *streams* runs in the memory that there is, however large the graph on disk; what
*loads* has all lists in memory (4 bytes an edge and direction, 8 more with weights), and says so if
they do not fit.
"""


def page() -> str:
    """The page."""
    parts = [_HEAD]
    by_module = {
        module: list(group)
        for module, group in groupby(
            sorted(FUNCTIONS.items(), key=lambda item: (item[1][0], item[0])),
            key=lambda item: item[1][0],
        )
    }
    for module, title in TITLES.items():
        parts += [f"## {title}", "", "| function | lists | |", "|---|---|---|"]
        for name, (_, note) in by_module[module]:
            how = "stream" if note.startswith(STREAMS) else "load"
            rest = note.removeprefix(STREAMS).removeprefix(LOADS).strip()
            parts.append(f"| `{name}` | {how} | {rest} |")
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
