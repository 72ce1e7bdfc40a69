"""``penstock bench``: suites of experiments on this machine."""

from __future__ import annotations

import typer

from penstock.interfaces.cli._lazy import LazyCommands

#: The suites, each a file ``bench_NAME`` here with a function ``command``.
SUITES = ("gstream", "netalx", "garaph", "dynamic", "graph500")


class Suites(LazyCommands):
    """All of them."""

    names = SUITES
    prefix = "penstock.interfaces.cli.bench_"


app = typer.Typer(name="bench", cls=Suites, add_completion=False)


@app.callback(invoke_without_command=True)
def bench(context: typer.Context) -> None:
    """Run the experiments of a paper, or an official benchmark, and show what comes out."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
