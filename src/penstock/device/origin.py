"""Where a function was written: its part of the syntax tree of its file or notebook cell."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType

from penstock.parsing import parse

Definition = ast.FunctionDef | ast.Lambda


def definition_of(function: FunctionType) -> Definition:
    """The part of the source that defines a function; it is shared, and not to be changed.

    Raises a LookupError that says why it is not to be had.
    """
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        raise LookupError("its source is not available; define it in a file or a notebook")
    try:
        definitions, codes = _parsed(text)
    except (SyntaxError, ValueError):
        raise LookupError("its source cannot be read; define it in a file or a notebook") from None
    there = [node for node in definitions if _begins(node, code)]
    if len(there) > 1:
        there = _smallest_around(there, code)
    if len(there) != 1 or _facts(code) not in codes:
        raise LookupError("its source is not what was loaded; reload it, or write it with def")
    return there[0]


@lru_cache(maxsize=16)
def _parsed(text: str) -> tuple[list[Definition], frozenset[object]]:
    # A notebook's cell may await at its top.
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = parse(
        lambda: compile(text, "<source>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    )
    whole = parse(lambda: compile(tree, "<source>", "exec", flags, dont_inherit=True))
    definitions = [node for node in ast.walk(tree) if isinstance(node, Definition)]
    return definitions, frozenset(_facts(code) for code in _codes(whole))


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _facts(code: CodeType) -> object:
    """What must agree between a function and its source."""
    constants = tuple(repr(each) for each in code.co_consts if not isinstance(each, CodeType))
    return code.co_firstlineno, code.co_code, code.co_names, code.co_varnames, constants


def _begins(node: Definition, code: CodeType) -> bool:
    """Whether it is a definition on the function's line, of its name."""
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if node.name != code.co_name:
        return False
    return code.co_firstlineno == min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _smallest_around(nodes: list[Definition], code: CodeType) -> list[Definition]:
    """Of several lambdas on a line, the one whose body the function's instructions come from."""
    spots = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line and end_line and column is not None and end_column
    ]
    around: list[tuple[tuple[int, int], Definition]] = []
    for node in nodes:
        assert isinstance(node, ast.Lambda)
        body = node.body
        begin, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset)
        if spots and all(begin <= a and b <= end for a, b in spots):
            around.append((begin, node))
    return [max(around, key=lambda pair: pair[0])[1]] if around else nodes
