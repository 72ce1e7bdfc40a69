from __future__ import annotations

import os

import numpy as np
import pytest
from format_reading import read, rows, write

from penstock.errors import InputError, InputNotFoundError, ParseError, PenstockError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions


@pytest.mark.parametrize(
    ("line", "options", "words"),
    [
        ("1 x", {}, "found '1 x', expected a target id that is an integer .*--ids string"),
        ("1 2.0", {}, "integer"),
        ("+1 2", {}, "source id that is an integer"),
        ("0x1 2", {}, "integer"),
        ("1_000 2", {}, "integer"),
        ("- 2", {}, "integer"),
        ("-1 2", {}, "source id that is not negative.*--ids string"),
        ("1 18446744073709551616", {}, r"target id below 2\*\*64.*--ids string"),
        ("99999999999999999999 1", {}, r"below 2\*\*64"),
        ("100000000000000000000000000 1", {}, r"below 2\*\*64"),
        ("1", {}, "at least 2 columns separated by white space"),
        ("1 2", {"weights": True}, "at least 3 columns"),
        ("1 2 x", {"weights": True}, r"a number in column 3 \('weight'\)"),
        ("1 2 nan", {"weights": True}, "not nan or nothing, because it is the weight"),
        ("1 2 1e", {"weights": True}, "a number"),
        ("1 2 1.2.3", {"weights": True}, "a number"),
        ("1 2 .", {"weights": True}, "a number"),
        ("1 2 infinit", {"weights": True}, "a number"),
        ("1 2 1_0", {"weights": True}, "a number"),
        ("1 2 0x10", {"weights": True}, "a number"),
        ("1 2\r3", {}, r"found '1 2\\r3'"),
    ],
)
@pytest.mark.parametrize("block_bytes", [16, 1 << 16])
def test_bad_lines(tmp_path, line, options, words, block_bytes):
    good = "1 2 3\n"
    path = write(tmp_path / "a.txt", f"# c\n\n{good * 5}{line}\n{good}")
    with pytest.raises(ParseError, match=rf"a\.txt:8: .*{words}.*--on-bad-line skip") as caught:
        read(path, block_bytes=block_bytes, threads=2, **options)
    assert "\n" not in str(caught.value)
    source = open_source(path, ReadOptions(on_bad_line="skip", block_bytes=block_bytes, **options))
    assert len(rows(source)) == 6
    assert source.bad_lines.count == 1
    assert "a.txt:8:" in source.bad_lines.examples[0]


@pytest.mark.parametrize(
    ("line", "options", "words"),
    [
        ("1", {}, "at least 2 columns separated by ','; the first line made ',' the separator"),
        ("1,", {}, "a target id in column 2, which is empty"),
        (",1", {}, "a source id in column 1, which is empty"),
        ("1 2,3", {}, "integer"),
        ('"1,2', {}, "closing double quote"),
        ('"1"x,2', {}, "closing double quote"),
        ("1,2,", {"weights": True}, "nothing"),
        ("1,2, ", {"weights": True}, "nothing"),
        ('1,2,""', {"weights": True}, "nothing"),
        ("1,2,3 4", {"weights": True}, "a number in column 3"),
        ("1;2", {}, "integer"),
    ],
)
def test_bad_lines_of_separated_columns(tmp_path, line, options, words):
    path = write(tmp_path / "a.csv", f"1,2,3\r\n{line}\r\n4,5,6\r\n")
    with pytest.raises(ParseError, match=rf"a\.csv:2: .*{words}"):
        read(path, **options)
    assert len(read(path, on_bad_line="skip", **options)) == 2


@pytest.mark.parametrize(
    "name", [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"a\x00b"]
)
def test_strings_must_be_utf8(tmp_path, name):
    path = write(tmp_path / "a.txt", b"a b\n" * 20_000 + b"x " + name + b"\n")
    with pytest.raises(ParseError, match=r"a\.txt:20001: .*a target id in UTF-8"):
        read(path)


def test_nul_far_into_a_file(tmp_path):
    path = write(tmp_path / "a.txt", "1 2\n" * 20_000 + "1\x002 3\n")
    with pytest.raises(ParseError, match=r"a\.txt:20001: found '1\\x002 3', expected .* integer"):
        read(path)


def test_empty_string_ids(tmp_path):
    """In quotes there is an empty string, otherwise nothing."""
    path = write(tmp_path / "a.csv", 'a,b\n"",c\n,d\nb,""\n')
    source = open_source(path, ReadOptions(on_bad_line="skip"))
    assert (rows(source), source.bad_lines.count) == ([("a", "b"), ("", "c"), ("b", "")], 1)


