"""One run on Dask workers: begin all ranks, end all, and find the cause of a failure.
Everything here runs on the loop of the Dask client.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from distributed.comm.addressing import get_address_host

from penstock.distributed.dask_rank import (
    Job,
    Outcome,
    Place,
    end_rank,
    keep_rank,
    open_rank,
    run_rank,
)
from penstock.distributed.losses import Loss, RankLostError
from penstock.distributed.run_cause import find_cause, missed_by_others
from penstock.errors import WorkerError

#: Seconds between looks at which workers the scheduler has.
LOOK_SECONDS = 0.4
#: Seconds between looks at whether a worker is still busy.
BUSY_SECONDS = 0.05
# From the moment that a worker stops to the moment that others go on, with the default patience of
# 10 s, takes 20 s at most. See docs/design/0025-several-hosts.md for the sums.
#: Seconds between words to each rank.
KEEP_SECONDS = 3.0
#: Seconds for a scheduler to answer.
ANSWER_SECONDS = 10.0
#: Seconds for ranks to end, once one has failed; then their processes are ended.
ENDING_SECONDS = 3.0
RESTART_SECONDS = 2.0
#: Seconds for a rank to end that others miss already.
SILENT_SECONDS = 1.0
#: Of a rank whose worker stands still.
NO_ANSWER = "it did not begin in time"


class RunFailed(Exception):  # noqa: N818 - carries the error that is raised
    """A run failed; carries the cause, unchanged."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


def scheduler_gone(reason: str) -> WorkerError:
    """What to raise when the scheduler cannot be reached."""
    return WorkerError(
        f"the Dask scheduler does not answer: {reason}. Start it and its workers again, and call "
        "again"
    )


