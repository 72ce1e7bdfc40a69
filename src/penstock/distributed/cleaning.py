"""What killed jobs have left on several hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.distributed.hosts import open_hosts
from penstock.engine.leftovers import Leftover, find_leftovers, is_gone, remove_leftovers
from penstock.engine.peers import ALONE, Peers


def clean(
    hosts: Any, folders: Sequence[str], young_seconds: float, *, remove: bool
) -> tuple[list[Leftover], list[Leftover]]:
    """What was found on all hosts, and what of it was removed. ``hosts`` None: this machine."""
    if hosts is None:
        return _clean_rank(ALONE, folders, young_seconds, remove)
    with open_hosts(hosts) as crew:
        answers = crew.run(_clean_rank, list(folders), young_seconds, remove)
    # Ranks of one host see the same.
    by_place = {(each.host, each.path): each for found, _ in answers for each in found}
    gone = {(each.host, each.path) for _, removed in answers for each in removed}
    return list(by_place.values()), [by_place[place] for place in sorted(gone)]


def _clean_rank(
    peers: Peers, folders: Sequence[str], young_seconds: float, remove: Any
) -> tuple[list[Leftover], list[Leftover]]:
    found = find_leftovers(folders, young_seconds)
    peers.drain()  # all have looked before one removes
    if remove:
        remove_leftovers(found)
    peers.drain()
    return found, [each for each in found if remove and is_gone(each)]
