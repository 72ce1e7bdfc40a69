"""Every error a user can meet.

Each class is a :class:`PenstockError` and also the builtin it resembles, so that both
``except PenstockError`` and ``except FileNotFoundError`` work. A message says what went wrong,
where, what was found, and what to do about it.
"""

from __future__ import annotations


class PenstockError(Exception):
    """Base of every error that Penstock raises on purpose."""


class OptionError(PenstockError, ValueError):
    """An argument or option has a value that cannot be used."""


class InputError(PenstockError, ValueError):
    """The data to be read is not what it should be."""


class InputNotFoundError(PenstockError, FileNotFoundError):
    """An input file or a graph is not there."""


class ParseError(InputError):
    """A line of a text file cannot be read; the message names file, line, found and expected."""


class IdError(InputError):
    """A vertex id cannot be used, or a vertex is not in the graph."""


class AccessError(PenstockError, PermissionError):
    """The system does not allow reading or writing there."""


class TargetExistsError(PenstockError, FileExistsError):
    """The target is already there and overwriting was not asked for."""


class LockedError(PenstockError, BlockingIOError):
    """Another process is working on the same graph."""


class FormatError(PenstockError, ValueError):
    """A directory is not a graph this version can read."""


class CorruptionError(FormatError):
    """Stored bytes are not the bytes that were written."""


class AddressingError(PenstockError, OverflowError):
    """The graph does not fit the addresses of the chosen page layout."""


class DiskSpaceError(PenstockError, OSError):
    """There is not enough room on a disk."""


class BudgetError(PenstockError, MemoryError):
    """The work cannot be done within the memory that was allowed."""


class ProgramError(PenstockError, ValueError):
    """A vertex program cannot be used: the message names the function and the line."""


class VerificationError(PenstockError, AssertionError):
    """A result does not have a property that it must have; the message says where."""


class ConvergenceError(PenstockError, ArithmeticError):
    """An iteration did not reach its tolerance."""


class WorkerError(PenstockError, RuntimeError):
    """A worker of a run over several failed or is gone; the message says which."""
