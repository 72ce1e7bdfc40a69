"""What algorithms need is known from counts: of any graph, also of one that does not exist."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.algorithms import find, names
from penstock.config import parse_bytes
from penstock.engine.counts import Counts, HeadBytes, ListCounts, Selected, counts_of
from penstock.engine.needs import Needs, Room
from penstock.engine.options import RunOptions
from penstock.engine.plan import SPARE_BYTES, Plan, make_plan
from penstock.errors import BudgetError, OptionError

PAGE = 1 << 20
ENDLESS = 1 << 62
OPTIONS = RunOptions(memory=ENDLESS, threads=2)


def imagined(num_vertices: int, mean_degree: int, *, directed: bool = True, **more: Any) -> Counts:
    """A graph that nobody has: every vertex has as many neighbours."""
    edges = num_vertices * mean_degree
    degrees = np.broadcast_to(np.uint32(mean_degree), num_vertices)
    histogram = [0] * (mean_degree.bit_length() + 1)
    histogram[mean_degree.bit_length()] = num_vertices
    by_edges = np.arange(mean_degree + 1, dtype=np.int64) * 4 * num_vertices
    lists = ListCounts(
        edges, max(2 * edges // PAGE, 1), mean_degree, histogram, lambda: degrees, 4 * PAGE,
        head_bytes=lambda: HeadBytes(5 * num_vertices, by_edges),
    )  # fmt: skip
    stored = {"out": lists, "in": lists} if directed else {"out": lists}
    return Counts(
        num_vertices, edges if directed else edges // 2, directed, stored, PAGE,
        columns={"weight": np.dtype(np.float32)}, weight="weight", **more,
    )  # fmt: skip


#: A billion vertices and 32 billion edges; and one that fits anywhere.
LARGE = [imagined(10**9, 32, directed=directed) for directed in (True, False)]
SMALL = [imagined(1000, 8, directed=directed) for directed in (True, False)]
ONE = Selected(1, lambda direction: 32)


def needs_of(name: str, counts: Counts, **own: Any) -> list[Needs]:
    """What an algorithm needs, with something for each parameter that must be given."""
    required = required_of(name, vertex=ONE, vertices=ONE, values={0: 1.0})
    return list(find(name).requirements(counts, **{**required, **own}))


def required_of(name: str, *, vertex: Any, vertices: Any, values: Any) -> dict[str, Any]:
    """Something for each parameter that must be given."""
    found = find(name)
    kinds = {"vertex": vertex, "vertices": vertices, "vertex values": values}
    return {
        each.name: kinds.get(found.kinds.get(each.name, ""), 3)
        for each in found.parameters.values()
        if each.default is inspect.Parameter.empty
    }


def planned(requirements: list[Needs], counts: Counts, memory: int) -> tuple[int, Plan]:
    """Which of the needs is taken, and how."""
    plan = make_plan(counts, requirements, replace(OPTIONS, memory=memory))
    return requirements.index(plan.needs), plan


def enough(requirements: list[Needs], counts: Counts) -> int:
    """What a refusal says is enough."""
    with pytest.raises(BudgetError) as refused:
        planned(requirements, counts, 1)
    figure = re.search(r"requires at least (\S+ \S+)", str(refused.value))
    assert figure is not None
    return parse_bytes(figure[1])


@pytest.mark.parametrize(
    "counts", [*LARGE, *SMALL], ids=["large", "large both ways", "small", "small both ways"]
)
@pytest.mark.parametrize("name", names())
def test_a_graph_that_does_not_exist(name: str, counts: Counts) -> None:
    requirements = needs_of(name, counts)
    assert planned(requirements, counts, ENDLESS)[0] == 0, "the best comes first"
    if name == "degree_distribution":  # needs nothing but what is spare
        return
    least = enough(requirements, counts)
    chosen, plan = planned(requirements, counts, least)
    assert plan.memory_bytes <= least
    before = len(requirements)
    for memory in np.geomspace(least, 64 * least, 12).astype(int).tolist():
        chosen, plan = planned(requirements, counts, memory)
        assert plan.memory_bytes <= memory
        assert chosen <= before, "more memory never leads to a worse way"
        before = chosen


@pytest.mark.parametrize("name", names())
def test_counts_of_an_open_graph_lead_to_the_same(name: str) -> None:
    graph = ps.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2.0, 3.0, 4.0], directed=False)
    found = find(name)
    required = required_of(name, vertex=1, vertices=[1], values={1: 1.0})
    by_graph = found.requirements(graph, **required)
    selected = Selected(1, lambda direction: 2)
    by_counts = found.requirements(
        counts_of(graph),
        **{k: selected if found.kinds.get(k, "") in ("vertex", "vertices") else v
           for k, v in required.items()},
    )  # fmt: skip
    assert [plain(each) for each in by_graph] == [plain(each) for each in by_counts]


def plain(needs: Needs) -> Needs:
    """Without the functions of a program, which are made anew each time."""
    return replace(needs, program=None)


@pytest.mark.parametrize("name", names())
def test_parameters_that_cannot_be_are_refused_by_the_plan_too(name: str) -> None:
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], directed=False)
    found = find(name)
    wrong = {"k": -1, "alpha": 2.0, "max_iter": -1, "tol": -1.0, "radius": -1, "epsilon": 2.0}
    own = required_of(name, vertex=1, vertices=[1], values={1: 1.0})
    for parameter in set(wrong) & set(found.parameters) - {"k" if name == "k_truss" else ""}:
        given = {**own, parameter: wrong[parameter]}
        if name == "bfs":
            given = {**own, "alpha": -1.0, "beta": 1.0}
        for act in (lambda: found.plan(graph, OPTIONS, given), lambda: found(graph, **given)):  # noqa: B023
            with pytest.raises(OptionError, match=parameter):
                act()


# Rooms


@settings(deadline=None)
@given(st.integers(0, 10**7), st.integers(0, 10**8), st.integers(SPARE_BYTES, 1 << 28))
def test_room_is_granted_up_to_what_is_left(least: int, more: int, memory: int) -> None:
    counts = SMALL[0]
    needs = Needs(("out",), 1.0, vertex_bytes=8, room=Room(least, least + more))
    try:
        _, plan = planned([needs], counts, memory)
    except BudgetError:
        return
    assert least <= plan.room <= least + more
    assert plan.memory_bytes <= memory
    if plan.room < least + more:
        assert not plan.resident, "lists stay only beside all the room that can be used"
        assert plan.cache_pages == 0
        assert memory - plan.memory_bytes < PAGE


def test_room_comes_after_lists_that_have_to_be_in_memory() -> None:
    needs = Needs(("out",), 1.0, room=Room(0, 1 << 30), forms=("memory",))
    _, plan = planned([needs], SMALL[0], SPARE_BYTES + (100 << 20))
    assert plan.resident
    assert plan.memory_bytes == SPARE_BYTES + (100 << 20)


def test_the_other_parts_of_a_run_have_to_fit_as_well() -> None:
    part = Needs(("out",), 1.0, more_bytes=1 << 30)
    needs = Needs((), 1.0, parts=(part,))
    assert planned([Needs((), 1.0)], SMALL[0], 1 << 26)[0] == 0
    with pytest.raises(BudgetError):
        planned([needs], SMALL[0], 1 << 26)


def test_lists_in_heads_that_cannot_be() -> None:
    needs = [Needs(("out",), 1.0, forms=("heads",), head_edges=1)]
    assert planned(needs, SMALL[0], ENDLESS)[1].head_edges == 1
    with pytest.raises(OptionError, match="load: needs lists in memory, but load is False"):
        make_plan(SMALL[0], needs, replace(OPTIONS, load=False))


def test_the_table_of_all_edges_is_part_of_the_need() -> None:
    # Few vertices, many edges: the result is larger than what it is made from.
    counts = imagined(10, 10**5)
    smallest = enough(needs_of("edge_betweenness", counts, k=2), counts)
    assert smallest > (8 + 8 + 36) * counts.num_edges
