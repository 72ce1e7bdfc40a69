"""``penstock generate``: random graphs, made and built in bounded memory."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.errors import OptionError
from penstock.interfaces.cli import _options as o

Share = Annotated[
    float | None,
    typer.Option(help="RMAT: share of a quadrant. Default: Graph500's.", min=0, max=1),
]


def command(
    kind: Annotated[o.GeneratorName, typer.Argument(help="Kronecker edges, or even ones.")],
    target: o.Target,
    scale: Annotated[int, typer.Option(help="2 to this many vertices.", min=1, max=31)] = 16,
    edge_factor: Annotated[float, typer.Option(help="Edges for each vertex.")] = 16,
    a: Share = None,
    b: Share = None,
    c: Share = None,
    d: Share = None,
    seed: Annotated[int, typer.Option(help="Decides which edges; nothing else does.")] = 1,
    undirected: Annotated[
        bool, typer.Option("--undirected/--directed", help="Whether edges go both ways.")
    ] = False,
    duplicates: o.Duplicates = "last",
    self_loops: o.SelfLoops = "keep",
    order: o.Order = "degree",
    neighbours: o.Neighbours = "id",
    directions: o.DirectionsToStore = "both",
    layout: o.Layout = "banded",
    page_size: o.PageSize = None,
    physical_ids: o.PhysicalIds = None,
    stripe: o.Stripe = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    tmpdir: o.Tmpdir = None,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
    debug: o.Debug = False,
) -> None:
    """Make a random graph: the same seed gives the same graph, whatever the memory and threads."""
    options = o.graph_options(locals())
    shares = quadrants(a, b, c, d)
    if shares is not None and kind != "rmat":
        raise OptionError(f"--a, --b, --c and --d are for rmat, not for {kind}")
    from penstock.interfaces.cli._building import building

    with building(as_json=json) as (result, progress):
        from penstock.interfaces.api import generate

        result.graph = generate(
            kind,
            target,
            scale=scale,
            edge_factor=edge_factor,
            probabilities=shares,
            seed=seed,
            directed=not undirected,
            progress=progress,
            **options,
        )


def quadrants(
    a: float | None, b: float | None, c: float | None, d: float | None
) -> tuple[float, float, float, float] | None:
    """The four shares: those that are given, Graph500's A, B and C otherwise, and D the rest.

    >>> quadrants(None, None, None, None)
    >>> quadrants(0.25, 0.25, 0.25, None)
    (0.25, 0.25, 0.25, 0.25)
    """
    if (a, b, c, d) == (None, None, None, None):
        return None
    a, b, c = (
        usual if given is None else given
        for given, usual in zip((a, b, c), (0.57, 0.19, 0.19), strict=True)
    )
    return a, b, c, max(0.0, 1 - a - b - c) if d is None else d
