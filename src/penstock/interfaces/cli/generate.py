"""``penstock generate``: random graphs, made and built in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from penstock.errors import OptionError
from penstock.interfaces.cli import _options as o

Share = Annotated[
    float | None,
    typer.Option(help="RMAT: share of a quadrant. Default: Graph500's.", min=0, max=1),
]


@dataclass(frozen=True)
class Quadrants:
    """The four shares of RMAT."""

    a: Share = None
    b: Share = None
    c: Share = None
    d: Share = None

    def shares(self) -> tuple[float, float, float, float] | None:
        """Those that are given, Graph500's A, B and C otherwise, and D the rest; None if none is
        given.

        >>> Quadrants().shares()
        >>> Quadrants(0.25, 0.25, 0.25).shares()
        (0.25, 0.25, 0.25, 0.25)
        """
        if (self.a, self.b, self.c, self.d) == (None, None, None, None):
            return None
        a, b, c = (
            usual if given is None else given
            for given, usual in zip((self.a, self.b, self.c), (0.57, 0.19, 0.19), strict=True)
        )
        return a, b, c, max(0.0, 1 - a - b - c) if self.d is None else self.d


def command(
    *,
    kind: Annotated[o.GeneratorName, typer.Argument(help="Kronecker edges, or even ones.")],
    target: o.Target,
    scale: Annotated[int, typer.Option(help="2 to this many vertices.", min=1, max=31)] = 16,
    edge_factor: Annotated[float, typer.Option(help="Edges for each vertex.")] = 16,
    quadrants: Quadrants,
    seed: Annotated[int, typer.Option(help="Decides which edges; nothing else does.")] = 1,
    undirected: Annotated[
        bool, typer.Option("--undirected/--directed", help="Whether edges go both ways.")
    ] = False,
    graph: o.GraphOptions,
    output: o.Output,
) -> None:
    """Make a random graph: the same seed gives the same graph, whatever the memory and threads."""
    options = graph.in_python()
    shares = quadrants.shares()
    if shares is not None and kind != "rmat":
        raise OptionError(f"--a, --b, --c and --d are for rmat, not for {kind}")
    from penstock.interfaces.cli._building import building

    with building(as_json=output.json) as (result, progress):
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
