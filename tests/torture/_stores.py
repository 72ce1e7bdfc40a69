"""Small stores of each kind, and everything that reads them: for attacks on their bytes.

Files are at most 64 KB, pages 4,096 bytes, so that a store has several pages, a list longer than a
page, and few enough bytes to change each of them.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PAGE_BYTES = 4096
N = 64
#: Of every store; what runs may take is refused beyond it.
MEMORY = "64MB"

Answer = str
Run = Callable[[Path], Answer]


def _edges() -> tuple[Any, Any, Any]:
    """A connected graph with one hub, whose list needs several pages if edges are often kept."""
    rng = np.random.default_rng(5)
    hub = np.stack([np.zeros(N - 1, np.int64), np.arange(1, N)])
    path = np.stack([np.arange(N - 1), np.arange(1, N)])
    others = rng.integers(0, N, (2, 2 * N))
    pairs = np.concatenate([hub, path, others, [[7, 7], [9, 9]]], axis=1)
    weights = rng.integers(1, 9, pairs.shape[1]).astype(np.float32)
    return pairs[0], pairs[1], weights


def _static(folder: Path, **options: Any) -> None:
    import penstock as ps
    from penstock.ingest import options as build_options

    build_options.MIN_PAGE_BYTES = PAGE_BYTES
    source, target, weights = _edges()
    id_of = options.pop("id_of", lambda v: v * 3 + 1)
    repeat = options.pop("repeat", 1)
    # The edges of the hub are repeated, so that its list takes several pages.
    rows = np.concatenate([np.arange(len(source)), np.tile(np.arange(N - 1), repeat - 1)])
    data = [np.array([id_of(int(v)) for v in ends[rows]]) for ends in (source, target)]
    if options.get("weights"):
        data.append(weights[rows])
    if options.get("ids") == "string":
        data[:2] = [ends.astype(object) for ends in data[:2]]
    ps.build(tuple(data), folder / "g", memory=MEMORY, page_size=PAGE_BYTES, threads=1, **options)


def _striped(folder: Path) -> None:
    (folder / "second").mkdir()
    _static(folder, stripes=[folder / "second"], duplicates="keep", repeat=70)


def _live(folder: Path, *, compact: bool, ids: str = "int") -> None:
    import penstock as ps
    from penstock.dynamic import merge_compact

    merge_compact.default_page_bytes = lambda _: PAGE_BYTES  # type: ignore[assignment]
    source, target, weights = _edges()
    name = (lambda v: f"n{v:03}") if ids == "string" else (lambda v: int(v))
    ends = [[name(v) for v in each] for each in (source, target)]
    half = len(source) // 2
    with ps.DynamicGraph(
        folder / "g", edge_properties={"weight": "float32"}, vertex_properties={"size": "int32"},
        reverse=True, ids=ids, threads=1,
    ) as graph:  # fmt: skip
        graph.add_edges(ends[0][:half], ends[1][:half], {"weight": weights[:half]})
        graph.vertex_properties.set("size", [name(0), name(5)], [3, 4])
        if compact:
            graph.compact()
        graph.add_edges(ends[0][half:], ends[1][half:], {"weight": weights[half:]})
        graph.delete_edges(ends[0][:3], ends[1][:3])


def _columns(folder: Path) -> None:
    import penstock as ps

    _static(folder, directed=False)
    ps.scan(ps.open(folder / "g"), epsilon=0.3, mu=2, memory=MEMORY)


def _checkpoints(folder: Path) -> None:
    """A store, and the last checkpoint of each algorithm that makes some."""
    import penstock as ps
    from penstock.engine.checkpoint import FILE_NAME, Checkpoint

    _static(folder, weights=True)
    # Of runs that finish, too, here and in :func:`read`.
    Checkpoint.clear = lambda self: None  # type: ignore[method-assign]
    for name in ALGORITHMS:
        for how in ("", " streamed"):
            _run(ps.open(folder / "g"), "checkpoint", f"{name}{how}", folder, resume=False)
    for each in (folder / "checkpoints").iterdir():
        if not (each / FILE_NAME).exists():
            shutil.rmtree(each)


#: What makes each kind of store in an empty folder, as ``g`` and what belongs beside it.
KINDS: dict[str, Callable[[Path], None]] = {
    "banded": _static,
    "slotted": lambda folder: _static(folder, layout="slotted", weights=True),
    "weighted": lambda folder: _static(folder, weights=True, directed=False),
    "strings": lambda folder: _static(folder, ids="string", id_of=lambda v: f"vé{v}"),
    "striped": _striped,
    "input order": lambda folder: _static(folder, neighbour_order="input", id_of=lambda v: v),
    "multigraph": lambda folder: _static(folder, duplicates="keep", repeat=70),
    "live": lambda folder: _live(folder, compact=False),
    "live on base": lambda folder: _live(folder, compact=True),
    "live strings": lambda folder: _live(folder, compact=True, ids="string"),
    "columns": _columns,
    "checkpoint": _checkpoints,
}


def id_of(kind: str, vertex: int) -> Any:
    """The id of a vertex of :func:`_edges` in a store."""
    if kind in ("live", "live on base", "input order"):
        return vertex
    if kind == "strings":
        return f"vé{vertex}"
    return f"n{vertex:03}" if kind == "live strings" else vertex * 3 + 1


def prepared(kind: str, workspace: Path) -> Path:
    """A store of a kind, made once for each worker; not to be changed."""
    folder = workspace / "made" / kind
    if not folder.exists():
        making = workspace / "made" / f"{kind} making"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        KINDS[kind](making)
        making.rename(folder)
        _point_to(folder)
    return folder


def copied(kind: str, workspace: Path) -> Path:
    """A copy of a store, to be changed."""
    target = workspace / "changed" / kind
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(prepared(kind, workspace), target, symlinks=True)
    _point_to(target)
    return target


def _point_to(folder: Path) -> None:
    """Have links of a store that was moved or copied lead to its own stripes."""
    link = folder / "g" / "stripe.1"
    if link.is_symlink():
        stripe = next((folder / "second").iterdir())
        link.unlink()
        link.symlink_to(stripe.absolute())


def files_of(folder: Path) -> list[str]:
    """The files of a store that hold something of it, relative to its folder."""
    left_out = ("lock", "stripes.token", "owner.json")
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and not path.name.endswith(left_out)
    )


# What reads a store


def _calls(kind: str) -> dict[str, dict[str, Any]]:
    """Parameters of each of the algorithms."""
    one, two, three = (id_of(kind, v) for v in (0, 5, 40))
    return {
        "betweenness": {"sources": [one, three]},
        "bfs": {"source": three},
        "circuit": {"fixed": {one: 1.0, three: -1.0}, "max_iter": 4, "tol": 0},
        "closeness": {},
        "clustering": {},
        "color": {},
        "connected_components": {},
        "core_number": {},
        "cross_edges": {"a": [one, two], "b": [three]},
        "degree_distribution": {},
        "edge_betweenness": {"sources": [one, three]},
        "egonet": {"source": two},
        "heat": {"initial": {one: 1.0}, "max_iter": 4},
        "induced_subgraph": {"vertices": [one, two, three]},
        "k_core": {"k": 2},
        "k_hop": {"source": three, "k": 2},
        "k_truss": {"k": 3},
        "label_propagation": {},
        "minimum_spanning_forest": {},
        "neural_network": {"inputs": {one: 1.0}, "max_iter": 4},
        "pagerank": {"tol": 0, "max_iter": 3},
        "radius": {"b": 8},
        "rwr": {"source": two, "tol": 0, "max_iter": 3},
        "scan": {"epsilon": 0.4, "mu": 2, "index": None if kind == "columns" else False},
        "sssp": {"source": three},
        "strongly_connected_components": {},
        "triangles": {},
        "truss_number": {},
        "two_hop": {"v": [two]},
    }


ALGORITHMS = tuple(_calls(""))
#: Other readers of a static store, besides the algorithms on it in memory and streamed.
OTHERS = ("edges", "export", "tiers", "compact", "live base")


def readers(kind: str) -> tuple[str, ...]:
    """Everything that reads a store, by name."""
    runs = [f"{name}{how}" for name in ALGORITHMS for how in ("", " streamed")]
    if kind == "checkpoint":
        return tuple(runs)
    if kind.startswith("live"):
        return (*runs, "edges", "export", "replay")
    others = [each for each in OTHERS if each != "tiers" or kind not in ("slotted", "input order")]
    return (*runs, *others)


def read(kind: str, reader: str, folder: Path, scratch: Path) -> Answer:
    """Run a reader on a store; its answer, the same if and only if all values are."""
    if reader in ("replay", "live base"):
        return _read_live(reader, folder)
    if reader == "export":
        return _export(folder, scratch)
    if reader == "tiers":
        return _read_tiers(folder)
    if reader == "compact":
        return _compact(folder, scratch)
    with _opened(folder) as graph:
        if reader == "edges":
            return _digest(*graph.to_edges())
        return _run(graph, kind, reader, folder, resume=kind == "checkpoint")


def _run(graph: Any, kind: str, reader: str, folder: Path, *, resume: bool) -> Answer:
    """An algorithm, in memory or streamed; with a checkpoint if the store has them."""
    import penstock as ps

    name, _, how = reader.partition(" ")
    options: dict[str, Any] = {"memory": MEMORY, "threads": 1, "load": how != "streamed"}
    if kind == "checkpoint":
        place = folder / "checkpoints" / reader
        place.parent.mkdir(exist_ok=True)
        options |= {"checkpoint": place, "checkpoint_every": 1, "resume": resume}
    return _digest_result(getattr(ps, name)(graph, **_calls(kind)[name], **options))


class _opened:  # noqa: N801
    """A graph of any kind, closed at the end if it is live."""

    def __init__(self, folder: Path) -> None:
        import penstock as ps

        self._graph = ps.open(folder / "g")

    def __enter__(self) -> Any:
        return self._graph

    def __exit__(self, *error: object) -> None:
        close = getattr(self._graph, "close", None)
        if close is not None:
            close()


def _read_live(reader: str, folder: Path) -> Answer:
    """Look at a live graph, or at a live graph on top of a static one, list by list."""
    import penstock as ps

    if reader == "replay":
        graph = ps.DynamicGraph(folder / "g", read_only=True, threads=1)
    else:
        graph = ps.DynamicGraph.from_graph(ps.open(folder / "g"), threads=1)
    with graph:
        ids = graph.ids
        lists = [graph.neighbors(each) for each in ids.tolist()]
        sizes = np.array([len(each) for each in lists])
        several = np.concatenate([np.asarray(each) for each in lists] or [ids[:0]])
        return _digest(np.asarray(ids), sizes, several, graph.has_edges(ids[:-1], ids[1:]))


def _export(folder: Path, scratch: Path) -> Answer:
    from penstock.interfaces.export import export

    target = scratch / "exported.parquet"
    target.unlink(missing_ok=True)
    with _opened(folder) as graph:
        export(graph, target)
    import pyarrow.parquet as pq

    table = pq.read_table(target)
    return _digest(*(column.to_numpy() for column in table.columns))


def _compact(folder: Path, scratch: Path) -> Answer:
    """Write a new store of a static graph and some changes."""
    import penstock as ps

    target = scratch / "compacted"
    shutil.rmtree(target, ignore_errors=True)
    with ps.DynamicGraph.from_graph(ps.open(folder / "g"), threads=1) as graph:
        ids = graph.ids
        graph.add_edges(ids[:5], ids[5:10])
        graph.compact(target)
    return _digest(*ps.open(target).to_edges())


def _read_tiers(folder: Path) -> Answer:
    """Every list, read by itself."""
    import penstock as ps
    from penstock.metrics import Metrics
    from penstock.parallel import Workers
    from penstock.stream.arena import Arena
    from penstock.stream.block import BY_PLACE
    from penstock.stream.tiers import TieredLists

    graph = ps.open(folder / "g")
    parts: list[Any] = []

    def work(stream: int, piece: Any) -> None:
        first = 0 if piece.block.first == BY_PLACE else piece.block.first
        assert first == 0
        parts.append(piece.block.neighbours.copy())

    workers = Workers(1)
    arena = Arena(1 << 20, len(graph.catalog.bands))
    lists = TieredLists(graph, "out", workers, Metrics(1), arena=arena, head_edges=2)
    try:
        for v in range(graph.num_vertices):
            lists.visit(np.array([v], np.uint32), work)
        heads = lists.tier.heads
        return _digest(heads.offsets, heads.neighbours, *parts)
    finally:
        lists.close()
        workers.close()


def _digest(*arrays: Any) -> Answer:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        array = np.asarray(array)
        kind = array.astype(str) if array.dtype == object else array
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(kind).tobytes())
    return digest.hexdigest()


def _digest_result(result: Any) -> Answer:
    tables = [result.to_arrow()]
    if getattr(result, "edges", None) is not None:
        tables.append(result.edges.to_arrow())
    arrays = [column.to_numpy() for table in tables for column in table.columns]
    return _digest(*arrays)
