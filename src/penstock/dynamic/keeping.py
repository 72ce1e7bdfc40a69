"""The algorithms that a graph keeps up to date."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from penstock.dynamic.batches import EdgeBatch
from penstock.dynamic.changes import Changes
from penstock.dynamic.maintained import make
from penstock.dynamic.maintained.protocol import ChecksBatches, Maintained, Sides
from penstock.errors import OptionError, PenstockError
from penstock.types import U32, Array

#: Gives the ids ascending, and the vertex number of each (None: they ascend with the numbers).
IdOrder = Callable[[], tuple[Array, U32 | None]]


class MaintainedAnswer:
    """A maintained algorithm as its user holds it.

    What a batch may not do is known before the batch is logged (:meth:`check`). An update that
    fails all the same may leave an algorithm's state half changed: that state is dropped, and the
    answer is computed from nothing. If this fails too, reading the answer raises, and the next
    batch tries again.
    """

    def __init__(
        self, name: str, sides: Sides, order: IdOrder, lock: threading.RLock, **parameters: Any
    ) -> None:
        self.name = name
        self._order = order
        self._lock = lock
        self._make = partial(make, name, sides, **parameters)
        #: None: there is no answer, because of the failure.
        self._made: Maintained | None = None
        self._failure: BaseException | None = None
        self.start()

    def start(self) -> None:
        """Compute from nothing."""
        made = self._make()
        made.start()
        self._made = made

    def check(self, batch: EdgeBatch) -> None:
        """Raise if the answer could not follow a batch; changes nothing."""
        if isinstance(self._made, ChecksBatches):
            self._made.check(batch)

    def update(self, changes: Changes) -> None:
        """Bring the answer up to date."""
        if self._made is not None:
            try:
                self._made.update(changes)
            except Exception as error:
                self.drop(error)
                warnings.warn(
                    f"{self.name}: could not follow a batch ({error!r}); it is computed from "
                    "nothing",
                    stacklevel=2,
                )
        if self._made is None:
            try:
                self.start()
            except Exception as error:
                self.drop(error)

    def drop(self, failure: BaseException) -> None:
        """Have no answer until the next batch."""
        self._made, self._failure = None, failure

    @property
    def _current(self) -> Maintained:
        if self._made is None:
            raise PenstockError(
                f"{self.name}: there is no answer, because the last batch could not be followed "
                f"({self._failure!r}); the next batch computes it from nothing"
            ) from self._failure
        return self._made

    @property
    def facts(self) -> dict[str, Any]:
        """What the last batch did."""
        return self._current.facts

    @property
    def values(self) -> Array:
        """The answer by vertex number: a view that cannot be written to."""
        return self._current.values

    @property
    def columns(self) -> dict[str, Array]:
        """What else there is by vertex number (parents, ...), as views like ``values``."""
        return self._current.columns

    def by_id(self) -> tuple[Array, Array]:
        """The ids in ascending order, and what the algorithm says of each."""
        with self._lock:
            ids, order = self._order()
            values = self.values
            return ids, values.copy() if order is None else values[order]


class MaintainedSet:
    """Maintained algorithms by name: ``d.maintained["bfs"]``, ``del d.maintained["bfs"]``."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._made: dict[str, MaintainedAnswer] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._made))

    def __len__(self) -> int:
        return len(self._made)

    def begin(self, name: str, sides: Sides, order: IdOrder, **parameters: Any) -> MaintainedAnswer:
        """Compute an answer, and keep it from now on."""
        if name in self._made:
            raise OptionError(f"{name}: is maintained already; del d.maintained[{name!r}] first")
        made = self._made[name] = MaintainedAnswer(name, sides, order, self._lock, **parameters)
        return made

    def check(self, batch: EdgeBatch) -> None:
        """Raise if one of them could not follow a batch; changes nothing."""
        for made in list(self._made.values()):
            made.check(batch)

    def follow(self, changes: Changes) -> None:
        """Let all of them know what a batch changed. Only an exit in the middle is raised; those
        that were not told drop their answers.
        """
        left = list(reversed(self._made.values()))
        try:
            while left:
                left[-1].update(changes)
                left.pop()
        except BaseException as error:
            for made in left:
                made.drop(error)
            raise

    def __getitem__(self, name: str) -> MaintainedAnswer:
        if name not in self._made:
            known = ", ".join(self._made) or "none"
            raise OptionError(f"{name}: is not maintained (there are: {known}); maintain it first")
        return self._made[name]

    def __delitem__(self, name: str) -> None:
        del self._made[self[name].name]
