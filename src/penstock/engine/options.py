"""What a run is told: memory, threads, streams, device, checkpoints, trace."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from penstock.config import memory_budget, thread_count
from penstock.device.spec import Device, parse_devices
from penstock.engine.checkpoint import Schedule, refuse_unfinished
from penstock.engine.peers import ALONE, Peers
from penstock.errors import OptionError
from penstock.files import check_target
from penstock.progress import Progress, Silent
from penstock.stream.policy import POLICIES

if TYPE_CHECKING:
    from penstock.engine.epoch_files import EpochOptions
    from penstock.engine.pace import Balance

#: How several devices divide the work. "P": all have all values that lists are gathered from, and
#: each page goes to one of them. "S": they divide the values, and each page goes to all of them.
#: Over hosts, "S3" is S in three rows.
Division = Literal["auto", "P", "S"]

#: When the host works alone. "time": if that is predicted to take the least time. "alpha": by
#: Garaph's rule.
DispatchRule = Literal["time", "alpha"]

#: Host threads that serve a GPU, each with a stream of its own.
GPU_STREAMS = 4


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What every algorithm takes besides its own parameters."""

    #: Bytes the run may hold beyond the interpreter and its libraries.
    memory: int
    threads: int
    #: Pages on their way at once; None: twice the threads, or fewer if memory is short.
    streams: int | None = None
    #: Those that only gather whole pages come last.
    devices: tuple[Device, ...] = (Device(),)
    division: str = "auto"
    dispatch: DispatchRule = "time"
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
    #: Replace a trace that is there, and start again where an unfinished run left a checkpoint.
    overwrite: bool = False
    progress: Progress = Silent()  # noqa: RUF009
    #: The ranks that run this together; none but this one unless it runs over several hosts.
    peers: Peers = ALONE
    #: The rank of each stripe of pages; none if every rank can read all. See :attr:`page_ranks`.
    dealt: tuple[int, ...] = ()
    #: Threads that plans count with: those of the rank that has most, so that ranks plan alike;
    #: None: :attr:`threads`.
    planned_threads: int | None = None
    #: How these ranks save their state; None: as ``checkpoint`` says.
    epochs: EpochOptions | None = None
    #: What gives pages of a slow rank to others; None: pages stay where they are.
    balance: Balance | None = None

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
        devices = _with_threads(parse_devices(given.get("devices")), given.get("threads"))
        threads, streams = sum(device.threads or 1 for device in devices), given.get("streams")
        if streams is None and any(device.has_own_memory for device in devices):
            streams = threads  # a GPU's streams are its own
        options = cls(
            memory=memory_budget(given.get("memory")),
            threads=threads,
            streams=streams,
            devices=devices,
            division=given.get("division") or "auto",
            dispatch=given.get("dispatch") or "time",
            cache=given.get("cache") or "lru",
            cache_pages=given.get("cache_pages"),
            load=given.get("load", True) is not False,
            checkpoint=_path(given.get("checkpoint")),
            resume=bool(given.get("resume")),
            trace=_path(given.get("trace")),
            tmpdir=_path(given.get("tmpdir")),
            overwrite=bool(given.get("overwrite")),
            progress=given.get("progress") or Silent(),
        )
        if every is not None:
            options = replace(options, checkpoint_every=Schedule.parse(str(every)))
        options.check()
        options.check_targets()
        return options

    @property
    def over_hosts(self) -> bool:
        """Whether ranks run this, by the methods that any number of them has in common: one rank
        may go on with what several have begun.
        """
        return self.peers.size > 1 or self.epochs is not None

    @property
    def page_ranks(self) -> tuple[int, ...]:
        """The ranks that pages belong to in turn: page j to number ``j % len(page_ranks)``."""
        return self.dealt or tuple(range(self.peers.size))

    @property
    def on_plain_cpu(self) -> bool:
        """Whether one CPU of one host does all the work, as it likes."""
        return not self.over_hosts and self.runs_loops

    @property
    def runs_loops(self) -> bool:
        """Whether CPUs run loops over the verbs: one each, of one host or of several."""
        return [replace(device, threads=None) for device in self.devices] == [Device()]

    @property
    def rows_asked(self) -> bool:
        """Whether the division says in how many rows hosts stand."""
        return self.division[:1] == "S" and self.division[1:].isdigit() and self.division[1] != "0"

    def check(self) -> None:
        """Raise an OptionError for what cannot be."""
        if self.division not in get_args(Division) and not self.rows_asked:
            raise OptionError(
                f"division: expected auto, P or S, or over hosts S and the number of rows, as in "
                f"S2; got {self.division!r}"
            )
        if self.dispatch not in get_args(DispatchRule):
            raise OptionError(f"dispatch: expected time or alpha; got {self.dispatch!r}")
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

    def check_targets(self) -> None:
        """Raise if something is in the way of what the run will write."""
        if self.trace is not None:
            check_target(self.trace, overwrite=self.overwrite)
        if self.checkpoint is not None and not (self.resume or self.overwrite):
            refuse_unfinished(self.checkpoint)


#: The names that every algorithm takes.
OPTION_NAMES = (
    "memory", "threads", "streams", "devices", "division", "dispatch", "cache", "cache_pages",
    "load", "checkpoint", "checkpoint_every", "resume", "trace", "tmpdir", "overwrite",
    "progress",
)  # fmt: skip


def _path(value: str | os.PathLike[str] | None) -> Path | None:
    return None if value is None else Path(value)


def _with_threads(devices: tuple[Device, ...], asked: object) -> tuple[Device, ...]:
    """Each device with the host threads that serve it; CPU devices that say nothing divide those
    of the run.
    """
    total = thread_count(asked)  # type: ignore[arg-type]
    sharing = sum(not device.has_own_memory and device.threads is None for device in devices)
    found = []
    for device in devices:
        threads = device.threads or max(total // max(sharing, 1), 1)
        if device.has_own_memory:
            threads = device.streams or GPU_STREAMS
        found.append(replace(device, threads=threads))
    return tuple(sorted(found, key=lambda device: device.pulls_only))
