"""Checkpoints of a run over hosts: when to save, and going on. What
:class:`~penstock.engine.recovery.Recovery` does for a rank.

Every decision is made from numbers that all ranks have: steps, or times that they have exchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from penstock.engine.checkpoint import FILE_NAME
from penstock.engine.checkpoint_file import Facts, Rule
from penstock.engine.engine import Engine
from penstock.engine.epoch_choice import LOOK_SECONDS, calls_to_look, newest_first
from penstock.engine.epoch_files import EpochFolder, EpochOptions, refuse_epochs, remove_all
from penstock.engine.epoch_reader import EpochReader, take_inventory
from penstock.engine.epoch_writer import EpochWriter, NotSavedError
from penstock.engine.pace import Pace, Redeal
from penstock.engine.watched_peers import WatchedPeers
from penstock.errors import OptionError
from penstock.metrics import clock


class SharedRecovery:
    """Saves the state of all ranks together, and restores it."""

    def __init__(
        self, engine: Engine, options: EpochOptions, identity: Mapping[str, Any], page_edges: float
    ) -> None:
        self._engine = engine
        self._options = options
        self._identity = json.loads(json.dumps(dict(identity)))
        self._page_edges = page_edges
        self._folder = EpochFolder(options, engine.peers.rank)
        self._writer = EpochWriter(engine, self._folder, self._identity, options.token)
        #: The number of the last epoch; steps and times since.
        self._epoch = 0
        self._saved_step = 0
        self._saved_at = self._looked_at = clock()
        self._calls, self._look_at, self._looked_calls = 0, 1, 0
        self._pages, self._edges = 0.0, 0
        self._pace, self._waited = Pace(), self._waiting_seconds
        self._facts: dict[str, Any] = {
            "saved": 0, "saved_bytes": 0, "saving_seconds": 0.0, "resumed_after": None, "notes": [],
        }  # fmt: skip

    @property
    def _waiting_seconds(self) -> float:
        """Seconds that this rank has waited for others, if that is measured."""
        peers = self._engine.peers
        return peers.waiting_seconds if isinstance(peers, WatchedPeers) else 0.0

    @property
    def every_pages(self) -> int | None:
        """See :class:`~penstock.engine.recovery.Recovery`, also below."""
        return self._options.every.every_pages

    def close(self) -> None:
        """Release the folder. The caller removes the files when it has the answers of all ranks."""
        self._folder.close()
        if self._facts["saved"] or self._facts["notes"] or self._options.resume:
            self._engine.facts["epochs"] = self._facts

    def resume(
        self, targets: Mapping[str, Any], rules: Mapping[str, Rule] | None
    ) -> tuple[int, Facts] | None:
        """Fill arrays from the newest epoch that is complete."""
        options = self._options
        if self._folder.durable:
            self._folder.open()
            self._refuse_single()
        elif not options.resume:
            return None  # a scratch folder is new
        inventories = take_inventory(self._engine, self._folder)
        self._epoch = max((name.epoch for each in inventories for name in each.names), default=0)
        if not options.resume:
            if not options.overwrite:
                # This run may have begun again, as shortest paths do if numbers are too large.
                of_others = [
                    each for each in newest_first(inventories) if each.token != options.token
                ]
                refuse_epochs(self._folder.path, of_others)
            remove_all(self._folder.path)
            self._engine.peers.drain()
            self._epoch = 0
            return None
        reader = EpochReader(self._engine, self._folder, self._identity)
        choice = reader.choose(inventories)
        self._facts["notes"] += reader.notes
        if choice is None:
            return None
        facts = reader.read(choice, targets, rules or {})
        self._saved_step = self._facts["resumed_after"] = choice.manifest.step
        self._saved_at = self._looked_at = clock()
        self._waited = self._waiting_seconds
        return choice.manifest.step, facts

    def _refuse_single(self) -> None:
        """Raise for the checkpoint of a run without hosts, unless it is to be replaced."""
        path = self._folder.path / FILE_NAME
        if not path.exists():
            return
        if self._options.resume or not self._options.overwrite:
            raise OptionError(
                f"{self._folder.path}: was saved by a run without hosts; leave out hosts to go on "
                "from it, or choose another folder with checkpoint= (--checkpoint)"
            )
        path.unlink(missing_ok=True)

    def after(
        self,
        step: int,
        arrays: Mapping[str, Any],
        extra: Mapping[str, Any],
        *,
        pages: int | None,
    ) -> None:
        """Save if it is time."""
        edges = self._engine.metrics.total().edges_traversed
        passed = (edges - self._edges) / max(self._page_edges, 1)
        self._pages += passed if pages is None else pages
        self._edges = edges
        self._calls += 1
        every, steps = self._options.every, step - self._saved_step
        due = every.due(steps, 0.0)
        stopping = False
        if self._calls >= self._look_at or every.every_pages is not None:
            seconds, passed, stopping = self._look()
            due = every.due(steps, seconds, passed)
        if due or stopping:
            self._save(step, arrays, extra)
        if stopping:
            self._engine.deferred.deliver()

    def _look(self) -> tuple[float, float, bool]:
        """Seconds and pages since the last epoch, and whether a rank is to stop: the same on all
        ranks.
        """
        now = clock()
        pending = self._engine.deferred.pending is not None
        worked = now - self._looked_at - (self._waiting_seconds - self._waited)
        mine = np.array([now - self._saved_at, now - self._looked_at, self._pages, pending, worked])
        said = np.array([each for (each,) in self._engine.peers.allgather(mine)])
        seconds, since, _, stopping, _ = said.max(axis=0).tolist()
        self._pace.add(said[:, 4].tolist())
        every = self._options.every.every_seconds
        gap = LOOK_SECONDS if every is None else min(LOOK_SECONDS, every / 4)
        self._look_at = self._calls + calls_to_look(self._calls - self._looked_calls, since, gap)
        self._looked_calls, self._looked_at = self._calls, clock()
        self._waited = self._waiting_seconds
        return seconds, float(said[:, 2].sum()), bool(stopping)

    def _save(self, step: int, arrays: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
        began = clock()
        try:
            done = self._writer.save(self._epoch + 1, step, arrays, extra)
        except NotSavedError as error:
            self._note(f"nothing was saved after step {step:,}: {error}; the run went on")
        else:
            self._facts["saved"] += 1
            self._facts["saved_bytes"] += done.bytes
            for note in done.notes:
                self._note(note)
            self._redeal(step)
        self._epoch += 1
        self._saved_step, self._saved_at, self._pages = step, clock(), 0.0
        self._facts["saving_seconds"] += self._saved_at - began

    def _redeal(self, step: int) -> None:
        """End this attempt if a rank is slow and others can take pages of it."""
        slow, balance = self._pace.slow, self._engine.options.balance
        if slow is None or balance is None:
            return
        dealt = balance(slow.seconds)
        if dealt != self._engine.options.dealt:
            raise Redeal(step, slow, dealt)

    def _note(self, text: str) -> None:
        if text not in self._facts["notes"] and self._engine.peers.rank == 0:
            self._facts["notes"].append(text)
            with suppress(OSError):
                self._engine.options.progress.note(text)
