"""``penstock plan``: what a run will cost, before it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.interfaces.cli import _options as o
from penstock.interfaces.cli._algorithm_options import own_values
from penstock.interfaces.cli.run import RunCommand

COMMAND_CLASS = RunCommand


def command(
    context: typer.Context,
    algorithm: Annotated[str, typer.Argument(metavar="ALGO", help="The algorithm.")],
    graph: o.GraphPath,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Measure anew how fast this machine is; it is done once otherwise."
        ),
    ] = False,
    memory: o.Memory = None,
    threads: o.Threads = None,
    streams: o.Streams = None,
    devices: o.Devices = None,
    cache: o.Cache = None,
    cache_pages: o.CachePages = None,
    no_load: o.NoLoad = False,
    json: o.Json = False,
    debug: o.Debug = False,
) -> None:
    """Show what a run would cost: memory, bytes to read and time. Nothing is run."""
    options = {
        "memory": memory,
        "threads": threads,
        "streams": streams,
        "devices": devices,
        "cache": cache,
        "cache_pages": cache_pages,
        "load": not no_load,
    }

    from penstock.algorithms import find
    from penstock.interfaces.cli._estimates import make_estimate, plan_data, plan_facts
    from penstock.interfaces.cli._output import facts, show
    from penstock.store.graph import open_graph

    opened, chosen = open_graph(graph), find(algorithm)
    parameters = own_values(chosen, opened, context.obj)
    found = plan_data(make_estimate(opened, chosen, parameters, options, measure=measure))
    data = {"algorithm": chosen.name, "graph": str(graph), "parameters": parameters, **found}
    kind = "directed" if opened.directed else "undirected"
    size = f"{opened.num_vertices:,} vertices, {opened.num_edges:,} {kind} edges"
    text = f"{chosen.name} of {graph}: {size}\n\n{facts(plan_facts(found))}"
    show(text, data, as_json=json)
