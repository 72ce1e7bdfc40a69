"""Fields in quotes, as RFC 4180 has them, wherever the blocks are cut."""

from __future__ import annotations

import csv
import io

import pytest
from format_reading import read, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import ParseError
from penstock.ingest.formats import _scan, open_source
from penstock.protocols import ReadOptions

text = st.text(st.sampled_from('ab",;\t \r\n#%é'), max_size=6)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(text, text, text), min_size=1, max_size=8),
    st.sampled_from(",;\t"),
    st.integers(16, 64),
    st.sampled_from([1, 2]),
    st.booleans(),
)
def test_whatever_python_writes(tmp_path, records, separator, size, threads, last):
    """The third column is not read, but its line ends must not be taken for ends of records."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("source", "target", "note"), *records])
    path = write(tmp_path / "a.csv", file.getvalue() if last else file.getvalue()[:-1])
    options = {"separator": separator, "block_bytes": size, "threads": threads}
    assert read(path, ids="string", **options) == [record[:2] for record in records]


def test_a_header_over_two_lines(tmp_path):
    path = write(tmp_path / "a.csv", 'source,"the\ntarget",target\n1,2,3\n')
    assert read(path) == [(1, 3)]
    with pytest.raises(ParseError, match=r"a\.csv:4: "):
        read(write(tmp_path / "a.csv", 'source,"the\ntarget",target\n1,2,3\n1,2,x\n4,5,6\n'))


def test_line_numbers_count_lines_within_quotes(tmp_path):
    lines = ['1,"\n\n",2'] * 20 + ["x,y,z"] + ["1,2,3"] * 30
    for size in (16, 40, 1 << 20):
        with pytest.raises(ParseError, match=r"a\.csv:61: found 'x,y,z'"):
            read(write(tmp_path / "a.csv", "\n".join(lines)), target=2, block_bytes=size)


@pytest.mark.parametrize("size", [16, 24, 50, 1 << 20])
def test_a_quote_that_is_not_closed_costs_one_line(tmp_path, size):
    good = ["1,2"] * 50
    for bad in ('"1,2', '1,"2', '1,2,"x', '"1"x,2', '1,2,"x" y'):
        path = write(tmp_path / "a.csv", "\n".join([*good, bad, *good]))
        source = open_source(path, ReadOptions(on_bad_line="skip", block_bytes=size))
        found = sum(len(chunk) for chunk in source.chunks(lambda amount: None))
        # In a column that is not read, it does no harm.
        assert (found, source.bad_lines.count) == ((101, 0) if "1,2," in bad else (100, 1))


def test_a_quoted_field_is_not_searched_for_its_end_forever(tmp_path):
    lines = _scan.LONGEST_QUOTED // 4 + 10
    path = write(tmp_path / "a.csv", '1,2\n"3,4\n' + "5,6\n" * lines + '7,8"\n')
    source = open_source(path, ReadOptions(on_bad_line="skip", block_bytes=1 << 16))
    assert sum(len(chunk) for chunk in source.chunks(lambda amount: None)) == lines + 1
    assert source.bad_lines.count == 2
