"""Runs on several CPU devices give what one CPU gives, however they divide the work."""

from __future__ import annotations

import device_programs as programs
import numpy as np
import pytest

import penstock as ps
from penstock.device.spec import Device
from penstock.engine import dispatcher as dispatcher_module
from penstock.errors import BudgetError, OptionError

PULLER = Device("cpu", threads=1, only_pulls=True)
SLOW = Device("cpu", threads=1, only_pulls=True, slowdown=2.0)
#: By what they show; the division that is expected.
TEAMS = {
    "P": ({"devices": "cpu:1,cpu:1"}, "P"),
    "P of three": ({"devices": "cpu:1,cpu:1,cpu:1"}, "P"),
    "S": ({"devices": "cpu:1,cpu:1", "division": "S"}, "S"),
    "S of three": ({"devices": "cpu:1,cpu:2,cpu:1", "division": "S"}, "S"),
    "S in rounds": ({"devices": "cpu:1@2kB,cpu:1@2kB"}, "S"),
    "one in ranges": ({"devices": "cpu:2@2kB"}, "P"),
    "unlike": ({"devices": "cpu:1,cpu:2"}, "P"),
    "a puller": ({"devices": [PULLER]}, "P"),
    "mixed": ({"devices": ["cpu:1", SLOW]}, "P"),
    "mixed by alpha": ({"devices": ["cpu:1", SLOW], "dispatch": "alpha"}, "P"),
}
PLACES = {"memory": {}, "disk": {"load": False}}
NAMES = ("COUNTS", "LABELS", "WIDTHS", "MIXED")


@pytest.fixture(scope="module")
def graph(paged):
    return paged


def run(graph, name, **options):
    program = getattr(programs, name)
    return ps.run(
        graph,
        program,
        params={"source": int(graph.ids[0]), "reach": 3, "decay": 0.5},
        fields={"kind": np.arange(graph.num_vertices) % 5} if program.fixed else None,
        max_iter=4,
        **options,
    )


def assert_same(ours, theirs, name):
    """To the last bit: devices go on with the sums of one another."""
    programs.assert_same(ours, theirs, name)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("team", TEAMS)
@pytest.mark.parametrize("name", NAMES)
def test_programs(graph, name, team, place):
    options, division = TEAMS[team]
    ours = run(graph, name, **options, **PLACES[place])
    assert_same(ours, run(graph, name, threads=2), name)
    assert ours.stats["division"] == division
    assert ours.stats["resident"] == (place == "memory")


@pytest.mark.parametrize("team", ["P", "S", "mixed"])
@pytest.mark.parametrize("name", ["COUNTS", "MIXED"])
def test_values_that_travel_with_the_pages(graph, name, team, monkeypatch):
    """So little memory that values are in files, gathered ones too."""
    monkeypatch.setattr("penstock.engine.plan.SPARE_BYTES", 0)
    options, _ = TEAMS[team]
    theirs = run(graph, name, threads=2)
    from penstock.engine.options import RunOptions

    of = RunOptions.of

    def little(**given):
        from dataclasses import replace

        return replace(of(**given), memory=100_000 if team == "S" else 60_000)

    monkeypatch.setattr(RunOptions, "of", little)
    ours = run(graph, name, load=False, strategy="pull", streams=3, **options)
    assert_same(ours, theirs, name)


def test_a_device_holds_about_its_share(graph):
    ranks = ps.pagerank(graph, devices="cpu:1,cpu:1", division="S", tol=0, max_iter=2)
    whole = 4 * graph.num_vertices
    assert max(ranks.stats["held_bytes"]) <= 0.55 * whole
    assert ranks.stats["devices"] == ["cpu:1", "cpu:1"]
    np.testing.assert_array_equal(ranks.values, ps.pagerank(graph, tol=0, max_iter=2).values)


def test_async_on_two_devices_settles_where_one_does(graph):
    plain = run(graph, "LABELS", mode="async")
    ours = run(graph, "LABELS", mode="async", devices="cpu:1,cpu:1")
    assert ours.stats["totals"] == plain.stats["totals"]
    done = ps.run(graph, programs.LABELS, max_iter=50)
    two = ps.run(graph, programs.LABELS, max_iter=50, mode="async", devices="cpu:1,cpu:1")
    np.testing.assert_array_equal(done.values, two.values)


