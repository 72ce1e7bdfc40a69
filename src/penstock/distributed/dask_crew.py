"""Ranks on the workers of a Dask cluster, which is started for the purpose or exists already.

Dask starts, monitors and restarts the workers. A run is one task on each of them, all at once: each
is pinned to its worker and never retried, so that a rank is where it was sent or nowhere. Every
wait has a deadline.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from types import TracebackType
from typing import Any

import dask
from distributed import Client
from distributed.comm.addressing import get_address_host

from penstock.distributed.addresses import check_address
from penstock.distributed.dashboards import is_dashboard
from penstock.distributed.dask_gang import Gang, RunFailed, ask, scheduler_gone
from penstock.distributed.dask_local import end_worker, start_cluster
from penstock.distributed.dask_peers import CONNECT_SECONDS, PATIENCE
from penstock.distributed.dask_rank import TOPIC, Job, describe_worker
from penstock.distributed.losses import Loss, RankLostError
from penstock.errors import OptionError, WorkerError

#: Seconds to wait for workers that are restarted, before a run goes on without them.
RETURN_SECONDS = 4.0
#: Seconds for the workers of this machine to start.
START_SECONDS = 60.0
#: Seconds for a worker to answer.
PING_SECONDS = 3.0
#: Seconds to wait for a scheduler to answer.
ANSWER_SECONDS = 10.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Expected:
    """Workers that are expected to join."""

    names: Sequence[str]
    seconds: float
    #: Raises if one cannot join.
    check: Callable[[], None]


class DaskCrew:
    """The workers of a cluster as ranks: see :meth:`local` and :meth:`connect`.

    Parameters
    ----------
    client
        A client of the cluster.
    cluster
        The cluster, if the crew is to close it.
    threads
        Threads for each rank; None: its share of the machine.
    patience
        Seconds of silence after which a rank counts as lost.
    begin_seconds
        Seconds in which all ranks must begin.
    insecure
        Whether ranks may listen beyond this machine without encryption.
    end_worker
        Ends the process of a worker that does not answer, if others are started in their place.
    """

    def __init__(
        self,
        client: Any,
        *,
        cluster: Any = None,
        owns_client: bool = False,
        threads: int | None = None,
        patience: float = PATIENCE,
        begin_seconds: float = CONNECT_SECONDS,
        insecure: bool = False,
        expected: Expected | None = None,
        end_worker: Callable[[str], None] | None = None,
    ) -> None:
        if client.asynchronous:
            raise OptionError("hosts: the Dask client is asynchronous; a synchronous one is needed")
        self._client = client
        self._cluster = cluster
        self._owns_client = owns_client
        self._threads = threads
        self._patience = patience
        self._begin_seconds = begin_seconds
        self._insecure = insecure
        self._end_worker = end_worker
        self._name = uuid.uuid4().hex
        self._epoch = 0
        self._workers: list[str] = []
        #: Workers that are no longer used, and how often other ranks have missed each worker.
        self._dropped: set[str] = set()
        self._missed: Counter[str] = Counter()
        if expected is not None:
            self._sync(self._wait_for_names, expected)
        self._workers = self._sync(self._find_workers, 1)
        #: The intended number of ranks.
        self._wanted = self.size
        if not self._workers:
            raise WorkerError(f"the Dask cluster {self._where()} has no workers")
        self._check_workers()

    @classmethod
    def local(
        cls, count: int, threads: int | None = None, *, security: Any = None, **options: Any
    ) -> DaskCrew:
        """Ranks on this machine, each a process; reachable on loopback only."""
        cluster = start_cluster(count, security)
        client = None
        try:
            client = Client(
                cluster, security=security, set_as_default=False, direct_to_workers=True
            )
            client.wait_for_workers(count, timeout=START_SECONDS)
            share = max(1, len(os.sched_getaffinity(0)) // count)
            return cls(
                client, cluster=cluster, owns_client=True, threads=threads or share,
                end_worker=partial(end_worker, cluster), **options,
            )  # fmt: skip
        except BaseException:
            if client is not None:
                client.close()
            cluster.close()
            raise

    @classmethod
    def connect(
        cls,
        where: Any,
        *,
        security: Any = None,
        insecure: bool = False,
        threads: int | None = None,
        **options: Any,
    ) -> DaskCrew:
        """Ranks on the workers of an existing cluster, given its address or a client."""
        address = where if isinstance(where, str) else where.scheduler.address
        check_address(address, insecure=insecure)
        options["insecure"] = insecure
        if not isinstance(where, str):
            return cls(where, threads=threads, **options)
        if address.startswith("tls://") and security is None and _certificates() is None:
            raise OptionError(
                f"hosts: {address} needs certificates; give tls= or security= (--tls DIR)"
            )
        try:
            client = Client(
                address, security=security, timeout=ANSWER_SECONDS, set_as_default=False
            )
        except (OSError, TypeError) as error:
            raise WorkerError(f"there is no Dask scheduler at {address}: {error}") from None
        try:
            return cls(client, owns_client=True, threads=threads, **options)
        except BaseException:
            client.close()
            raise

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self._workers)

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        heard: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
        """``function(peers, *args)`` on all ranks at once; what each returned. ``heard`` is called
        with what the first rank passes to ``peers.tell``, in the thread of the Dask client.

        Raises
        ------
        WorkerError
            A worker is gone, frozen or cannot be reached. What the function raises on a rank is
            raised unchanged, with the rank in a note; if several ranks raise, the first error is.
        """
        self._epoch += 1
        job = Job(
            name=f"{self._name}-{self._epoch}",
            secret=secrets.token_hex(32),
            epoch=self._epoch,
            size=self.size,
            patience=self._patience,
            begin_seconds=self._begin_seconds,
            insecure=self._insecure,
            is_heard=heard is not None,
        )
        self._workers = self._sync(self._find_workers, self.size)
        self._check_workers()
        gang = Gang(self._client, job, self._workers, end_worker=self._end_worker)
        try:
            with self._hearing(job.name, heard):
                outcomes = self._sync(gang.run, function, args)
        except RunFailed as failed:
            if isinstance(failed.cause, RankLostError):
                self._missed.update(gang.worker_of(each.rank) for each in failed.cause.lost)
            raise failed.cause from None
        except KeyboardInterrupt:
            self._sync(gang.wait_ended)
            raise
        return [outcome.value for outcome in outcomes]

    def recover(self) -> int:
        """After a loss, take the workers that are left, after a short wait for those that are
        restarted; returns how many ranks there are now.
        """
        self._workers = self._sync(self._find_survivors)
        return self.size

    @contextmanager
    def _hearing(self, name: str, heard: Callable[[list[Any]], None] | None) -> Iterator[None]:
        if heard is None:
            yield
            return

        def handle(event: tuple[float, Any]) -> None:
            try:
                job, message = event[1]
                if job == name:
                    heard(message)
            except Exception:  # it would end the client's connection to the scheduler
                _log.exception("a message of a rank could not be shown")

        self._client.subscribe_topic(TOPIC, handle)
        try:
            yield
        finally:
            if self._client.status == "running":  # else the cause is raised
                self._client.unsubscribe_topic(TOPIC)

    @cached_property
    def dashboard(self) -> str | None:
        """The address of Dask's dashboard, if the cluster has one; clusters started here do not."""
        if self._cluster is not None:
            return None
        try:
            link: str | None = self._client.dashboard_link
        except (KeyError, OSError):  # Dask raises this if there is none
            return None
        return link if link and is_dashboard(link) else None

    def describe(self) -> list[dict[str, Any]]:
        """Of each rank: where it is, and what its machine has."""

        async def look() -> list[dict[str, Any]]:
            found = await ask(self._client, describe_worker, self._workers, ANSWER_SECONDS)
            missing = [worker for worker in self._workers if worker not in found]
            if missing:
                raise WorkerError(f"workers do not answer: {', '.join(missing)}")
            return [found[worker] for worker in self._workers]

        self._workers = self._sync(self._find_workers, self.size)
        machines = self._sync(look)
        hosts = [machine["host"] for machine in machines]
        link = {} if self.dashboard is None else {"dashboard": self.dashboard}
        return [
            {
                "rank": rank,
                "host": machine["host"],
                "address": worker,
                "pid": machine["pid"],
                "memory_bytes": machine["memory_bytes"],
                "threads": self._threads
                or machine["threads"]
                or max(1, machine["processors"] // hosts.count(machine["host"])),
                **link,
            }
            for rank, (worker, machine) in enumerate(zip(self._workers, machines, strict=True))
        ]

    def close(self) -> None:
        """End what this crew has started."""
        if self._owns_client:
            self._client.close(timeout=ANSWER_SECONDS)
        if self._cluster is not None:
            self._cluster.close(timeout=ANSWER_SECONDS)

    def __enter__(self) -> DaskCrew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _where(self) -> str:
        return f"at {self._client.scheduler.address}" if self._client.scheduler else "(closed)"

    def _check_workers(self) -> None:
        """Raise for workers whose ranks could be reached by others, and if there are none."""
        if not self._workers:
            raise WorkerError(f"the Dask cluster {self._where()} has no workers")
        for address in self._workers:
            check_address(address, insecure=self._insecure)

    async def _wait_for_names(self, expected: Expected) -> None:
        """Wait for workers by their names."""
        deadline = asyncio.get_running_loop().time() + expected.seconds
        while True:
            identity = await self._client.scheduler.identity()
            there = {str(worker["name"]) for worker in identity["workers"].values()}
            missing = [name for name in expected.names if name not in there]
            if not missing:
                return
            await asyncio.get_running_loop().run_in_executor(None, expected.check)
            if asyncio.get_running_loop().time() > deadline:
                raise WorkerError(
                    f"hosts: {', '.join(missing)} did not join within {expected.seconds:.0f} "
                    "seconds"
                )
            await asyncio.sleep(0.1)

    def _sync(self, function: Callable[..., Any], *args: Any) -> Any:
        if self._client.status not in ("running", "connecting"):
            raise WorkerError(
                "the Dask client is closed, or its scheduler is gone; open hosts again, and call "
                "again"
            )
        return self._client.sync(function, *args)

    async def _find_workers(self, count: int) -> list[str]:
        """The workers by rank, at least ``count``: those that were there keep their ranks, and new
        ones replace those that are gone.
        """
        there = await self._wait_for(count)
        if len(there) < count:
            gone = [
                Loss(rank, get_address_host(worker), 0, "its worker is gone")
                for rank, worker in enumerate(self._workers)
                if worker not in there
            ]
            raise RankLostError(
                f"{count} workers are needed and {len(there)} are there, after "
                f"{RETURN_SECONDS:.0f} seconds",
                gone,
            )
        if not self._workers:
            return there
        new = iter([worker for worker in there if worker not in self._workers])
        found = [worker if worker in there else next(new) for worker in self._workers]
        return [*found, *new][: max(self._wanted, len(found))]

    async def _wait_for(self, count: int) -> list[str]:
        """The workers, as soon as there are ``count`` of them, or after a while."""
        deadline = asyncio.get_running_loop().time() + RETURN_SECONDS
        while True:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    there = set(await self._client.nthreads()) - self._dropped
            except OSError as error:
                raise scheduler_gone(repr(error)) from None
            if len(there) >= count or asyncio.get_running_loop().time() > deadline:
                return sorted(there)
            await asyncio.sleep(0.1)

    async def _find_survivors(self) -> list[str]:
        """The workers that answer, by rank. One that others have missed twice is left out if there
        are others: the network between them does not work.
        """
        there = await self._wait_for(self._wanted)
        answers = await ask(self._client, describe_worker, there, PING_SECONDS)
        self._dropped |= set(there) - set(answers)
        alive = [worker for worker in there if worker in answers]
        good = [worker for worker in alive if self._missed[worker] < 2]
        if not alive:
            raise WorkerError(f"the Dask cluster {self._where()} has no workers left that answer")
        if good:
            self._dropped |= set(alive) - set(good)
        stay = [worker for worker in self._workers if worker in (good or alive)]
        return [*stay, *(worker for worker in good if worker not in stay)][: self._wanted]


def _certificates() -> Any:
    """The authority that Dask's own configuration names."""
    return dask.config.get("distributed.comm.tls.ca-file", None)
