"""A job whose ranks may be lost: it runs again with the remaining workers, from the last epoch that
all of them had saved.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from penstock.distributed.hosts import Hosts
from penstock.distributed.losses import RankLostError
from penstock.engine.checkpoint import Schedule
from penstock.engine.epoch_files import EVERY_SECONDS, EpochOptions, remove_all
from penstock.engine.peers import Peers
from penstock.errors import WorkerError
from penstock.metrics import clock

T = TypeVar("T")
#: How often a job is tried.
MOST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Attempts:
    """The result of the attempts of a job."""

    answers: list[Any]
    #: A row for each loss, for the result's statistics.
    losses: list[dict[str, Any]]
    epochs: EpochOptions


def epoch_options(given: Mapping[str, Any]) -> EpochOptions:
    """How the ranks save their state, from the options of a call."""
    every = given.get("checkpoint_every")
    folder, tmpdir = given.get("checkpoint"), given.get("tmpdir")
    return EpochOptions(
        job=secrets.token_hex(8),
        token=secrets.token_hex(4),
        every=Schedule(every_seconds=EVERY_SECONDS) if every is None else Schedule.parse(every),
        folder=None if folder is None else _path(folder),
        tmpdir=None if tmpdir is None else _path(tmpdir),
        resume=bool(given.get("resume")),
        overwrite=bool(given.get("overwrite")),
    )


def _path(given: Any) -> Path:
    return Path(given).absolute()


def run_attempts(
    hosts: Hosts,
    run: Callable[[EpochOptions], list[T]],
    epochs: EpochOptions,
    note: Callable[[str], object],
    *,
    most: int = MOST_ATTEMPTS,
) -> Attempts:
    """What the ranks return from ``run``, which is called again after a loss. What a rank raises
    itself is raised at once.
    """
    losses: list[dict[str, Any]] = []
    began = clock()
    try:
        for attempt in range(1, most + 1):
            try:
                return Attempts(run(epochs), losses, epochs)
            except RankLostError as error:
                losses += error.rows()
                if attempt == most:
                    raise _final(error, epochs, f"it was tried {most} times") from None
                size = _recover(hosts, error, epochs)
                epochs = epochs.again(secrets.token_hex(4))
                ranks = f"{size} rank{'s' if size > 1 else ''}"
                note(f"{error}; going on from the last saved step with {ranks}")
        raise AssertionError("there is an attempt at least")
    except RankLostError:
        raise
    except BaseException:
        every = epochs.every
        may_have_saved = every.every_seconds is None or clock() - began > every.every_seconds
        if epochs.folder is None and may_have_saved:
            clear(hosts, epochs)
        raise


def _recover(hosts: Hosts, error: RankLostError, epochs: EpochOptions) -> int:
    try:
        return hosts.recover()
    except WorkerError as why:
        raise _final(error, epochs, str(why)) from None


def _final(error: RankLostError, epochs: EpochOptions, why: str) -> RankLostError:
    """The error that the user sees when the run cannot go on."""
    advice = (
        "with checkpoint=FOLDER (--checkpoint), a later call can go on with resume=True (--resume)"
        if epochs.folder is None
        else f"what was saved is in {epochs.folder} on the hosts; when these are back, the same "
        "call with resume=True (--resume) goes on from there"
    )
    return RankLostError(f"{error}; the run cannot go on: {why}; {advice}", error.lost)


def clear(hosts: Hosts, epochs: EpochOptions) -> None:
    """Remove what was saved. On hosts that cannot be reached, ``penstock clean`` does it later."""
    try:
        hosts.run(clear_rank, epochs)
    except WorkerError:
        return


def clear_rank(peers: Peers, epochs: EpochOptions) -> None:
    """Remove what a job has saved on this host."""
    remove_all(epochs.place)
