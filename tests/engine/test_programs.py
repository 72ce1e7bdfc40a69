"""Vertex programs: the same values however they are run, and the right ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_making import build, distances, labels, ranks, run, values
from engine_programs import heat_program, label_program, path_program, rank_program

import penstock as ps
from penstock.errors import FormatError, OptionError
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.stream import resident as resident_module
from penstock.stream.policy import POLICIES

STREAMED = {"load": False, "cache_pages": 5}


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph]:
    root = tmp_path_factory.mktemp("programs")
    return {
        "directed": build(root / "directed", weighted=True),
        "undirected": build(root / "undirected", directed=False, weighted=True),
        "slotted": build(root / "slotted", layout="slotted", weighted=True),
        "memory": build(None, weighted=True),
        "out": build(root / "out", directions="out", weighted=True),
        "in": build(root / "in", directions="in", weighted=True),
    }


# The same bits


@pytest.mark.parametrize("kind", ["directed", "undirected"])
@pytest.mark.parametrize(("program", "steps"), [(rank_program(), 6), (heat_program(), 60)])
def test_the_same_bits_however_it_is_run(
    graphs: dict[str, Graph], kind: str, program: Program, steps: int, monkeypatch: Any
) -> None:
    graph = graphs[kind]
    expected = values(graph, program, max_iter=steps)
    ways: list[dict[str, Any]] = [{"threads": threads} for threads in (1, 3)]
    ways += [
        {"threads": 1 + streams % 3, "streams": streams, "cache": cache, "load": False,
         "cache_pages": 4}
        for streams, cache in zip((1, 2, 3, 8), POLICIES, strict=True)
    ]  # fmt: skip
    for how in ways:
        assert (values(graph, program, max_iter=steps, how=how) == expected).all(), how
    # Nor does it matter how many pages are worked on together.
    monkeypatch.setattr(resident_module, "PIECE_EDGES", 2500)
    assert (values(graph, program, max_iter=steps) == expected).all()


def test_pushed_sums_have_the_same_bits_too(graphs: dict[str, Graph]) -> None:
    graph = graphs["directed"]
    expected = values(graph, rank_program(), max_iter=5, strategy="push")
    for how in ({"threads": 1}, {"load": False, "streams": 5, "cache_pages": 3}):
        found = values(graph, rank_program(), max_iter=5, strategy="push", how=how)
        assert (found == expected).all()


# The right values


@pytest.mark.parametrize("strategy", ["pull", "push"])
@pytest.mark.parametrize("kind", ["directed", "undirected", "memory"])
@pytest.mark.parametrize("how", [{}, STREAMED])
def test_ranks(graphs: dict[str, Graph], kind: str, strategy: Any, how: Any) -> None:
    found = values(graphs[kind], rank_program(), max_iter=8, strategy=strategy, how=how)
    np.testing.assert_allclose(found, ranks(graphs[kind], 8), rtol=1e-12)


@pytest.mark.parametrize("strategy", ["auto", "pull", "notify-pull", "push"])
@pytest.mark.parametrize("kind", ["directed", "undirected", "slotted"])
@pytest.mark.parametrize("how", [{}, STREAMED])
def test_minima(graphs: dict[str, Graph], kind: str, strategy: Any, how: Any) -> None:
    graph = graphs[kind]
    outcome = run(graph, label_program(), strategy=strategy, how=how)
    assert (outcome.values["label"] == labels(graph)).all()
    assert outcome.converged
    source = np.array([graph.ids_by_vid().argsort()[7]], np.uint32)
    for start in (None, source):
        found = values(
            graph, path_program(), strategy=strategy, how=how, params={"source": 7}, start=start
        )
        assert (found == distances(graph, 7)).all()


@pytest.mark.parametrize("how", [{}, STREAMED])
@pytest.mark.parametrize("kind", ["directed", "undirected", "in"])
def test_asynchronous_runs_come_to_the_same_minima(
    graphs: dict[str, Graph], kind: str, how: Any
) -> None:
    graph = graphs[kind]
    for strategy in ("auto", "pull"):
        outcome = run(graph, label_program(), mode="async", strategy=strategy, how=how)
        assert (outcome.values["label"] == labels(graph)).all()
    found = run(graph, path_program(), mode="async", params={"source": 3}, how=how)
    assert (found.values["distance"] == distances(graph, 3)).all()
    slow = run(graph, path_program(), strategy="pull", params={"source": 3}, how=how)
    assert found.iterations <= slow.iterations


@pytest.mark.parametrize("how", [{}, STREAMED])
def test_lists_of_one_direction(graphs: dict[str, Graph], how: Any) -> None:
    for kind, impossible in (("out", "pull"), ("out", "notify-pull"), ("in", "push")):
        with pytest.raises(FormatError, match=r"without its (in|out)-lists"):
            run(graphs[kind], label_program(), strategy=impossible, how=how)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="without its out-lists"):
        run(graphs["in"], label_program(), strategy="notify-pull", how=how)
    for kind in ("out", "in"):
        graph = graphs[kind]
        assert (values(graph, label_program(), how=how) == labels(graph)).all()
    # Not incremental, and nothing to pull from: everyone pushes each time.
    pushed = values(graphs["out"], heat_program(), max_iter=100, how=how)
    pulled = values(graphs["in"], heat_program(), max_iter=100, how=how)
    by_id = [
        v[g.ids_by_vid().argsort()] for v, g in ((pushed, graphs["out"]), (pulled, graphs["in"]))
    ]
    np.testing.assert_allclose(*by_id, rtol=1e-12)


@pytest.mark.parametrize("strategy", ["auto", "pull", "notify-pull", "push"])
def test_sums_of_programs_that_fall_asleep(graphs: dict[str, Graph], strategy: Any) -> None:
    graph = graphs["undirected"]
    expected = values(graph, heat_program(), max_iter=200, strategy="pull")
    outcome = run(graph, heat_program(), max_iter=200, strategy=strategy)
    assert outcome.converged
    # What is pushed comes to the same bits only where no list is longer than a page.
    tolerance = 1e-12 if strategy == "push" else 0
    np.testing.assert_allclose(outcome.values["heat"], expected, rtol=tolerance)


# Small and strange graphs


@pytest.mark.parametrize(
    ("src", "dst", "n"),
    [
        ([], [], 0), ([], [], 1), ([], [], 7), ([0], [0], 1),
        ([0, 0, 0, 1, 1, 2], [1, 1, 1, 0, 2, 2], 4),
    ],
)  # fmt: skip
@pytest.mark.parametrize("directed", [True, False])
def test_strange_graphs(tmp_path: Any, src: Any, dst: Any, n: int, directed: Any) -> None:
    arrays = (np.array(src, np.int64), np.array(dst, np.int64), np.arange(1, len(src) + 1))
    common = {"num_vertices": n, "directed": directed, "duplicates": "keep", "weighted": True}
    graph = build(tmp_path / "g" if directed else None, given=arrays, **common)
    pulled = values(graph, heat_program(), strategy="pull")
    for how in ({}, STREAMED):
        for strategy in ("auto", "pull", "push", "notify-pull"):
            found = values(graph, label_program(), strategy=strategy, how=how)
            assert (found == labels(graph)).all()
            heat = values(graph, heat_program(), strategy=strategy, how=how)
            np.testing.assert_array_equal(heat, pulled)
        found = values(graph, rank_program(), max_iter=4, how=how)
        np.testing.assert_allclose(found, ranks(graph, 4), rtol=1e-12)
        if n:
            found = values(graph, path_program(), params={"source": 0}, how=how)
            assert (found == distances(graph, 0)).all()


# Ends


def _ever(new, old):  # type: ignore[no-untyped-def]
    return True


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("strategy", ["auto", "pull"])
def test_what_never_ends_stops_at_max_iter(
    graphs: dict[str, Graph], mode: Any, strategy: Any
) -> None:
    program = label_program(activate=_ever)
    outcome = run(graphs["undirected"], program, mode=mode, strategy=strategy, max_iter=30)
    assert (outcome.iterations, outcome.converged) == (30, False)
    assert run(graphs["undirected"], program, max_iter=0).iterations == 0


def _below(new, old):  # type: ignore[no-untyped-def]
    return 1.0 if new.label < 100 else 0.0


@pytest.mark.parametrize("how", [{}, STREAMED])
@pytest.mark.parametrize("strategy", ["auto", "pull", "push"])
def test_totals_are_over_all_vertices(graphs: dict[str, Graph], strategy: Any, how: Any) -> None:
    graph = graphs["undirected"]
    program = label_program(totals={"below": _below})
    outcome = run(graph, program, strategy=strategy, how=how)
    assert outcome.totals["below"] == (labels(graph) < 100).sum()
    early = run(
        graph, program, strategy=strategy, how=how, until=lambda totals: totals["below"] > 150
    )
    assert early.converged
    assert early.totals["below"] > 150
    assert early.iterations < outcome.iterations


def test_totals_and_notify_pull_do_not_go_together(graphs: dict[str, Graph]) -> None:
    with pytest.raises(OptionError, match=r"notify-pull .* \(below\) are sums over all"):
        run(graphs["directed"], label_program(totals={"below": _below}), strategy="notify-pull")


def _root_init(vertex):  # type: ignore[no-untyped-def]
    return 2.0 - vertex.index


def _root_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return 0.0


def _root_apply(old, a):  # type: ignore[no-untyped-def]
    return np.sqrt(old.root) + a


@pytest.mark.parametrize("how", [{}, STREAMED])
def test_values_that_are_not_numbers_are_counted(graphs: dict[str, Graph], how: Any) -> None:
    program = Program(
        state={"root": np.float32}, init=_root_init, gather=_root_gather, sum="add", identity=0.0,
        apply=_root_apply, name="roots",
    )  # fmt: skip
    graph = graphs["directed"]
    result = ps.run(graph, program, max_iter=2, load=how.get("load", True))
    assert result.stats["nan"] == graph.num_vertices - 3
    assert np.isnan(result.values).sum() == result.stats["nan"]
    assert "nan" not in ps.run(graph, label_program()).stats


# What the user gave


def _given_init(vertex):  # type: ignore[no-untyped-def]
    return vertex.prior


def _given_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.prior * dst.prior


def _given_apply(old, a):  # type: ignore[no-untyped-def]
    return old.value + a + old.prior


def test_arrays_of_the_user_are_not_changed(graphs: dict[str, Graph]) -> None:
    program = Program(
        state={"value": np.int64}, init=_given_init, gather=_given_gather, sum="add", identity=0,
        apply=_given_apply, accumulator=np.int64, fixed={"prior": np.int64}, name="given",
    )  # fmt: skip
    graph = graphs["directed"]
    prior = np.arange(graph.num_vertices) % 13
    before = prior.copy()
    prior.setflags(write=False)
    found = ps.run(graph, program, fields={"prior": prior}, max_iter=2)
    src, dst, _ = graph.to_edges()
    came = np.bincount(dst, weights=(prior[src] * prior[dst]), minlength=len(prior))
    assert (found.values == 3 * prior + 2 * came.astype(np.int64)).all()
    streamed = ps.run(graph, program, fields={"prior": prior}, max_iter=2, load=False)
    assert (streamed.values == found.values).all()
    assert (prior == before).all()
    with pytest.raises(OptionError, match="needs values for its field 'prior'"):
        ps.run(graph, program)