def test_a_run_on_devices_goes_on_from_a_checkpoint_of_one_cpu(graph, tmp_path):
    whole = run(graph, "COUNTS")
    ps.run(graph, programs.COUNTS, max_iter=2, checkpoint=tmp_path, checkpoint_every="1")
    ours = ps.run(
        graph, programs.COUNTS, max_iter=4, checkpoint=tmp_path, resume=True,
        devices="cpu:1,cpu:1", division="S",
    )  # fmt: skip
    np.testing.assert_array_equal(ours.values, whole.values)


@pytest.mark.parametrize("team", ["P", "S", "mixed", "a puller"])
@pytest.mark.parametrize("load", [True, False])
def test_algorithms_that_have_other_methods_on_one_cpu(graph, team, load):
    devices, _ = TEAMS[team]
    source = int(graph.ids[np.argmax(graph.degrees("out"))])
    for algorithm, given in ((ps.bfs, (source,)), (ps.sssp, (source,))):
        plain, ours = algorithm(graph, *given), algorithm(graph, *given, load=load, **devices)
        np.testing.assert_array_equal(ours.values, plain.values)
        np.testing.assert_array_equal(ours.parents, plain.parents)
        algorithm.verify(graph, ours)
    near = ps.bfs(graph, source, depth_limit=2, load=load, **devices)
    np.testing.assert_array_equal(near.values, ps.bfs(graph, source, depth_limit=2).values)
    far = ps.sssp(graph, source, cutoff=20, load=load, **devices)
    np.testing.assert_array_equal(far.values, ps.sssp(graph, source, cutoff=20).values)
    counted = ps.degree_distribution(graph, "in", load=load, **devices)
    np.testing.assert_array_equal(counted.values, ps.degree_distribution(graph, "in").values)


@pytest.mark.parametrize("team", ["P", "S", "mixed", "a puller"])
def test_components_of_an_undirected_graph(team):
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 900, (2, 700))
    graph = ps.from_edges(src, dst, directed=False)
    ours = ps.connected_components(graph, **TEAMS[team][0])
    np.testing.assert_array_equal(ours.values, ps.connected_components(graph).values)


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("place", PLACES)
def test_s_of_graphs_with_next_to_no_vertices(count, place, tmp_path):
    """Each vertex counts once in totals, on however many devices."""
    halved = ps.Program(
        state={"x": np.float64},
        init=lambda vertex: 1.0,
        gather=lambda src, edge, dst: src.x,
        sum="add",
        identity=0.0,
        apply=lambda old, a: a / 2,
        totals={"all": lambda new, old: new.x},
    )
    edges = np.arange(min(count, 1))
    tiny = ps.build((edges, edges), tmp_path / "g", num_vertices=count)
    devices = {"devices": "cpu:1,cpu:1,cpu:1", "division": "S"}
    ours = ps.run(tiny, halved, max_iter=3, **devices, **PLACES[place])
    assert ours.values.tolist() == [0.125, 0.0][:count]
    assert ours.stats["totals"] == {"all": 0.125 if count else 0.0}


@pytest.mark.parametrize("dispatch", ["time", "alpha"])
def test_a_mixed_team_without_in_lists_pushes(dispatch, tmp_path):
    src, dst = np.random.default_rng(4).integers(0, 50, (2, 200))
    graph = ps.build((src, dst), tmp_path / "g", directions="out")
    ours = ps.pagerank(graph, devices=["cpu:1", PULLER], dispatch=dispatch, tol=0, max_iter=3)
    np.testing.assert_array_equal(ours.values, ps.pagerank(graph, tol=0, max_iter=3).values)
    assert {(row["strategy"], row["devices"]) for row in ours.iterations} == {("push", "host")}


def test_accumulators_between_ranges_are_planned_for(graph):
    """Whether the lists can be kept in ranges, too, or not."""
    plain = run(graph, "COUNTS", load=False, cache_pages=0, streams=2, strategy="pull")
    sums = sum(dtype.itemsize for dtype in programs.COUNTS.accumulators) * graph.num_vertices
    for team in ("S", "one in ranges"):
        ours = run(
            graph, "COUNTS", load=False, cache_pages=0, streams=2, strategy="pull",
            **TEAMS[team][0],
        )  # fmt: skip
        assert ours.stats["planned_memory"] == plain.stats["planned_memory"] + sums


