"""A user's function as text that depends on nothing else, made by :mod:`penstock.device.source`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.errors import ProgramError


class Input(NamedTuple):
    """A parameter of the text: a field of ``src``, ``edge``, ``p``, ...; or an "own" value."""

    kind: str
    field: str

    @property
    def name(self) -> str:
        """Its name in the text."""
        return f"{self.kind}_{self.field}"


@dataclass(frozen=True, slots=True)
class Written:
    """A function written out."""

    name: str
    #: What to call it in messages.
    label: str
    inputs: tuple[Input, ...]
    text: str
    #: Where the user wrote it, and the user's line of each line of the text.
    file: str
    lines: tuple[int, ...]
    #: Texts that it needs before it; those that are functions are also in ``helpers``.
    before: tuple[str, ...] = ()
    helpers: tuple[Written, ...] = ()

    def fields(self, kind: str) -> list[str]:
        """The fields that it reads from ``src``, ``edge``, ``p``, ..."""
        return [each.field for each in self.inputs if each.kind == kind]


@dataclass(frozen=True, slots=True)
class WrittenFunction:
    """A user's function that is known by its text alone: it was written out elsewhere."""

    written: Written

    def __call__(self, *arguments: Any) -> Any:
        """Cannot be called: it is text, for kernels."""
        raise ProgramError(f"{self.written.label}: only its text is here, it cannot be called")
