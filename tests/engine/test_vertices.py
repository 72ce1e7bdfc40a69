"""What users say about vertices: ids, one or many, and values by id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine.vertices import FEW, by_vid, vids_of
from penstock.errors import IdError, OptionError

IDS = np.arange(100, 1100, 3)


@pytest.fixture(scope="module", params=["numbers", "strings", "range", "huge"])
def graph(request: Any) -> tuple[ps.Graph, Any]:
    """A graph whose vertices are in another order inside, and its ids."""
    ids: Any = {
        "numbers": IDS,
        "strings": np.array([f"v{k}" for k in IDS], object),
        "range": np.arange(300),
        "huge": IDS.astype(np.uint64) + np.uint64(2**63),
    }[request.param]
    rng = np.random.default_rng(3)
    made = ps.from_edges(rng.choice(ids, 900), rng.choice(ids, 900))
    return made, made.ids


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 150])
def test_many_or_few_ids(graph: Any, count: int) -> None:
    made, ids = graph
    chosen = np.random.default_rng(5).choice(ids, count, replace=False)
    expected = np.flatnonzero(np.isin(made.ids_by_vid().astype(object), chosen.astype(object)))
    for given in (chosen, chosen.tolist(), set(chosen.tolist()), np.tile(chosen, 2)):
        np.testing.assert_array_equal(vids_of(made, given, "vertices"), expected)


def test_one_vertex_needs_no_list(graph: Any) -> None:
    made, ids = graph
    one = ids.tolist()[7]
    assert made.ids_by_vid()[vids_of(made, one, "source")].tolist() == [one]
    assert len(vids_of(made, [], "source")) == 0


@pytest.mark.parametrize("more", [0, 100])
def test_ids_that_are_not_there(graph: Any, more: int) -> None:
    made, ids = graph
    stranger: Any = "nobody" if ids.dtype == object else 5_000_000
    with pytest.raises(IdError, match=f"vertices: there is no vertex {stranger!r}"):
        vids_of(made, [*ids[:more].tolist(), stranger], "vertices")


@pytest.mark.parametrize("more", [0, 100])
def test_ids_of_another_kind(graph: Any, more: int) -> None:
    made, ids = graph
    wrong: Any = 5 if ids.dtype == object else "5"
    with pytest.raises(IdError, match="vertices"):
        vids_of(made, [*ids[:more].tolist(), wrong], "vertices")


def test_values_by_id_in_an_array_and_for_all(graph: Any) -> None:
    made, ids = graph
    values = np.random.default_rng(1).random(len(ids))
    names = made.ids_by_vid().tolist()
    whole = dict(zip(ids.tolist(), values.tolist(), strict=True))
    expected = [whole[name] for name in names]
    assert by_vid(made, values, "x", 0, np.float64).whole().tolist() == expected
    assert by_vid(made, whole, "x", 0, np.float64).whole().tolist() == expected
    some = {name: whole[name] for name in ids.tolist()[::3]}
    found = by_vid(made, some, "x", -1.0, np.float64)
    assert found.whole().tolist() == [some.get(name, -1.0) for name in names]
    assert by_vid(made, 3, "x", 0, np.float32).whole().tolist() == [3.0] * len(ids)


def test_values_that_cannot_be(graph: Any) -> None:
    made, _ = graph
    with pytest.raises(OptionError, match=r"x: has shape \(3,\)"):
        by_vid(made, [1, 2, 3], "x", 0, np.float64)
    with pytest.raises(OptionError, match="x: expected numbers"):
        by_vid(made, "many", "x", 0, np.float64)
    with pytest.raises(IdError, match="x: there is no vertex"):
        by_vid(made, {"nobody": 1.0}, "x", 0, np.float64)