class TestDispatcher:
    def test_few_active_vertices_are_the_hosts(self, graph):
        source = int(graph.ids[np.argmin(graph.degrees("out"))])
        first = ps.bfs(graph, source, devices=["cpu:1", PULLER]).iterations[0]
        assert (first["devices"], first["strategy"]) == ("host", "push")

    def test_what_is_asked_for_is_what_is_done(self, graph):
        both = run(graph, "LABELS", devices=["cpu:1", PULLER], strategy="pull")
        assert {row["devices"] for row in both.iterations} == {"all"}
        alone = run(graph, "WIDTHS", devices=["cpu:1", PULLER], strategy="push")
        assert {row["devices"] for row in alone.iterations} == {"host"}

    def test_all_pull_if_most_is_active(self, graph):
        result = run(graph, "LABELS", devices=["cpu:1", PULLER])
        assert result.iterations[0]["devices"] == "all"

    def test_a_host_that_turned_out_slow_is_helped(self):
        """The same iteration, first expected to be cheap, then known to be dear."""

        class Dealer(dispatcher_module.DynamicScheduler):
            def __init__(self):
                super().__init__(2, lambda *_: False)
                self.seconds, self._pieces = [1.0, 1.0], 10

        class DeviceGroup:
            dealer, host_streams = Dealer(), 1
            devices = tuple(type("D", (), {"spec": each})() for each in (Device(threads=1), PULLER))

        found = dispatcher_module.Dispatcher(DeviceGroup(), "time")
        assert found.ratio() == pytest.approx(1.0)
        assert found.host_alone("notify-pull", 0.3, 0.1, 1.0)
        found.took("notify-pull", 0.3, 9.0)  # to pull all would take 10
        assert not found.host_alone("notify-pull", 0.3, 0.1, 1.0)
        assert found.host_alone("push", 0.3, 0.1, 1.0)
        found.took("notify-pull", 1e-6, 1.0)  # too little to learn from
        assert found.host_alone("notify-pull", 0.01, 0.1, 1.0)
        by_alpha = dispatcher_module.Dispatcher(DeviceGroup(), "alpha")
        assert by_alpha.host_alone("notify-pull", 0.9, 0.4, 1.0)
        assert not by_alpha.host_alone("pull", 1.0, 0.6, 1.0)


class TestRefusals:
    def test_algorithms_for_one_cpu(self, graph):
        with pytest.raises(OptionError, match="core_number runs on one CPU only, got cpu:1, cpu:1"):
            ps.core_number(graph, devices="cpu:1,cpu:1")
        with pytest.raises(OptionError, match="delta: sssp has it on one CPU only"):
            ps.sssp(graph, 0, delta=2.0, devices="cpu:1,cpu:1")
        with pytest.raises(OptionError, match="directed graph looks both ways"):
            ps.connected_components(graph, devices="cpu:1,cpu:1")
        with pytest.raises(OptionError, match="direction"):
            ps.degree_distribution(graph, devices="cpu:1,cpu:1")

    @pytest.mark.parametrize("team", ["S", "S in rounds", "one in ranges"])
    def test_asynchronous_runs_of_divided_values(self, graph, team):
        with pytest.raises(OptionError, match="mode: an asynchronous run"):
            run(graph, "LABELS", mode="async", **TEAMS[team][0])

    @pytest.mark.parametrize(
        "given", [{"number": -1}, {"memory": 0}, {"streams": 0}, {"slowdown": float("nan")}]
    )
    def test_devices_that_cannot_be(self, given):
        with pytest.raises(OptionError, match=f"devices: .*{next(iter(given))}"):
            Device("cuda", **given)

    def test_devices_that_hold_next_to_nothing(self, graph):
        with pytest.raises(BudgetError, match=r"requires at least .* each"):
            ps.pagerank(graph, devices="cpu:1@10B,cpu:1@10B")

    def test_an_error_on_one_device_ends_the_run(self, graph, monkeypatch):
        from penstock.device.host import HostDevice

        before = HostDevice.pull

        def broken(self, stream, piece, *rest):
            if piece.begin > 1000:
                raise RuntimeError("this device has had enough")
            return before(self, stream, piece, *rest)

        monkeypatch.setattr(HostDevice, "pull", broken)
        for team in ("P", "mixed"):
            with pytest.raises(RuntimeError, match="had enough"):
                run(graph, "COUNTS", **TEAMS[team][0])
