"""Matrix Market, DIMACS and METIS: headers, counts, ranges."""

from __future__ import annotations

import pytest
from format_reading import read, rows, write

from penstock.errors import InputError, OptionError, ParseError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions

BANNER = "%%MatrixMarket matrix coordinate "


@pytest.mark.parametrize(
    ("field", "weight"), [("pattern", None), ("real", "weight"), ("integer", "weight")]
)
def test_matrix_market_weights(tmp_path, field, weight):
    entry = "1 2" if field == "pattern" else "1 2 -3e1"
    path = write(tmp_path / "a.mtx", f"{BANNER.upper()}{field} general\n%\n\n 3 3 1 \n{entry}\n")
    source = open_source(path, ReadOptions())
    assert (source.weight, source.directed, source.declared) == (weight, True, range(1, 4))
    assert rows(source) == [(1, 2) if weight is None else (1, 2, -30.0)]
    if weight is None:
        with pytest.raises(OptionError, match="no weights in it"):
            read(path, weights=True)


def test_matrix_market_symmetric_is_undirected(tmp_path):
    path = write(tmp_path / "a.mtx", BANNER + "pattern symmetric\n3 3 2\n2 1\n3 3\n")
    source = open_source(path, ReadOptions())
    assert (source.directed, rows(source)) == (False, [(2, 1), (3, 3)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected %%MatrixMarket"),
        ("1 2\n", "a.mtx:1: found '1 2', expected %%MatrixMarket"),
        (BANNER + "complex general\n1 1 0\n", "the field 'complex'"),
        (BANNER + "real hermitian\n1 1 0\n", "the symmetry 'hermitian'"),
        (BANNER + "real skew-symmetric\n1 1 0\n", "the symmetry 'skew-symmetric'"),
        ("%%MatrixMarket matrix array real general\n1 1\n1\n", "the format 'array'"),
        ("%%MatrixMarket vector coordinate real general\n1 1\n1\n", "the object 'vector'"),
        (BANNER + "real general\n", "size line"),
        (BANNER + "real general\n2 2\n", "size line"),
        (BANNER + "real general\n2 x 1\n", "a.mtx:2: found '2 x 1', expected the size line"),
        (BANNER + "real general\n2 3 0\n", "square matrix, this one is 2 x 3"),
        (BANNER + "real general\n9999999999 9999999999 0\n", "more than"),
        (BANNER + "real general\n2 2 2\n1 1 1\n", "announces 2 edges, but there are 1"),
        (BANNER + "real general\n2 2 1\n1 1 1\n1 2 1\n", "announces 1 edges, but there are 2"),
        (BANNER + "real general\n%\n2 2 1\n0 1 1\n", "a.mtx:4: .*a source id from 1 to 2"),
        (BANNER + "real general\n2 2 1\n1 3 1\n", "a.mtx:3: .*a target id from 1 to 2"),
        (BANNER + "real general\n2 2 1\n1 1\n", "a.mtx:3: .*at least 3 columns"),
        (BANNER + "real general\n2 2 1\n1 1 nan\n", "a.mtx:3: .*weight"),
    ],
)
def test_bad_matrix_market(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "a.mtx", text))


def test_bad_entries_may_be_skipped_and_still_count(tmp_path):
    path = write(tmp_path / "a.mtx", BANNER + "pattern general\n2 2 2\n1 3\n1 2\n")
    source = open_source(path, ReadOptions(on_bad_line="skip"))
    assert (rows(source), source.bad_lines.count) == ([(1, 2)], 1)


def test_dimacs(tmp_path):
    path = write(tmp_path / "a.gr", "c head\n\np sp 3 2\nc x\na 1 2 7\n  a 3 1 0.5\nc y\n")
    source = open_source(path, ReadOptions())
    assert rows(source) == [(1, 2, 7.0), (3, 1, 0.5)]
    assert (source.directed, source.weight, source.declared) == (True, "weight", range(1, 4))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "problem line"),
        ("a 1 2 3\n", "a.gr:1: .*problem line"),
        ("p edge 3 2\n", "found 'p edge 3 2', expected the problem line"),
        ("p sp 3\n", "problem line"),
        ("p sp 3 -2\n", "problem line"),
        ("p sp 3 2\na 1 2 3\n", "announces 2 edges, but there are 1"),
        ("p sp 3 1\ne 1 2 3\n", "a.gr:2: found 'e 1 2 3', expected a line that begins with 'a'"),
        ("p sp 3 1\naa 1 2 3\n", "begins with 'a'"),
        ("p sp 3 1\na 1 4 3\n", "a target id from 1 to 3"),
        ("p sp 3 1\na 1 2\n", "at least 4 columns"),
        ("p sp 3 1\na 1 2 x\n", r"a number in column 4 \('weight'\)"),
    ],
)
def test_bad_dimacs(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "a.gr", text))


