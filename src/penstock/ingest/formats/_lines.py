"""Text files of rows: blocks of lines are parsed on several threads and come out in order.

A field in quotes may go over several lines, so blocks are cut where a record ends. Line numbers are
counted in the end, when the blocks are in order again; until then a bad line is known by its place
within its block.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from penstock.errors import ParseError
from penstock.ingest.formats._bytes import ByteStream, after_last, blocks
from penstock.ingest.formats._columns import Columns
from penstock.ingest.formats._skipping import EXAMPLES, add_skipped, check_skipped
from penstock.ingest.formats._tables import Out, Rules, powers_of_ten
from penstock.parallel import ordered_map
from penstock.protocols import Advance, BadLines, ReadOptions
from penstock.types import I64, U8, U64, Array, EdgeChunk, Names

_OPEN_NUMBERS = 4096
_SHOWN = 60
_ALL_IDS = (0, 2**64 - 1)
_QUOTE = ord('"')
_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rows of one file are to be read."""

    path: str
    #: Without a target only the source is read (a list of vertices).
    columns: Columns
    #: One byte, or empty for runs of blanks.
    separator: bytes = b""
    names: bool = False
    comment: bytes = b"#%"
    #: Lines to pass over, and how many of them are comments.
    skip_lines: int = 0
    comments: int = 0
    #: The ids that may occur, both ends included.
    id_range: tuple[int, int] = _ALL_IDS
    #: What the first column must be; other columns count as if it were not there.
    tag: bytes = b""
    #: Advice to add to messages if it was found out that ids are integers, and the separator.
    integer_hint: str = ""
    separator_hint: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    layout: Layout
    data: U8
    #: Lines of the file just before ``data`` that were passed over.
    skipped: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class _Bad:
    line: int
    code: int
    column: int
    text: bytes


@dataclass(frozen=True, slots=True)
class _Parsed:
    layout: Layout
    skipped: int
    stored_bytes: int
    chunk: EdgeChunk
    lines: int
    num_comments: int
    num_bad: int
    bad: list[_Bad] = field(default_factory=list)
    #: Lines after a bad line that stopped the parser, and how many of them are bad, too.
    further: tuple[int, int] = (0, 0)


@cache
def _powers() -> U64:
    return powers_of_ten()


def _roles(layout: Layout) -> I64:
    from penstock.ingest.formats import _scan

    columns = layout.columns
    first = 1 if layout.tag else 0
    roles = np.zeros(first + 1 + max(columns.source, columns.target, *columns.values, 0), np.int64)
    if layout.tag:
        roles[0] = _scan.TAG
    if columns.target >= 0:
        roles[first + columns.target] = _scan.TARGET
    roles[first + columns.source] = _scan.SOURCE
    for i, position in enumerate(columns.values):
        roles[first + position] = _scan.VALUE + i
    return roles


def _comment_table(layout: Layout) -> Array:
    table = np.zeros(256, np.bool_)
    table[list(layout.comment)] = True
    return table


def _has_quotes(layout: Layout, data: U8) -> bool:
    """Whether a field may be in quotes; between blanks a quote is a character like any other."""
    starts = range(0, len(data), _PIECE) if layout.separator else ()
    return any((data[start : start + _PIECE] == _QUOTE).any() for start in starts)


def _after_record(layout: Layout, to_skip: int, data: U8) -> int:
    """Where to cut behind the last record that is complete; 0 if none is."""
    from penstock.ingest.formats import _passes, _scan

    start, skipped = _passes.after_lines(data, to_skip)
    if skipped < to_skip or not _has_quotes(layout, data[start:]):
        return after_last(data)
    separator, comment = ord(layout.separator), _comment_table(layout)
    return int(start + _scan.complete_records(data[start:], separator, comment))


def _read_blocks(layouts: Sequence[Layout], options: ReadOptions) -> Generator[_Block, None, None]:
    for layout in layouts:
        yield from _file_blocks(layout, options)


def _file_blocks(layout: Layout, options: ReadOptions) -> Iterator[_Block]:
    from penstock.ingest.formats import _passes

    to_skip = layout.skip_lines
    before = 0
    with ByteStream(layout.path) as stream:

        def cut_after(data: U8) -> int:
            return _after_record(layout, to_skip, data)

        for data in blocks(stream, options.block_bytes, cut_after):
            skipped = start = 0
            if to_skip > 0:
                start, skipped = _passes.after_lines(data, to_skip)
                to_skip -= skipped
                if to_skip > 0:
                    start = len(data)
            position = stream.position()
            yield _Block(layout, data[start:], skipped, position - before)
            before = position


