"""Kernels that read ids and numbers straight from the bytes of a text block.

A kernel reads ``data[at:end]`` and never beyond. Positions are int64; ids are uint64 throughout,
because Numba turns uint64 mixed with int64 into float64.

Numbers come out as Python's ``float()`` would read them: few digits and a small exponent by one
exact multiplication or division, the others by the 128-bit product of Lemire, "Number parsing at
a gigabyte per second", 2021. What even that leaves open is listed for the caller to settle.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.ingest.formats._tables import GREATEST_POWER, LEAST_POWER, Out, Rules
from penstock.jit import borrowing_kernel, spliced
from penstock.types import U8, U64, Array

#: What is done with a column; a value column j has the role VALUE + j.
IGNORED, SOURCE, TARGET, TAG, VALUE = 0, 1, 2, 3, 4

#: Why a line is bad. 0 is a good line.
NOT_INTEGER, NEGATIVE, TOO_LARGE, OUT_OF_RANGE, NO_ID, NOT_UTF8 = 1, 2, 3, 4, 5, 6
TOO_FEW, NOT_NUMBER, NO_WEIGHT, QUOTING, WRONG_TAG = 7, 8, 9, 10, 11

_NEWLINE, _RETURN, _SPACE, _TABULATOR, _QUOTE = 10, 13, 32, 9, 34
_EXACT, _BROKEN, _OPEN = 0, 1, 2

_ZERO, _ONE, _NINE, _TEN = np.uint64(0), np.uint64(1), np.uint64(9), np.uint64(10)
_THIRTY_TWO = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_EXACT_POWERS = np.array([10.0**i for i in range(23)])


@borrowing_kernel
def _high_word(a: Any, b: Any) -> Any:
    """The upper 64 bits of a * b."""
    a_high, a_low = a >> _THIRTY_TWO, a & _LOW_HALF
    b_high, b_low = b >> _THIRTY_TWO, b & _LOW_HALF
    middle = a_high * b_low + ((a_low * b_low) >> _THIRTY_TWO)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _THIRTY_TWO) + (other >> _THIRTY_TWO)


@borrowing_kernel
def _scaled(mantissa: Any, power: int, powers: Any) -> Any:
    """The double nearest to mantissa * 10**power, mantissa > 0, and whether it is certain."""
    if power < LEAST_POWER:
        return 0.0, True
    if power > GREATEST_POWER:
        return math.inf, True
    shift = 0
    while mantissa >> np.uint64(63) == _ZERO:
        mantissa <<= _ONE
        shift += 1
    row = power - LEAST_POWER
    upper = _high_word(mantissa, powers[row, 0])
    lower = mantissa * powers[row, 0]
    if upper & np.uint64(0x1FF) == np.uint64(0x1FF):
        more = _high_word(mantissa, powers[row, 1])
        lower += more
        if lower < more:
            upper += _ONE
    top = int(upper >> np.uint64(63))
    cut = np.uint64(top + 9)
    digits = upper >> cut
    exponent = ((217706 * power) >> 16) + 63 + top - shift
    tie = lower <= _ONE and digits & np.uint64(3) == _ONE and digits << cut == upper
    if lower == _ALL_ONES or tie or exponent < -1022 or exponent > 1023:
        return 0.0, False
    digits = (digits + (digits & _ONE)) >> _ONE
    return math.ldexp(np.float64(digits), exponent - 52), True


@borrowing_kernel
def _word(data: Any, at: int, end: int) -> Any:
    """Read inf, infinity or nan in any case: the value and where it ends (``at`` if none)."""
    if end - at < 3:
        return 0.0, at
    first, second, third = data[at] | 32, data[at + 1] | 32, data[at + 2] | 32
    if first == 110 and second == 97 and third == 110:
        return math.nan, at + 3
    if first != 105 or second != 110 or third != 102:
        return 0.0, at
    long = end - at >= 8 and data[at + 3] | 32 == 105 and data[at + 4] | 32 == 110
    long = long and data[at + 5] | 32 == 105 and data[at + 6] | 32 == 116
    if long and data[at + 7] | 32 == 121:
        return math.inf, at + 8
    return math.inf, at + 3


@borrowing_kernel
def _mantissa(data: Any, at: int, end: int) -> Any:
    """Read digits with at most one point: the first 19 that count, the power of ten that is
    still to be applied, whether digits other than 0 were left out, and where they end
    (-1 if there was no digit).
    """
    mantissa = _ZERO
    power, taken = 0, 0
    some, rest, point = False, False, False
    while at < end:
        digit = np.uint64(np.int64(data[at]) - 48)
        if digit > _NINE:
            if data[at] != 46 or point:
                break
            point = True
        else:
            some = True
            if taken < 19:
                mantissa = mantissa * _TEN + digit
                taken += mantissa != _ZERO
                power -= point
            else:
                rest = rest or digit != _ZERO
                power += not point
        at += 1
    return mantissa, power, rest, at if some else -1


@borrowing_kernel
def _number(data: Any, at: int, end: int, powers: Any) -> Any:
    """Read a decimal number: its value, where it ends, and _EXACT, _BROKEN or _OPEN."""
    sign = 1.0
    if at < end and (data[at] == 45 or data[at] == 43):
        sign = -1.0 if data[at] == 45 else 1.0
        at += 1
    mantissa, power, rest, after = _mantissa(data, at, end)
    if after < 0:
        value, after = _word(data, at, end)
        return sign * value, after, _EXACT if after > at else _BROKEN
    at = after
    if at < end and data[at] | 32 == 101:
        at += 1
        negative = at < end and data[at] == 45
        at += at < end and (data[at] == 45 or data[at] == 43)
        exponent, first = 0, at
        while at < end and 48 <= data[at] <= 57:
            exponent = min(exponent * 10 + int(data[at]) - 48, 1 << 40)
            at += 1
        if at == first:
            return 0.0, at, _BROKEN
        power += -exponent if negative else exponent
    if mantissa == _ZERO:
        return sign * 0.0, at, _EXACT
    if not rest and -22 <= power <= 22 and mantissa <= np.uint64(1 << 53):
        value = np.float64(mantissa)
        value = value * _EXACT_POWERS[power] if power >= 0 else value / _EXACT_POWERS[-power]
        return sign * value, at, _EXACT
    value, certain = _scaled(mantissa, power, powers)
    if certain and rest:
        above, certain = _scaled(mantissa + _ONE, power, powers)
        certain = certain and above == value
    return sign * value, at, _EXACT if certain else _OPEN


@spliced
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


@borrowing_kernel
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


@borrowing_kernel
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


@spliced
def _line_ends(data: Any, at: int, end: int) -> bool:
    if at >= end or data[at] == _NEWLINE:
        return True
    return data[at] == _RETURN and (at + 1 == end or data[at + 1] == _NEWLINE)


@spliced
def _after_blanks(data: Any, at: int, end: int, separator: int) -> int:
    while at < end and (data[at] == _SPACE or data[at] == _TABULATOR) and data[at] != separator:
        at += 1
    return at


@spliced
def _closes(data: Any, at: int, end: int, separator: int) -> Any:
    """Whether a field that came to ``at`` is over for certain (blanks may still follow)."""
    if at < end and data[at] > 32:
        return data[at] == separator
    if separator == 0 and at < end and (data[at] == _SPACE or data[at] == _TABULATOR):
        return True
    return _line_ends(data, at, end) or (separator != 0 and data[at] == separator)


@borrowing_kernel
def _quoted(data: Any, at: int, end: int, separator: int) -> Any:
    """Read a field in double quotes; doubled ones inside become single, in place."""
    start = at + 1
    to, at = start, start
    while at < end and data[at] != _NEWLINE:
        if data[at] == _QUOTE:
            if at + 1 < end and data[at + 1] == _QUOTE:
                at += 1
            else:
                after = _after_blanks(data, at + 1, end, separator)
                closed = _line_ends(data, after, end) or data[after] == separator
                return start, to, after, 0 if closed else QUOTING
        data[to] = data[at]
        to += 1
        at += 1
    return start, to, at, QUOTING


@borrowing_kernel
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


@spliced
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
    if start == stop:
        return _ZERO, 0, after, NO_ID
    return np.uint64(start), stop - start, after, 0 if _is_utf8(data, start, stop) else NOT_UTF8


@spliced
def _read_value(data: Any, at: int, end: int, powers: Any, separator: int) -> Any:
    """Read a number: its value, where the field starts, stops and where to go on, and
    _EXACT (also for an empty field, which is nan), _BROKEN or _OPEN, and the code.
    """
    value, after, status = _number(data, at, end, powers)
    if status != _BROKEN and _closes(data, after, end, separator):
        return value, at, after, after, status, 0
    start, stop, after, code = _field(data, at, end, separator)
    if code != 0 or start == stop:
        return math.nan, start, stop, after, _EXACT, code
    value, last, status = _number(data, start, stop, powers)
    code = NOT_NUMBER if status == _BROKEN or last != stop else 0
    return value, start, stop, after, status, code


@spliced
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
            if code == 0 and status == _OPEN:
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


@borrowing_kernel
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
        if not _line_ends(data, at, end) and not comment[data[at]]:
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
        while at < end and data[at] != _NEWLINE:
            at += 1
        at += 1
    return min(at, end)
