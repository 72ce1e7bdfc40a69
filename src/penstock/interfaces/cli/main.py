"""``penstock``: finds the command, runs it, and turns whatever happens into an exit code.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 over the memory budget, 130 interrupted (Ctrl-C), 143
terminated (SIGTERM), 129 hung up (SIGHUP). An error is one line on stderr; ``--debug`` shows where
it came from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from penstock.interfaces.cli._failures import exit_code, report
from penstock.interfaces.cli._lazy import LazyCommands
from penstock.interfaces.cli._logged import log_on_stderr
from penstock.interfaces.cli._output import finish_output, tolerate_any_text
from penstock.process import stops_as_interrupts

#: The commands, each a file here with a function ``command``, or a group ``app`` of commands.
COMMANDS = (
    "demo", "generate", "build", "info", "verify", "export", "deal", "plan", "run", "plot", "bench",
    "clean", "hosts", "worker", "scheduler", "certificates",
)  # fmt: skip


class Commands(LazyCommands):
    """All of them."""

    names = COMMANDS
    prefix = "penstock.interfaces.cli."


app = typer.Typer(
    name="penstock",
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        from penstock import __version__

        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def penstock(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Graph analytics on graphs bigger than memory. Attributes stay, topology moves."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def run(args: Sequence[str]) -> int:
    """Run a command line and return its exit code; never raises."""
    tolerate_any_text()
    debug, as_json = "--debug" in args, "--json" in args
    with stops_as_interrupts() as signals, log_on_stderr():
        try:
            command = typer.main.get_command(app)
            result = command.main(args=list(args), prog_name="penstock", standalone_mode=False)
            code = result if isinstance(result, int) else 0
            # Typer takes KeyboardInterrupt for itself and returns 130.
            if code == 130:
                raise KeyboardInterrupt
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        except BaseException as error:
            code = exit_code(error, signals.received)
            report(error, code, debug=debug, as_json=as_json)
        return finish_output(code)


def main() -> None:
    """The entry point."""
    if sys.argv[1:2] == ["run"]:
        # Numba imports SciPy, if there is one, to load any kernel; none here needs it, and it makes
        # a small run start clearly later.
        sys.modules.setdefault("scipy", None)  # type: ignore[arg-type]
    code = run(sys.argv[1:])
    try:
        sys.stderr.flush()
    except OSError:
        # Nobody is there to read it; and the interpreter must not try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.exit(code)
