"""The suite ``netalx``: how the rows of each experiment are shown."""

from __future__ import annotations

from penstock.config import format_bytes
from penstock.interfaces.bench import netalx_experiments as experiments
from penstock.interfaces.bench import netalx_pictures as pictures
from penstock.interfaces.bench.netalx_searches import MEMORY, SCALES_LESS, TIERS, Netalx
from penstock.interfaces.bench.suite import Cells, Experiment, Row, Suite, as_time, grouped

#: Numbers of looks that the table shows.
LOOKS = (1, 2, 4, 8, 16, 32, 64)


def _headline(facts: Row) -> str:
    return (
        f"RMAT scale {facts['scale']}, undirected: {facts['num_vertices']:,} vertices, "
        f"{facts['num_edges']:,} edges; {facts['threads']} threads, {facts['roots']} roots, "
        f"best of {facts['repeat']}"
    )


def as_teps(rate: float) -> str:
    """
    >>> as_teps(1_234_567_890), as_teps(4_560_000)
    ('1,235 M', '4.56 M')
    """
    return f"{rate / 1e6:,.0f} M" if rate >= 1e8 else f"{rate / 1e6:.3g} M"


def _speed_cells(same: list[Row]) -> Cells:
    """What there is to say of a graph in memory and in tiers."""
    by = {row["place"]: row for row in same}
    whole, some = by[MEMORY], by[TIERS]
    return (
        as_teps(whole["teps"]),
        as_teps(some["teps"]),
        f"{some['teps'] / whole['teps']:.0%}",
        str(some["head_edges"]),
        format_bytes(whole["planned_memory"]),
        format_bytes(some["planned_memory"]),
        format_bytes(some["bytes_read"]),
    )


_SPEED_HEADS = ("TEPS in memory", "in tiers", "of it", "k", "memory", "tiers", "read")


def _scale_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("scale", *_SPEED_HEADS, f"of {SCALES_LESS} scales less in memory")]
    for scale, same in grouped(rows, "scale"):
        share = pictures.share_of_smaller(rows, scale)
        cells = _speed_cells(same)
        found.append((str(scale), *cells, "-" if share is None else f"{share:.0%}"))
    return found


def _edge_factor_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("edge factor", "scale", *_SPEED_HEADS)]
    for factor, same in grouped(rows, "edge_factor"):
        found.append((str(factor), str(same[0]["scale"]), *_speed_cells(same)))
    return found


def _heads_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [
        ("k", "edges", "memory", "TEPS", "top-down", "bottom-up", "lists bottom-up", "read"),
    ]  # fmt: skip
    return found + [
        (
            "all" if row["head_edges"] is None else str(row["head_edges"]),
            f"{row['memory_share']:.0%}",
            format_bytes(row["planned_memory"]),
            as_teps(row["teps"]),
            as_time(row["top_down_seconds"]),
            as_time(row["bottom_up_seconds"]),
            f"{row['bottom_up_lists']:,.0f}",
            format_bytes(row["bytes_read"]),
        )
        for row in rows
    ]


def _looks_table(rows: list[Row]) -> list[Cells]:
    by_rule = grouped(rows, "rule")
    heads = [f"{what}, {rule}" for rule, _ in by_rule for what in ("vertices", "edges within")]
    found: list[Cells] = [("m", *heads)]
    for at, row in enumerate(by_rule[0][1]):
        if row["looks"] is None or row["looks"] in LOOKS:
            cells = [
                cell
                for _, same in by_rule
                for cell in (f"{same[at]['vertices']:,}", f"{same[at]['edges_within']:.2%}")
            ]
            found.append(("more" if row["looks"] is None else str(row["looks"]), *cells))
    return found


def _edges_table(rows: list[Row]) -> list[Cells]:
    ways = dict(grouped(rows, "approach"))
    found: list[Cells] = [
        ("level", *experiments.OUTCOMES, "top-down", "bottom-up", "least", "chosen")
    ]
    sums = [0] * 8
    for down, up, own in zip(ways["top-down"], ways["bottom-up"], ways["hybrid"], strict=True):
        numbers = [down[name] for name in experiments.OUTCOMES]
        numbers += [down["edges"], up["edges"], min(down["edges"], up["edges"]), own["edges"]]
        sums = [a + b for a, b in zip(sums, numbers, strict=True)]
        cells = [f"{number:,}" for number in numbers]
        found.append((str(down["level"]), *cells[:-1], f"{cells[-1]} {own['mode']}"))
    found.append(("all", *(f"{number:,}" for number in sums)))
    return found


def _models_table(rows: list[Row]) -> list[Cells]:
    parts = pictures.PART_NAMES
    found: list[Cells] = [("", "memory", *parts.values(), "TEPS", "read")]
    return found + [
        (
            pictures.PLACE_NAMES[row["place"]],
            *(format_bytes(row[name]) for name in ("planned_memory", *parts)),
            as_teps(row["teps"]),
            format_bytes(row["bytes_read"]),
        )
        for row in rows
    ]


def _flat_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [
        ("", "scale", "", "k", "TEPS", "slower than in memory", "than smaller in memory", "read")
    ]
    return found + [
        (
            row["kind"],
            str(row["scale"]),
            pictures.PLACE_NAMES[row["place"]],
            "-" if row["head_edges"] is None else str(row["head_edges"]),
            as_teps(row["teps"]),
            *(
                "-" if row["place"] == MEMORY else f"{row[name]:.2f} times"
                for name in ("slower_than_memory", "slower_than_smaller")
            ),
            format_bytes(row["bytes_read"]),
        )
        for row in rows
    ]


SUITE: Suite[Netalx] = Suite(
    "netalx",
    _headline,
    {
        "edges": Experiment(
            "Edges of each level of one search (Figure 3.3, Table 3.1)",
            experiments.edges,
            _edges_table,
            {"edges": pictures.draw_edges, "edges-directions": pictures.draw_directions},
        ),
        "looks": Experiment(
            "Edges that a vertex looks at bottom-up (Figure 3.5)",
            experiments.looks,
            _looks_table,
            {"looks": pictures.draw_looks},
        ),
        "models": Experiment(
            "Memory by model (Figure 3.9)",
            experiments.models,
            _models_table,
            {"models": pictures.draw_models},
        ),
        "scale": Experiment(
            "Speed by scale (Figure 3.10)",
            experiments.scale,
            _scale_table,
            {"scale": pictures.draw_scale},
        ),
        "heads": Experiment(
            "Edges of each vertex in memory (Figures 3.11 to 3.13)",
            experiments.heads,
            _heads_table,
            {
                "heads": pictures.draw_heads,
                "heads-time": pictures.draw_heads_time,
                "heads-lists": pictures.draw_heads_lists,
            },
        ),
        "edge_factor": Experiment(
            "Speed by edges per vertex (Figure 3.14)",
            experiments.edge_factor,
            _edge_factor_table,
            {"edge_factor": pictures.draw_edge_factor},
        ),
        "flat": Experiment(
            "RMAT and uniform graphs (Figure 3.18)",
            experiments.flat,
            _flat_table,
            {"flat": pictures.draw_flat},
        ),
    },
)
