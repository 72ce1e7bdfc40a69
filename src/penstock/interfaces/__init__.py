"""How people and programs reach Penstock."""

from __future__ import annotations

from typing import Any

from penstock.store.exports import provide


def _exchange() -> Any:
    from penstock.interfaces import exchange  # when a graph is first converted: it takes a while

    return exchange


provide(_exchange)
