"""PageRank over processes of this machine, beside what people use on clusters today.

    python benchmarks/hosts_peers.py --scale 18 --workers 4 --spark python3

10 iterations on a directed RMAT graph: ours over ``--workers`` ranks of one thread; on as many Dask
workers of one thread, with Dask's arrays alone (ranks of sources are taken by index, and counted by
target), with the same arrays and the ranks as one NumPy vector that is sent to every worker, and
with rows of a SciPy matrix; and, if ``--spark`` names a Python that has pyspark, with Spark's
DataFrames (join, group, sum) on as many threads. Times leave out starting processes and loading
edges; the best of ``--repeat`` runs counts, of Spark's one. Results are compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from common import table, work_folder

import penstock as ps

ITERATIONS, ALPHA = 10, 0.85

SPARK = """
import json, sys, time
from pyspark.sql import SparkSession, functions as F
folder, workers, iterations, alpha, n = sys.argv[1], *map(float, sys.argv[2:])
spark = (SparkSession.builder.master(f"local[{int(workers)}]")
    .config("spark.ui.enabled", False).config("spark.driver.memory", "8g")
    .config("spark.sql.shuffle.partitions", 2 * int(workers)).getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
edges = spark.read.parquet(folder + "/edges.parquet")
degrees = edges.groupBy("src").count().withColumnRenamed("count", "degree")
edges = edges.join(degrees, "src").cache()
edges.count()
vertices = spark.range(int(n)).withColumnRenamed("id", "v").join(
    degrees.withColumnRenamed("src", "v"), "v", "left").cache()
vertices.count()
began = time.perf_counter()
ranks = vertices.select("v", "degree", F.lit(1.0 / n).alias("rank")).cache()
for _ in range(int(iterations)):
    dangling = ranks.where(F.col("degree").isNull()).agg(F.sum("rank")).first()[0] or 0.0
    sums = (edges.join(ranks.select(F.col("v").alias("src"), "rank"), "src")
        .groupBy("dst").agg(F.sum(F.col("rank") / F.col("degree")).alias("sum")))
    found = vertices.join(sums.withColumnRenamed("dst", "v"), "v", "left").select("v", "degree",
        ((1 - alpha + alpha * dangling) / n + alpha * F.coalesce("sum", F.lit(0.0))).alias("rank")
        ).localCheckpoint()
    ranks.unpersist()
    ranks = found
ranks.count()
seconds = time.perf_counter() - began
top = ranks.orderBy(F.desc("rank")).limit(10).collect()
print(json.dumps({"seconds": seconds, "top": [[row.v, row.rank] for row in top]}))
"""


def ours(graph: ps.Graph, workers: int, repeat: int) -> tuple[float, Any]:
    """Over ranks that stay."""
    best = np.inf
    with ps.Hosts(workers, threads=1) as hosts:
        for _ in range(repeat + 1):  # the first loads and compiles
            begin = time.perf_counter()
            found = ps.pagerank(graph, tol=0, max_iter=ITERATIONS, hosts=hosts)
            values = found.values
            seconds = time.perf_counter() - begin
            best = min(best, seconds)
    return best, values


@contextmanager
def dask_workers(count: int) -> Iterator[Any]:
    """A client of Dask workers of one thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _taken(places: Any, x: Any) -> Any:
    return x[places]


def dask_arrays(graph: ps.Graph, workers: int, repeat: int) -> tuple[float, Any]:
    """Nothing but Dask's arrays."""
    import dask.array as da

    src, dst = graph.to_edges()[:2]
    n = graph.num_vertices
    out = np.bincount(src, minlength=n)
    size, part = -(-len(src) // (2 * workers)), -(-n // workers)
    best = np.inf
    with dask_workers(workers):
        ends = [da.from_array(each, chunks=size).persist() for each in (src, dst)]
        degrees = da.from_array(np.maximum(out, 1), chunks=part).persist()
        without = da.from_array(out == 0, chunks=part).persist()
        for _ in range(repeat):
            begin = time.perf_counter()
            x = da.full(n, 1 / n, chunks=part)
            for _ in range(ITERATIONS):
                given = (x / degrees)[ends[0]]
                sums = da.bincount(ends[1], weights=given, minlength=n).rechunk(part)
                lost = (x * without).sum()
                x = ((1 - ALPHA + ALPHA * lost) / n + ALPHA * sums).persist()
            values = x.compute()
            best = min(best, time.perf_counter() - begin)
    return best, values


def dask_vector(graph: ps.Graph, workers: int, repeat: int) -> tuple[float, Any]:
    """The ends of edges as Dask's arrays, and a vector that every worker has."""
    import dask.array as da

    src, dst = graph.to_edges()[:2]
    n = graph.num_vertices
    out = np.bincount(src, minlength=n)
    size = -(-len(src) // (2 * workers))
    best = np.inf
    with dask_workers(workers) as client:
        ends = [da.from_array(each, chunks=size).persist() for each in (src, dst)]
        for _ in range(repeat):
            begin = time.perf_counter()
            x = np.full(n, 1 / n)
            for _ in range(ITERATIONS):
                shared = client.scatter(x / np.maximum(out, 1), broadcast=True)
                given = da.map_blocks(_taken, ends[0], shared, dtype=np.float64)
                sums = da.bincount(ends[1], weights=given, minlength=n).compute()
                x = (1 - ALPHA + ALPHA * x[out == 0].sum()) / n + ALPHA * sums
            best = min(best, time.perf_counter() - begin)
    return best, x


def _product(block: Any, x: Any) -> Any:
    return block @ x


def dask_matrix(graph: ps.Graph, workers: int, repeat: int) -> tuple[float, Any]:
    """Rows of a SciPy matrix on the workers, and a vector as a Dask array."""
    import dask
    import dask.array as da
    import scipy.sparse as sp

    src, dst = graph.to_edges()[:2]
    n = graph.num_vertices
    out = np.bincount(src, minlength=n)
    weights = (1.0 / np.maximum(out, 1))[src].astype(np.float32)
    matrix = sp.csr_matrix((weights, (dst, src)), shape=(n, n))
    cuts = np.linspace(0, n, 2 * workers + 1).astype(int)
    best = np.inf
    with dask_workers(workers) as client:
        blocks = [client.scatter(matrix[a:b]) for a, b in pairwise(cuts)]
        ends = da.from_array((out == 0).astype(np.float32), chunks=n // workers).persist()
        for _ in range(repeat):
            begin = time.perf_counter()
            x = da.full(n, 1 / n, dtype=np.float32, chunks=n // workers).persist()
            for _ in range(ITERATIONS):
                whole = dask.delayed(np.asarray)(x)
                parts = [
                    da.from_delayed(dask.delayed(_product)(block, whole), (b - a,), np.float32)
                    for block, (a, b) in zip(blocks, pairwise(cuts), strict=True)
                ]
                lost = (x * ends).sum()
                x = ((1 - ALPHA + ALPHA * lost) / n + ALPHA * da.concatenate(parts)).persist()
            values = x.compute()
            best = min(best, time.perf_counter() - begin)
    return best, values


def spark(graph: ps.Graph, workers: int, python: str) -> tuple[float, Any]:
    """Spark's DataFrames, in a process of their own; the largest ranks and whose they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    src, dst = graph.to_edges()[:2]
    with tempfile.TemporaryDirectory() as folder:
        edges = pa.table({"src": src.astype(np.int64), "dst": dst.astype(np.int64)})
        pq.write_table(edges, Path(folder) / "edges.parquet")
        words = [folder, workers, ITERATIONS, ALPHA, graph.num_vertices]
        done = subprocess.run(
            [python, "-c", SPARK, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True
        )
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["seconds"], answer["top"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--spark", help="a Python with pyspark")
    parser.add_argument("--folder", help="where graphs are kept; a temporary folder by default")
    given = parser.parse_args()
    with work_folder(given.folder) as folder:
        path = folder / f"plain{given.scale}.penstock"
        graph = ps.open(path) if path.exists() else ps.generate("rmat", path, scale=given.scale)
        mine, values = ours(graph, given.workers, given.repeat)
        rows: list[tuple[object, ...]] = [("", "seconds", "times ours")]
        rows.append((f"penstock, {given.workers} ranks", mine, 1.0))
        for name, call in (
            ("arrays", dask_arrays),
            ("arrays and a vector", dask_vector),
            ("and SciPy", dask_matrix),
        ):
            seconds, found = call(graph, given.workers, given.repeat)
            np.testing.assert_allclose(found, values, rtol=2e-3, atol=1e-9)
            rows.append((f"Dask {name}, {given.workers} workers", seconds, seconds / mine))
        if given.spark is not None:
            seconds, top = spark(graph, given.workers, given.spark)
            for vertex, rank in top:
                np.testing.assert_allclose(values[vertex], rank, rtol=1e-3)
            rows.append((f"Spark DataFrames, {given.workers} threads", seconds, seconds / mine))
    table(rows)


if __name__ == "__main__":
    main()
