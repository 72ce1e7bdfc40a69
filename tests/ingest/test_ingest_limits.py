"""The smallest and the largest: nothing at all, one vertex, hubs, more than memory allows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingest_oracle import Input, check_graph

import penstock as ps
from penstock.errors import BudgetError, IdError, InputError, OptionError
from penstock.ingest import numbering
from penstock.ingest.build import build
from penstock.ingest.options import BuildOptions
from penstock.store.graph import Graph

MEMORY = 1 << 24
WHERE = pytest.mark.parametrize("on_disk", [True, False], ids=["disk", "memory"])
SMALLEST = {
    "nothing": Input([], []),
    "nothing, weighted": Input([], [], {"weight": []}, {"weight": None}, "weight"),
    "no names": Input([], [], strings=True),
    "vertices only": Input([], [], extra=[7, 3]),
    "names only": Input([], [], strings=True, extra=["b", ""]),
    "declared only": Input([], [], declared=range(3, 6)),
    "no vertex declared": Input([], [], declared=range(0)),
    "a loop": Input([5], [5]),
    "loops": Input([2, 2, 9], [2, 2, 9], {"weight": [1, 2, 3]}, {"weight": "int8"}, "weight"),
    "a loop of no name": Input([""], [""], strings=True),
    "one edge": Input([2**64 - 1], [0]),
}


def test_an_empty_file_is_refused_and_empty_arrays_are_not(tmp_path: Path) -> None:
    skipping = {"on_bad_line": "skip", "max_bad_lines": "100%"}
    for text, options in (("", {}), ("# only words\n", {}), ("x\n", skipping)):
        (tmp_path / "edges.txt").write_text(text)
        with pytest.raises(InputError, match=r"edges\.txt: has no edges.*--num-vertices 0"):
            ps.build(tmp_path / "edges.txt", tmp_path / "g", ids="int", **options)
        assert not (tmp_path / "g").exists()
    assert ps.build(tmp_path / "edges.txt", tmp_path / "g", ids="int", num_vertices=0,
                    **skipping).num_vertices == 0  # fmt: skip
    assert ps.build(([], []), tmp_path / "h").num_vertices == 0


def place(tmp_path: Path, *, on_disk: bool) -> Path | None:
    return tmp_path / "g" if on_disk else None


@WHERE
@pytest.mark.parametrize("given", SMALLEST.values(), ids=SMALLEST)
@pytest.mark.parametrize("layout", ["banded", "slotted"])
def test_smallest(tmp_path: Path, given: Input, layout: Any, *, on_disk: bool) -> None:
    for directed in (True, False):
        for self_loops in ("keep", "drop"):
            options = BuildOptions(
                directed=directed, self_loops=self_loops, layout=layout, memory=MEMORY,
                overwrite=True,
            )  # fmt: skip
            graph = build(given.source(1), place(tmp_path, on_disk=on_disk), options)
            check_graph(graph, given, options)


@pytest.mark.parametrize("num_vertices", [None, 0, 1, 4])
def test_no_edges_from_arrays(tmp_path: Path, num_vertices: int | None) -> None:
    for weight in ((), ([],)):
        graphs = [
            ps.from_edges([], [], *weight, num_vertices=num_vertices),
            ps.build(([], [], *weight), tmp_path / "g", num_vertices=num_vertices, overwrite=True),
        ]
        for graph in graphs:
            assert (graph.num_vertices, graph.num_edges) == (num_vertices or 0, 0)
            assert graph.ids.tolist() == list(range(num_vertices or 0))
            assert [len(column) for column in graph.to_edges()] == [0] * (2 + len(weight))


@WHERE
@pytest.mark.parametrize(("num_vertices", "row"), [(0, (0, 0)), (3, (1, 3)), (3, (2**63, 0))])
def test_id_out_of_range(
    tmp_path: Path, num_vertices: int, row: tuple[int, int], *, on_disk: bool
) -> None:
    options = BuildOptions(num_vertices=num_vertices, memory=MEMORY)
    given = Input([row[0]], [row[1]])
    for repeat in (True, False):
        with pytest.raises(IdError) as caught:
            build(given.source(repeat=repeat), place(tmp_path, on_disk=on_disk), options)
        words = str(caught.value)
        assert all(str(v) in words for v in row)
        assert "0 .. 2" in words if num_vertices else "no vertices" in words
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [0, 2, 6, 2**40])
def test_vertex_outside_the_declared_ones(wrong: int) -> None:
    given = Input([], [], declared=range(3, 6), extra=[4, wrong])
    given = replace(given, extra=[5]) if wrong == 5 else given
    with pytest.raises(IdError, match=rf"\b{wrong}\b.*3 \.\. 5"):
        build(given.source(repeat=True), None, BuildOptions(memory=MEMORY))
    # Options may add to what the input declares, and take nothing from it.
    given = replace(given, extra=[3, 4])
    graph = build(given.source(), None, BuildOptions(num_vertices=7))
    assert graph.ids.tolist() == [0, 1, 2, 3, 4, 5, 6]
    with pytest.raises(IdError, match=r"vertex 5, but the vertices are 0 \.\. 4"):
        build(given.source(), None, BuildOptions(num_vertices=5))


def test_impossible_options(tmp_path: Path) -> None:
    target = tmp_path / "g"
    with pytest.raises(OptionError, match="num_vertices"):
        ps.build((["a"], ["b"]), target, num_vertices=3)
    with pytest.raises(OptionError, match="num_vertices"):
        ps.build(([1], [2]), target, num_vertices=-1)
    for rule in ("min", "max", "sum"):
        with pytest.raises(OptionError, match="weights="):
            ps.build(([1], [2]), target, duplicates=rule)
    for memory in ("1MB", 0, -5, "lots", "16MB of it"):
        with pytest.raises((OptionError, BudgetError), match=r"memory.*(at least|expected)"):
            ps.build(([1], [2]), target, memory=memory)
    with pytest.raises(OptionError, match="threads"):
        ps.build(([1], [2]), target, threads=0)
    with pytest.raises(InputError, match="nan"):
        ps.build(([1, 2], [2, 3], [1.0, float("nan")]), target)
    with pytest.raises(InputError, match="nan"):
        ps.from_edges([1, 2], [2, 3], [1.0, float("nan")])
    assert list(tmp_path.iterdir()) == []


def test_more_vertices_than_there_are_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(IdError, match=r"4,294,967,296 vertices.*4,294,967,295"):
        ps.build(([1], [2]), tmp_path / "g", num_vertices=2**32)
    monkeypatch.setattr(numbering, "MAX_VERTICES", 10)
    inputs = [
        Input([v << 40 for v in range(11)], [0] * 11),
        Input([str(v) for v in range(11)], ["0"] * 11, strings=True),
        Input([1], [2], declared=range(11)),
    ]
    for given in inputs:
        with pytest.raises(IdError, match=r"11 vertices.*10"):
            build(given.source(), tmp_path / "g", BuildOptions(memory=MEMORY))
    # Ten are as many as there may be, whatever their ids.
    given = Input([v * 7 for v in range(10)], [0] * 10)
    assert build(given.source(), None, BuildOptions(memory=MEMORY)).num_vertices == 10
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "rules",
    [
        {"duplicates": "keep", "neighbour_order": "input"},
        {"duplicates": "last"},
        {"duplicates": "sum", "directed": False},
        {"vertex_order": "none", "neighbour_order": "degree"},
    ],
    ids=lambda rules: "-".join(map(str, rules.values())),
)
def test_hub_larger_than_any_bucket(tmp_path: Path, rules: dict[str, Any]) -> None:
    """A star whose middle has more edges than are sorted at once in so little memory."""
    size = 400_000
    leaves = np.random.default_rng(1).permutation(size) + 1
    weights = np.arange(size) / 4
    source = (np.zeros(size, np.int64), leaves, weights)
    graph = ps.build(source, tmp_path / "g", memory="16MiB", threads=2, **rules)
    assert (graph.num_vertices, graph.num_edges) == (size + 1, size)
    assert graph.degrees("out").max() == size
    found = star(graph)
    if rules.get("neighbour_order") == "input":
        assert np.array_equal(found[0], leaves)
    by_leaf = np.empty(size + 1)
    by_leaf[leaves] = weights
    assert np.array_equal(np.sort(found[0]), np.arange(1, size + 1))
    assert np.array_equal(found[1], by_leaf[found[0]])


def star(graph: Graph) -> tuple[Any, Any]:
    """The leaves of vertex 0 in the order of its list, as ids, and the weights."""
    ids = graph.ids_by_vid()
    middle = int(np.flatnonzero(ids == 0)[0])
    leaves, weights = [], []
    for part in graph.iter_adjacency("out"):
        ends = np.cumsum(part.degrees, dtype=np.int64)
        at = middle - part.first_vid
        if 0 <= at < len(ends):
            mine = slice(int(ends[at] - part.degrees[at]), int(ends[at]))
            leaves.append(ids[part.neighbours[mine]])
            weights.append(part.columns["weight"][mine])
    return np.concatenate(leaves), np.concatenate(weights)


def test_sums(tmp_path: Path) -> None:
    """Sums stay whole as long as they fit, and are refused when they do not."""
    cases: list[tuple[str, list[int], int | None]] = [
        ("uint8", [250, 250], 500),
        ("int32", [2**31 - 1, 2**31 - 1], 2**32 - 2),
        ("uint64", [2**63, 2**62], 2**63 + 2**62),
        ("uint64", [2**63, 2**63], None),
        ("int64", [2**62, 2**62 - 1], 2**63 - 1),
        ("int64", [2**62, 2**62], None),
        ("int64", [-(2**63), -1], None),
        ("int64", [2**63 - 1, -5], 2**63 - 6),
    ]
    for dtype, values, total in cases:
        weights = np.array(values, dtype)
        if total is None:
            with pytest.raises(InputError, match="weight"):
                ps.from_edges([1, 1], [2, 2], weights, duplicates="sum")
            with pytest.raises(InputError, match="weight"):
                ps.build(([1, 1], [2, 2], weights), tmp_path / "g", duplicates="sum")
            assert list(tmp_path.iterdir()) == []
        else:
            edges = ps.from_edges([1, 1], [2, 2], weights, duplicates="sum").to_edges()
            assert edges[2].tolist() == [total]
    floats = ps.from_edges([1] * 3, [2] * 3, [1e308, 1e308, -np.inf], duplicates="sum")
    assert np.isnan(floats.to_edges()[2]).all()


def advised(words: str) -> int:
    found = re.search(r"at least memory='(\d+)MB'", words)
    assert found is not None, words
    return int(found[1]) * 10**6


def with_advice(source: Any, target: Path, memory: int, **options: Any) -> Graph:
    """Build in too little memory, then in what the refusal asks for."""
    with pytest.raises(BudgetError) as caught:
        ps.build(source, target, memory=memory, **options)
    assert not target.exists()
    return ps.build(source, target, memory=advised(str(caught.value)), **options)


def test_advice_for_many_vertices(tmp_path: Path) -> None:
    source = ([1, 2], [2, 3])
    graph = with_advice(source, tmp_path / "a", MEMORY, num_vertices=4_000_000)
    assert graph.num_vertices == 4_000_000
    graph = with_advice(
        source, tmp_path / "b", MEMORY, num_vertices=1_500_000, vertex_order="none",
        neighbour_order="degree",
    )  # fmt: skip
    assert graph.num_edges == 2


def test_advice_for_many_threads(tmp_path: Path) -> None:
    ends = np.arange(6000)
    graph = with_advice((ends, ends + 1), tmp_path / "g", MEMORY, threads=70)
    assert graph.num_edges == 6000


def test_advice_for_a_long_list_in_input_order(tmp_path: Path) -> None:
    leaves = np.arange(1, 150_001)
    source = (np.zeros(len(leaves), np.int64), leaves[::-1])
    graph = with_advice(source, tmp_path / "g", MEMORY, neighbour_order="input", threads=2)
    weighted = ps.build((*source, leaves), tmp_path / "w", neighbour_order="input", threads=2)
    assert np.array_equal(star(weighted)[0], leaves[::-1])
    assert graph.num_edges == len(leaves)


def test_many_columns_fit_little_memory(tmp_path: Path) -> None:
    """The more columns, the fewer rows at a time."""
    import pyarrow as pa

    rows = 30_000
    rng = np.random.default_rng(6)
    table = {"src": rng.integers(0, 500, rows), "dst": rng.integers(0, 500, rows)}
    table |= {f"c{k}": rng.random(rows) for k in range(40)}
    options: dict[str, Any] = {"threads": 2, "attributes": [f"c{k}" for k in range(40)]}
    source = pa.table(table)
    graph = ps.build(source, tmp_path / "g", memory="24MB", duplicates="keep", **options)
    assert graph.num_edges == rows
    assert len(graph.catalog.columns) == 40
    assert with_advice(source, tmp_path / "h", MEMORY, **options).num_edges <= rows
