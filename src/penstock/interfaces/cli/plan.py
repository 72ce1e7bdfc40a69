"""``penstock plan``: what a run will cost, before it runs: here, or on a described machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from penstock.errors import OptionError
from penstock.interfaces.cli import _options as o
from penstock.interfaces.cli._algorithm_options import own_values
from penstock.interfaces.cli._host_plan import over_hosts
from penstock.interfaces.cli._hosts import HostOptions
from penstock.interfaces.cli.run import RunCommand

if TYPE_CHECKING:
    from penstock.engine.algorithm import Algorithm
    from penstock.store.graph import Graph

of_machine = o.in_panel("A machine that is described")


@dataclass(frozen=True)
class MachineOptions:
    """A machine that is described, and what would run on it."""

    device: Annotated[
        str | None,
        of_machine(
            metavar="TEXT",
            help="Predict for such devices, by the papers' cost model: gpu:2x12GiB,link=16GB/s and "
            "as you like ,pages=6GB/s ,edges=750M/s ,streams=16 ,strategy=S.",
        ),
    ] = None
    storage: Annotated[
        str | None,
        of_machine(
            metavar="TEXT",
            help="Where its pages are: ssd:2x2.5GB/s, with ,buffer=20% or bytes for those that the "
            "host's memory holds. Default: all are there.",
        ),
    ] = None
    rmat: Annotated[
        int | None,
        of_machine(
            metavar="SCALE", help="In place of GRAPH: R-MAT as Graph500 has it, each edge once."
        ),
    ] = None
    passes: Annotated[
        float | None,
        of_machine(
            help="Times that all pages are gone over. Default: as estimated; with --rmat, 10 for "
            "pagerank.",
        ),
    ] = None
    page_size: Annotated[
        str | None,
        of_machine(help="Of its slotted pages. Default: 1MiB, or 64MiB if there are too many."),
    ] = None
    physical_ids: Annotated[
        str | None,
        of_machine(
            metavar="P,Q",
            help="Bytes of page and slot numbers. Default: 2,2 with pages of 1MiB, 3,3 with 64MiB.",
        ),
    ] = None


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
    *,
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
    machine: MachineOptions,
    work: o.WorkOptions,
    hosts: HostOptions,
    output: o.Output,
) -> None:
    """Show what a run would cost: memory, bytes to read and time. Nothing is run."""
    hosts.check()
    if hosts.hosts is not None:
        _refuse({"measure": measure, **vars(machine)}, "is for one host; leave it out, or --hosts")
    elif machine.device is None:
        described = {name: value for name, value in vars(machine).items() if name != "device"}
        _refuse(described, "is for a machine that is described; give --device too")
    else:
        here = {"measure": measure, **vars(work)}
        _refuse(here, "is for runs on this machine; leave it out, or --device")
    if (graph is None) == (machine.rmat is None):
        got = "neither" if graph is None else "both"
        raise OptionError(f"graph: expected GRAPH, or --device with --rmat SCALE; got {got}")

    from penstock.algorithms import find
    from penstock.interfaces.cli._output import show
    from penstock.interfaces.opening import open_snapshot

    chosen = find(algorithm)
    opened = None if graph is None else open_snapshot(graph)
    parameters = {} if opened is None else own_values(chosen, opened, context.obj)
    if hosts.hosts is not None:
        assert opened is not None
        text, data = over_hosts(chosen, opened, parameters, work, hosts)
    elif machine.device is None:
        assert opened is not None
        text, data = _here(chosen, opened, parameters, work, measure=measure)
    else:
        text, data = _elsewhere(chosen, opened, parameters, machine)
    if opened is None:
        size = f"an R-MAT graph of scale {machine.rmat}"
    else:
        kind = "directed" if opened.directed else "undirected"
        size = f"{graph}: {opened.num_vertices:,} vertices, {opened.num_edges:,} {kind} edges"
    same = {"algorithm": chosen.name, "graph": graph, "parameters": parameters}
    show(f"{chosen.name} of {size}{text}", {**same, **data}, as_json=output.json)


def _refuse(options: dict[str, Any], why: str) -> None:
    """Raise if one of these, which would not be used, is given."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise OptionError(f"{name.replace('_', '-')}: {why}")


def _here(
    algorithm: Algorithm,
    graph: Graph,
    parameters: dict[str, Any],
    work: o.WorkOptions,
    *,
    measure: bool,
) -> tuple[str, dict[str, Any]]:
    """What a run would cost on this machine."""
    from penstock.interfaces.cli._estimates import make_estimate, plan_data, plan_facts
    from penstock.interfaces.cli._output import facts

    estimate = make_estimate(graph, algorithm, parameters, work.in_python(), measure=measure)
    data = plan_data(estimate)
    return f"\n\n{facts(plan_facts(data))}", data


def _elsewhere(
    algorithm: Algorithm, graph: Graph | None, parameters: dict[str, Any], described: MachineOptions
) -> tuple[str, dict[str, Any]]:
    """What a run would cost on a machine that is described."""
    from penstock.engine.machine import Machine, parse_devices, parse_storages
    from penstock.engine.stream_model import Workload, attributes_of, predict
    from penstock.interfaces.cli import _estimates as e
    from penstock.interfaces.cli._output import facts

    d = described
    assert d.device is not None
    storages = None if d.storage is None else parse_storages(d.storage)
    machine = Machine(parse_devices(d.device), storages)
    attributes = attributes_of(algorithm.name)
    passes = e.passes_of(algorithm, graph, parameters, d.passes)
    pages = e.pages_of(graph, d.rmat, d.page_size, d.physical_ids)
    work = Workload(pages, attributes, passes)
    found = predict(work, machine)
    text = f"\n{e.MODEL}\n\n{facts(e.prediction_facts(work, machine, found))}"
    return text, {"rmat": d.rmat, **e.prediction_data(work, machine, found)}
