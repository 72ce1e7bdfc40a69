"""Ids in ascending order, against Python's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.dynamic.id_order import extend_order, order_ids


@given(st.lists(st.integers(0, (1 << 63) - 1), unique=True, max_size=40))
@settings(max_examples=60, deadline=None)
def test_ids_in_order(ids):
    found, order = order_ids(np.array(ids, np.int64))
    assert found.tolist() == sorted(ids)
    assert [ids[k] for k in (range(len(ids)) if order is None else order.tolist())] == sorted(ids)
    assert (order is None) == (ids == sorted(ids))


@given(
    st.lists(st.integers(0, 60) | st.integers(0, (1 << 63) - 1), unique=True, max_size=30),
    st.data(),
)
@settings(max_examples=100, deadline=None)
def test_new_ids_go_among_those_in_order(ids, data):
    ids = data.draw(st.sampled_from([ids, sorted(ids)]))
    first = data.draw(st.integers(0, max(len(ids) - 1, 0)))
    for array in (np.array(ids, np.int64), np.array([f"v{each}" for each in ids], object)):
        if first < len(ids):
            found, order = extend_order(order_ids(array[:first]), array)
            expected, expected_order = order_ids(array)
            everyone = np.arange(len(ids))
            assert found.tolist() == expected.tolist()
            assert (order is None) <= (expected_order is None or array.dtype == object)
            assert (everyone if order is None else order).tolist() == (
                everyone if expected_order is None else expected_order
            ).tolist()
