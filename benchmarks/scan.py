"""SCAN: against cdlib on small graphs, and the first query against later ones on a large graph.

    python benchmarks/scan.py --edges facebook_combined.txt email-Enron.txt --cdlib VENV/bin/python
    python benchmarks/scan.py --folder DIR --graph kron20

Edge files have a first line that is no edge. cdlib runs in an interpreter of its own that has it;
each process reads the edges before the clock starts, and both must find as many clusters with the
same vertices in them. In cdlib a vertex does not count as similar to itself: its mu is one less.
The smallest of several runs in turns counts.

DIR holds GRAPH.penstock, or an R-MAT graph of that scale is made there. Its index is written to a
temporary folder in DIR. *First* counts common neighbours and writes the index, *new process* opens
graph and index anew, *next* is another query in the same process.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import checked, run, table, work_folder

#: Similarities and cores to ask for; mu counts the vertex itself.
QUERIES = ((0.7, 2), (0.5, 5), (0.3, 3))


def edges_of(path: Path) -> Any:
    """Pairs of vertices."""
    return np.loadtxt(path, np.int64, skiprows=1)


def answer(seconds: list[float], clusters: int, members: Any) -> None:
    """What a process found, for the other one."""
    chosen = np.sort(np.array(members, np.int64))
    print(json.dumps({
        "seconds": seconds, "clusters": clusters, "members": len(chosen), "sum": int(chosen.sum()),
    }))  # fmt: skip


def ask_cdlib(path: Path, epsilon: float, mu: int) -> None:
    """One query of cdlib's."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):  # it says which packages it has not
        import networkx as nx
        from cdlib import algorithms
    graph = nx.Graph(edges_of(path).tolist())
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    begin = time.perf_counter()
    found = algorithms.scan(graph, epsilon=epsilon, mu=mu - 1)
    seconds = time.perf_counter() - begin
    answer([seconds], len(found.communities), [v for each in found.communities for v in each])


def ask_penstock(path: Path, epsilon: float, mu: int) -> None:
    """A first query and a second, of a graph in memory; kernels are compiled before."""
    import penstock as ps

    src, dst = edges_of(path).T
    ps.scan(ps.from_edges(src[:100], dst[:100], directed=False), epsilon, mu)
    graph = ps.from_edges(src, dst, directed=False)
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        found = ps.scan(graph, epsilon, mu)
        found.values  # noqa: B018
        seconds.append(time.perf_counter() - begin)
    answer(seconds, found.stats["clusters"], found.ids[found.role <= 1])


def against_cdlib(path: Path, cdlib: str, rounds: int) -> list[tuple[object, ...]]:
    """A row for each query."""
    rows: list[tuple[object, ...]] = []
    for epsilon, mu in QUERIES:
        theirs, ours = [], []
        for _ in range(rounds):
            for python, name, found in (
                (sys.executable, "penstock", ours),
                (cdlib, "cdlib", theirs),
            ):
                asked = [name, str(path), str(epsilon), str(mu)]
                found.append(checked(run([python, __file__, "--ask", *asked])))
        for name in ("clusters", "members", "sum"):
            assert ours[0][name] == theirs[0][name], f"different {name}: {ours[0]}, {theirs[0]}"
        first, second = np.min([each["seconds"] for each in ours], axis=0).tolist()
        other = min(each["seconds"][0] for each in theirs)
        rows.append((
            path.stem, epsilon, mu, ours[0]["clusters"], other, first, second, other / first,
            other / second,
        ))  # fmt: skip
    return rows


def ask_stored(path: Path, index: Path) -> None:
    """All queries, one after another, on a graph in a folder."""
    import penstock as ps

    rows = []
    for epsilon, mu in QUERIES:
        for _ in range(2):
            begin = time.perf_counter()
            graph = ps.open(path) if not rows else graph  # noqa: F821
            found = ps.scan(graph, epsilon, mu, index=index)
            found.values  # noqa: B018
            seconds = time.perf_counter() - begin
            facts = ("clusters", "indexed", "resident", "load_seconds", "bytes_read")
            rows.append({"seconds": seconds, **{name: found.stats[name] for name in facts}})
    print(json.dumps({"rows": rows}))


def first_and_later(folder: Path, name: str, rounds: int) -> list[tuple[object, ...]]:
    """Rows of the first query and of later ones."""
    import penstock as ps

    path = folder / f"{name}.penstock"
    if not path.exists():
        scale = int(re.fullmatch(r"\D+(\d+)", name).group(1))  # type: ignore[union-attr]
        ps.generate("rmat", path, scale=scale, directed=False)
    found: list[list[Any]] = [[], []]
    for _ in range(rounds):
        index = Path(tempfile.mkdtemp(prefix="scan-", dir=folder))
        try:
            for each in found:
                asked = ["stored", str(path), str(index / "kept")]
                each.append(checked(run([sys.executable, __file__, "--ask", *asked]))["rows"])
            size = sum(file.stat().st_size for file in (index / "kept").iterdir())
        finally:
            shutil.rmtree(index)
    assert not any(rows[0]["indexed"] for rows in found[0])
    assert all(row["indexed"] for rows in found[1] for row in rows)
    first, new = (min(rows[0]["seconds"] for rows in each) for each in found)
    rows: list[tuple[object, ...]] = []
    for k, (epsilon, mu) in enumerate(QUERIES):
        later = min(rows[2 * k + 1]["seconds"] for each in found for rows in each)
        clusters = found[0][0][2 * k]["clusters"]
        times = (first, new) if k == 0 else ("", "")
        rows.append((name, epsilon, mu, clusters, *times, later, first / later, size / 1e6))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", nargs="+", type=Path, default=[], help="files of edges")
    parser.add_argument("--cdlib", default=sys.executable, help="an interpreter that has cdlib")
    parser.add_argument("--graph", help="such as kron20")
    parser.add_argument("--folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ask", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ask is not None:
        what, path, *more = given.ask
        if what == "stored":
            ask_stored(Path(path), Path(more[0]))
        else:
            ask = {"cdlib": ask_cdlib, "penstock": ask_penstock}[what]
            ask(Path(path), float(more[0]), int(more[1]))
        return
    head: tuple[object, ...] = ("graph", "epsilon", "mu", "clusters")
    if given.edges:
        more = ("cdlib s", "first s", "second s", "first times", "second times")
        rows = [
            row for path in given.edges for row in against_cdlib(path, given.cdlib, given.rounds)
        ]
        table([(*head, *more), *rows])
    if given.graph:
        with work_folder(given.folder) as folder:
            more = ("first s", "new process s", "next s", "times", "index MB")
            table([(*head, *more), *first_and_later(folder, given.graph, given.rounds)])


if __name__ == "__main__":
    main()
