"""Going on from what ranks have saved: which epoch, which rank reads it, and which gets what."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.engine.checkpoint import differences
from penstock.engine.checkpoint_file import Facts, Rule, Saved, unusable
from penstock.engine.engine import Engine
from penstock.engine.epoch_choice import (
    Choice,
    Held,
    Inventory,
    choose_epoch,
    missing_parts,
    newest_first,
)
from penstock.engine.epoch_files import EpochFolder, Manifest, parse_name
from penstock.engine.epoch_writer import BEGINS, ENDS, column_of, find_whole, tell
from penstock.engine.ownership import Vertices
from penstock.errors import CorruptionError, FormatError, OptionError
from penstock.store.mapped import PART
from penstock.types import U32, Array

#: Entries of an array that each rank sends at a time.
PIECE = 1 << 19


def take_inventory(engine: Engine, folder: EpochFolder) -> list[Inventory]:
    """What each rank has; all ranks call it at once."""
    names = [str(name) for name in folder.names()]
    found = []
    for told in tell(engine.peers, {"manifests": folder.manifests(), "names": names}):
        manifests = []
        for text in told["manifests"]:
            with suppress(ValueError):  # a damaged one: other ranks have the same
                manifests.append(Manifest.from_json(text))
        parsed = (parse_name(name) for name in told["names"])
        found.append(
            Inventory(tuple(manifests), tuple(name for name in parsed if name is not None))
        )
    return found


class EpochReader:
    """Reads an epoch that any number of ranks have saved."""

    def __init__(self, engine: Engine, folder: EpochFolder, identity: Mapping[str, Any]) -> None:
        self._engine = engine
        self._peers = engine.peers
        self._folder = folder
        self._identity = identity
        #: Messages for the user.
        self.notes: list[str] = []

    def choose(self, inventories: list[Inventory]) -> Choice | None:
        """The epoch to go on from, after a check of every byte; None if there is none in a scratch
        folder. In a folder of the user, what was saved must not be given up silently.
        """
        manifests = newest_first(inventories)
        if not manifests:
            return None
        self._check_identity(manifests[0])
        inventories = [
            replace(each, manifests=tuple(filter(self._is_own, each.manifests)))
            for each in inventories
        ]
        refused: set[Held] = set()
        while (choice := choose_epoch(inventories, refused)) is not None:
            bad = self._find_damaged(choice)
            if not bad:
                return choice
            refused |= bad
            for held in sorted(bad):
                self.notes.append(
                    f"rank {held.rank}: {held.name} in {self._folder.path} is damaged, and was "
                    "not used"
                )
        if not self._folder.durable:
            self.notes.append("nothing that was saved can be read; the run began again")
            return None
        raise CorruptionError(
            f"{self._folder.path}: {missing_parts(inventories, refused)}: start the missing hosts "
            "again, and run with resume=True (--resume); or start again with overwrite=True "
            "(--overwrite)"
        )

    def _is_own(self, manifest: Manifest) -> bool:
        """Whether an epoch is one of this run: a host that was away may have those of others."""
        return not differences(manifest.identity, self._identity)

    def _check_identity(self, manifest: Manifest) -> None:
        found, mine = manifest.identity, self._identity
        other = differences(found, mine)
        if other:
            was = ", ".join(f"{name} {found.get(name)}" for name in other)
            now = ", ".join(f"{name} {mine.get(name)}" for name in other)
            raise OptionError(
                f"{self._folder.path}: was made for {was}; this run has {now}: choose another "
                "folder with checkpoint= (--checkpoint), or remove this one"
            )

    def _find_damaged(self, choice: Choice) -> set[Held]:
        """The files of a choice that are not what the manifest says; each rank reads its own."""
        bad = []
        for part, held in enumerate(choice.readers):
            if held.rank == self._peers.rank and not self._is_good(choice.manifest, part, held):
                bad.append(part)
        return {choice.readers[part] for each in tell(self._peers, bad) for part in each}

    def _is_good(self, manifest: Manifest, part: int, held: Held) -> bool:
        try:
            saved = Saved(self._folder.file(held.name))
        except (OSError, FormatError):
            return False
        try:
            saved.check()
            kinds = {name: dtype.str for name, (dtype, _) in saved.arrays.items()}
        except FormatError:
            return False
        finally:
            saved.close()
        own = {BEGINS: np.dtype(np.int64).str, ENDS: np.dtype(np.int64).str}
        return saved.digest == manifest.parts[part] and kinds == {**own, **manifest.arrays}

    def read(self, choice: Choice, targets: Mapping[str, Any], rules: Mapping[str, Rule]) -> Facts:
        """Fill arrays. Those with an entry for every vertex are filled completely on every rank."""
        wanted = {name: column_of(target).dtype.str for name, target in targets.items()}
        if wanted != choice.manifest.arrays:
            raise FormatError(
                f"{self._folder.path}: the checkpoint has the arrays {choice.manifest.arrays}, and "
                f"this run has {wanted}; another version of the program made it: remove it"
            )
        mine = {
            part: Saved(self._folder.file(held.name))
            for part, held in enumerate(choice.readers)
            if held.rank == self._peers.rank
        }
        try:
            _Distribution(self._engine, targets, mine).run()
        finally:
            for saved in mine.values():
                saved.close()
        self._check_rules(targets, rules)
        facts = Facts(choice.manifest.extra)
        facts.where = f"{self._folder.path} (on {socket.gethostname()})"
        return facts

    def _check_rules(self, targets: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
        """Raise if entries are invalid; rules are for whole arrays."""
        for name, rule in rules.items():
            column = column_of(targets[name])
            for begin in range(0, column.length, PART):
                if not rule(begin, column.read(begin, min(begin + PART, column.length))):
                    what = f"array {name!r} has entries that it cannot have"
                    raise unusable(self._folder.path, what)


class _Distribution:
    """Sends entries of parts from the ranks that read them to those that need them."""

    def __init__(
        self, engine: Engine, targets: Mapping[str, Any], mine: Mapping[int, Saved]
    ) -> None:
        self._engine = engine
        self._peers = engine.peers
        self._targets = dict(targets)
        self._names = list(targets)
        self._whole = find_whole(engine, targets)
        self._mine = mine
        #: The vertices of each part.
        self._parts = self._tell_vertices()

    def _tell_vertices(self) -> dict[int, Vertices]:
        given: list[Array] = [np.array(list(self._mine), np.int64)]
        for saved in self._mine.values():
            count = saved.arrays[BEGINS][1]
            given += [saved.read_range(BEGINS, 0, count), saved.read_range(ENDS, 0, count)]
        found = {}
        for parts, *ranges in self._peers.allgather(*given):
            for k, part in enumerate(parts.tolist()):
                found[part] = Vertices(ranges[2 * k], ranges[2 * k + 1])
        return found

    def run(self) -> None:
        """Send and receive all entries, a piece from each rank at a time."""
        pieces = list(self._pieces())
        rounds = max(tell(self._peers, len(pieces)))
        for k in range(rounds):
            if k < len(pieces):
                self._send(*pieces[k])
            for messages in self._peers.drain():
                for header, values in messages:
                    self._take(header.tolist(), values)

    def _pieces(self) -> Iterator[tuple[int, int, int, int]]:
        for part in self._mine:
            count = self._parts[part].count
            for which in range(len(self._names)):
                for begin in range(0, count, PIECE):
                    yield part, which, begin, min(begin + PIECE, count)

    def _send(self, part: int, which: int, begin: int, end: int) -> None:
        name = self._names[which]
        values = self._mine[part].read_range(name, begin, end)
        header = np.array([part, which, begin, end], np.int64)
        vertices = None if self._whole[name] else self._vertices(part, begin, end)
        for rank in range(self._peers.size):
            given = values
            if vertices is not None:
                given = values[self._engine.vertices_of_ranks[rank].has(vertices)]
            if rank == self._peers.rank:
                self._take(header.tolist(), given)
            elif len(given):
                self._peers.post(rank, header, given)

    def _take(self, header: list[int], values: Array) -> None:
        part, which, begin, end = header
        target = self._targets[self._names[which]]
        if self._whole[self._names[which]]:
            column, at = column_of(target), 0
            for low, high in self._parts[part].runs(begin, end):
                column.write(low, values[at : at + high - low])
                at += high - low
            return
        vertices, own = self._vertices(part, begin, end), self._engine.own_vertices
        target[own.positions(vertices[own.has(vertices)])] = values

    def _vertices(self, part: int, begin: int, end: int) -> U32:
        runs = self._parts[part].runs(begin, end)
        return np.concatenate([np.arange(low, high, dtype=np.uint32) for low, high in runs])
