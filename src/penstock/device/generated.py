"""Modules whose text is written here: each is a file, named by the hash of everything in it.

Another process that runs the same program finds what the compiler kept beside the file, and an
edited function is another file, so that nothing stale is ever run.

What is in the cache folder is executed: a folder that others may write to is not used.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import shutil
import stat
import sys
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from penstock import jit


def cache_folder() -> Path | None:
    """Where generated kernels are kept: PENSTOCK_CACHE_DIR, or the user's cache folder."""
    asked = os.environ.get("PENSTOCK_CACHE_DIR")
    if asked:
        return Path(asked)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"
    except RuntimeError:  # nobody's home
        return None


@lru_cache(maxsize=256)
def module_of(text: str, folder: Path | None) -> ModuleType:
    """The module with this text, from its file."""
    # Of what the text imports, only the atomics are not part of the text.
    content = text.encode() + Path(jit.__file__).read_bytes()
    name = "penstock_program_" + hashlib.sha256(content).hexdigest()[:32]
    path = None if folder is None else _written(text, name, folder / "kernels")
    if path is None:
        path = _written(text, name, _private_folder())
    assert path is not None
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _written(text: str, name: str, folder: Path) -> Path | None:
    """The file with this text; None if the folder does not take it. Nobody sees half a file."""
    path = folder / f"{name}.py"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(0o700, exist_ok=True)
        if not os.access(folder, os.W_OK):  # the compiler will want to write beside it
            return None
        if not _is_private(folder):
            warnings.warn(
                f"{folder}: is not used to keep compiled kernels, which takes longer, because "
                "others may write to it; remove it, or set PENSTOCK_CACHE_DIR to a folder of yours",
                stacklevel=2,
            )
            return None
        if path.is_file() and path.read_text("utf-8") == text:
            return path
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError:
        return None
    return path


def _is_private(folder: Path) -> bool:
    """Whether a folder is this user's, and nobody else can put compiled code there."""
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return ours and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@lru_cache(maxsize=1)
def _private_folder() -> Path:
    """A folder of this process alone, where nobody else can put compiled code."""
    folder = tempfile.mkdtemp(prefix="penstock-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
