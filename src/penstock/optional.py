"""Libraries that are needed for one thing only, and may not be there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from penstock.errors import OptionError


def optional(module: str, caller: str) -> Any:
    """A module of a library that is no requirement; without it, the caller's name is in the error.

    >>> optional("nothing.at_all", "to_nothing")
    Traceback (most recent call last):
    penstock.errors.OptionError: to_nothing: nothing is not installed (No module named 'nothing'); \
install it with `pip install nothing`
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise OptionError(
            f"{caller}: {package} is not installed ({error}); install it with "
            f"`pip install {package}`"
        ) from None
