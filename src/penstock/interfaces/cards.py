"""Semantics cards: what an algorithm means, from its docstring, as a page of the documents.

    python -m penstock.interfaces.cards > docs/algorithms.md

A test compares the page with the docstrings.
"""

from __future__ import annotations

import inspect
import re
import sys

from penstock.algorithms import find, names
from penstock.engine.algorithm import Algorithm
from penstock.interfaces.api import from_edges

#: What a card says, in this order; the two in the middle only where there is something to say.
ENTRIES = (
    "direction", "duplicates", "loops", "isolates", "values", "tolerance", "ties", "passes",
)  # fmt: skip
OPTIONAL = ("tolerance", "ties")

#: The algorithms by what people look for.
GROUPS = {
    "Traversals and neighbourhoods": (
        "bfs", "sssp", "k_hop", "two_hop", "egonet", "induced_subgraph", "cross_edges",
    ),
    "Ranking and centrality": (
        "pagerank", "rwr", "betweenness", "edge_betweenness", "closeness", "degree_distribution",
    ),
    "Components, cores and trees": (
        "connected_components", "strongly_connected_components", "core_number", "k_core",
        "truss_number", "k_truss", "minimum_spanning_forest",
    ),
    "Communities, triangles and colours": (
        "label_propagation", "triangles", "clustering", "scan", "color",
    ),
    "Distances as a whole": ("radius",),
    "Simulations": ("heat", "circuit", "neural_network"),
}  # fmt: skip

_HEAD = """# The algorithms

<!-- Made by `python -m penstock.interfaces.cards > docs/algorithms.md` from the docstrings. -->

Every one runs in memory or streams the topology from disk, takes the options of every run (see
[running.md](running.md)), gives the same result for the same seed whatever the number of threads,
and can check its own result by another method (`--verify`). `ps.NAME(graph, ...)` in Python,
`penstock run NAME GRAPH ...` on the command line. *Passes* say how often the topology is read when
it streams, *memory* what a vertex takes besides.
"""


def sections(text: str) -> dict[str, list[str]]:
    """The sections of a docstring, by their titles; what comes before the first has the title "".

    >>> sections("One.\\n\\nNotes\\n-----\\nA.")
    {'': ['One.', ''], 'Notes': ['A.']}
    """
    found: dict[str, list[str]] = {"": []}
    lines = inspect.cleandoc(text).splitlines()
    title = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch(r"-{3,}", below.strip()) and line.strip():
            title = line.strip()
            found[title] = []
        elif not re.fullmatch(r"-{3,}", line.strip()):
            found[title].append(line)
    return found


def entries(lines: list[str]) -> dict[str, str]:
    """What a section says about each of its words."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line[:1].strip():
            found[line.strip()] = []
        elif line.strip() and found:
            found[list(found)[-1]].append(line.strip())
    return {word: " ".join(said) for word, said in found.items()}


def semantics(algorithm: Algorithm) -> dict[str, str]:
    """The card of an algorithm, without what its cost says."""
    return entries(sections(algorithm.__doc__ or "").get("Semantics", []))


def memory_text(algorithm: Algorithm) -> str:
    """Bytes of state for each vertex, with the usual parameters."""
    graph = from_edges([0, 1], [1, 2], [1.0, 2.0], directed=False)
    required = {
        name: 1 if parameter.annotation is int else graph.ids[:1]
        for name, parameter in algorithm.parameters.items()
        if parameter.default is inspect.Parameter.empty
    }
    size = algorithm.requirements(graph, **required)[-1].vertex_bytes
    return f"{size} bytes a vertex" if size else "nothing for each vertex"


def card(name: str) -> str:
    """One algorithm as a part of the page."""
    algorithm = find(name)
    parts = sections(algorithm.__doc__ or "")
    own = ", ".join(_parameter_text(each) for each in algorithm.parameters.values())
    said = semantics(algorithm)
    rows = [(word, said[word]) for word in ENTRIES if word in said]
    rows.append(("memory", memory_text(algorithm)))
    if algorithm.on_devices:
        rows.append(("devices", "GPUs and several devices, too: see [devices](devices.md)"))
    if algorithm.on_hosts:
        rows.append(("hosts", "several, too: see [several machines](several-machines.md)"))
    table = [f"| {word} | {_cell(text)} |" for word, text in rows]
    options = [f"- `{word}`: {_plain(text)}" for word, text in entries(parts["Parameters"]).items()]
    lines = [
        f"### {name}", "", f"`ps.{name}(graph{', ' if own else ''}{own})`", "",
        _plain("\n".join(parts[""]).strip()), "", *options, "",
        "| | |", "|---|---|", *table,
    ]  # fmt: skip
    return "\n".join(lines)


def _parameter_text(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return parameter.name
    return f"{parameter.name}={parameter.default!r}"


def _plain(text: str) -> str:
    return text.replace("``", "`")


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def page() -> str:
    """All cards."""
    parts = [_HEAD]
    for title, group in GROUPS.items():
        links = ", ".join(f"[{name}](#{name})" for name in group)
        parts.append(f"- {title}: {links}")
    for title, group in GROUPS.items():
        parts.append(f"\n## {title}")
        parts += [f"\n{card(name)}" for name in group]
    missing = set(names()) - {name for group in GROUPS.values() for name in group}
    assert not missing, f"without a group: {sorted(missing)}"
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
