from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engine_making import build
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.algorithms import find
from penstock.engine import estimate as module
from penstock.engine.division import Shares
from penstock.engine.estimate import Estimate, Facts, estimate, estimate_run
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.plan import Plan
from penstock.engine.profile import GATHER_BYTES, Cores, Disk, Profile
from penstock.engine.topology import LISTS
from penstock.errors import BudgetError, IdError
from penstock.store.graph import Graph

MB = 1 << 20
CORES = Cores(GATHER_BYTES, (0.5, 1.0, 1.5, 4.0, 6.0), 0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.9, 0.0)
DISK = Disk(2e9, 1e9, 1e9, 0.0)
PROFILE = Profile(2, CORES, DISK)
NEEDS = Needs(("in",), 10.0, vertex_bytes=12)
#: A vector of 16 MB.
FACTS = Facts(
    num_vertices=1 << 22,
    num_lists=1 << 22,
    num_edges=10**8,
    num_pages=300,
    page_bytes=MB,
    topology_bytes=4 * 10**8,
    stream_bytes=4 * MB,
    state_bytes=12 << 22,
    resident_bytes=500 * MB,
    shares=(1 / 64, 1 / 16, 1 / 4, 1.0, 1.0),
)
IN_MEMORY = Plan(4, True, False, 0, "memory", 1, 500 * MB)
STREAMED = Plan(4, False, False, 0, "memory", 1, 70 * MB)


def passing(found: Estimate, profile: Profile = PROFILE) -> float:
    """Nanoseconds of a thread for an edge, where nothing else counts."""
    seconds = found.seconds - module.START_SECONDS
    return 1e9 * seconds * profile.threads / (found.passes * FACTS.num_edges)


# Time


def test_values_met_evenly_cost_what_the_profile_says() -> None:
    found = estimate(NEEDS, IN_MEMORY, replace(FACTS, loaded=True), PROFILE)
    assert passing(found) == pytest.approx(4.0)
    assert found.limit == "memory"


def test_hubs_at_the_beginning_make_it_faster() -> None:
    hubs = replace(FACTS, loaded=True, shares=(0.9, 0.95, 1.0, 1.0, 1.0))
    found = estimate(NEEDS, IN_MEMORY, hubs, PROFILE)
    assert passing(found) == pytest.approx(0.9 * 0.5 + 0.05 * (4 - 0.5) / 3 + 0.05 * (6 - 1) / 3)
    assert found.limit == "cores"


def test_what_is_beyond_the_largest_vector_costs_what_its_last_part_does() -> None:
    cores = replace(CORES, gather_bytes=GATHER_BYTES[:3], gather_ns=CORES.gather_ns[:3])
    shares = replace(FACTS, loaded=True, shares=(0.0, 0.0, 0.0))
    found = estimate(NEEDS, IN_MEMORY, shares, Profile(2, cores, DISK))
    assert passing(found) == pytest.approx((4 * 1.5 - 1 * 1.0) / 3)


def test_lists_cut_for_the_cache_cost_what_a_small_vector_does() -> None:
    cut = replace(IN_MEMORY, cut=True)
    facts = replace(FACTS, loaded=True, cut_made=True, cut_ranges=4)
    found = estimate(NEEDS, cut, facts, PROFILE)
    assert passing(found) == pytest.approx(1.5)
    assert found.limit == "cores"
    first = estimate(NEEDS, cut, replace(facts, cut_made=False), PROFILE)
    assert first.seconds > found.seconds


def test_loading_is_paid_once() -> None:
    one = estimate(replace(NEEDS, passes=1.0), IN_MEMORY, FACTS, PROFILE)
    ten = estimate(NEEDS, IN_MEMORY, FACTS, PROFILE)
    again = estimate(NEEDS, IN_MEMORY, replace(FACTS, loaded=True), PROFILE)
    assert one.bytes_read == ten.bytes_read == 300 * MB
    assert again.bytes_read == 0
    assert ten.seconds - one.seconds == pytest.approx(0.9 * (again.seconds - module.START_SECONDS))
    assert ten.seconds - again.seconds >= 300 * MB / DISK.rate


def test_a_slow_disk_is_the_limit() -> None:
    slow = Profile(2, CORES, Disk(1e8, 1e8, 1e8, 0.0))
    found = estimate(NEEDS, STREAMED, FACTS, slow)
    assert found.limit == "disk"
    assert found.seconds - module.START_SECONDS == pytest.approx(10 * 300 * MB / 1e8)
    fast = Profile(2, CORES, Disk(1e12, 1e12, 1e12, 0.0))
    assert estimate(NEEDS, STREAMED, FACTS, fast).limit == "memory"


