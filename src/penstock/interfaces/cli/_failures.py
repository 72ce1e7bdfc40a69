"""What an error looks like from outside: its exit code and its one line."""

from __future__ import annotations

import json
import signal
import sys
import traceback

from penstock.errors import BudgetError, OptionError, PenstockError
from penstock.interfaces.cli._output import write_out

ERROR, USAGE, OVER_BUDGET = 1, 2, 3
_SIGNAL_WORDS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "hung up",
}


class StoppedError(Exception):
    """A signal ended the work; the text says what was kept and how to go on."""


def exit_code(error: BaseException, signum: int | None = None) -> int:
    """The exit code for an error; ``signum`` is the signal that caused it, if one did."""
    if isinstance(error, KeyboardInterrupt | StoppedError) or signum is not None:
        return 128 + (signum or signal.SIGINT)
    if isinstance(error, BudgetError | MemoryError):
        return OVER_BUDGET
    if isinstance(error, OptionError):
        return USAGE
    # Typer's own usage errors; where its classes live depends on its version.
    if hasattr(error, "format_message"):
        return int(getattr(error, "exit_code", USAGE))
    return ERROR


def message(error: BaseException, code: int) -> str:
    """One readable line."""
    if code > 128:
        word = _SIGNAL_WORDS.get(signal.Signals(code - 128), "stopped")
        left = "nothing unfinished was left behind"
        kept = str(error) if isinstance(error, StoppedError) else left
        return one_line(f"{word}; {kept}")
    if isinstance(error, PenstockError):
        text = str(error)
    elif hasattr(error, "format_message"):
        text = f"{error.format_message()} (see --help)"
    elif isinstance(error, MemoryError):
        text = (
            f"the machine has no more memory ({error}): close other programs, or pass a "
            "smaller --memory"
        )
    elif isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        text = f"{where}{error.strerror}"
    else:
        text = (
            f"unexpected {type(error).__name__}: {error}; this is a fault in Penstock: please "
            "report it with what --debug shows"
        )
    return one_line(text)


def one_line(text: str) -> str:
    """The text without line breaks or characters that would disturb a terminal.

    >>> one_line("two\\nlines\\x1b[0m")
    'two lines\\\\x1b[0m'
    """
    text = " ".join(text.split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def report(error: BaseException, code: int, *, debug: bool, as_json: bool) -> None:
    """Tell the user: a line on stderr, and with ``--json`` an object on stdout."""
    line = message(error, code)
    try:
        if debug:
            traceback.print_exception(error, file=sys.stderr)
        print(f"penstock: {line}", file=sys.stderr)
    except OSError:
        pass  # nobody is listening
    if as_json:
        kind = type(error).__name__
        write_out(json.dumps({"error": line, "kind": kind, "exit_code": code}) + "\n")
