"""Edge lists as text: one edge on each line, columns separated by white space or a character.

Lines end in LF or CRLF; blank lines and comments are passed over; a UTF-8 byte order mark is
ignored; fields of separated columns may be in double quotes, within one line. What the options
leave open is found out from the first lines of each file: the separator (comma, tab, semicolon, or
runs of white space), and whether there is a header. Whether ids are numbers or strings is found
out from the first edge of all files.

Numbers in edge columns are read as Python's ``float()`` reads them. A bad line is an error that
names file and line, or is left out and counted, as ``on_bad_line`` says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from penstock.errors import InputError, OptionError
from penstock.ingest.formats._bytes import file_size, text_lines
from penstock.ingest.formats._columns import Columns, choose
from penstock.ingest.formats._lines import Layout, read_rows
from penstock.protocols import BadLines, ReadOptions, Source
from penstock.types import EdgeChunk, IdKind

NAME = "text"
SUFFIXES = (".txt", ".csv", ".tsv", ".edges", ".edgelist", ".ncol", ".dat")

_INTEGER = re.compile(rb"-?[0-9]+")
_SOURCE_WORD = re.compile(rb"(src|source|from|start)[ _-]?(id|node|vertex)*", re.IGNORECASE)
_TARGET_WORD = re.compile(
    rb"(dst|dest|destination|target|to|end)[ _-]?(id|node|vertex)*", re.IGNORECASE
)
_MATRIX_MARKET = b"%%MatrixMarket"


def accepts(data: object) -> bool:
    """No object in memory is text."""
    return False


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What the first lines of a file tell."""

    separator: bytes
    #: Lines before the first edge, except comments after a header.
    skip_lines: int
    #: The header's names.
    names: list[str] | None
    #: The first line that is an edge, None if there is none.
    first: list[bytes] | None


def open_source(data: list[str], options: ReadOptions) -> Source:
    """Open text files, all with the same kind of ids and the same edge columns."""
    _check(options)
    beginning = None
    for path in data:
        beginning = _look(path, options)
        if beginning.first is not None:
            break
    assert beginning is not None
    columns = choose(options, beginning.names, None, path)
    kind = options.ids or _kind(beginning.first, columns)
    bad_lines = BadLines()

    def layouts() -> Iterator[Layout]:
        for path in data:
            yield _layout(path, options, kind, columns)

    def chunks(advance: Callable[[float], None]) -> Iterator[EdgeChunk]:
        return read_rows(layouts(), options, bad_lines, advance)

    return Source(
        chunks=chunks,
        size=sum(map(file_size, data)),
        unit="bytes",
        id_kind=kind,
        columns=dict.fromkeys(columns.names),
        weight=columns.weight,
        bad_lines=bad_lines,
        name=data[0] if len(data) == 1 else f"{len(data)} files",
    )


def first_fields(path: str, options: ReadOptions) -> list[bytes]:
    """The fields of the first edge; empty if there is none."""
    return _look(path, options).first or []


def _check(options: ReadOptions) -> None:
    if not options.comment.isascii():
        raise OptionError(f"comment: expected ASCII characters, got {options.comment!r}")
    if options.skip_lines < 0:
        raise OptionError(f"skip_lines: expected 0 or more, got {options.skip_lines}")
    _given_separator(options)
    if options.header is False:
        columns = (options.source, options.target, options.weights, *options.attributes)
        if any(map(_is_name, columns)):
            raise OptionError("header: columns can be given by name only if there is a header")


def _is_name(column: object) -> bool:
    return isinstance(column, str) and not column.isdecimal()


