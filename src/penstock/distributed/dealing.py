"""Dealing a graph out to hosts: each gets the index files and the page files of some stripes.

The coordinator decides what goes where; ranks that can read the graph send it to those that write,
in pieces. What is missing is always found by reading the disks at the beginning of a stage, so an
interrupted dealing goes on when it is started again.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.distributed.dealing_ranks import (
    Batch,
    DealJob,
    Here,
    Missing,
    finish,
    look_around,
    look_for_missing,
    send,
)
from penstock.distributed.hosts import open_hosts
from penstock.distributed.losses import RankLostError
from penstock.distributed.thread_peers import run_on_threads
from penstock.engine.peers import Peers
from penstock.errors import CorruptionError, DiskSpaceError, OptionError
from penstock.progress import Progress, Silent
from penstock.store.catalog import MAX_STRIPES, check_whole
from penstock.store.contents import is_graph
from penstock.store.paged import PagedGraph
from penstock.types import I64

#: The number of stripes of a dealt graph, unless there are more hosts.
STRIPES = 64
#: Bytes that are sent between two reports of progress.
BATCH_BYTES = 1 << 30
#: How often damaged data is sent again.
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Dealt:
    """The result of a dealing."""

    #: The places by name, and the stripes that each has.
    places: dict[str, tuple[int, ...]]
    path: Path
    num_stripes: int
    copies: int
    bytes_sent: int
    #: Bytes that were there already, from an interrupted or a complete dealing.
    bytes_kept: int


def deal(
    graph: PagedGraph,
    to: Path | Sequence[Path],
    *,
    hosts: Any = None,
    copies: int = 1,
    num_stripes: int | None = None,
    progress: Progress | None = None,
) -> Dealt:
    """Deal a graph out. The graph itself stays as it is.

    Parameters
    ----------
    graph
        A stored graph. Ranks that see it, or parts of it, read it from its path.
    to
        With ``hosts``: the directory to make on each of them. Without: one directory for each
        part; one that exists and is no graph gets the part inside, under the name of the graph.
    hosts
        As for a run: the hosts to deal to.
    copies
        The number of hosts that get each stripe.
    num_stripes
        The number of stripes of the dealt graph; None: 64, or one a host if there are more hosts.
    progress
        Receives the progress.
    """
    if graph.path is None:
        raise OptionError("deal: the graph is in memory; build it into a directory first")
    told = progress or Silent()
    path = graph.path.absolute()
    job = DealJob(path, path, graph.tag, secrets.token_hex(8))
    crew: AbstractContextManager[Any]
    if hosts is None:
        crew = nullcontext(_Folders([_inside(each, path.name) for each in _listed(to)]))
    else:
        targets = _listed(to)
        if len(targets) != 1:
            raise OptionError("to: with hosts there is one directory, the same on each of them")
        job = replace(job, path=targets[0].absolute())
        crew = open_hosts(hosts)
    with crew as ranks:
        try:
            return _deal(ranks, graph, job, copies, num_stripes, told)
        except RankLostError as error:
            text = f"{error}; deal again when its host is back: what has arrived is kept"
            raise RankLostError(text, error.lost) from None


def place_stripes(num_stripes: int, places: int, copies: int) -> tuple[tuple[int, ...], ...]:
    """For each stripe, the places that get it: all places get the same number, and the copies of
    what a place has are spread over all others.

    >>> place_stripes(6, 3, 2)
    ((0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1))
    """
    return tuple(
        (
            k % places,
            *((k + 1 + (k // places + copy) % (places - 1)) % places for copy in range(copies - 1)),
        )
        for k in range(num_stripes)
    )


class _Folders:
    """Ranks that are threads, each with a folder of its own."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths

    def run(self, function: Callable[..., Any], job: DealJob, *args: Any) -> list[Any]:
        """``function(peers, job, *args)`` on every rank, with its path in the job."""

        def on_rank(peers: Peers) -> Any:
            own = replace(job, path=self._paths[peers.rank], host=str(self._paths[peers.rank]))
            return function(peers, own, *args)

        return run_on_threads(len(self._paths), on_rank)


def _listed(to: Path | Sequence[Path]) -> list[Path]:
    return [Path(to)] if isinstance(to, str | Path) else [Path(each) for each in to]


def _inside(folder: Path, name: str) -> Path:
    found = folder.absolute()
    return found / name if found.is_dir() and not is_graph(found) else found


