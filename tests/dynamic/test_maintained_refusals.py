"""A batch that a maintained algorithm refuses is not applied; failed updates lose no answer."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.dynamic.maintained import MAINTAINED
from penstock.errors import InputError, OptionError, PenstockError

PARAMETERS = {"bfs": {"source": 1}, "sssp": {"source": 1}}


def make_graph(path=None, **options):
    """A graph that maintains all there is."""
    options = {"directed": False, "edge_properties": {"weight": "float64"}, **options}
    graph = ps.DynamicGraph(path, **options)
    graph.add_edges([1, 2, 3, 8], [2, 3, 1, 9], {"weight": [1.0, 2.0, 5.0, 1.0]})
    for name in MAINTAINED:
        graph.maintain(name, **PARAMETERS.get(name, {}))
    return graph


def answers(graph):
    return {name: [each.tolist() for each in graph.maintained[name].by_id()] for name in MAINTAINED}


def check_against_a_new_one(graph):
    """The answers are those of a graph that begins with these edges."""
    src, dst, weight = graph.to_edges()
    other = ps.DynamicGraph(directed=graph.directed, reverse=True, edge_properties={"weight": "f8"})
    other.add_vertices(graph.ids)
    other.add_edges(src, dst, {"weight": weight})
    for name in MAINTAINED:
        other.maintain(name, **PARAMETERS.get(name, {}))
        found, expected = (each.maintained[name].by_id()[1] for each in (graph, other))
        if name == "pagerank":
            assert np.allclose(found, expected, atol=1e-4)
        elif name != "color":  # which depends on the history
            assert np.array_equal(found, expected), name
    other.close()


REFUSED = {
    "negative": lambda g: g.add_edges([5, 3], [6, 4], {"weight": [1.0, -1.0]}),
    "nan": lambda g: g.add_edges([3], [4], {"weight": [np.nan]}),
    "where no path leads": lambda g: g.add_edges([20], [21], {"weight": [-2.0]}),
    "an edge that is there": lambda g: g.add_edges([1], [2], {"weight": [-2.0]}),
    "with deletions": lambda g: g.update_edges(
        [1, 3], [2, 4], [False, True], {"weight": [0.0, -1.0]}
    ),
    "a new value": lambda g: g.edge_properties.set("weight", [1, 2], [2, 3], [7.0, -1.0]),
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_a_batch_that_is_refused_changes_nothing(tmp_path, case, directed):
    path = tmp_path / "g"
    with make_graph(path, directed=directed, reverse=True) as graph:
        before = (graph.num_vertices, graph.num_edges, [e.tolist() for e in graph.to_edges()])
        log = (path / "log.0").read_bytes()
        kept = answers(graph)
        with pytest.raises(InputError, match=r"sssp: edge .* shortest paths need weights of 0"):
            REFUSED[case](graph)
        after = (graph.num_vertices, graph.num_edges, [e.tolist() for e in graph.to_edges()])
        assert after == before
        assert (path / "log.0").read_bytes() == log
        assert answers(graph) == kept
        graph.update_edges([3, 1, 1], [4, 2, 2], [True, False, True], {"weight": [1.0, 0.0, 3.0]})
        check_against_a_new_one(graph)
        edges = sorted(zip(*(e.tolist() for e in graph.to_edges()), strict=True))
    with ps.DynamicGraph(path) as again:
        assert sorted(zip(*(e.tolist() for e in again.to_edges()), strict=True)) == edges


def test_a_row_that_deletes_needs_no_weight():
    with make_graph() as graph:
        graph.update_edges([1], [2], [False], {"weight": [-1.0]})
        check_against_a_new_one(graph)


def test_a_refused_first_batch_does_not_say_what_ids_are():
    with ps.DynamicGraph(directed=False, edge_properties={"weight": "float32"}) as graph:
        graph.maintain("sssp", source=1)
        with pytest.raises(InputError, match="sssp"):
            graph.add_edges(["a"], ["b"], {"weight": [-1.0]})
        assert graph.add_edges([1], [2], {"weight": [1.0]}) == 1
    with ps.DynamicGraph(directed=False, multigraph=True) as graph:
        graph.maintain("degree")
        with pytest.raises(OptionError, match="two calls"):
            graph.update_edges(["a", "b"], ["b", "c"], [True, False])
        assert graph.add_edges([1], [2]) == 1


def test_a_weight_that_cannot_be_is_found_at_once_wherever_it_is():
    """A batch that leads there later could not be refused for it."""
    with ps.DynamicGraph(directed=False, edge_properties={"weight": "float32"}) as graph:
        graph.add_edges([1, 8], [2, 9], {"weight": [1.0, -5.0]})
        with pytest.raises(InputError, match=r"edge 8 - 9 has weight -5\.0"):
            graph.maintain("sssp", source=1)
        graph.delete_edges([8], [9])
        graph.maintain("sssp", source=1)


class BrokenError(Exception):
    """What no algorithm raises."""


@pytest.mark.parametrize("name", MAINTAINED)
def test_an_update_that_fails_half_way_is_computed_from_nothing(tmp_path, name):
    """At each place where an algorithm looks at the graph: it has changed part of its state."""
    with make_graph(tmp_path / "g") as graph:
        held = graph.maintained[name]
        for fails_at in range(6):
            made, k = held._made, 10 + fails_at
            with pytest.MonkeyPatch.context() as patch:
                break_at(patch, made, fails_at)
                with pytest.warns(UserWarning, match=rf"{name}: could not follow.*BrokenError"):
                    graph.update_edges(
                        [1, k, k, 2], [k, 2, 3, 3], [True, True, True, fails_at % 2],
                        {"weight": np.ones(4)},
                    )  # fmt: skip
            assert held._made is not made
            assert graph.maintained[name] is held
            check_against_a_new_one(graph)
        graph.delete_edges([1, 10], [10, 2])
        check_against_a_new_one(graph)


def break_at(patch, made, count):
    """Have an update raise after some of its calls: at the end at the latest."""
    calls = [0]
    update = made.update

    def counted(function):
        def call(*args, **kwargs):
            if calls[0] == count:
                calls[0] += 1
                raise BrokenError
            calls[0] += 1
            return function(*args, **kwargs)

        return call

    def updated(changes):
        update(changes)
        raise BrokenError

    for method in [each for each in dir(type(made)) if each.startswith("_") and each[1] != "_"]:
        if callable(getattr(made, method)) and not isinstance(
            type(made).__dict__.get(method), staticmethod
        ):
            patch.setattr(made, method, counted(getattr(made, method)), raising=False)
    patch.setattr(made, "update", updated)


def test_an_answer_that_cannot_be_computed_is_tried_again_with_the_next_batch(monkeypatch):
    from penstock.dynamic.maintained.degrees import MaintainedDegree

    def fail(*_):
        raise BrokenError("no")

    with make_graph() as graph:
        held = graph.maintained["degree"]
        with monkeypatch.context() as patch:
            patch.setattr(MaintainedDegree, "update", fail)
            patch.setattr(MaintainedDegree, "start", fail)
            with pytest.warns(UserWarning, match="degree: could not"):
                assert graph.add_edges([1], [7]) == 1
        with pytest.raises(PenstockError, match=r"degree: there is no answer.*no"):
            _ = held.values
        with pytest.raises(PenstockError, match="the next batch computes it from nothing"):
            graph.maintained["degree"].by_id()
        assert len(graph.maintained["triangles"].by_id()[0]) == 6, "others go on"
        graph.add_edges([7], [2])
        check_against_a_new_one(graph)


def test_an_interrupted_update_is_computed_from_nothing(monkeypatch):
    with make_graph() as graph:
        held = graph.maintained["bfs"]
        with monkeypatch.context() as patch:

            def stop(_):
                raise SystemExit

            patch.setattr(held._made, "update", stop)
            with pytest.raises(SystemExit):
                graph.add_edges([1], [7])
        for name in MAINTAINED:  # bfs is the first to be told
            with pytest.raises(PenstockError, match="SystemExit"):
                graph.maintained[name].by_id()
        graph.add_edges([7], [2])
        check_against_a_new_one(graph)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"sync": "sometimes"}, "sync: expected"),
        ({"sync": 0}, "sync: expected"),
        ({"threads": 0}, "threads: expected"),
        ({"threshold": 0}, "threshold: expected"),
        ({"memory": "much"}, "much"),
    ],
)
def test_options_that_cannot_be_leave_nothing_behind(tmp_path, option, message):
    with pytest.raises(PenstockError, match=message):
        ps.DynamicGraph(tmp_path / "g", **option)
    assert list(tmp_path.iterdir()) == []
