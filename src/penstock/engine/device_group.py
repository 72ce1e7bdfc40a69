"""The devices of a run: who they are, which streams serve them, what they hold."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, cast

import numpy as np

from penstock.device.device import (
    Arrays,
    Change,
    Params,
    ProgramDevice,
    PushingDevice,
    Row,
)
from penstock.device.host import HostDevice
from penstock.device.signature import ProgramSignature
from penstock.device.spec import Device
from penstock.engine.dealing import DynamicScheduler, StaticScheduler
from penstock.engine.division import Shares
from penstock.engine.engine import Engine
from penstock.parallel import Workers
from penstock.stream.lists import Piece
from penstock.types import U8

#: How often one that waits for another device looks whether the work was stopped.
STOP_SECONDS = 0.1


def owners_of(streams: int, weights: Sequence[int]) -> list[int]:
    """The device of each stream: in order, in proportion to the weights, one at least each."""
    total, given = sum(weights), 0
    owners: list[int] = []
    for k, weight in enumerate(weights):
        given += weight
        upto = max(round(streams * given / total), len(owners) + 1)
        owners += [k] * (min(upto, streams - (len(weights) - 1 - k)) - len(owners))
    return owners


def _make_device(
    engine: Engine,
    signature: ProgramSignature,
    kernels: Any,
    spec: Device,
    streams: int,
    *,
    in_place: bool,
) -> ProgramDevice:
    if not spec.has_own_memory:
        return HostDevice(spec, kernels)
    from penstock.device.cuda.device import CudaDevice

    graph = engine.graph
    firsts = graph.page_table("out" if "out" in graph.directions else "in")["first_vid"]
    return CudaDevice(
        spec, signature, graph.num_vertices, firsts.astype(np.uint32), streams, in_place=in_place
    )


class DeviceGroup:
    """One device or several that work on one program. A context manager: leaving it frees them.

    Streams of devices that can do more than pull come first: they are the *host*.
    """

    def __init__(
        self,
        engine: Engine,
        signature: ProgramSignature,
        kernels: Any,
        shares: Shares,
        *,
        in_place: bool,
    ) -> None:
        specs = engine.options.devices
        self._owners = owners_of(engine.workers.count, [spec.threads or 1 for spec in specs])
        self.devices: list[ProgramDevice] = []
        try:
            for k, spec in enumerate(specs):
                streams = self._owners.count(k)
                made = _make_device(engine, signature, kernels, spec, streams, in_place=in_place)
                self.devices.append(made)
        except BaseException:
            self.__exit__()
            raise
        self._places = [k - self._owners.index(owner) for k, owner in enumerate(self._owners)]
        engine.slowdowns = [specs[owner].slowdown for owner in self._owners]
        self.shares = shares
        self._workers = engine.workers
        self._in_place = in_place
        self._gathered: Arrays = ()
        #: What has changed since devices with memory of their own were told; None: everything.
        self._changes: list[Change] | None = None
        self._seen = [0] * len(self.devices)
        self._lock = threading.Lock()
        host = sum(not spec.pulls_only for spec in specs)
        self.host_streams = sum(owner < host for owner in self._owners)
        #: Whether some devices only pull and others need not.
        self.is_mixed = 0 < host < len(specs)
        kinds = {(spec.kind, spec.threads, spec.slowdown, spec.only_pulls) for spec in specs}
        alike = len(kinds) == 1
        self.dealer: StaticScheduler | DynamicScheduler | None = None
        if self.shares.division == "S" or (alike and len(specs) > 1):
            to_all = self.shares.division == "S"
            self.dealer = StaticScheduler(self._owners, self._has, to_all=to_all)
        elif len(specs) > 1 or specs[0].has_own_memory:
            self.dealer = DynamicScheduler(len(self._owners), self._has)

    def __enter__(self) -> DeviceGroup:
        return self

    def __exit__(self, *error: object) -> None:
        with ExitStack() as stack:  # all of them, whatever one says
            for device in self.devices:
                stack.callback(device.close)

    # Who

    @property
    def has_own_memory(self) -> bool:
        """Whether some device must be told what changes."""
        return any(device.spec.has_own_memory for device in self.devices)

    @property
    def all_push(self) -> bool:
        """Whether values are pushed on the devices, because there is no other."""
        return all(device.spec.has_own_memory for device in self.devices)

    @property
    def can_push(self) -> bool:
        """Whether values can be pushed: on the host, or on devices that all know how."""
        on_devices = self.all_push and all(device.can_push for device in self.pushers())
        return self.host_streams > 0 or on_devices

    def pushers(self) -> list[PushingDevice]:
        """The devices, if all of them push."""
        return [cast("PushingDevice", device) for device in self.devices]

    def place(self, stream: int) -> int:
        """The number that a stream has among those of its device."""
        return self._places[stream]

    def number(self, stream: int) -> int:
        """Which device a stream serves."""
        return self._owners[stream]

    def _has(self, stream: int, piece: Piece) -> bool:
        return self.devices[self._owners[stream]].has(piece)

    def host_alone(self, *, alone: bool) -> None:
        """Whether only the host's streams take part from now on."""
        count = self.host_streams if alone else len(self._owners)
        self._workers.at_once = count
        if isinstance(self.dealer, DynamicScheduler):
            self.dealer.streams = range(count)

    # Values

    def hold(self, low: int, gathered: Arrays) -> None:
        """All devices gather from the same values."""
        changes = self._changes if low == 0 and self.shares.ranges == 1 else None
        for k, device in enumerate(self.devices):
            device.hold(low, gathered, changes)
            self._seen[k] = 0
        self._gathered = gathered
        self._changes = []

    def hold_parts(self, parts: Sequence[tuple[int, Arrays]]) -> None:
        """Each device gathers from values of its own."""
        for device, (low, gathered) in zip(self.devices, parts, strict=False):
            device.hold(low, gathered, None)

    def forget(self) -> None:
        """All values may have changed."""
        self._changes = None

    def changed(self, begin: int, end: int, writer: ProgramDevice | None = None) -> None:
        """Vertices have new values."""
        if self._changes is not None and self.has_own_memory:
            with self._lock:
                self._changes.append(Change(begin, end, writer))

    def facts(self) -> dict[str, Any]:
        """For the result's stats."""
        return {
            "devices": [device.spec.name for device in self.devices],
            "division": self.shares.division,
            "device_ranges": self.shares.ranges,
            "held_bytes": [device.held_bytes for device in self.devices],
        }

    # Work

    def pull(
        self, stream: int, piece: Piece, base: int, local: Arrays, new: Arrays, active: U8,
        params: Params,
    ) -> Row:  # fmt: skip
        """Gather over whole lists and apply, on the device that the stream serves."""
        number = self._owners[stream]
        device = self.devices[number]
        if self._in_place and device.spec.has_own_memory:
            self._tell(number, device)
        place = self._places[stream]
        found = device.pull(place, piece, base, local, new, active, params)
        self.changed(piece.begin, piece.end, device)
        return found

    def _tell(self, number: int, device: ProgramDevice) -> None:
        """What others have changed in place since the device last heard of it."""
        with self._lock:
            assert self._changes is not None
            news = [each for each in self._changes[self._seen[number] :] if each.writer != device]
            self._seen[number] = len(self._changes)
            if news:
                device.hold(0, self._gathered, news)

    def accumulate(
        self, stream: int, piece: Piece, base: int, at: int, local: Arrays, sums: Any,
        params: Params,
    ) -> None:  # fmt: skip
        """Gather, going on with accumulators, on the device that the stream serves."""
        device = self.devices[self._owners[stream]]
        device.accumulate(self._places[stream], piece, base, at, local, sums, params)


class Relay:
    """Passes the accumulators of a piece from device to device, in their order."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._turns: dict[tuple[int, int], int] = {}
        self._changed = threading.Condition()

    def wait(self, piece: Piece, device: int) -> bool:
        """Whether it is the device's turn; False if the work was stopped instead."""
        key = piece.page, piece.begin

        def ready() -> bool:
            return self._turns.get(key, 0) == device

        with self._changed:
            # What stops the workers knows nothing of those that wait here.
            while not self._changed.wait_for(ready, STOP_SECONDS):
                if self._workers.stopping:
                    return False
        return True

    def pass_on(self, piece: Piece) -> None:
        """The next device goes on."""
        key = piece.page, piece.begin
        with self._changed:
            self._turns[key] = self._turns.get(key, 0) + 1
            self._changed.notify_all()
