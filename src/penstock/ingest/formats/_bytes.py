"""The bytes of a file, whether or not it is compressed, in blocks that end where a line ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.errors import InputError, InputNotFoundError
from penstock.types import U8

#: Suffixes that may follow the one that names the format.
COMPRESSED = (".gz", ".zst")

_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 16
#: A line may have that many bytes, or that many blocks if this is more.
_LONGEST_LINE, _LONGEST_BLOCKS = 64 << 20, 4


def format_suffix(path: str) -> str:
    """The suffix that names the format: lower case, that of a compression taken off.

    >>> format_suffix("data/Web.TXT.gz")
    '.txt'
    """
    stem, suffix = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if suffix in COMPRESSED else suffix


def is_compressed(path: str) -> bool:
    """Whether the name says so."""
    return path.lower().endswith(COMPRESSED)


def open_error(path: str, error: OSError) -> InputError | InputNotFoundError:
    """What to raise when a file cannot be opened."""
    if isinstance(error, FileNotFoundError):
        return InputNotFoundError(f"{path}: there is no such file")
    return InputError(f"{path}: cannot be read: {error.strerror or error}")


class ByteStream:
    """A file as it is after decompression (gzip or zstd, with any number of members), in order."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._failures: tuple[type[Exception], ...] = (OSError,)
        try:
            self._file: Any = open(path, "rb", buffering=0)  # noqa: SIM115
            magic = self._file.read(4)
            self._file.seek(0)
        except OSError as error:
            raise open_error(path, error) from None
        self._reader: Any = self._file
        codec = next((name for start, name in _CODECS.items() if magic.startswith(start)), None)
        self.plain = codec is None
        if codec is not None:
            import pyarrow as pa

            self._failures += (pa.ArrowException,)
            self._file.close()
            self._file = pa.OSFile(path)
            self._reader = pa.CompressedInputStream(self._file, codec)
        elif is_compressed(path):
            self.close()
            raise InputError(
                f"{path}: the name says it is compressed, but it does not begin like it; "
                "give it a name without that suffix, or fetch it again"
            )

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer; fewer bytes only if the file ends."""
        done = 0
        try:
            while done < len(buffer):
                got = self._reader.readinto(buffer[done:])
                if not got:
                    break
                done += got
        except self._failures as error:
            what = "cannot be read" if self.plain else "cannot be decompressed"
            raise InputError(
                f"{self.path}: {what} ({error}); the file is damaged or cut short"
            ) from None
        return done

    def read_array(self, dtype: Any, count: int) -> Any:
        """Read ``count`` binary values; an InputError if there are fewer."""
        array = np.empty(count, dtype)
        view = array.view(np.uint8).reshape(-1).data if count else memoryview(b"")
        if self.readinto(view) < len(view):
            raise InputError(f"{self.path}: the file ends too early; fetch or write it again")
        return array

    def skip(self, count: int) -> None:
        """Pass over ``count`` bytes."""
        if self.plain:
            self._file.seek(count, os.SEEK_CUR)
            return
        scratch = memoryview(bytearray(min(count, _PIECE)))
        while count > 0:
            got = self.readinto(scratch[:count])
            if got == 0:
                return
            count -= got

    def position(self) -> int:
        """How many bytes of the file on disk have been used."""
        return int(self._file.tell())

    def close(self) -> None:
        """Give the file back."""
        if self._reader is not self._file:
            self._reader.close()
        self._file.close()

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def file_size(path: str) -> int:
    """Bytes on disk."""
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise open_error(path, error) from None


def looks_like_text(sample: bytes) -> bool:
    """Whether bytes can be text: no NUL, and not full of what UTF-8 does not have."""
    if b"\0" in sample:
        return False
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    return broken * 10 <= len(sample) * 3


def read_sample(path: str, count: int = _PIECE) -> bytes:
    """The first bytes of a file, after decompression."""
    with ByteStream(path) as stream:
        buffer = bytearray(count)
        return bytes(buffer[: stream.readinto(memoryview(buffer))])


def require_text(path: str) -> None:
    """Raise an InputError if a file begins like something other than text."""
    sample = read_sample(path)
    if not looks_like_text(sample):
        unicode16 = " (it may be UTF-16: convert it to UTF-8)" * sample.startswith(
            (b"\xff\xfe", b"\xfe\xff")
        )
        raise InputError(
            f"{path}: this is not a text file{unicode16}; pass format= to say what it is"
        )
    if b"\r" in sample and b"\n" not in sample and b"\r" in sample.rstrip(b"\r"):
        raise InputError(f"{path}: lines end in CR alone; convert them to end in LF")


def text_lines(path: str) -> Iterator[bytes]:
    """The lines of a text file one by one, without their ends: for headers, not for bodies."""
    require_text(path)
    with ByteStream(path) as stream:
        piece = bytearray(_PIECE)
        rest = b""
        first = True
        while got := stream.readinto(memoryview(piece)):
            data = rest + piece[:got]
            data = data.removeprefix(_BOM) if first else data
            first = False
            *lines, rest = data.split(b"\n")
            for line in lines:
                yield line.removesuffix(b"\r")
            if len(rest) > _LONGEST_LINE:
                raise _too_long(path, len(rest))
        if rest:
            yield rest.removesuffix(b"\r")


def _too_long(path: str, length: int) -> InputError:
    return InputError(
        f"{path}: a line has more than {format_bytes(length)}; "
        "is this a text file with one edge on each line?"
    )


def after_last(buffer: U8, ends: bytes = b"\n") -> int:
    """Where to cut behind the last of some bytes; 0 if there is none."""
    stop = len(buffer)
    while stop > 0:
        start = max(0, stop - 4096)
        piece = buffer[start:stop].tobytes()
        found = max(piece.rfind(end) for end in ends)
        if found >= 0:
            return start + found + 1
        stop = start
    return 0


def blocks(
    stream: ByteStream, block_bytes: int, cut_after: Callable[[U8], int] = after_last
) -> Iterator[U8]:
    """Cut a stream into blocks; the arrays are the caller's to keep.

    ``cut_after`` says how many bytes of an array go into a block: those up to the last newline,
    unless another function is given. If it says 0, the block grows.
    """
    longest = max(_LONGEST_LINE, _LONGEST_BLOCKS * block_bytes)
    carry = np.empty(0, np.uint8)
    size, skip = block_bytes, len(_BOM)
    while True:
        buffer = np.empty(size, np.uint8)
        buffer[: len(carry)] = carry
        used = len(carry) + stream.readinto(buffer.data[len(carry) :])
        start = skip if skip and buffer[: min(skip, used)].tobytes() == _BOM else 0
        cut = used
        if used == size:
            cut = cut_after(buffer[start:])
            cut = start + cut if cut else 0
            if cut == 0:
                if size >= longest:
                    raise _too_long(stream.path, size)
                carry, size = buffer, min(2 * size, longest)
                continue
        if cut > start:
            yield buffer[start:cut]
        if used < size:
            return
        carry, size, skip = buffer[cut:], max(block_bytes, used - cut + 1), 0
