"""Bad lines and rows that are skipped: counting them, and giving up when there are too many."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import InputError, OptionError
from penstock.protocols import BadLines, ReadOptions

#: Messages to keep of those that were skipped.
EXAMPLES = 5

#: Unless ``max_bad_lines`` says otherwise: the larger of a number and a share, but never more than
#: half of all lines.
_USUAL_COUNT, _USUAL_SHARE, _GREATEST_SHARE = 10, 0.01, 0.5


def add_skipped(bad_lines: BadLines, count: int, messages: Iterable[str]) -> None:
    """Count lines that were skipped, and keep the first few messages."""
    bad_lines.count += count
    bad_lines.examples += list(messages)[: EXAMPLES - len(bad_lines.examples)]


def most_skipped(limit: int | str | None, total: int) -> int:
    """How many of ``total`` lines may be skipped; raises an OptionError if the limit is neither a
    number nor a percentage.

    >>> most_skipped("5%", 200), most_skipped(7, 200), most_skipped(None, 200)
    (10, 7, 10)
    """
    if limit is None:
        return int(min(max(_USUAL_COUNT, _USUAL_SHARE * total), _GREATEST_SHARE * total))
    words = str(limit).strip()
    try:
        if words.endswith("%"):
            share = float(words[:-1]) / 100
            if 0 <= share <= 1:
                return int(share * total)
        elif int(words) >= 0 and not isinstance(limit, bool):
            return int(words)
    except ValueError:
        pass
    raise OptionError(
        f"max_bad_lines: expected a number of lines, or a percentage such as '5%', got {limit!r}"
    )


def check_skipped(bad_lines: BadLines, good: int, options: ReadOptions, name: str) -> None:
    """Raise an InputError if too many lines were skipped."""
    total = good + bad_lines.count
    most = most_skipped(options.max_bad_lines, total)
    if bad_lines.count > most:
        raise InputError(
            f"{name}: {bad_lines.count:,} of {total:,} lines cannot be read, and at most {most:,} "
            f"may be skipped; the first is {bad_lines.examples[0]}. Check the columns and the "
            "format, or pass max_bad_lines= (--max-bad-lines) with a number or a percentage"
        )
