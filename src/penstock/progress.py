"""What long work tells whoever watches. Libraries stay silent; the command line draws bars."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the stages of a long piece of work and how far each has come."""

    def start(self, stage: str, total: float | None, unit: str) -> None:
        """A stage begins; ``total`` is in ``unit`` ("edges", "bytes", "pages"), None if unknown."""

    def advance(self, amount: float) -> None:
        """The current stage has done ``amount`` more."""

    def note(self, text: str) -> None:
        """Something worth a line of text."""


class Silent:
    """Tells nobody anything."""

    def start(self, stage: str, total: float | None, unit: str) -> None:
        """Ignore it."""

    def advance(self, amount: float) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""
