"""The CPU: a program's kernels, compiled by Numba and kept on disk.

The text of the kernels is a module of its own, named by the hash of everything in it: another
process that runs the same program finds the compiled kernels, and an edited function is another
file, so that nothing stale is ever run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from penstock.device.shape import Shape
from penstock.device.source import Written
from penstock.device.template import module_text
from penstock.errors import ProgramError

KERNELS = ("init", "pull", "pull_some", "accumulate", "finish", "finish_some", "merge", "push")


class CpuKernels:
    """The kernels of one program; each is called as the template says."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._text = module_text(shape)
        self._module = _load(self._text)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in KERNELS:
            raise AttributeError(name)
        compiled = getattr(self._module, name)

        def call(*arguments: Any) -> Any:
            from numba.core.errors import NumbaError

            try:
                return compiled(*arguments)
            except NumbaError as error:
                raise self._explain(error) from None

        setattr(self, name, call)
        return call

    def _explain(self, error: Exception) -> ProgramError:
        """The compiler's complaint, at the user's line."""
        for written in self.shape.written.values():
            failed = self._compile_alone(written)
            if failed is not None:
                return ProgramError(_complaint(written, self._text, failed))
        return ProgramError(
            f"{self.shape.program.name}: the functions do not fit together: {_first_lines(error)}; "
            "look at what gather, sum and apply return"
        )

    def _compile_alone(self, written: Written) -> Exception | None:
        """What the compiler says about one function, given the types it will be called with."""
        from numba import typeof
        from numba.core.errors import NumbaError

        try:
            samples = [self._sample(name) for name in written.inputs]
            types = tuple(typeof(each) for each in samples)  # type: ignore[no-untyped-call]
            getattr(self._module, written.name).compile(types)
        except NumbaError as error:
            return error
        return None

    def _sample(self, name: str) -> Any:
        """A value of the type that an input has."""
        program = self.shape.program
        kind, _, field = name.partition("_")
        dtypes = program.state_dtypes | program.fixed_dtypes
        if kind in ("src", "dst", "old", "new", "vertex") and field:
            return dtypes.get(field, np.dtype(np.uint32)).type(0)
        if kind in ("edge", "p") and field:
            return 1.0
        zeros = tuple(dtype.type(0) for dtype in program.accumulators)
        return zeros if len(zeros) > 1 else zeros[0]


def _complaint(written: Written, text: str, error: Exception) -> str:
    lines = text.split("\n")
    start = lines.index(written.text.split("\n")[0])
    numbers = [int(n) for n in re.findall(r"line (\d+)", str(error))]
    inside = [n - 1 - start for n in numbers if 0 <= n - 1 - start < len(written.lines)]
    line = written.lines[inside[-1]] if inside else written.lines[0]
    return f"{written.file}:{line}: {written.role}: {_first_lines(error)}"


def _first_lines(error: Exception) -> str:
    """What a compiler's message says, without its stack."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    skipped = ("Failed in", "During:", "File ", "There are", "- Of which", "Overload", "<source")
    kept = [
        line.strip()
        for line in text.split("\n")
        if line.strip() and not line.strip().startswith(skipped)
    ]
    return " ".join(kept[:3])[:300]


def cache_folder() -> Path:
    """Where generated kernels are kept: PENSTOCK_CACHE_DIR, or the user's cache folder."""
    asked = os.environ.get("PENSTOCK_CACHE_DIR")
    if asked:
        return Path(asked)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "penstock"


def _load(text: str) -> ModuleType:
    return _import(text, str(cache_folder()))


@lru_cache(maxsize=256)
def _import(text: str, folder: str) -> ModuleType:
    """The module with this text, from its file."""
    name = "penstock_program_" + hashlib.sha256(text.encode()).hexdigest()[:32]
    path = _write(text, name, (Path(folder) / "programs", Path(tempfile.gettempdir()) / "penstock"))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _write(text: str, name: str, folders: Iterable[Path]) -> Path:
    """Put the text into the first folder that takes it; a reader never sees half of it."""
    problem: OSError | None = None
    for folder in folders:
        path = folder / f"{name}.py"
        try:
            if path.is_file() and path.read_text() == text:
                return path
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
                file.write(text)
            os.replace(file.name, path)
        except OSError as error:
            problem = error
            continue
        return path
    raise ProgramError(
        f"compiled kernels cannot be kept anywhere ({problem}); "
        "set PENSTOCK_CACHE_DIR to a folder that can be written"
    )
