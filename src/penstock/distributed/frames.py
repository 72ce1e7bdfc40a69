"""What ranks send each other over a connection: frames of a bounded size, without code.

A frame is a prefix (a mark, the length of its head, the length of its body), a head in JSON and a
body of array bytes. Both lengths are checked before anything is read into memory. A head has plain
values only and a body has numbers only, so that reading a frame never runs code from its sender.

Small messages are sent together in one frame; a message whose arrays are larger than a frame is
announced by one, and its bytes follow in pieces. Arrays begin at multiples of :data:`ALIGNMENT`.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.engine.peers import Arrays
from penstock.types import U8, Array

#: The largest head and the largest body that are accepted.
MOST_HEAD_BYTES = 1 << 20
MOST_BODY_BYTES = 64 << 20
#: The largest frame that is accepted from a connection that has not yet shown the job's secret.
MOST_GREETING_BYTES = 64 << 10
#: The default size of the body of a frame that is sent.
FRAME_BYTES = 16 << 20
#: The most messages that are sent in one frame: heads stay small.
BATCH_ARRAYS = 256
ALIGNMENT = 16
PREFIX = struct.Struct("<4sIQ")
_MARK = b"PSF1"
#: Smaller buffers are joined: one write for several of them.
_JOINED_BYTES = 16 << 10
_MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

Head = dict[str, Any]
Buffer = bytes | memoryview


class FrameError(Exception):
    """The bytes of a connection are not frames that this version sends."""


class Lengths(NamedTuple):
    """What a prefix says of the frame."""

    head: int
    body: int


def read_prefix(data: bytes, *, most_head: int, most_body: int) -> Lengths:
    """The lengths of a frame; raises :class:`FrameError` if it is not a frame, or too large."""
    mark, head, body = PREFIX.unpack(data)
    if mark != _MARK:
        raise FrameError(f"a frame begins with {mark!r} instead of {_MARK!r}")
    if head > most_head or body > most_body:
        raise FrameError(
            f"a frame claims {head} + {body} bytes; at most {most_head} + {most_body} are accepted"
        )
    return Lengths(head, body)


def read_head(data: bytes) -> Head:
    """The head of a frame: a dict with a kind."""
    try:
        head = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"the head of a frame is not JSON ({error})") from None
    if not isinstance(head, dict) or not isinstance(head.get("kind"), str):
        raise FrameError("the head of a frame has no kind")
    return head


def plain_frame(kind: str, **values: Any) -> bytes:
    """A frame without a body."""
    head = json.dumps({"kind": kind, **values}, separators=(",", ":")).encode()
    return PREFIX.pack(_MARK, len(head), 0) + head


def message_bytes(arrays: Sequence[Array]) -> int:
    """Bytes of a message in the body of a frame."""
    return sum(_padded(array.nbytes) for array in arrays)


def message_frame(number: int, messages: Sequence[Arrays], *, end: bool) -> list[Buffer]:
    """One frame with messages of an exchange; ``end`` if the exchange ends with it."""
    shapes = [[_describe(array) for array in arrays] for arrays in messages]
    head = {"kind": "messages", "number": number, "end": end, "arrays": shapes}
    body = [buffer for arrays in messages for buffer in _body(arrays)]
    return _frame(head, body)


def last_frames(
    number: int, messages: Mapping[int, Sequence[Arrays]]
) -> list[tuple[int, list[Buffer]]]:
    """The frames that end an exchange, by rank. Ranks that are sent the same arrays get the same
    buffers.
    """
    made: dict[tuple[tuple[int, ...], ...], list[Buffer]] = {}
    found = []
    for rank, each in messages.items():
        same = tuple(tuple(map(id, arrays)) for arrays in each)
        if same not in made:
            made[same] = message_frame(number, each, end=True)
        found.append((rank, made[same]))
    return found


def large_frames(number: int, arrays: Arrays, frame_bytes: int) -> Iterator[list[Buffer]]:
    """The frames of a message that is larger than one."""
    shapes = [_describe(array) for array in arrays]
    yield _frame(
        {"kind": "large", "number": number, "arrays": shapes, "bytes": message_bytes(arrays)}, []
    )
    for piece in _pieces(_body(arrays), frame_bytes):
        yield _frame({"kind": "piece"}, piece)


def read_arrays(described: Any, body: U8, start: int = 0) -> tuple[Arrays, int]:
    """The arrays of one message, over the bytes of a body from ``start``; and where they end."""
    if not isinstance(described, list):
        raise FrameError("the arrays of a message are not described by a list")
    arrays = []
    for each in described:
        dtype, shape = _read_description(each)
        count = 1
        for length in shape:
            count *= length
        stop = start + count * dtype.itemsize
        if stop > len(body):
            raise FrameError(f"a body of {len(body)} bytes is too short for its arrays")
        try:
            arrays.append(np.ndarray(shape, dtype, buffer=body.data, offset=start))
        except (ValueError, OverflowError) as error:  # one dimension is 0, and the others too long
            raise FrameError(f"an array is described as {each!r} ({error})") from None
        start += _padded(stop - start)
    return tuple(arrays), start


def read_messages(head: Head, body: U8) -> list[Arrays]:
    """All messages of a frame."""
    if not isinstance(head.get("arrays"), list):
        raise FrameError("a frame of messages does not describe them")
    messages, start = [], 0
    for described in head["arrays"]:
        arrays, start = read_arrays(described, body, start)
        messages.append(arrays)
    if start != len(body):
        raise FrameError(f"a body of {len(body)} bytes has arrays of {start}")
    return messages


def read_size(head: Head) -> int:
    """The bytes of a message that is sent in pieces; an error if this machine has less memory."""
    size = read_number(head, "bytes")
    if size > _MEMORY_BYTES:
        raise FrameError(
            f"a message claims {size} bytes; this machine has {_MEMORY_BYTES} bytes of memory"
        )
    return size


def read_number(head: Head, name: str) -> int:
    """A whole number of a head that is not below 0."""
    value = head.get(name)
    if type(value) is not int or value < 0:
        raise FrameError(f"a frame has {value!r} for its {name}")
    return value


def _padded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _describe(array: Array) -> list[Any]:
    if array.dtype.hasobject:
        raise TypeError(f"an array of {array.dtype} cannot be sent: it holds Python objects")
    simple = array.dtype.fields is None and array.dtype.subdtype is None
    dtype = array.dtype.str if simple else np.lib.format.dtype_to_descr(array.dtype)
    return [dtype, list(array.shape)]


def _read_description(described: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    try:
        name, shape = described
        dtype = np.dtype(name) if isinstance(name, str) else _read_fields(name)
    except (TypeError, ValueError, LookupError, SyntaxError, RecursionError) as error:
        raise FrameError(f"an array is described as {described!r} ({error})") from None
    lengths = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    if not lengths or len(shape) > 32 or dtype.hasobject or dtype.subdtype is not None:
        raise FrameError(f"an array is described as {described!r}")
    return dtype, tuple(shape)


def _read_fields(described: Any) -> np.dtype[Any]:
    """A structured type."""
    return np.dtype(np.lib.format.descr_to_dtype(_fields(described)))


def _fields(described: Any) -> list[Any]:
    """The fields of a structured type: JSON has lists where NumPy wants tuples."""
    return [
        (name, kind if isinstance(kind, str) else _fields(kind), *(tuple(each) for each in shape))
        for name, kind, *shape in described
    ]


def _body(arrays: Arrays) -> list[Buffer]:
    """The bytes of arrays, each padded; contiguous ones are not copied."""
    buffers: list[Buffer] = []
    for array in arrays:
        if not array.nbytes:
            continue
        whole = array if array.flags.c_contiguous else array.copy(order="C")
        buffers.append(whole.reshape(-1).view(np.uint8).data)
        padding = _padded(array.nbytes) - array.nbytes
        if padding:
            buffers.append(bytes(padding))
    return buffers


def _pieces(buffers: list[Buffer], size: int) -> Iterator[list[Buffer]]:
    """Buffers in pieces of at most ``size`` bytes."""
    piece: list[Buffer] = []
    room = size
    for buffer in buffers:
        start = 0
        while start < len(buffer):
            part = buffer[start : start + room]
            piece.append(part)
            start += len(part)
            room -= len(part)
            if not room:
                yield piece
                piece, room = [], size
    if piece:
        yield piece


def _frame(head: Head, body: list[Buffer]) -> list[Buffer]:
    data = json.dumps(head, separators=(",", ":")).encode()
    if len(data) > MOST_HEAD_BYTES:
        raise ValueError(
            f"a message needs {len(data)} bytes to describe its arrays; at most "
            f"{MOST_HEAD_BYTES} can be sent: send fewer arrays in one message"
        )
    prefix = PREFIX.pack(_MARK, len(data), sum(map(len, body)))
    return _joined([prefix + data, *body])


def _joined(buffers: list[Buffer]) -> list[Buffer]:
    """The same bytes in fewer buffers: small neighbours are copied together."""
    found: list[Buffer] = []
    small: list[Buffer] = []
    for buffer in buffers:
        if len(buffer) < _JOINED_BYTES:
            small.append(buffer)
            continue
        if small:
            found.append(b"".join(small))
            small = []
        found.append(buffer)
    if small:
        found.append(b"".join(small))
    return found
