"""Counting the triangles of graphs on a GPU, in the simulator."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from traversal_making import stopping_after

import penstock as ps
from penstock.device.spec import Device
from penstock.errors import BudgetError, OptionError

pytestmark = pytest.mark.usefixtures("simulator")

#: Bytes of a device that has no room for all lists of the graph.
LITTLE = 3400


def small_graph(directed, **options):
    """And what NetworkX counts, in the order of ids."""
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 80, 420), rng.integers(0, 80, 420) ** 2 // 80
    pairs = [(u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v]
    expected = nx.triangles(nx.Graph(pairs))
    graph = ps.from_edges(src, dst, directed=directed, **options)
    return graph, [expected.get(v, 0) for v in graph.ids.tolist()]


@pytest.mark.parametrize(
    ("memory", "directed", "load", "order"),
    [
        (None, False, True, "degree"),
        (LITTLE, False, True, "degree"),
        (LITTLE, False, False, "degree"),
        (LITTLE, True, False, "degree"),
        (LITTLE, False, True, "none"),
    ],
)
def test_triangles_of_a_graph(memory, directed, load, order):
    """Lists pass by as they are in their pages, or in windows."""
    graph, expected = small_graph(directed, vertex_order=order)
    device = Device("cuda", memory=memory, block=32, streams=None if memory is None else 1)
    found = ps.triangles(graph, devices=device, load=load)
    np.testing.assert_array_equal(found.values, expected)
    assert found.stats["total"] * 3 == sum(expected)
    modes = [row["mode"] for row in found.iterations]
    assert modes.count("inner") == 1 if memory is None else modes.count("inner") > 1
    np.testing.assert_array_equal(ps.triangles(graph).values, expected)


def test_a_run_goes_on_elsewhere(tmp_path):
    """What a GPU has counted is in the checkpoint, and a CPU goes on with it."""
    graph, expected = small_graph(directed=False)
    device = Device("cuda", memory=LITTLE, block=32, streams=1)
    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt), stopping_after(1):
        ps.triangles(graph, devices=device, **options)
    rest = ps.triangles(graph, resume=True, **options)
    np.testing.assert_array_equal(rest.values, expected)
    assert [row["mode"] for row in rest.iterations].count("hubs") == 0


@pytest.mark.parametrize("devices", ["cuda,cuda:1", "cpu,cuda", "cpu:1,cpu:1", "reference"])
def test_other_devices_do_not_count(devices):
    graph = ps.from_edges([0, 1], [1, 2])
    with pytest.raises(OptionError, match="devices: triangles are counted on one CPU or one GPU"):
        ps.triangles(graph, devices=devices)


def test_a_list_that_has_no_room():
    graph = ps.from_edges(np.full(400, 400), np.arange(400), directed=False, vertex_order="none")
    device = Device("cuda", memory=7000, block=32, streams=1)
    with pytest.raises(BudgetError, match=r"cuda:0@7.0 kB: .* no room for two lists of 400 neigh"):
        ps.triangles(graph, devices=device)
