"""Small graph directories for tests, and ways to damage them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.ingest.build import build
from penstock.ingest.options import BuildOptions
from penstock.protocols import Source
from penstock.store.catalog import FILE_NAME, Catalog, DirectionStats, IdSpec, read_catalog
from penstock.store.check import check_graph
from penstock.store.folder import GraphFolder, file_record
from penstock.store.graph import Graph
from penstock.store.layout import Column, PageSpec, make_layout
from penstock.store.packer import MemorySink, Packer
from penstock.store.page import checksum
from penstock.store.slotted import place
from penstock.types import Adjacency, EdgeChunk, Names

TAG = 0x0123456789ABCDEF


def names_of(words: list[str]) -> Names:
    parts = [word.encode() for word in words]
    length = np.array([len(part) for part in parts], np.int64)
    data = np.frombuffer(b"".join(parts), np.uint8)
    return Names(data, np.cumsum(length) - length, length)


def source_of(
    src: Any, dst: Any, columns: dict[str, Any] | None = None, weight: str | None = None
) -> Source:
    """An input that gives these edges; ids are numbers or strings."""
    strings = len(src) > 0 and isinstance(src[0], str)
    columns = {name: np.asarray(values) for name, values in (columns or {}).items()}
    if strings:
        chunk = EdgeChunk(names_of(list(src)), names_of(list(dst)), columns)
    else:
        chunk = EdgeChunk(np.asarray(src, np.uint64), np.asarray(dst, np.uint64), columns)

    def chunks(advance: Any) -> Iterator[EdgeChunk]:
        yield chunk

    return Source(
        chunks, len(src), "edges", "string" if strings else "int",
        columns={name: values.dtype for name, values in columns.items()}, weight=weight,
    )  # fmt: skip


def build_store(
    path: Path | None, src: Any, dst: Any, columns: dict[str, Any] | None = None,
    weight: str | None = None, **options: Any,
) -> Graph:  # fmt: skip
    """A graph made the way users make them."""
    settings = BuildOptions(**{"memory": 1 << 28, **options})
    return build(source_of(src, dst, columns, weight), path, settings)


def transposed(lists: Adjacency) -> Adjacency:
    """In-lists from out-lists (or the other way round) of all vertices."""
    owners = np.repeat(np.arange(len(lists.degrees), dtype=np.uint32), lists.degrees)
    order = np.lexsort((owners, lists.neighbours))
    degrees = np.bincount(lists.neighbours, minlength=len(lists.degrees)).astype(np.uint32)
    columns = {name: values[order] for name, values in lists.columns.items()}
    return Adjacency(0, degrees, owners[order], columns)


def pack(
    spec: PageSpec, parts: list[Adjacency], direction: str = "out", first_vids: Any = None
) -> tuple[list[np.ndarray], np.ndarray, DirectionStats, np.ndarray]:
    """Pages, page table, statistics and degrees of lists that come in these parts."""
    sink = MemorySink()
    degrees: list[np.ndarray] = [np.empty(0, np.uint32)]
    layout = make_layout(spec, first_vids)
    packer = Packer(spec, layout, direction, TAG, sink, lambda d: degrees.append(d.copy()))
    for part in parts:
        packer.add(part)
    table, stats = packer.finish()
    return sink.pages, table, stats, np.concatenate(degrees)


def first_vids_of(degrees: np.ndarray, spec: PageSpec) -> np.ndarray:
    return place(iter([degrees]), spec)[0].astype(np.uint32)


def write_store(
    path: Path, lists: Adjacency, *, layout: str = "banded", directed: bool = True,
    weight: str | None = None, page_bytes: int = 4096, stripes: tuple[Path, ...] = (),
    overwrite: bool = False, directions: tuple[str, ...] = ("out", "in"), **catalog_fields: Any,
) -> Catalog:  # fmt: skip
    """A graph directory with pages smaller than a build would make, from sorted lists."""
    n = len(lists.degrees)
    columns = tuple(Column(name, values.dtype) for name, values in lists.columns.items())
    banded = layout == "banded"
    spec = PageSpec(
        layout, page_bytes, n, columns, (2,) if banded else (), 0 if banded else 2,
        0 if banded else 2,
    )  # fmt: skip
    catalog = Catalog(
        tag=TAG, num_vertices=n, num_edges=len(lists.neighbours), directed=directed,
        columns=columns, weight=weight, vertex_order="degree", neighbour_order="id",
        rules={"duplicates": "last", "self_loops": "keep"}, ids=IdSpec("int", 0, "ids.npy"),
        order_file="vid_of_rank.npy", layout=layout, page_bytes=page_bytes, bands=spec.bands,
        p=spec.p, q=spec.q, num_stripes=1 + len(stripes), directions={},
    )  # fmt: skip
    with GraphFolder(path, stripes, overwrite=overwrite) as folder:
        folder.save("ids.npy", np.arange(n, dtype=np.int64) * 3)
        folder.save("vid_of_rank.npy", np.arange(n, dtype=np.uint32)[::-1].copy())
        for direction in directions if directed else ("out",):
            mine = lists if direction == "out" else transposed(lists)
            firsts = None if banded else first_vids_of(mine.degrees, spec)
            sink = folder.page_sink(direction)
            keep = folder.array_writer(f"{direction}.degrees.npy", np.uint32, n)
            packer = Packer(spec, make_layout(spec, firsts), direction, TAG, sink, keep)
            packer.add(mine)
            table, catalog.directions[direction] = packer.finish()
            folder.save(f"{direction}.pages.npy", table)
        if not directed:
            owners = np.repeat(np.arange(n), lists.degrees)
            loops = int((owners == lists.neighbours).sum())
            edges = (len(lists.neighbours) + loops) // 2
            catalog = replace(catalog, num_edges=edges)
        return folder.commit(replace(catalog, **catalog_fields))


def random_lists(n: int, most: int, seed: int, *, weighted: bool = False) -> Adjacency:
    """Sorted lists of random length without repeats."""
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, min(most, n) + 1, n).astype(np.uint32)
    lists = [np.sort(rng.choice(n, d, replace=False)) for d in degrees]
    neighbours = np.concatenate([np.empty(0, np.int64), *lists]).astype(np.uint32)
    columns = {"weight": rng.random(len(neighbours), np.float32)} if weighted else {}
    return Adjacency(0, degrees, neighbours, columns)


def all_files(folder: Path) -> list[Path]:
    """The files of a graph directory, those of far stripes included."""
    found = [p for p in folder.iterdir() if p.is_file()]
    for stripe in folder.glob("stripe.*"):
        found += [p for p in stripe.iterdir() if p.is_file()]
    return sorted(found)


def flip(path: Path, at: int, mask: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ mask]))


def change_page(path: Path, index: int, page_bytes: int, change: Any, *, seal: bool = True) -> None:
    """Let ``change`` edit a page in its file; its checksum is made right again if ``seal``."""
    pages = np.fromfile(path, np.uint8)
    page = pages[index * page_bytes : (index + 1) * page_bytes]
    change(page)
    if seal:
        page[:8] = np.frombuffer(checksum(page[8:]).to_bytes(8, "little"), np.uint8)
    pages.tofile(path)


def change_index(folder: Path, name: str, change: Any) -> None:
    """Let ``change`` edit an index array; the catalog's checksums are made right again."""
    array = np.load(folder / name)
    changed = change(array)
    array = array if changed is None else changed
    np.save(folder / name, array)
    catalog = read_catalog(folder)
    files = {**catalog.files, name: file_record(folder / name)}
    (folder / FILE_NAME).write_text(replace(catalog, files=files).to_json())


def change_catalog(folder: Path, **fields: Any) -> None:
    (folder / FILE_NAME).write_text(replace(read_catalog(folder), **fields).to_json())


def problems(folder: Path) -> list[str]:
    return [str(problem) for problem in check_graph(folder, threads=1).problems]


def no_problem_but(folder: Path, words: str) -> None:
    """All problems that are found have these words."""
    found = problems(folder)
    assert found
    assert all(words in each for each in found), found
