"""What users give for hosts, read in one place: ``hosts=`` and ``--hosts``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.distributed.addresses import check_place
from penstock.errors import OptionError

Kind = Literal["count", "address", "client", "ssh", "slurm"]

#: What is accepted, for messages and help.
ACCEPTED = (
    "a number of processes on this machine, the address of a Dask scheduler (tls://host:8786), "
    "ssh:host1,host2, slurm, or a dask.distributed Client"
)
#: Processes of a Slurm step that are not ranks: the first runs the scheduler and the call.
SLURM_OTHERS = 1
#: A host name for ssh, with or without a user; never one of its options.
_SSH_HOST = re.compile(r"(?:[A-Za-z0-9_][\w.-]*@)?(?:[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.%]+\])")


@dataclass(frozen=True, slots=True)
class HostChoice:
    """Which ranks are to run a call."""

    kind: Kind
    #: How many there will be, if that is known before they are started.
    count: int | None = None
    address: str = ""
    #: The machines that ssh reaches.
    names: tuple[str, ...] = ()
    client: Any = None


def read_hosts(given: Any, environment: Mapping[str, str] = os.environ) -> HostChoice:
    """Read what a user gave.

    >>> read_hosts("ssh:h1,me@h2").names
    ('h1', 'me@h2')
    >>> read_hosts("4") == read_hosts(4)
    True
    """
    if isinstance(given, int) and not isinstance(given, bool):
        return HostChoice("count", count=require_count("hosts", given))
    if isinstance(given, str):
        return _read_text(given.strip(), environment)
    if isinstance(given, bool) or not hasattr(given, "scheduler"):
        raise OptionError(f"hosts: {given!r} was given; it must be {ACCEPTED}")
    return HostChoice("client", client=given)


def _read_text(text: str, environment: Mapping[str, str]) -> HostChoice:
    name, _, rest = text.partition(":")
    if re.fullmatch(r"\d+", text):
        return HostChoice("count", count=require_count("hosts", int(text)))
    if text.startswith(("tls://", "tcp://")):
        check_place(text)
        return HostChoice("address", address=text)
    if name == "ssh":
        return _read_ssh(text, rest)
    if text == "slurm":
        tasks = environment.get("SLURM_STEP_NUM_TASKS") or environment.get("SLURM_NTASKS", "")
        count = int(tasks) - SLURM_OTHERS if tasks.isdecimal() else None
        return HostChoice("slurm", count=count)
    if name == "mpi":
        raise OptionError(f"hosts: {text!r} is not available yet; it can be {ACCEPTED}")
    raise OptionError(f"hosts: {text!r} was given; it must be {ACCEPTED}")


def _read_ssh(text: str, rest: str) -> HostChoice:
    names = tuple(name.strip() for name in rest.split(","))
    for name in names:
        if not _SSH_HOST.fullmatch(name):
            raise OptionError(
                f"hosts: {text!r} has {name!r} in place of the name of a host; expected "
                "ssh:host1,host2 with names or addresses that ssh takes, such as me@host1"
            )
    return HostChoice("ssh", count=len(names), names=names)


def require_count(name: str, value: Any) -> int:
    """A number of something, at least one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"{name}: {value!r} was given; it must be a whole number of at least 1")
    return value