def _ahead(blocks: Iterator[_Block]) -> Generator[_Block, None, None]:
    """The same blocks; the next one is read, on another thread, before it is asked for."""
    with ThreadPoolExecutor(1, thread_name_prefix="penstock") as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block


def _scan_block(layout: Layout, data: U8, lines: int, *, skip_bad: bool) -> Out:
    from penstock.ingest.formats import _scan

    columns = layout.columns
    capacity = lines + 1
    out = Out(
        ids=np.empty((2, capacity), np.uint64),
        lengths=np.empty((2, capacity if layout.names else 0), np.int64),
        values=np.empty((len(columns.values), capacity), np.float64),
        state=np.zeros(4, np.int64),
        open=np.empty((_OPEN_NUMBERS, 4), np.int64),
        bad=np.empty((EXAMPLES, 3), np.int64),
    )
    rules = Rules(
        separator=ord(layout.separator or b"\0"),
        tag=ord(layout.tag or b"\0"),
        names=layout.names,
        num_weights=int(columns.has_weight),
        skip_bad=skip_bad,
        quotes=_has_quotes(layout, data),
        low=np.uint64(layout.id_range[0]),
        high=np.uint64(layout.id_range[1]),
    )
    comment, roles = _comment_table(layout), _roles(layout)
    at = 0
    while at < len(data):
        at = _scan.scan_rows(data, at, rules, comment, roles, _powers(), out)
        for value, row, start, stop in out.open[: out.state[1]].tolist():
            out.values[value, row] = float(data[start:stop].tobytes())
        out.state[1] = 0
    return out


def _parse(block: _Block, options: ReadOptions) -> _Parsed:
    from penstock.ingest.formats import _passes

    layout, data = block.layout, block.data
    lines = _passes.count_lines(data)
    skip_bad = options.on_bad_line == "skip"
    out = _scan_block(layout, data, lines, skip_bad=skip_bad)
    num_bad = int(out.state[2])
    further = (0, 0)
    if num_bad and not skip_bad:
        rest = data[int(out.bad[0, 0]) :]
        after = _scan_block(layout, rest[_passes.after_lines(rest, 1)[0] :], lines, skip_bad=True)
        further = (int(after.state[0] + after.state[2]), int(after.state[2]))
    return _Parsed(
        layout=layout,
        skipped=block.skipped,
        stored_bytes=block.stored_bytes,
        chunk=_chunk(layout, data, out),
        lines=lines,
        num_comments=int(out.state[3]),
        num_bad=num_bad,
        bad=[_locate(data, *where) for where in out.bad[:num_bad].tolist()],
        further=further,
    )


def _chunk(layout: Layout, data: U8, out: Out) -> EdgeChunk:
    rows = int(out.state[0])
    source: U64 | Names = out.ids[0, :rows]
    target: U64 | Names = out.ids[1, :rows]
    if layout.names:
        source = Names(data, out.ids[0, :rows].view(np.int64), out.lengths[0, :rows])
        target = Names(data, out.ids[1, :rows].view(np.int64), out.lengths[1, :rows])
    if layout.columns.target < 0:
        target = source
    columns = {name: out.values[i, :rows] for i, name in enumerate(layout.columns.names)}
    return EdgeChunk(source, target, columns)


def _locate(data: U8, start: int, code: int, column: int) -> _Bad:
    from penstock.ingest.formats import _passes

    text = data[start : start + 4 * _SHOWN].tobytes().split(b"\n")[0].removesuffix(b"\r")
    return _Bad(_passes.count_lines(data[:start]), code, column, text)


def shown(text: bytes) -> str:
    """A piece of a file as a message may show it.

    >>> shown(b"1\\t2")
    "'1\\\\t2'"
    """
    words = text.decode("utf-8", "backslashreplace")
    return repr(words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "...")


