"""What is exported can be read again, whatever the ids are; otherwise it is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import OptionError
from penstock.interfaces.export import export

ids = st.one_of(
    st.text(st.sampled_from('ab1",;\t \r\n#%é\ufeff'), max_size=5),
    st.text(max_size=8),
    st.sampled_from(["source", "target", "007", "7", "-1", "nan", "\x00"]),
).filter(lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text))


def edges_of(graph):
    return sorted(zip(*(column.tolist() for column in graph.to_edges()), strict=True))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(ids, ids), min_size=1, max_size=6))
@example([("", "a"), (" a ", "#b"), ('"', 'c"d'), ("e\nf", "g\r\nh"), ("\r", "\n")])
@example([("ann", "bob"), ("1", "2")])
@example([("source", "target")])
@pytest.mark.parametrize("name", ["e.csv", "e.tsv", "e.txt", "e.csv.gz", "e.parquet"])
def test_every_string(tmp_path, name, edges):
    graph = ps.from_edges(*(list(side) for side in zip(*edges, strict=True)))
    try:
        file = export(graph, tmp_path / name, overwrite=True)
    except OptionError as error:
        refusal = str(error)
        with_nul = "\x00" in "".join(u + v for u, v in edges)
        assert ".parquet" in refusal
        assert name == "e.txt" or (with_nul and name != "e.parquet")
        return
    again = ps.build(str(file), tmp_path / "again", ids="string", overwrite=True)
    assert edges_of(again) == edges_of(graph)


def test_names_of_columns(tmp_path):
    names = ["a,b", "c;d", 'e"f', "g\nh", "#i"]
    table = {"source": ["x"], "target": ["y"], **{name: [1.5] for name in names}}
    import pyarrow as pa

    graph = ps.from_edges(pa.table(table), attributes=names)
    for suffix in ("csv", "tsv"):
        file = export(graph, tmp_path / f"e.{suffix}")
        again = ps.build(str(file), tmp_path / suffix, attributes=names)
        assert [column.name for column in again.catalog.columns] == names
        assert edges_of(again) == [("x", "y")]


def test_strings_of_digits_are_noted(cli, tmp_path):
    ps.build((["007", "a"], ["b", "c"]), tmp_path / "g")
    assert "--ids string" in cli("export", tmp_path / "g", tmp_path / "e.csv").err


@pytest.mark.parametrize("name", ["e.txt", "e.csv.gz", "e.csv.zst", "e.parquet"])
def test_a_file_larger_than_allowed_is_named(tmp_path, name):
    rng = np.random.default_rng(0)
    ps.build(tuple(rng.integers(0, 2**60, (2, 50_000))), tmp_path / "g")
    program = (
        "import resource, sys\n"
        "from penstock.interfaces.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, "export", str(tmp_path / "g"), str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{tmp_path / name}: the file would be larger than the system allows" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g"]
