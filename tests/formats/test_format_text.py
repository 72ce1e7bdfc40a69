from __future__ import annotations

import gzip
import math
import random

import pyarrow as pa
import pytest
from format_reading import read, rows, write

from penstock.errors import InputError, OptionError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions

EDGES = [(0, 1), (1, 2), (10, 2**64 - 1), (3, 3)]


def test_whitespace(tmp_path):
    path = write(tmp_path / "a.txt", "# c\n\n 0 1\n1\t 2 \n% x\n10   18446744073709551615\n3 3")
    assert read(path) == EDGES


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_separators_and_line_ends(tmp_path, separator, end, last):
    text = end.join(f"{u}{separator}{v}" for u, v in EDGES) + end * last
    options = {"separator": "|"} if separator == "|" else {}
    assert read(write(tmp_path / "a.csv", text), **options) == EDGES


def test_byte_order_mark_and_blanks_around_fields(tmp_path):
    path = write(tmp_path / "a.csv", b"\xef\xbb\xbf 1 , 2 ,x\r\n3\t,4,y\r\n \t\r\n")
    assert read(path) == [(1, 2), (3, 4)]


def test_quotes(tmp_path):
    path = write(tmp_path / "a.csv", 'x, "a,b" ,1\n"say ""hi""",y,"2.5"\n')
    assert read(path, weights=True) == [("x", "a,b", 1.0), ('say "hi"', "y", 2.5)]
    assert read(write(tmp_path / "b.csv", '"1","2"\n')) == [(1, 2)]
    # Between blanks a quote is a character like any other.
    assert read(write(tmp_path / "c.txt", '"a b"\n')) == [('"a', 'b"')]


def test_header_is_found_out(tmp_path):
    assert read(write(tmp_path / "a.csv", "x,y\n1,2\n")) == [(1, 2)]
    assert read(write(tmp_path / "b.csv", "Source,TARGET\na,b\n")) == [("a", "b")]
    assert read(write(tmp_path / "c.csv", "from_id;to_id\na;b\n")) == [("a", "b")]
    assert read(write(tmp_path / "d.csv", "a,b\nb,c\n")) == [("a", "b"), ("b", "c")]
    assert read(write(tmp_path / "e.csv", "# x\n\nsrc,dst\n# y\n1,2\n")) == [(1, 2)]
    assert read(write(tmp_path / "f.csv", "src,dst\n")) == []


def test_header_is_told(tmp_path):
    path = write(tmp_path / "a.csv", "1,2\n3,4\n")
    assert read(path, header=True) == [(3, 4)]
    path = write(tmp_path / "b.csv", "src,dst\n3,4\n")
    assert read(path, header=False) == [("src", "dst"), ("3", "4")]


def test_columns_by_name_and_number(tmp_path):
    path = write(tmp_path / "a.csv", "t,to,from,w\n0.5,2,1,7\n,3,2,8\n")
    by_name = {"source": "from", "target": "to", "weights": "w", "attributes": ("t",)}
    source = open_source(path, ReadOptions(**by_name))
    assert (list(source.columns), source.weight) == (["w", "t"], "w")
    found = rows(source)
    assert found[0] == (1, 2, 7.0, 0.5)
    assert found[1][:3] == (2, 3, 8.0)
    assert math.isnan(found[1][3])
    assert read(path, source=2, target="1", weights=3) == [(1, 2, 7.0), (2, 3, 8.0)]


def test_names_of_columns_without_header(tmp_path):
    path = write(tmp_path / "a.txt", "1 2 3 4 5\n")
    source = open_source(path, ReadOptions(weights=True, attributes=(4,)))
    assert list(source.columns) == ["weight", "column4"]
    assert rows(source) == [(1, 2, 3.0, 5.0)]
    assert open_source(path, ReadOptions(weights=3)).weight == "column3"
    assert open_source(path, ReadOptions()).columns == {}


def test_skip_lines(tmp_path):
    path = write(tmp_path / "a.txt", "4 5\n# x\n1 2\n3 4\n")
    assert read(path, skip_lines=1) == [(1, 2), (3, 4)]
    assert read(path, skip_lines=3, block_bytes=4) == [(3, 4)]
    assert read(path, skip_lines=9) == []


def test_comment_characters(tmp_path):
    path = write(tmp_path / "a.txt", "#a b\n// c\nx 2\n")
    assert read(path, comment="/") == [("#a", "b"), ("x", "2")]
    assert read(write(tmp_path / "b.txt", "#a b\n"), comment="") == [("#a", "b")]


def test_ids_can_be_told(tmp_path):
    path = write(tmp_path / "a.txt", "007 8\n")
    assert read(path) == [(7, 8)]
    assert read(path, ids="string") == [("007", "8")]
    assert read(write(tmp_path / "b.txt", "a 8\n")) == [("a", "8")]
    assert read(write(tmp_path / "c.txt", "é 日本\n")) == [("é", "日本")]


def test_lines_may_differ_in_columns(tmp_path):
    path = write(tmp_path / "a.txt", "1 2\n3 4 x y z\n5 6 7\n")
    assert read(path) == [(1, 2), (3, 4), (5, 6)]


