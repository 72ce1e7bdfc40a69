"""Building: against GAPBS from the same text, under memory caps, and how much disk it takes.

    python benchmarks/build.py text --gapbs DIR     # kron20 as text, both directions
    python benchmarks/build.py capped --scale 24 --cap 1GiB
    python benchmarks/build.py capped --scale 22 --cap 512MiB --memory 256MB
    python benchmarks/build.py capped --scale 27 --cap 2GiB     # some minutes, 25 GB of disk
    python benchmarks/build.py spooled --scale 24 --cap 1GiB    # from Parquet: rows are copied

GAPBS (`--gapbs DIR`: a folder with its compiled `bfs`) reads the text and builds the lists of both
directions in memory; Penstock also orders by degree, writes them to disk and syncs them. Times are
the smallest of several, taken in turns. Caps need root.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from common import checked, drop_caches, folder_bytes, penstock, run, table, work_folder

from penstock.config import format_bytes, parse_bytes
from penstock.ingest.generate import rmat


def write_text(path: Path, scale: int, *, ordered: bool) -> None:
    """The edges of an RMAT graph as text: as they are generated, or ordered by source."""
    if path.exists():
        return
    print(f"writing {path} ...", file=sys.stderr)
    chunks = list(rmat(scale, threads=2).chunks(lambda amount: None))
    edges = pa.table({
        "src": np.concatenate([chunk.src for chunk in chunks]),
        "dst": np.concatenate([chunk.dst for chunk in chunks]),
    })  # fmt: skip
    if ordered:
        edges = edges.sort_by([("src", "ascending"), ("dst", "ascending")])
    options = pa_csv.WriteOptions(include_header=False, delimiter=" ")
    pa_csv.write_csv(edges, path, options)


def text(folder: Path, arguments: argparse.Namespace) -> None:
    """Text to graph, beside GAPBS."""
    for name, ordered in (("generated", False), ("ordered", True)):
        edges = folder / f"kron{arguments.scale}.{name}.el"
        write_text(edges, arguments.scale, ordered=ordered)
        _compare(edges, folder / "built.penstock", arguments)


def _compare(edges: Path, target: Path, arguments: argparse.Namespace) -> None:
    command = penstock("build", str(edges), str(target), "--overwrite", "--json")
    run(command)  # compiles the kernels, and warms the page cache for both
    ours, inside, theirs = [], [], []
    for _ in range(arguments.repeat):
        result = run(command)
        ours.append(result.seconds)
        inside.append(float(checked(result)["seconds"]))  # type: ignore[arg-type]
        if arguments.gapbs:
            peer = run([f"{arguments.gapbs}/bfs", "-f", str(edges), "-n", "1"])
            times = re.findall(r"(?:Read|Build) Time:\s+([\d.]+)", peer.stdout)
            theirs.append(sum(float(t) for t in times))
    print(f"{edges.name}: {format_bytes(edges.stat().st_size)}")
    best = min(theirs, default=float("nan"))
    table([
        ("", "seconds", "ratio"),
        ("GAPBS, read and build", best, 1.0),
        ("penstock build, the work", min(inside), min(inside) / best),
        ("penstock build, whole process", min(ours), min(ours) / best),
    ])  # fmt: skip


def capped(folder: Path, arguments: argparse.Namespace) -> None:
    """Generate and build under a cap."""
    target = folder / f"rmat{arguments.scale}.penstock"
    command = penstock(
        "generate", arguments.kind, str(target), "--scale", str(arguments.scale), "--overwrite",
        "--json",
    )  # fmt: skip
    _measure(folder, target, command, arguments)


def spooled(folder: Path, arguments: argparse.Namespace) -> None:
    """Build from a Parquet file under a cap: the rows have to be kept between the passes."""
    edges = folder / f"kron{arguments.scale}.parquet"
    if not edges.exists():
        print(f"writing {edges} ...", file=sys.stderr)
        graph = folder / "source.penstock"
        checked(run(penstock(
            "generate", "rmat", str(graph), "--scale", str(arguments.scale), "--duplicates", "keep",
            "--directions", "out", "--overwrite", "--json",
        )))  # fmt: skip
        checked(run(penstock("export", str(graph), str(edges), "--json")))
    target = folder / "built.penstock"
    command = penstock("build", str(edges), str(target), "--overwrite", "--json")
    _measure(folder, target, command, arguments)


def _measure(folder: Path, target: Path, command: list[str], arguments: argparse.Namespace) -> None:
    if arguments.memory:
        command += ["--memory", arguments.memory]
    drop_caches()
    building = folder / f".{target.name}.building"
    result = run(command, cap=parse_bytes(arguments.cap, "cap"), watch=building)
    answer = checked(result)
    size = folder_bytes(target)
    edges = int(answer["num_edges"])  # type: ignore[call-overload]
    table([
        ("edges", f"{edges:,}"),
        ("seconds", result.seconds),
        ("million edges a second", edges / result.seconds / 1e6),
        ("cap", arguments.cap),
        ("peak memory of the process", format_bytes(float(answer["peak_memory_bytes"]))),  # type: ignore[arg-type]
        ("finished store", format_bytes(size)),
        ("most disk while building", format_bytes(result.disk_peak_bytes)),
        ("ratio of the two", result.disk_peak_bytes / size),
    ])  # fmt: skip
    if not arguments.keep:
        run(["rm", "-rf", str(target)])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["text", "capped", "spooled"])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--kind", default="rmat")
    parser.add_argument("--gapbs")
    parser.add_argument("--cap", default="1GiB")
    parser.add_argument("--memory")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", help="where to work; a temporary folder unless given")
    parser.add_argument("--keep", action="store_true", help="leave the graph there")
    arguments = parser.parse_args()
    with work_folder(arguments.folder) as folder:
        {"text": text, "capped": capped, "spooled": spooled}[arguments.what](folder, arguments)


if __name__ == "__main__":
    main()
