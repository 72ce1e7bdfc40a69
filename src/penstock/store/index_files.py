"""The index files of a graph directory: mapped into memory, and checked before their first use."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from penstock.errors import CorruptionError, FormatError
from penstock.files import check_regular
from penstock.parsing import parse
from penstock.store.catalog import Catalog
from penstock.store.layout import PAGE_TABLE_DTYPE
from penstock.types import VID, Array, Direction

if TYPE_CHECKING:
    import pyarrow as pa


class IndexFiles:
    """Gives the arrays in the index files of a graph directory. When a file is first used in a
    process, all of its bytes are compared with its checksum, and its contents with what the catalog
    and other files say: kernels use them as places in arrays.
    """

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._checked: set[str] = set()

    def load(self, name: str) -> Array:
        """The array in a file. Numbers are mapped, not read; strings are Python objects."""
        path = self.checked(name)
        if path.suffix == ".arrow":
            strings: Array = _map_strings(path).to_numpy()
            return strings
        return load_index(path)

    def strings(self) -> pa.ChunkedArray:
        """Ids that are strings, mapped as Arrow has them."""
        assert self._catalog.ids.file is not None
        return _map_strings(self.checked(self._catalog.ids.file))

    def checked(self, name: str) -> Path:
        """The path of a file, after it has been checked."""
        path = self._folder / name
        if name not in self._checked:
            from penstock.store.first_use import check_file, damaged

            check_file(path, self._catalog.files[name])
            for problem in self._problems(name, path):
                raise damaged(path, problem)
            self._checked.add(name)
        return path

    def _problems(self, name: str, path: Path) -> list[str]:
        """What is wrong with the contents of a file whose bytes are as they were written."""
        from penstock.store import check_index

        catalog = self._catalog
        n = catalog.num_vertices
        for direction in get_args(Direction):
            if name == f"{direction}.pages.npy":
                stats = catalog.directions[direction]
                table = self._array(path, stats.num_pages, PAGE_TABLE_DTYPE)
                return check_index.table_problems(table, stats, n)
            if name == f"{direction}.degrees.npy":
                degrees = self._array(path, n, VID)
                table = self.load(f"{direction}.pages.npy")
                return check_index.degree_problems(degrees, table, catalog.directions[direction])
        if name == catalog.order_file:
            return check_index.order_problems(self._array(path, n, VID))
        if catalog.ids.kind == "string":
            return check_index.string_problems(path, n)
        return check_index.id_problems(self._array(path, n, np.dtype("<i8"), np.dtype("<u8")))

    def _array(self, path: Path, length: int, *dtypes: np.dtype[Any]) -> Array:
        """The array in a file, which must have this length and one of these types."""
        array = load_index(path)
        if array.shape != (length,) or array.dtype not in dtypes:
            raise FormatError(
                f"{path}: is {array.dtype} {array.shape}, expected {dtypes[0]} ({length},)"
            )
        return array


def load_index(path: Path) -> Array:
    """The array in a ``.npy`` file, mapped into memory, not read."""
    check_regular(path)
    try:
        array: Array = parse(lambda: np.lib.format.open_memmap(path, mode="r"))
    except Exception as error:
        # What NumPy raises for a damaged header is not its promise. An array without entries has
        # no bytes that could be mapped.
        with suppress(Exception), path.open("rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
            if array.size == 0:
                return array
        raise CorruptionError(f"{path}: cannot be read: {error}") from None
    return array


def _map_strings(path: Path) -> pa.ChunkedArray:
    import pyarrow as pa

    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.read_all().column(0)
