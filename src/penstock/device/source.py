"""From a user's function to the text that is compiled.

``src.rank`` becomes the plain variable ``src_rank``, constants and helper functions that the
function takes from its surroundings are written out, and the result is a function over numbers
that depends on nothing but its own text. Lines are kept apart as in the original, so that an error
in the text can be traced to the user's line.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from penstock.errors import ProgramError

Function = Callable[..., Any]

#: What each role's arguments stand for. ``p`` may be left out at the end; "=" marks plain values.
ROLES: dict[str, tuple[str, ...]] = {
    "init": ("vertex", "p"),
    "gather": ("src", "edge", "dst", "p"),
    "sum": ("=a", "=b"),
    "apply": ("old", "=a", "p"),
    "activate": ("new", "old", "p"),
    "total": ("new", "old", "p"),
}
_MODULES = {"math": math, "numpy": np}


@dataclass(frozen=True, slots=True)
class Written:
    """A function written out."""

    name: str
    role: str
    #: The parameters of the text: ``("src_rank", "edge_weight", "p_alpha")`` or plain names.
    inputs: tuple[str, ...]
    text: str
    #: Where the user wrote it, and the user's line of each line of the text.
    file: str
    lines: tuple[int, ...]
    #: Texts that it needs before it.
    before: tuple[str, ...] = ()

    def fields(self, kind: str) -> list[str]:
        """The fields that it reads from ``src``, ``edge``, ``p``, ..."""
        mark = f"{kind}_"
        return [name[len(mark) :] for name in self.inputs if name.startswith(mark)]


@dataclass(slots=True)
class _Scope:
    """What is known while one function is written out."""

    function: FunctionType
    role: str
    name: str
    #: Parameter name -> what it stands for ("src", "p", "=a", ...).
    kinds: dict[str, str]
    #: Fields that each kind has.
    known: Mapping[str, Iterable[str]]
    inputs: dict[str, None] = field(default_factory=dict)
    before: dict[str, None] = field(default_factory=dict)

    def fail(self, node: ast.AST | None, message: str) -> ProgramError:
        code = self.function.__code__
        line = getattr(node, "lineno", None)
        # Trees of an indented source begin at line 1; the code object knows where that is.
        place = code.co_firstlineno if line is None else code.co_firstlineno + line - 1
        return ProgramError(f"{code.co_filename}:{place}: {self.role}: {message}")


def write_out(
    function: Function, role: str, name: str, known: Mapping[str, Iterable[str]]
) -> Written:
    """Write out one of the user's functions; ``known`` are the fields each kind of argument has."""
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType):
        raise ProgramError(f"{role}: expected a Python function, got {function!r}")
    scope = _Scope(function, role, name, {}, known)
    scope.kinds = _parameters(function, role, scope)
    return _write(scope, _tree(function, scope))


def _parameters(function: FunctionType, role: str, scope: _Scope) -> dict[str, str]:
    parameters = inspect.signature(function).parameters
    meant = ROLES.get(role.split(":")[0])
    if meant is None:  # a helper: plain values
        return {name: f"={name}" for name in parameters}
    least = len(meant) - (meant[-1] == "p")
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if not least <= len(parameters) <= len(meant) or any(
        each.kind != plain for each in parameters.values()
    ):
        wanted = ", ".join(kind.lstrip("=") for kind in meant[:least])
        optional = "[, p]" if meant[-1] == "p" else ""
        raise scope.fail(
            None, f"expected a function ({wanted}{optional}), got ({', '.join(parameters)})"
        )
    return dict(zip(parameters, meant, strict=False))