def _deal(
    ranks: Any, graph: PagedGraph, job: DealJob, copies: int, stripes: int | None, told: Progress
) -> Dealt:
    there: list[Here] = ranks.run(look_around, job)
    leaders = sorted(
        {each.leader for each in there}, key=lambda rank: (there[rank].host, there[rank].path)
    )
    count = _checked(there, leaders, copies, stripes)
    held_by = place_stripes(count, len(leaders), copies)
    job = replace(
        job,
        catalog=replace(graph.catalog, num_stripes=count),
        places=_names(there, leaders, job),
        leaders=tuple(leaders),
        held_by=held_by,
    )
    sent, kept = 0, 0
    for attempt in range(ROUNDS + 1):
        told.start("looking at what is there" if attempt == 0 else "verifying", None, "")
        missing: list[Missing] = [each for each in ranks.run(look_for_missing, job) if each]
        needed = sum(each.num_bytes for each in missing)
        if attempt == 0:
            kept = sum(each.all_bytes for each in missing) - needed
            _check_space(missing)
        if needed == 0:
            break
        if attempt == ROUNDS:
            raise CorruptionError(_not_whole(job, missing))
        if attempt:
            told.note(f"{format_bytes(needed)} arrived damaged and are sent again")
        told.start("sending", needed, "bytes")
        for batch in _batches(job, missing):
            ranks.run(send, job, batch)
            told.advance(batch.num_bytes)
            sent += batch.num_bytes
    ranks.run(finish, job)
    stripes_of = {
        name: tuple(k for k, holders in enumerate(held_by) if place in holders)
        for place, name in enumerate(job.places)
    }
    return Dealt(stripes_of, job.path, count, copies, sent, kept)


def _checked(there: list[Here], leaders: list[int], copies: int, stripes: int | None) -> int:
    """The number of stripes; raises for what cannot be."""
    places = len(leaders)
    if places < 2:
        raise OptionError(
            f"deal: there are {len(there)} hosts and one place ({there[0].path.parent}), which all "
            "of them see: nothing needs dealing, run over them as the graph is; to deal, give "
            "folders on different disks"
            if len(there) > 1
            else "deal: there is one place to deal to; give at least two"
        )
    count = max(STRIPES, places) if stripes is None else stripes
    try:
        check_whole("copies", copies, 1, places)
        check_whole("stripes", count, places, MAX_STRIPES)
    except ValueError as error:
        raise OptionError(f"deal: {error} (there are {places} places)") from None
    return count


def _names(there: list[Here], leaders: list[int], job: DealJob) -> tuple[str, ...]:
    hosts = [there[rank].host for rank in leaders]
    if len(set(hosts)) == len(hosts):
        return tuple(hosts)
    return tuple(f"{there[rank].host}:{there[rank].path}" for rank in leaders)


def _check_space(missing: list[Missing]) -> None:
    """Raise if a disk has too little room for everything that will be written to it."""
    needed: dict[tuple[str, int], int] = defaultdict(int)
    for each in missing:
        needed[each.disk] += each.num_bytes
    for each in missing:
        if needed[each.disk] > each.free_bytes:
            raise DiskSpaceError(
                f"{each.path} on {each.host}: {format_bytes(needed[each.disk])} are to be "
                f"written to this disk, and {format_bytes(each.free_bytes)} are free; nothing was "
                "sent: free some space and deal again, or deal to more hosts or with fewer copies"
            )


def _not_whole(job: DealJob, missing: list[Missing]) -> str:
    bad = next(each for each in missing if each.num_bytes)
    pages = [
        f"{direction}-page {int(numbers[0])}"
        for direction, numbers in bad.pages.items()
        if len(numbers)
    ]
    return (
        f"{bad.path} on {bad.host}: {(*bad.files, *pages)[0]} was sent {ROUNDS} times and is "
        f"still damaged; check the disk, and the graph itself (penstock verify {job.source})"
    )


def _batches(job: DealJob, missing: list[Missing]) -> Iterator[Batch]:
    """What is missing, in batches: index files, then pages in order."""
    assert job.catalog is not None
    for name in job.catalog.files:
        ranks = tuple(each.rank for each in missing if name in each.files)
        if ranks:
            size = job.catalog.files[name].bytes
            yield Batch(file=name, to=ranks, num_bytes=size * len(ranks))
    size = job.catalog.page_bytes
    step = max(1, BATCH_BYTES // size)
    for direction, stats in job.catalog.directions.items():
        wanted = {each.rank: each.pages[direction] for each in missing}
        total = sum(map(len, wanted.values()))
        width = max(1, step * stats.num_pages // max(total, 1))
        for begin in range(0, stats.num_pages, width):
            some = {rank: _between(pages, begin, width) for rank, pages in wanted.items()}
            some = {rank: pages for rank, pages in some.items() if len(pages)}
            if some:
                count = sum(map(len, some.values()))
                yield Batch(direction=direction, pages=some, num_bytes=count * size)


def _between(pages: I64, begin: int, width: int) -> I64:
    low, high = np.searchsorted(pages, [begin, begin + width])
    return pages[low:high]
