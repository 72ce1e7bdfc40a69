"""The same bits on every path: whatever is in memory, however values are cut, whoever works."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from threading import main_thread
from time import sleep
from typing import Any

import numpy as np
import pytest
from engine_making import build, edges, run
from engine_programs import heat_program, label_program, path_program, rank_program

import penstock as ps
from penstock.arrays import sequential_sum
from penstock.device.host import HostDevice
from penstock.device.spec import parse_devices
from penstock.engine import plan as plan_module
from penstock.engine import sizes
from penstock.engine import sums as sums_module
from penstock.engine.execute import Outcome
from penstock.engine.sums import grouped, total_cells
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.store.page import LARGE
from penstock.stream import lists as lists_module

VERTICES = 9000


def _given() -> tuple[Any, Any, Any]:
    src, dst, weights = edges(n=6000, m=20000, hubs=3)
    return src, dst, (weights / 7).astype(np.float32)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph]:
    root = tmp_path_factory.mktemp("bits")
    common: dict[str, Any] = {"weighted": True, "given": _given(), "num_vertices": VERTICES}
    return {
        "directed": build(root / "directed", **common),
        "undirected": build(root / "undirected", directed=False, **common),
        "slotted": build(root / "slotted", layout="slotted", **common),
        "short": build(root / "short", page=1 << 16, **common),
        "short undirected": build(root / "both", page=1 << 16, directed=False, **common),
    }


# Programs


def _flow_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.level * edge.weight / 50 + dst.level / 9


def _flow_apply(old, a, p):  # type: ignore[no-untyped-def]
    return 0.3 * old.level + a / (1 + old.in_degree) + p.sum / p.num_vertices


def _flow() -> Program:
    """A weighted sum in float32, which reads both ends of an edge."""
    return Program(
        state={"level": np.float32}, init=lambda vertex: 1 / (3 + vertex.index % 11),
        gather=_flow_gather, sum="add", identity=0.0, apply=_flow_apply, accumulator=np.float32,
        totals={"sum": lambda new, old: new.level}, name="flow",
    )  # fmt: skip


def _both(a, b):  # type: ignore[no-untyped-def]
    return a[0] + b[0], a[1] + b[1]


def _scores() -> Program:
    """Hubs and authorities as HITS has them: a sum of pairs, divided by totals."""
    return Program(
        state={"hub": np.float64, "authority": np.float64},
        init=lambda vertex: (1.0 / (1 + vertex.index % 5), 1.0),
        gather=lambda src, edge, dst: (src.hub, src.authority / (1 + src.index % 3)),
        sum=_both, identity=(0.0, 0.0), accumulator=(np.float64, np.float64),
        apply=lambda old, a, p: (a[1] / (1 + p.hubs), (a[0] + 0.1) / (1 + p.authorities)),
        totals={"hubs": lambda new, old: new.hub, "authorities": lambda new, old: new.authority},
        name="scores",
    )  # fmt: skip


def _counts() -> Program:
    """A sum of whole numbers, and a total of floats."""
    return Program(
        state={"paths": np.uint16}, init=lambda vertex: vertex.out_degree + 1,
        gather=lambda src, edge, dst: src.paths % 1000, sum="add", identity=0,
        apply=lambda old, a: (a + old.index) % 1000, accumulator=np.int32,
        totals={"thirds": lambda new, old: new.paths / 3}, name="counts",
    )  # fmt: skip


#: With their settings.
PROGRAMS: dict[str, tuple[Callable[[], Program], dict[str, Any]]] = {
    "ranks": (rank_program, {"max_iter": 5}),
    "narrow ranks": (lambda: rank_program(np.float32), {"max_iter": 5}),
    "flow": (_flow, {"max_iter": 4}),
    "scores": (_scores, {"max_iter": 4}),
    "heat": (heat_program, {"max_iter": 6, "strategy": "pull"}),
    "counts": (_counts, {"max_iter": 4}),
    "labels": (label_program, {"strategy": "pull"}),
    "paths": (path_program, {"strategy": "pull", "params": {"source": 7}}),
}
#: Sums of floats.
SUMS = ("ranks", "narrow ranks", "flow", "scores", "heat")


def bits(outcome: Outcome) -> dict[str, Any]:
    """All that a run comes to, floats as their bits."""
    fields = {name: np.ascontiguousarray(v).tobytes() for name, v in outcome.values.items()}
    totals = {name: value.hex() for name, value in outcome.totals.items()}
    return {**fields, "totals": totals, "iterations": outcome.iterations}


@cache
def _in_memory(graph: Graph, name: str) -> dict[str, Any]:
    made, given = PROGRAMS[name]
    return bits(run(graph, made(), how={"threads": 2}, **given))


# Ways to run

Way = dict[str, Any]
STREAMED: Way = {"load": False}


def _devices(text: str, division: str = "auto", **more: Any) -> Way:
    devices = parse_devices(text)
    return {
        "devices": devices, "division": division,
        "threads": sum(device.threads or 1 for device in devices), **more,
    }  # fmt: skip


#: Options, and what is forced upon the plan.
WAYS: dict[str, tuple[Way, dict[str, Any]]] = {
    "one thread": ({"threads": 1}, {}),
    "four threads": ({"threads": 4}, {}),
    "one stream": ({**STREAMED, "threads": 1, "streams": 1, "cache_pages": 0}, {}),
    "five streams": ({**STREAMED, "threads": 2, "streams": 5, "cache_pages": 4}, {}),
    "cached": ({**STREAMED, "threads": 4, "cache": "mru", "cache_pages": 1000}, {}),
    "travelling": (STREAMED, {"state": "streamed"}),
    "two ranges": (STREAMED, {"state": "ranges", "ranges": 2}),
    "three ranges": ({**STREAMED, "threads": 1, "streams": 1}, {"state": "ranges", "ranges": 3}),
    "many ranges": ({**STREAMED, "threads": 4}, {"state": "ranges", "ranges": 17}),
    "cut": ({"threads": 2}, {"cut": True}),
    "P": (_devices("cpu:1,cpu:1"), {}),
    "P, streamed": (_devices("cpu:1,cpu:2", **STREAMED), {}),
    "P in ranges": (_devices("cpu:2@9kB"), {}),
    "S": (_devices("cpu:1,cpu:1", "S"), {}),
    "S of three": (_devices("cpu:1,cpu:2,cpu:1", "S"), {}),
    "S, streamed": (_devices("cpu:2,cpu:2", "S", **STREAMED, cache_pages=2), {}),
    "S in rounds": (_devices("cpu:1@9kB,cpu:1@9kB", "S"), {}),
    "S in ranges": (_devices("cpu:1,cpu:1", "S", **STREAMED), {"state": "ranges", "ranges": 3}),
}


@pytest.fixture
def force(monkeypatch: Any) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What makes all further plans of programs have their values elsewhere, or in ranges."""

    def change(forced: dict[str, Any]) -> None:
        if "cut" in forced:
            monkeypatch.setattr(sizes, "CACHE_BYTES", 4000)
            monkeypatch.setattr(sizes, "HUB_SHARE", 1.0)
        elif forced:
            fit = plan_module.fit

            def fitted(wanted: Any, limits: Any) -> Any:
                found = fit(wanted, limits)
                return replace(found, **forced) if found and wanted.gathered_bytes else found

            monkeypatch.setattr(plan_module, "fit", fitted)

    return change


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["directed", "undirected", "slotted"])
def test_programs(graphs: dict[str, Graph], kind: str, way: str, force: Any) -> None:
    how, forced = WAYS[way]
    graph = graphs[kind]
    assert (graph.page_table("in")["run"] > 1).any()  # lists of three pages
    expected = {name: _in_memory(graph, name) for name in PROGRAMS}
    force(forced)
    for name, (made, given) in PROGRAMS.items():
        outcome = run(graph, made(), how=how, **given)
        assert bits(outcome) == expected[name], name
        plan = outcome.engine.plan
        assert plan.state == forced.get("state", "memory")
        assert plan.ranges == forced.get("ranges", 1)
        assert plan.shares.division == way[0] or way[0] not in "PS"
        if "cut" in forced:
            assert plan.cut_ranges > 2
        if way[0] == "S" or way == "P in ranges":
            assert plan.shares.ranges > 1


