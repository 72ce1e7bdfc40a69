"""The suite ``netalx``: what each experiment must find, whatever the machine's speed."""

from __future__ import annotations

import json
import shutil
from collections import deque
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from bench_rows import of

from penstock.errors import BudgetError
from penstock.interfaces.bench import netalx_experiments as e
from penstock.interfaces.bench.netalx import SUITE
from penstock.interfaces.bench.netalx_pictures import share_of_smaller
from penstock.interfaces.bench.netalx_searches import DUAL, MEMORY, TIERS, Ground, Netalx
from penstock.interfaces.cli.main import run

SCALE = 9
ROOTS = 3
MEASURED = (
    "place", "head_edges", "memory_share", "seconds", "teps", "bytes_read", "reads",
    "planned_memory", "edge_bytes", "index_bytes", "state_bytes", "buffer_bytes",
)  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Netalx(SCALE, tmp_path_factory.mktemp("bench"), num_roots=ROOTS, repeat=1)


def levels_by_hand(graph, root):
    """Levels by id, by a queue, and the neighbours of each."""
    around = {v: set() for v in range(graph.num_vertices)}
    for u, v in zip(*(each.tolist() for each in graph.to_edges()), strict=True):
        around[u].add(v)
        around[v].add(u)
    levels = {int(root): 0}
    queue = deque(levels)
    while queue:
        u = queue.popleft()
        for v in around[u] - set(levels):
            levels[v] = levels[u] + 1
            queue.append(v)
    return levels, around


def check_measured(row):
    assert set(MEASURED) <= set(row)
    assert row["seconds"] > 0
    assert row["teps"] > 0
    parts = [row[name] for name in MEASURED if name.endswith("_bytes")]
    assert sum(parts) == row["planned_memory"]
    assert min(parts) > 0
    assert (row["bytes_read"] > 0) == (row["reads"] > 0)
    if row["place"] == MEMORY:
        assert row["reads"] == 0
    assert (row["memory_share"] < 1) == (row["place"] == TIERS)
    assert (row["head_edges"] is not None) == (row["place"] == TIERS)


# The workbench


def test_roots_are_in_one_component(bench):
    ground = bench.ground
    levels, around = levels_by_hand(ground.graph, ground.roots[0])
    assert len(set(ground.roots)) == ROOTS
    assert {int(root) for root in ground.roots} <= set(levels)
    assert ground.edges == sum(len(around[v]) for v in levels) // 2
    assert all(v not in around[v] for v in around)


def test_head_edges_of_a_share(bench):
    ground = Ground(bench.ground.graph, [], 0, np.array([0, 10, 18, 24, 28, 40]))
    assert [ground.head_edges(share) for share in (0.0, 0.24, 0.45, 0.5, 0.9)] == [1, 1, 2, 2, 4]
    assert [ground.held(TIERS, k) for k in (1, 4, 5, 999)] == [10, 28, 40, 40]
    assert ground.held(MEMORY, None) == ground.held(DUAL, None) == 40


def test_another_graph_goes_away(bench):
    before = sorted(bench.folder.iterdir())
    with bench.another("uniform", scale=6) as ground:
        assert ground.graph.num_vertices == 64
        assert len(list(bench.folder.iterdir())) == len(before) + 1
    assert sorted(bench.folder.iterdir()) == before
    with bench.another() as ground:
        assert ground is bench.ground
    assert sorted(bench.folder.iterdir()) == before


def test_in_memory_means_in_memory(tmp_path):
    tight = Netalx(17, tmp_path, memory="18MB", num_roots=1)
    with pytest.raises(BudgetError, match=r"edges does not fit in memory as a whole"):
        tight.search(tight.ground, tight.ground.roots[0], MEMORY)


# The experiments


def test_scale(rows):
    found = rows("scale")
    assert [(row["scale"], row["place"]) for row in found] == [
        (scale, place) for scale in range(SCALE - 4, SCALE + 1) for place in (MEMORY, TIERS)
    ]
    for row in found:
        check_measured(row)
    largest = found[-1]
    assert largest["bytes_read"] > 0
    assert 0.15 < largest["memory_share"] < 0.35


