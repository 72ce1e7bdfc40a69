"""From a user's function to the text that is compiled.

``src.rank`` becomes the plain variable ``src_rank``, constants and helper functions that the
function takes from its surroundings are written out, and the result is a function over numbers
that depends on nothing but its own text. Lines are kept apart as in the original, so that an error
in the text can be traced to the user's line.

No name of the user's can meet another: fields begin with what they are fields of (``src_``,
``edge_``, ``p_``, ...), the function's own variables with ``own_``, and what comes from outside
with the name of the function that needs it, and a number.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from penstock.device.origin import definition_of
from penstock.device.outside import MODULES, definition, unusable
from penstock.device.written import Input, Written, WrittenFunction
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
_STATEMENTS = (
    ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While,
    ast.Pass, ast.Break, ast.Continue,
)  # fmt: skip
_REFUSED = {
    ast.Lambda: "a function inside",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.JoinedStr: "a formatted string",
}
#: Plain positional parameters only: neither ``*args`` nor ``**kwargs``.
_STARRED = 0x04 | 0x08


@dataclass(slots=True)
class _Needs:
    """What a function and its helpers take from outside, each under a name of its own."""

    name: str
    #: Fields that each kind of record has.
    known: Mapping[str, Iterable[str]]
    names: dict[Any, str] = field(default_factory=dict)
    before: dict[str, None] = field(default_factory=dict)
    helpers: dict[str, Written] = field(default_factory=dict)

    def new_name(self, key: Any, ending: str) -> str:
        self.names[key] = f"{self.name}_{len(self.names)}_{ending}"
        return self.names[key]


@dataclass(slots=True)
class _Scope:
    """One function that is being written out."""

    function: FunctionType
    label: str
    name: str
    #: What each parameter stands for: "src", "p", ...; "own" for plain values.
    kinds: dict[str, str]
    needs: _Needs
    #: Functions that are being written out around it.
    callers: tuple[FunctionType, ...] = ()
    inputs: dict[Input, None] = field(default_factory=dict)

    def fail(self, node: ast.AST | None, message: str) -> ProgramError:
        return _failure(self.function, self.label, node, message)


def _failure(
    function: FunctionType, label: str, node: ast.AST | None, message: str
) -> ProgramError:
    code = function.__code__
    line = getattr(node, "lineno", code.co_firstlineno)
    return ProgramError(f"{code.co_filename}:{line}: {label}: {message}")


def write_out(
    function: Function, role: str, name: str, known: Mapping[str, Iterable[str]]
) -> Written:
    """Write out one of the user's functions; ``known`` are the fields each kind of record has."""
    if isinstance(function, WrittenFunction):
        return function.written
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType):
        raise ProgramError(f"{role}: expected a Python function, got {function!r}")
    own_name = function.__code__.co_name
    label = role if own_name in (role, "<lambda>") else f"{role} ({own_name})"
    kinds = _kinds(function, role, label)
    return _write(_Scope(function, label, name, kinds, _Needs(name, known)))


def parameters_of(function: FunctionType, label: str) -> tuple[str, ...]:
    """The names of a function's parameters, which must all be positional."""
    code = function.__code__
    if code.co_flags & _STARRED or code.co_kwonlyargcount:
        raise _failure(function, label, None, "expected plain parameters, got * among them")
    return code.co_varnames[: code.co_argcount]


def _kinds(function: FunctionType, role: str, label: str) -> dict[str, str]:
    parameters = parameters_of(function, label)
    meant = ROLES[role.split(":")[0]]
    least = len(meant) - (meant[-1] == "p")
    if not least <= len(parameters) <= len(meant):
        wanted = ", ".join(kind.lstrip("=") for kind in meant[:least])
        optional = "[, p]" if meant[-1] == "p" else ""
        raise _failure(
            function, label, None,
            f"expected a function ({wanted}{optional}), got ({', '.join(parameters)})",
        )  # fmt: skip
    kinds = ["own" if kind.startswith("=") else kind for kind in meant]
    return dict(zip(parameters, kinds, strict=False))


