"""A Dask cluster on this machine, reachable on loopback only: a scheduler in this process, and a
process for each worker.

Workers are processes of a program of their own. Dask's ``LocalCluster`` would import the caller's
script in each of them, which fails if the script has no ``if __name__ == "__main__"``. A worker
that ends is replaced, on a new port; all end with the caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from distributed import Scheduler, Security, Worker
from distributed.deploy.spec import ProcessInterface, SpecCluster

#: Ranks run in threads that are not the first of their process. Large arrays come from one arena
#: for all threads, or they would be taken from the system again in each run. Dask's statistical
#: profiler would look at all threads a hundred times a second, for pages that no rank shows.
RANK_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
_log = logging.getLogger(__name__)
_HOST = "127.0.0.1"
#: A worker that ends sooner than this, in seconds, is replaced a few times only.
_BRIEF_SECONDS = 2.0
_MOST_BRIEF = 5
#: Seconds that a worker has to end when it is asked to.
_END_SECONDS = 3.0
_PR_SET_PDEATHSIG = 1


class LocalWorker(ProcessInterface):  # type: ignore[misc]
    """A process with a worker, replaced when it ends."""

    def __init__(
        self, scheduler: str, name: object = None, certificates: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(scheduler=scheduler, name=name)
        self._scheduler, self._name = scheduler, name
        self._certificates = json.dumps(dict(certificates or {})).encode()
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the process, and monitor it."""
        await self._launch()
        self._watcher = asyncio.create_task(self._watch())
        await super().start()

    async def _launch(self) -> None:
        paths = [os.path.abspath(path) for path in sys.path]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __name__, self._scheduler, str(self._name), str(os.getpid()),
            env={**os.environ, **RANK_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C goes to the caller only
        )  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write(self._certificates)
        self._process.stdin.close()

    async def _watch(self) -> None:
        clock, brief = asyncio.get_running_loop().time, 0
        while brief < _MOST_BRIEF:
            began = clock()
            assert self._process is not None
            if await self._process.wait() == 0:
                return  # it was told to end
            brief = brief + 1 if clock() - began < _BRIEF_SECONDS else 0
            try:
                await self._launch()
            except OSError as error:  # too many processes, or no memory: perhaps not for long
                _log.warning("a worker could not be started: %s", error)
                await asyncio.sleep(_BRIEF_SECONDS)

    def kill(self) -> None:
        """End the process at once; another is started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """End the process."""
        if self._watcher is not None:
            self._watcher.cancel()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await self._process.wait()
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await super().close()


def start_cluster(count: int, security: Any = None) -> SpecCluster:
    """A cluster of ``count`` workers, some of which may still be starting. ``security``: a
    ``distributed.Security``, whose certificates the workers use, too.
    """
    protocol, certificates = "tcp", {}
    if security is not None:
        protocol, role = "tls", security.get_tls_config_for_role("worker")
        certificates = {
            "tls_ca_file": role["ca_file"], "tls_worker_cert": role["cert"],
            "tls_worker_key": role["key"],
        }  # fmt: skip
    scheduler = {
        "host": _HOST, "protocol": protocol, "security": security,
        "dashboard": False, "dashboard_address": f"{_HOST}:0",
    }  # fmt: skip
    worker = {"cls": LocalWorker, "options": {"certificates": certificates}}
    return SpecCluster(
        scheduler={"cls": Scheduler, "options": scheduler},
        workers=dict.fromkeys(range(count), worker),
        security=security,
        silence_logs=logging.CRITICAL,
    )


def end_worker(cluster: SpecCluster, address: str) -> None:
    """End the process of a worker at once, if it is there; another is started."""
    state = cluster.scheduler.workers.get(address)
    if state is not None and state.name in cluster.workers:
        cluster.workers[state.name].kill()


async def _work(scheduler: str, name: str) -> None:
    certificates = json.load(sys.stdin)
    worker = Worker(
        scheduler, name=int(name), nthreads=1, host=_HOST,
        dashboard=False, dashboard_address=f"{_HOST}:0",
        security=Security(require_encryption=True, **certificates) if certificates else None,
        # Dask's memory manager would pause workers for memory that it does not manage.
        memory_limit=0, silence_logs=logging.CRITICAL,
    )  # fmt: skip
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with worker:
        both = [asyncio.create_task(each) for each in (ended.wait(), worker.finished())]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)


def main() -> None:
    """Run a worker until the scheduler or the process that started this one is gone."""
    scheduler, name, parent = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        return
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with contextlib.suppress(OSError, asyncio.CancelledError):
        asyncio.run(_work(scheduler, name))


if __name__ == "__main__":
    main()
