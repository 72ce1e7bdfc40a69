"""What a run is told: memory, threads, streams, device, checkpoints, trace."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from penstock.config import memory_budget, thread_count
from penstock.engine.checkpoint import Schedule
from penstock.errors import OptionError
from penstock.progress import Progress, Silent
from penstock.stream.policy import POLICIES

DeviceName = Literal["cpu", "reference"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What every algorithm takes besides its own parameters."""

    #: Bytes the run may hold beyond the interpreter and its libraries.
    memory: int
    threads: int
    #: Pages on their way at once; None: twice the threads, or fewer if memory is short.
    streams: int | None = None
    device: DeviceName = "cpu"
    #: Which pages stay in memory, if not all can: see :mod:`penstock.stream.policy`.
    cache: str = "lru"
    #: Pages that stay at most; None: as many as memory allows.
    cache_pages: int | None = None
    #: False: pages are streamed even if they would all fit.
    load: bool = True
    checkpoint: Path | None = None
    checkpoint_every: Schedule = Schedule(every_seconds=60.0)  # noqa: RUF009
    resume: bool = False
    #: Where the timeline goes, in Chrome's trace format.
    trace: Path | None = None
    tmpdir: Path | None = None
    progress: Progress = Silent()  # noqa: RUF009

    @classmethod
    def of(cls, **given: Any) -> RunOptions:
        """From what a user gives; see :data:`OPTION_NAMES`."""
        unknown = sorted(set(given) - set(OPTION_NAMES))
        if unknown:
            raise OptionError(
                f"{unknown[0]}: not an option; there are {', '.join(OPTION_NAMES)} "
                "besides the algorithm's own"
            )
        every = given.get("checkpoint_every")
        options = cls(
            memory=memory_budget(given.get("memory")),
            threads=thread_count(given.get("threads")),
            streams=given.get("streams"),
            device=_device(given.get("devices")),
            cache=given.get("cache") or "lru",
            cache_pages=given.get("cache_pages"),
            load=given.get("load", True) is not False,
            checkpoint=_path(given.get("checkpoint")),
            resume=bool(given.get("resume")),
            trace=_path(given.get("trace")),
            tmpdir=_path(given.get("tmpdir")),
            progress=given.get("progress") or Silent(),
            **({} if every is None else {"checkpoint_every": Schedule.parse(str(every))}),
        )
        options.check()
        return options

    def check(self) -> None:
        """Raise an OptionError for what cannot be."""
        if self.cache not in POLICIES:
            raise OptionError(f"cache: expected one of {', '.join(POLICIES)}; got {self.cache!r}")
        if self.streams is not None and self.streams < 1:
            raise OptionError(f"streams: expected at least 1, got {self.streams}")
        if self.cache_pages is not None and self.cache_pages < 0:
            raise OptionError(f"cache_pages: expected at least 0, got {self.cache_pages}")
        if self.resume and self.checkpoint is None:
            raise OptionError(
                "resume: there is no checkpoint folder to go on from; give checkpoint="
            )


#: The names that every algorithm takes.
OPTION_NAMES = (
    "memory", "threads", "streams", "devices", "cache", "cache_pages", "load", "checkpoint",
    "checkpoint_every", "resume", "trace", "tmpdir", "progress",
)  # fmt: skip


def _path(value: str | os.PathLike[str] | None) -> Path | None:
    return None if value is None else Path(value)


def _device(value: object) -> DeviceName:
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    names = get_args(DeviceName)
    if value is None:
        return "cpu"
    if value not in names:
        raise OptionError(f"devices: expected one of {', '.join(names)}; got {value!r}")
    return value  # type: ignore[return-value]