def _given_separator(options: ReadOptions) -> bytes | None:
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
    """Cut one line into its fields, as the scanner does.

    >>> split_fields(b'1, "two, too"', b",")
    [b'1', b'two, too']
    """
    if not separator:
        return re.split(rb"[ \t]+", line.strip(b" \t"))
    fields = []
    blanks = b" \t".replace(separator, b"")
    quoted = re.compile(rb'"((?:[^"]|"")*)"[ \t]*(?=' + re.escape(separator) + rb"|$)")
    at = 0
    while True:
        at += len(line) - at - len(line[at:].lstrip(blanks))
        match = quoted.match(line, at)
        end = match.end() if match else line.find(separator, at)
        end = len(line) if end < 0 else end
        fields.append(match[1].replace(b'""', b'"') if match else line[at:end].strip(b" \t"))
        if end >= len(line):
            return fields
        at = end + 1


def _find_separator(line: bytes) -> bytes:
    return next((mark for mark in (b",", b"\t", b";") if mark in line.strip(b" \t")), b"")


def _look(path: str, options: ReadOptions) -> _Beginning:
    """Read the first two lines that are neither blank nor comments."""
    found: list[tuple[int, bytes]] = []
    comment = tuple(options.comment.encode()[i : i + 1] for i in range(len(options.comment)))
    for number, line in enumerate(text_lines(path)):
        if number == 0 and line.startswith(_MATRIX_MARKET):
            raise InputError(
                f"{path}: this is a Matrix Market file; pass format='matrix_market' "
                "(--format matrix_market) or give it a name that ends in .mtx"
            )
        bare = line.strip(b" \t")
        if number >= options.skip_lines and bare and not bare.startswith(comment):
            found.append((number, line))
            if len(found) == 2:
                break
    if not found:
        return _Beginning(b"", options.skip_lines, None, None)
    separator = _given_separator(options)
    if separator is None:
        separator = _find_separator(found[0][1])
    rows = [split_fields(line, separator) for _, line in found]
    if not _has_header(rows, options):
        return _Beginning(separator, options.skip_lines, None, rows[0])
    names = [name.decode("utf-8", "replace") for name in rows[0]]
    return _Beginning(separator, found[0][0] + 1, names, rows[1] if len(rows) == 2 else None)


def _has_header(rows: list[list[bytes]], options: ReadOptions) -> bool:
    if options.header is not None:
        return options.header
    columns = (options.source, options.target)
    if any(map(_is_name, (*columns, options.weights, *options.attributes))):
        return True
    ends = [int(column) for column in columns]
    if not all(0 <= end < len(row) for row in rows for end in ends):
        return False
    above, *below = [[row[end] for end in ends] for row in rows]
    if any(_INTEGER.fullmatch(field) for field in above):
        return False
    if below and all(_INTEGER.fullmatch(field) for field in below[0]):
        return True
    return bool(_SOURCE_WORD.fullmatch(above[0]) and _TARGET_WORD.fullmatch(above[1]))


def _kind(first: list[bytes] | None, columns: Columns) -> IdKind:
    if first is None or max(columns.source, columns.target) >= len(first):
        return "int"
    ends = (first[columns.source], first[columns.target])
    return "int" if all(_INTEGER.fullmatch(end) for end in ends) else "string"


def _layout(path: str, options: ReadOptions, kind: IdKind, columns: Columns) -> Layout:
    beginning = _look(path, options)
    if beginning.names is not None:
        here = choose(options, beginning.names, None, path)
        # The names of the first file stand; here only the places may differ.
        columns = replace(here, names=columns.names)
    separator_hint = integer_hint = ""
    if options.separator == "auto" and beginning.separator:
        mark = beginning.separator.decode()
        separator_hint = f"; the first line made {mark!r} the separator, separator= changes it"
    if options.ids is None:
        integer_hint = (
            "; ids were taken to be integers from the first edge, "
            "pass ids='string' (--ids string) if they are names"
        )
    return Layout(
        path=path,
        columns=columns,
        separator=beginning.separator,
        names=kind == "string",
        comment=options.comment.encode(),
        skip_lines=beginning.skip_lines,
        integer_hint=integer_hint,
        separator_hint=separator_hint,
    )