def _write(scope: _Scope) -> Written:
    try:
        tree = copy.deepcopy(definition_of(scope.function))
    except LookupError as error:
        raise scope.fail(None, str(error.args[0])) from None
    for name, kind in scope.kinds.items():
        if kind == "own":
            scope.inputs[Input(kind, name)] = None
    body = tree.body if isinstance(tree, ast.FunctionDef) else [_returning(tree)]
    rewriter = _Rewriter(scope)
    lines: list[str] = []
    numbers: list[int] = []
    for statement in body:
        _unparse(rewriter.visit(statement), 1, lines, numbers)
    inputs = tuple(scope.inputs)
    listed = ", ".join(each.name for each in inputs)
    text = f"def {scope.name}({listed}):\n" + "\n".join(lines) + "\n"
    code, needs = scope.function.__code__, scope.needs
    return Written(
        scope.name, scope.label, inputs, text, code.co_filename,
        (code.co_firstlineno, *numbers), tuple(needs.before), tuple(needs.helpers.values()),
    )  # fmt: skip


def _returning(tree: ast.Lambda) -> ast.stmt:
    return ast.copy_location(ast.Return(tree.body), tree.body)


def _unparse(node: ast.stmt, depth: int, lines: list[str], numbers: list[int]) -> None:
    """Spell a statement one line at a time, keeping the line each line came from."""
    if not isinstance(node, ast.If | ast.For | ast.While):
        for line in ast.unparse(ast.fix_missing_locations(node)).split("\n"):
            lines.append("    " * depth + line)
            numbers.append(node.lineno)
        return
    head = ast.unparse(ast.fix_missing_locations(_headless(node))).split("\n")[0]
    lines.append("    " * depth + head)
    numbers.append(node.lineno)
    for inner in node.body:
        _unparse(inner, depth + 1, lines, numbers)
    if node.orelse:
        lines.append("    " * depth + "else:")
        numbers.append(node.lineno)
    for inner in node.orelse:
        _unparse(inner, depth + 1, lines, numbers)


def _headless(node: ast.If | ast.For | ast.While) -> ast.stmt:
    nothing: list[ast.stmt] = [ast.Pass()]
    if isinstance(node, ast.For):
        return ast.For(node.target, node.iter, nothing, [])
    return type(node)(node.test, nothing, [])


class _Rewriter(ast.NodeTransformer):
    """Replaces ``src.rank`` by ``src_rank`` and names from outside by what they stand for."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope
        self._local = {*scope.function.__code__.co_varnames, *scope.function.__code__.co_cellvars}

    def visit(self, node: ast.AST) -> Any:
        """Refuse what a program cannot do, before the compiler does in its own words."""
        refused = _REFUSED.get(type(node))
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            refused = f"{type(node).__name__.lower().replace('def', '')!r} inside"
        if refused is not None:
            raise self._scope.fail(node, f"{refused} cannot be used in a program's function")
        return super().visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """``x: float = 1.0`` without its annotation."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``src.rank``, or something of a module."""
        scope, base = self._scope, node.value
        if not isinstance(base, ast.Name):
            return self.generic_visit(node)
        kind = scope.kinds.get(base.id, "own")
        if kind != "own":
            allowed = list(scope.needs.known.get(kind, ()))
            if node.attr not in allowed:
                have = ", ".join(allowed) or "nothing"
                raise scope.fail(node, f"{base.id} has no {node.attr!r}; it has {have}")
            if not isinstance(node.ctx, ast.Load):
                raise scope.fail(node, f"{base.id}.{node.attr} cannot be set; return new values")
            return _name(self._field(Input(kind, node.attr)), node)
        if base.id in self._local:
            return self.generic_visit(node)
        module = _value(scope, base)
        if isinstance(module, ModuleType) and not hasattr(module, node.attr):
            raise scope.fail(node, f"module {module.__name__} has no {node.attr!r}")
        if _is_users(module):
            return _name(_outside(scope, node, node.attr, getattr(module, node.attr)), node)
        return self.generic_visit(node)

    def _field(self, given: Input) -> str:
        self._scope.inputs[given] = None
        return given.name

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A variable of its own, or something from outside."""
        scope = self._scope
        if scope.kinds.get(node.id, "own") != "own":
            raise scope.fail(node, f"{node.id} has fields, such as {node.id}.x; it is no number")
        if node.id in self._local:
            return _name(f"own_{node.id}", node)
        return _name(_outside(scope, node, node.id, _value(scope, node)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A helper's record arguments become the fields that it reads of them."""
        helper = self._helper(node)
        if helper is None:
            return self.generic_visit(node)
        scope = self._scope
        given = self._matched(node, helper)
        kinds = {
            name: scope.kinds.get(value.id, "own") if isinstance(value, ast.Name) else "own"
            for name, value in given.items()
        }
        written = _write_helper(scope, node, helper, kinds)
        passed: list[ast.expr] = []
        for each in written.inputs:
            value = given[each.field] if each.kind == "own" else self._field(each)
            passed.append(
                ast.Name(value, ast.Load()) if isinstance(value, str) else self.visit(value)
            )
        return ast.copy_location(ast.Call(ast.Name(written.name, ast.Load()), passed, []), node)

    def _matched(self, node: ast.Call, helper: FunctionType) -> dict[str, ast.expr | str]:
        """What each parameter of a helper is given; a name of the text for its default."""
        scope, called = self._scope, ast.unparse(node.func)
        names = parameters_of(helper, called)
        given: dict[str, ast.expr | str] = dict(zip(names, node.args, strict=False))
        named = {each.arg or "**": each.value for each in node.keywords}
        defaults = helper.__defaults__ or ()
        rest = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        missing = [name for name in names if name not in {*given, *named, *rest}]
        unknown = set(named) - set(names) | set(named) & set(given)
        if missing or unknown or len(node.args) > len(names):
            raise scope.fail(node, f"{called} takes ({', '.join(names)}): this call does not fit")
        for name in names:
            if name in named:
                given[name] = named[name]
            elif name not in given:
                given[name] = _outside(scope, node, name, rest[name])
        return {name: given[name] for name in names}

    def _helper(self, node: ast.Call) -> FunctionType | None:
        """The plain function that is called, if it is one."""
        called, value = node.func, None
        if isinstance(called, ast.Name) and called.id not in self._local:
            value = _value(self._scope, called)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            base = called.value
            module = None if base.id in self._local else _value(self._scope, base)
            value = getattr(module, called.attr, None) if _is_users(module) else None
        if definition(value, "known") is not None:
            return None
        value = getattr(value, "py_func", value)
        return value if isinstance(value, FunctionType) else None


