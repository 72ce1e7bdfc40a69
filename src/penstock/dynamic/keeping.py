"""The algorithms that a graph keeps up to date."""

from __future__ import annotations

from typing import Any

from penstock.dynamic.changes import Changes
from penstock.dynamic.maintained import make
from penstock.dynamic.maintained.protocol import Maintained, Sides
from penstock.errors import OptionError


class KeptAnswers:
    """Maintained algorithms by name."""

    def __init__(self) -> None:
        self._made: dict[str, Maintained] = {}

    def __bool__(self) -> bool:
        return bool(self._made)

    def begin(self, name: str, sides: Sides, **parameters: Any) -> Maintained:
        """Compute an answer, and keep it from now on."""
        if name in self._made:
            raise OptionError(f"{name}: is maintained already; forget it first")
        made = make(name, sides, **parameters)
        made.start()
        self._made[name] = made
        return made

    def follow(self, changes: Changes) -> None:
        """Let all of them know what a batch changed. One that cannot follow is forgotten, and its
        error raised when the others have followed.
        """
        failures: list[Exception] = []
        for name, made in list(self._made.items()):
            try:
                made.update(changes)
            except Exception as error:
                del self._made[name]
                error.add_note(f"the batch is in the graph; {name} is maintained no longer")
                failures.append(error)
        if failures:
            raise failures[0]

    def find(self, name: str) -> Maintained:
        """One of them."""
        if name not in self._made:
            known = ", ".join(self._made) or "none"
            raise OptionError(f"{name}: is not maintained (there are: {known}); maintain it first")
        return self._made[name]

    def forget(self, name: str) -> None:
        """Keep one no longer."""
        self.find(name)
        del self._made[name]