def _tree(function: FunctionType, scope: _Scope) -> ast.FunctionDef | ast.Lambda:
    """The function's own part of its source."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise scope.fail(
            None, "its source is not available; define it in a file or a notebook"
        ) from None
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a lambda in the middle of an expression that goes on elsewhere
        tree = _parse_piece(text, scope)
    if function.__name__ != "<lambda>":
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
                return node
    names = list(inspect.signature(function).parameters)
    lambdas = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and [a.arg for a in node.args.args] == names
    ]
    same = [node for node in lambdas if _code(node) == function.__code__.co_code]
    if len({ast.dump(node) for node in same or lambdas}) != 1:
        raise scope.fail(None, "cannot tell which of several lambdas on a line it is; use def")
    return (same or lambdas)[0]


def _parse_piece(text: str, scope: _Scope) -> ast.Module:
    start = text.find("lambda")
    for end in range(len(text), start, -1):
        try:
            return ast.parse(f"({text[start:end]})")
        except SyntaxError:
            continue
    raise scope.fail(None, "its source cannot be read; use def")


def _code(node: ast.Lambda) -> bytes:
    whole = compile(ast.fix_missing_locations(ast.Expression(node)), "<lambda>", "eval")
    return next((c.co_code for c in whole.co_consts if hasattr(c, "co_code")), b"")


def _write(scope: _Scope, tree: ast.FunctionDef | ast.Lambda) -> Written:
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    changed = _Rewriter(scope, stored).visit(tree)
    first = scope.function.__code__.co_firstlineno
    body = changed.body if isinstance(changed, ast.FunctionDef) else [ast.Return(changed.body)]
    lines: list[str] = []
    numbers: list[int] = []
    for statement in body:
        _unparse(statement, 1, lines, numbers)
    inputs = tuple(scope.inputs)
    text = f"def {scope.name}({', '.join(inputs)}):\n" + "\n".join(lines) + "\n"
    shift = first - 1
    return Written(
        scope.name, scope.role, inputs, text, scope.function.__code__.co_filename,
        (first, *(number + shift for number in numbers)), tuple(scope.before),
    )  # fmt: skip


def _unparse(node: ast.stmt, depth: int, lines: list[str], numbers: list[int]) -> None:
    """Spell a statement one line at a time, keeping the line each line came from."""
    bodies = [name for name in ("body", "orelse") if getattr(node, name, None)]
    if not isinstance(node, ast.If | ast.For | ast.While):
        for line in ast.unparse(ast.fix_missing_locations(node)).split("\n"):
            lines.append("    " * depth + line)
            numbers.append(getattr(node, "lineno", 1))
        return
    head = ast.unparse(ast.fix_missing_locations(_headless(node))).split("\n")[0]
    lines.append("    " * depth + head)
    numbers.append(node.lineno)
    for name in bodies:
        if name == "orelse":
            lines.append("    " * depth + "else:")
            numbers.append(node.lineno)
        for inner in getattr(node, name):
            _unparse(inner, depth + 1, lines, numbers)


def _headless(node: ast.If | ast.For | ast.While) -> ast.stmt:
    nothing: list[ast.stmt] = [ast.Pass()]
    if isinstance(node, ast.For):
        return ast.For(node.target, node.iter, nothing, [])
    return type(node)(node.test, nothing, [])


class _Rewriter(ast.NodeTransformer):
    """Replaces ``src.rank`` by ``src_rank`` and names from outside by what they stand for."""

    def __init__(self, scope: _Scope, stored: set[str]) -> None:
        self._scope = scope
        self._stored = stored
        for name, kind in scope.kinds.items():
            if kind.startswith("="):
                scope.inputs[name] = None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``src.rank``, or something of a module."""
        scope = self._scope
        base = node.value
        if isinstance(base, ast.Name) and (kind := scope.kinds.get(base.id, "=")).isidentifier():
            allowed = list(scope.known.get(kind, ()))
            if node.attr not in allowed:
                have = ", ".join(allowed) or "nothing"
                raise scope.fail(node, f"{base.id} has no {node.attr!r}; it has {have}")
            if not isinstance(node.ctx, ast.Load):
                raise scope.fail(node, f"{base.id}.{node.attr} cannot be set; return new values")
            scope.inputs[f"{kind}_{node.attr}"] = None
            return ast.copy_location(ast.Name(f"{kind}_{node.attr}", node.ctx), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A local, a parameter, or something from outside."""
        scope = self._scope
        kind = scope.kinds.get(node.id)
        if kind is not None and kind.isidentifier():
            raise scope.fail(node, f"{node.id} has fields, such as {node.id}.x; it is no number")
        if kind is not None or node.id in self._stored:
            return node
        name = _outside(scope, node)
        return ast.copy_location(ast.Name(name, node.ctx), node)


def _outside(scope: _Scope, node: ast.Name) -> str:
    """The name that a value from outside has in the text; adds what defines it there."""
    found = inspect.getclosurevars(scope.function)
    if node.id in found.nonlocals:
        value = found.nonlocals[node.id]
    elif node.id in scope.function.__globals__:
        value = scope.function.__globals__[node.id]
    elif node.id in found.builtins:
        return node.id
    else:
        raise scope.fail(node, f"{node.id!r} is not defined")
    name = f"{scope.name}__{node.id}"
    if isinstance(value, ModuleType):
        if value not in _MODULES.values():
            raise scope.fail(node, f"module {value.__name__} cannot be used; only math and numpy")
        scope.before[f"import {value.__name__} as {name}\n"] = None
    elif isinstance(value, bool | int | float | np.generic):
        scope.before[f"{name} = {_constant(value)}\n"] = None
    elif isinstance(value, FunctionType) or hasattr(value, "py_func"):
        if getattr(value, "py_func", value) is scope.function:
            raise scope.fail(node, "a function cannot call itself here")
        helper = write_out(value, "helper", name, {})
        for text in helper.before:
            scope.before[text] = None
        scope.before[f"@compiled\n{helper.text}"] = None
    elif (home := _home(value)) is not None:
        scope.before[f"from {home} import {value.__name__} as {name}\n"] = None
    else:
        raise scope.fail(
            node, f"{node.id!r} is a {type(value).__name__}; only numbers, math, numpy and plain "
            "functions can be used from outside: give other values as fields or parameters"
        )  # fmt: skip
    return name


def _home(value: Any) -> str | None:
    """The allowed module that something is a member of."""
    own_name = getattr(value, "__name__", "")
    return next(
        (m for m, module in _MODULES.items() if getattr(module, own_name, 0) is value), None
    )


def _constant(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({_constant(value.item())})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
