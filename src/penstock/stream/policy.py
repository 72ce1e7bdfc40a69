"""Cache policies: which page goes when another comes.

A policy is a function ``(cached, page) -> victim``. ``cached`` maps each cached page that nobody
uses at the moment to how often it was used, in order of last use, the longest unused first. It
returns the page to replace, or None to leave the cache as it is. Adding a policy is adding a
function and a name below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

Policy = Callable[[Mapping[int, int], int], int | None]


def lru(cached: Mapping[int, int], page: int) -> int | None:
    """The page that has not been used for the longest time goes: GStream's policy.

    For a scan that repeats and is longer than the cache it would never hit, if cached pages were
    not visited first (see :func:`penstock.stream.order.visiting_order`).
    """
    return next(iter(cached), None)


def mru(cached: Mapping[int, int], page: int) -> int | None:
    """The page that was used last goes: what a repeated scan needs latest."""
    return next(reversed(cached), None)


def keep(cached: Mapping[int, int], page: int) -> int | None:
    """Nothing goes: the first pages stay. A repeated scan hits as often as with any policy that
    knows the future, and no page is brought in to be replaced unused.
    """
    return None


def lfu(cached: Mapping[int, int], page: int) -> int | None:
    """Of the pages unused longest (a dozen), the one that was used least often goes."""
    return min(islice(cached, 12), key=cached.__getitem__, default=None)


POLICIES: dict[str, Policy] = {"keep": keep, "lru": lru, "mru": mru, "lfu": lfu}
