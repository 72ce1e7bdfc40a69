"""In-lists that the writer of a live graph made of its base and what changed since: a store beside
the base, until the next compaction makes them part of it. It is scratch: no other process uses it,
and what a process that died has left is removed when the graph is opened for writing.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from penstock.dynamic.folder_locks import Hold, hold_shared, hold_to_remove
from penstock.store.catalog import FILE_NAME
from penstock.store.contents import foreign_names, is_folder

NAME = "reverse"


class ReverseFolder:
    """Where that store is, in the directory of a graph."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME

    def hold(self) -> Hold | None:
        """Keep the store, if there is one, until the hold is closed: for a snapshot."""
        return hold_shared(self.path / FILE_NAME) if is_folder(self.path) else None

    def remove(self) -> None:
        """Remove the store, unless a snapshot holds it, and what an interrupted writer left."""
        for ending in ("building", "old"):
            unfinished = self.path.with_name(f".{NAME}.{ending}")
            if is_folder(unfinished):
                shutil.rmtree(unfinished)
        if not is_folder(self.path) or foreign_names(self.path):
            return
        hold = hold_to_remove(self.path / FILE_NAME)
        if hold is not None:
            try:
                shutil.rmtree(self.path)
            finally:
                hold.close()
