"""Against answers that others computed; skipped where the shared data are not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as ps

SHARED = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/data beside the project")

EXAMPLES = [("example-directed", True, 1), ("example-undirected", False, 2)]


def answer(path: Path) -> dict[int, float]:
    """Lines of a vertex and its value."""
    rows = [line.split() for line in path.read_text().splitlines()]
    return {int(vertex): float(value) for vertex, value in rows}


def example(name: str, tmp_path: Path, *, directed: bool) -> ps.Graph:
    source = str(SHARED / "graphalytics" / "example" / f"{name}.e")
    return ps.build(source, tmp_path / "g.penstock", directed=directed, weights=True)


def listed(name: str, *, directed: bool) -> tuple[ps.Graph, dict[int, float]]:
    """A graph of lines "vertex neighbour neighbour ...", and the answer; vertices are numbered in
    their order, so that those without edges are there, too.
    """
    folder, kind = SHARED / "graphalytics" / name, "dir" if directed else "undir"
    expected = answer(folder / f"{kind}-output")
    place = {vertex: k for k, vertex in enumerate(sorted(expected))}
    lines = (folder / f"{kind}-input").read_text().splitlines()
    rows = [[place[int(each)] for each in line.split()] for line in lines]
    src, dst = np.array([(row[0], other) for row in rows for other in row[1:]]).T
    graph = ps.from_edges(src, dst, directed=directed, num_vertices=len(place))
    return graph, {place[vertex]: value for vertex, value in expected.items()}


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def peers(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("p2p")
    source = str(SHARED / "p2p-31" / "p2p-31.e")
    return ps.build(source, folder / "g.penstock", directed=request.param, weights=True)


def folder_of(graph: ps.Graph, name: str) -> dict[int, float]:
    suffix = "-directed" if graph.directed else ""
    return answer(SHARED / "p2p-31" / f"p2p-31-{name}{suffix}")


def check(result: ps.Result, expected: dict[int, float], unreached: float | None = None) -> None:
    found = dict(zip(result.ids.tolist(), result.values.tolist(), strict=True))
    assert found.keys() == expected.keys()
    wanted = np.array([expected[vertex] for vertex in found])
    if unreached is not None:
        wanted[wanted > 1e15] = unreached
    np.testing.assert_allclose(list(found.values()), wanted, rtol=1e-4)


def same_partition(result: ps.Result, expected: dict[int, float]) -> None:
    pairs = {
        (v, expected[i]) for i, v in zip(result.ids.tolist(), result.values.tolist(), strict=True)
    }
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@pytest.mark.parametrize(("name", "directed", "source"), EXAMPLES)
def test_graphalytics_examples(name, directed, source, tmp_path):
    graph = example(name, tmp_path, directed=directed)
    folder = SHARED / "graphalytics" / "example"
    check(ps.pagerank(graph, tol=0, max_iter=2, dtype="float64"), answer(folder / f"{name}-PR"))
    check(ps.bfs(graph, source), answer(folder / f"{name}-BFS"), -1)
    check(ps.sssp(graph, source), answer(folder / f"{name}-SSSP"), np.inf)
    same_partition(ps.connected_components(graph), answer(folder / f"{name}-WCC"))


@pytest.mark.parametrize("load", [True, False], ids=["in memory", "streamed"])
@pytest.mark.parametrize("directed", [True, False])
def test_graphalytics_one_by_one(directed, load):
    graph, expected = listed("bfs", directed=directed)
    check(ps.bfs(graph, 0, load=load), expected, -1)
    graph, expected = listed("wcc", directed=directed)
    same_partition(ps.connected_components(graph, load=load), expected)
    graph, expected = listed("pr", directed=directed)
    rounds = 14 if directed else 26
    check(ps.pagerank(graph, tol=0, max_iter=rounds, dtype="float64", load=load), expected)


@pytest.mark.parametrize("directed", [True, False])
def test_graphalytics_shortest_paths(directed, tmp_path):
    folder, kind = SHARED / "graphalytics" / "sssp", "dir" if directed else "undir"
    source = str(folder / f"{kind}-input.e")
    graph = ps.build(source, tmp_path / "g.penstock", directed=directed, weights=True)
    check(ps.sssp(graph, 1), answer(folder / f"{kind}-output"), np.inf)


@pytest.mark.parametrize("load", [True, False], ids=["in memory", "streamed"])
def test_p2p(peers, load):
    options = {"load": load, "threads": 2}
    check(ps.bfs(peers, 6, **options), folder_of(peers, "BFS"), -1)
    check(ps.sssp(peers, 6, **options), folder_of(peers, "SSSP"), np.inf)
    same_partition(
        ps.connected_components(peers, **options), answer(SHARED / "p2p-31" / "p2p-31-WCC")
    )
    if not peers.directed:
        ranks = ps.pagerank(peers, tol=0, max_iter=10, **options)
        check(ranks, answer(SHARED / "p2p-31" / "p2p-31-PR"))


def test_string_ids_and_a_published_component(tmp_path):
    source = str(SHARED / "graphs" / "debian-bookworm-depends.tsv")
    graph = ps.build(source, tmp_path / "g.penstock", ids="string")
    labels = ps.connected_components(graph).values
    _, sizes = np.unique(labels.astype(str), return_counts=True)
    assert (graph.num_vertices, sizes.max()) == (64_047, 63_364)
    assert isinstance(ps.pagerank(graph).top(1)[0][0], str)


def test_negative_weights_are_refused(tmp_path):
    source = str(SHARED / "graphs" / "soc-sign-bitcoinotc.csv")
    graph = ps.build(source, tmp_path / "g.penstock", weights=True)
    with pytest.raises(ps.PenstockError, match="weight"):
        ps.sssp(graph, 6)
