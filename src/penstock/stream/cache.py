"""The host page buffer: pages that stay in memory after they were used."""

from __future__ import annotations

import threading
from collections import OrderedDict

from penstock.stream.policy import Policy
from penstock.types import U8


class PageCache:
    """Keeps up to ``capacity`` pages. A page in use is never replaced.

    Buffers are exchanged, not copied: :meth:`offer` takes the buffer a page was read into and gives
    another one to read the next page into.
    """

    def __init__(self, capacity: int, policy: Policy) -> None:
        self.capacity = capacity
        self._policy = policy
        self._buffers: dict[int, U8] = {}
        #: Pages that nobody uses, in order of last use, and how often each was used.
        self._idle: OrderedDict[int, int] = OrderedDict()
        #: Pages in use: how many users, how often used.
        self._busy: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._buffers)

    def __contains__(self, page: object) -> bool:
        return page in self._buffers

    def acquire(self, page: int) -> U8 | None:
        """The buffer of a page, to be released later; None if the page is not here."""
        with self._lock:
            buffer = self._buffers.get(page)
            if buffer is not None:
                users, uses = self._busy.get(page, (0, 0))
                if users == 0:
                    uses = self._idle.pop(page)
                self._busy[page] = (users + 1, uses + 1)
            return buffer

    def release(self, page: int) -> None:
        """End a use that :meth:`acquire` began."""
        with self._lock:
            users, uses = self._busy[page]
            if users > 1:
                self._busy[page] = (users - 1, uses)
            else:
                del self._busy[page]
                self._idle[page] = uses

    def offer(self, page: int, buffer: U8, spare: U8 | None) -> U8 | None:
        """Give the cache a page that was just read and is no longer used.

        Returns the buffer to go on with: ``spare`` (or None, meaning: make one) while the cache
        grows, the victim's if one was replaced, ``buffer`` itself if the page was not taken in.
        """
        with self._lock:
            if page in self._buffers or self.capacity == 0:
                return buffer
            if len(self._buffers) < self.capacity:
                free = spare
            else:
                victim = self._policy(self._idle, page)
                if victim is None:
                    return buffer
                del self._idle[victim]
                free = self._buffers.pop(victim)
            self._buffers[page] = buffer
            self._idle[page] = 1
            return free

    def clear(self) -> None:
        """Forget every page."""
        with self._lock:
            self._buffers.clear()
            self._idle.clear()
            self._busy.clear()
