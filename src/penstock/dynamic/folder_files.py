"""Whole files of a live graph's directory, and arrays in them as NumPy's ``.npy``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from penstock.dynamic.disk import Disk, explained
from penstock.errors import CorruptionError, FormatError, InputNotFoundError
from penstock.store.catalog import FileRecord
from penstock.store.page import checksum
from penstock.types import U8, Array


def write_file(disk: Disk, path: Path, parts: list[U8], what: str) -> None:
    """Write a new file, with its bytes on the disk; its name is not yet. ``what`` is said if it
    cannot be.
    """
    try:
        disk.remove(path)
        file = disk.create(path)
        try:
            file.write(0, [part.data for part in parts])
            file.sync()
        finally:
            file.close()
    except OSError as error:
        raise explained(error, path, what) from error


def write_array(disk: Disk, path: Path, values: Array, dtype: np.dtype[Any]) -> FileRecord:
    """Write an array; returns what :func:`read_file` checks the file against."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head,
        {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": (len(values),),
        },
    )
    body = np.ascontiguousarray(values, dtype).view(np.uint8)
    raw = np.concatenate([np.frombuffer(head.getvalue(), np.uint8), body])
    write_file(disk, path, [raw], "the values of vertices were not written")
    return FileRecord(len(raw), f"{checksum(raw):016x}")


def read_file(disk: Disk, path: Path, record: FileRecord) -> U8:
    """All bytes of a file, which must be those that were recorded."""
    try:
        file = disk.open(path)
    except OSError as error:
        raise InputNotFoundError(
            f"{path}: cannot be opened ({error.strerror}); restore it from a copy"
        ) from None
    try:
        size = file.size()
        raw = file.read(0, size if size == record.bytes else 0)
    except OSError as error:
        raise CorruptionError(f"{path}: cannot be read: {error.strerror}") from None
    finally:
        file.close()
    if len(raw) != record.bytes or f"{checksum(raw):016x}" != record.xxh3:
        raise CorruptionError(
            f"{path}: its {size:,} bytes are not the {record.bytes:,} that were written: "
            "restore it from a copy"
        )
    return raw


def decode_array(raw: U8, path: Path, dtype: np.dtype[Any], length: int) -> Array:
    """The array that a file holds, which must be of this type and length."""
    try:
        values: Array = np.lib.format.read_array(io.BytesIO(raw.tobytes()), allow_pickle=False)
    except Exception as error:  # what NumPy raises for a header is not its promise
        raise CorruptionError(f"{path}: cannot be read: {error}") from None
    if values.shape != (length,) or values.dtype != dtype:
        raise FormatError(f"{path}: is {values.dtype} {values.shape}, expected {dtype} ({length},)")
    return values