def test_heads(rows):
    found = rows("heads")
    for row in found:
        check_measured(row)
        assert row["bytes_read"] == pytest.approx(row["top_down_bytes"] + row["bottom_up_bytes"])
        for name in ("top_down", "bottom_up"):
            assert (row[f"{name}_lists"] > 0) == (row[f"{name}_bytes"] > 0)
            assert row[f"{name}_seconds"] >= 0
    *tiers, whole = found
    assert [row["head_edges"] for row in tiers] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert whole["place"] == MEMORY
    for fewer, more in pairwise(tiers):
        assert fewer["edge_bytes"] < more["edge_bytes"]
        assert fewer["planned_memory"] < more["planned_memory"]
    assert tiers[0]["bottom_up_lists"] > tiers[-1]["bottom_up_lists"]


def test_looks(rows, bench):
    found = rows("looks")
    assert [row["rule"] for row in found] == ["by cost"] * 65 + ["thesis"] * 65
    assert of(found, rule="thesis")[0]["alpha"] == 4096
    for rule in ("by cost", "thesis"):
        mine = of(found, rule=rule)
        assert [row["looks"] for row in mine] == [*range(1, 65), None]
        assert all(row["edges"] == row["looks"] * row["vertices"] for row in mine[:-1])
        assert mine[-1]["edges"] >= 65 * mine[-1]["vertices"]
        for name in ("vertices", "edges"):
            total = sum(row[name] for row in mine)
            assert total > 0
            sums = np.cumsum([row[name] for row in mine]) / total
            assert [row[f"{name}_within"] for row in mine] == pytest.approx(sums.tolist())


def test_edges(rows, bench):
    found = rows("edges")
    graph, root = bench.ground.graph, bench.ground.roots[0]
    levels, around = levels_by_hand(graph, root)
    by_level = [[v for v in levels if levels[v] == k] for k in range(max(levels.values()) + 1)]
    top_down, bottom_up, hybrid = (
        of(found, approach=way) for way in ("top-down", "bottom-up", "hybrid")
    )
    assert [row["level"] for row in top_down] == list(range(len(by_level)))
    assert {row["mode"] for row in top_down} == {"top-down"}
    assert {row["mode"] for row in bottom_up} == {"bottom-up"}
    for k, (down, up, own) in enumerate(zip(top_down, bottom_up, hybrid, strict=True)):
        assert down["active"] == up["active"] == own["active"] == len(by_level[k])
        ends = [levels[v] - k for u in by_level[k] for v in around[u]]
        assert down["edges"] == len(ends)
        claimed = len(by_level[k + 1]) if k + 1 < len(by_level) else 0
        assert [down[name] for name in ("claimed", "failed", "peer", "parent")] == [
            claimed, ends.count(1) - claimed, ends.count(0), ends.count(-1),
        ]  # fmt: skip
        assert own["edges"] == (down if own["mode"] == "top-down" else up)["edges"]
    # Everybody but the root looks for it.
    others = [levels.get(v, -1) for v in around if around[v] and v != root]
    assert bottom_up[0]["edges"] >= len(others)


def test_models(rows):
    found = rows("models")
    assert [row["place"] for row in found] == [MEMORY, DUAL, TIERS]
    for row in found:
        check_measured(row)
    whole, dual, tiers = found
    assert whole["edge_bytes"] == dual["edge_bytes"] > tiers["edge_bytes"]
    assert whole["state_bytes"] == dual["state_bytes"] == tiers["state_bytes"]
    assert dual["planned_memory"] > tiers["planned_memory"]
    assert dual["bytes_read"] > 0


def test_edge_factor(rows):
    found = rows("edge_factor")
    assert [(row["edge_factor"], row["scale"]) for row in found] == [
        (factor, scale)
        for factor, scale in ((8, SCALE + 1), (16, SCALE), (32, SCALE - 1), (64, SCALE - 2))
        for _ in (MEMORY, TIERS)
    ]
    for row in found:
        check_measured(row)


