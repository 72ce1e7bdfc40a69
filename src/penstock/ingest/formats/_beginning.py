"""What the first lines of a text file tell: the separator, and whether there is a header.

The first line is a header if the options say so or ask for columns by name, if it has the usual
names of source and target, or if it has words where the lines below have numbers. It is an edge if
it has a number, or an id that occurs again below, or if columns are separated by white space. With
separated columns anything else is refused: either guess could lose data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import InputError, OptionError
from penstock.ingest.formats._bytes import format_suffix, text_lines
from penstock.ingest.formats._columns import choose_ends
from penstock.ingest.formats._ends import names_ends
from penstock.ingest.formats._lines import shown
from penstock.protocols import ReadOptions

INTEGER = re.compile(rb"-?[0-9]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: What a column may be called; what stands for a missing number is no name.
_NAME = re.compile(rb"(?!(na|nan|null|none|inf|infinity)$)[^\W\d][^\n]*", re.IGNORECASE)
_OPEN = re.compile(rb'"(?:[^"]|"")*\Z')
_MATRIX_MARKET = b"%%MatrixMarket"
#: Records to look at, and lines that one of them may have.
_SAMPLE, _MOST_LINES = 1000, 100


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the first lines of a file tell."""

    path: str
    separator: bytes
    #: Lines before the first edge, except comments after a header.
    skip_lines: int
    #: The header's names.
    names: list[str] | None
    #: The fields of the first edge, None if there is none.
    first: list[bytes] | None
    #: Comments above the header.
    comments: int = 0


def is_name(column: object) -> bool:
    """Whether a column is asked for by name."""
    return isinstance(column, str) and not column.isdecimal()


def given_separator(options: ReadOptions) -> bytes | None:
    """The separator that was asked for (empty: runs of white space), or None to find it out."""
    separator = {"auto": None, " ": "", None: "", "\\t": "\t"}.get(
        options.separator, options.separator
    )
    if separator is None or separator == "":
        return None if separator is None else b""
    usable = len(separator) == 1 and separator.isascii() and not separator.isalnum()
    if not usable or separator in '\n\r"+-.\0':
        raise OptionError(
            f"separator: expected one character such as ',', or None for white space, "
            f"got {options.separator!r}"
        )
    return separator.encode()


def split_fields(line: bytes, separator: bytes) -> list[bytes]:
    """Cut one record into its fields, as the scanner does.

    >>> split_fields(b'1, "two, too"', b",")
    [b'1', b'two, too']
    """
    return _split(line, separator)[0]


def _split(line: bytes, separator: bytes) -> tuple[list[bytes], bool]:
    """The fields of a line, and whether one begins with a quote that nothing closes."""
    if not separator:
        return re.split(rb"[ \t]+", line.strip(b" \t")), False
    fields = []
    blanks = b" \t".replace(separator, b"")
    quoted = re.compile(rb'"((?:[^"]|"")*)"[ \t]*(?=' + re.escape(separator) + rb"|\Z)")
    at, is_open = 0, False
    while True:
        at += len(line) - at - len(line[at:].lstrip(blanks))
        match = quoted.match(line, at)
        is_open = is_open or (match is None and _OPEN.match(line, at) is not None)
        end = match.end() if match else line.find(separator, at)
        end = len(line) if end < 0 else end
        fields.append(match[1].replace(b'""', b'"') if match else line[at:end].strip(b" \t"))
        if end >= len(line):
            return fields, is_open
        at = end + 1


def look(path: str, options: ReadOptions) -> Beginning:
    """Read the first records of a file."""
    lines = enumerate(text_lines(path))
    comment = tuple(options.comment.encode()[i : i + 1] for i in range(len(options.comment)))
    separator = given_separator(options)
    found: list[tuple[int, list[bytes]]] = []
    comments = 0
    for number, line in lines:
        if number == 0 and line.startswith(_MATRIX_MARKET):
            raise InputError(
                f"{path}: this is a Matrix Market file; pass format='matrix_market' "
                "(--format matrix_market) or give it a name that ends in .mtx"
            )
        bare = line.strip(b" \t")
        if number < options.skip_lines or not bare or bare.startswith(comment):
            above = not found and number >= options.skip_lines
            comments += above and bare.startswith(comment)
            continue
        if separator is None:
            separator = _find_separator(line, path)
        found.append(_whole_record(number, line, lines, separator))
        if len(found) == _SAMPLE:
            break
    if not found:
        return Beginning(path, b"", options.skip_lines, None, None)
    assert separator is not None
    records = [fields for _, fields in found]
    if not has_header(records, separator, options, path):
        return Beginning(path, separator, options.skip_lines, None, records[0])
    first = records[1] if len(records) > 1 else None
    names = _decoded(records[0])
    return Beginning(path, separator, found[0][0] + 1, names, first, comments)


def _find_separator(line: bytes, path: str) -> bytes:
    bare = re.sub(rb'"[^"]*("|$)', b"", line).strip(b" \t")
    marks = (b"\t", b",", b";") if format_suffix(path) == ".tsv" else (b",", b"\t", b";")
    return next((mark for mark in marks if mark in bare), b"")


def _whole_record(
    number: int, line: bytes, lines: Iterator[tuple[int, bytes]], separator: bytes
) -> tuple[int, list[bytes]]:
    """The fields of a record, with the lines that a field in quotes goes on to, and the number of
    its last line.
    """
    fields, is_open = _split(line, separator)
    record, last = line, number
    for _ in range(_MOST_LINES if is_open else 0):
        last, more = next(lines, (last, None))
        if more is None:
            break
        record += b"\n" + more
        joined, is_open = _split(record, separator)
        if not is_open:
            return last, joined
    return number, fields


def _decoded(fields: list[bytes]) -> list[str]:
    return [field.decode("utf-8", "replace") for field in fields]


def has_header(
    records: list[list[bytes]], separator: bytes, options: ReadOptions, path: str
) -> bool:
    """Whether the first of the records names the columns."""
    if options.header is not None:
        return options.header
    columns = (options.source, options.target, options.weights, *options.attributes)
    first, *below = records
    if any(map(is_name, columns)):
        return True
    if names_ends(_decoded(first)) and not any(map(_NUMBER.fullmatch, first)):
        return True
    ends = choose_ends(options, None, None, path)
    if not all(0 <= end < len(record) for record in records[:2] for end in ends):
        return False
    ids = [first[end] for end in ends]
    if any(map(INTEGER.fullmatch, ids)):
        return False
    if below and all(INTEGER.fullmatch(below[0][end]) for end in ends):
        return True
    if _words_over_numbers(first, below, ends):
        return True
    again = {record[end] for record in below for end in ends if end < len(record)}
    if any(map(_NUMBER.fullmatch, first)) or not again.isdisjoint(ids):
        return False
    if not separator or options.ids == "int":
        return False
    raise OptionError(
        f"{path}: cannot tell whether the first line, {shown(separator.join(first))}, names the "
        "columns or is an edge; pass header=True (--header) or header=False (--no-header)"
    )


def _words_over_numbers(
    first: list[bytes], below: list[list[bytes]], ends: tuple[int, int]
) -> bool:
    """Whether a further column has a word in the first line and nothing but numbers below."""
    if not below:
        return False
    places = [i for i, field in enumerate(first) if i not in ends and _NAME.fullmatch(field)]
    return any(
        all(i < len(record) and _NUMBER.fullmatch(record[i]) for record in below) for i in places
    )
