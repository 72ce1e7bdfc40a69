"""``penstock plan``: what a run will cost, before it runs: here, or on a described machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from penstock.errors import OptionError
from penstock.interfaces.cli import _options as o
from penstock.interfaces.cli._algorithm_options import own_values
from penstock.interfaces.cli.run import RunCommand

if TYPE_CHECKING:
    from penstock.engine.algorithm import Algorithm
    from penstock.store.graph import Graph

_MACHINE = "A machine that is described"

Device = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Predict for such devices, by the papers' cost model: gpu:2x12GiB,link=16GB/s and as "
        "you like ,pages=6GB/s ,edges=750M/s ,streams=16 ,strategy=S.",
        rich_help_panel=_MACHINE,
    ),
]
Storage = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Where its pages are: ssd:2x2.5GB/s, with ,buffer=20% or bytes for those that the "
        "host's memory holds. Default: all are there.",
        rich_help_panel=_MACHINE,
    ),
]
Rmat = Annotated[
    int | None,
    typer.Option(
        metavar="SCALE",
        help="In place of GRAPH: R-MAT as Graph500 has it, each edge once.",
        rich_help_panel=_MACHINE,
    ),
]
Passes = Annotated[
    float | None,
    typer.Option(
        help="Times that all pages are gone over. Default: as estimated; with --rmat, 10 for "
        "pagerank.",
        rich_help_panel=_MACHINE,
    ),
]
PageSize = Annotated[
    str | None,
    typer.Option(
        help="Of its slotted pages. Default: 1MiB, or 64MiB if there are too many.",
        rich_help_panel=_MACHINE,
    ),
]
PhysicalIds = Annotated[
    str | None,
    typer.Option(
        metavar="P,Q",
        help="Bytes of page and slot numbers. Default: 2,2 with pages of 1MiB, 3,3 with 64MiB.",
        rich_help_panel=_MACHINE,
    ),
]


class PlanCommand(RunCommand):
    """Takes the options of the algorithm that is named, unless there is no graph for them."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the line; with ``--rmat`` the algorithm has no options of its own."""
        if not any(arg.split("=")[0] == "--rmat" for arg in args):
            return super().parse_args(ctx, args)
        self.own = []
        return TyperCommand.parse_args(self, ctx, args)


COMMAND_CLASS = PlanCommand


def command(
    context: typer.Context,
    algorithm: Annotated[str, typer.Argument(metavar="ALGO", help="The algorithm.")],
    graph: Annotated[
        Path | None, typer.Argument(metavar="GRAPH", help="A graph directory; none with --rmat.")
    ] = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Measure anew how fast this machine is; it is done once otherwise."
        ),
    ] = False,
    device: Device = None,
    storage: Storage = None,
    rmat: Rmat = None,
    passes: Passes = None,
    page_size: PageSize = None,
    physical_ids: PhysicalIds = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    streams: o.Streams = None,
    devices: o.Devices = None,
    division: o.Division = None,
    dispatch: o.Dispatch = None,
    cache: o.Cache = None,
    cache_pages: o.CachePages = None,
    no_load: o.NoLoad = False,
    json: o.Json = False,
    debug: o.Debug = False,
) -> None:
    """Show what a run would cost: memory, bytes to read and time. Nothing is run."""
    given = dict(locals())
    _check(given)

    from penstock.algorithms import find
    from penstock.interfaces.cli._output import show
    from penstock.interfaces.opening import open_snapshot

    chosen = find(algorithm)
    opened = None if graph is None else open_snapshot(graph)
    parameters = {} if opened is None else own_values(chosen, opened, context.obj)
    cost = _here if device is None else _elsewhere
    text, data = cost(chosen, opened, parameters, given)
    same = {"algorithm": chosen.name, "graph": graph, "parameters": parameters}
    show(f"{chosen.name} of {_size(given, opened)}{text}", {**same, **data}, as_json=json)


def _check(given: dict[str, Any]) -> None:
    """Refuse options that would not be used."""
    elsewhere = given["device"] is not None
    there = ("storage", "rmat", "passes", "page_size", "physical_ids")
    here = (
        *("measure", "memory", "threads", "streams", "devices", "division", "dispatch", "cache"),
        *("cache_pages", "no_load"),
    )
    for name in here if elsewhere else there:
        if given[name] is not None and given[name] is not False:
            option = name.replace("_", "-")
            if elsewhere:
                raise OptionError(
                    f"{option}: is for runs on this machine; leave it out, or --device"
                )
            raise OptionError(f"{option}: is for a machine that is described; give --device too")
    if (given["graph"] is None) == (given["rmat"] is None):
        got = "neither" if given["rmat"] is None else "both"
        raise OptionError(f"graph: expected GRAPH, or --device with --rmat SCALE; got {got}")


def _size(given: dict[str, Any], graph: Graph | None) -> str:
    """What the algorithm is applied to."""
    if graph is None:
        return f"an R-MAT graph of scale {given['rmat']}"
    kind = "directed" if graph.directed else "undirected"
    return f"{given['graph']}: {graph.num_vertices:,} vertices, {graph.num_edges:,} {kind} edges"


def _here(
    algorithm: Algorithm, graph: Graph | None, parameters: dict[str, Any], given: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """What a run would cost on this machine."""
    from penstock.interfaces.cli._estimates import make_estimate, plan_data, plan_facts
    from penstock.interfaces.cli._output import facts

    assert graph is not None
    options = {**given, "load": not given["no_load"]}
    estimate = make_estimate(graph, algorithm, parameters, options, measure=given["measure"])
    data = plan_data(estimate)
    return f"\n\n{facts(plan_facts(data))}", data


def _elsewhere(
    algorithm: Algorithm, graph: Graph | None, parameters: dict[str, Any], given: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """What a run would cost on a machine that is described."""
    from penstock.engine.machine import Machine, parse_devices, parse_storages
    from penstock.engine.stream_model import Workload, attributes_of, predict
    from penstock.interfaces.cli import _estimates as e
    from penstock.interfaces.cli._output import facts

    storage = given["storage"]
    machine = Machine(
        parse_devices(given["device"]), None if storage is None else parse_storages(storage)
    )
    attributes = attributes_of(algorithm.name)
    passes = e.passes_of(algorithm, graph, parameters, given["passes"])
    pages = e.pages_of(graph, given["rmat"], given["page_size"], given["physical_ids"])
    work = Workload(pages, attributes, passes)
    found = predict(work, machine)
    text = f"\n{e.MODEL}\n\n{facts(e.prediction_facts(work, machine, found))}"
    return text, {"rmat": given["rmat"], **e.prediction_data(work, machine, found)}
