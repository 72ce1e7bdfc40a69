"""What ranks say to each other: visitors, and the few other messages. Everything is bytes.

A message is a head of 16 bytes and a body. Head (little endian): kind, 3 bytes 0, the number of the
command that it belongs to (uint32), a number whose meaning depends on the kind (int64). The body of
``VISITORS`` is an array of :data:`VISITOR`; that of a command, and of what a rank answers, is a
line of JSON (names, dtypes and lengths of arrays, small values), filled up to a multiple of 8, and
the arrays.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from penstock.jit import kernel
from penstock.types import U16, U64, Array

#: One visitor: where it goes, what it is to do there, and what it brings along: the other vertex
#: or a label, and a small number.
VISITOR = np.dtype(
    [("target", "<u8"), ("other", "<u8"), ("value", "<u4"), ("operation", "<u4")], align=True
)

Buffer = bytes | bytearray | memoryview

_HEAD = struct.Struct("<BxxxIq")
HEAD_BYTES = _HEAD.size


class Operation(IntEnum):
    """What a visitor does to its target."""

    #: Edge requests, to the end that decides: the smaller id (of a directed edge, its source).
    INSERT = 0
    DELETE = 1
    #: From that end to the other one, if the request changed something; ``value`` is its colour.
    LINK = 2
    UNLINK = 3
    #: The target of a directed edge is a vertex.
    MENTION = 4
    #: ``other`` now has colour ``value``.
    ANNOUNCE = 5
    #: A level, in ``value``.
    REACH = 6
    #: A label, in ``other``.
    LABEL = 7
    #: ``other`` has colour ``value``, and wants to know that of the target.
    ASK = 8


class Kind(IntEnum):
    """What a message is; its number is what the comment says."""

    VISITORS = 0  # nothing
    APPLIED = 1  # visitor messages applied since the last time
    TOKEN = 2  # 2 * missing + tainted
    QUIET = 3  # nothing: the command is over
    COMMAND = 4  # nothing
    STOP = 5  # nothing
    DONE = 6  # nothing
    FAILED = 7  # the rank that is to blame


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a message."""

    kind: Kind
    command: int
    number: int


def message(kind: Kind, command: int, number: int = 0, *body: Buffer) -> bytearray:
    """The bytes of a message; the pieces of the body are copied."""
    return bytearray().join((_HEAD.pack(kind, command, number), *body))


def read_head(data: Buffer) -> Head:
    """How a message begins."""
    kind, command, number = _HEAD.unpack_from(data)
    return Head(Kind(kind), command, number)


def visitors_message(command: int, visitors: Array) -> bytearray:
    """A message that brings visitors."""
    return message(Kind.VISITORS, command, 0, visitors.view(np.uint8).data)


def visitors_of(data: Buffer) -> Array:
    """The visitors in a message."""
    return np.frombuffer(data, VISITOR, offset=HEAD_BYTES)


def pack(values: dict[str, Any]) -> list[Buffer]:
    """Small values and one-dimensional arrays, by name, as the pieces of a body."""
    arrays = {name: v for name, v in values.items() if isinstance(v, np.ndarray)}
    small = {name: v for name, v in values.items() if name not in arrays}
    shapes = [[name, v.dtype.str, len(v)] for name, v in arrays.items()]
    line = json.dumps([small, shapes]).encode()
    line += b" " * (-(len(line) + 1) % 8) + b"\n"
    body: list[Buffer] = [line]
    for array in arrays.values():
        body += [np.ascontiguousarray(array).view(np.uint8).data, bytes(-array.nbytes % 8)]
    return body


def unpack(data: Buffer) -> dict[str, Any]:
    """What :func:`pack` was given, from a whole message; arrays are views of it."""
    end = bytes(data[HEAD_BYTES : HEAD_BYTES + (1 << 16)]).index(b"\n")
    values, shapes = json.loads(bytes(data[HEAD_BYTES : HEAD_BYTES + end]))
    at = HEAD_BYTES + end + 1
    for name, dtype, length in shapes:
        values[name] = np.frombuffer(data, dtype, length, at)
        at += -(-length * np.dtype(dtype).itemsize // 8) * 8
    result: dict[str, Any] = values
    return result


@kernel
def _owners(ids, ranks, out):  # type: ignore[no-untyped-def]
    for i in range(len(ids)):
        x = ids[i]
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[i] = (x ^ (x >> np.uint64(31))) % np.uint64(ranks)


def owners(ids: U64, ranks: int) -> U16:
    """The rank that each vertex belongs to: SplitMix64's finaliser of its id, modulo the ranks."""
    out: U16 = np.empty(len(ids), np.uint16)
    _owners(ids, ranks, out)
    return out
