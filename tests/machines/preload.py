"""Loaded by Dask workers of the tests: how far a run has come can be seen from outside, and the run
takes longer. From the environment come the folder of the counters, the pause at each exchange, and
the seconds without a client after which a rank ends.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import struct
import time
from pathlib import Path
from typing import Any

from penstock.distributed import dask_rank
from penstock.distributed.dask_peers import CommPeers

COUNTERS = "PENSTOCK_TEST_COUNTERS"
PAUSE = "PENSTOCK_TEST_PAUSE"
LEASE = "PENSTOCK_TEST_LEASE"
_COUNT = struct.Struct("<q")


def counter_path(folder: Path, pid: int) -> Path:
    return folder / f"exchanges-{pid}"


def read_count(folder: Path, pid: int) -> int:
    """How many exchanges the ranks of a process have begun; 0 if it has had no rank."""
    try:
        return int(_COUNT.unpack(counter_path(folder, pid).read_bytes())[0])
    except (OSError, struct.error):
        return 0


def dask_setup(worker: Any) -> None:
    """Called by Dask when the worker begins."""
    faulthandler.register(signal.SIGUSR1)
    if LEASE in os.environ:
        dask_rank.LEASE_SECONDS = float(os.environ[LEASE])
    if COUNTERS not in os.environ:
        return
    path = counter_path(Path(os.environ[COUNTERS]), os.getpid())
    file = os.open(path, os.O_CREAT | os.O_RDWR)
    pause, count = float(os.environ.get(PAUSE, "0")), 0
    drain = CommPeers.drain

    def counted(self: CommPeers) -> Any:
        nonlocal count
        count += 1
        os.pwrite(file, _COUNT.pack(count), 0)
        if pause:
            time.sleep(pause)
        return drain(self)

    CommPeers.drain = counted  # type: ignore[method-assign]
