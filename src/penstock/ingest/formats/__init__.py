"""Inputs of all formats. A format is one module of this package (see ``protocols.Importer``)."""

from __future__ import annotations

import glob
import importlib
import os
import pkgutil
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, cast

from penstock.errors import InputError, InputNotFoundError, OptionError
from penstock.ingest.formats._bytes import format_suffix, looks_like_text, read_sample
from penstock.ingest.formats._skipping import most_skipped
from penstock.protocols import Importer, ReadOptions, Source

_FALLBACK = "text"


@cache
def importers() -> dict[str, Importer]:
    """Every format by its name. None of the modules needs more than NumPy until it reads."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        if not info.name.startswith("_"):
            module = cast(Importer, importlib.import_module(f"{__name__}.{info.name}"))
            found[module.NAME] = module
    return found


def open_source(data: Any, options: ReadOptions) -> Source:
    """Open any input: a path, a glob pattern, a directory, a list of these, or an object in memory.

    Raises InputNotFoundError if there is no such file, OptionError if nothing can read it.
    """
    most_skipped(options.max_bad_lines, 0)
    paths = _as_paths(data)
    if paths is not None:
        files = find_files(paths)
        source = _importer_of_files(files, options).open_source(files, options)
        return replace(source, is_file=True)
    for importer in importers().values():
        if importer.accepts(data):
            if options.format not in (None, importer.NAME):
                raise OptionError(
                    f"format: {options.format!r} does not read objects of type "
                    f"{type(data).__name__}; leave format= out"
                )
            return importer.open_source(data, options)
    raise OptionError(
        f"source: cannot read an object of type {type(data).__name__}; give a path, a pattern or "
        "a list of them, an Arrow, pandas or polars table, an Arrow dataset, a SciPy sparse "
        "matrix, a NetworkX or igraph graph, or (src, dst) or (src, dst, weight) arrays"
    )


def _as_paths(data: Any) -> list[str] | None:
    """The paths or patterns, if it is that."""
    if isinstance(data, str | os.PathLike):
        return [os.fspath(data)]
    several = isinstance(data, list | tuple | set | frozenset) and len(data) > 0
    if several and all(isinstance(item, str | os.PathLike) for item in data):
        return [os.fspath(item) for item in data]
    return None


def find_files(patterns: Iterable[str]) -> list[str]:
    """The files that paths, directories and glob patterns stand for: sorted, each once."""
    files = set()
    for pattern in patterns:
        path = os.path.expanduser(pattern)
        if os.path.isdir(path):
            files.update(_files_in(path))
        elif os.path.exists(path):
            if not os.path.isfile(path):
                raise InputError(f"{path}: is no regular file; it has to be read more than once")
            files.add(path)
        else:
            matches = glob.glob(path, recursive=True) if glob.has_magic(path) else []
            matches = [match for match in matches if os.path.isfile(match)]
            if not matches:
                what = "no file matches" if glob.has_magic(path) else "there is no such file"
                raise InputNotFoundError(f"{pattern}: {what}")
            files.update(matches)
    return sorted(files)


def _files_in(folder: str) -> list[str]:
    """The files right in a directory that have the suffix of some format."""
    if os.path.exists(os.path.join(folder, "graph.json")):
        raise InputError(f"{folder}: is a graph already; open it instead of building from it")
    suffixes = {suffix for importer in importers().values() for suffix in importer.SUFFIXES}
    paths = [entry.path for entry in os.scandir(folder) if entry.is_file()]
    paths = [path for path in paths if format_suffix(path) in suffixes]
    if not paths:
        known = " ".join(sorted(suffixes))
        raise InputNotFoundError(f"{folder}: no file in it has a known suffix ({known})")
    return paths


def _importer_of_files(files: list[str], options: ReadOptions) -> Importer:
    if options.format is not None:
        readers = {name: found for name, found in importers().items() if found.SUFFIXES}
        if options.format not in readers:
            raise OptionError(
                f"format: expected one of {', '.join(sorted(readers))}, got {options.format!r}"
            )
        return readers[options.format]
    found = {_importer_of(path).NAME: path for path in files}
    if len(found) > 1:
        examples = ", ".join(f"{path} ({name})" for name, path in found.items())
        raise OptionError(f"source: the files are of several formats: {examples}; build from one")
    return importers()[next(iter(found))]


def _importer_of(path: str) -> Importer:
    suffix = format_suffix(path)
    for importer in importers().values():
        if suffix in importer.SUFFIXES:
            return importer
    if looks_like_text(read_sample(path)):
        return importers()[_FALLBACK]
    lines = [f"{name} ({' '.join(i.SUFFIXES)})" for name, i in importers().items() if i.SUFFIXES]
    raise OptionError(
        f"{path}: neither the suffix {suffix!r} nor the content tells the format; "
        f"pass format= with one of: {', '.join(lines)}"
    )
