"""The end of something that has threads: once, whatever brings it about."""

from __future__ import annotations

import atexit
import weakref
from typing import Protocol


class _End(Protocol):
    def __call__(self, *, wait: bool) -> None:
        """End everything; ``wait``: until no thread is at work."""


class Ending:
    """Ends when it is called, when the owner is gone, or when the process ends.

    The garbage collector may find that the owner is gone in the first lines of a new thread, where
    joining another thread never returns. So nothing is waited for then.
    """

    def __init__(self, owner: object, end: _End) -> None:
        self._end = end
        self._gone = weakref.finalize(owner, self._end_unasked)
        # At the end of the process there is time to wait.
        self._gone.atexit = False
        atexit.register(self)

    def _end_unasked(self) -> None:
        atexit.unregister(self)
        self._end(wait=False)

    def __call__(self) -> None:
        """End now, and wait for it."""
        if self.detach():
            self._end(wait=True)

    def detach(self) -> bool:
        """End no more; returns whether nothing has ended yet."""
        atexit.unregister(self)
        return self._gone.detach() is not None
