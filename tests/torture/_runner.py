"""Runs the cases of a campaign in worker processes, until time or cases run out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event, Lock

from torture._campaign import Campaign, Case, Outcome
from torture._process import StoppedError, Worker
from torture._state import State, Tally


@dataclass(frozen=True)
class Limits:
    """How much is tried, and what a case may take; None: what the campaign says, or no limit."""

    seconds: float | None = None
    cases: int | None = None
    jobs: int = 1
    shrink_seconds: float = 60.0
    timeout_seconds: float | None = None
    memory_bytes: int | None = None
    bounds_checks: bool = False


@dataclass
class Runner:
    """Runs one campaign; threads of the runner have a worker process each."""

    tally: Tally
    limits: Limits
    state: State
    stop: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._deadline = (
            None if self.limits.seconds is None else time.monotonic() + self.limits.seconds
        )
        self._to_do = self._remaining_cases()

    def run(self) -> None:
        """Run to the end. After KeyboardInterrupt the tally has what was done until then."""
        begin = time.monotonic()
        with ThreadPoolExecutor(self.limits.jobs) as pool:
            serving = [pool.submit(self._serve) for _ in range(self.limits.jobs)]
            try:
                wait(serving, return_when=FIRST_EXCEPTION)
            finally:
                self.stop.set()
                self.tally.seconds = time.monotonic() - begin
        for each in serving:
            each.result()

    def _remaining_cases(self) -> Iterator[tuple[int, Case]]:
        """Cases that have not been run; those that have are counted on the way."""
        campaign, seed = self.tally.campaign, self.tally.seed
        done = self.state.outcomes(campaign.name, seed)
        smallest = self.state.minimised(campaign.name, seed)
        for index, case in enumerate(campaign.cases(seed)):
            if index in done:
                self.tally.count(case, done[index])
                known = self.tally.findings.get(done[index].headline)
                if known is not None and known.headline in smallest:
                    known.minimal, known.text = smallest[known.headline]
            elif self.limits.cases is not None and index >= self.limits.cases:
                return
            else:
                yield index, case

    def _next(self) -> tuple[int, Case] | None:
        with self._lock:
            late = self._deadline is not None and time.monotonic() > self._deadline
            return None if late or self.stop.is_set() else next(self._to_do, None)

    def _serve(self) -> None:
        """What a thread does: case after case."""
        worker = Worker(
            self.tally.campaign,
            self.stop,
            timeout_seconds=self.limits.timeout_seconds,
            memory_bytes=self.limits.memory_bytes,
            bounds_checks=self.limits.bounds_checks,
        )
        try:
            while (item := self._next()) is not None:
                self._try(worker, *item)
        except StoppedError:
            pass  # the case has no outcome: it is run again when the run is resumed
        finally:
            worker.close()

    def _try(self, worker: Worker, index: int, case: Case) -> None:
        outcome = worker.run(case)
        line = {"index": index, "status": outcome.status}
        if outcome.status != "ok":
            line["text"] = outcome.text
        with self._lock:
            known = outcome.headline in self.tally.findings
            self.tally.count(case, outcome)
            self.state.add(self.tally, **line)
        if outcome.status == "found" and not known:
            self._minimise(worker, case, outcome)

    def _minimise(self, worker: Worker, case: Case, outcome: Outcome) -> None:
        """Look for a smaller case that finds the same, and keep it."""
        finding = self.tally.findings[outcome.headline]
        for smaller, text in smaller_cases(worker, case, outcome, self.limits.shrink_seconds):
            finding.minimal, finding.text = smaller, text
        with self._lock:
            self.state.add(
                self.tally, headline=finding.headline, minimal=finding.minimal, text=finding.text
            )


def smaller_cases(
    worker: Worker, case: Case, outcome: Outcome, seconds: float
) -> Iterator[tuple[Case, str]]:
    """Ever smaller cases that find the same, with what they find, for some time."""
    deadline = time.monotonic() + seconds
    campaign: Campaign = worker.campaign
    current: Case | None = case
    while current is not None:
        candidates, current = campaign.shrink(current), None
        for candidate in candidates:
            if time.monotonic() > deadline:
                return
            again = worker.run(candidate)
            if again.status == "found" and again.headline == outcome.headline:
                yield candidate, again.text
                current = candidate
                break
