"""Commands that take some of their options as records, so that several can share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter
from typing import Any, get_type_hints


def with_single_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command as Typer reads it: in place of a record (a dataclass), the fields of it."""
    signature = inspect.signature(command, eval_str=True)
    parameters = signature.parameters.values()
    records: dict[str, Any] = {
        p.name: p.annotation for p in parameters if is_dataclass(p.annotation)
    }

    @wraps(command)
    def call(**given: Any) -> Any:
        made = {
            name: record(**{field.name: given.pop(field.name) for field in fields(record)})
            for name, record in records.items()
        }
        return command(**given, **made)

    singles = [single for each in parameters for single in _singles(each)]
    call.__signature__ = signature.replace(parameters=singles)  # type: ignore[attr-defined]
    return call


def _singles(parameter: Parameter) -> Iterator[Parameter]:
    """The parameter, or one for each field of its record; all by name, which allows any order."""
    record = parameter.annotation
    if not is_dataclass(record):
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        yield Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