def _expected(layout: Layout, bad: _Bad) -> str:
    from penstock.ingest.formats import _scan

    role = int(_roles(layout)[bad.column])
    id_words = "a source id" if role == _scan.SOURCE else "a target id"
    value_words = f"a number in column {bad.column + 1}"
    if role >= _scan.VALUE:
        value_words += f" ({layout.columns.names[role - _scan.VALUE]!r})"
    low, high = layout.id_range
    as_string = "pass ids='string' (--ids string) if ids may be like that"
    count = f"{len(_roles(layout))} columns"
    words = {
        _scan.NOT_INTEGER: f"{id_words} that is an integer in column {bad.column + 1}"
        f"{layout.separator_hint}{layout.integer_hint}",
        _scan.NEGATIVE: f"{id_words} that is not negative; {as_string}",
        _scan.TOO_LARGE: f"{id_words} below 2**64; {as_string}",
        _scan.OUT_OF_RANGE: f"{id_words} from {low} to {high}",
        _scan.NO_ID: f"{id_words} in column {bad.column + 1}, which is empty",
        _scan.NOT_UTF8: f"{id_words} in UTF-8",
        _scan.TOO_FEW: f"at least {count} separated by {_separator_words(layout)}"
        f"{layout.separator_hint}",
        _scan.NOT_NUMBER: value_words,
        _scan.NO_WEIGHT: f"{value_words}, not nan or nothing, because it is the weight",
        _scan.QUOTING: 'a closing double quote (") at the end of a field',
        _scan.WRONG_TAG: f"a line that begins with {layout.tag.decode()!r}",
    }
    return words[bad.code]


def _separator_words(layout: Layout) -> str:
    return repr(layout.separator.decode()) if layout.separator else "white space"


def _message(layout: Layout, bad: _Bad, line: int) -> str:
    return f"{layout.path}:{line}: found {shown(bad.text)}, expected {_expected(layout, bad)}"


def _stopped(parsed: _Parsed, message: str, good: int) -> ParseError:
    """The error for a bad line. Lines like it can be skipped only if most are not like it."""
    lines, bad = parsed.further
    good += len(parsed.chunk) + lines - bad
    if good > bad:
        return ParseError(
            f"{message} (or pass on_bad_line='skip', --on-bad-line skip, to leave such lines out)"
        )
    return ParseError(
        f"{message}; {bad + 1:,} of the first {good + bad + 1:,} lines are like that, so check "
        "which columns are meant (columns=, weights=, attributes=), and the separator"
    )


def read_rows(
    layouts: Sequence[Layout],
    options: ReadOptions,
    bad_lines: BadLines,
    advance: Advance,
) -> Iterator[EdgeChunk]:
    """Yield the rows of one file after the other. A bad line raises ParseError, or is counted."""
    bad_lines.clear()
    layout: Layout | None = None
    line, good = 1, 0
    parse = partial(_parse, options=options)
    with closing(_read_blocks(layouts, options)) as blocks, closing(_ahead(blocks)) as pieces:
        for parsed in ordered_map(parse, pieces, options.threads):
            if parsed.layout is not layout:
                layout, line = parsed.layout, 1
                bad_lines.comments += layout.comments
            line += parsed.skipped
            if parsed.num_bad:
                messages = [_message(layout, bad, line + bad.line) for bad in parsed.bad]
                if options.on_bad_line == "error":
                    raise _stopped(parsed, messages[0], good)
                add_skipped(bad_lines, parsed.num_bad, messages)
            bad_lines.comments += parsed.num_comments
            good += len(parsed.chunk)
            line += parsed.lines
            yield from split(parsed.chunk, options.chunk_rows)
            advance(parsed.stored_bytes)
    name = layouts[0].path if len(layouts) == 1 else f"{len(layouts)} files"
    check_skipped(bad_lines, good, options, name)


def split(chunk: EdgeChunk, rows: int) -> Iterator[EdgeChunk]:
    """Cut a chunk into chunks of at most ``rows``; none if it is empty."""
    if len(chunk) <= rows:
        if len(chunk):
            yield chunk
        return
    for start in range(0, len(chunk), rows):
        part = slice(start, start + rows)
        columns: dict[str, Array] = {name: a[part] for name, a in chunk.columns.items()}
        yield EdgeChunk(_part(chunk.src, part), _part(chunk.dst, part), columns)


def _part(ids: U64 | Names, part: slice) -> U64 | Names:
    if isinstance(ids, Names):
        return Names(ids.data, ids.start[part], ids.length[part])
    return ids[part]
