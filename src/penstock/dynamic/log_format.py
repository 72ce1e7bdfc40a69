"""What a record of the log looks like: a header, then arrays.

=======  =====  =========================================================================
offset   bytes  field of the header (little-endian)
=======  =====  =========================================================================
0        8      XXH3-64 of the rest of the header (bytes 8 .. 64)
8        4      ``PSLR``
12       1      format version of the log
13       1      kind: 0 the log begins, 255 it was closed, else what the writer says it is
14       2      zero
16       8      tag of the log
24       8      sequence number: one more than that of the record before
32       8      every record up to this sequence number was synced when this one was written
40       8      bytes of the payload, a multiple of 8
48       8      XXH3-64 of the payload
56       8      the first field of the record before; 0 in the first record
=======  =====  =========================================================================

The payload is a table of 8-byte words, then the arrays, each filled up with zeros to a multiple of
8 bytes. The table is the number of arrays, then for each its NumPy type (``<u4``, in ASCII, filled
up with zeros) and its length. A record without arrays has no payload.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from penstock.errors import CorruptionError
from penstock.store.page import checksum
from penstock.types import COLUMN_DTYPES, U8, Array

HEADER_BYTES = 64
LOG_VERSION = 1
MAGIC = b"PSLR"
#: Where in a header its tag is.
TAG_OFFSET = 16
#: Kinds of records that are the log's own; those between are its users'.
OPENING, CLOSING = 0, 255

_HEADER = struct.Struct("<4sBBHQQQQQQ")
_WORD = 8
_DTYPES = {np.dtype(name).newbyteorder("<").str: np.dtype(name) for name in COLUMN_DTYPES}
_PADDING = bytes(_WORD)


@dataclass(frozen=True, slots=True)
class Header:
    """What a record says about itself."""

    kind: int
    tag: int
    sequence: int
    #: The watermark: every record up to this sequence number was synced before.
    synced: int
    payload_bytes: int
    payload_checksum: int
    #: :attr:`checksum` of the record before.
    previous: int
    version: int = LOG_VERSION
    #: Of the fields above; what identifies the record and all before it.
    checksum: int = 0

    @property
    def num_bytes(self) -> int:
        """Bytes of the whole record."""
        return HEADER_BYTES + self.payload_bytes

    def pack(self) -> tuple[bytes, int]:
        """The header's bytes, and the checksum they begin with."""
        fields = _HEADER.pack(
            MAGIC, self.version, self.kind, 0, self.tag, self.sequence, self.synced,
            self.payload_bytes, self.payload_checksum, self.previous,
        )  # fmt: skip
        found = checksum(np.frombuffer(fields, np.uint8))
        return found.to_bytes(_WORD, "little") + fields, found

    @classmethod
    def unpack(cls, raw: U8) -> Header | None:
        """The header that some bytes are, or None if they are none, or not all as written."""
        if len(raw) < HEADER_BYTES:
            return None
        found = checksum(raw[_WORD:HEADER_BYTES])
        if int.from_bytes(raw[:_WORD].tobytes(), "little") != found:
            return None
        fields = _HEADER.unpack(raw[_WORD:HEADER_BYTES].tobytes())
        magic, version, kind, _, tag, sequence, synced, size, payload, previous = fields
        if magic != MAGIC:
            return None
        return cls(kind, tag, sequence, synced, size, payload, previous, version, found)


@dataclass(frozen=True, slots=True)
class Payload:
    """Arrays as they will be written. They must not change until they are."""

    parts: tuple[memoryview, ...]
    num_bytes: int
    checksum: int

    def is_unchanged(self) -> bool:
        """Whether the arrays are still what they were when the checksum was taken."""
        return _checksum_of(self.parts) == self.checksum


def encode(arrays: Sequence[Array]) -> Payload:
    """Arrays as bytes; nothing is copied that is contiguous and in the right byte order."""
    if len(arrays) == 0:
        return Payload((), 0, _checksum_of(()))
    table = [len(arrays)]
    parts: list[memoryview] = []
    for array in arrays:
        name = array.dtype.newbyteorder("<").str
        if array.ndim != 1 or name not in _DTYPES:
            raise TypeError(f"the log keeps 1-D arrays of numbers; got {array.dtype} {array.shape}")
        table += [int.from_bytes(name.encode(), "little"), len(array)]
        data = np.ascontiguousarray(array, name).view(np.uint8)
        parts += [data.data, memoryview(_PADDING)[: -len(data) % _WORD]]
    parts.insert(0, np.array(table, "<u8").view(np.uint8).data)
    return Payload(tuple(parts), sum(part.nbytes for part in parts), _checksum_of(parts))


def _checksum_of(parts: Sequence[memoryview]) -> int:
    digest = xxhash.xxh3_64()
    for part in parts:
        digest.update(part)
    return int(digest.intdigest())


def decode(payload: U8, where: str) -> tuple[Array, ...]:
    """The arrays of a payload whose checksum has been checked, as views of it."""
    if len(payload) == 0:
        return ()
    words = payload.view("<u8")
    count = int(words[0])
    place = 1 + 2 * count
    if place > len(words):
        raise CorruptionError(f"{where}: its table of arrays is longer than the record")
    arrays = []
    for i in range(count):
        name = int(words[1 + 2 * i]).to_bytes(_WORD, "little").rstrip(b"\0")
        dtype: np.dtype[Any] | None = _DTYPES.get(name.decode("latin-1"))
        length = int(words[2 + 2 * i])
        if dtype is None or length * dtype.itemsize > (len(words) - place) * _WORD:
            raise CorruptionError(f"{where}: array {i} cannot be ({name!r}, {length:,} entries)")
        begin, num_bytes = place * _WORD, length * dtype.itemsize
        arrays.append(payload[begin : begin + num_bytes].view(dtype))
        place += -(-num_bytes // _WORD)
    return tuple(arrays)
