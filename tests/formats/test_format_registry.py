from __future__ import annotations

import os
import subprocess
import sys

import pytest
from format_reading import SHARED, read, rows, write

from penstock.errors import InputError, InputNotFoundError, OptionError
from penstock.ingest.formats import find_files, importers, open_source
from penstock.protocols import ReadOptions


def test_importing_is_light(tmp_path):
    code = (
        "import sys, numpy as np; from penstock.ingest import formats; formats.importers();"
        "from penstock.protocols import ReadOptions as R;"
        "list(formats.open_source((np.ones(1, int),) * 2, R()).chunks(lambda amount: None));"
        "heavy = {'numba', 'pyarrow', 'pandas', 'polars', 'scipy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_suffixes_belong_to_one_format():
    suffixes = [suffix for importer in importers().values() for suffix in importer.SUFFIXES]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in suffixes)
    assert all(name == importer.NAME for name, importer in importers().items())


def test_paths_patterns_and_folders(tmp_path):
    names = ["b.txt", "a.txt", "sub/c.txt", "d.bin"]
    b, a, c, _ = (write(tmp_path / name, "1 2\n") for name in names)
    os.mkdir(tmp_path / "e.txt")
    assert find_files([b, a, str(tmp_path / "*.txt")]) == [a, b]
    assert find_files([str(tmp_path / "**" / "*.txt")]) == [a, b, c]
    assert find_files([str(tmp_path)]) == [a, b]
    assert len(read([tmp_path / "a.txt", b])) == 2
    assert len(read({a})) == 1
    with pytest.raises(InputNotFoundError, match=r"x\.txt: there is no such file"):
        read([a, str(tmp_path / "x.txt")])
    with pytest.raises(InputNotFoundError, match=r"\?\?\.txt: no file matches"):
        read(str(tmp_path / "??.txt"))
    with pytest.raises(InputNotFoundError, match="no file in it has a known suffix"):
        read(tmp_path / "e.txt")


def test_names_that_look_like_patterns(tmp_path):
    path = write(tmp_path / "a[1].txt", "1 2\n")
    assert read(path) == [(1, 2)]


def test_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "a.txt", "1 2\n")
    assert read("~/a.txt") == [(1, 2)]


def test_suffix_counts_in_any_case_and_under_compression(tmp_path):
    banner = "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n"
    assert read(write(tmp_path / "a.MTX", banner)) == [(1, 1)]


def test_format_can_be_told(tmp_path):
    banner = "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n"
    path = write(tmp_path / "a.txt", banner)
    assert read(path, format="matrix_market") == [(1, 1)]
    with pytest.raises(OptionError, match=r"expected one of arrow, dimacs.*got 'nothing'"):
        read(path, format="nothing")
    with pytest.raises(OptionError, match="does not read objects of type tuple"):
        read(([1], [2]), format="text")
    assert read(([1], [2]), format="arrays") == [(1, 2)]


def test_unknown_suffix(tmp_path):
    assert read(write(tmp_path / "edges", "1 2\n")) == [(1, 2)]
    assert read(write(tmp_path / "a.xyz", "1 2\n")) == [(1, 2)]
    with pytest.raises(OptionError, match=r"a\.xyz: neither .*text \(\.txt"):
        read(write(tmp_path / "a.xyz", b"\0\1"))


def test_several_formats_at_once(tmp_path):
    write(tmp_path / "a.txt", "1 2\n")
    write(tmp_path / "b.gr", "p sp 0 0\n")
    with pytest.raises(OptionError, match="of several formats"):
        read(tmp_path)


def test_things_that_are_no_input(tmp_path):
    for data in (None, 5, {"src": [1]}, b"a.txt", object()):
        with pytest.raises(OptionError, match=r"cannot read an object of type .*give a path"):
            open_source(data, ReadOptions())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no regular file"):
        read(tmp_path / "pipe")
    write(tmp_path / "g" / "graph.json", "{}")
    with pytest.raises(InputError, match="is a graph already"):
        read(tmp_path / "g")


@pytest.mark.skipif(not SHARED.exists(), reason="the reference data is not beside this checkout")
@pytest.mark.parametrize(
    ("name", "options", "count", "kind", "vertices"),
    [
        ("wiki-Vote.txt", {}, 103_689, "int", 7115),
        ("facebook_combined.txt", {"skip_lines": 1}, 88_234, "int", 4039),
        ("CollegeMsg.txt", {"attributes": (2,)}, 59_835, "int", 1899),
        ("soc-sign-bitcoinotc.csv", {"weights": True, "attributes": (3,)}, 35_592, "int", 5881),
        ("debian-bookworm-depends.tsv", {}, 282_432, "string", None),
    ],
)
def test_real_graphs(name, options, count, kind, vertices):
    source = open_source(SHARED / "graphs" / name, ReadOptions(threads=2, **options))
    found = rows(source)
    assert (len(found), source.id_kind) == (count, kind)
    if vertices is not None:
        assert len({end for row in found for end in row[:2]}) == vertices
