"""Rules of ``DynamicGraph`` at its edges: closed, read, refused, told."""

from __future__ import annotations

import errno
import gc
import itertools
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import penstock as ps
from penstock.dynamic import ids, region
from penstock.errors import AddressingError, BudgetError, InputError, OptionError, PenstockError


def test_a_closed_graph_does_nothing_more(tmp_path):
    """Least of all to the directory, which may be another's by now."""
    old = ps.DynamicGraph(tmp_path / "g")
    old.add_edges([1], [2])
    old.close()
    with ps.DynamicGraph(tmp_path / "g") as new:
        new.add_edges([2], [3])
        new.compact()
        for call in (
            old.compact, old.refresh, lambda: old.add_edges([1], [3]), lambda: ps.bfs(old, 1),
            lambda: old.maintain("degree"), old.snapshot,
        ):  # fmt: skip
            with pytest.raises(PenstockError, match="closed"):
                call()
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert sorted(again) == [(1, 2), (2, 3)]


def test_asking_moves_nothing_that_a_view_leads_to():
    rng = np.random.default_rng(8)
    graph = ps.DynamicGraph()
    src, dst = rng.integers(0, 2000, (2, 400_000))
    graph.add_edges(src[:100_000], dst[:100_000])
    graph.add_edges(src, dst)
    graph.delete_edges(src[100_000:], dst[100_000:])
    before = sorted(zip(*(e.tolist() for e in graph.to_edges()), strict=True))
    graph.has_edges(np.arange(300), np.arange(300))
    assert sorted(zip(*(e.tolist() for e in graph.to_edges()), strict=True)) == before


def test_changes_inside_a_context_of_reading_are_refused():
    graph = ps.DynamicGraph()
    graph.add_edges([1], [2])
    with graph.reading():
        for call in (lambda: graph.compact("x"), graph.close, graph.refresh):
            with pytest.raises(PenstockError, match="while this thread is reading"):
                call()


def test_an_edge_that_comes_and_goes_in_one_batch_is_told_to_nobody():
    for directed in (False, True):
        graph = ps.DynamicGraph(directed=directed, reverse=True)
        graph.add_edges([0, 5], [1, 6])
        graph.maintain("connected_components")
        graph.update_edges([0, 0, 5, 6, 1], [5, 5, 6, 5, 6], [True, False, False, True, True])
        ids, labels = graph.maintained["connected_components"].by_id()
        assert ids.tolist() == [0, 1, 5, 6]
        assert labels.tolist() == ps.connected_components(graph).values.tolist()


def test_a_multigraph_that_maintains_takes_one_kind_of_change_at_a_time():
    graph = ps.DynamicGraph(multigraph=True, directed=False)
    graph.add_edges([1, 1], [2, 2])
    graph.maintain("degree")
    with pytest.raises(OptionError, match="in two calls"):
        graph.update_edges([1, 1], [2, 3], [False, True])
    graph.update_edges([1], [2], [False])
    assert graph.maintained["degree"].by_id()[1].tolist() == [0, 0]


def test_ids_as_people_have_them():
    import pyarrow as pa

    graph = ps.DynamicGraph()
    with pytest.raises(InputError, match="as many targets"):
        graph.add_edges(["a"], ["b", "c"])
    # A batch that was refused says nothing about the ids.
    assert graph.add_edges(pa.array([1, 2]), pa.array([2, 3])) == 2
    assert graph.add_edges(np.array([7], np.int32), np.array([8], np.uint16)) == 1
    names = ps.DynamicGraph()
    assert names.add_edges(pa.array(["a", "b"]), np.array(["b", "c"])) == 2
    assert names.neighbors("a").tolist() == ["b"]
    for bad in (lambda: graph.add_edges(1, 2), lambda: graph.add_vertices(5)):
        with pytest.raises(InputError, match="list of ids"):
            bad()


def test_small_rules(tmp_path):
    static = ps.from_edges([1, 2], [2, 3])
    grown = ps.DynamicGraph.from_graph(static, vertex_properties={"age": "int8"})
    grown.vertex_properties.set("age", [2], [7])
    assert grown.vertex_properties.get("age").tolist() == [0, 7, 0]
    for _ in range(2):
        ps.DynamicGraph(tmp_path / "u", directed=False, reverse=True).close()
    weighted = ps.DynamicGraph(edge_properties={"weight": "float32"})
    with pytest.raises(InputError, match="cannot hold"):
        weighted.add_edges([1], [2], {"weight": [1e300]})
    weighted.add_edges([1], [2], {"weight": [np.inf]})
    with pytest.raises(InputError, match="2 truth values"):
        weighted.update_edges([1, 2], [2, 3], [True])


