"""The first frame of a connection between ranks, and the answer to it.

The rank that connects shows the secret of the job, the number of the epoch, its rank, and the facts
of its process that could change a result. The rank that listens accepts, or refuses and says why.
"""

from __future__ import annotations

import hmac
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from penstock.distributed.frames import FrameError, Head, plain_frame, read_number
from penstock.version import __version__


@dataclass(frozen=True)
class Greeting:
    """How a rank introduces itself. ``facts`` must be the same on all ranks."""

    secret: str = field(repr=False)
    epoch: int
    rank: int
    size: int
    facts: Mapping[str, str]

    def frame(self) -> bytes:
        """The frame to send."""
        return plain_frame(
            "greeting",
            secret=self.secret,
            epoch=self.epoch,
            rank=self.rank,
            size=self.size,
            facts=dict(self.facts),
        )


def read_greeting(head: Head) -> Greeting:
    """A greeting as it was received. Only its types are checked."""
    secret, facts = head.get("secret"), head.get("facts")
    if head["kind"] != "greeting" or not isinstance(secret, str) or not isinstance(facts, dict):
        raise FrameError("a connection does not begin with a greeting")
    if not all(isinstance(value, str) for value in facts.values()):
        raise FrameError("a greeting has facts that are no text")
    epoch, rank, size = (read_number(head, name) for name in ("epoch", "rank", "size"))
    return Greeting(secret, epoch, rank, size, facts)


def reason_to_refuse(came: Greeting, own: Greeting) -> str | None:
    """Why a rank cannot take part in the run of this one; None if it can.

    >>> old = Greeting("s", 1, 0, 2, {})
    >>> reason_to_refuse(old, Greeting("s", 2, 1, 2, {}))
    'its epoch is 1, and this is epoch 2'
    """
    if not hmac.compare_digest(came.secret.encode(), own.secret.encode()):
        return "it does not have the secret of this job"
    if came.epoch != own.epoch:
        return f"its epoch is {came.epoch}, and this is epoch {own.epoch}"
    if came.size != own.size:
        return f"it is one of {came.size} ranks, and here are {own.size}"
    if came.rank == own.rank or came.rank >= own.size:
        return f"its rank is {came.rank}; this is rank {own.rank} of {own.size}"
    for name in sorted({*came.facts, *own.facts}):
        there, here = came.facts.get(name, "not given"), own.facts.get(name, "not given")
        if there != here:
            there, here = _differences(there, here)
            return f"{name} differs: {there} on rank {came.rank}, {here} on rank {own.rank}"
    return None


def _differences(there: str, here: str) -> tuple[str, str]:
    """Of two long lists, the entries that differ."""
    if "," not in there or "," not in here:
        return there, here
    left, right = set(there.split(",")), set(here.split(","))
    found = (",".join(sorted(mine - other)) for mine, other in ((left, right), (right, left)))
    one, two = (text or "nothing else" for text in found)
    return one, two


@cache
def process_facts() -> Mapping[str, str]:
    """What could change the bits of a result: the versions of the software, and the processor."""
    import numba
    import numpy as np
    from llvmlite import binding

    features: Any = binding.get_host_cpu_features()
    return {
        "the version of penstock": __version__,
        "the version of Python": "{}.{}".format(*sys.version_info[:2]),
        "the version of NumPy": np.__version__,
        "the version of Numba": numba.__version__,
        "the byte order": sys.byteorder,
        "the kind of processor": platform.machine(),
        "the set of processor features": ",".join(
            sorted(name for name, there in features.items() if there)
        ),
    }
