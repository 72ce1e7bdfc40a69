"""What a Dask worker loads when it begins. It ignores Ctrl-C, which a terminal also sends to the
worker: the process that started it ends it.
"""

from __future__ import annotations

from typing import Any

from penstock.process import ignore_sigint

#: The name of this module, for Dask.
NAME = __name__


def dask_setup(worker: Any) -> None:
    """Called by Dask."""
    ignore_sigint()
