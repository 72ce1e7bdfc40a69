"""Every combination of rules against the plain reading of them, in memory and on disk."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingest_oracle import Input, check_graph
from ingest_squeeze import Squeeze, squeezed
from ingest_strategies import inputs, rules, squeezes

from penstock.ingest.build import build

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=250, deadline=None, suppress_health_check=_SLOW)
@given(st.data(), inputs(), st.sampled_from([1, 3, 1000]))
def test_in_memory(data: st.DataObject, rows: Input, chunk_rows: int) -> None:
    options = data.draw(rules(rows))
    check_graph(build(rows.source(chunk_rows), None, options), rows, options)


@settings(max_examples=250, deadline=None, suppress_health_check=_SLOW)
@given(st.data(), inputs(), st.sampled_from([1, 4, 1000]), squeezes)
def test_on_disk(data: st.DataObject, rows: Input, chunk_rows: int, limits: Squeeze) -> None:
    options = data.draw(rules(rows))
    with tempfile.TemporaryDirectory() as folder, squeezed(limits):
        source = rows.source(chunk_rows, repeat=data.draw(st.booleans()))
        graph = build(source, Path(folder) / "g", options)
        check_graph(graph, rows, options)
        assert [entry.name for entry in Path(folder).iterdir()] == ["g"]
