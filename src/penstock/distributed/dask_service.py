"""A Dask scheduler and Dask workers as processes that serve until they are told to end.

Workers are configured for ranks: Dask's memory manager is off, because it would pause workers for
memory that it does not manage; they run one task at a time; and they open no other ports than those
of their connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from distributed import Nanny, Scheduler, rpc

from penstock.distributed import dask_preload
from penstock.distributed.addresses import check_address, check_place
from penstock.distributed.dask_local import RANK_ENVIRONMENT
from penstock.distributed.dask_security import make_security
from penstock.distributed.rank_limits import RankLimits, limits_as_environment
from penstock.distributed.tls import Tls
from penstock.errors import OptionError, WorkerError
from penstock.process import stops_call

#: Seconds between attempts to reach a scheduler, seconds for its answer, and how often it may fail
#: to answer.
_PAUSE_SECONDS, _ANSWER_SECONDS, _FAILURES = 1.0, 10.0, 3
#: Seconds for a service to end.
_END_SECONDS = 6.0
#: The address of Dask's HTTP pages: this machine only.
_PAGES = "127.0.0.1:0"
_CONFIG = {
    "distributed.worker.use-file-locking": False,
    # A worker whose scheduler ends logs that its last heartbeat failed; its nanny reports the rest.
    "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical",
}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How a worker is set up."""

    #: Of the scheduler.
    address: str
    tls: Tls | None = None
    insecure: bool = False
    #: The address to listen on; None: that on the route to the scheduler.
    host: str | None = None
    #: What its ranks may use.
    limits: RankLimits = RankLimits()  # noqa: RUF009
    #: Where Dask keeps its files.
    scratch: Path | None = None
    name: str | None = None


def run_scheduler(
    host: str,
    port: int,
    *,
    tls: Tls | None,
    insecure: bool,
    say: Say,
    until_input_ends: bool = False,
) -> None:
    """Serve as a scheduler until a signal arrives; ``say`` receives its address."""
    protocol = "tcp" if tls is None else "tls"
    place = f"[{host}]" if ":" in host else host
    check_address(f"{protocol}://{place}:{port}", insecure=insecure)

    async def serve(ended: asyncio.Event) -> None:
        try:
            scheduler = await Scheduler(
                host=place, port=port, protocol=f"{protocol}://", security=make_security(tls),
                dashboard=False, dashboard_address=_PAGES,
            )  # fmt: skip
        except (OSError, RuntimeError) as error:
            text = f"scheduler: cannot listen on {place}:{port}: {_first_cause(error)}"
            raise WorkerError(text) from None
        say(scheduler.address)
        await _first(scheduler.finished(), ended)
        await _close(scheduler)

    _serve(serve, until_input_ends=until_input_ends)


def run_worker(
    settings: WorkerSettings, *, say: Say, wait: Say, until_input_ends: bool = False
) -> None:
    """Serve as a worker until the scheduler ends or a signal arrives; ``say`` receives its address,
    and ``wait`` what it waits for.
    """
    s = settings
    check_place(s.address)
    check_address(s.address, insecure=s.insecure)
    encrypted = s.address.startswith("tls://")
    if encrypted and s.tls is None:
        raise OptionError(f"tls: {s.address} needs certificates; give --tls DIR")
    if s.host is not None and not encrypted:
        check_address(s.host, insecure=s.insecure)

    async def serve(ended: asyncio.Event) -> None:
        if await _first(_reach(s, wait), ended) is None:
            return
        nanny = _make_nanny(s)
        try:
            if await _first(nanny.start(), ended) is not None:
                say(nanny.worker_address)
                await _first(_end_of(nanny, s), ended)
        except (OSError, RuntimeError) as error:
            text = f"worker: cannot join {s.address}: {_first_cause(error)}"
            raise WorkerError(text) from None
        finally:
            await _close(nanny)

    _serve(serve, until_input_ends=until_input_ends)


def _make_nanny(s: WorkerSettings) -> Any:
    return Nanny(
        s.address,
        nthreads=1,
        memory_limit=0,
        name=s.name,
        host=s.host,
        security=make_security(s.tls),
        local_directory=None if s.scratch is None else str(s.scratch),
        dashboard=False,
        dashboard_address=_PAGES,
        env={**RANK_ENVIRONMENT, **limits_as_environment(s.limits)},
        preload=[dask_preload.NAME, *dask.config.get("distributed.worker.preload")],
    )


async def _reach(s: WorkerSettings, wait: Say) -> None:
    """Return when the scheduler answers; report once that there is none yet."""
    said = False
    while True:
        asking = asyncio.ensure_future(_ask(s))
        try:
            done, _ = await asyncio.wait([asking], timeout=_PAUSE_SECONDS)
            if not (done or said):
                said = True
                wait(f"waiting for a scheduler at {s.address}")
            await asking
            return
        except (OSError, TimeoutError) as error:
            if _is_refusal(error):
                text = f"worker: {s.address} refuses these certificates: {_first_cause(error)}"
                raise WorkerError(text) from None
        finally:
            asking.cancel()
        await asyncio.sleep(_PAUSE_SECONDS / 2)


async def _ask(s: WorkerSettings) -> None:
    security = make_security(s.tls)
    arguments = {} if security is None else security.get_connection_args("worker")
    async with asyncio.timeout(_ANSWER_SECONDS), rpc(s.address, connection_args=arguments) as there:
        await there.echo(data=1)


async def _end_of(nanny: Any, s: WorkerSettings) -> None:
    """Return when the worker has been told to end; raise if the scheduler is gone. Dask's workers
    would wait for it.
    """
    failures = 0
    while failures < _FAILURES:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_SECONDS):
                await nanny.finished()
                return
        try:
            await _ask(s)
            failures = 0
        except (OSError, TimeoutError):
            failures += 1
    raise WorkerError(f"worker: the scheduler at {s.address} is gone")


def _is_refusal(error: BaseException) -> bool:
    """Whether a connection failed because of its certificates, so that waiting does not help."""
    return any(
        "ssl" in type(each).__name__.lower() or "tls" in str(each).lower()
        for each in _causes(error)
    )


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in found:
        found.append(each)
        each = each.__cause__ or each.__context__
    return found


def _first_cause(error: BaseException) -> str:
    return next(str(each) for each in [*_causes(error)[::-1], error] if str(each) or each is error)


def _serve(serve: Callable[[asyncio.Event], Awaitable[None]], *, until_input_ends: bool) -> None:
    """Run a service until it ends, a signal arrives, or the input ends."""

    async def main() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def end() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
                loop.call_soon_threadsafe(ended.set)

        def read() -> None:
            while os.read(0, 1 << 16):
                pass
            end()

        if until_input_ends:
            threading.Thread(target=read, daemon=True).start()
        with stops_call(end):
            await serve(ended)

    logging.getLogger("distributed").setLevel(logging.WARNING)
    with dask.config.set(_CONFIG):
        asyncio.run(main())


async def _close(service: Any) -> None:
    with contextlib.suppress(OSError, TimeoutError, RuntimeError, AssertionError):
        async with asyncio.timeout(_END_SECONDS):
            await service.close()


async def _first(work: Awaitable[Any], ended: asyncio.Event) -> bool | None:
    """Wait for some work; None if the service ended before."""
    task, end = asyncio.ensure_future(work), asyncio.ensure_future(ended.wait())
    await asyncio.wait([task, end], return_when=asyncio.FIRST_COMPLETED)
    end.cancel()
    if task.done():
        task.result()
        return True
    task.cancel()
    await asyncio.wait([task], timeout=_END_SECONDS)
    return None
