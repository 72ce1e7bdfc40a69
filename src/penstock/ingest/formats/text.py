"""Edge lists as text: one edge on each line, columns separated by white space or a character.

Lines end in LF or CRLF; blank lines and comments are passed over; a UTF-8 byte order mark is
ignored; fields of separated columns may be in double quotes, as RFC 4180 has them. What the options
leave open is found out from the first lines of each file: see ``_beginning``. Whether ids are
numbers or strings is found out from the first edge of all files. Columns of several files are
matched by the names in their headers.

Numbers in edge columns are read as Python's ``float()`` reads them. A bad line is an error that
names file and line, or is left out and counted, as ``on_bad_line`` says.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import InputError, OptionError
from penstock.ingest.formats._beginning import INTEGER, Beginning, given_separator, is_name, look
from penstock.ingest.formats._bytes import file_size
from penstock.ingest.formats._columns import Columns, choose, column_notes, like_first
from penstock.ingest.formats._lines import Layout, read_rows, shown
from penstock.protocols import Advance, BadLines, ReadOptions, Source
from penstock.types import EdgeChunk, IdKind

NAME = "text"
SUFFIXES = (".txt", ".csv", ".tsv", ".edges", ".edgelist", ".ncol", ".dat")


def accepts(data: object) -> bool:
    """No object in memory is text."""
    return False


def open_source(data: list[str], options: ReadOptions) -> Source:
    """Open text files, all with the same kind of ids and the same edge columns."""
    _check(options)
    beginnings = [look(path, options) for path in data]
    first = next((each for each in beginnings if each.first is not None), beginnings[0])
    columns = choose(options, first.names, None, first.path)
    kind = options.ids or _kind(first.first, columns)
    layouts = [
        _layout(each, options, kind, _columns(each, first, columns, options)) for each in beginnings
    ]
    bad_lines = BadLines()

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        return read_rows(layouts, options, bad_lines, advance)

    return Source(
        chunks=chunks,
        size=sum(map(file_size, data)),
        unit="bytes",
        id_kind=kind,
        columns=dict.fromkeys(columns.names),
        weight=columns.weight,
        bad_lines=bad_lines,
        name=data[0] if len(data) == 1 else f"{len(data)} files",
        notes=_notes(first, columns, kind, options),
    )


def first_fields(path: str, options: ReadOptions) -> list[bytes]:
    """The fields of the first edge; empty if there is none."""
    return look(path, options).first or []


def _check(options: ReadOptions) -> None:
    if not options.comment.isascii():
        raise OptionError(f"comment: expected ASCII characters, got {options.comment!r}")
    if options.skip_lines < 0:
        raise OptionError(f"skip_lines: expected 0 or more, got {options.skip_lines}")
    given_separator(options)
    if options.header is False:
        columns = (options.source, options.target, options.weights, *options.attributes)
        if any(map(is_name, columns)):
            raise OptionError("header: columns can be given by name only if there is a header")


def _columns(here: Beginning, first: Beginning, columns: Columns, options: ReadOptions) -> Columns:
    """Where the columns are in this file; one without a header has them where the first has."""
    if here.names is None or here is first:
        return columns
    if first.names is not None:
        return like_first(columns, first.names, here.names, here.path, first.path)
    found = choose(options, here.names, None, here.path)
    places = (found.source, found.target, found.values)
    if places != (columns.source, columns.target, columns.values):
        raise InputError(
            f"{here.path}: the header names other columns than those that are read from "
            f"{first.path}, which has no header; give both a header, or pass columns= (--columns)"
        )
    return columns


def _notes(
    first: Beginning, columns: Columns, kind: IdKind, options: ReadOptions
) -> tuple[str, ...]:
    if first.names is not None:
        return (column_notes(columns, first.names, first.path),)
    if kind == "int" or options.header is False or first.first is None:
        return ()
    line = shown((first.separator or b" ").join(first.first))
    return (f"{first.path}: there is no header, so the first line, {line}, is an edge",)


def _kind(first: list[bytes] | None, columns: Columns) -> IdKind:
    if first is None or max(columns.source, columns.target) >= len(first):
        return "int"
    ends = (first[columns.source], first[columns.target])
    return "int" if all(INTEGER.fullmatch(end) for end in ends) else "string"


def _layout(here: Beginning, options: ReadOptions, kind: IdKind, columns: Columns) -> Layout:
    separator_hint = integer_hint = ""
    if options.separator == "auto" and here.separator:
        mark = here.separator.decode()
        separator_hint = f"; the first line made {mark!r} the separator, separator= changes it"
    if options.ids is None:
        integer_hint = (
            "; ids were taken to be integers from the first edge, "
            "pass ids='string' (--ids string) if they are names"
        )
    return Layout(
        path=here.path,
        columns=columns,
        separator=here.separator,
        names=kind == "string",
        comment=options.comment.encode(),
        skip_lines=here.skip_lines,
        comments=here.comments,
        integer_hint=integer_hint,
        separator_hint=separator_hint,
    )
