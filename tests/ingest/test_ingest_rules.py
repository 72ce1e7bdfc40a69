"""Every combination of rules against the plain reading of them, in memory and on disk."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingest_oracle import Input, check_graph
from ingest_squeeze import Squeeze, squeezed
from ingest_strategies import inputs, rules, squeezes

import penstock as ps
from penstock.ingest.build import build

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=150, deadline=None, suppress_health_check=_SLOW)
@given(st.data(), inputs(), st.sampled_from([1, 3, 1000]))
def test_in_memory(data: st.DataObject, rows: Input, chunk_rows: int) -> None:
    options = data.draw(rules(rows))
    check_graph(build(rows.source(chunk_rows), None, options), rows, options)


@settings(max_examples=150, deadline=None, suppress_health_check=_SLOW)
@given(st.data(), inputs(), st.sampled_from([1, 4, 1000]), squeezes)
def test_on_disk(data: st.DataObject, rows: Input, chunk_rows: int, limits: Squeeze) -> None:
    with tempfile.TemporaryDirectory() as folder, squeezed(limits):
        stripe = Path(folder) / "stripe"
        stripe.mkdir()
        places = {
            "layout": data.draw(st.sampled_from(["banded", "banded", "slotted"])),
            "stripes": data.draw(st.sampled_from([(), (stripe,), (stripe, stripe)])),
            "tmpdir": data.draw(st.sampled_from([None, Path(folder)])),
        }
        options = data.draw(rules(rows, **places))
        source = rows.source(chunk_rows, repeat=data.draw(st.booleans()))
        graph = build(source, Path(folder) / "g", options)
        check_graph(graph, rows, options)
        assert sorted(entry.name for entry in Path(folder).iterdir()) == ["g", "stripe"]
        assert len(list(stripe.iterdir())) == len(options.stripes)


@settings(max_examples=60, deadline=None, suppress_health_check=_SLOW)
@given(st.data(), inputs())
def test_public_functions(data: st.DataObject, rows: Input) -> None:
    """The same through ``from_edges`` and ``build``, from arrays of any width."""
    weight = [np.array(rows.columns["weight"], rows.dtypes["weight"])] if rows.weight else []
    kept = {"weight": weight[0].tolist()} if weight else {}
    types: dict[str, str | None] = {"weight": weight[0].dtype.name} if weight else {}
    rows = replace(rows, columns=kept, dtypes=types, declared=None, extra=[])
    options = data.draw(rules(rows, directions="both", threads=2, layout="banded"))
    dtypes = ["O"]
    if not rows.strings:
        small = max([*rows.src, *rows.dst], default=0) < 100
        dtypes = ["uint8", "int16", "int32", ">u8"] if small else ["uint64"]
        if small and data.draw(st.booleans()):
            options = replace(options, num_vertices=100)
    dtype = data.draw(st.sampled_from(dtypes))
    ends = [np.array(side, dtype) for side in (rows.src, rows.dst)]
    chosen = {
        name: getattr(options, name)
        for name in ("directed", "num_vertices", "duplicates", "self_loops", "vertex_order",
                     "neighbour_order")
    }  # fmt: skip
    check_graph(ps.from_edges(*ends, *weight, **chosen), rows, options)
    with tempfile.TemporaryDirectory() as folder:
        graph = ps.build((*ends, *weight), f"{folder}/g", memory=1 << 24, **chosen)
        check_graph(graph, rows, options)
