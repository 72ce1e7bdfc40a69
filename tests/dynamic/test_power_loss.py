"""Power goes at any moment: what was acknowledged is there afterwards, in order; what was not is
there whole or not at all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from disks import FaultyDisk, PowerLoss, full_disk, same
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.dynamic.folder import LiveFolder
from penstock.dynamic.folder_catalog import BaseRecord, LiveSchema
from penstock.dynamic.log import Log
from penstock.dynamic.log_reader import read_log
from penstock.errors import DiskSpaceError, FormatError, InputNotFoundError
from penstock.store.layout import Column

TAG = 1234567
SCHEMA = LiveSchema(vertex_columns=(Column("rank", np.dtype("<f8")),))


class History:
    """What was asked of a log, and what must be found in it."""

    def __init__(self) -> None:
        #: Batches in the order they were given to the log; refused ones are not.
        self.batches: list[list[np.ndarray]] = []
        #: How many of them must be there.
        self.safe = 0

    def check(self, found: list) -> None:
        assert self.safe <= len(found) <= len(self.batches)
        assert all(same(r.arrays, b) for r, b in zip(found, self.batches, strict=False))
        # What was found is what there is from now on.
        self.batches = self.batches[: len(found)]


class Life:
    """One process that works on the log, up to the moment the power goes."""

    def __init__(self, disk: FaultyDisk, policy: str, history: History, choice) -> None:
        self.disk, self.policy, self.history, self.choice = disk, policy, history, choice
        self.log: Log | None = None
        #: Batches the system must have, synced or not.
        self.acknowledged = history.safe

    def run(self, actions: list[str]) -> None:
        path, history = self.disk.root / "log", self.history
        if path.exists():
            reader = read_log(path, TAG, disk=self.disk)
            history.check(list(reader))
            self.log = Log.resume(reader.recovery, TAG, sync=self.policy, disk=self.disk)
            history.safe = len(history.batches)
        else:
            self.log = Log.create(path, TAG, sync=self.policy, disk=self.disk)
        for action in actions:
            if action == "append":
                self.append()
            elif action == "full":
                self.append_to_full_disk()
            else:
                self.log.flush()
                history.safe = len(history.batches)
        self.log.close()
        history.safe = len(history.batches)

    def append(self) -> None:
        history, sizes = self.history, self.choice.integers(0, 700, 2)
        history.batches.append([self.choice.integers(0, 9, size) for size in sizes])
        self.log.append(1, history.batches[-1])
        self.acknowledged = len(history.batches)
        if self.policy == "batch":
            history.safe = len(history.batches)

    def append_to_full_disk(self) -> None:
        def fault(step, what, path):
            if what == "write":
                self.disk.fault = None
                return full_disk()
            return None

        self.disk.fault = fault
        with pytest.raises(DiskSpaceError):
            self.log.append(1, [self.choice.integers(0, 9, 300)])

    def end(self) -> None:
        if self.log is not None:
            self.log.abandon()


lives = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["append", "append", "append", "flush", "full"]), max_size=6),
        st.integers(1, 40),
        st.integers(0, 2**32 - 1) | st.none(),
    ),
    min_size=1,
    max_size=4,
)


@given(lives, st.sampled_from(["batch", "never"]), st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_any_log_any_moment_any_remains(tmp_path_factory, lives, policy, seed):
    """Each life is cut off at one of its operations, and the next one has what remained: all of it
    if only the process was killed (``remains`` is None).
    """
    root = tmp_path_factory.mktemp("lives")
    (root / "0").mkdir()
    # The log itself is there; that its making may be cut off is a matter of the directory.
    Log.create(root / "0" / "log", TAG).abandon()
    disk, history, choice = FaultyDisk(root / "0"), History(), np.random.default_rng(seed)
    for number, (actions, moment, remains) in enumerate(lives, 1):
        if remains is None:
            disk.kill_at = disk.steps + moment
        else:
            disk.power_loss_at = disk.steps + moment
        life = Life(disk, policy, history, choice)
        try:
            life.run(actions)
        except PowerLoss:
            life.end()
        if remains is None:
            disk.next_process()
            assert len(list(read_log(disk.root / "log", TAG))) >= life.acknowledged
        else:
            disk = disk.crash(root / str(number), remains)
    history.check(list(read_log(disk.root / "log", TAG)))


def make_base(disk: FaultyDisk, path: Path, content: bytes) -> BaseRecord:
    """Stands for a static store: durable when this returns."""
    disk.make_folder(path)
    file = disk.create(path / "ids.npy")
    file.write(0, [memoryview(content)])
    file.sync()
    file.close()
    disk.sync_folder(path)
    disk.sync_folder(path.parent)
    return BaseRecord(path.name, 5, 3, len(content))


class LiveLife:
    """A graph whose batches are numbers: made, added to, compacted, added to, compacted while it is
    added to, and closed in the middle of a compaction; opened again, compacted, closed.

    Its base has the numbers up to the compaction, one a byte.
    """

    def __init__(self, disk: FaultyDisk) -> None:
        self.disk = disk
        self.acknowledged: list[int] = []
        self.asked: list[int] = []
        self.is_made = False
        self.folder: LiveFolder | None = None
        self.log: Log | None = None

    def run(self) -> None:
        path = self.disk.root / "graph"
        self.folder = LiveFolder.create(path, SCHEMA, disk=self.disk)
        self.is_made = True
        self.resume()
        self.add(1, 2)
        self.compact()
        self.add(3)
        self.compact(late=4)
        self.add(5)
        self.rotate()
        self.add(6)
        self.log.close()
        self.folder.close()
        self.folder = LiveFolder.open(path, disk=self.disk)
        self.resume()
        self.add(7)
        self.compact(late=8)
        self.add(9)
        self.log.close()
        self.folder.close()

    def resume(self) -> None:
        reader = self.folder.read_log()
        list(reader)
        assert contents(self.folder) == self.acknowledged
        self.log = self.folder.resume_log(reader.recovery)

    def add(self, *values: int) -> None:
        for value in values:
            self.asked.append(value)
            self.log.append(1, [np.array([value])])
            self.log.flush()
            self.acknowledged.append(value)

    def rotate(self) -> None:
        self.log.flush()
        old, self.log = self.log, self.folder.rotate(self.log.end.sequence, sync="never")
        old.abandon()

    def compact(self, late: int | None = None) -> None:
        """``late``: a batch that comes while the base is written, and goes to the next log."""
        folder, content = self.folder, bytes(self.acknowledged)
        self.rotate()
        base = make_base(self.disk, folder.next_base_path, content)
        files = folder.save_vertex_column(0, np.full(3, len(content)))
        if late is not None:
            self.add(late)
        folder.publish(base=base, files=files)
        folder.remove_leftovers()

    def end(self) -> None:
        for each in (self.log, self.folder):
            if isinstance(each, Log):
                each.abandon()
            elif each is not None:
                each.close()


def contents(folder: LiveFolder) -> list[int]:
    base = []
    if folder.base_path is not None:
        base = list((folder.base_path / "ids.npy").read_bytes())
        assert folder.vertex_column(0).tolist() == [len(base)] * 3
        assert folder.catalog.base.num_edges == len(base)
    return base + [int(record.arrays[0][0]) for record in folder.read_log()]


def check_remains(life: LiveLife, disk: FaultyDisk) -> None:
    """What remained opens as a graph with all that was acknowledged, or was never made."""
    path = disk.root / "graph"
    try:
        folder = LiveFolder.open(path, disk=disk)
    except (FormatError, InputNotFoundError):
        assert not life.is_made
        LiveFolder.create(path, SCHEMA, disk=disk).close()
        folder = LiveFolder.open(path, disk=disk)
    found = contents(folder)
    assert len(found) >= len(life.acknowledged)
    assert found == life.asked[: len(found)]
    # Nothing but the graph is left.
    current = {"lock", "live.json", *folder.catalog.names}
    assert {entry.name for entry in path.iterdir()} == current
    # And it goes on.
    reader = folder.read_log()
    list(reader)
    log = folder.resume_log(reader.recovery)
    log.append(1, [np.array([99])])
    log.close()
    assert contents(folder) == [*found, 99]
    # And it is compacted, however many logs there are.
    later = LiveLife(disk)
    later.acknowledged, later.folder = [*found, 99], folder
    later.resume()
    later.compact()
    later.log.close()
    folder.close()
    with LiveFolder.open(path, disk=disk) as again:
        assert contents(again) == [*found, 99]
        assert len(again.catalog.logs) == 1


def count_steps(root: Path) -> int:
    root.mkdir()
    life = LiveLife(FaultyDisk(root))
    life.run()
    assert life.acknowledged == [*range(1, 10)]
    return life.disk.steps


def test_a_graph_at_every_operation(tmp_path):
    """Made, compacted three times, and the power goes at each operation of that."""
    steps = count_steps(tmp_path / "count")
    assert steps > 120
    for moment in range(1, steps + 1):
        for seed in range(4):
            root = tmp_path / f"{moment}-{seed}"
            root.mkdir()
            life = LiveLife(FaultyDisk(root))
            life.disk.power_loss_at = moment
            with pytest.raises(PowerLoss):
                life.run()
            life.end()
            check_remains(life, life.disk.crash(tmp_path / f"{moment}-{seed} after", seed))


def test_a_full_disk_at_every_operation(tmp_path):
    """Whatever has no room, the graph stays what it was, and opens."""

    def fault(step, what, path):
        needs_room = what in ("write", "create", "make_folder", "rename")
        return full_disk() if step == moment and needs_room else None

    refused = 0
    for moment in range(1, count_steps(tmp_path / "count") + 1):
        root = tmp_path / str(moment)
        root.mkdir()
        life = LiveLife(FaultyDisk(root, fault=fault))
        try:
            life.run()
        except OSError:  # of the base's own files; of all others, it is a DiskSpaceError
            refused += 1
        life.end()
        if not life.is_made:
            assert not (root / "graph").exists()
        check_remains(life, FaultyDisk(root))
    assert refused > 20