@pytest.mark.parametrize("block_bytes", [16, 1 << 20])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 2\n2\n1 3\n2\n", [(1, 2), (2, 3)]),
        ("3 2\n2\n1 3\n2", [(1, 2), (2, 3)]),
        ("% c\n3 2 0\n%x y\n2\n%\n1  3\r\n2\t\n\n\n", [(1, 2), (2, 3)]),
        ("3 1\n3\n\n1\n", [(1, 3)]),
        ("3 1\n2\n1\n", [(1, 2)]),
        ("3 2 1\n2 5\n1 5 3 6\n2 6\n", [(1, 2, 5.0), (2, 3, 6.0)]),
        ("3 2 10\n9 2\n9 1 3\n9 2\n", [(1, 2), (2, 3)]),
        ("3 2 011 2\n9 9 2 5\n9 9 1 5 3 6\n9 9 2 6\n", [(1, 2, 5.0), (2, 3, 6.0)]),
        ("3 2 111 1\n8 9 2 5\n8 9 1 5 3 6\n8 9 2 6\n", [(1, 2, 5.0), (2, 3, 6.0)]),
        ("3 2 100\n8 2\n8 1 3\n8 2\n", [(1, 2), (2, 3)]),
        ("2 2\n1 1 2\n1\n", [(1, 1), (1, 1), (1, 2)]),
        ("2 2\n1 2\n1\n", [(1, 1), (1, 2)]),
        ("0 0\n", []),
        ("2 0\n\n\n", []),
    ],
)
def test_metis(tmp_path, text, expected, block_bytes):
    path = write(tmp_path / "a.graph", text)
    source = open_source(path, ReadOptions(block_bytes=block_bytes, chunk_rows=2))
    assert rows(source) == expected
    assert source.directed is False


def test_metis_line_longer_than_a_block(tmp_path):
    n = 2000
    star = f"{n} {n - 1}\n{' '.join(map(str, range(2, n + 1)))}\n" + "1\n" * (n - 1)
    path = write(tmp_path / "a.metis", star)
    expected = [(1, v) for v in range(2, n + 1)]
    assert read(path, block_bytes=64, chunk_rows=100) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected the header"),
        ("3\n", "expected the header"),
        ("a b\n", "expected the header"),
        ("1 2 3 4 5\n", "expected the header"),
        ("3 2 2\n", "the format '2'"),
        ("3 2 1111\n", "the format '1111'"),
        ("3 2\n2\n1 3\n", "announces 4 neighbours .*, but there are 3"),
        ("2 1\n2\n1\n1\n", "a.graph:4: found '1', expected no more than 2 lines"),
        ("2 1\n3\n1\n", "a.graph:2: found '3', expected a neighbour from 1 to 2"),
        ("2 1\n0\n1\n", "a neighbour from 1 to 2"),
        ("2 1\n-1\n1\n", "a.graph:2: found '-1', expected an integer"),
        ("2 1\n2x\n1\n", "found '2x', expected an integer"),
        ("2 1\n99999999999999999999\n1\n", "expected an integer"),
        ("2 1 1\n2\n1 5\n", "a.graph:2: .*a weight after"),
        ("2 1 1\n2 5\n1", "a.graph:3: .*a weight after"),
        ("2 1 1\n2 1.5\n1 1.5\n", "found '1.5', expected an integer"),
        ("2 1 10\n\n1 1\n", "a.graph:2: .*1 sizes or weights"),
        ("4 2\n2 3\n1\n4\n\n", "listed at one of their ends only"),
        ("3 1\n2\n3\n\n", "listed at one of their ends only"),
    ],
)
@pytest.mark.parametrize("block_bytes", [16, 1 << 20])
def test_bad_metis(tmp_path, text, words, block_bytes):
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "a.graph", text), block_bytes=block_bytes)


@pytest.mark.parametrize("name", ["a.mtx", "a.gr", "a.graph"])
def test_options_that_do_not_apply(tmp_path, name):
    texts = {"a.mtx": BANNER + "real general\n1 1 0\n", "a.gr": "p sp 1 0\n", "a.graph": "1 0\n\n"}
    path = write(tmp_path / name, texts[name])
    for options in ({"ids": "string"}, {"attributes": (3,)}, {"source": 1}, {"weights": "cost"}):
        with pytest.raises(OptionError):
            read(path, **options)
    with pytest.raises(OptionError, match="give one, got 2"):
        read([path, write(tmp_path / f"b{name}", texts[name])])
    with pytest.raises(InputError, match="not a text file"):
        read(write(tmp_path / name, b"\0\1\2"))
    assert issubclass(ParseError, InputError)
