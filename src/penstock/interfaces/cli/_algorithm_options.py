"""An algorithm's own parameters as options of the command line."""

from __future__ import annotations

import inspect
import re
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

if TYPE_CHECKING:
    from penstock.engine.algorithm import Algorithm
    from penstock.store.graph import Graph

_SIMPLE = (bool, int, float, str)


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


def _option(parameter: inspect.Parameter, text: str, algorithm: Algorithm) -> inspect.Parameter:
    vertex = is_vertex(parameter.annotation)
    option = typer.Option(
        help=text, metavar="ID" if vertex else None, rich_help_panel=f"Options of {algorithm.name}"
    )
    kind: Any = str if vertex else parameter.annotation
    if vertex and parameter.default is None:
        kind = str | None
    return parameter.replace(
        kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option]
    )


def is_vertex(annotation: Any) -> bool:
    """Whether a parameter names a vertex: its type is none that an option has.

    >>> is_vertex(object), is_vertex(float | None), is_vertex(Literal["a"])
    (True, False, False)
    """
    if get_origin(annotation) in (Union, UnionType):
        return any(is_vertex(each) for each in get_args(annotation) if each is not NoneType)
    return get_origin(annotation) is not Literal and annotation not in _SIMPLE


def own_values(algorithm: Algorithm, graph: Graph, given: dict[str, Any]) -> dict[str, Any]:
    """The values for the algorithm: the ids of vertices are of the type that the graph's are."""
    return {
        name: as_id(given[name], strings=graph.catalog.ids.kind == "string")
        if is_vertex(parameter.annotation) and given[name] is not None
        else given[name]
        for name, parameter in _parameters(algorithm)
    }


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
