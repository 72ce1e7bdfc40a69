"""Commands that are files: each is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from penstock.interfaces.cli._records import with_single_options


class LazyCommands(TyperGroup):
    """A group whose command ``name`` is the function ``command`` of the module ``prefix + name``,
    or the group ``app`` there.
    """

    #: The names, in the order of the help page.
    names: ClassVar[tuple[str, ...]] = ()
    prefix: ClassVar[str] = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names."""
        return list(self.names)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, or None."""
        if cmd_name not in self.names:
            return None
        module = import_module(self.prefix + cmd_name)
        if hasattr(module, "app"):
            return typer.main.get_command(module.app)
        holder = typer.Typer(add_completion=False)
        register = holder.command(cmd_name, cls=getattr(module, "COMMAND_CLASS", None))
        register(with_single_options(module.command))
        return typer.main.get_command(holder)
