"""The collector of cycles rests while results are made, and only then."""

from __future__ import annotations

import gc

import networkx as nx
import pytest

from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.paths_unweighted import predecessor, single_source_shortest_path
from penstock.process import garbage_collection_disabled


@pytest.fixture(params=[True, False], ids=["on", "off"])
def running(request):
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_it_goes_on_as_before(running):
    with garbage_collection_disabled(), garbage_collection_disabled():
        assert not gc.isenabled()
    assert gc.isenabled() == running
    listed = ListedGraph(nx.path_graph(3))
    single_source_shortest_path(listed, 0)
    assert gc.isenabled() == running
    with pytest.raises(nx.NodeNotFound):
        predecessor(listed, 9)
    assert gc.isenabled() == running


def test_it_rests_while_many_lists_are_made():
    collections = []
    listed = ListedGraph(nx.path_graph(3000))
    single_source_shortest_path(listed, 0, cutoff=1)
    gc.callbacks.append(lambda phase, _: collections.append(phase))
    try:
        found = single_source_shortest_path(listed, 0, cutoff=2000)
    finally:
        gc.callbacks.pop()
    assert len(found) == 2001
    assert len(collections) <= 2  # what 2001 lists would start, once they are there
