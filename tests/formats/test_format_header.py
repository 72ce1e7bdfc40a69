"""Which line is a header, and which columns are source and target."""

from __future__ import annotations

import pyarrow as pa
import pytest
from format_reading import read, write
from pyarrow import parquet

from penstock.errors import InputError, OptionError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("id,from,to", ("b", "c")),
        ("id,to,from", ("c", "b")),
        ("id,Source,TARGET", ("b", "c")),
        ("x,source_node_id,target_node_id", ("b", "c")),
        ("note,src,dest", ("b", "c")),
        ("origin,x,destination", ("a", "c")),
        ("target,x,source", ("c", "a")),
        # A pair of names counts before a single one.
        ("source,from,to", ("b", "c")),
        # Of two pairs, that of the first two columns.
        ("from,to,u,v", ("a", "b")),
        (":START_ID,:END_ID,:TYPE", ("a", "b")),
    ],
)
def test_usual_names(tmp_path, header, expected):
    assert read(write(tmp_path / "a.csv", f"{header}\na,b,c,d\n")) == [expected]
    names = header.split(",")
    table = pa.table({name: [value] for name, value in zip(names, "abcd", strict=False)})
    assert read(table) == [expected]


def test_names_of_single_letters_make_no_header(tmp_path):
    assert read(write(tmp_path / "a.txt", "u v\nv w\n")) == [("u", "v"), ("v", "w")]
    assert read(write(tmp_path / "b.csv", "id,u,v\n7,1,2\n")) == [(1, 2)]


def test_several_pairs_of_names(tmp_path):
    path = write(tmp_path / "a.csv", "id,from,to,source,target\n1,2,3,4,5\n")
    with pytest.raises(OptionError, match=r"'source' and 'target' or 'from' and 'to'.*--columns"):
        read(path)
    assert read(path, source="from", target="to") == [(2, 3)]
    assert read(path, source=0, target=1) == [(1, 2)]


def test_times_are_no_ends(tmp_path):
    path = write(tmp_path / "a.csv", "caller,callee,start,end\n1,2,10,20\n")
    assert read(path) == [(1, 2)]


def test_usual_weight_is_that_of_the_name(tmp_path):
    path = write(tmp_path / "a.csv", "id,from,to,weight\n1,2,3,0.5\n")
    assert read(path, weights=True) == [(2, 3, 0.5)]


@pytest.mark.parametrize("mark", [",", "\t", ";"])
@pytest.mark.parametrize("lines", [["customer,merchant", "ann,shop"], ["id,customer", "i1,ann"]])
def test_a_line_that_may_be_either_is_refused(tmp_path, mark, lines):
    path = write(tmp_path / "a.csv", "\n".join(lines).replace(",", mark))
    with pytest.raises(OptionError, match=r"a\.csv: cannot tell .*--header.* or .*--no-header"):
        read(path)
    assert len(read(path, header=True)) == 1
    assert len(read(path, header=False)) == 2


def test_a_word_over_numbers_is_a_header(tmp_path):
    path = write(tmp_path / "a.csv", "customer,merchant,amount\nann,shop,3.5\nbob,shop,2\n")
    assert read(path) == [("ann", "shop"), ("bob", "shop")]
    path = write(tmp_path / "b.txt", "protein1 protein2 score\nP1 P2 300\n")
    assert read(path) == [("P1", "P2")]
    # Not if it stands for a missing number, or not all below are numbers.
    assert len(read(write(tmp_path / "c.txt", "ann bob nan\ncy dan 2\n"))) == 2
    assert len(read(write(tmp_path / "d.txt", "ann bob old\ncy dan 2\neve fay new\n"))) == 3


def test_a_line_with_a_number_or_a_name_that_occurs_again_is_an_edge(tmp_path):
    assert len(read(write(tmp_path / "a.csv", "ann,bob,3\ncy,dan,4\n"))) == 2
    assert len(read(write(tmp_path / "b.csv", "ann,bob\ncy,dan\ndan,ann\n"))) == 3
    assert len(read(write(tmp_path / "c.csv", "ann,7\ncy,dan\n"))) == 2


def test_a_word_in_blanks_is_an_edge_and_a_note_says_so(tmp_path):
    source = open_source(write(tmp_path / "a.txt", "customer merchant\nann shop\n"), ReadOptions())
    assert "no header, so the first line, 'customer merchant', is an edge" in source.notes[0]


def test_notes_name_the_columns(tmp_path):
    path = write(tmp_path / "a.csv", "id,from,to,cost\n1,2,3,4\n")
    notes = open_source(path, ReadOptions(weights="cost")).notes
    assert notes == (f"{path}: source is column 'from', target 'to', weight 'cost'",)
    assert open_source(write(tmp_path / "b.txt", "1 2\n"), ReadOptions()).notes == ()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_matched_by_name(tmp_path, suffix):
    def save(name: str, **columns: list[int]) -> None:
        if suffix == "parquet":
            parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        else:
            rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
            write(tmp_path / f"{name}.csv", "\n".join([",".join(columns), *rows]))

    save("1", a=[1], b=[2], w=[3])
    save("2", w=[30], b=[20], a=[10])
    save("3", extra=[0], a=[100], w=[300], b=[200])
    expected = [(1, 2, 3), (10, 20, 30), (100, 200, 300)]
    assert read(tmp_path, weights="w") == expected
    assert read(tmp_path, source=0, target=1, weights=2) == expected
    save("4", c=[1], d=[2], w=[3])
    with pytest.raises(InputError, match=r"4\.\w+: has the columns 'c', 'd', 'w', but .*1\.\w+ "):
        read(tmp_path)


def test_files_with_and_without_a_header(tmp_path):
    write(tmp_path / "1.csv", "id,from,to\n1,2,3\n")
    write(tmp_path / "2.csv", "4,5,6\n")
    assert read(tmp_path) == [(2, 3), (5, 6)]
    write(tmp_path / "0.csv", "7,8,9\n")
    with pytest.raises(InputError, match=r"1\.csv: the header names other columns .*0\.csv"):
        read(tmp_path)


def test_tabs_come_first_in_tsv(tmp_path):
    path = write(tmp_path / "a.tsv", "Doe, Ann\tRoe, Bob\nRoe, Bob\tPoe, Cy\n")
    assert read(path) == [("Doe, Ann", "Roe, Bob"), ("Roe, Bob", "Poe, Cy")]
