"""Directories of live graphs, for their tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from penstock.dynamic.folder import LiveFolder
from penstock.dynamic.folder_catalog import BaseRecord, LiveSchema
from penstock.store.layout import Column

SCHEMA = LiveSchema(
    directed=False,
    multigraph=True,
    ids="string",
    columns=(Column("w", np.dtype("<f4")), Column("time", np.dtype("<i8"))),
    vertex_columns=(Column("a/b", np.dtype("<f8")), Column("rank", np.dtype("u1"))),
    weight="w",
)


def make_base(path: Path) -> BaseRecord:
    path.mkdir()
    (path / "graph.json").write_text(path.name)
    return BaseRecord(path.name, 5, 4, 10)


def compact(folder: LiveFolder) -> None:
    log = folder.rotate(17)
    write_next(folder)
    log.close()


def write_next(folder: LiveFolder) -> None:
    """Write the base of the next generation, whose log has begun, and publish it."""
    base = make_base(folder.next_base_path)
    files = folder.save_vertex_column(0, np.arange(4.0))
    files |= folder.save_vertex_column(1, np.array([1, 2, 3, 4]))
    folder.publish(base=base, files=files)


def names(path: Path) -> set[str]:
    return set(os.listdir(path))
