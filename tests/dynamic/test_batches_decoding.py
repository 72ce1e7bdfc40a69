"""Records of a log that are whole and are no batches."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.dynamic.batches import EDGES, VERTICES, EdgeBatch, VertexBatch, decode, encode
from penstock.errors import CorruptionError
from penstock.store.layout import Column

WEIGHT = Column("weight", np.dtype(np.float32))
SIZE = Column("size", np.dtype(np.int32))

ids = np.array([3, 4], np.uint64)
names = np.array(["é", "b"], object)
weights = np.array([1, 2], np.float32)


@pytest.mark.parametrize(("kind", "given"), [("int", ids), ("string", names)])
@pytest.mark.parametrize("ops", [None, np.array([1, 0], np.uint8)])
def test_batches_come_back(kind, given, ops):
    record = encode(EdgeBatch(given, given, ops, (weights,)), kind)
    batch, found = decode(*record, [WEIGHT], [SIZE])
    assert found == kind
    assert batch.src.tolist() == batch.dst.tolist() == given.tolist()
    assert (batch.adds is None) == (ops is None)
    assert batch.columns[0].tolist() == [1, 2]
    record = encode(VertexBatch(given, 0, np.array([7, 8], np.int32)), kind)
    batch, _ = decode(*record, [WEIGHT], [SIZE])
    assert (batch.ids.tolist(), batch.column, batch.values.tolist()) == (given.tolist(), 0, [7, 8])


head = np.array([0, 0], np.int64)
strings = np.array([1, 0], np.int64)
ends, text = np.array([2, 3], np.int64), np.frombuffer("éb".encode(), np.uint8)


@pytest.mark.parametrize(
    ("kind", "arrays"),
    [
        (EDGES, []),
        (EDGES, [head]),
        (7, [head, ids, ids, weights]),
        (EDGES, [head[:1], ids, ids, weights]),
        (EDGES, [head, ids, ids[:1], weights]),
        (EDGES, [head, ids, ids]),
        (EDGES, [head, ids, ids, weights[:1]]),
        (EDGES, [head, ids, ids, weights.astype(np.float64)]),
        (EDGES, [head, ids.astype(np.int64), ids, weights]),
        (EDGES, [np.array([0, 1]), ids, ids, weights]),
        (EDGES, [strings, ends[::-1].copy(), text, ends, text, weights]),
        (EDGES, [strings, ends + 9, text, ends, text, weights]),
        (EDGES, [strings, np.array([1, 3]), text, ends, text, weights]),
        (EDGES, [strings, ends, text, ends]),
        (VERTICES, [np.array([0, 1]), ids, weights]),
        (VERTICES, [np.array([0, -2]), ids, weights]),
        (VERTICES, [np.array([0, 0]), ids, weights]),
        (VERTICES, [np.array([0, 0]), ids, np.zeros(1, np.int32)]),
    ],
)
def test_what_is_no_batch_is_refused(kind, arrays):
    with pytest.raises(ValueError):
        decode(kind, arrays, [WEIGHT], [SIZE])


def test_a_log_with_ids_that_cannot_be_is_refused(tmp_path):
    """The record is as it was written; the ids in it would be places outside of arrays."""
    with ps.DynamicGraph(tmp_path / "g", ids="int") as graph:
        graph.add_edges([1], [2])
        large = np.array([1 << 63], np.uint64)
        batch = EdgeBatch(large, large, None, ())
        graph._storage._log.append(*encode(batch, "int"))
    with pytest.raises(CorruptionError, match="is no batch of this graph"):
        ps.DynamicGraph(tmp_path / "g")
