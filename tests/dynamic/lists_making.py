"""Batches for degree-aware lists, and a model of what they make."""

from __future__ import annotations

import numpy as np

from penstock.store.layout import Column

COLUMNS = {
    "none": [],
    "one": [Column("w", np.dtype("<f4"))],
    "three": [
        Column("w", np.dtype("<f8")), Column("k", np.dtype("<i2")), Column("b", np.dtype("u1"))
    ],
}  # fmt: skip


class Model:
    """Pairs, each with the values of its edges."""

    def __init__(self, multigraph):
        self.multigraph = multigraph
        self.edges = {}

    def apply(self, src, dst, adds, columns):
        """How many edges each row made or deleted."""
        out = []
        for row, (u, v) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
            values = tuple(column[row].item() for column in columns)
            if not adds[row]:
                out.append(len(self.edges.pop((u, v), [])))
            elif self.multigraph:
                self.edges.setdefault((u, v), []).append(values)
                out.append(1)
            else:
                out.append(int((u, v) not in self.edges))
                self.edges[u, v] = [values]
        return out

    def listed(self):
        return sorted((u, v, *each) for (u, v), some in self.edges.items() for each in some)


def make_batch(rng, n, rows, columns, adding):
    src = rng.integers(0, rng.choice([1, 3, n]), rows).astype(np.uint32)
    dst = rng.integers(0, n, rows).astype(np.uint32)
    adds = (rng.random(rows) < adding).astype(np.uint8)
    values = [rng.integers(0, 100, rows).astype(column.dtype) for column in columns]
    return src, dst, adds, values


def check(made, model, n):
    """Everything there is to see of lists, and that indexes have each entry once."""
    assert made.num_edges == sum(map(len, model.edges.values()))
    everyone = np.arange(n, dtype=np.uint32)
    found = made.gather(everyone)
    assert np.array_equal(np.diff(found.offsets), made.degrees())
    owners = np.repeat(everyone, np.diff(found.offsets))
    rows = zip(
        owners.tolist(),
        found.neighbours.tolist(),
        *(c.tolist() for c in found.columns),
        strict=True,
    )
    assert sorted(rows) == model.listed()
    # In place they are the same.
    for v in range(n):
        a, b = int(made.starts[v]), int(made.ends[v])
        c, d = found.offsets[v], found.offsets[v + 1]
        assert np.array_equal(made.neighbours[a:b], found.neighbours[c:d])
        for whole, part in zip(made.columns, found.columns, strict=True):
            assert np.array_equal(whole[a:b], part[c:d])
    indexed = made._vertex["indexes"][:n] != 0
    assert made.probe_distances().entries == made.degrees()[indexed].sum()
