"""What commands print: text for people, one JSON object for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def tolerate_any_text() -> None:
    """Let stdout take any text, whatever the locale."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def write_out(text: str) -> None:
    """Write to stdout. If its reader has gone away, what is left to say is dropped."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()


def finish_output(code: int) -> int:
    """Write out what is still buffered; returns the exit code.

    A reader that went away (``penstock info g | head``) does not change it: the work was done.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    except OSError as error:
        _silence()
        if code == 0:  # else something was said already
            print(f"penstock: standard output: {error.strerror}", file=sys.stderr)
        return code or 1
    return code


def _silence() -> None:
    """Send the rest of stdout nowhere, so that the interpreter does not stumble over it."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def show(text: str, data: dict[str, Any], *, as_json: bool) -> None:
    """Print the result of a command: the text, or the data as one JSON object."""
    write_out((json.dumps(plain(data), allow_nan=False) if as_json else text.rstrip("\n")) + "\n")


def plain(value: Any) -> Any:
    """The value as JSON can have it: what is not a finite number becomes null.

    >>> plain({"ranks": (0.5, float("nan"), float("-inf"))})
    {'ranks': [0.5, None, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def table(rows: Sequence[Sequence[str]], *, indent: str = "  ") -> str:
    """Rows as text in columns, the first to the left and the others to the right.

    >>> print(table([("", "edges"), ("out", "1,234")], indent=""))
         edges
    out  1,234
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def facts(pairs: Sequence[tuple[str, str]], *, indent: str = "  ") -> str:
    """Names and values, one pair a line.

    >>> print(facts([("edges", "12"), ("page size", "1 MiB")], indent=""))
    edges      12
    page size  1 MiB
    """
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{indent}{name.ljust(width)}  {value}".rstrip() for name, value in pairs)


def bar(share: float, width: int = 30) -> str:
    """A bar for a share of 0 to 1; a mark for anything above 0."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    block = "█" if encoding.replace("-", "").startswith("utf") else "#"
    return block * max(round(share * width), 1 if share > 0 else 0)
