"""Vertex programs as a user would write them, for the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.program import Program


def _rank_init(vertex, p):  # type: ignore[no-untyped-def]
    return 1.0 / p.num_vertices


def _rank_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.rank / max(src.out_degree, 1)


def _rank_apply(old, a, p):  # type: ignore[no-untyped-def]
    return 0.15 / p.num_vertices + 0.85 * (a + p.lost / p.num_vertices)


def _lost(new, old):  # type: ignore[no-untyped-def]
    return new.rank if old.out_degree == 0 else 0.0


def _change(new, old):  # type: ignore[no-untyped-def]
    return abs(new.rank - old.rank)


def rank_program(dtype: Any = np.float64) -> Program:
    """PageRank whose gather divides, with totals that go into the next step."""
    return Program(
        state={"rank": dtype}, init=_rank_init, gather=_rank_gather, sum="add", identity=0.0,
        apply=_rank_apply, totals={"lost": _lost, "change": _change}, name="ranks",
    )  # fmt: skip


def _label_init(vertex):  # type: ignore[no-untyped-def]
    return vertex.index


def _label_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.label


def _smaller(old, a):  # type: ignore[no-untyped-def]
    return min(old.label, a)


def _changed(new, old):  # type: ignore[no-untyped-def]
    return new.label != old.label


def label_program(**more: Any) -> Program:
    """The smallest index that reaches a vertex."""
    given = {"activate": _changed, "incremental": True, "name": "labels", **more}
    return Program(
        state={"label": np.uint32}, init=_label_init, gather=_label_gather, sum="min",
        identity=2**32 - 1, apply=_smaller, accumulator=np.uint32, **given,
    )  # fmt: skip


def _path_init(vertex, p):  # type: ignore[no-untyped-def]
    return 0.0 if vertex.index == p.source else np.inf


def _path_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.distance + edge.weight


def _nearer(old, a):  # type: ignore[no-untyped-def]
    return min(old.distance, a)


def _moved(new, old):  # type: ignore[no-untyped-def]
    return new.distance < old.distance


def path_program() -> Program:
    """Shortest distances."""
    return Program(
        state={"distance": np.float64}, init=_path_init, gather=_path_gather, sum="min",
        identity=np.inf, apply=_nearer, activate=_moved, incremental=True, name="paths",
    )  # fmt: skip


def _heat_init(vertex):  # type: ignore[no-untyped-def]
    return 1.0 / (1.0 + vertex.index)


def _heat_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.heat * 0.001


def _heat_apply(old, a):  # type: ignore[no-untyped-def]
    return 0.1 / (1.0 + old.index) + a


def _warm(new, old):  # type: ignore[no-untyped-def]
    return new.heat != old.heat


def heat_program() -> Program:
    """Sums whose order matters, with vertices that fall asleep."""
    return Program(
        state={"heat": np.float64}, init=_heat_init, gather=_heat_gather, sum="add", identity=0.0,
        apply=_heat_apply, activate=_warm, name="heat",
    )  # fmt: skip