@pytest.mark.parametrize("kind", ["directed", "undirected"])
def test_ways_that_look_at_some_vertices(graphs: dict[str, Graph], kind: str) -> None:
    graph = graphs[kind]
    for name, strategies in (
        ("heat", ("notify-pull", "auto")), ("labels", ("notify-pull", "push", "auto")),
        ("paths", ("notify-pull", "push", "auto")), ("counts", ("push",)),
    ):  # fmt: skip
        made, given = PROGRAMS[name]
        for strategy in strategies:
            for how in ({"threads": 1}, {"threads": 4}, {**STREAMED, "streams": 3}):
                found = run(graph, made(), how=how, **{**given, "strategy": strategy})
                assert bits(found) == _in_memory(graph, name), (name, strategy, how)


@pytest.mark.parametrize("kind", ["short", "short undirected"])
def test_pushed_sums_are_pulled_sums_where_no_list_is_longer_than_a_page(
    graphs: dict[str, Graph], kind: str
) -> None:
    graph = graphs[kind]
    assert (graph.page_table("in")["kind"] != LARGE).all()
    for name in SUMS:
        made, given = PROGRAMS[name]
        for how in ({"threads": 2}, {**STREAMED, "streams": 3}):
            found = run(graph, made(), how=how, **{**given, "strategy": "push"})
            assert bits(found) == _in_memory(graph, name), name


