"""An algorithm's own parameters as options of the command line."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.errors import InputNotFoundError, OptionError

if TYPE_CHECKING:
    from penstock.engine.algorithm import Algorithm
    from penstock.store.graph import Graph


def own_options(algorithm: Algorithm) -> list[Any]:
    """Typer's options for the parameters, with types, defaults and help from the function."""
    helps = parameter_help(algorithm.__doc__ or "")

    def target() -> None:
        """Never called."""

    target.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_option(each, helps.get(name, ""), algorithm) for name, each in _parameters(algorithm)]
    )
    holder = typer.Typer(add_completion=False)
    holder.command()(target)
    names = {name for name, _ in _parameters(algorithm)}
    return [each for each in typer.main.get_command(holder).params if each.name in names]


def _parameters(algorithm: Algorithm) -> list[tuple[str, inspect.Parameter]]:
    return list(algorithm.parameters.items())


#: What stands for a value on the command line, by what a parameter names.
_METAVARS = {"vertex": "ID", "vertices": "ID", "vertex values": "ID=VALUE"}
_MORE_HELP = {
    "vertices": "May be given several times; @FILE has one a line.",
    "vertex values": "May be given several times; VALUE alone is for all vertices, @FILE has "
    "lines of ID VALUE.",
}


def _option(parameter: inspect.Parameter, text: str, algorithm: Algorithm) -> inspect.Parameter:
    kind = algorithm.kinds.get(parameter.name)
    if kind is None:
        annotation, default = parameter.annotation, parameter.default
    else:
        annotation = str if kind == "vertex" else list[str]
        default = parameter.default
        if default is not inspect.Parameter.empty:
            annotation, default = annotation | None, None
        text = " ".join(filter(None, (text, _MORE_HELP.get(kind))))
    option = typer.Option(
        help=text, metavar=_METAVARS.get(kind or ""), rich_help_panel=f"Options of {algorithm.name}"
    )
    return parameter.replace(
        kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[annotation, option],
        default=default,
    )  # fmt: skip


def own_values(algorithm: Algorithm, graph: Graph, given: dict[str, Any]) -> dict[str, Any]:
    """The values for the algorithm: the ids of vertices are of the type that the graph's are. What
    was left out is left to the algorithm.
    """
    strings = graph.id_kind == "string"
    found: dict[str, Any] = {}
    for name, parameter in _parameters(algorithm):
        kind, value = algorithm.kinds.get(name), given[name]
        if kind is None:
            found[name] = value
        elif value is None or (kind != "vertex" and len(value) == 0):
            found[name] = parameter.default
        elif kind == "vertex":
            found[name] = as_id(value, strings=strings)
        elif kind == "vertices":
            ids = [as_id(each, strings=strings) for each in _lines(name, value)]
            found[name] = ids[0] if len(ids) == 1 else ids
        else:
            found[name] = _as_values(name, _lines(name, value), strings=strings)
    return found


def _lines(name: str, given: list[str]) -> list[str]:
    """What was given, with the lines of files in the place of their names."""
    found = []
    for each in given:
        if not each.startswith("@"):
            found.append(each)
            continue
        try:
            text = Path(each[1:]).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise InputNotFoundError(f"{name}: {each[1:]}: cannot be read ({error})") from None
        found += [line.strip() for line in text.splitlines() if line.strip()]
    return found


def _as_values(name: str, given: list[str], *, strings: bool) -> Any:
    """A number for all vertices, or a mapping from ids to numbers."""
    if len(given) == 1 and (plain := _number(given[0])) is not None:
        return plain
    found = {}
    for each in given:
        vertex, _, text = each.rpartition("=") if "=" in each else _at_last_space(each)
        value = _number(text)
        if value is None or not vertex:
            raise OptionError(f"{name}: expected ID=VALUE with a number, got {each!r}")
        found[as_id(vertex.strip(), strings=strings)] = value
    return found


def _at_last_space(line: str) -> tuple[str, str, str]:
    words = line.replace(",", " ").replace("\t", " ").rstrip()
    return words.rpartition(" ")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def as_id(text: str, *, strings: bool) -> str | int:
    """What the user means by an id.

    >>> as_id("12", strings=False), as_id("12", strings=True), as_id("a", strings=False)
    (12, '12', 'a')
    """
    if not strings and re.fullmatch(r"\s*[+-]?\d+\s*", text):
        return int(text)
    return text


def summary(algorithm: Algorithm) -> str:
    """The first line of its help."""
    return (inspect.getdoc(algorithm) or "").split("\n", 1)[0]


def parameter_help(text: str) -> dict[str, str]:
    """What the section "Parameters" says about each of them, a line each.

    >>> parameter_help("Parameters\\n----------\\nalpha : float\\n    Damping,\\n    from 0 to 1.")
    {'alpha': 'Damping, from 0 to 1.'}
    """
    lines = inspect.cleandoc(text).splitlines()
    found: dict[str, list[str]] = {}
    names: list[str] = []
    inside = False
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch(r"-{3,}", below):
            inside = line.strip() == "Parameters"
        elif inside and line[:1].strip("- "):
            names = [name.strip(" *") for name in line.split(":")[0].split(",")]
            found |= {name: [] for name in names}
        elif inside and line.strip():
            for name in names:
                found[name].append(line.strip())
    return {name: _as_text(" ".join(words)) for name, words in found.items()}


def _as_text(words: str) -> str:
    return words.replace("``", "")