def test_flat(rows):
    found = rows("flat")
    assert [(row["kind"], row["scale"], row["place"]) for row in found] == [
        (kind, scale, place)
        for kind in ("rmat", "uniform")
        for scale, place in ((7, MEMORY), (9, MEMORY), (9, DUAL), (9, TIERS))
    ]
    for row in found:
        check_measured(row)
        for scale, name in ((7, "slower_than_smaller"), (9, "slower_than_memory")):
            other = of(found, kind=row["kind"], scale=scale, place=MEMORY)[0]
            assert row[name] == pytest.approx(other["teps"] / row["teps"])
        levels = row["levels"]
        assert sum(level["bytes_read"] for level in levels) == pytest.approx(row["bytes_read"])
        assert [level["level"] for level in levels] == sorted({each["level"] for each in levels})
        assert all(0 <= level["bottom_up"] <= 1 for level in levels)
    # A quarter of 32 neighbours each.
    assert of(found, kind="uniform", place=TIERS)[0]["head_edges"] in (7, 8, 9)


# Tables


def test_share_of_a_smaller_graph_in_memory():
    found = [
        {"scale": scale, "place": place, "teps": rate}
        for scale, place, rate in ((5, MEMORY, 8.0), (5, TIERS, 2.0), (7, MEMORY, 9), (7, TIERS, 6))
    ]
    assert share_of_smaller(found, 7) == 0.75
    assert share_of_smaller(found, 5) is None


@pytest.mark.parametrize("name", list(SUITE.experiments))
def test_tables(name, rows):
    table = SUITE.experiments[name].table(json.loads(json.dumps(rows(name))))
    assert len(table) > 1
    assert len({len(line) for line in table}) == 1


def test_table_of_edges_adds_up(rows):
    head, *lines = SUITE.experiments["edges"].table(rows("edges"))
    numbers = [[int(cell.split()[0].replace(",", "")) for cell in line[1:]] for line in lines]
    columns = dict(zip(head[1:], zip(*numbers, strict=True), strict=True))
    for column in columns.values():
        assert sum(column[:-1]) == column[-1]
    for outcome in zip(*(columns[name] for name in (*e.OUTCOMES, "top-down")), strict=True):
        assert sum(outcome[:-1]) == outcome[-1]
    both = zip(columns["top-down"][:-1], columns["bottom-up"][:-1], strict=True)
    assert list(columns["least"][:-1]) == [min(pair) for pair in both]


# The command


def test_command(tmp_path, capsys):
    out = tmp_path / "made" / "here"
    line = ["bench", "netalx", "--scale", "8", "--roots", "2", "--repeat", "1", "--threads", "1"]
    options = ["--page-size", "64KiB", "--pictures", "svg", "--out", str(out)]
    assert run([*line, *options]) == 0
    shown = capsys.readouterr().out
    assert "RMAT scale 8, undirected: 256 vertices" in shown
    assert "1 threads, 2 roots, best of 1" in shown
    data = json.loads((out / "results.json").read_text())
    assert (data["suite"], data["roots"], data["page_bytes"]) == ("netalx", 2, 64 << 10)
    assert list(data["experiments"]) == list(SUITE.experiments)
    for heading, _ in SUITE.summary(data):
        assert heading in shown
    pictures = [name for each in SUITE.experiments.values() for name in each.pictures]
    assert sorted(path.name for path in out.iterdir()) == sorted(
        ["results.json", *(f"{name}.svg" for name in pictures)]
    )
    for name in pictures:
        assert ElementTree.parse(out / f"{name}.svg").getroot().tag.endswith("svg")
    shutil.rmtree(out)
    line += ["--experiments", "looks, edges", "--pictures", "none", "--json", "--out", str(out)]
    assert run(line) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data["experiments"]) == ["edges", "looks"]
    assert [path.name for path in out.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--experiments", "heads,speed"), "there is no 'speed'; there are edges, looks"),
        (("--scale", "7"), "--scale"),
    ],
)
def test_command_with_wrong_options(tmp_path, capsys, options, message):
    assert run(["bench", "netalx", *options, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
