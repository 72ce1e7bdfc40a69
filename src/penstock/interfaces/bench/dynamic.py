"""The suite ``dynamic``: how the rows of each experiment are shown."""

from __future__ import annotations

from penstock.interfaces.bench import dynamic_experiments as experiments
from penstock.interfaces.bench import dynamic_live as live
from penstock.interfaces.bench import dynamic_pictures as pictures
from penstock.interfaces.bench.dynamic_runs import CSR
from penstock.interfaces.bench.dynamic_workbench import Dynamic
from penstock.interfaces.bench.suite import Cells, Experiment, Row, Suite, as_time, grouped


def as_rate(rate: float) -> str:
    """
    >>> as_rate(12_345_678), as_rate(4_560)
    ('12.3 M/s', '0.00456 M/s')
    """
    return f"{rate / 1e6:.3g} M/s"


def as_distance(value: float | None) -> str:
    """
    >>> as_distance(1.234), as_distance(None)
    ('1.23', '-')
    """
    return "-" if value is None else f"{value:.2f}"


def _headline(facts: Row) -> str:
    return (
        f"RMAT scale {facts['scale']}: {facts['num_requests']:,} requests, both directions, for "
        f"{facts['num_edges']:,} edges, {facts['batch']:,} at a time; {facts['threads']} threads, "
        f"best of {facts['repeat']}"
    )


def _construction_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("store", "requests", "rate", "first batch", "last batch", "edges")]
    for name, mine in grouped(rows, "store"):
        requests, seconds = (sum(row[key] for row in mine) for key in ("requests", "seconds"))
        whole = pictures.whole_batches(mine)
        ends = [as_rate(row["requests"] / row["seconds"]) for row in (whole[0], whole[-1])]
        edges = f"{mine[-1]['num_edges']:,}"
        found.append((name, f"{requests:,}", as_rate(requests / seconds), *ends, edges))
    return found


def _rates_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("edges", "deletions", "store", "rate", "edges left", "bytes of an edge")]
    return found + [
        (
            "unique" if row["unique"] else "repeated",
            f"{row['deletions']:.0%}",
            row["store"],
            as_rate(row["rate"]),
            f"{row['num_edges']:,}",
            f"{row['bytes_per_edge']:.1f}",
        )
        for row in rows
    ]


def _order_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("store", "random", "sorted", "times faster")]
    for name, mine in grouped(rows, "store"):
        by = {row["order"]: row["rate"] for row in mine}
        ratio = f"{by['sorted'] / by['random']:.2f}x"
        found.append((name, as_rate(by["random"]), as_rate(by["sorted"]), ratio))
    return found


def _probes_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("store", "table", "average", "at most", "worst table", "longest")]
    for (store, table), mine in _by_table(rows):
        if mine[0]["tables"] is not None:
            worst = max(row["average"] for row in mine if row["tables"])
            total = sum(row["tables"] for row in mine)
            below = mine[0]["tables"] / total
            found.append((store, f"{total:,} edge chunks", f"{below:.1%} below 1", "-",
                          f"below {worst + 1:.0f}", "-"))  # fmt: skip
            continue
        averages = [row["average"] for row in mine if row["average"] is not None]
        longest = max((row["longest"] or 0 for row in mine), default=0)
        ends = (mine[-1]["average"], max(averages, default=None), mine[-1]["worst_average"])
        found.append((store, table, *map(as_distance, ends), str(longest) if longest else "-"))
    return found


def _by_table(rows: list[Row]) -> list[tuple[tuple[str, str], list[Row]]]:
    return [
        ((store, table), same)
        for store, mine in grouped(rows, "store")
        for table, same in grouped(mine, "table")
    ]


def _algorithms_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("algorithm", "store", "threads", "time", "of CSR")]
    for name, mine in grouped(rows, "algorithm"):
        plain = next(row["seconds"] for row in mine if row["store"] == CSR)
        found += [
            (name, row["store"], str(row["threads"]), as_time(row["seconds"]),
             f"{row['seconds'] / plain:.2f}x")
            for row in mine
        ]  # fmt: skip
    return found