def _is_users(value: Any) -> bool:
    """Whether it is a module other than those that the compiler knows."""
    return isinstance(value, ModuleType) and value not in MODULES


def _name(name: str, at: ast.expr) -> ast.Name:
    context = getattr(at, "ctx", ast.Load())
    return ast.copy_location(ast.Name(name, context), at)


def _value(scope: _Scope, node: ast.Name) -> Any:
    """What a name from outside stands for."""
    function = scope.function
    free = function.__code__.co_freevars
    if node.id in free:
        cell = (function.__closure__ or ())[free.index(node.id)]
        try:
            return cell.cell_contents
        except ValueError:
            raise scope.fail(node, f"{node.id!r} has no value yet") from None
    for names in (function.__globals__, vars(builtins)):
        if node.id in names:
            return names[node.id]
    raise scope.fail(node, f"{node.id!r} is not defined")


def _outside(scope: _Scope, node: ast.expr, called: str, value: Any) -> str:
    """The name that a value from outside has in the text; adds what defines it there."""
    if getattr(builtins, called, None) is value:
        return called
    needs = scope.needs
    key = (called, id(value))
    if key not in needs.names:
        name = needs.new_name(key, called)
        text = definition(value, name)
        if text is None:
            raise scope.fail(node, unusable(called, value))
        needs.before[text] = None
    return needs.names[key]


def _write_helper(
    scope: _Scope, node: ast.Call, helper: FunctionType, kinds: dict[str, str]
) -> Written:
    """Write out a function that this one calls, for arguments of these kinds."""
    needs = scope.needs
    callers = (*scope.callers, scope.function)
    if helper in callers:
        raise scope.fail(node, "a function cannot call itself here")
    called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    key = (called, id(helper), tuple(kinds.values()))
    if key in needs.names:
        return needs.helpers[needs.names[key]]
    name = needs.new_name(key, called)
    label = helper.__code__.co_name.strip("<>")
    written = _write(_Scope(helper, label, name, kinds, needs, callers))
    needs.before[f"@function\n{written.text}"] = None
    needs.helpers[name] = written
    return written
