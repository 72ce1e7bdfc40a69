"""Tables that were changed in some bytes are read, or refused with an error that names them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from format_reading import rows
from pyarrow import feather, parquet

from penstock.errors import PenstockError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions

_MUTATIONS = 300
_FOOTER_BYTES = 1200


def save(kind: str, path: str) -> None:
    table = pa.table(
        {
            "source": [f"v{i}" for i in range(50)],
            "target": pa.array([f"w{i % 7}" for i in range(50)]).dictionary_encode(),
            "weight": [i / 8 for i in range(50)],
            "über": pa.array(range(50), pa.int16()),
        }
    )
    if kind == "parquet":
        parquet.write_table(table, path)
    elif kind == "feather":
        feather.write_feather(table, path, compression="lz4")
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather", "stream"])
def test_mutations_of_the_footer(tmp_path, kind):
    path = tmp_path / f"a.{'ipc' if kind == 'stream' else kind}"
    save(kind, str(path))
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    outcomes = set()
    messages = []
    # The schema of a stream is at its beginning.
    low, high = (len(whole) - _FOOTER_BYTES, len(whole)) if kind != "stream" else (0, 900)
    for _ in range(_MUTATIONS):
        data = bytearray(whole)
        for at in rng.integers(max(low, 0), min(high, len(whole)), rng.integers(1, 4)).tolist():
            data[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        skip = "skip" if rng.random() < 0.5 else "error"
        options = ReadOptions(weights=True, attributes=(3,), on_bad_line=skip)
        try:
            rows(open_source(path, options))
            outcomes.add("read")
        except PenstockError as error:
            messages.append(str(error))
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}
    assert [message for message in messages if str(path) not in message] == []


def test_names_of_columns_that_are_not_utf8(tmp_path):
    path = tmp_path / "a.parquet"
    save("parquet", str(path))
    path.write_bytes(path.read_bytes().replace("über".encode(), b"\xff\xfeber"))
    with pytest.raises(PenstockError, match=r"a\.parquet: cannot be read as a table: .*utf-8"):
        open_source(path, ReadOptions())
