"""What a campaign is, and where campaigns are found."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

FOLDER = Path(__file__).parent

#: A case: everything that is needed to repeat it, as JSON has it.
Case = dict[str, Any]

Status = Literal["ok", "found", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """What came of a case. The first line of the text names the defect, or the reason."""

    status: Status
    text: str = ""

    @property
    def headline(self) -> str:
        return self.text.partition("\n")[0].strip()


def ok() -> Outcome:
    """Nothing is wrong."""
    return Outcome("ok")


def found(text: str) -> Outcome:
    """Something is wrong: what on the first line, details of this case on the others."""
    return Outcome("found", text)


def skipped(reason: str) -> Outcome:
    """The case cannot be tried here."""
    return Outcome("skipped", reason)


@dataclass(frozen=True)
class Campaign:
    """The functions and settings of a campaign's file."""

    #: What the command line calls it: its name, or the path of its file.
    spelling: str
    name: str
    description: str
    cases: Callable[[int], Iterator[Case]]
    run: Callable[[Case, Path], Outcome]
    shrink: Callable[[Case], Iterator[Case]]
    snippet: Callable[[Case], str] | None
    categories: tuple[str, ...]
    timeout_seconds: float
    memory_bytes: int
    quick_cases: int


def names() -> list[str]:
    """The campaigns of this folder."""
    modules = (info.name for info in pkgutil.iter_modules([str(FOLDER)]))
    return [name for name in modules if _may_be_campaign(name) and _has_name(name)]


def load(spelling: str) -> Campaign:
    """A campaign by its name or the path of its file; ValueError if there is none."""
    if spelling.endswith(".py"):
        module = _module_of(Path(spelling))
    elif spelling in names():
        module = importlib.import_module(f"torture.{spelling}")
    else:
        raise ValueError(f"{spelling}: no such campaign; there are {', '.join(names())}")
    return Campaign(
        spelling=spelling,
        name=module.NAME,
        description=module.DESCRIPTION,
        cases=module.cases,
        run=module.run,
        shrink=getattr(module, "shrink", lambda case: iter(())),
        snippet=getattr(module, "snippet", None),
        categories=tuple(getattr(module, "CATEGORIES", ())),
        timeout_seconds=getattr(module, "TIMEOUT_SECONDS", 300.0),
        memory_bytes=getattr(module, "MEMORY_BYTES", 4 << 30),
        quick_cases=getattr(module, "QUICK_CASES", 10),
    )


def _may_be_campaign(name: str) -> bool:
    return not name.startswith(("_", "test_"))


def _has_name(name: str) -> bool:
    return hasattr(importlib.import_module(f"torture.{name}"), "NAME")


def _module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"{path}: no such file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
