"""What the library logs while a command runs, as lines on stderr."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from penstock.interfaces.cli._bars import Notes
from penstock.interfaces.cli._failures import one_line


class _Lines(logging.Handler):
    """A line for each record."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # stderr is closed
            Notes().note(one_line(record.getMessage()))


@contextmanager
def log_on_stderr() -> Iterator[None]:
    """Show what the logger "penstock" gets until the end of the block, from INFO on."""
    logger, handler = logging.getLogger("penstock"), _Lines()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