def test_one_stream_reads_and_works_by_turns() -> None:
    alone = replace(STREAMED, streams=1)
    found = estimate(NEEDS, alone, FACTS, PROFILE)
    cpu = 10 * 10**8 * (4.0 + 0.2) / 1e9
    expected = cpu + 10 * 300 * MB / DISK.stream_rate
    assert found.seconds - module.START_SECONDS == pytest.approx(expected)


def test_values_that_travel_cost_time() -> None:
    travelling = replace(STREAMED, state="streamed")
    more = estimate(NEEDS, travelling, FACTS, PROFILE)
    assert more.seconds > estimate(NEEDS, STREAMED, FACTS, PROFILE).seconds
    ranges = estimate(NEEDS, replace(travelling, state="ranges", ranges=3), FACTS, PROFILE)
    assert ranges.seconds > more.seconds


# Bytes and memory


def test_a_graph_in_memory_reads_nothing() -> None:
    for plan in (IN_MEMORY, STREAMED):
        assert estimate(NEEDS, plan, FACTS, Profile(2, CORES, None)).bytes_read == 0


def test_ranges_multiply_passes_and_cached_pages_save_all_but_the_first() -> None:
    plan = replace(STREAMED, cache_pages=100)
    assert estimate(NEEDS, plan, FACTS, PROFILE).bytes_read == (300 + 9 * 200) * MB
    plan = replace(STREAMED, state="ranges", ranges=3)
    assert estimate(NEEDS, plan, FACTS, PROFILE).bytes_read == 30 * 300 * MB


@given(st.integers(0, 400), st.integers(0, 400), st.floats(0, 40), st.integers(1, 4))
def test_more_cache_never_reads_more(few: int, more: int, passes: float, ranges: int) -> None:
    cost = replace(NEEDS, passes=passes)
    plans = [replace(STREAMED, cache_pages=few + k, ranges=ranges) for k in (0, more)]
    first, second = (estimate(cost, plan, FACTS, PROFILE) for plan in plans)
    assert second.bytes_read <= first.bytes_read <= passes * ranges * 300 * MB
    assert second.seconds <= first.seconds


@given(st.floats(0, 40), st.floats(0, 40), st.booleans())
def test_more_passes_never_take_less(passes: float, more: float, resident: bool) -> None:  # noqa: FBT001
    plan = IN_MEMORY if resident else STREAMED
    costs = [replace(NEEDS, passes=passes + k) for k in (0, more)]
    first, second = (estimate(cost, plan, FACTS, PROFILE) for cost in costs)
    assert first.seconds <= second.seconds
    assert first.bytes_read <= second.bytes_read


@pytest.mark.parametrize("plan", [IN_MEMORY, STREAMED, replace(STREAMED, cache_pages=2)])
def test_the_parts_of_memory_add_up(plan: Plan) -> None:
    found = estimate(NEEDS, plan, FACTS, PROFILE)
    assert found.memory_bytes == plan.memory_bytes == sum(found.memory.values())


def test_values_that_travel_take_memory_on_their_way() -> None:
    found = estimate(NEEDS, replace(STREAMED, state="streamed"), FACTS, PROFILE)
    assert found.memory_bytes == sum(found.memory.values())
    assert found.memory_bytes == STREAMED.memory_bytes + module.TRAVELLING_BYTES


# Against runs


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("estimate") / "g.penstock")


@pytest.fixture(autouse=True)
def profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "profile_for", lambda graph, threads, memory, anew: PROFILE)


def options(memory: int, **more: object) -> RunOptions:
    return replace(RunOptions.of(threads=2, **more), memory=memory)


#: From ranges of values to everything in memory.
BUDGETS = [2_140_000, 2_163_000, 2_250_000, 2_380_000, 1 << 28]


@pytest.mark.parametrize(
    ("name", "memory"),
    [*(("pagerank", k) for k in BUDGETS), *(("connected_components", k) for k in BUDGETS[2:])],
)
def test_plan_and_bytes_are_those_of_the_run(
    name: str, memory: int, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"max_iter": 3, "tol": 0} if name == "pagerank" else {}
    given = options(memory)
    fresh = ps.open(str(graph.path))
    expected = estimate_run(fresh, find(name), parameters, given)
    monkeypatch.setattr(RunOptions, "of", lambda **_: given)
    stats = find(name)(fresh, **parameters).stats
    plan = expected.plan
    assert stats["planned_memory"] == plan.memory_bytes
    assert (stats["resident"], stats["ranges"]) == (plan.resident, plan.ranges)
    assert stats["streams"] == plan.streams
    assert stats["bytes_read"] == expected.bytes_read


def test_the_budgets_are_of_every_kind(graph: Graph) -> None:
    plans = [
        estimate_run(graph, find("pagerank"), {"max_iter": 3}, options(memory)).plan
        for memory in BUDGETS
    ]
    assert {plan.resident for plan in plans} == {True, False}
    assert {plan.state for plan in plans} == {"memory", "streamed", "ranges"}