def test_other_times_have_other_tags(tmp_path):
    tags = set()
    for k in range(3):
        with ps.DynamicGraph(tmp_path / "g") as graph:
            graph.add_edges([k], [k + 1])
            with graph.reading() as still:
                tags.add(still.tag)
    assert len(tags) == 3


def test_a_view_is_no_base():
    graph = ps.DynamicGraph()
    graph.add_edges([1], [2])
    with pytest.raises(OptionError, match="compact that to a store"):
        ps.DynamicGraph.from_graph(graph.snapshot())


@pytest.mark.parametrize("based", [False, True])
def test_a_view_ends_with_the_next_change(tmp_path, based):
    graph = ps.DynamicGraph(tmp_path / "g")
    graph.add_edges([1, 2], [2, 3])
    if based:
        graph.compact()
    with graph.reading() as view:
        assert ps.bfs(view, 1).values.tolist() == [0, 1, 2]
    assert ps.bfs(view, 1).values.tolist() == [0, 1, 2], "nothing has changed yet"
    graph.add_edges([3], [4])
    with pytest.raises(PenstockError, match=r"changed since this view.*d\.reading\(\)"):
        ps.bfs(view, 1)
    assert ps.bfs(graph, 1).values.tolist() == [0, 1, 2, 3]


def test_a_graph_that_nobody_has_any_more_is_closed(tmp_path):
    """Its directory is free, its log synced and closed, its thread gone."""
    graph = ps.DynamicGraph(tmp_path / "g", sync=1000.0)
    graph.add_edges([1], [2])
    syncing = [each for each in threading.enumerate() if each.name == "penstock-log-sync"]
    assert syncing
    del graph
    gc.collect()
    assert not any(each.is_alive() for each in syncing)
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert again.num_edges == 1
        assert again.internals.recovery.closed


def test_a_forked_process_closes_nothing(tmp_path, monkeypatch):
    graph = ps.DynamicGraph(tmp_path / "g")
    graph.add_edges([1], [2])
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        graph._end()
    assert graph.add_edges([2], [3]) == 1, "its log is open"
    graph._storage.close()


def test_vertices_that_are_new_are_counted_whoever_adds_others_meanwhile():
    graph = ps.DynamicGraph()
    with ThreadPoolExecutor(4) as pool:
        parts = [np.arange(k * 50, k * 50 + 100) for k in range(64)]
        counts = list(pool.map(graph.add_vertices, parts))
    assert sum(counts) == graph.num_vertices == 63 * 50 + 100
    assert graph.add_vertices([5, 5]) == 0
    assert graph.add_vertices([]) == 0


def test_properties_may_be_named_in_any_order(tmp_path):
    kinds = {"weight": "float32", "year": "int16"}
    with ps.DynamicGraph(tmp_path / "g", edge_properties=kinds) as graph:
        graph.add_edges([1], [2], {"year": [1999], "weight": [0.5]})
    turned = dict(reversed(kinds.items()))
    with ps.DynamicGraph(tmp_path / "g", edge_properties=turned) as graph:
        assert graph.edge_properties.get("year", [1], [2]).tolist() == [1999]
    with pytest.raises(OptionError, match="edge_properties"):
        ps.DynamicGraph(tmp_path / "g", edge_properties={**kinds, "year": "int32"})


@pytest.mark.parametrize("names", [[1, 2, 3, 4], list("abcd")])
def test_a_batch_with_too_many_vertices_is_not_logged(tmp_path, monkeypatch, names):
    monkeypatch.setattr(ids, "MAX_VERTICES", 3)
    a, b, c, d = names
    with ps.DynamicGraph(tmp_path / "g") as graph:
        graph.add_edges([a, b], [b, c])
        with pytest.raises(AddressingError, match="3 vertices at most, this one would have 4"):
            graph.add_edges([a, b, c], [b, c, d])
        with pytest.raises(AddressingError, match="cut it into several"):
            graph.add_vertices([a, d])
        assert graph.add_edges([c, c, c], [a, b, c]) == 3
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert (again.num_vertices, again.num_edges) == (3, 5)


