"""SCAN against a plain implementation of its definition, and by its verifier, over every kind of
list.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_making import (
    BORDER,
    CORE,
    HUB,
    OUTLIER,
    check,
    cliques,
    graph_of,
    grouped,
    known,
    known_of_many,
    modes,
    reference,
    scan,
)
from traversal_making import COMMON_KINDS, SMALL, WAY_NAMES, WAYS, build, stopping_after

import penstock as ps
from penstock.algorithms import _scan, _triangles
from penstock.algorithms._scan_check import verify
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.planning import open_engine
from penstock.engine.windows import Window
from penstock.errors import OptionError, VerificationError

SHARED = Path(__file__).parents[3] / "shared" / "data" / "graphs"


PARAMETERS = st.tuples(
    st.sampled_from([0.01, 0.3, 0.5, 1 / math.sqrt(3), math.sqrt(0.5), 0.7, 0.8, 1.0]),
    st.integers(1, 5),
)


@settings(max_examples=60)
@given(SMALL, PARAMETERS, st.booleans(), st.booleans(), st.booleans())
def test_equals_the_definition(shape, parameters, directed, load, keep):
    n, pairs = shape
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    graph = ps.from_edges(
        src, dst, directed=directed, num_vertices=n,
        duplicates="keep" if keep else "last", vertex_order="none" if keep else "degree",
    )  # fmt: skip
    facts = known(range(n), pairs)
    found = check(graph, *facts, *parameters, load=load)
    assert not found.stats["indexed"]
    verify(graph, found)
    assert check(graph, *facts, *parameters, load=load).stats["indexed"]
    check(graph, *facts, 0.6, 3, load=load)


def cut_windows(graph, cuts):
    """Windows with common neighbours, and the neighbours of each vertex, from the edges."""
    n = graph.num_vertices
    src, dst = (np.concatenate(each) for each in list(zip(*graph.iter_edges(), strict=True))[:2])
    near = np.zeros((n, n), np.int64)
    near[src, dst] = near[dst, src] = 1
    near[np.arange(n), np.arange(n)] = 0
    common = near @ near
    found = []
    for first, last in zip([0, *cuts], [*cuts, n], strict=True):
        rows = [np.flatnonzero(near[v, :v]) for v in range(first, last)]
        offsets = np.cumsum([0, *map(len, rows)]).astype(np.uint32)
        values = [common[first + k, row] for k, row in enumerate(rows)]
        neighbours, numbers = (
            np.concatenate([[], *each]).astype(np.uint32) for each in (rows, values)
        )
        found.append(Window(first, last, offsets, neighbours, numbers))
    return found, near.sum(axis=0).astype(np.uint32)


@pytest.mark.parametrize("cuts", [[], [1, 7, 8, 40], list(range(1, 60))], ids=len)
@pytest.mark.parametrize("order", ["degree", "none"])
def test_windows_make_no_difference(cuts, order):
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 60, (2, 260))
    near = np.flatnonzero(np.abs(src - dst) < 9)
    src, dst = src[near], dst[near]
    graph = ps.from_edges(src, dst, directed=False, num_vertices=60, vertex_order=order)
    windows, degrees = cut_windows(graph, cuts)
    facts = known(range(60), zip(src.tolist(), dst.tolist(), strict=True))
    seen = set()
    for epsilon, mu in ((0.5, 3), (0.6, 3), (0.6, 2), (0.55, 4), (0.2, 1)):
        needs = Needs(("out",), 1.0, vertex_bytes=_scan.VERTEX_BYTES)
        engine = open_engine(graph, RunOptions.of(threads=2), needs)
        with engine:
            found = _scan.cluster(engine, lambda: iter(windows), degrees, epsilon, mu)
        expected = reference(*facts, epsilon, mu)
        order_of = graph.vid_of_rank
        vids = np.arange(60) if order_of is None else order_of
        roles = found.roles[vids].tolist()
        assert roles == [expected[v][1] for v in range(60)]
        member = np.array(roles) <= BORDER
        labels = found.labels[vids][member].tolist()
        assert labels == [expected[v][0] for v in np.flatnonzero(member).tolist()]
        seen |= set(roles)
    assert seen == {CORE, BORDER, HUB, OUTLIER}


def test_the_example_of_the_paper():
    later = {
        0: (1, 4, 5, 6), 1: (2, 5), 2: (3, 5), 3: (4, 5, 6), 4: (5, 6), 6: (7, 10, 11),
        7: (8, 11, 12), 8: (9, 12), 9: (10, 12, 13), 10: (11, 12), 11: (12,),
    }  # fmt: skip
    found = scan(graph_of([(u, v) for u, near in later.items() for v in near]))
    assert found.values.tolist() == [0] * 6 + [-1] + [7] * 6 + [-2]
    assert found.stats["parameters"] == {"epsilon": 0.7, "mu": 2, "index": None}


def test_a_hub_and_an_outlier():
    # Two cliques, a vertex between them, and one that hangs on the first.
    pairs = cliques([(8, 0), (8, 4), (9, 1)])
    found = scan(graph_of(pairs), 0.7, 3)
    assert found.values.tolist() == [0, 0, 0, 0, 4, 4, 4, 4, -1, -2]
    assert found.role.tolist() == [CORE] * 8 + [HUB, OUTLIER]
    assert found.name == "cluster"


def test_a_border_of_two_clusters_is_in_the_smaller():
    # 8 is similar to a core of each clique, which together with itself are 3.
    for first, second in ((0, 4), (4, 0)):
        names = [*range(first, first + 4), *range(second, second + 4), 8]
        pairs = [(names[u], names[v]) for u, v in cliques([(8, 0), (8, 4)])]
        found = check(graph_of(pairs), *known(names, pairs), 0.5, 4)
        assert (found[8], found.role[8]) == (0, BORDER)
        found = check(graph_of(pairs), *known(names, pairs), 0.5, 3)
        assert found.values.tolist() == [0] * 9


def test_a_tie_is_enough():
    # Both ends of an edge have two vertices in common, of neighbourhoods of 2 and 3.
    graph = ps.from_edges([0, 1], [1, 2], directed=False)
    border = 2 / math.sqrt(6)
    assert scan(graph, border, 2).role.tolist() == [CORE] * 3
    assert scan(graph, math.nextafter(border, 1), 2).role.tolist() == [OUTLIER] * 3
    assert scan(graph, math.nextafter(border, 0), 2).role.tolist() == [CORE] * 3


def test_ties_are_those_of_doubles():
    # Stars and cliques of many sizes have similarities that are not exact, all of which are tried.
    rng = np.random.default_rng(3)
    pairs = [(u, v) for u, v in rng.integers(0, 40, (150, 2)).tolist() if u != v]
    graph, facts = graph_of(pairs), known({v for each in pairs for v in each}, pairs)
    sigmas = {sigma for _, _, sigma in facts[1]}
    assert len(sigmas) > 30
    for epsilon in sigmas:
        for near in (epsilon, math.nextafter(epsilon, 1)):
            if near <= 1:
                check(graph, *facts, near, 3)


def test_every_vertex_is_a_core_if_one_is_enough():
    graph = ps.from_edges([0, 1], [1, 2], directed=False, num_vertices=5)
    found = scan(graph, 1.0, 1)
    assert found.values.tolist() == [0, 1, 2, 3, 4]
    assert found.stats["cores"] == found.stats["clusters"] == 5
    assert scan(graph, 0.01, 1).values.tolist() == [0, 0, 0, 3, 4]
    assert scan(graph, 0.5, 10**30).stats["outliers"] == 5


@pytest.mark.parametrize("directed", [True, False])
def test_next_to_nothing(directed):
    for n in (0, 1, 2):
        graph = ps.from_edges([], [], directed=directed, num_vertices=n)
        found = scan(graph)
        assert found.values.tolist() == [-2] * n
        assert found.role.dtype == np.uint8
        verify(graph, found)
    loop = ps.from_edges([0], [0], directed=directed, num_vertices=1)
    assert scan(loop).values.tolist() == [-2]


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_duplicates_reverses_and_loops_do_no_harm(way, directed):
    pairs = cliques([(8, 0), (8, 4), (9, 1), (2, 2), (1, 0)])
    src, dst = np.tile(np.array(pairs).T, 30)
    graph = ps.from_edges(src, dst, duplicates="keep", directed=directed)
    assert scan(graph, 0.7, 3, **way).values.tolist() == [0] * 4 + [4] * 4 + [-1, -2]


KINDS = {**COMMON_KINDS, "kept": {"duplicates": "keep", "vertex_order": "none"}}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path):
    src, dst = grouped()
    graph = build(tmp_path / "g", (src, dst), **kind)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    facts = known_of_many(graph.ids.tolist(), zip(src.tolist(), dst.tolist(), strict=True))
    for epsilon, mu in ((0.5, 3), (0.6, 2)):
        first = check(graph, *facts, epsilon, mu, index=False, **WAYS[0])
        assert (first.stats["borders"] > 100) == (mu > 2)
        assert min(first.stats["clusters"], first.stats["hubs"]) > 100
        verify(graph, first)
        for way in WAYS:
            found = scan(graph, epsilon, mu, **way)
            np.testing.assert_array_equal(found.values, first.values)
            np.testing.assert_array_equal(found.role, first.role)


def test_lists_that_do_not_fit_memory(tmp_path, monkeypatch):
    graph = build(tmp_path / "g", tuple(grouped()), directed=False)
    whole = scan(graph, 0.5, 3, index=False)
    assert min(whole.stats[each] for each in ("clusters", "borders", "hubs")) > 100
    monkeypatch.setattr(_triangles, "_whole_bytes", lambda *args: 50_000)
    for way in WAYS:
        first = scan(graph, 0.5, 3, index=tmp_path / "kept", **way)
        assert not first.stats["indexed"]
        assert modes(first).count("inner") > 1
        second = scan(graph, 0.5, 3, index=tmp_path / "kept", **way)
        assert second.stats["indexed"]
        passes = ["count similar", "join cores", "reach borders", "find hubs"]
        assert modes(second) == ["measure", *passes]
        for found in (first, second):
            np.testing.assert_array_equal(found.values, whole.values)
            np.testing.assert_array_equal(found.role, whole.role)
        shutil.rmtree(tmp_path / "kept")


def test_it_goes_on_where_it_stopped(tmp_path, monkeypatch):
    graph = build(tmp_path / "g", tuple(grouped()), directed=False)
    whole = scan(graph, 0.5, 3, index=False)
    monkeypatch.setattr(_triangles, "_whole_bytes", lambda *args: 50_000)
    saving = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt), stopping_after(2):
        scan(graph, 0.5, 3, **saving)
    assert not (tmp_path / "g.columns").exists()
    rest = scan(graph, 0.5, 3, resume=True, **saving)
    assert not rest.stats["indexed"]
    assert 0 < modes(rest).count("inner") < modes(scan(graph, index=False)).count("inner")
    for found in (rest, scan(graph, 0.5, 3)):
        np.testing.assert_array_equal(found.values, whole.values)


@pytest.mark.parametrize("directed", [True, False])
def test_passes(directed, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", tuple(grouped()), directed=directed)
    tables = [graph.page_table(each) for each in graph.directions]
    pages = sum(np.count_nonzero(each["num_edges"]) for each in tables)
    streamed = {"load": False, "cache_pages": 0, "threads": 1}
    scan(graph)
    settled = directed  # how often an edge is in both directions is counted, too
    assert scan(graph, **streamed).stats["pages_read"] == (2 + settled) * pages
    again = ps.open(tmp_path / "g")
    assert scan(again).stats["pages_read"] == pages  # they are loaded
    assert scan(again).stats["pages_read"] == 0
    monkeypatch.setattr(_triangles, "_whole_bytes", lambda *args: 100_000)
    for mu, passes in ((2, 4), (3, 5)):
        found = scan(graph, 0.5, mu, **streamed)
        assert modes(found)[0] == "measure"
        assert len(modes(found)) == passes
        # Windows end where pages do, but for long lists; directions have pages of their own.
        read = (passes + settled) * pages
        assert read <= found.stats["pages_read"] <= 1.3 * read


# Ids


def test_ids_that_are_strings(tmp_path):
    pairs = cliques([(8, 0), (8, 4), (9, 1)])
    names = ["m", "z", "y", "x", "b", "d", "c", "a", "hub", "out"]
    named = [(names[u], names[v]) for u, v in pairs]
    graph = ps.from_edges(*map(list, zip(*named, strict=True)), directed=False)
    found = check(graph, *known(names, named), 0.7, 3)
    assert found["m"] == sorted(names).index("m")
    assert found["hub"] == -1
    verify(graph, found)
    found.to_parquet(tmp_path / "found.parquet")
    table = pq.read_table(tmp_path / "found.parquet").to_pydict()
    assert list(table) == ["id", "cluster", "role", "label"]
    assert table["label"] == found.label.tolist()
    found.label[0] = "b"
    with pytest.raises(VerificationError, match="label"):
        verify(graph, found)


def test_ids_that_are_strings_and_none_is_there():
    graph = ps.from_edges([], [], directed=False, ids="string")
    verify(graph, scan(graph))


def test_ids_that_are_numbers_of_their_own(tmp_path):
    pairs = [(10**12 - 7 * u, 10**12 - 7 * v) for u, v in cliques([(8, 0), (8, 4), (9, 1)])]
    src, dst = np.array(pairs).T
    graph = build(tmp_path / "g", (src, dst), directed=False)
    found = check(graph, *known({v for each in pairs for v in each}, pairs), 0.7, 3)
    assert sorted(set(found.values.tolist())) == [-2, -1, 10**12 - 49, 10**12 - 21]
    assert found.to_arrow().column_names == ["id", "cluster", "role"]
    verify(graph, found)


def test_ids_beyond_int64():
    base = 2**63
    pairs = [(base + u, base + v) for u, v in cliques([(8, 0), (8, 4)])]
    graph = ps.from_edges(*np.array(pairs, np.uint64).T, directed=False)
    found = scan(graph, 0.7, 3)
    assert found.values.tolist() == [0, 0, 0, 0, 4, 4, 4, 4, -1]
    assert found.label.tolist() == [base] * 4 + [base + 4] * 4 + [None]
    verify(graph, found)


# What is refused


@pytest.mark.parametrize("epsilon", [0, -0.1, 1.0001, math.nan, math.inf, "0.5", True, None])
def test_an_epsilon_that_cannot_be(epsilon):
    with pytest.raises(OptionError, match="epsilon: expected a number"):
        scan(ps.from_edges([0], [1]), epsilon)


@pytest.mark.parametrize("mu", [0, -1, 2.5, "2", True, None])
def test_a_mu_that_cannot_be(mu):
    with pytest.raises(OptionError, match="mu: expected a whole number"):
        scan(ps.from_edges([0], [1]), 0.5, mu)


@pytest.mark.parametrize("index", [True, 3, ""])
def test_an_index_that_cannot_be(index):
    with pytest.raises(OptionError, match="index: expected a path"):
        scan(ps.from_edges([0], [1]), index=index)


# Graphs of others


def read_shared(name, *, skipped=0):
    if not SHARED.is_dir():
        pytest.skip("no ../shared/data beside the project")
    return np.loadtxt(SHARED / name, np.int64, skiprows=skipped)


@pytest.mark.parametrize(
    ("name", "skipped", "directed", "parameters"),
    [
        ("wiki-Vote.txt", 0, True, [(0.15, 3)]),
        ("facebook_combined.txt", 1, False, [(0.7, 2), (0.5, 5)]),
        ("email-Enron.txt", 1, False, [(0.4, 4), (0.7, 2)]),
    ],
)
def test_shared_graphs(name, skipped, directed, parameters):
    rows = read_shared(name, skipped=skipped)
    graph = ps.from_edges(*rows.T, directed=directed)
    facts = known_of_many(graph.ids.tolist(), rows.tolist())
    for epsilon, mu in parameters:
        found = check(graph, *facts, epsilon, mu)
        assert found.stats["clusters"] > 5
        verify(graph, found)


def test_a_shared_graph_of_names(tmp_path):
    if not SHARED.is_dir():
        pytest.skip("no ../shared/data beside the project")
    source = SHARED / "debian-bookworm-depends.tsv"
    graph = ps.build(str(source), tmp_path / "g.penstock", ids="string")
    pairs = [line.split("\t")[:2] for line in source.read_text().splitlines() if line[:1] != "#"]
    found = check(graph, *known_of_many(graph.ids.tolist(), pairs), 0.5, 3)
    assert found.stats["clusters"] > 100
    verify(graph, found)
