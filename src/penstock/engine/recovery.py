"""Checkpoints while a run goes on, and going on from one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from penstock.engine.checkpoint import Checkpoint, Schedule, refuse_unfinished
from penstock.engine.checkpoint_file import Facts, Rule
from penstock.engine.engine import Engine
from penstock.errors import OptionError
from penstock.metrics import clock

if TYPE_CHECKING:
    from penstock.engine.shared_recovery import SharedRecovery


class Recovery:
    """Saves the state of a run when it is due, and when a stopping signal came.

    Without a checkpoint folder every method does nothing.
    """

    def __init__(self, engine: Engine, identity: Mapping[str, Any]) -> None:
        self._engine = engine
        options = engine.options
        self._schedule: Schedule = options.checkpoint_every
        self._saved_step = 0
        self._saved_at = clock()
        #: Pages that were worked on since, and the edges that were counted by then.
        self._pages = 0.0
        self._edges = 0
        stats = engine.graph.description.lists.values()
        self._page_edges = sum(each.num_edges for each in stats) / max(
            sum(each.num_pages for each in stats), 1
        )
        self._checkpoint: Checkpoint | None = None
        #: Over hosts, what does all this instead.
        self._shared: SharedRecovery | None = None
        whole = {"graph": f"{engine.graph.tag:016x}", **identity}
        if engine.plan.grid is not None:
            if options.epochs is not None and options.epochs.folder is not None:
                raise OptionError(
                    "checkpoint: hosts in rows do not save their state; leave out checkpoint, or "
                    "give more memory so that they need not stand in rows"
                )
        elif options.epochs is not None:
            from penstock.engine.shared_recovery import SharedRecovery

            self._shared = SharedRecovery(engine, options.epochs, whole, self._page_edges)
        elif options.checkpoint is not None:
            from penstock.engine.epoch_files import has_epochs, remove_all

            if has_epochs(options.checkpoint):
                if options.resume or not options.overwrite:
                    raise OptionError(
                        f"{options.checkpoint}: was saved by a run over hosts; give hosts= to go "
                        "on from it (hosts=1 is enough), or choose another folder with "
                        "checkpoint= (--checkpoint)"
                    )
                remove_all(options.checkpoint)
            self._checkpoint = Checkpoint(options.checkpoint, whole)

    def __enter__(self) -> Recovery:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shared is not None:
            self._shared.close()
        if self._checkpoint is not None:
            if error[0] is None:
                self._checkpoint.clear()
            self._checkpoint.close()

    def resume(
        self, targets: Mapping[str, Any], rules: Mapping[str, Rule] | None = None
    ) -> tuple[int, Facts] | None:
        """Fill arrays from the checkpoint and return its step and extra facts, if the run is to go
        on from one and there is one. ``rules``: what the entries of an array must be, because
        kernels rely on it; checksums do not tell who wrote a file.
        """
        if self._shared is not None:
            return self._shared.resume(targets, rules)
        if self._checkpoint is None:
            return None
        saved = self._checkpoint.load()  # refuses one of another run, which is not ours to remove
        if saved is None:
            return None
        if not self._engine.options.resume:
            saved.close()
            if not self._engine.options.overwrite:
                refuse_unfinished(self._checkpoint.folder)
            self._checkpoint.clear()
            return None
        try:
            for name, target in targets.items():
                saved.read_into(name, target, (rules or {}).get(name))
        finally:
            saved.close()
        self._saved_step = saved.step
        self._engine.options.progress.note(f"going on after step {saved.step}")
        return saved.step, saved.extra

    @property
    def every_pages(self) -> int | None:
        """After how many pages to come here even if a step is not complete; None: when it is."""
        if self._shared is not None:
            return self._shared.every_pages
        return None if self._checkpoint is None else self._schedule.every_pages

    def after(
        self,
        step: int,
        arrays: Mapping[str, Any],
        extra: Mapping[str, Any],
        *,
        pages: int | None = None,
    ) -> None:
        """A step is complete, or a part of the next one that had so many ``pages``: save if it is
        time, or if the run is to stop, and then stop.
        """
        if self._shared is not None:
            self._shared.after(step, arrays, extra, pages=pages)
        if self._checkpoint is None:
            return
        edges = self._engine.metrics.total().edges_traversed
        passed = (edges - self._edges) / max(self._page_edges, 1)
        self._pages += passed if pages is None else pages
        self._edges = edges
        stopping = self._engine.deferred.pending is not None
        since = (step - self._saved_step, clock() - self._saved_at, self._pages)
        if stopping or self._schedule.due(*since):
            self._checkpoint.save(step, arrays, extra)
            self._saved_step, self._saved_at, self._pages = step, clock(), 0.0
        if stopping:
            with suppress(OSError):
                self._engine.options.progress.note(f"saved after step {step}")
            self._engine.deferred.deliver()