async def ask(
    client: Any, function: Callable[..., Any], workers: Iterable[str], seconds: float, *args: Any
) -> dict[str, Any]:
    """What a function returns on workers, by worker; without those that do not answer in time."""

    async def one(worker: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(seconds):
                found: dict[str, Any] = await client.run(
                    function, *args, workers=[worker], on_error="ignore"
                )
                return found
        except (OSError, ValueError, KeyError):
            return {}

    found: dict[str, Any] = {}
    for answer in await asyncio.gather(*(one(worker) for worker in workers)):
        found.update(answer)
    return found


class Gang:
    """The tasks of a run, one on each worker."""

    def __init__(
        self,
        client: Any,
        job: Job,
        workers: Sequence[str],
        *,
        end_worker: Callable[[str], None] | None = None,
    ) -> None:
        self._client = client
        self._job = job
        self._workers = list(workers)
        #: Ends the process of a worker, in whose place another is started; None: not ours to end.
        self._end_worker = end_worker
        #: When those that were told to end must have done so.
        self._deadline: float | None = None
        self._places: dict[int, Place] = {}
        self._outcomes: dict[int, Outcome] = {}
        self._futures: list[Any] = []
        self._tasks: dict[int, asyncio.Future[Any]] = {}
        self._ended = asyncio.Event()

    def worker_of(self, rank: int) -> str:
        """The address of a rank's worker."""
        return self._workers[rank]

    async def run(self, function: Callable[..., Any], args: Any) -> list[Outcome]:
        """How each rank ended, if all succeeded; raises :class:`RunFailed` otherwise."""
        keeper = None
        try:
            await self._begin()
            keeper = asyncio.ensure_future(self._keep())
            await self._finish(function, args)
        except WorkerError as error:
            raise RunFailed(error) from None
        finally:
            if keeper is not None:
                keeper.cancel()
            await asyncio.shield(self._end())
        cause = find_cause(self._outcomes, self._places)
        if cause is not None:
            raise RunFailed(cause)
        return [self._outcomes[rank] for rank in range(self._job.size)]

    async def wait_ended(self) -> None:
        """Wait until nothing of a cancelled run is left, with a deadline."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(3 * ENDING_SECONDS + RESTART_SECONDS):
                await self._ended.wait()

    def _submit(self, function: Callable[..., Any], rank: int, *args: Any) -> None:
        worker = self._workers[rank]
        future = self._client.submit(
            function,
            self._job,
            rank,
            *args,
            key=f"penstock-{function.__name__}-{self._job.name}-{rank}",
            workers=[worker],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )
        self._futures.append(future)
        self._tasks[rank] = asyncio.ensure_future(_value(future))

    async def _begin(self) -> None:
        """Open all ranks. Not as tasks: each would take the scheduler some milliseconds."""
        deadline = _now() + self._job.begin_seconds
        ranks = range(self._job.size)
        found = await asyncio.gather(*(self._open(rank, deadline) for rank in ranks))
        lost = {rank: each for rank, each in zip(ranks, found, strict=True) if each is not None}
        if lost:
            await self._kill(rank for rank, reason in lost.items() if reason == NO_ANSWER)
            raise self._not_begun(lost)
        busy = [rank for rank in ranks if rank not in self._places]
        if busy:
            missing = ", ".join(f"{rank} on {self._workers[rank]}" for rank in busy)
            raise WorkerError(
                f"ranks did not begin within {self._job.begin_seconds:.0f} seconds: {missing}. "
                "All ranks must run at once: call again when no worker is busy with other tasks, "
                "and all can be reached"
            )

    async def _open(self, rank: int, deadline: float) -> str | None:
        """Open a rank as soon as its worker is not busy; returns why it is lost, if it is."""
        worker = self._workers[rank]
        while _now() < deadline:
            try:
                async with asyncio.timeout(min(self._job.patience, self._job.begin_seconds)):
                    answers = await self._client.run(
                        open_rank, self._job, rank, get_address_host(worker), workers=[worker],
                        on_error="return",
                    )  # fmt: skip
                found = answers[worker]
            except TimeoutError:
                return NO_ANSWER
            except (OSError, ValueError, KeyError) as error:
                return f"it did not begin: {error!r}"
            if isinstance(found, Place):
                self._places[rank] = found
                return None
            if found is not None:
                return f"it did not begin: {found}"
            await asyncio.sleep(BUSY_SECONDS)
        return None

    def _not_begun(self, reasons: Mapping[int, str]) -> RankLostError:
        lost = [
            Loss(rank, get_address_host(self._workers[rank]), 0, reason)
            for rank, reason in reasons.items()
        ]
        text = "; ".join(
            f"rank {each.rank} (worker {self._workers[each.rank]}) is lost: {each.reason}"
            for each in lost
        )
        return RankLostError(text, lost)

    async def _finish(self, function: Callable[..., Any], args: Any) -> None:
        """Run all ranks until all have ended, or one has failed and the others had time to end."""
        addresses = [self._places[rank].address for rank in range(self._job.size)]
        for rank in range(self._job.size):
            self._submit(run_rank, rank, addresses, function, args)
        while self._tasks and (self._deadline is None or _now() < self._deadline):
            for rank, found in await self._look():
                if not isinstance(found, Outcome):
                    found = Outcome(rank, gone=str(found).partition("\n")[0])
                self._outcomes.setdefault(rank, found)
            if self._deadline is None and not all(each.good for each in self._outcomes.values()):
                self._deadline = _now() + ENDING_SECONDS
                await self._tell("another rank has failed", ENDING_SECONDS)
            if self._deadline is not None and self._silent() >= set(self._tasks):
                # What a rank raised itself may be on its way a little longer than what it caused.
                self._deadline = min(self._deadline, _now() + SILENT_SECONDS)

    def _silent(self) -> set[int]:
        """The ranks that have not ended and that others miss, or the client."""
        gone = {rank for rank, each in self._outcomes.items() if each.gone is not None}
        return (gone | set(missed_by_others(self._outcomes))) & set(self._tasks)

    async def _look(self) -> list[tuple[int, Any]]:
        """The ranks that have ended since the last look, each with what its task returned or why it
        is gone.
        """
        await asyncio.wait(
            self._tasks.values(), timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        found = [(rank, task.result()) for rank, task in self._tasks.items() if task.done()]
        for _, each in found:
            if getattr(each, "reason", None) == "scheduler-connection-lost":
                raise scheduler_gone("its connection ended")
        ended = {rank for rank, _ in found}
        if len(ended) < len(self._tasks):
            there = await self._find_workers()
            gone = [rank for rank in self._tasks if self._workers[rank] not in there]
            found += [(rank, "its process has ended") for rank in gone if rank not in ended]
        for rank, _ in found:
            self._tasks.pop(rank).cancel()
        return found

    async def _find_workers(self) -> set[str]:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return set(await self._client.nthreads())
        except OSError as error:
            raise scheduler_gone(repr(error)) from None

    async def _keep(self) -> None:
        """Tell ranks that the client is there, and find those that do not answer: no other rank
        reports the loss of one that has no peers.
        """
        while True:
            await asyncio.sleep(KEEP_SECONDS)
            ranks = {self._workers[rank]: rank for rank in self._tasks}
            for worker, rank in ranks.items():
                asyncio.ensure_future(self._keep_one(worker, rank))  # noqa: RUF006

    async def _keep_one(self, worker: str, rank: int) -> None:
        name, patience = self._job.name, self._job.patience
        found = await ask(self._client, keep_rank, [worker], patience, name, rank)
        if not found and rank in self._tasks:
            text = f"its process has not answered for {patience:.0f} seconds"
            self._outcomes.setdefault(rank, Outcome(rank, gone=text))

    async def _tell(self, reason: str, seconds: float) -> None:
        """Make the ranks end that have not, except those that would not answer."""
        ranks = set(self._tasks) - self._silent()
        await asyncio.gather(
            *(
                ask(
                    self._client,
                    end_rank,
                    [self._workers[rank]],
                    seconds,
                    self._job.name,
                    rank,
                    reason,
                )
                for rank in ranks
            )
        )

    async def _end(self) -> None:
        """Clean up."""
        try:
            await self._end_ranks()
        finally:
            for task in self._tasks.values():
                task.cancel()
            if self._futures and self._client.status == "running":
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    await self._client.cancel(self._futures, force=True)
            self._futures.clear()
            self._ended.set()

    async def _end_ranks(self) -> None:
        whole = len(self._outcomes) == self._job.size and not self._tasks
        if whole or self._client.status != "running":
            return
        left = set(range(self._job.size)) - set(self._outcomes) - set(self._tasks)
        workers = [(self._workers[rank], rank) for rank in left]  # opened, perhaps, and not run
        await asyncio.gather(
            *(
                ask(self._client, end_rank, [worker], 2.0, self._job.name, rank, "cancelled")
                for worker, rank in workers
            )
        )
        if self._deadline is None:
            self._deadline = _now() + ENDING_SECONDS
            await self._tell("the run was cancelled", 2.0)
        silent = self._silent()
        ending = [task for rank, task in self._tasks.items() if rank not in silent]
        if ending:
            await asyncio.wait(ending, timeout=max(0.0, self._deadline - _now()))
        await self._kill([rank for rank, task in self._tasks.items() if not task.done()])

    async def _kill(self, ranks: Iterable[int]) -> None:
        """End processes that this client has started: others are started in their place."""
        workers = {self._workers[rank] for rank in ranks}
        if self._end_worker is None or not workers:
            return
        for worker in workers:
            self._end_worker(worker)
        deadline = _now() + RESTART_SECONDS
        with contextlib.suppress(WorkerError):
            while _now() < deadline and workers & await self._find_workers():
                await asyncio.sleep(0.05)


async def _value(future: Any) -> Any:
    """What a task returned, or the error that it ended with."""
    try:
        return await future
    except asyncio.CancelledError as error:
        if future.status == "cancelled":
            return error
        raise
    except Exception as error:
        return error


def _now() -> float:
    return asyncio.get_running_loop().time()
