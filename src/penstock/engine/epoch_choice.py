"""Which epoch a run over hosts goes on from, which rank reads which part of it, and which ranks
hold copies. Pure functions of what the ranks have reported to each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from penstock.engine.epoch_files import Manifest, Name

#: Seconds between agreements on whether to save.
LOOK_SECONDS = 0.5


class Held(NamedTuple):
    """A file that a rank has."""

    rank: int
    name: Name


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a rank has."""

    manifests: tuple[Manifest, ...]
    names: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """An epoch that can be read, and which rank reads each of its parts."""

    manifest: Manifest
    readers: tuple[Held, ...]


def choose_epoch(
    inventories: Sequence[Inventory], refused: Set[Held] = frozenset()
) -> Choice | None:
    """The newest epoch of which every part is on some rank, without the files in ``refused``. Of
    the ranks that have a part, the one with the fewest to read so far reads it.
    """
    for manifest in newest_first(inventories):
        load = [0] * len(inventories)
        readers = []
        for part in range(len(manifest.parts)):
            holders = [
                held for held in holders_of(inventories, manifest, part) if held not in refused
            ]
            if not holders:
                break
            # The rank's own file before copies that others made.
            chosen = min(holders, key=lambda held: (load[held.rank], held.name.by != part, held))
            load[chosen.rank] += 1
            readers.append(chosen)
        else:
            return Choice(manifest, tuple(readers))
    return None


def holders_of(inventories: Sequence[Inventory], manifest: Manifest, part: int) -> list[Held]:
    """The files that should contain a part, by rank."""
    key = manifest.epoch, manifest.token, part
    return [
        Held(rank, name)
        for rank, inventory in enumerate(inventories)
        for name in inventory.names
        if (name.epoch, name.token, name.part) == key
    ]


def newest_first(inventories: Sequence[Inventory]) -> list[Manifest]:
    """The manifests that any rank has, without duplicates."""
    found: dict[tuple[int, str], Manifest] = {}
    for inventory in inventories:
        for manifest in inventory.manifests:
            found.setdefault((manifest.epoch, manifest.token), manifest)
    order = sorted(found, key=lambda key: (found[key].step, *key), reverse=True)
    return [found[key] for key in order]


def missing_parts(inventories: Sequence[Inventory], refused: Set[Held]) -> str:
    """Why no epoch can be read."""
    newest = newest_first(inventories)[0]
    missing = [
        part
        for part in range(len(newest.parts))
        if not any(held not in refused for held in holders_of(inventories, newest, part))
    ]
    several = "parts" if len(missing) > 1 else "part"
    damaged = any(held.name.part in missing for held in refused)
    return (
        f"of the checkpoint after step {newest.step:,}, {several} "
        f"{', '.join(map(str, missing))} of {len(newest.parts)} "
        f"{'are' if len(missing) > 1 else 'is'} "
        + ("damaged, and no copy is here" if damaged else "on none of the hosts that are here")
    )


def copy_holders(hosts: Sequence[str]) -> list[int | None]:
    """The rank that holds the copy of each rank's part: the next one on another host, or else the
    next one.

    >>> copy_holders(["a", "a", "b"]), copy_holders(["a", "a"]), copy_holders(["a"])
    ([2, 2, 0], [1, 0], [None])
    """
    size = len(hosts)
    found: list[int | None] = []
    for rank, host in enumerate(hosts):
        others = [(rank + k) % size for k in range(1, size)]
        elsewhere = [other for other in others if hosts[other] != host]
        found.append(next(iter([*elsewhere, *others]), None))
    return found


def calls_to_look(calls: int, seconds: float, gap: float = LOOK_SECONDS) -> int:
    """The number of steps after which the ranks agree again on whether to save, if the last
    ``calls`` steps took ``seconds``: short steps are not worth an exchange each.

    >>> calls_to_look(1, 0.001), calls_to_look(64, 0.064), calls_to_look(8, 80.0)
    (2, 128, 1)
    """
    most = 2 * calls
    return most if seconds * most <= calls * gap else max(1, int(calls * gap / seconds))


def whole_arrays(lengths: Sequence[Mapping[str, int]], num_vertices: int) -> dict[str, bool]:
    """Whether each array has an entry for every vertex on all ranks; the others have entries of
    own vertices.
    """
    return {name: all(each[name] == num_vertices for each in lengths) for name in lengths[0]}
