"""Kernels that read ids and numbers straight from the bytes of a text block.

A kernel reads ``data[at:end]`` and never beyond. Positions are int64; ids are uint64 throughout,
because Numba turns uint64 mixed with int64 into float64.

Quotes are those of RFC 4180: a field in quotes may hold separators, line ends and doubled quotes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.ingest.formats._numbers import BROKEN, EXACT, OPEN, read_number
from penstock.ingest.formats._tables import Out, Rules
from penstock.jit import always_inline, no_refcount
from penstock.types import U8, U64, Array

#: What is done with a column; a value column j has the role VALUE + j.
IGNORED, SOURCE, TARGET, TAG, VALUE = 0, 1, 2, 3, 4

#: Why a line is bad. 0 is a good line.
NOT_INTEGER, NEGATIVE, TOO_LARGE, OUT_OF_RANGE, NO_ID, NOT_UTF8 = 1, 2, 3, 4, 5, 6
TOO_FEW, NOT_NUMBER, NO_WEIGHT, QUOTING, WRONG_TAG = 7, 8, 9, 10, 11

_NEWLINE, _RETURN, _SPACE, _TABULATOR, _QUOTE = 10, 13, 32, 9, 34

#: A field in quotes that goes over several lines may have this many bytes: an opening quote that
#: is not closed must not hide the rest of a file.
LONGEST_QUOTED = 1 << 20

_ZERO, _NINE, _TEN = np.uint64(0), np.uint64(9), np.uint64(10)


@always_inline
def _digits(data: Any, at: int, end: int) -> Any:
    """Read decimal digits: their value modulo 2**64, and where they end."""
    value = _ZERO
    while at < end:
        digit = np.uint64(np.int64(data[at]) - 48)
        if digit > _NINE:
            break
        value = value * _TEN + digit
        at += 1
    return value, at


@no_refcount
def _integer(data: Any, start: int, stop: int) -> Any:
    """Read a whole field as an id: its value and what is wrong with it."""
    if start == stop:
        return _ZERO, NO_ID
    negative = data[start] == 45 and stop - start > 1
    value, at = _digits(data, start + negative, stop)
    if at < stop:
        return _ZERO, NOT_INTEGER
    if negative:
        return _ZERO, NEGATIVE
    while start < stop and data[start] == 48:
        start += 1
    # Of 20 digits, those that wrapped around are the ones whose value came out below 10**19.
    if stop - start > 20:
        return _ZERO, TOO_LARGE
    if stop - start == 20 and (data[start] > 49 or value < np.uint64(10**19)):
        return _ZERO, TOO_LARGE
    return value, 0


@no_refcount
def _is_utf8(data: Any, start: int, stop: int) -> bool:
    """Whether the bytes are UTF-8 without NUL."""
    at = start
    while at < stop:
        lead = data[at]
        at += 1
        if 0 < lead < 0x80:
            continue
        more = 1 + (lead >= 0xE0) + (lead >= 0xF0)
        if lead < 0xC2 or lead > 0xF4 or at + more > stop:
            return False
        second = data[at]
        if (lead == 0xE0 and second < 0xA0) or (lead == 0xED and second > 0x9F):
            return False
        if (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F):
            return False
        for i in range(at, at + more):
            if data[i] & 0xC0 != 0x80:
                return False
        at += more
    return True


@always_inline
def _line_ends(data: Any, at: int, end: int) -> bool:
    if at >= end or data[at] == _NEWLINE:
        return True
    return data[at] == _RETURN and (at + 1 == end or data[at + 1] == _NEWLINE)


@always_inline
def _after_blanks(data: Any, at: int, end: int, separator: int) -> int:
    while at < end and (data[at] == _SPACE or data[at] == _TABULATOR) and data[at] != separator:
        at += 1
    return at


@always_inline
def _closes(data: Any, at: int, end: int, separator: int) -> Any:
    """Whether a field that came to ``at`` is over for certain (blanks may still follow)."""
    if at < end and data[at] > 32:
        return data[at] == separator
    if separator == 0 and at < end and (data[at] == _SPACE or data[at] == _TABULATOR):
        return True
    return _line_ends(data, at, end) or (separator != 0 and data[at] == separator)


@no_refcount
def _quoted_end(data: Any, at: int, end: int, separator: int) -> Any:
    """Find the end of a field whose opening quote is at ``at``: where the closing quote is, where
    to go on, whether there are doubled quotes inside, and whether more data could change it.

    Without a proper closing quote the first is -1, and to go on is at the end of the line.
    """
    first = at
    over_lines, doubled, cut_off = False, False, True
    at += 1
    while at < end:
        if data[at] == _QUOTE:
            if at + 1 == end or data[at + 1] != _QUOTE:
                after = _after_blanks(data, at + 1, end, separator)
                cut_off = after >= end or (data[after] == _RETURN and after + 1 == end)
                if _line_ends(data, after, end) or data[after] == separator:
                    return at, after, doubled, cut_off
                break
            doubled = True
            at += 1
        elif data[at] == _NEWLINE:
            over_lines = True
        if over_lines and at - first > LONGEST_QUOTED:
            cut_off = False
            break
        at += 1
    at = first
    while at < end and data[at] != _NEWLINE:
        at += 1
    return -1, at, doubled, cut_off


@no_refcount
def _quoted(data: Any, at: int, end: int, separator: int) -> Any:
    """Read a field in double quotes; doubled ones inside become single, in place."""
    start = at + 1
    stop, after, doubled, _ = _quoted_end(data, at, end, separator)
    if stop < 0:
        return start, start, after, QUOTING
    if not doubled:
        return start, stop, after, 0
    to, at = start, start
    while at < stop:
        at += data[at] == _QUOTE
        data[to] = data[at]
        to += 1
        at += 1
    return start, to, after, 0


@no_refcount
def _record_end(data: Any, at: int, end: int, separator: int, begins: Any) -> Any:
    """Where the newline is that ends a record, and whether more data could change that; ``at`` is
    where a field begins, or else behind one.
    """
    while at < end and data[at] != _NEWLINE:
        if begins:
            at = _after_blanks(data, at, end, separator)
            begins = False
            if at < end and data[at] == _QUOTE:
                _, at, _, cut_off = _quoted_end(data, at, end, separator)
                if cut_off:
                    return at, True
        else:
            begins = data[at] == separator
            at += 1
    return at, False


@no_refcount
def complete_records(data: U8, separator: int, comment: Array) -> int:
    """How many bytes the records take that are complete; ``data`` begins with a record."""
    end, at, complete = len(data), 0, 0
    while at < end:
        first = _after_blanks(data, at, end, 0)
        if first < end and comment[data[first]]:
            at = first
            while at < end and data[at] != _NEWLINE:
                at += 1
        else:
            at, cut_off = _record_end(data, at, end, separator, True)
            if cut_off:
                return complete
        if at < end:
            complete = at + 1
        at += 1
    return complete


@no_refcount
def _field(data: Any, at: int, end: int, separator: int) -> Any:
    """Find any field: where it starts and stops, where to go on, and what is wrong with it."""
    if separator != 0 and at < end and data[at] == _QUOTE:
        return _quoted(data, at, end, separator)
    start = at
    if separator == 0:
        while not _closes(data, at, end, separator):
            at += 1
        return start, at, at, 0
    while not _line_ends(data, at, end) and data[at] != separator:
        at += 1
    stop = at
    while stop > start and (data[stop - 1] == _SPACE or data[stop - 1] == _TABULATOR):
        stop -= 1
    return start, stop, at, 0


@always_inline
def _read_id(data: Any, at: int, end: int, rules: Any) -> Any:
    """Read an id: the number, or the start and length of the name; where to go on; the code."""
    if not rules.names:
        value, after = _digits(data, at, end)
        if at < after < at + 20 and _closes(data, after, end, rules.separator):
            code = 0 if rules.low <= value <= rules.high else OUT_OF_RANGE
            return value, 0, after, code
    start, stop, after, code = _field(data, at, end, rules.separator)
    if code != 0:
        return _ZERO, 0, after, code
    if not rules.names:
        value, code = _integer(data, start, stop)
        if code == 0 and not rules.low <= value <= rules.high:
            code = OUT_OF_RANGE
        return value, 0, after, code
    # An empty string is an id if it is in quotes, where the field starts behind one.
    if start == stop and start == at:
        return _ZERO, 0, after, NO_ID
    return np.uint64(start), stop - start, after, 0 if _is_utf8(data, start, stop) else NOT_UTF8


@always_inline
def _read_value(data: Any, at: int, end: int, powers: Any, separator: int) -> Any:
    """Read a number: its value, where the field starts, stops and where to go on, and
    EXACT (also for an empty field, which is nan), BROKEN or OPEN, and the code.
    """
    value, after, status = read_number(data, at, end, powers)
    if status != BROKEN and _closes(data, after, end, separator):
        return value, at, after, after, status, 0
    start, stop, after, code = _field(data, at, end, separator)
    if code != 0 or start == stop:
        return math.nan, start, stop, after, EXACT, code
    value, last, status = read_number(data, start, stop, powers)
    code = NOT_NUMBER if status == BROKEN or last != stop else 0
    return value, start, stop, after, status, code


@always_inline
def _read_row(data: Any, at: int, end: int, rules: Any, roles: Any, powers: Any, out: Any) -> Any:
    """Read one line into row ``out.state[0]``: where its last needed field ends, the code, and
    the column that is wrong.
    """
    row = out.state[0]
    for column in range(len(roles)):
        if column > 0 and rules.separator != 0:
            if at >= end or data[at] != rules.separator:
                return at, TOO_FEW, column
            at += 1
        at = _after_blanks(data, at, end, rules.separator)
        if rules.separator == 0 and _line_ends(data, at, end):
            return at, TOO_FEW, column
        role = roles[column]
        if SOURCE <= role <= TARGET:
            first, length, at, code = _read_id(data, at, end, rules)
            out.ids[role - SOURCE, row] = first
            if rules.names:
                out.lengths[role - SOURCE, row] = length
        elif role >= VALUE:
            value, start, stop, at, status, code = _read_value(
                data, at, end, powers, rules.separator
            )
            out.values[role - VALUE, row] = value
            if code == 0 and role - VALUE < rules.num_weights and math.isnan(value):
                code = NO_WEIGHT
            if code == 0 and status == OPEN:
                k = out.state[1]
                out.open[k, 0], out.open[k, 1] = role - VALUE, row
                out.open[k, 2], out.open[k, 3] = start, stop
                out.state[1] = k + 1
        else:
            start, stop, at, code = _field(data, at, end, rules.separator)
            if role == TAG and (stop - start != 1 or data[start] != rules.tag):
                code = WRONG_TAG
        if code != 0:
            return at, code, column
    return at, 0, 0


@no_refcount
def scan_rows(
    data: U8, at: int, rules: Rules, comment: Array, roles: Array, powers: U64, out: Out
) -> int:
    """Read lines from ``at`` on, until the end, a bad line that may not be skipped, or until
    ``open`` has no room for another row; returns where to go on.
    """
    end = len(data)
    num_values = len(out.values)
    while at < end and out.state[1] + num_values <= len(out.open):
        line = at
        at = _after_blanks(data, at, end, 0)
        if _line_ends(data, at, end):
            pass
        elif comment[data[at]]:
            out.state[3] += 1
        else:
            mark = out.state[1]
            at, code, column = _read_row(data, line, end, rules, roles, powers, out)
            if code == 0:
                out.state[0] += 1
            else:
                out.state[1] = mark
                k = out.state[2]
                if k < len(out.bad):
                    out.bad[k, 0], out.bad[k, 1], out.bad[k, 2] = line, code, column
                out.state[2] = k + 1
                if not rules.skip_bad:
                    return end
            if rules.quotes:
                at, _ = _record_end(data, at, end, rules.separator, False)
        while at < end and data[at] != _NEWLINE:
            at += 1
        at += 1
    return min(at, end)