ALGORITHMS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda g, **how: ps.pagerank(g, tol=0, max_iter=6, dtype="float64", **how),
    "narrow": lambda g, **how: ps.pagerank(g, **how),
    "personal": lambda g, **how: ps.pagerank(
        g, personalization={3: 1.0, 8: 2.5, 100: 0.1}, dangling={5: 1.0}, weight=True, **how
    ),
    "rwr": lambda g, **how: ps.rwr(g, [7, 8], weight=True, dtype="float64", **how),
    "heat": lambda g, **how: ps.heat(g, {7: 3.0, 900: 1.0}, **how),
    "circuit": lambda g, **how: ps.circuit(g, {7: 1.0, 12: 0.0}, **how),
    "neural_network": lambda g, **how: ps.neural_network(g, {7: 1.0, 12: -0.5}, 0.1, **how),
}


@pytest.mark.parametrize("way", ["one", "streamed", "ranges", "S"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms(graphs: dict[str, Graph], name: str, way: str, force: Any) -> None:
    graph = graphs["directed" if name in ("pagerank", "neural_network") else "undirected"]
    plain = ALGORITHMS[name](graph, threads=2)
    how, forced = {
        "one": ({"threads": 1}, {}),
        "streamed": ({"load": False, "streams": 3}, {"state": "streamed"}),
        "ranges": ({"load": False}, {"state": "ranges", "ranges": 5}),
        "S": ({"devices": "cpu:1,cpu:1,cpu:1", "division": "S"}, {}),
    }[way]
    force(forced)
    found = ALGORITHMS[name](graph, **how)
    assert found.values.tobytes() == plain.values.tobytes()
    assert found.stats["iterations"] == plain.stats["iterations"]


# Cells of totals


def test_cells_are_pages_and_vertices_with_longer_lists(
    graphs: dict[str, Graph], monkeypatch: Any
) -> None:
    table = graphs["directed"].page_table("in")
    cells = total_cells(table)
    assert [a for a, _ in cells] == np.unique(table["first_vid"]).tolist()
    assert [0, *(b for _, b in cells)] == [*(a for a, _ in cells), VERTICES]
    monkeypatch.setattr(lists_module, "PIECE_VERTICES", 50)
    monkeypatch.setattr(sums_module, "SPAN", 120)
    smaller = total_cells(table)
    assert max(b - a for a, b in smaller) == 50
    assert {a for a, _ in cells} < {a for a, _ in smaller}
    groups = grouped(smaller)
    assert [cell for group in groups for cell in group] == smaller
    lengths = [group[-1][1] - group[0][0] for group in groups]
    assert 50 < max(lengths) <= 120


def test_pages_of_very_many_vertices(
    graphs: dict[str, Graph], force: Any, monkeypatch: Any
) -> None:
    """The last pages have all vertices without edges."""
    monkeypatch.setattr(lists_module, "PIECE_VERTICES", 500)
    made, given = PROGRAMS["scores"]
    expected = bits(run(graphs["directed"], made(), how={"threads": 1}, **given))
    assert expected == bits(run(graphs["directed"], made(), how=STREAMED, **given))
    force({"state": "ranges", "ranges": 3})
    assert expected == bits(run(graphs["directed"], made(), how=STREAMED, **given))


def test_sums_of_python_are_not_compensated() -> None:
    assert sequential_sum([0.1] * 10) == 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1
    assert sequential_sum([0.1] * 10) != 1.0
    assert sequential_sum([]) == 0
    assert isinstance(sequential_sum([2, 3]), int)


# Devices that wait for one another


@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_on_one_device_ends_the_wait_of_others(
    graphs: dict[str, Graph], failing: int, load: Any, monkeypatch: Any
) -> None:
    true_accumulate, calls = HostDevice.accumulate, 0

    def accumulate(self: HostDevice, *args: Any) -> None:
        nonlocal calls
        if (self._low > 0) == failing:
            calls += 1
            if calls == 3:
                raise ZeroDivisionError("on a device")
        true_accumulate(self, *args)

    monkeypatch.setattr(HostDevice, "accumulate", accumulate)
    with pytest.raises(ZeroDivisionError, match="on a device"):
        run(graphs["directed"], rank_program(), how=_devices("cpu:1,cpu:2", "S", load=load))


def test_an_interrupt_ends_the_wait_of_devices(graphs: dict[str, Graph], monkeypatch: Any) -> None:
    true_accumulate, calls = HostDevice.accumulate, 0

    def accumulate(self: HostDevice, *args: Any) -> None:
        nonlocal calls
        if self._low == 0:  # the first device: the other one waits for each piece
            calls += 1
            if calls == 3:
                signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
            sleep(0.2)
        true_accumulate(self, *args)

    monkeypatch.setattr(HostDevice, "accumulate", accumulate)
    with pytest.raises(KeyboardInterrupt):
        run(graphs["directed"], rank_program(), how=_devices("cpu:1,cpu:2", "S"))
    assert calls < 6
