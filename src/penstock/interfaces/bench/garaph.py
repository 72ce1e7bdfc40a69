"""The suite ``garaph``: how the rows of each experiment are shown."""

from __future__ import annotations

from penstock.config import format_bytes
from penstock.interfaces.bench import garaph_devices as devices
from penstock.interfaces.bench import garaph_experiments as experiments
from penstock.interfaces.bench import garaph_pictures as pictures
from penstock.interfaces.bench.garaph_workloads import Garaph
from penstock.interfaces.bench.suite import Cells, Experiment, Row, Suite, as_time, grouped


def _headline(facts: Row) -> str:
    name = facts["graph"] or f"RMAT scale {facts['scale']}"
    return (
        f"{name}: {facts['num_vertices']:,} vertices, {facts['num_edges']:,} edges; a GPU with "
        f"{format_bytes(facts['shared_bytes'])} of shared memory for a block; {facts['threads']} "
        f"threads, best of {facts['repeat']}"
    )


def _pages_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [
        ("vertices by", "copies", "pages", "least rounds", "most", "times fewer", "up to",
         "correlation", "slowest shard"),
    ]  # fmt: skip
    for order, mine in grouped(rows, "order"):
        for replicas, same in grouped(mine, "replicas"):
            rounds = [row["rounds"] for row in same]
            gains = pictures.gains(mine, replicas)
            found.append(
                (
                    order,
                    as_copies(replicas),
                    str(len(same)),
                    f"{min(rounds):,}",
                    f"{max(rounds):,}",
                    f"{sum(gains) / len(gains):.2f}x",
                    f"{max(gains):.2f}x",
                    *(
                        as_number(experiments.correlation(same, name))
                        for name in ("rounds", "slowest_rounds")
                    ),
                )
            )
    return found


def _replication_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [
        ("vertices by", "copies", "average", "shards", "rounds", "per 32 edges", "equation (1)",
         "with counted rounds"),
    ]  # fmt: skip
    return found + [
        (
            row["order"],
            as_copies(row["replicas"]),
            f"{row['mean_replicas']:.1f}",
            f"{row['shards']:,}",
            f"{row['rounds']:,}",
            f"{row['rounds'] / max(row['warps'], 1):.2f}",
            f"{row['modelled']:.4g}",
            f"{row['modelled_by_rounds']:.4g}",
        )
        for row in rows
    ]


def _hybrid_table(rows: list[Row]) -> list[Cells]:
    heads = ("slower", "", "iteration", "active", *pictures.WAY_NAMES.values())
    found: list[Cells] = [(*heads, "worked", "of the best")]
    for slower, mine in grouped(rows, "slower"):
        for name, same in grouped(mine, "program"):
            seconds = {way: [row["seconds"] for row in rows] for way, rows in grouped(same, "way")}
            versus = devices.against_best(same)
            for k, (row, best) in enumerate(versus):
                times = [as_time(seconds[way][k]) for way in devices.WAYS]
                ratio = f"{row['seconds'] / best:.2f}x"
                active = f"{row['active_share']:.1%}"
                found.append((slower, name, str(row["step"]), active, *times, row["worked"], ratio))
            sums = {way: sum(seconds[way]) for way in devices.WAYS}
            ratio = f"{sums[devices.DISPATCHED] / sum(best for _, best in versus):.2f}x"
            times = [as_time(each) for each in sums.values()]
            found.append((slower, name, "all", "", *times, "", ratio))
    return found


def as_copies(replicas: int | None) -> str:
    """What a number of copies is called."""
    return "by shard" if replicas is None else str(replicas)


def as_number(value: float | None) -> str:
    """
    >>> as_number(0.98534), as_number(None)
    ('0.99', '-')
    """
    return "-" if value is None else f"{value:.2f}"


SUITE: Suite[Garaph] = Suite(
    "garaph",
    _headline,
    {
        "pages": Experiment(
            "Rounds of atomic additions of each page, counted (Garaph's Figure 8); correlation of "
            "rounds, and of those of the slowest shard, with the largest degree",
            experiments.pages,
            _pages_table,
            {"pages": pictures.draw_pages},
        ),
        "replication": Experiment(
            "Copies of accumulators, counted and modelled (Garaph's Figure 9)",
            experiments.replication,
            _replication_table,
            {"replication": pictures.draw_replication},
        ),
        "hybrid": Experiment(
            "Two devices of different speed, each iteration (Garaph's Figure 11)",
            devices.hybrid,
            _hybrid_table,
            {"hybrid": pictures.draw_hybrid},
        ),
    },
)
