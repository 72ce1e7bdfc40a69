"""What is shown of the results of some algorithms."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engine.result import Result
from penstock.interfaces.cli._views import (
    clusters,
    communities,
    components,
    counts,
    degrees,
    distances,
    edge_values,
    forest,
    highest,
    levels,
    subgraph,
)


def test_levels():
    shown = levels(Result.table("level", [1, 2, 3, 4], [0, 1, -1, 1]), 2)
    assert shown.summary == {"reached": 3, "levels": [1, 2]}
    assert shown.top == [(2, 1), (4, 1)]
    assert "reached 3 of 4 vertices in 2 levels" in shown.text


def test_many_levels_are_cut():
    text = levels(Result.table("level", range(100), range(100)), 1).body
    assert text.count("\n") == 31
    assert "30 and more        70" in text


def test_distances_leave_out_what_is_not_reached():
    shown = distances(Result.table("distance", [1, 2, 3, 4], [0.0, np.inf, 2.5, 2.5]), 2)
    assert shown.top == [(3, 2.5), (4, 2.5)]
    assert shown.summary == {"reached": 3, "mean": 5 / 3, "largest": 2.5}


@pytest.mark.parametrize(
    ("ids", "kind"),
    [([1, 5, 7, 9], np.int64), (["a", "b", "c", "d"], object), ([2**63, 2**64 - 5], object)],
)
def test_components(ids, kind):
    ids = [*ids, *(2**64 - 4 + k for k in range(4 - len(ids)))]
    labels = np.array([ids[0], ids[1], ids[1], ids[1]], kind)
    shown = components(Result.table("component", ids, labels), 1)
    assert shown.top == [(ids[1], 3)]
    assert shown.summary == {"components": 2, "largest": 3}
    assert "75.0% of all" in shown.text


@pytest.mark.parametrize("ids", [[1, 5, 7, 9, 11], ["a", "b", "c", "d", "e"]])
def test_clusters(ids):
    heads = [7, 7, 9] if ids[0] == 1 else [2, 2, 3]
    stats = {"clusters": 2, "cores": 2, "borders": 1, "hubs": 1, "outliers": 1}
    roles = np.array([1, 3, 0, 0, 2], np.uint8)
    values = np.array([heads[0], -2, heads[1], heads[2], -1])
    shown = clusters(Result.table("cluster", ids, values, columns={"role": roles}, stats=stats), 5)
    assert shown.summary == stats
    assert shown.top == [(ids[2], 2), (ids[3], 1)]
    assert "2 clusters, 2 cores, 1 borders, 1 hubs, 1 outliers" in shown.text


def test_a_community_may_have_the_name_of_a_vertex_that_left_it():
    shown = communities(Result.table("label", [1, 2, 3, 4], [2, 3, 2, 2]), 1)
    assert shown.summary == {"communities": 2, "largest": 3}
    assert shown.top == [(2, 3)]
    assert "2 communities; the largest has 3 vertices (75.0% of all)" in shown.text


def test_counts_of_few_values_and_of_many():
    shown = counts(Result.table("color", range(5), [0, 1, 1, 0, 1]), 1)
    assert shown.summary == {"largest": 1, "distinct": 2}
    assert [line.split()[:2] for line in shown.body.splitlines()[1:]] == [["0", "2"], ["1", "3"]]
    many = counts(Result.table("core_number", range(100), range(100)), 1).body.splitlines()
    assert "64 to 127" in many[-1]
    assert "36" in many[-1].split()


def edge_list(n):
    ends = np.arange(n)
    return Result.table(
        "betweenness", ends, ends / 2, id_name="src", columns={"dst": ends + 1}, edges=lambda: None
    )


def test_edges_with_the_largest_values():
    shown = edge_values(edge_list(9), 2)
    assert shown.top == [((8, 9), 4.0), ((7, 8), 3.5)]
    assert shown.body.splitlines()[1].split() == ["8", "9", "4"]
    assert edge_values(edge_list(0), 2).text == ""


def test_parts_of_graphs_and_forests():
    given = {"edges": lambda: edge_list(3), "stats": {"weight": 2.5}}
    shown = subgraph(Result.table("degree", [4, 5], [1, 2], **given), 1)
    assert "2 vertices, 3 edges; the highest" in shown.text
    assert shown.top == [(5, 2)]
    shown = forest(Result.table("tree", [4, 5, 6], [4, 4, 6], **given), 1)
    assert "3 edges of weight 2.5 in all; 2 trees, the largest" in shown.text
    assert shown.summary == {"components": 2, "largest": 2, "edges": 3, "weight": 2.5}


@pytest.mark.parametrize("show", [levels, distances, components, counts, degrees, highest])
def test_nothing_to_show(show):
    kind = np.float64 if show is distances else np.int64
    empty = Result.table("nothing", np.zeros(0, np.int64), np.zeros(0, kind))
    assert show(empty, 3).top == []


def test_degrees_are_in_powers_of_two():
    shown = degrees(Result.table("vertices", [0, 1, 2, 3, 4, 1024], [5, 4, 3, 2, 1, 9]), 2)
    rows = [line.split("  ")[1:] for line in shown.text.splitlines()[1:]]
    counts = {row[0]: int(next(filter(None, row[1:]))) for row in rows}
    assert {name: count for name, count in counts.items() if count} == {
        "0": 5, "1": 4, "2 to 3": 5, "4 to 7": 1, "1,024 to 2,047": 9,
    }  # fmt: skip
    assert shown.summary == {"degrees": 6, "largest": 1024}
    assert shown.top == [(1024, 9), (0, 5)]