def _latency_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("store", *(f"{each} ns" for each in experiments.LATENCIES), "350 / 100")]
    for name, mine in grouped(rows, "store"):
        by = {row["nanoseconds"]: row["seconds"] for row in mine}
        found.append((name, *map(as_time, by.values()), f"{by[350] / by[100]:.2f}x"))
    return found


def _streams_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("streams", "deletions", "rate", "edges left")]
    return found + [
        (str(row["streams"]), f"{row['deletions']:.0%}", as_rate(row["rate"]),
         f"{row['num_edges']:,}")
        for row in rows
    ]  # fmt: skip


def _durable_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("rows of a batch", "streams", "synced", "rate", "batches a second")]
    return found + [
        (f"{row['batch']:,}", str(row["streams"]), row["sync"], as_rate(row["rate"]),
         f"{row['rate'] / row['batch']:.1f}")
        for row in rows
    ]  # fmt: skip


def _replay_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("stream", "edges", "store", "requests", "rate", "edges left")]
    return found + [
        (row["stream"], "unique" if row["unique"] else "repeated", row["store"],
         f"{row['requests']:,}", as_rate(row["rate"]), f"{row['num_edges']:,}")
        for row in rows
    ]  # fmt: skip


def _maintained_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [
        ("algorithm", "edges", "a batch", "of it", "slowest", "anew", "times faster")
    ]
    return found + [
        (row["algorithm"], f"{row['edges']:,} {row['changes']}", as_time(row["seconds"]),
         as_time(row["follows"]), as_time(row["slowest"]), as_time(row["recomputed"]),
         f"{row['times']:.1f}x")
        for row in rows
    ]  # fmt: skip


SUITE: Suite[Dynamic] = Suite(
    "dynamic",
    _headline,
    {
        "construction": Experiment(
            "Unique insertion with 5% deletions, batch after batch, on one thread (Figure 4.6)",
            experiments.construction,
            _construction_table,
            {"construction": pictures.draw_construction},
        ),
        "probes": Experiment(
            "Average probe distances, the same requests (Figures 4.7 and 4.8)",
            experiments.probes,
            _probes_table,
            {"probes": pictures.draw_probes},
        ),
        "rates": Experiment(
            "Insertion with more and more deletions, on all threads (Figures 4.9 to 4.12)",
            experiments.rates,
            _rates_table,
            {"rates": pictures.draw_rates},
        ),
        "streams": Experiment(
            "Several streams of requests to one live graph at once (section 4.6.5)",
            live.streams,
            _streams_table,
            {"streams": pictures.draw_streams},
        ),
        "replay": Experiment(
            "Real streams (section 4.6.5; they come from --data)", live.replay, _replay_table, {}
        ),
        "algorithms": Experiment(
            "BFS and a superstep of PageRank on what was inserted (Figures 4.18 and 4.19)",
            experiments.algorithms,
            _algorithms_table,
            {"algorithms": pictures.draw_algorithms},
        ),
        "maintained": Experiment(
            "Answers that follow the changes, against computing them anew (section 4.8)",
            live.maintained,
            _maintained_table,
            {"maintained": pictures.draw_maintained},
        ),
        "durable": Experiment(
            "Unique insertion into a graph on disk; synced before it is acknowledged, or never",
            live.durable,
            _durable_table,
            {"durable": pictures.draw_durable},
        ),
        "latency": Experiment(
            "Slower memory, emulated: seconds of the same requests (section 4.10)",
            experiments.latency,
            _latency_table,
            {"latency": pictures.draw_latency},
        ),
        "order": Experiment(
            "Requests in random order and sorted (section 4.12)",
            experiments.order,
            _order_table,
            {"order": pictures.draw_order},
        ),
    },
)
