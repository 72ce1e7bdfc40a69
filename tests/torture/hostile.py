"""Stores that a stranger made: contents changed, and every checksum made right again.

Whatever is in them, opening and running on them ends with an error of Penstock or with some answer.
It never ends with a signal, another exception, a hang, or more memory than the budget; with
``--bounds-checks`` kernels raise an IndexError, which is a finding, where they would read or write
outside an array.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from torture import Case, Outcome, ok
from torture._forging import forge, reseal
from torture._stores import KINDS, copied, files_of, prepared, read, readers

NAME = "hostile"
DESCRIPTION = "Stores with changed contents and right checksums, against all that reads them."
CATEGORIES = ("store",)
QUICK_CASES = 36
TIMEOUT_SECONDS = 600.0
MEMORY_BYTES = 3 << 30

#: Runs on each forged store.
RUNS = 3


def cases(seed: int) -> Iterator[Case]:
    """Without end."""
    rng = random.Random(seed)
    for kind in itertools.cycle(KINDS):
        yield {
            "store": kind,
            "seed": rng.randrange(1 << 40),
            "changes": rng.choice((1, 1, 1, 2, 3)),
        }


def run(case: Case, workspace: Path) -> Outcome:
    """Forge a store, and have several runs read it."""
    from penstock.errors import PenstockError
    from penstock.interfaces.checking import check_any

    kind, rng = case["store"], random.Random(case["seed"])
    names = files_of(prepared(kind, workspace))
    special = [name for name in names if not name.startswith("g/")]
    folder = copied(kind, workspace)
    chosen = []
    for _ in range(case["changes"]):
        chosen.append(rng.choice(special if special and rng.random() < 0.7 else names))
        forge(folder, chosen[-1], rng)
    reseal(folder)
    runs = rng.choices(readers(kind), k=RUNS)
    if kind == "checkpoint":
        runs += [name.split("/")[1] for name in chosen if name.startswith("checkpoints/")]
    with suppress(PenstockError):
        check_any(folder / "g", threads=1)
    for reader in case.get("runs", runs):
        with suppress(PenstockError):
            read(kind, reader, folder, workspace)
    return ok()


def shrink(case: Case) -> Iterator[Case]:
    """Fewer changes, then one run."""
    if case["changes"] > 1:
        yield case | {"changes": 1}
    if "runs" not in case:
        for reader in readers(case["store"]):
            yield case | {"runs": [reader]}
