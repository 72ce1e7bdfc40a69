"""How people and programs reach Penstock."""

from __future__ import annotations

from typing import Any

from penstock.engine import over_hosts
from penstock.store.exports import provide


def _exchange() -> Any:
    from penstock.interfaces import exchange  # when a graph is first converted: it takes a while

    return exchange


def _jobs() -> Any:
    from penstock.distributed import jobs  # when something is first run over hosts

    return jobs


provide(_exchange)
over_hosts.provide(_jobs)