def test_lists_that_are_loaded_are_not_read_again(graph: Graph) -> None:
    fresh = ps.open(str(graph.path))
    chosen, parameters = find("pagerank"), {"max_iter": 3, "tol": 0}
    before = estimate_run(fresh, chosen, parameters, options(1 << 28))
    ps.pagerank(fresh, **parameters)
    after = estimate_run(fresh, chosen, parameters, options(1 << 28))
    assert before.bytes_read > after.bytes_read == 0
    assert after.seconds < before.seconds


def test_with_the_budget_that_it_names_a_run_is_in_memory(graph: Graph) -> None:
    chosen = find("pagerank")
    found = estimate_run(graph, chosen, {}, options(2_250_000))
    assert not found.plan.resident
    assert estimate_run(graph, chosen, {}, options(found.resident_bytes)).plan.resident
    assert not estimate_run(graph, chosen, {}, options(found.resident_bytes - 1)).plan.resident


def test_it_refuses_what_the_run_refuses(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    given = options(1_000_000)
    with pytest.raises(BudgetError) as early:
        estimate_run(graph, find("pagerank"), {}, given)
    monkeypatch.setattr(RunOptions, "of", lambda **_: given)
    with pytest.raises(BudgetError) as late:
        ps.pagerank(graph)
    assert str(early.value) == str(late.value)


def test_it_refuses_a_vertex_that_is_not_there(graph: Graph) -> None:
    with pytest.raises(IdError, match="no vertex -5"):
        estimate_run(graph, find("bfs"), {"source": -5}, options(1 << 28))


def test_an_estimate_runs_and_keeps_nothing(graph: Graph, tmp_path: Path) -> None:
    fresh = ps.open(str(graph.path))
    given = options(1 << 28, checkpoint=tmp_path / "saved", trace=tmp_path / "trace.json")
    found = estimate_run(fresh, find("degree_distribution"), {"direction": "out"}, given)
    assert (found.bytes_read, found.passes) == (0, 0.0)
    estimate_run(fresh, find("connected_components"), {}, given)
    assert not fresh.kept.keys(LISTS)
    assert not list(tmp_path.iterdir())


def test_a_graph_without_vertices() -> None:
    empty = ps.from_edges([], [], num_vertices=0)
    for name in ("pagerank", "connected_components"):
        assert estimate_run(empty, find(name), {}, options(1 << 28)).bytes_read == 0


# Several devices


def test_slow_devices_are_worth_fewer_threads() -> None:
    plain = estimate(NEEDS, IN_MEMORY, replace(FACTS, loaded=True), PROFILE)
    half = estimate(NEEDS, IN_MEMORY, replace(FACTS, loaded=True, speed=1.0, devices=2), PROFILE)
    assert half.seconds - module.START_SECONDS == pytest.approx(
        2 * (plain.seconds - module.START_SECONDS)
    )


def test_the_device_with_most_edges_decides() -> None:
    even = replace(FACTS, loaded=True, division=Shares("S", 2), devices=2, cut_made=True)
    cut = replace(IN_MEMORY, cut=True)
    uneven = replace(even, imbalance=2.0)
    assert passing(estimate(NEEDS, cut, uneven, PROFILE)) == pytest.approx(
        2 * passing(estimate(NEEDS, cut, even, PROFILE))
    )
    whole = estimate(NEEDS, IN_MEMORY, even, PROFILE)
    assert whole.seconds > estimate(NEEDS, cut, even, PROFILE).seconds  # lists are cut every time


def test_pages_pass_for_each_range_and_are_read_once_for_devices_side_by_side() -> None:
    rounds = replace(FACTS, division=Shares("P", 3))
    assert estimate(NEEDS, STREAMED, rounds, PROFILE).bytes_read == 30 * 300 * MB
    side = replace(FACTS, division=Shares("S", 2), devices=2)
    some = replace(STREAMED, cache_pages=1)
    once = estimate(NEEDS, some, side, PROFILE).bytes_read
    assert once == estimate(NEEDS, some, FACTS, PROFILE).bytes_read
    assert estimate(NEEDS, STREAMED, side, PROFILE).bytes_read == 20 * 300 * MB


@pytest.mark.parametrize("division", ["P", "S"])
def test_an_estimate_knows_how_devices_divide(graph: Graph, division: str) -> None:
    options = RunOptions.of(devices="cpu:1,cpu:1", division=division, memory="200MB")
    found = estimate_run(graph, find("pagerank"), {}, options)
    result = find("pagerank")(graph, devices="cpu:1,cpu:1", division=division, memory="200MB")
    assert found.plan.resident == result.stats["resident"]
    assert found.memory_bytes == result.stats["planned_memory"]
