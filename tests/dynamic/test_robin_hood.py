"""The Robin Hood table, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.dynamic import robin_hood
from penstock.dynamic.robin_hood import FIRST_SLOTS, MOST_LOAD, RobinHoodTable
from penstock.types import NO_VERTEX


def insert(table, model, keys):
    """What a caller does: find, then give the others numbers."""
    keys = np.array(keys, np.uint64)
    out = np.empty(len(keys), np.uint32)
    missing = table.find(keys, out)
    assert missing == sum(int(key) not in model for key in keys.tolist())
    first = next_number(model)
    new = table.insert(keys, out, first)
    fresh = [key for key in dict.fromkeys(keys.tolist()) if key not in model]
    assert new.tolist() == fresh
    for number, key in enumerate(fresh, first):
        model[key] = number
    assert out.tolist() == [model[key] for key in keys.tolist()]


def next_number(model):
    return max(model.values(), default=-1) + 1


def check(table, model, strangers=()):
    keys = np.array([*model, *strangers], np.uint64)
    out = np.empty(len(keys), np.uint32)
    table.find(keys, out)
    assert out.tolist() == [*model.values(), *[NO_VERTEX] * len(strangers)]
    assert len(table) == len(model)


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.lists(st.integers(0, 60) | st.integers(0, 2**64 - 1), max_size=40)
        ),
        max_size=12,
    )
)
def test_behaves_like_a_dictionary(steps):
    table, model = RobinHoodTable(), {}
    for inserting, keys in steps:
        if inserting:
            insert(table, model, keys)
        else:
            keys = list(dict.fromkeys(keys))
            gone = table.delete(np.array(keys, np.uint64))
            assert gone.tolist() == [key in model for key in keys]
            for key in keys:
                model.pop(key, None)
        check(table, model, [key for key in range(5) if key not in model])


@pytest.mark.parametrize(
    "keys",
    [
        np.arange(40_000),
        np.arange(40_000) << 32,
        np.arange(40_000) * 1024,
        np.random.default_rng(1).integers(0, 2**63, 40_000),
    ],
    ids=["dense", "high bits", "steps", "random"],
)
def test_grows_and_keeps_distances_short(keys):
    table, model = RobinHoodTable(), {}
    for part in np.array_split(keys.astype(np.uint64), 7):
        insert(table, model, part)
    check(table, model)
    assert len(table) <= MOST_LOAD * table.capacity
    found = table.probe_distances()
    assert found.entries == len(model)
    assert found.average < 8
    assert found.average == found.worst_average
    assert found.most <= robin_hood.MOST_DISTANCE


def test_tombstones_are_swept():
    table, model = RobinHoodTable(), {}
    rng = np.random.default_rng(2)
    for _ in range(30):
        insert(table, model, rng.integers(0, 3000, 700))
        some = rng.permutation(np.array([*model], np.uint64))[:600]
        table.delete(some)
        for key in some.tolist():
            del model[key]
        assert 4 * table.tombstones <= table.capacity
        check(table, model, [5000, 6000])
    assert table.capacity <= 8 * FIRST_SLOTS


def test_keys_that_all_belong_to_one_slot():
    """The worst there is: the table grows until they are apart, or fit its distances."""
    table, model = RobinHoodTable(), {}
    # Keys with equal mixed low bits at the first capacity: found by search.
    everything = np.arange(1 << 20, dtype=np.uint64)
    homes = (mixed(everything) >> np.uint64(20)) & np.uint64(FIRST_SLOTS - 1)
    together = everything[homes == homes[0]][:400]
    assert len(together) == 400
    insert(table, model, together)
    check(table, model)
    assert table.capacity > FIRST_SLOTS


def mixed(keys):
    turned = (keys ^ (keys >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return turned ^ (turned >> np.uint64(29))


def test_arrays_may_be_mapped_files(tmp_path):
    made = []

    def zeros(length, dtype):
        file = tmp_path / str(len(made))
        made.append(np.lib.format.open_memmap(file, mode="w+", dtype=dtype, shape=(length,)))
        return made[-1]

    table, model = RobinHoodTable(zeros), {}
    insert(table, model, np.arange(3000))
    check(table, model)
    assert len(made) > 3
