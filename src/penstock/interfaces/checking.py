"""Checking every byte of a directory, whichever kind it is: what ``penstock verify`` does."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from penstock.config import thread_count
from penstock.engine.checkpoint import FILE_NAME as CHECKPOINT_FILE
from penstock.engine.checkpoint_file import Saved
from penstock.engine.edge_column_files import DESCRIPTION, open_columns
from penstock.engine.edge_columns import folder_beside
from penstock.errors import InputNotFoundError, PenstockError
from penstock.interfaces.opening import is_live
from penstock.progress import Progress, Silent
from penstock.store.check import CheckReport, Problem, check_graph
from penstock.store.paged import open_graph

_EMPTY = CheckReport((), 0, 0, 0, 0, 0.0)


def check_any(
    path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress | None = None
) -> CheckReport:
    """Check a graph with what is kept beside it, a live graph, or a checkpoint folder."""
    folder = Path(path)
    if not folder.exists():
        raise InputNotFoundError(f"{folder}: no such graph")
    count, progress = thread_count(threads), progress or Silent()
    if is_live(folder):
        return _check_live(folder, count, progress)
    if (folder / CHECKPOINT_FILE).exists():
        return _check_checkpoint(folder / CHECKPOINT_FILE)
    report = check_graph(folder, threads=count, progress=progress)
    return report if report.problems else _with_columns(folder, report)


def _check_live(path: Path, threads: int, progress: Progress) -> CheckReport:
    """The base of a live graph as any store, every byte of its logs, and that all can be read."""
    from penstock.dynamic.folder import LiveFolder
    from penstock.dynamic.graph import DynamicGraph

    report, size, rows = _EMPTY, 0, 0
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    try:
        with LiveFolder.open(path, read_only=True) as folder:
            if folder.base_path is not None:
                report = check_graph(folder.base_path, threads=threads, progress=progress)
            reader = folder.read_log()
            rows = sum(len(record.arrays[1]) for record in reader if len(record.arrays) > 1)
            size = reader.num_bytes
            if reader.recovery.dropped_bytes:  # no run uses them
                notes = (str(reader.recovery),)
        if report.ok:
            DynamicGraph(path, read_only=True, threads=threads).close()
    except PenstockError as error:
        problems = (Problem(str(path), str(error)),)
    return replace(
        report, problems=problems + report.problems, bytes=report.bytes + size,
        edges=report.edges + rows, notes=notes,
    )  # fmt: skip


def _check_checkpoint(path: Path) -> CheckReport:
    try:
        saved = Saved(path)
        try:
            return replace(_EMPTY, bytes=saved.check())
        finally:
            saved.close()
    except (PenstockError, OSError) as error:
        return replace(_EMPTY, problems=(Problem(str(path), str(error)),))


def _with_columns(path: Path, report: CheckReport) -> CheckReport:
    """A report on a sound graph, with the index that is kept beside it, if there is one of it."""
    folder = folder_beside(path)
    if not (folder / DESCRIPTION).exists():
        return report
    try:
        columns = open_columns(folder, open_graph(path))
        if columns is None:
            note = f"{folder}: is of another graph or version; runs do not use it, and replace it"
            return replace(report, notes=(note,))
        return replace(report, bytes=report.bytes + columns.check())
    except PenstockError as error:
        return replace(report, problems=(Problem(str(folder), str(error)),))