def test_skipping_keeps_five_examples_and_counts_anew_each_time(tmp_path):
    lines = [f"{i} {i}" if i % 3 else f"{i} ?" for i in range(100)]
    write(tmp_path / "a.txt", "1 1\n")
    write(tmp_path / "b.txt", "\n".join(lines))
    for threads in (1, 2):
        limits = {"max_bad_lines": 34, "block_bytes": 32, "threads": threads}
        options = ReadOptions(on_bad_line="skip", **limits)
        source = open_source(tmp_path / "*.txt", options)
        for _ in range(2):
            assert rows(source) == [(1, 1), *((i, i) for i in range(100) if i % 3)]
            assert source.bad_lines.count == 34
            numbers = [message.split(":")[1] for message in source.bad_lines.examples]
            assert numbers == ["1", "4", "7", "10", "13"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("where", [1, 2, 17, 499, 500])
def test_line_numbers(tmp_path, threads, where):
    """In the second of three files, whatever the block size; skipped lines and headers count."""
    lines = ["1 2" if i % 7 else "# comment" for i in range(1, 501)]
    lines[where - 1] = "bad line"
    top = "skip\nskip\nsrc dst\n"
    write(tmp_path / "a.txt", top + "1 2\n" * 77)
    write(tmp_path / "b.txt", top + "\n".join(lines) + "\n")
    write(tmp_path / "c.txt", top + "1 2\n")
    for size in (16, 50, 64, 1000, 1 << 20):
        files = {"skip_lines": 2, "header": True, "ids": "int"}
        with pytest.raises(ParseError, match=rf"b\.txt:{where + 3}: found 'bad line'"):
            read(tmp_path / "*.txt", block_bytes=size, threads=threads, **files)


def test_what_is_found_is_cut_and_safe(tmp_path):
    path = write(tmp_path / "a.txt", b"1 2\n" + b"\x1b[31m\xff" * 5000 + b"\n" + b"1 2\n" * 50000)
    with pytest.raises(ParseError) as caught:
        read(path)
    message = str(caught.value)
    assert r"\x1b[31m\\xff" in message
    assert message.isprintable()
    assert len(message) < 500


def test_lines_longer_than_a_block(tmp_path):
    path = write(tmp_path / "a.txt", f"1 2\n{'0' * 3000}3 4 {'x' * 5000}\n5 6\n")
    assert read(path, block_bytes=16) == [(1, 2), (3, 4), (5, 6)]


def test_lines_that_are_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.ingest.formats._bytes._LONGEST_LINE", 1000)
    path = write(tmp_path / "a.txt", f"1 2\n3 4 {'x' * 100_000}\n")
    with pytest.raises(InputError, match=r"a\.txt: a line has more than"):
        read(path, block_bytes=64)


@pytest.mark.parametrize(
    "data", [b"\0" * 100, b"PK\x03\x04\0\0", bytes(range(128, 256)) * 9, "1 2\n".encode("utf-16")]
)
def test_not_a_text_file(tmp_path, data):
    with pytest.raises(InputError, match=r"a\.txt: this is not a text file"):
        read(write(tmp_path / "a.txt", data))


def test_lines_that_end_in_return_alone(tmp_path):
    with pytest.raises(InputError, match="CR alone"):
        read(write(tmp_path / "a.txt", "1 2\r3 4\r"))
    assert read(write(tmp_path / "b.txt", "1 2\r")) == [(1, 2)]


def test_missing_and_unreadable_files(tmp_path, monkeypatch):
    with pytest.raises(InputNotFoundError, match=r"none\.txt: there is no such file"):
        read(tmp_path / "none.txt")
    with pytest.raises(FileNotFoundError, match=r"\*\.none: no file matches"):
        read(tmp_path / "*.none")
    path = write(tmp_path / "a.txt", "1 2\n")
    os.chmod(path, 0)
    if os.access(path, os.R_OK):

        def refuse(*args, **kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"a\.txt: cannot be read: Permission denied"):
        read(path)


def test_a_file_that_vanishes_before_it_is_read(tmp_path):
    path = write(tmp_path / "a.txt", "1 2\n")
    source = open_source(path, ReadOptions())
    os.unlink(path)
    with pytest.raises(InputNotFoundError):
        rows(source)


def test_random_bytes_raise_nothing_else(tmp_path):
    rng = np.random.default_rng(7)
    alphabets = [bytes(range(256)), b"0123456789 \n", b'0123456789 \t\r\n",;#%.eE+-infax\xc3\xa9']
    suffixes = [".txt", ".csv", ".mtx", ".gr", ".graph", ".sg", ".wsg", ".parquet", ".arrow", ".e"]
    beginnings = [b"", b"%%MatrixMarket matrix coordinate real general\n9 9 9\n", b"p sp 9 9\n"]
    beginnings += [
        b"9 9\n",
        b"9 9 111 2\n",
        b"PAR1",
        b"ARROW1\0\0",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
    ]
    outcomes = set()
    for round_number in range(600):
        letters = np.frombuffer(alphabets[round_number % 3], np.uint8)
        data = rng.choice(letters, rng.integers(0, 300)).tobytes()
        data = beginnings[rng.integers(len(beginnings))] + data
        path = write(tmp_path / f"f{suffixes[rng.integers(len(suffixes))]}", data)
        options = ReadOptions(
            block_bytes=int(rng.integers(16, 64)),
            threads=1,
            on_bad_line="skip" if rng.random() < 0.5 else "error",
            weights=[None, None, True][rng.integers(3)],
            ids=[None, "int", "string"][rng.integers(3)],
            separator=["auto", None, ","][rng.integers(3)],
        )
        try:
            rows(open_source(path, options))
            outcomes.add("read")
        except PenstockError as error:
            outcomes.add(type(error).__name__)
        finally:
            os.unlink(path)
    assert {"read", "InputError", "ParseError", "OptionError"} <= outcomes