def limited(code: str, tmp_path, limit: int = 4 << 30) -> str:
    """What a process prints that has so much address space."""
    begin = (
        "import resource, sys\nimport numpy as np\nimport penstock as ps\n"
        "from penstock.errors import BudgetError\npath = sys.argv[1]\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", begin + textwrap.dedent(code), str(tmp_path / "g")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_graph_in_little_address_space(tmp_path):
    said = limited(
        """
        rng = np.random.default_rng(1)
        kinds = {"weight": "float32"}
        d = ps.DynamicGraph(path, reverse=True, edge_properties=kinds, threads=2)
        there = set()
        for step in range(20):
            src, dst = rng.integers(0, 20_000, (2, 50_000))
            d.add_edges(src, dst, {"weight": np.ones(50_000)})
            there |= set(zip(src.tolist(), dst.tolist()))
            d.delete_edges(src[:20_000], dst[:20_000])
            there -= set(zip(src[:20_000].tolist(), dst[:20_000].tolist()))
            if step == 10:
                d.compact()
        assert set(d) == there
        print(d.num_edges == len(there))
        """,
        tmp_path,
    )
    assert said == "True\n"


def test_many_graphs_at_once(tmp_path):
    said = limited(
        """
        made = [ps.DynamicGraph(reverse=True, threads=1) for _ in range(300)]
        for k, d in enumerate(made):
            d.add_edges([1, 2], [2, 3 + k])
        print(sum(d.num_edges for d in made))
        """,
        tmp_path, 64 << 30,
    )  # fmt: skip
    assert said == "600\n"


def test_a_batch_that_lists_have_no_room_for_is_not_logged(tmp_path):
    said = limited(
        """
        d = ps.DynamicGraph(path, threads=1)
        d.add_edges([1], [2])
        many = np.zeros(20_000_000, np.int64)
        try:
            d.add_edges(many, many)
        except BudgetError as error:
            print("address space" in str(error))
        print(d.add_edges([2], [3]), d.num_edges)
        """,
        tmp_path, 3 << 30,
    )  # fmt: skip
    assert said == "True\n1 2\n"
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert again.num_edges == 2


def test_a_view_stays_where_lists_grow():
    """Who still has the arrays keeps them; the graph goes on with a copy."""
    graph = ps.DynamicGraph()
    graph.add_edges([1, 1], [2, 3])
    lists = graph._state.sides["out"].added
    before, starts = lists.neighbours, lists.starts
    held = before[int(starts[0]) : int(starts[0]) + 2].tolist()
    src, dst = np.random.default_rng(2).integers(0, 300_000, (2, 1_000_000))
    graph.add_edges(src, dst)
    assert before.base is not lists.neighbours.base
    assert before[int(starts[0]) : int(starts[0]) + 2].tolist() == held
    assert graph.has_edges([1, 1], [2, 3]).all()
    assert graph.has_edges(src, dst).all()


def test_what_ids_that_are_strings_take_grows_with_them():
    graph = ps.DynamicGraph()
    sizes = []
    for k in range(3):
        graph.add_edges([f"{'long' * 50} {k}"], ["b"])
        sizes.append(graph._state.ids.nbytes())
        assert graph._state.ids.by_vid().tolist() == list(graph._state.ids._vids)
    assert all(after - before > 200 for before, after in itertools.pairwise(sizes))


def test_an_empty_base_does_not_say_what_ids_are(tmp_path):
    with ps.DynamicGraph(tmp_path / "g") as graph:
        graph.compact()
        graph.add_edges(["a"], ["b"])
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert again.ids.tolist() == ["a", "b"]
        again.compact()
        assert again.neighbors("a").tolist() == ["b"]


def test_a_graph_goes_on_when_it_cannot_stand_on_its_new_base(tmp_path, monkeypatch):
    with ps.DynamicGraph(tmp_path / "g") as graph:
        graph.add_edges([1, 2], [2, 3])
        with monkeypatch.context() as patch:

            def refuse(*_):
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

            patch.setattr(region.Region, "_reserve", refuse)
            with pytest.raises(BudgetError, match="address space"):
                graph.compact()
        assert graph.neighbors(1).tolist() == [2]
        assert graph.add_edges([1, 3], [2, 4]) == 1
        assert graph.delete_edges([2], [3]) == 1
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert sorted(again) == [(1, 2), (3, 4)]
        again.compact()
        assert sorted(again) == [(1, 2), (3, 4)]


def test_a_graph_that_is_collected_while_a_thread_begins_ends(tmp_path):
    """The collector may run in the first lines of a thread, where no thread can be waited for."""
    code = (
        "import gc, sys, threading\n"
        "import penstock as ps\n"
        "graph = ps.DynamicGraph(sys.argv[1], sync=5)\n"
        "graph.add_edges(range(40_000), range(1, 40_001))\n"
        "graph.cycle = graph\n"
        "del graph\n"
        "with threading._shutdown_locks_lock:\n"
        "    assert gc.collect()\n"
        "with ps.DynamicGraph(sys.argv[1]) as graph:\n"
        "    assert graph.num_edges == 40_000 and graph.internals.recovery.closed\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "g")]
    subprocess.run(command, check=True, timeout=60)
