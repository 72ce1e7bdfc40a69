from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from format_reading import read, rows

from penstock.errors import IdError, InputError, OptionError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions

BIG = 2**64 - 1


@pytest.mark.parametrize("dtype", ["i1", "i2", ">i4", "i8", "u1", "u2", "u4", ">u8", "u8"])
def test_integers(dtype):
    src, dst = np.array([0, 7, 127], dtype), np.array([1, 2, 3], dtype)
    assert read((src, dst)) == [(0, 1), (7, 2), (127, 3)]
    assert read((src[::-1], dst[::2][[0, 1, 0]])) == [(127, 1), (7, 3), (0, 1)]
    assert read(np.stack([src, dst], axis=1)) == [(0, 1), (7, 2), (127, 3)]


def test_python_lists():
    assert read(([0, 1], [2, BIG])) == [(0, 2), (1, BIG)]
    assert read([range(2), range(2, 4)]) == [(0, 2), (1, 3)]
    assert read(([1, 2], [3, 4], [0.5, 1])) == [(1, 3, 0.5), (2, 4, 1.0)]
    assert read((np.array([1, BIG], object), [0, 0])) == [(1, 0), (BIG, 0)]
    assert read(([], [])) == []
    assert read((pd.Series([1, 2]), pd.Series([3, 4]))) == [(1, 3), (2, 4)]


@pytest.mark.parametrize("dtype", [None, object, "U", "S", np.dtypes.StringDType()], ids=str)
def test_strings(dtype):
    src = np.array(["a", "bc", "d"], dtype)
    dst = np.array(["x", "y", "z"], dtype)
    for chunk_rows in (2, 100):
        assert read((src, dst), chunk_rows=chunk_rows) == [("a", "x"), ("bc", "y"), ("d", "z")]
    assert read((pd.Series(["a"]), ["b"])) == [("a", "b")]


def test_ids_can_be_told():
    assert read(([1, 2], ["a", "b"]), ids="string") == [("1", "a"), ("2", "b")]
    assert read((["1", "2"], [3, 4]), ids="int") == [(1, 3), (2, 4)]
    assert read(([-1], [2]), ids="string") == [("-1", "2")]
    with pytest.raises(IdError, match="dst: cannot be read as integers"):
        read(([1], ["x"]), ids="int")


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8"])
def test_weights_keep_their_dtype(dtype):
    source = open_source(([1], [2], np.array([3], dtype)), ReadOptions())
    assert (source.columns, source.weight) == ({"weight": np.dtype(dtype)}, "weight")
    assert rows(source) == [(1, 2, 3)]


def test_weights_of_other_dtypes():
    assert open_source(([1], [2], [True]), ReadOptions()).columns == {"weight": np.dtype("u1")}
    half = open_source(([1], [2], np.array([1.5], "f2")), ReadOptions())
    assert (half.columns, rows(half)) == ({"weight": np.dtype("f4")}, [(1, 2, 1.5)])
    assert read(([1], [2], np.array([3], ">f8"))) == [(1, 2, 3.0)]
    for weight in (["x"], [1j], [None]):
        with pytest.raises(InputError, match="weight: edge columns must hold numbers"):
            read(([1], [2], weight))


def test_options():
    assert read(([1], [2], [3]), weights=False) == [(1, 2)]
    for options in ({"weights": "cost"}, {"attributes": (3,)}, {"source": "a"}):
        with pytest.raises(OptionError):
            read(([1], [2], [3]), **options)
    with pytest.raises(OptionError, match="no weights"):
        read(([1], [2]), weights=True)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (([1, 2], [3]), InputError, "same length, got 2, 1"),
        (([1], [2], [3, 4]), InputError, "same length, got 1, 1, 2"),
        (([1.0], [2]), IdError, "src: vertex ids must be integers or strings, got float64"),
        (([True], [2]), IdError, "got bool"),
        ((np.ones((3, 3)),), OptionError, "got 1 items"),
        (np.ones((3, 2)), IdError, "float64"),
        (np.ones(3, int), OptionError, r"shape \(3,\)"),
        (np.ones((3, 4), int), OptionError, r"shape \(3, 4\)"),
        (([1], [-2]), IdError, r"dst: -2 in row 0 \("),
        ((np.array([1, -(2**40)]), [1, 2]), IdError, r"row 1 \("),
        (([2**64], [1]), IdError, r"src: an id is negative or not below 2\*\*64"),
        (([1], ["x"]), IdError, "src holds integers but dst holds strings.*--ids string"),
        ((["x", None], ["y", "z"]), InputError, r"src: there is no value in row 1 \("),
        ((np.array([1.5, "x"], object), ["a", "b"]), IdError, "src: cannot be read as strings"),
        ((np.array([1.5, 2.5], object), ["a", "b"]), IdError, "src: .*got double"),
        (([1], [2], [float("nan")]), InputError, r"the weight in row 0 \(counted from 0\) is nan"),
        ([(1, 2), (3, 4)], OptionError, r"numpy\.array\(pairs\)"),
        ((1, 2), OptionError, "got int as src"),
        (("ab", [1]), OptionError, "got str as src"),
        (([[1]], [[2]]), OptionError, "one dimension"),
        (([[1], [2, 3]], [1, 2]), InputError, "cannot be made an array"),
        ([], OptionError, "got 0 items"),
    ],
)
def test_mistakes(data, error, words):
    with pytest.raises(error, match=words):
        read(data, chunk_rows=2)


def test_sparse_patterns_and_zeros():
    dense = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    source = open_source(scipy.sparse.csr_array(dense.astype(bool)), ReadOptions())
    assert (rows(source), source.weight, source.declared) == ([(0, 1), (1, 2)], None, range(3))
    assert read(scipy.sparse.csr_array(dense.astype(bool)), weights=True)[0] == (0, 1, 1)
    matrix = scipy.sparse.csr_matrix(dense.astype(float))
    matrix.data[0] = 0
    assert read(matrix) == [(0, 1, 0.0), (1, 2, 1.0)]
    assert read(scipy.sparse.csr_array((4, 4))) == []


def test_sparse_in_small_chunks():
    matrix = scipy.sparse.random(60, 60, 0.1, "csr", random_state=1)
    expected = sorted(zip(*scipy.sparse.find(matrix), strict=True))
    for form in ("csr", "csc", "coo", "dok"):
        assert sorted(read(matrix.asformat(form), chunk_rows=7)) == expected


@pytest.mark.parametrize(
    ("matrix", "error", "words"),
    [
        (scipy.sparse.csr_array((2, 3)), InputError, r"a square one, got shape \(2, 3\)"),
        (scipy.sparse.csr_array([[1j]]), InputError, "complex128"),
        (scipy.sparse.csr_array([[np.nan]]), InputError, "nan"),
    ],
)
def test_bad_sparse(matrix, error, words):
    with pytest.raises(error, match=words):
        read(matrix)
    with pytest.raises(OptionError, match="ids='string'"):
        read(matrix, ids="string")


def test_damaged_sparse():
    matrix = scipy.sparse.csr_array(np.eye(3))
    matrix.indices[1] = 9
    with pytest.raises(IdError, match="index 9 is outside of its shape 3 x 3"):
        read(matrix)