def test_several_files_each_with_its_own_shape(tmp_path):
    write(tmp_path / "a.csv", "")
    write(tmp_path / "b.csv", "src,dst,w\n1,2,3\n")
    write(tmp_path / "c.csv", "w;dst;src\n6;5;4\n")
    options = {"source": "src", "target": "dst", "weights": "w", "header": True}
    assert read(tmp_path / "[abc].csv", **options) == [(1, 2, 3.0), (4, 5, 6.0)]
    write(tmp_path / "d.txt", "1 2\n")
    write(tmp_path / "e.txt", "3\t4\n")
    assert read([tmp_path / "e.txt", tmp_path / "d.txt"]) == [(1, 2), (3, 4)]


def test_empty_files(tmp_path):
    for text in ("", "\n\n", "# nothing\n", " "):
        source = open_source(write(tmp_path / "a.txt", text), ReadOptions())
        assert (rows(source), source.id_kind, source.bad_lines.count) == ([], "int", 0)


@pytest.mark.parametrize("members", [1, 3])
def test_gzip(tmp_path, members):
    data = b"".join(gzip.compress(f"{i} {i + 1}\n".encode()) for i in range(members))
    expected = [(i, i + 1) for i in range(members)]
    assert read(write(tmp_path / "a.txt.gz", data)) == expected
    # The content counts, not the name.
    assert read(write(tmp_path / "b.txt", data)) == expected


@pytest.mark.parametrize("frames", [1, 3])
def test_zstd(tmp_path, frames):
    parts = [pa.compress(f"{i} {i + 1}\n".encode(), "zstd", asbytes=True) for i in range(frames)]
    path = write(tmp_path / "a.csv.ZST", b"".join(parts))
    assert read(path) == [(i, i + 1) for i in range(frames)]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_compression(tmp_path, suffix):
    text = "".join(f"{random.random()} {i}\n" for i in range(5000)).encode()
    whole = gzip.compress(text) if suffix == ".gz" else pa.compress(text, "zstd", asbytes=True)
    # Of a zstd stream without checksums, damage within need not show.
    damaged = [whole[:-5], whole[: len(whole) // 2]]
    damaged += [whole[:500] + b"xyz" + whole[503:]] * (suffix == ".gz")
    for data in damaged:
        path = write(tmp_path / f"cut.txt{suffix}", data)
        with pytest.raises(InputError, match=r"cut\.txt.*damaged or cut short"):
            read(path)
    with pytest.raises(InputError, match="name says it is compressed"):
        read(write(tmp_path / f"no.txt{suffix}", b"1 2\n"))
    with pytest.raises(InputError, match="name says it is compressed"):
        read(write(tmp_path / f"empty.txt{suffix}", b""))


def test_progress_adds_up_to_the_size(tmp_path):
    text = "".join(f"{i} {i}\n" for i in range(1000)).encode()
    write(tmp_path / "a.txt", text)
    write(tmp_path / "b.txt.gz", gzip.compress(text))
    source = open_source(tmp_path / "*", ReadOptions(block_bytes=512))
    done: list[float] = []
    assert len(rows(source, done.append)) == 2000
    assert sum(done) == source.size == sum(p.stat().st_size for p in tmp_path.iterdir())
    assert len(done) > 10


def test_chunks_begin_anew_and_have_at_most_chunk_rows(tmp_path):
    path = write(tmp_path / "a.txt", "".join(f"{i} {i}\n" for i in range(100)))
    for ids in ("int", "string"):
        source = open_source(path, ReadOptions(chunk_rows=7, ids=ids))
        assert [len(chunk) for chunk in source.chunks(lambda amount: None)] == [7] * 14 + [2]
        assert rows(source) == rows(source)


def test_stopping_early_leaves_no_thread(tmp_path):
    import threading

    path = write(tmp_path / "a.txt", "1 2\n" * 10000)
    source = open_source(path, ReadOptions(block_bytes=64, threads=2))
    before = threading.active_count()
    iterator = source.chunks(lambda amount: None)
    next(iterator)
    iterator.close()
    assert threading.active_count() == before


def test_matrix_market_is_not_taken_for_an_edge_list(tmp_path):
    path = write(tmp_path / "a.txt", "%%MatrixMarket matrix coordinate pattern general\n2 2 0\n")
    with pytest.raises(InputError, match="format='matrix_market'"):
        read(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"separator": ",,"}, "separator: expected one character"),
        ({"separator": "1"}, "separator"),
        ({"separator": "é"}, "separator"),
        ({"comment": "é"}, "comment: expected ASCII"),
        ({"skip_lines": -1}, "skip_lines"),
        ({"header": False, "weights": "w"}, "only if there is a header"),
        ({"weights": "w"}, "no column called 'w', only 'src', 'dst'"),
        ({"source": -1}, "column numbers begin with 0"),
        ({"source": 1}, "asked for twice"),
        ({"weights": 1}, "asked for twice"),
    ],
)
def test_bad_options(tmp_path, options, words):
    path = write(tmp_path / "a.csv", "src,dst\n1,2\n")
    with pytest.raises(OptionError, match=words):
        read(path, **options)


def test_columns_of_the_same_name(tmp_path):
    path = write(tmp_path / "a.csv", "src,dst,w,w\n1,2,3,4\n")
    with pytest.raises(InputError, match="2 columns are called 'w'"):
        read(path, weights="w")
    with pytest.raises(InputError, match="same name"):
        read(path, weights=2, attributes=(3,))
    assert read(path, weights=3) == [(1, 2, 4.0)]
