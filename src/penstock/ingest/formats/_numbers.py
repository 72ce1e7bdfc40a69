"""Kernels that read decimal numbers as Python's ``float()`` would.

Few digits and a small exponent take one exact multiplication or division, the others the 128-bit
product of Lemire, "Number parsing at a gigabyte per second", 2021. What even that leaves open is
listed for the caller to settle.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.ingest.formats._tables import GREATEST_POWER, LEAST_POWER
from penstock.jit import no_refcount

#: What is known of a number: its value, that it is none, or that the caller has to read it.
EXACT, BROKEN, OPEN = 0, 1, 2

_ZERO, _ONE, _NINE, _TEN = np.uint64(0), np.uint64(1), np.uint64(9), np.uint64(10)
_THIRTY_TWO = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_EXACT_POWERS = np.array([10.0**i for i in range(23)])


@no_refcount
def _high_word(a: Any, b: Any) -> Any:
    """The upper 64 bits of a * b."""
    a_high, a_low = a >> _THIRTY_TWO, a & _LOW_HALF
    b_high, b_low = b >> _THIRTY_TWO, b & _LOW_HALF
    middle = a_high * b_low + ((a_low * b_low) >> _THIRTY_TWO)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _THIRTY_TWO) + (other >> _THIRTY_TWO)


@no_refcount
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


@no_refcount
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


@no_refcount
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


@no_refcount
def read_number(data: Any, at: int, end: int, powers: Any) -> Any:
    """Read a decimal number: its value, where it ends, and EXACT, BROKEN or OPEN."""
    sign = 1.0
    if at < end and (data[at] == 45 or data[at] == 43):
        sign = -1.0 if data[at] == 45 else 1.0
        at += 1
    mantissa, power, rest, after = _mantissa(data, at, end)
    if after < 0:
        value, after = _word(data, at, end)
        return sign * value, after, EXACT if after > at else BROKEN
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
            return 0.0, at, BROKEN
        power += -exponent if negative else exponent
    if mantissa == _ZERO:
        return sign * 0.0, at, EXACT
    if not rest and -22 <= power <= 22 and mantissa <= np.uint64(1 << 53):
        value = np.float64(mantissa)
        value = value * _EXACT_POWERS[power] if power >= 0 else value / _EXACT_POWERS[-power]
        return sign * value, at, EXACT
    value, certain = _scaled(mantissa, power, powers)
    if certain and rest:
        above, certain = _scaled(mantissa + _ONE, power, powers)
        certain = certain and above == value
    return sign * value, at, EXACT if certain else OPEN
