"""Calls that run over several hosts: what is called, and what a rank returns.

The layers above start ranks and send calls to them. They register themselves here, so that no
import goes up a layer. Commands load this module: it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import OptionError, PenstockError

if TYPE_CHECKING:
    from penstock.engine.result import Result
    from penstock.store.graph import Graph
    from penstock.types import I64, Array


@dataclass(frozen=True, slots=True)
class Call:
    """One call that every rank makes: an algorithm by name, or a function of a graph."""

    graph: Graph
    #: An algorithm of the library, or "run" for a program of the user.
    name: str
    parameters: Mapping[str, Any]
    #: What the user gave of the options that every algorithm takes.
    options: Mapping[str, Any]
    #: The folder that every rank writes its part of the result to; None: the result is
    #: returned to the caller.
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What a rank returns: columns of its own vertices, which are ranges."""

    name: str
    begins: I64
    ends: I64
    #: By name, the one called ``name`` first.
    columns: Mapping[str, Array]
    #: The columns that hold vertex numbers, to be shown as ids.
    vid_columns: tuple[str, ...]
    #: Columns that are made when they are asked for.
    later: tuple[str, ...] = ()


def folder_of(out: Any, hosts: Any) -> Path | None:
    """Where a result in parts goes; raises if there are no ranks that could write it."""
    if out is None:
        return None
    if hosts is None:
        raise OptionError(
            f"out: {out} is for results in parts, which only runs over hosts write; give hosts=, "
            "or write the result with to_parquet(...) (--out FILE.parquet)"
        )
    return Path(out)


_load: Callable[[], Any] | None = None


def provide(load: Callable[[], Any]) -> None:
    """Say where the function is that runs a call: ``load().run_call(hosts, call)``."""
    global _load
    _load = load


def run_over_hosts(hosts: Any, call: Call) -> Result:
    """Run a call on several hosts; the result is that of one machine."""
    if _load is None:
        raise PenstockError("there is nothing to run over hosts with; import penstock.interfaces")
    found: Result = _load().run_call(hosts, call)
    return found
