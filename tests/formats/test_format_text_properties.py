"""Whatever is written comes back, wherever the blocks are cut."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from format_reading import read, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ids = st.one_of(
    st.integers(0, 9), st.integers(0, 2**64 - 1), st.sampled_from([10**19, 2**63, 2**64 - 1])
)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=12)
separators = st.sampled_from([",", "\t", ";", "|", None])
lines = st.sampled_from(["\n", "\r\n", "\n\n", "\n# note\n", " \n", "\n \t\r\n"])
sizes = st.one_of(st.integers(16, 64), st.just(1 << 20))
threads = st.sampled_from([1, 2])


def spread(separator: str | None) -> str:
    return " \t " if separator is None else separator


@quick
@given(st.lists(st.tuples(ids, ids), min_size=1), separators, lines, sizes, threads, st.booleans())
def test_integers(tmp_path, edges, separator, end, size, threads, last):
    text = end.join(f"{u}{spread(separator)}{v}" for u, v in edges) + end * last
    path = write(tmp_path / "a.txt", text)
    options = {"separator": separator, "block_bytes": size, "threads": threads}
    assert read(path, header=False, chunk_rows=3, **options) == edges


@quick
@given(st.lists(st.tuples(names, names), min_size=1), st.sampled_from(",;|\t"), sizes, threads)
def test_quoted_strings(tmp_path, edges, separator, size, threads):
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    path = write(tmp_path / "a.csv", "\n".join(separator.join(map(quoted, e)) for e in edges))
    options = {"separator": separator, "block_bytes": size, "threads": threads, "comment": ""}
    assert read(path, header=False, ids="string", **options) == edges


@quick
@given(st.lists(st.tuples(names, names), min_size=1), sizes)
def test_plain_strings(tmp_path, edges, size):
    edges = [("".join(u.split()) or "u", "".join(v.split()) or "v") for u, v in edges]
    path = write(tmp_path / "a.txt", "\n".join(f"{u} {v}" for u, v in edges))
    options = {"separator": None, "block_bytes": size, "comment": "", "header": False}
    assert read(path, ids="string", **options) == edges


numbers = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(allow_nan=False, width=32).map(repr),
    st.integers(-(10**30), 10**30).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.from_regex(r"\A[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,4})?\Z"),
    st.sampled_from(["inf", "-Infinity", "+INF", "1e999", "-1e-999", "00.10e-0", "5e-324"]),
).filter(str.isascii)


@quick
@given(st.lists(numbers, min_size=1), separators, sizes)
def test_numbers_are_those_of_python(tmp_path, words, separator, size):
    mark = spread(separator)
    path = write(tmp_path / "a.txt", "\n".join(f"1{mark}2{mark}{word}" for word in words))
    found = read(path, weights=True, separator=separator, block_bytes=size)
    expected = [float(word) for word in words]
    assert [struct.pack("d", row[2]) for row in found] == [struct.pack("d", x) for x in expected]


def test_hard_numbers(tmp_path):
    """Halfway between doubles and next to it, the smallest and greatest, and random bits."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**63, 20_000, np.uint64)
    words = [repr(float(x)) for x in bits.view(np.float64) if np.isfinite(x)]
    for mantissa in rng.integers(2**52, 2**53, 3000).tolist():
        for power in (-60, -5, 0, 5, 60):
            digits = (2 * mantissa + 1) * 2**power if power >= 0 else (2 * mantissa + 1) * 5**-power
            tail = f"e{min(power, 0)}"
            words += [f"{digits + step}{tail}" for step in (-1, 0, 1)]
            words.append(f"{digits}.{'0' * 30}1{tail}")
    words += ["2.2250738585072011e-308", "2.2250738585072014e-308", "4.9e-324", "2.47e-324"]
    words += ["1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308"]
    path = write(tmp_path / "a.txt", "\n".join(f"1 2 {word}" for word in words))
    found = np.array([row[2] for row in read(path, weights=True, threads=2)])
    expected = np.array([float(word) for word in words])
    wrong = np.flatnonzero(found.view(np.uint64) != expected.view(np.uint64))
    assert [words[i] for i in wrong] == []


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["int", "string"])
def test_every_block_boundary(tmp_path, threads, kind):
    """Blocks of every size, so that every byte of the file is once the first of a block."""
    edges = [(i * 37 % 1000, i * 91 % 100) for i in range(40)]
    text = "\ufeff# begin\r\n" + "".join(f"{u}  {v} {u / 8}\r\n" for u, v in edges)
    path = write(tmp_path / "a.txt", text)
    expected = [(u, v, u / 8) for u, v in edges]
    if kind == "string":
        expected = [(str(u), str(v), u / 8) for u, v in edges]
    for size in range(16, 70):
        options = {"block_bytes": size, "threads": threads, "ids": kind}
        assert read(path, weights=True, **options) == expected
